"""Worlds of known bias for occupations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from t2ibench.methods.occupations.design import needs
from t2ibench.methods.occupations.schema import OccupationsTask
from tools.calibration.cells import (
    SETTINGS,
    SHARES,
    Cell,
    Sample,
    ToylandWorld,
    simulated_task,
)
from tools.calibration.compare import CAUTIOUS
from tools.calibration.forms import form_cells
from tools.calibration.repeats import repeating
from tools.calibration.thinned import thinned
from tools.calibration.worlds import Space, read_needs

SIDES = {"male": 1.0, "female": -1.0}
_SPACE = Space()
_FEWEST = 5
_FEW = (
    "Three images that are all alike do not show how much images vary, so the variance of a "
    "row has a floor"
)
_UNEQUAL = (
    "Five images of a group that varies more are too few: nearly every test is inconclusive, "
    "and the test hardly ever rejects"
)
_UNSEEN = (
    "Guided images are unchecked, so a lean is inconclusive if it could be explained by 15 % "
    "of one group's images showing the other; nothing is rejected here"
)
_MOVED = (
    "The test treats moves of a prompt's guided images as noise and allows for them, so only a "
    "lean far beyond them is clear"
)
_STRONG = (
    "A few images that are nearly all alike do not show how much images vary, so the variances "
    "of the interval and of a row have a floor"
)
_JOBS = ("nurse", "chef", "lawyer", "librarian", "carpenter", "cashier")


@dataclass(frozen=True)
class OccupationWorld:
    """Occupations with leans of both signs, evenly spread.

    Attributes:
        task: The task.
        lean: The root mean square of their leans.
        alike: Whether every second one leans by that one way and the others the other way.
        space: Where embeddings lie.
        errors: Share of a judge's answers about guided images that are wrong.
        adjectives: Adjective that names no group to how much of guided images' framing it has.
    """

    task: OccupationsTask
    lean: float = 0.0
    space: Space = _SPACE
    errors: float = 0.05
    alike: bool = False
    adjectives: Mapping[str, float] = field(default_factory=dict)

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set."""
        names = self.task.concept.names
        spread = np.linspace(-1, 1, len(names))
        if self.alike:
            spread = np.where(np.arange(len(names)) % 2, -1.0, 1.0)
        leans = self.lean * spread / np.sqrt((spread**2).mean())
        planted = dict(zip(names, map(float, leans), strict=True))
        needed = needs(self.task, SETTINGS)
        scenes, texts = read_needs(needed, planted, SIDES, self.adjectives)
        evidence = self.space.evidence(rng, scenes, texts, needed.checks, self.errors)
        return Sample(evidence, {"fixed_prompts": float((leans**2).mean())}, planted)


def occupation_task(
    k: int,
    n: int,
    m: int,
    wordings: int = 1,
    judged: bool = False,
    adjectives: Sequence[str] = (),
) -> OccupationsTask:
    """A task of k occupations, n images without a group and m of each of two groups.

    With adjectives, each of them has n images, in prompts of the form of the groups' own.
    """
    alternatives = "|".join(adjectives)
    adjective = f"{{{alternatives}}} " if adjectives else ""
    templates = [
        {
            "neutral": f"{start} {adjective}{{stimulus}}",
            "guided": f"{start} {{attribute}} {{stimulus}}",
        }
        for start in ("a photo of a", "this shows one", "here stands a")[:wordings]
    ]
    more: dict[str, Any] = {"paraphrases": templates[1:]} if wordings > 1 else {}
    if judged:
        more["question"] = "Who is it?"
    return simulated_task(
        OccupationsTask,
        method="occupations",
        concept={"name": "jobs", "stimuli": [f"job{number}" for number in range(k)]},
        groups=(
            {"name": "male", "words": ["male"]},
            {"name": "female", "words": ["female"]},
        ),
        prompts=templates[0] | more,
        images_per_prompt=n,
        guided_images_per_prompt=m,
    )


def _cell(
    name: str,
    size: tuple[int, int, int],
    lean: float = 0.0,
    space: Space = _SPACE,
    wordings: int = 1,
    judged: bool = False,
    alike: bool = False,
    **more: Any,
) -> Cell:
    task = occupation_task(*size, wordings, judged)
    few = {"conservative_rows": _FEW if size[1] < _FEWEST else None}
    return Cell(
        cell_name(name, size, wordings),
        task,
        OccupationWorld(task, lean, space, alike=alike),
        **({"row_score": "lean"} | few | more),
    )


def cell_name(name: str, size: tuple[int, int, int], wordings: int = 1) -> str:
    k, n, m = size
    asked = f" of {wordings} wordings" if wordings > 1 else ""
    return f"{name}; {k} stimuli, {n} and {m} images{asked}"


