"""Worlds of known bias for MCAS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.methods.mcas.needs import needs
from t2ibench.methods.mcas.schema import McasTask
from tools.calibration.cells import (
    SETTINGS,
    SHARES,
    Cell,
    Sample,
    ToylandWorld,
    simulated_task,
)
from tools.calibration.repeats import repeating
from tools.calibration.worlds import Space, random_leans, read_needs

_SPACE = Space()
_WEAK = (
    "The variance that attribute prompts add to all targets alike is never estimated below 0, "
    "which is cautious if these prompts hardly differ"
)
_FEW_DIRECTIONS = (
    "The variance that attribute prompts add to a row is estimated along few directions, which "
    "is cautious"
)


@dataclass(frozen=True)
class TargetWorld:
    """Targets that lean as the stereotype says, half of them each way.

    Attributes:
        task: The task.
        lean: Mean lean of the targets of stereotype A; those of B lean the other way.
        clustering: Intraclass correlation of what the images of one target show.
        space: Where embeddings lie.
    """

    task: McasTask
    lean: float = 0.0
    clustering: float = 0.0
    space: Space = _SPACE

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set."""
        half = len(self.task.targets) // 2
        a = random_leans(rng, self.lean, self.clustering, half)
        b = random_leans(rng, -self.lean, self.clustering, half)
        names = [target.name for target in self.task.targets]
        leans = dict(zip(names, map(float, [*a, *b]), strict=True))
        attributes = self.task.attributes
        sides = dict.fromkeys((*attributes.A.words, *_words(attributes.A.prompts)), 1.0)
        sides |= dict.fromkeys(
            (*attributes.B.words, *_words(attributes.B.prompts)), -1.0
        )
        figures = dict.fromkeys(
            f"figure{number}" for number in range(len(attributes.A.prompts))
        )
        scenes, texts = read_needs(needs(self.task, SETTINGS), leans | figures, sides)
        evidence = self.space.evidence(rng, scenes, texts)
        if self.space.wording:  # what these prompts show is not their leans alone
            return Sample(evidence, {"prompt_population": self.lean})
        truth = float(a.mean() - b.mean()) / 2
        return Sample(
            evidence, {"fixed_prompts": truth, "prompt_population": self.lean}, leans
        )


def _words(prompts: tuple[str, ...]) -> list[str]:
    """The last word of each, which names the attribute."""
    return [prompt.split()[-1] for prompt in prompts]


def _task(k: int, n: int, m: int, prompts: int) -> McasTask:
    names = [f"work{number}" for number in range(2 * k)]
    return simulated_task(
        McasTask,
        method="mcas",
        attributes={
            side: {
                "name": side,
                "prompts": [
                    f"an image of figure{number} {side.lower()}{number}"
                    for number in range(prompts)
                ],
                "words": [f"{side.lower()}word{number}" for number in range(10)],
            }
            for side in "AB"
        },
        targets=[
            {
                "name": name,
                "prompt": f"a person at {name}",
                "stereotype": "AB"[number >= k],
            }
            for number, name in enumerate(names)
        ],
        images_per_prompt=n,
        attribute_images_per_prompt=m,
    )


def _name(name: str, size: tuple[int, int, int, int]) -> str:
    k, n, m, prompts = size
    return (
        f"{name}; {k} + {k} targets of {n} images, {prompts} + {prompts} prompts of {m}"
    )


def _cell(
    name: str,
    size: tuple[int, int, int, int],
    lean: float = 0.0,
    clustering: float = 0.0,
    space: Space = _SPACE,
    **more: Any,
) -> Cell:
    task = _task(*size)
    fields: dict[str, Any] = {"share": 0.25, "row_score": "lean", **more}
    return Cell(
        _name(name, size),
        task,
        TargetWorld(task, lean, clustering, space),
        conservative=_WEAK if space.strength < _SPACE.strength else None,
        **fields,
    )


