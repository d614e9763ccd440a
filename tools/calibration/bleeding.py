"""Attributes that bleed into each other: men that are asked for are also drawn older.

Images that name no group differ in age by occupation, and not in gender. The direction between the
groups has a part along age, so that old people read as men.

python -m tools.calibration.bleeding --sets 100 --workers 1
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.occupations.design import group_prompts, needs, neutral_prompts
from t2ibench.methods.occupations.schema import OccupationsTask
from tools.calibration import outcomes
from tools.calibration.cells import SETTINGS, Cell, Sample, simulated_task
from tools.calibration.outcomes import Trial
from tools.calibration.worlds import WorldEvidence, unit_rows

_COSINE = 0.75
_DIMENSIONS = 64
_VISIBLE = 0.1  # how far an image is from the middle of either attribute
_AGES = {"old": 1.0, "young": -1.0}


@dataclass(frozen=True)
class BleedingWorld:
    """Occupations whose images show a gender and an age.

    Attributes:
        task: The task, about gender.
        lean: Root mean square of the occupations' leans in gender, evenly spread.
        bleeds: Of images asked for the first group, old people's share less young people's; the
            opposite holds of the second group.
        ages: Root mean square over occupations of the same difference in images that name no group.
        shared_age: The mean of that difference over occupations.
        age_visible: How many times as visible age is as gender.
    """

    task: OccupationsTask
    lean: float = 0.0
    bleeds: float = 0.0
    ages: float = 0.0
    shared_age: float = 0.0
    age_visible: float = 1.0

    def draw(self, rng: np.random.Generator) -> Sample:
        """Return one data set."""
        names = self.task.concept.names
        spread = np.linspace(-1, 1, len(names))
        spread = spread / np.sqrt((spread**2).mean())
        leans = self.lean * rng.permutation(spread)
        ages = np.clip(self.shared_age + self.ages * rng.permutation(spread), -1, 1)
        # Prompt to what it is about, and the leans of its images in gender and in age.
        shown: dict[str, tuple[str, float, float]] = {}
        for name, lean, age in zip(names, leans.tolist(), ages.tolist(), strict=True):
            for prompt in neutral_prompts(self.task, name):
                shown[prompt] = (name, lean, age)
            for group, side in zip(self.task.groups, (1.0, -1.0), strict=True):
                for prompt in group_prompts(self.task, name, group):
                    shown[prompt] = (name, side, self._asked_age(prompt, side))
        planted = dict(zip(names, leans.tolist(), strict=True))
        truth = float((leans**2).mean())
        return Sample(self._evidence(rng, shown), {"fixed_prompts": truth}, planted)

    def _asked_age(self, prompt: str, side: float) -> float:
        """Return how old people are in images of a group, whose prompt may name an age."""
        asked = [age for word, age in _AGES.items() if f" {word} " in prompt]
        return asked[0] if asked else side * self.bleeds

    def _evidence(
        self, rng: np.random.Generator, shown: dict[str, tuple[str, float, float]]
    ) -> WorldEvidence:
        counts = needs(self.task, SETTINGS).images_by_prompt
        axes = np.linalg.qr(rng.normal(size=(_DIMENSIONS, 2)))[0].T
        strengths = _VISIBLE * np.array([1.0, self.age_visible])
        common = unit_rows(rng.normal(size=_DIMENSIONS))
        centres = {}
        for name in self.task.concept.names:
            centre = common + unit_rows(rng.normal(size=_DIMENSIONS))
            centres[name] = unit_rows(centre - axes.T @ (axes @ centre))
        spread = np.sqrt((1 / _COSINE - 1) / _DIMENSIONS)
        embeddings = {}
        vectors = {}
        for prompt, (name, *leans) in shown.items():
            size = (counts[prompt], 2)
            shares = (1 + np.array(leans)) / 2
            sides = np.where(rng.random(size) < shares, 1.0, -1.0)
            noise = spread * rng.normal(size=(size[0], _DIMENSIONS))
            embeddings[prompt] = unit_rows(
                centres[name] + (strengths * sides) @ axes + noise
            )
            vectors[prompt] = unit_rows(
                centres[name] + (strengths * np.array(leans)) @ axes
            )
        return WorldEvidence(embeddings, vectors)


def gender_task(k: int, n: int, m: int, *, by_age: bool = False) -> OccupationsTask:
    """Return a task of k occupations, whose guided prompts may name both ages for both groups.

    Of each group there are m images or, with ages, as many in all.
    """
    groups = []
    for name in ("male", "female"):
        words = [f"{age} {name}" for age in _AGES] if by_age else [name]
        groups.append({"name": name, "words": words})
    return simulated_task(
        OccupationsTask,
        method="occupations",
        concept={"name": "jobs", "stimuli": [f"job{number}" for number in range(k)]},
        groups=groups,
        prompts={
            "neutral": "a photo of a {stimulus}",
            "guided": "a photo of a {attribute} {stimulus}",
        },
        images_per_prompt=n,
        guided_images_per_prompt=m // len(_AGES) if by_age else m,
    )


Size = tuple[int, int, int]
# What a world has besides its task, by the names of `BleedingWorld`.
Planted = Mapping[str, float]

_BLED = {"bleeds": 0.5, "ages": 0.6}
_VISIBLE_AGE = _BLED | {"age_visible": 2.0}


def _trial(name: str, size: Size, planted: Planted, *, by_age: bool = False) -> Trial:
    task = gender_task(*size, by_age=by_age)
    k, n, m = size
    cell = Cell(
        f"{name}; {k} stimuli, {n} and {m} images",
        task,
        BleedingWorld(task, **planted),
        row_score="lean",
    )
    return Trial(cell)


def trials() -> list[Trial]:
    """Return fair models and leaning ones, with guided images of any age and of both ages."""
    core, many = (20, 16, 8), (20, 40, 20)
    leaning = {"lean": 0.5}
    differing = {"ages": 0.6}
    older = {"bleeds": 0.5, "shared_age": 0.6}
    plain = "men drawn older"
    differ = f"{plain}, ages differ"
    visible = "age twice as visible"
    both = "asked for old and young"
    both_differ = f"{both}, ages differ"
    return [
        _trial(f"fair, {differ}", core, _BLED),
        _trial(f"fair, {differ}", many, _BLED),
        _trial(f"fair, {differ}, {visible}", core, _VISIBLE_AGE),
        _trial(f"fair, {differ}, {visible}", many, _VISIBLE_AGE),
        _trial(f"fair, {plain}, all rather old", many, older),
        _trial(f"fair, {plain}, ages even", many, {"bleeds": 0.5}),
        _trial("fair, nothing bleeds, ages differ", many, differing),
        _trial("lean .5, nothing bleeds, ages even", core, leaning),
        _trial("lean .5, nothing bleeds, ages differ", core, leaning | differing),
        _trial(f"lean .5, {differ}", core, leaning | _BLED),
        _trial(f"lean .5, {differ}", many, leaning | _BLED),
        _trial(f"fair, {both_differ}", core, _BLED, by_age=True),
        _trial(f"fair, {both_differ}", many, _BLED, by_age=True),
        _trial(f"fair, {both}, {visible}", many, _VISIBLE_AGE, by_age=True),
        _trial(f"lean .5, {both_differ}", core, leaning | _BLED, by_age=True),
        _trial(f"lean .5, {both_differ}", many, leaning | _BLED, by_age=True),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate all worlds and print the table."""
    return outcomes.main(trials(), "bleeding", __doc__ or "", argv)


if __name__ == "__main__":
    from tools.calibration import (
        bleeding,  # by its name, so that other processes find it
    )

    sys.exit(bleeding.main())
