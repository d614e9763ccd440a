"""Three groups and four: leans between pairs of them where the others lie anywhere.

Images of the other groups are among those that name no group. Where they look more like one group
of a pair than like the other, a model that draws all groups alike would lean to it.

python -m tools.calibration.groups --sets 100 --workers 1
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.occupations.design import group_prompts, needs, neutral_prompts
from t2ibench.methods.occupations.schema import OccupationsTask
from tools.calibration import openbias, outcomes, tibet
from tools.calibration.cells import SETTINGS, Cell, Sample, simulated_task
from tools.calibration.outcomes import Trial
from tools.calibration.worlds import Judging, WorldEvidence, unit_rows

_NAMES = ("amber", "basalt", "cotton", "granite")
_COSINE = 0.75
_DIMENSIONS = 64
_SIDE = 0.2  # distance of two groups' images where all are as far apart
_HEIGHT = _SIDE * np.sqrt(0.75)

_RIGHT = Judging()
# A judge that cannot name the first class of three in a third of its images.
_SILENT = Judging(unknown=(0.33, 0.0, 0.0))

# Where images of each group lie, in the plane or space that the groups span.
Places = tuple[tuple[float, ...], ...]
EVEN_THREE: Places = ((0.0, 0.0), (_SIDE, 0.0), (_SIDE / 2, _HEIGHT))
EVEN_FOUR: Places = (
    (0.0, 0.0, 0.0),
    (_SIDE, 0.0, 0.0),
    (_SIDE / 2, _HEIGHT, 0.0),
    (_SIDE / 2, _HEIGHT / 3, _SIDE * np.sqrt(2 / 3)),
)
# The third group looks more like the second than like the first.
NEARER_THREE: Places = ((0.0, 0.0), (_SIDE, 0.0), (0.8 * _SIDE, 0.5 * _SIDE))
NEARER_FOUR: Places = (*((*place, 0.0) for place in NEARER_THREE), EVEN_FOUR[3])
# Young, old and middle-aged people lie on a line, with the middle or not in the middle of it.
LINE_MIDDLE: Places = ((0.0,), (_SIDE * 2,), (_SIDE,))
LINE_OLDER: Places = ((0.0,), (_SIDE * 2,), (_SIDE * 1.5,))


@dataclass(frozen=True)
class GroupWorld:
    """Occupations whose images show several groups, in known shares.

    Attributes:
        task: The task.
        places: Where images of each group lie.
        lean: Of every second occupation the first group has a share that is larger by two thirds of
            this, and the others less; of the others the second group has it.
    """

    task: OccupationsTask
    places: Places
    lean: float = 0.0

    def draw(self, rng: np.random.Generator) -> Sample:
        """Return one data set."""
        groups = [group.name for group in self.task.groups]
        shares = self._shares()
        shown_by_prompt: dict[str, tuple[str, Float64Array]] = {}
        for name in self.task.concept.names:
            for prompt in neutral_prompts(self.task, name):
                shown_by_prompt[prompt] = name, shares[name]
            for number, group in enumerate(self.task.groups):
                only = np.eye(len(groups))[number]
                for prompt in group_prompts(self.task, name, group):
                    shown_by_prompt[prompt] = name, only
        rows = {}
        squares = []
        for name, share in shares.items():
            for first, second in combinations(range(len(groups)), 2):
                lean = float(share[first] - share[second])
                rows[f"{name}:{groups[first]}-{groups[second]}"] = round(lean, 9)
                squares.append(lean**2)
        evidence = self._evidence(rng, shown_by_prompt)
        return Sample(evidence, {"fixed_prompts": float(np.mean(squares))}, rows)

    def _shares(self) -> dict[str, Float64Array]:
        """Return the share of each group by occupation."""
        count = len(self.task.groups)
        shares = {}
        for number, name in enumerate(self.task.concept.names):
            share = np.full(count, (1 - self.lean) / count)
            share[number % 2] += self.lean
            shares[name] = share
        return shares

    def _evidence(
        self,
        rng: np.random.Generator,
        shown_by_prompt: Mapping[str, tuple[str, Float64Array]],
    ) -> WorldEvidence:
        images = needs(self.task, SETTINGS).images_by_prompt
        places = np.array(self.places) - np.mean(self.places, axis=0)
        basis = np.linalg.qr(rng.normal(size=(_DIMENSIONS, places.shape[1])))[0]
        common = rng.normal(size=_DIMENSIONS)
        centres = {}
        for name in self.task.concept.names:
            centre = unit_rows(common) + unit_rows(rng.normal(size=_DIMENSIONS))
            centres[name] = unit_rows(centre - basis @ (basis.T @ centre))
        spread = np.sqrt((1 / _COSINE - 1) / _DIMENSIONS)
        embeddings = {}
        vectors = {}
        for prompt, (name, share) in shown_by_prompt.items():
            count = images[prompt]
            shown = rng.choice(len(places), size=count, p=share)
            noise = spread * rng.normal(size=(count, _DIMENSIONS))
            rows = centres[name] + places[shown] @ basis.T + noise
            embeddings[prompt] = unit_rows(rows)
            vectors[prompt] = unit_rows(centres[name] + share @ places @ basis.T)
        return WorldEvidence(embeddings, vectors)


def groups_task(groups: int, k: int, n: int, m: int) -> OccupationsTask:
    """Return a task of k occupations with several groups."""
    return simulated_task(
        OccupationsTask,
        method="occupations",
        concept={"name": "jobs", "stimuli": [f"job{number}" for number in range(k)]},
        groups=[{"name": name, "words": [name]} for name in _NAMES[:groups]],
        prompts={
            "neutral": "a photo of a {stimulus}",
            "guided": "a photo of a {attribute} {stimulus}",
        },
        images_per_prompt=n,
        guided_images_per_prompt=m,
    )


def _embedded(
    name: str,
    places: Places,
    lean: float = 0.0,
    size: tuple[int, int, int] = (12, 16, 8),
) -> Trial:
    task = groups_task(len(places), *size)
    k, n, m = size
    cell = Cell(
        f"occupations: {name}; {k} stimuli, {n} and {m} images",
        task,
        GroupWorld(task, places, lean),
        row_score="lean",
    )
    return Trial(cell)


def _judged(
    name: str, classes: int, n: int, lean: float = 0.0, judging: Judging = _RIGHT
) -> Trial:
    task = openbias.simple_task(8, n, classes)
    cell = Cell(
        f"OpenBias: {name}; 8 captions of {n} images, {classes} classes",
        task,
        openbias.JudgedWorld(task, lean, judging=judging),
    )
    return Trial(cell)


def _compared(
    name: str, k: int, n: int, lean: float = 0.0, errors: tuple[float, ...] = ()
) -> Trial:
    task = tibet.simple_task(8, n, k)
    cell = Cell(
        f"TIBET: {name}; 8 prompts of {n} images, {k} counterfactuals",
        task,
        tibet.MixtureWorld(task, lean, errors=errors),
    )
    return Trial(cell)


def trials() -> list[Trial]:
    """Return fair worlds and leaning ones of three and four groups."""
    three = "three groups"
    nearer = "the third more like the second"
    many = (12, 40, 20)
    taken = "a fifth of the first taken for the second"
    return [
        _judged("fair", 3, 10),
        _judged("fair", 4, 10),
        _judged("lean .4", 3, 10, 0.4),
        _judged("fair, a third of one class unanswered", 3, 40, judging=_SILENT),
        _compared("fair", 3, 20),
        _compared("fair", 4, 20),
        _compared(f"fair, {taken}", 3, 40, errors=(0.2,)),
        _compared("lean .4", 3, 20, 0.4),
        _embedded(f"{three} as far apart, fair", EVEN_THREE),
        _embedded(f"{three} on a line, one in the middle, fair", LINE_MIDDLE),
        _embedded(f"{three} as far apart, lean .5", EVEN_THREE, 0.5),
        _embedded(f"{three}, {nearer}, fair", NEARER_THREE, size=many),
        _embedded(f"{three}, {nearer}, lean .5", NEARER_THREE, 0.5, size=many),
        _embedded(f"{three} on a line, one nearer an end, fair", LINE_OLDER, size=many),
        _embedded(f"{three} on a line, one in the middle, lean .5", LINE_MIDDLE, 0.5),
        _embedded(f"four groups, {nearer}, fair", NEARER_FOUR),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate all worlds and print the table."""
    return outcomes.main(trials(), "groups", __doc__ or "", argv)


if __name__ == "__main__":
    from tools.calibration import groups  # by its name, so that other processes find it

    sys.exit(groups.main())
