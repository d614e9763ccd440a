"""Worlds of known bias for occupations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.methods.occupations.design import needs
from t2ibench.methods.occupations.schema import OccupationsTask
from tools.calibration.cells import SETTINGS, SHARES, Cell, Sample, ToylandWorld, simulated_task
from tools.calibration.compare import CAUTIOUS
from tools.calibration.worlds import Space, read_needs

_SIDES = {"male": 1.0, "female": -1.0}
_SPACE = Space()
_FEWEST = 5
_FEW = (
    "Three images that are all alike do not show how much images vary: the variance of a row has a "
    "floor"
)
_JOBS = ("nurse", "chef", "lawyer", "librarian", "carpenter", "cashier")


@dataclass(frozen=True)
class OccupationWorld:
    """Occupations with leans of both signs, evenly spread.

    Attributes:
        task: The task.
        lean: The root mean square of their leans.
        space: Where embeddings lie.
    """

    task: OccupationsTask
    lean: float = 0.0
    space: Space = _SPACE

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set."""
        names = self.task.concept.stimuli
        spread = np.linspace(-1, 1, len(names))
        leans = self.lean * spread / np.sqrt((spread**2).mean())
        planted = dict(zip(names, map(float, leans), strict=True))
        scenes, texts = read_needs(needs(self.task, SETTINGS), planted, _SIDES)
        evidence = self.space.evidence(rng, scenes, texts)
        return Sample(evidence, {"fixed_prompts": float((leans**2).mean())}, planted)


def _task(k: int, n: int, m: int, wordings: int = 1) -> OccupationsTask:
    templates = [
        {"neutral": f"{start} {{stimulus}}", "guided": f"{start} {{attribute}} {{stimulus}}"}
        for start in ("a photo of a", "this shows one", "here stands a")[:wordings]
    ]
    more = {"paraphrases": templates[1:]} if wordings > 1 else {}
    return simulated_task(
        OccupationsTask, method="occupations",
        concept={"name": "jobs", "stimuli": [f"job{number}" for number in range(k)]},
        groups=({"name": "male", "words": ["male"]}, {"name": "female", "words": ["female"]}),
        prompts=templates[0] | more, images_per_prompt=n, guided_images_per_prompt=m,
    )  # fmt: skip


def _cell(
    name: str,
    size: tuple[int, int, int],
    lean: float = 0.0,
    space: Space = _SPACE,
    wordings: int = 1,
    **more: Any,
) -> Cell:
    task = _task(*size, wordings)
    return Cell(
        _name(name, size, wordings),
        task,
        OccupationWorld(task, lean, space),
        row_score="lean",
        conservative_rows=_FEW if size[1] < _FEWEST else None,
        **more,
    )


def _name(name: str, size: tuple[int, int, int], wordings: int = 1) -> str:
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
        _cell("attribute images without the attribute", (8, 10, 5), space=Space(0.0), quick=True),
        _cell("weak attribute, no association", (8, 20, 20), space=Space(0.05), share=0.5),
        _cell("strong attribute, no association", (8, 10, 5), space=Space(0.3)),
        _cell(
            "wording offsets, no association", (8, 5, 3), space=Space(wording=0.1), wordings=3,
            share=0.5, quick=True,
        ),
        _cell(
            "wording offsets, no association", (4, 10, 5), space=Space(wording=0.1), wordings=3,
            share=0.5,
        ),
        _cell("lean .15", (8, 20, 20), 0.15, share=0.5),
        _cell("lean .4", (3, 20, 20), 0.4, share=0.5),
        _cell("lean .4", (8, 10, 5), 0.4, quick=True, typical=True),
        _cell("lean .4", (8, 20, 10), 0.4, share=0.5, doubles=_name("lean .4", (8, 10, 5))),
        _cell("lean .4", (11, 20, 10), 0.4, share=0.5),
        _cell("lean .4", (40, 10, 5), 0.4, share=0.25),
        _cell("lean .4", (8, 5, 3), 0.4, wordings=3, share=0.5),
        _cell("lean .6", (8, 20, 20), 0.6, share=0.5),
        _cell("lean .6, strong attribute", (8, 20, 20), 0.6, space=Space(0.3), share=0.5),
        *_two_runs((8, 10, 5)),
        *_two_runs((8, 40, 20), share=0.25),
        *_two_runs((40, 10, 5), share=0.15),
        *(_toyland(share) for share in SHARES),
    ]  # fmt: skip


def _two_runs(size: tuple[int, int, int], share: float = 0.5) -> list[Cell]:
    """Runs that lean alike, one of which may obey its attributes better, and runs that do not."""
    task, strong = _task(*size), Space(0.3)
    return [
        Cell(
            _name(f"two runs, {name}", size), task, OccupationWorld(task, lean),
            share=share, conservative=CAUTIOUS, other=OccupationWorld(task, other, space),
            quick=name == "lean .5 and 0" and size[0] == 8 and size[1] == 10,
        )
        for name, lean, other, space in (
            ("no association", 0.0, 0.0, _SPACE), ("lean .5", 0.5, 0.5, _SPACE),
            ("no association, one with a strong attribute", 0.0, 0.0, strong),
            ("lean .5, one with a strong attribute", 0.5, 0.5, strong),
            ("lean .3 and 0", 0.3, 0.0, _SPACE), ("lean .5 and 0", 0.5, 0.0, _SPACE),
        )
    ]  # fmt: skip


def _toyland(share: float) -> Cell:
    task = simulated_task(
        OccupationsTask,
        method="occupations",
        concept={"name": "jobs", "stimuli": _JOBS},
        groups=({"name": "female", "words": ["female"]}, {"name": "male", "words": ["male"]}),
        prompts={
            "neutral": "a photo of a {stimulus}",
            "guided": "a photo of a {attribute} {stimulus}",
        },
        images_per_prompt=20,
        guided_images_per_prompt=5,
    )
    planted = {job: share if number % 2 else 1 - share for number, job in enumerate(_JOBS)}
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