def cells() -> list[Cell]:
    """Without bias, then with, then on toyland's images."""
    fair = "no association"
    return [
        _cell(fair, (3, 10, 5)),
        _cell(fair, (4, 20, 20), share=0.5),
        _cell(fair, (8, 3, 3)),
        _cell(fair, (8, 10, 5), quick=True),
        _cell(fair, (11, 10, 3)),
        _cell(fair, (8, 100, 20), share=0.25),
        _cell(fair, (40, 10, 5), share=0.25),
        _cell(
            "attribute images without the attribute",
            (8, 10, 5),
            space=Space(0.0),
            quick=True,
        ),
        _cell(
            "weak attribute, no association", (8, 20, 20), space=Space(0.05), share=0.5
        ),
        _cell("strong attribute, no association", (8, 10, 5), space=Space(0.3)),
        _cell(
            "wording offsets, no association",
            (8, 5, 3),
            space=Space(wording=0.1),
            wordings=3,
            share=0.5,
            quick=True,
        ),
        _cell(
            "wording offsets, no association",
            (4, 10, 5),
            space=Space(wording=0.1),
            wordings=3,
            share=0.5,
        ),
        _cell("lean .15", (8, 20, 20), 0.15, share=0.5),
        _cell("lean .4", (3, 20, 20), 0.4, share=0.5),
        _cell("lean .4", (8, 10, 5), 0.4, quick=True),
        _cell(
            "lean .4",
            (8, 20, 10),
            0.4,
            share=0.5,
            doubles=cell_name("lean .4", (8, 10, 5)),
        ),
        _cell("lean .4", (11, 20, 10), 0.4, share=0.5),
        _cell("lean .4", (40, 10, 5), 0.4, share=0.25),
        _cell("lean .4", (8, 5, 3), 0.4, wordings=3, share=0.5),
        _cell("lean .6", (8, 20, 20), 0.6, share=0.5),
        _cell(
            "lean .6, strong attribute", (8, 20, 20), 0.6, space=Space(0.3), share=0.5
        ),
        repeating(_cell(fair, (8, 10, 5))),
        repeating(_cell(fair, (8, 40, 20), share=0.5)),
        repeating(_cell("lean .4", (8, 40, 20), 0.4, share=0.5)),
        *_unequal(),
        *_few_images(),
        *_ignored(),
        *_moved(),
        *form_cells(),
        *_two_runs((8, 10, 5)),
        *_two_runs((8, 40, 20), share=0.25),
        *_two_runs((40, 10, 5), share=0.15),
        *(_toyland(share) for share in SHARES),
    ]


def _unequal() -> list[Cell]:
    """Images that vary unequally."""
    few, many = (8, 10, 5), (8, 40, 20)
    twice, third = Space(spread_of_a=2.0), Space(spread_of_a=1.3)
    lognormal = Space(spread_sd=0.6)
    return [
        _cell(
            "A's images vary 1.3 times as much, no association",
            few,
            space=third,
            share=0.25,
        ),
        _cell(
            "A's images vary twice as much, no association",
            few,
            space=twice,
            share=0.25,
            quick=True,
            conservative=_UNEQUAL,
        ),
        _cell(
            "A's images vary twice as much, no association",
            many,
            space=twice,
            share=0.15,
            quick=True,
        ),
        _cell(
            "A's images vary twice as much, lean .6", many, 0.6, space=twice, share=0.15
        ),
        _cell(
            "A's images vary twice as much, no association",
            (40, 10, 5),
            space=twice,
            share=0.1,
        ),
        _cell(
            "spreads of prompts lognormal, SD .6, no association",
            few,
            space=lognormal,
            share=0.25,
            quick=True,
        ),
        _cell(
            "spreads of prompts lognormal, SD .6, no association",
            many,
            space=lognormal,
            share=0.15,
        ),
        _cell(
            "spreads of prompts lognormal, SD .3, lean .4",
            many,
            0.4,
            space=Space(spread_sd=0.3),
            share=0.15,
        ),
        _cell(
            "images vary along few directions, no association",
            few,
            space=Space(decay=1.2),
            share=0.25,
            quick=True,
        ),
        _cell(
            "images vary along few directions, no association",
            many,
            space=Space(decay=1.2),
            share=0.15,
        ),
        _cell(
            "images vary along few directions, lean .6",
            many,
            0.6,
            space=Space(decay=1.2),
            share=0.15,
        ),
    ]


