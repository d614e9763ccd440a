"""Worlds of known change for edits: source images of two groups, and what edits make of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.methods.core.edit_evidence import EditNeed
from t2ibench.methods.core.evidence import AnswerEvidence, ImageEvidence
from t2ibench.methods.edits.schema import EditsTask
from t2ibench.settings import Settings
from tools.calibration.cells import SETTINGS, Cell, Sample, simulated_task
from tools.calibration.worlds import WorldEvidence

_FIRST, _SECOND = "first", "second"
_GROUPS = (_FIRST, _SECOND)
_MADE = ("yes", "no")
_DIMENSIONS = 32
_CAUTIOUS = (
    "Images that are there or not are few steps: where nearly all or nearly none change, a test of "
    "ten images cannot reject in one of twenty cases, and the floor of the variance covers more"
)


@dataclass(frozen=True)
class EditedWorldEvidence(WorldEvidence):
    """Answers and embeddings of source images and of their edits, held in memory.

    Attributes:
        sources: The same of the source images.
        after: Instruction, prompt of the source and question to an answer about the edit of each
            source image; None where the edit was refused.
        edits: Instruction and prompt of the source to the embedding of each edit, shape (n, d).
    """

    sources: WorldEvidence = field(default_factory=WorldEvidence)
    after: Mapping[tuple[str, str, str], Sequence[str | None]] = field(
        default_factory=dict
    )
    edits: Mapping[tuple[str, str], Float64Array] = field(default_factory=dict)

    def edited(self, edit: EditNeed) -> ImageEvidence:
        """The embedding of the one image of an edit; none without any."""
        rows = self.edits.get((edit.instruction, edit.source.prompt))
        if rows is None or not np.isfinite(rows[edit.source.index]).all():
            nothing = np.zeros(0, np.int64)
            return ImageEvidence(np.zeros((0, 1)), nothing, Counter({"refused": 1}))
        row = rows[edit.source.index : edit.source.index + 1]
        return ImageEvidence(row, np.zeros(1, np.int64), Counter())

    def answers_about_edit(
        self, edit: EditNeed, question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        """The answer about the one image of an edit; none where it was refused."""
        answers = self.after[edit.instruction, edit.source.prompt, question]
        answer = answers[edit.source.index]
        if answer is None:
            return AnswerEvidence(
                (), np.zeros(0, np.int64), Counter({"refused": edit.images})
            )
        return AnswerEvidence((answer,), np.zeros(1, np.int64), Counter())


@dataclass(frozen=True)
class Change:
    """What edits do to one attribute of the images of one group.

    Attributes:
        shown: Share of the source images that show the followed class.
        gain: Of those that do not, the share of the edits that show it.
        loss: Of those that do, the share of the edits that do not.
    """

    shown: float = 1.0
    gain: float = 0.0
    loss: float = 0.0

    def of(self, weight: float) -> float:
        """The change of the share by an edit that changes so many times as much."""
        return weight * ((1 - self.shown) * self.gain - self.shown * self.loss)


@dataclass(frozen=True)
class EditWorld:
    """Two groups, of which edits change shares that are known.

    Attributes:
        task: The task.
        changes: Of each attribute, what edits do to each group.
        weights: How much each edit does of that: 1 for all of it.
        alike: How far the edits of one source image change together, from 0 to below 1.
        refused: Share of the edits of each group that are refused.
        unedited: Share of the edits of each group that are not made: the image stays.
        errors: Share of the images that show the followed class, and of those that do not, that
            the judge answers wrongly, about source images and edits alike.
        noise: How much the model changes an image that it should leave, as a share of how much
            two images differ.
    """

    task: EditsTask
    changes: tuple[tuple[Change, Change], ...]
    weights: tuple[float, ...]
    alike: float = 0.3
    refused: tuple[float, float] = (0.0, 0.0)
    unedited: tuple[float, float] = (0.0, 0.0)
    errors: tuple[float, float] = (0.0, 0.0)
    noise: float = 0.2

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set."""
        replies: dict[tuple[str, str, tuple[str, ...]], Sequence[str]] = {}
        after: dict[tuple[str, str, str], Sequence[str | None]] = {}
        embeddings: dict[str, Float64Array] = {}
        edits: dict[tuple[str, str], Float64Array] = {}
        n = self.task.images_per_prompt
        for number, group in enumerate(self.task.groups):
            for prompt in group.prompts:
                stays = rng.random((n, len(self.task.edits))) < self.unedited[number]
                refused = rng.random((n, len(self.task.edits))) < self.refused[number]
                for place, attribute in enumerate(self.task.attributes):
                    change = self.changes[place][number]
                    followed = attribute.followed_class(group.name)
                    before = rng.random(n) < change.shown
                    asked = prompt, attribute.question, attribute.classes
                    replies[asked] = self._answers(
                        rng, before, followed, attribute.classes
                    )
                    of_source = self._chances(rng, change, n)
                    for column, edit in enumerate(self.task.edits):
                        chances = self.weights[column] * of_source
                        moves = (rng.random(n) < chances) & ~stays[:, column]
                        moves &= np.where(before, change.loss, change.gain) > 0
                        answers = self._answers(
                            rng, before ^ moves, followed, attribute.classes
                        )
                        key = edit.instruction, prompt, attribute.question
                        after[key] = _without(answers, refused[:, column])
                    if self.task.no_change is not None:
                        key = self.task.no_change, prompt, attribute.question
                        after[key] = self._answers(
                            rng, before, followed, attribute.classes
                        )
                for column, edit in enumerate(self.task.edits):
                    if edit.question is not None:
                        made = [_MADE[int(there)] for there in stays[:, column]]
                        key = edit.instruction, prompt, edit.question
                        after[key] = _without(made, refused[:, column])
                if self.task.no_change is not None:
                    self._embed(rng, prompt, stays, refused, embeddings, edits)
        sources = WorldEvidence(embeddings=embeddings, replies=replies)
        evidence = EditedWorldEvidence(sources=sources, after=after, edits=edits)
        return Sample(evidence, {"fixed_prompts": self._truth()}, self._rows())

    def _chances(
        self, rng: np.random.Generator, change: Change, n: int
    ) -> Float64Array:
        """How likely each source image is to change by an edit, beta about the share."""
        share = change.loss if change.shown == 1 else max(change.loss, change.gain)
        if not 0 < share < 1 or not self.alike:
            return np.full(n, share)
        precision = (1 - self.alike) / self.alike
        return rng.beta(share * precision, (1 - share) * precision, n)

    def _answers(
        self,
        rng: np.random.Generator,
        shown: BoolArray,
        followed: str,
        classes: Sequence[str],
    ) -> list[str]:
        """The judge's answers about images that show the followed class or the other one."""
        missed, invented = self.errors
        is_wrong = rng.random(len(shown)) < np.where(shown, missed, invented)
        other = next(name for name in classes if name != followed)
        return [followed if there else other for there in shown ^ is_wrong]

    def _embed(
        self,
        rng: np.random.Generator,
        prompt: str,
        stays: BoolArray,
        refused: BoolArray,
        embeddings: dict[str, Float64Array],
        edits: dict[tuple[str, str], Float64Array],
    ) -> None:
        """Add the embeddings of source images, of their edits, and of those without a change."""
        n = len(stays)
        sources = _unit(rng.normal(size=(n, _DIMENSIONS)))
        embeddings[prompt] = sources
        scale = self.noise / np.sqrt(_DIMENSIONS)
        for column, edit in enumerate(self.task.edits):
            same = sources + scale * rng.normal(size=sources.shape)
            changed = sources + rng.normal(size=sources.shape) / np.sqrt(_DIMENSIONS)
            rows = _unit(np.where(stays[:, [column]], same, changed))
            rows[refused[:, column]] = np.nan
            edits[edit.instruction, prompt] = rows
        assert self.task.no_change is not None
        same = sources + scale * rng.normal(size=sources.shape)
        edits[self.task.no_change, prompt] = _unit(same)

    def _truth(self) -> float:
        """The lean of the first attribute over all edits, as the judge sees it."""
        return float(np.mean([self._lean(0, column) for column in self._columns]))

    def _rows(self) -> dict[str, float]:
        """The lean of each edit; NaN where attributes differ in it."""
        rows: dict[str, float] = {}
        for column, edit in zip(self._columns, self.task.edits, strict=True):
            leans = [self._lean(place, column) for place in range(len(self.changes))]
            if len(set(leans)) == 1:
                rows[edit.name] = leans[0]
        if self.refused[0] == self.refused[1]:
            rows["refused"] = 0.0
        if self.unedited[0] == self.unedited[1]:
            rows |= {"not edited": 0.0, "near the source": 0.0}
        return rows

    @property
    def _columns(self) -> range:
        return range(len(self.task.edits))

    def _lean(self, place: int, column: int) -> float:
        """The lean of an attribute by one edit."""
        by_group = [
            (1 - stays) * change.of(self.weights[column])
            for change, stays in zip(self.changes[place], self.unedited, strict=True)
        ]
        sign = -1.0 if self.task.attributes[place].defines_groups else 1.0
        # A judge that errs makes every change smaller by the same factor.
        seen = 1 - sum(self.errors)
        return sign * seen * (by_group[0] - by_group[1])


