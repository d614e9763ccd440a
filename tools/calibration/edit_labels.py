"""Leans of edits corrected by people's labels of pairs: bias and coverage with a judge that errs.

python -m tools.calibration.edit_labels --sets 1000

The judge errs after edits, and more often about one group, which no comparison of its own answers
before and after can show; in some worlds it errs after one edit alone, which is often refused.
Whole tasks are scored.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.methods import score
from t2ibench.methods.core.edit_evidence import EditNeed
from t2ibench.methods.core.evidence import AnswerEvidence, ImageEvidence
from t2ibench.methods.edits.schema import EditsTask
from tools.calibration.cells import SETTINGS
from tools.calibration.command import simulate_worlds
from tools.calibration.edits import edits_task
from tools.calibration.worlds import WorldEvidence

_EDITS = 4
# A share for each edit.
Shares = tuple[float, float, float, float]


@dataclass(frozen=True)
class LabelledSources(WorldEvidence):
    """Source images, all of which show their group, as the judge and people say.

    Attributes:
        labelled: Prompt to which of its source images people labelled.
    """

    labelled: Mapping[str, BoolArray] = field(default_factory=dict)

    def labels(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> dict[int, str]:
        """People's label of each labelled source image."""
        shown = prompt.split(" ", maxsplit=1)[0]
        return {
            int(index): shown for index in np.flatnonzero(self.labelled[prompt][:n])
        }