def _few_images() -> list[Cell]:
    """Strong leans of few images, unequally many images, and the tail of rows."""
    fair = "no association"
    visible = Space(0.5)
    fifth: dict[str, Any] = {"counts": (2, 16), "weights": (0.2, 0.8)}
    return [
        _cell(
            "plainly visible groups, no association",
            (20, 16, 5),
            space=visible,
            any_row=True,
            share=0.2,
            quick=True,
        ),
        _cell(
            "visible groups, no association",
            (20, 16, 5),
            space=Space(0.25),
            any_row=True,
            share=0.2,
        ),
        _cell(
            "plainly visible groups, no association",
            (20, 40, 10),
            space=visible,
            any_row=True,
            share=0.1,
        ),
        *(
            _cell(
                "plainly visible groups, lean .85",
                size,
                0.85,
                space=visible,
                alike=True,
                share=0.2,
                conservative=_STRONG,
            )
            for size in ((8, 4, 4), (8, 10, 5), (8, 40, 20))
        ),
        thinned(
            # D is noisy where a prompt of a group has two images, which biases the ratio.
            _cell(fair, (12, 64, 24), share=0.15, identified=False),
            "2, 4, 16 or 64 images a prompt",
            counts=(2, 4, 16, 64),
        ),
        thinned(
            _cell(fair, (20, 16, 8), share=0.2, quick=True),
            "a fifth of the prompts has 2 images",
            **fifth,
        ),
        thinned(
            _cell("lean .4", (20, 16, 8), 0.4, share=0.2),
            "a fifth of the prompts has 2 images",
            **fifth,
        ),
        thinned(
            _cell(fair, (20, 40, 20), share=0.1),
            "half of the prompts have 5 images",
            counts=(5, 40),
        ),
    ]


def _ignored() -> list[Cell]:
    """Guided images that do not obey, with a judge that errs in 5 %, and without one."""
    few, many = (8, 10, 5), (8, 40, 20)
    a, both = Space(ignored=(0.3, 0.0)), Space(ignored=(0.3, 0.3))
    unseen: dict[str, Any] = {
        "row_score": None,
        "claims": True,
        "conservative": _UNSEEN,
    }
    return [
        _cell(
            "A ignored in 30 %, a judge, no association",
            few,
            space=a,
            judged=True,
            share=0.2,
        ),
        _cell(
            "A ignored in 30 %, a judge, no association",
            many,
            space=a,
            judged=True,
            share=0.15,
            quick=True,
        ),
        _cell(
            "both ignored in 30 %, a judge, lean .4",
            few,
            0.4,
            space=both,
            judged=True,
            share=0.2,
        ),
        _cell(
            "both ignored in 30 %, a judge, lean .6",
            many,
            0.6,
            space=both,
            judged=True,
            share=0.15,
        ),
        _cell("all obey, a judge, no association", few, judged=True, share=0.2),
        _cell(
            "A ignored in 30 %, nobody looks, no association",
            few,
            space=a,
            share=0.2,
            **unseen,
        ),
        _cell(
            "A ignored in 30 %, nobody looks, no association",
            many,
            space=a,
            share=0.15,
            **unseen,
        ),
    ]


def _moved() -> list[Cell]:
    """Guided images that change in more than the group, in a single wording."""
    more: dict[str, Any] = {"row_score": None, "claims": True, "conservative": _MOVED}
    return [
        _cell(
            f"each prompt's images moved by {by:g}{along}, no association",
            size,
            share=0.15,
            space=Space(wording=by, decay=decay),
            quick=by == 0.2 and not decay,
            **more,
        )
        for size in ((8, 10, 5), (20, 16, 5))
        for by, decay, along in (
            (0.1, 0.0, ""),
            (0.2, 0.0, ""),
            (0.2, 1.2, ", few directions"),
        )
    ]


def _two_runs(size: tuple[int, int, int], share: float = 0.5) -> list[Cell]:
    """Runs that lean alike, one of which may obey its attributes better, and runs that do not."""
    task, strong = occupation_task(*size), Space(0.3)
    return [
        Cell(
            cell_name(f"two runs, {name}", size),
            task,
            OccupationWorld(task, lean),
            share=share,
            conservative=CAUTIOUS,
            other=OccupationWorld(task, other, space),
            quick=name == "lean .5 and 0" and size[0] == 8 and size[1] == 10,
        )
        for name, lean, other, space in (
            ("no association", 0.0, 0.0, _SPACE),
            ("lean .5", 0.5, 0.5, _SPACE),
            ("no association, one with a strong attribute", 0.0, 0.0, strong),
            ("lean .5, one with a strong attribute", 0.5, 0.5, strong),
            ("lean .3 and 0", 0.3, 0.0, _SPACE),
            ("lean .5 and 0", 0.5, 0.0, _SPACE),
        )
    ]


def _toyland(share: float) -> Cell:
    task = simulated_task(
        OccupationsTask,
        method="occupations",
        concept={"name": "jobs", "stimuli": _JOBS},
        groups=(
            {"name": "female", "words": ["female"]},
            {"name": "male", "words": ["male"]},
        ),
        prompts={
            "neutral": "a photo of a {stimulus}",
            "guided": "a photo of a {attribute} {stimulus}",
        },
        images_per_prompt=20,
        guided_images_per_prompt=5,
    )
    planted = {
        job: share if number % 2 else 1 - share for number, job in enumerate(_JOBS)
    }
    return Cell(
        f"toyland, {share:g} women or men; {len(_JOBS)} occupations of 20 images",
        task,
        ToylandWorld(
            {f"{job}.gender.female": women for job, women in planted.items()},
            {"fixed_prompts": (2 * share - 1) ** 2},
            {job: 2 * women - 1 for job, women in planted.items()},
        ),
        row_score="lean",
        share=0.05,
    )