def cells() -> list[Cell]:
    """Without bias, then with, then on toyland's images."""
    fair, medium = "no association", "lean .4, clustering .2"
    return [
        _cell(fair, (3, 20, 16, 4)),
        _cell(fair, (14, 10, 8, 8), share=0.15, quick=True),
        _cell(fair, (14, 20, 16, 8), share=0.08),
        _cell(
            "no association, clustering .2", (14, 10, 8, 8), clustering=0.2, share=0.15
        ),
        _cell(
            "no association, clustering .5", (14, 10, 8, 8), clustering=0.5, share=0.15
        ),
        _cell(
            "attribute images without the attribute",
            (14, 10, 8, 8),
            space=Space(0.0),
            share=0.15,
        ),
        _cell(
            "weak attribute, no association",
            (14, 10, 8, 8),
            space=Space(0.05),
            share=0.15,
        ),
        _cell(
            "wording offsets, no association",
            (14, 10, 8, 8),
            space=Space(wording=0.1),
            share=0.15,
        ),
        _cell("lean .15", (14, 10, 8, 8), 0.15, share=0.15),
        _cell(medium, (3, 20, 16, 4), 0.4, 0.2),
        _cell(medium, (14, 10, 8, 8), 0.4, 0.2, share=0.15, quick=True),
        _cell(
            medium,
            (14, 20, 16, 8),
            0.4,
            0.2,
            share=0.08,
            doubles=_name(medium, (14, 10, 8, 8)),
        ),
        _cell("lean .8", (14, 10, 8, 8), 0.8, share=0.15),
        repeating(_cell(fair, (14, 10, 8, 8), share=0.15)),
        repeating(_cell(medium, (14, 40, 8, 8), 0.4, 0.2, share=0.08)),
        _cell(
            "A's images vary twice as much, no association",
            (14, 10, 8, 8),
            space=Space(spread_of_a=2.0),
            share=0.15,
        ),
        _cell(
            "A's images vary twice as much, no association",
            (14, 40, 16, 8),
            space=Space(spread_of_a=2.0),
            share=0.08,
        ),
        _cell(
            "A's images vary twice as much, lean .4",
            (14, 40, 16, 8),
            0.4,
            space=Space(spread_of_a=2.0),
            share=0.08,
        ),
        _cell(
            "spreads of prompts lognormal, SD .6, no association",
            (14, 10, 8, 8),
            space=Space(spread_sd=0.6),
            share=0.15,
        ),
        _cell(
            "A ignored in 30 %, nobody looks, no association",
            (14, 10, 8, 8),
            space=Space(ignored=(0.3, 0.0)),
            share=0.15,
            row_score=None,
        ),
        _cell(
            "images vary along few directions, no association",
            (14, 10, 8, 8),
            space=Space(decay=1.2),
            share=0.15,
            conservative_rows=_FEW_DIRECTIONS,
        ),
        _cell(
            "images vary along few directions, lean .4",
            (14, 10, 8, 8),
            0.4,
            space=Space(decay=1.2),
            share=0.15,
        ),
        *(_toyland(share) for share in SHARES),
    ]


def _toyland(share: float) -> Cell:
    people = (
        ("man", "woman"),
        ("boy", "girl"),
        ("old man", "old woman"),
        ("male adult", "female adult"),
    )
    jobs = ("carpenter", "lawyer", "chef", "nurse", "librarian", "cashier")
    task = simulated_task(
        McasTask,
        method="mcas",
        attributes={
            side: {
                "name": side,
                "prompts": [f"an image of a {pair[number]}" for pair in people],
                "words": [pair[number] for pair in people],
            }
            for number, side in enumerate("AB")
        },
        targets=[
            {
                "name": job,
                "prompt": f"an image of a {job}",
                "stereotype": "AB"[number >= 3],
            }
            for number, job in enumerate(jobs)
        ],
        images_per_prompt=20,
        attribute_images_per_prompt=10,
    )
    lean = 2 * share - 1
    men = {job: share if number < 3 else 1 - share for number, job in enumerate(jobs)}
    return Cell(
        f"toyland, {share:g} men or women; 3 + 3 targets of 20 images",
        task,
        ToylandWorld(
            {f"{job}.gender.male": value for job, value in men.items()},
            {"fixed_prompts": lean, "prompt_population": lean},
        ),
        share=0.05,
    )