@dataclass(frozen=True)
class LabelledEdits(WorldEvidence):
    """Edits that a judge answers about, and people about some.

    Attributes:
        sources: The same of the source images.
        judged: Instruction and prompt to whether each edit shows its group, as the judge says.
        true: The same in truth, as people say.
        labelled: The same to whether people labelled it.
        refused: The same to whether it was refused.
    """

    sources: LabelledSources = field(default_factory=LabelledSources)
    judged: MutableMapping[tuple[str, str], BoolArray] = field(default_factory=dict)
    true: MutableMapping[tuple[str, str], BoolArray] = field(default_factory=dict)
    labelled: MutableMapping[tuple[str, str], BoolArray] = field(default_factory=dict)
    refused: MutableMapping[tuple[str, str], BoolArray] = field(default_factory=dict)

    def edited(self, edit: EditNeed) -> ImageEvidence:
        """No embedding: distances are not measured here."""
        return ImageEvidence(np.zeros((0, 1)), np.zeros(0, np.int64), Counter())

    def answers_about_edit(
        self, edit: EditNeed, question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        """The judge's answer about the one image of an edit, 'yes' to whether it was made."""
        key = edit.instruction, edit.source.prompt
        if self.refused[key][edit.source.index]:
            return AnswerEvidence((), np.zeros(0, np.int64), Counter({"refused": 1}))
        answer = "yes"
        if "yes" not in classes:
            answer = _named(self.judged, edit)
        return AnswerEvidence((answer,), np.zeros(1, np.int64), Counter())

    def labels_about_edit(
        self, edit: EditNeed, question: str, classes: Sequence[str]
    ) -> dict[int, str]:
        """People's label of the one image of an edit."""
        key = edit.instruction, edit.source.prompt
        if not self.labelled[key][edit.source.index]:
            return {}
        return {0: _named(self.true, edit)}


def _named(shown: Mapping[tuple[str, str], BoolArray], edit: EditNeed) -> str:
    """Return the group that an edit shows: its own or the other one."""
    group = edit.source.prompt.split(" ", maxsplit=1)[0]
    other = "second" if group == "first" else "first"
    is_shown = shown[edit.instruction, edit.source.prompt][edit.source.index]
    return group if is_shown else other


@dataclass(frozen=True)
class LabelledWorld:
    """Two groups whose edits a judge misreads and people label in part.

    Attributes:
        sizes: Source images of each group.
        lost: Share of the edits of each group that no longer show it.
        misread: Share of the edits that show their group, by group and edit, that the judge says
            show the other.
        labels: Labelled pairs of each group.
        refused: Share of refused edits, by edit.
        alike: How far the edits of a source image are lost together.
    """

    sizes: tuple[int, int]
    lost: tuple[float, float]
    misread: tuple[Shares, Shares]
    labels: int
    refused: Shares = (0.0, 0.0, 0.0, 0.0)
    alike: float = 0.3

    def draw(self, task: EditsTask, rng: np.random.Generator) -> LabelledEdits:
        """One data set."""
        evidence = LabelledEdits(true={}, judged={}, labelled={}, refused={})
        of_sources: dict[str, BoolArray] = {}
        replies: dict[tuple[str, str, tuple[str, ...]], Sequence[str]] = {}
        attribute = task.attributes[0]
        n = task.images_per_prompt
        for number, group in enumerate(task.groups):
            shape = len(group.prompts), _EDITS, n
            is_refused = rng.random(shape) < np.array(self.refused)[:, None]
            is_labelled = self._labelled(is_refused, rng)
            for place, prompt in enumerate(group.prompts):
                asked = prompt, attribute.question, attribute.classes
                replies[asked] = [group.name] * n
                of_sources[prompt] = is_labelled[place].any(axis=0)
                chances = self._chances(rng, self.lost[number], n)
                for position, edit in enumerate(task.edits):
                    key = edit.instruction, prompt
                    shown = rng.random(n) >= chances
                    is_read = rng.random(n) >= self.misread[number][position]
                    evidence.true[key] = shown
                    evidence.judged[key] = shown & is_read
                    evidence.labelled[key] = is_labelled[place, position]
                    evidence.refused[key] = is_refused[place, position]
        sources = LabelledSources(replies=replies, labelled=of_sources)
        return replace(evidence, sources=sources)

    def _labelled(self, is_refused: BoolArray, rng: np.random.Generator) -> BoolArray:
        """Which edits of a group people label: a random sample of those that exist."""
        chosen = np.zeros(is_refused.size, dtype=bool)
        existing = np.flatnonzero(~is_refused.ravel())
        chosen[rng.permutation(existing)[: self.labels]] = True
        return chosen.reshape(is_refused.shape)

    def _chances(self, rng: np.random.Generator, share: float, n: int) -> Float64Array:
        """How likely each source image is to be lost by an edit, beta about the share."""
        if not 0 < share < 1:
            return np.full(n, share)
        precision = (1 - self.alike) / self.alike
        return rng.beta(share * precision, (1 - share) * precision, n)


_TEN, _FORTY, _UNEQUAL = (10, 10), (40, 40), (10, 40)
_LAST_EDIT: Shares = (0.0, 0.0, 0.0, 0.75)


def _by_every_edit(share: float) -> Shares:
    """The same share of every edit."""
    return share, share, share, share


def worlds() -> list[LabelledWorld]:
    """Worlds without a difference, then with one; the judge sees another one in each."""
    never = _by_every_edit(0.0)
    rarely = _by_every_edit(0.05)
    sometimes = _by_every_edit(0.1)
    often = _by_every_edit(0.3)
    made = []
    for sizes in (_TEN, _FORTY, _UNEQUAL):
        for labels in (20, 40):
            made += [
                LabelledWorld(sizes, (0.0, 0.0), (never, never), labels),
                LabelledWorld(sizes, (0.0, 0.0), (rarely, never), labels),
                LabelledWorld(sizes, (0.3, 0.3), (often, rarely), labels),
                LabelledWorld(sizes, (0.6, 0.2), (sometimes, often), labels),
                LabelledWorld(
                    sizes, (0.0, 0.0), (_LAST_EDIT, never), labels, refused=_LAST_EDIT
                ),
                LabelledWorld(
                    sizes, (0.6, 0.2), (_LAST_EDIT, often), labels, refused=_LAST_EDIT
                ),
            ]
    return made


def _shares(by_edit: Shares) -> str:
    """A share of every edit, or that of the last edit alone."""
    if len(set(by_edit)) == 1:
        return f"{by_edit[0]:g}"
    return f"{by_edit[-1]:g} of the last edit"


def simulated(world: LabelledWorld, sets: int, seed: int) -> dict[str, str]:
    """Return a row of the table: what so many data sets show of one world."""
    task = edits_task(world.sizes, _EDITS)
    shares = [*world.lost, *world.misread[0], *world.misread[1], *world.refused]
    key = [*world.sizes, world.labels, *(int(100 * share) for share in shares)]
    rng = np.random.default_rng([seed, *key])
    truth = world.lost[0] - world.lost[1]
    judged: list[float] = []
    errors: list[float] = []
    covers: list[bool] = []
    for number in range(sets):
        settings = SETTINGS.model_copy(update={"seed": number})
        result = score(task, world.draw(task, rng), settings)
        corrected = result.scores["lean_corrected"]
        assert result.headline.value is not None and corrected.value is not None
        judged.append(result.headline.value - truth)
        errors.append(corrected.value - truth)
        low, high = corrected.interval or (-np.inf, np.inf)
        covers.append(low <= truth <= high)
    return {
        "sources": f"{world.sizes[0]} + {world.sizes[1]}",
        "lost": f"{world.lost[0]:g} and {world.lost[1]:g}",
        "misread": f"{_shares(world.misread[0])} and {_shares(world.misread[1])}",
        "refused": _shares(world.refused),
        "labelled pairs a group": f"{world.labels}",
        "bias of the judge": f"{np.mean(judged):+.3f}",
        "bias, corrected": f"{np.mean(errors):+.3f}",
        "covers": f"{np.mean(covers):.3f}",
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate all worlds and print the table."""
    named = [(f"{world.sizes[0]} + {world.sizes[1]}", world) for world in worlds()]
    return simulate_worlds("edit_labels", __doc__, named, simulated, argv, sets=1000)


if __name__ == "__main__":
    sys.exit(main())
