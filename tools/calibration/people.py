"""Shares that several people answered, in worlds where what images show is known.

`python -m tools.calibration.people [SETS]` prints the table of docs/people.md: for each world how
often intervals hold what is true and tests reject, through `openbias.score` and nothing beside it.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.evidence import AnswerEvidence, ImageEvidence
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.methods.openbias.score import score
from t2ibench.settings import Settings
from t2ibench.store.people import counted_answer

PROMPTS = 5
CLASSES = ("male", "female")
_PEOPLE = ("anna", "ben", "cem")
_SETTINGS = Settings(n_permutations=500, n_bootstrap=50, max_exact=500)


@dataclass(frozen=True, slots=True)
class World:
    """Images of which a share shows the first class, and people who err.

    Attributes:
        errors: How often each person is wrong about an image.
        share: Of the first class, in every prompt.
        images: A prompt.
        hard: Share of images about which everybody guesses.
        one_sided: Whether only images of the second class are mistaken.
    """

    errors: Sequence[float]
    share: float
    images: int
    hard: float = 0.0
    one_sided: bool = False

    def votes(self, rng: np.random.Generator) -> IntArray:
        """The class that each person gives each image, shape (prompts, images, people)."""
        shape = (PROMPTS, self.images)
        truth = (rng.random(shape) >= self.share).astype(np.int64)
        hard = rng.random(shape) < self.hard
        wrong: Float64Array = np.where(hard[..., None], 0.5, np.asarray(self.errors))
        if self.one_sided:
            wrong = np.where(truth[..., None] == 1, wrong, 0.0)
        mistaken = rng.random((*shape, len(self.errors))) < wrong
        return np.where(mistaken, 1 - truth[..., None], truth[..., None])


class PeopleEvidence:
    """What people answered about a world's images (see `methods.core.evidence.Evidence`)."""

    def __init__(self, votes: IntArray) -> None:
        self._votes = {
            prompt_of(number): [_named(image) for image in images]
            for number, images in enumerate(votes)
        }

    def images(self, prompt: str, n: int) -> ImageEvidence:
        """No embeddings: people looked."""
        return ImageEvidence(np.zeros((0, 1)), np.zeros(0, dtype=np.int64), Counter())

    def texts(self, texts: Sequence[str]) -> Float64Array:
        """No text is embedded."""
        return np.zeros((len(texts), 1))

    def answers(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        """What most people said."""
        counted = tuple(
            counted_answer(image.values()) for image in self._votes[prompt][:n]
        )
        return AnswerEvidence(counted, np.arange(len(counted)), Counter())

    def people_answered(self) -> bool:
        """They are the judge."""
        return True

    def votes(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> Mapping[int, Mapping[str, str]]:
        """What each of them said."""
        return dict(enumerate(self._votes[prompt][:n]))


def _named(votes: IntArray) -> dict[str, str]:
    return {_PEOPLE[k]: CLASSES[code] for k, code in enumerate(votes.tolist())}


def prompt_of(number: int) -> str:
    """The prompt of this number."""
    return f"a photo of a person at work, {number}"


def task_of(images: int) -> OpenBiasTask:
    """A task that asks about these prompts."""
    bias = {
        "name": "gender",
        "about": "person",
        "classes": CLASSES,
        "question": "Which?",
        "captions": [prompt_of(number) for number in range(PROMPTS)],
    }
    words = dict.fromkeys(("title", "description", "citation"), "-")
    return OpenBiasTask.model_validate(
        {
            "id": "people",
            "version": 1,
            "method": "openbias",
            "images_per_prompt": images,
        }
        | {**words, "biases": [bias]}
    )


@dataclass(slots=True)
class Tally:
    """How often something holds, of how many."""

    hits: list[float] = field(default_factory=list)

    def add(self, value: float) -> None:
        """Count one data set."""
        self.hits.append(value)

    @property
    def mean(self) -> float:
        """The share."""
        return float(np.mean(self.hits))

    @property
    def error(self) -> float:
        """Its standard error, data sets as the unit."""
        spread: float = np.std(self.hits, dtype=float).item()
        return spread / math.sqrt(max(len(self.hits) - 1, 1))


def simulated(world: World, sets: int, seed: int = 0) -> dict[str, Tally]:
    """Bias, coverage and rejections of rows, of the mean over prompts and of the headline."""
    rng = np.random.default_rng(seed)
    task, truth = task_of(world.images), 2 * world.share - 1
    names = ("row bias", "row covers", "row rejects", "mean covers", "mean rejects")
    tallies = {
        name: Tally()
        for name in (*names, "headline covers", "headline rejects", "width")
    }
    for _ in range(sets):
        result = score(task, PeopleEvidence(world.votes(rng)), _SETTINGS)
        mean, *rows = [item.scores["share:male"] for item in result.by]
        shares = [
            row for row in rows if row.value is not None and row.interval is not None
        ]
        ends = np.array([row.interval for row in shares])
        held = (ends[:, 0] <= world.share) & (world.share <= ends[:, 1])
        tallies["row bias"].add(
            float(np.mean([row.value for row in shares])) - world.share
        )
        tallies["row covers"].add(float(held.mean()))
        tallies["width"].add(float(np.diff(ends, axis=1).mean()))
        tallies["row rejects"].add(
            float(np.mean([(row.p or 0.0) < 0.05 for row in shares]))
        )
        assert mean.interval is not None
        low, high = mean.interval
        tallies["mean covers"].add(low <= world.share <= high)
        tallies["mean rejects"].add((mean.p or 0.0) < 0.05)
        chosen = result.headline.chosen
        covered = chosen.interval is not None and (
            chosen.interval[0] <= truth**2 <= chosen.interval[1] + 1e-9
        )
        tallies["headline covers"].add(covered)
        tallies["headline rejects"].add((chosen.p or 0.0) < 0.05)
    return tallies


CROWDS: dict[str, tuple[tuple[float, ...], float, bool]] = {
    "each wrong in 5 %": ((0.05,) * 3, 0.0, False),
    "each wrong in 15 %": ((0.15,) * 3, 0.0, False),
    "each wrong in 30 %": ((0.3,) * 3, 0.0, False),
    "two wrong in 5 %, one in 30 %": ((0.05, 0.05, 0.3), 0.0, False),
    "5 %, and all guess about 20 % of the images": ((0.05,) * 3, 0.2, False),
    "each takes 15 % of the women for men": ((0.15,) * 3, 0.0, True),
}


def main() -> int:
    """Print the table."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    heads = ["people", "images", "share", "bias", "row covers", "width", "row rejects"]
    heads += ["mean covers", "mean rejects", "headline covers", "headline rejects"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name, images, share in product(CROWDS, (10, 40), (0.5, 0.7, 0.9)):
        errors, hard, one_sided = CROWDS[name]
        tallies = simulated(World(errors, share, images, hard, one_sided), sets)
        cells = [f"{tallies['row bias'].mean:+.3f}"]
        for key in (
            "row covers",
            "width",
            "row rejects",
            "mean covers",
            "mean rejects",
        ):
            cells.append(f"{tallies[key].mean:.3f}")
        cells += [
            f"{tallies[key].mean:.3f}"
            for key in ("headline covers", "headline rejects")
        ]
        print(f"| {' | '.join([name, str(images), str(share), *cells])} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