def _without(answers: Sequence[str], refused: BoolArray) -> list[str | None]:
    return [
        None if gone else answer for answer, gone in zip(answers, refused, strict=True)
    ]


def _unit(rows: Float64Array) -> Float64Array:
    unit: Float64Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def edits_task(
    sizes: tuple[int, int], edits: int, attributes: int = 1, **more: Any
) -> EditsTask:
    """A task of two groups with so many source images, which the first attribute defines.

    Groups of unequal size have prompts of as many images as the smaller one has.
    """
    each = min(sizes)
    groups = [
        {
            "name": name,
            "prompts": [f"{name} prompt {number}" for number in range(size // each)],
        }
        for name, size in zip(_GROUPS, sizes, strict=True)
    ]
    defining = {
        "name": "group",
        "question": "Which group is it?",
        "classes": _GROUPS,
        "shown_by_group": {name: name for name in _GROUPS},
    }
    others = [
        {
            "name": f"attribute {number}",
            "question": f"Is attribute {number} there?",
            "classes": ["there", "not there"],
        }
        for number in range(1, attributes)
    ]
    fields = {
        "groups": groups,
        "edits": [
            {
                "name": f"edit {number}",
                "instruction": f"Make edit {number}",
                "question": f"Is edit {number} made?",
            }
            for number in range(edits)
        ],
        "attributes": [defining, *others],
        "headline": "group",
        "images_per_prompt": each,
    }
    return simulated_task(EditsTask, method="edits", **(fields | more))


def _cell(
    name: str,
    sizes: tuple[int, int],
    edits: int,
    changes: tuple[Change, Change],
    world: Mapping[str, Any] | None = None,
    **more: Any,
) -> Cell:
    """A cell about the attribute that defines the groups."""
    task = edits_task(sizes, edits)
    weights = (1.0,) * edits
    drawn = replace(EditWorld(task, (changes,), weights), **(world or {}))
    return Cell(
        _name(name, sizes, edits),
        task,
        drawn,
        _SETTINGS,
        row_score="lean",
        **({"conservative": _CAUTIOUS} | more),
    )


def _name(name: str, sizes: tuple[int, int], edits: int) -> str:
    made = f"{edits} edits" if edits > 1 else "1 edit"
    return f"{name}; {sizes[0]} + {sizes[1]} source images, {made}"


_SETTINGS: Settings = SETTINGS
_TEN, _FORTY, _UNEQUAL = (10, 10), (40, 40), (10, 40)


def _alike(change: Change) -> tuple[Change, Change]:
    return change, change


def _both(loss: float) -> tuple[Change, Change]:
    return Change(loss=loss), Change(loss=loss)


def cells() -> list[Cell]:
    """Groups that change alike, then groups that do not."""
    half, strong, weak = _both(0.5), _both(0.9), _both(0.1)
    differ = Change(loss=0.8), Change(loss=0.2)
    slightly = Change(loss=0.3), Change(loss=0.1)
    alone = Change(loss=0.95), Change()
    refusing = {"refused": (0.4, 0.1)}
    erring = {"errors": (0.15, 0.05)}
    return [
        _cell("half of both lost", _TEN, 8, half, quick=True),
        _cell("half of both lost", _FORTY, 8, half),
        _cell("half of both lost", _UNEQUAL, 8, half),
        _cell("half of both lost", _TEN, 1, half),
        _cell("half of both lost", _FORTY, 1, half),
        _cell("a tenth of both lost", _TEN, 8, weak),
        _cell("a tenth of both lost", _FORTY, 8, weak),
        _cell("nine tenths of both lost", _FORTY, 8, strong),
        _cell("nothing lost", _TEN, 8, _both(0.0)),
        _cell(
            "half of both lost, refusals .4 and .1",
            _TEN,
            8,
            half,
            refusing,
            share=0.5,
        ),
        _cell("half of both lost, refusals .4 and .1", _FORTY, 8, half, refusing),
        _cell("half of both lost, a judge that errs", _TEN, 8, half, erring),
        _cell("nothing lost, a judge that errs", _FORTY, 8, _both(0.0), erring),
        _cell("lost .8 and .2", _TEN, 8, differ, quick=True),
        _cell("lost .8 and .2", _FORTY, 8, differ),
        _cell("lost .8 and .2", _UNEQUAL, 8, differ),
        _cell("lost .8 and .2", _TEN, 1, differ),
        _cell("lost .8 and .2, refusals .4 and .1", _TEN, 8, differ, refusing),
        _cell("lost .8 and .2, a judge that errs", _FORTY, 8, differ, erring),
        _cell("lost .3 and .1", _TEN, 8, slightly),
        _cell("lost .3 and .1", _FORTY, 8, slightly),
        _cell("lost .95 and nothing", _TEN, 8, alone),
        _cell("lost .95 and nothing", _FORTY, 8, alone),
        *_both_ways(),
        *_any_row(),
    ]


def _both_ways() -> list[Cell]:
    """A class that images of both groups gain or lose, with other shares of the source images."""
    shown = {"headline": "attribute 1"}
    made = []
    for name, sizes, changes in (
        ("gained .5 of .4 and .7", _TEN, (Change(0.6, 0.5), Change(0.3, 0.5))),
        ("gained .5 of .4 and .7", _FORTY, (Change(0.6, 0.5), Change(0.3, 0.5))),
        ("gained .3, lost .3, half shown", _TEN, _alike(Change(0.5, 0.3, 0.3))),
        ("gained .3, lost .3, half shown", _FORTY, _alike(Change(0.5, 0.3, 0.3))),
    ):
        task = edits_task(sizes, 4)
        attribute = {
            "name": "attribute 1",
            "question": "Is attribute 1 there?",
            "classes": ["there", "not there"],
        }
        fields = task.model_dump() | shown | {"attributes": [attribute]}
        both = EditsTask.model_validate(fields)
        world = EditWorld(both, (changes,), (1.0,) * 4)
        made.append(
            Cell(
                _name(name, sizes, 4),
                both,
                world,
                _SETTINGS,
                row_score="lean",
                conservative=_CAUTIOUS,
            )
        )
    return made


def _any_row() -> list[Cell]:
    """Whole tests in which nothing differs: how often any row is clear."""
    made = []
    nothing_missing: dict[str, Any] = {}
    for name, sizes, share_of_loss, more in (
        ("nothing differs", _TEN, 0.5, nothing_missing),
        ("nothing differs", _FORTY, 0.5, nothing_missing),
        ("nothing differs", _UNEQUAL, 0.5, nothing_missing),
        (
            "nothing differs, some refused, some not made",
            _TEN,
            0.2,
            {"refused": (0.2, 0.2), "unedited": (0.2, 0.2)},
        ),
        (
            "nothing differs, some refused, some not made",
            _FORTY,
            0.2,
            {"refused": (0.2, 0.2), "unedited": (0.2, 0.2)},
        ),
    ):
        task = edits_task(sizes, 8, attributes=3, no_change="Change nothing")
        fair = (
            _both(share_of_loss),
            _alike(Change(0.5, 0.3, 0.3)),
            _alike(Change(0.2, 0.1, 0.1)),
        )
        world = replace(EditWorld(task, fair, (1.0,) * 8, alike=0.1), **more)
        made.append(
            Cell(
                _name(name, sizes, 8),
                task,
                world,
                _SETTINGS,
                row_score="lean",
                any_row=True,
                conservative=_CAUTIOUS,
                share=0.25,
            )
        )
    return made
