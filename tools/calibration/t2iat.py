"""Worlds of known bias for T2IAT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.methods.t2iat.design import needs
from t2ibench.methods.t2iat.schema import T2iatTask
from tools.calibration.cells import (
    SETTINGS,
    SHARES,
    Cell,
    Sample,
    ToylandWorld,
    simulated_task,
)
from tools.calibration.repeats import repeating
from tools.calibration.wordings import wording_cells
from tools.calibration.worlds import (
    OWN_FRAMING,
    SHARED_FRAMING,
    Space,
    random_leans,
    read_needs,
)

SIDES = {"splendid": 1.0, "dreadful": -1.0}
_SPACE = Space()
_FEWEST = 5
_UNREAD = "Rows that how images vary does not confirm have no value and reject nothing"
_FRAMED = (
    "Only guided images are framed differently, so rows lean by the difference where few images "
    "do not show it"
)
_UNSEEN = (
    "An encoder that does not see the attribute gives the test no scale, so the test hardly "
    "ever rejects, and the headline has no value"
)
_FEW = (
    "Three images that are all alike do not show how much images vary, so the variance of a "
    "row has a floor"
)


@dataclass(frozen=True)
class AssociationWorld:
    """k stimuli of X with one mean lean, k of Y with the opposite one.

    Attributes:
        task: The task.
        lean: Half of the difference of the two concepts' mean leans: the true headline.
        clustering: Intraclass correlation of what the images of one stimulus show.
        space: Where embeddings lie.
    """

    task: T2iatTask
    lean: float = 0.0
    clustering: float = 0.0
    space: Space = _SPACE

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set."""
        concepts = self.task.concepts
        k = len(concepts.X.stimuli)
        x = random_leans(rng, self.lean, self.clustering, k)
        y = random_leans(rng, -self.lean, self.clustering, k)
        names = (*concepts.X.stimuli, *concepts.Y.stimuli)
        leans = dict(zip(names, map(float, [*x, *y]), strict=True))
        scenes, texts = read_needs(needs(self.task, SETTINGS), leans, SIDES)
        evidence = self.space.evidence(rng, scenes, texts)
        if self.space.wording:  # what these prompts show is not their leans alone
            return Sample(evidence, {"prompt_population": self.lean})
        truth = float(x.mean() - y.mean()) / 2
        return Sample(
            evidence, {"fixed_prompts": truth, "prompt_population": self.lean}, leans
        )


def association_task(k: int, n: int, m: int) -> T2iatTask:
    """Return a task of k stimuli a concept, n images of each and m with an attribute."""
    stimuli = {
        side: [f"{side.lower()}{number}" for number in range(k)] for side in "XY"
    }
    return simulated_task(
        T2iatTask,
        method="t2iat",
        concepts={side: {"name": side, "stimuli": stimuli[side]} for side in "XY"},
        attributes={
            "A": {"name": "A", "words": ["splendid"]},
            "B": {"name": "B", "words": ["dreadful"]},
        },
        prompts={
            "neutral": "a photo of {stimulus}",
            "guided": "a {attribute} {stimulus}",
        },
        words_per_stimulus=1,
        images_per_prompt=n,
        guided_images_per_prompt=m,
    )


def _cell(
    name: str,
    size: tuple[int, int, int],
    lean: float = 0.0,
    clustering: float = 0.0,
    space: Space = _SPACE,
    **more: Any,
) -> Cell:
    k, n, m = size
    task = association_task(k, n, m)
    fields: dict[str, Any] = {"row_score": "lean", **more}
    return Cell(
        f"{name}; {k} + {k} stimuli, {n} and {m} images",
        task,
        AssociationWorld(task, lean, clustering, space),
        conservative=None if space.strength else _UNSEEN,
        **({"conservative_rows": _FEW if n < _FEWEST else None} | fields),
    )


def _framed() -> list[Cell]:
    """Guided images that are framed otherwise than the ones without an attribute."""
    few = (8, 10, 5)
    many = (8, 40, 20)
    return [
        _cell(
            f"{name}, {association}",
            size,
            lean,
            space=space,
            share=0.1,
            conservative_rows=_UNREAD,
            liberal_rows=_FRAMED,
            quick=name == "framing shared by all" and size == many and not lean,
        )
        for size in (few, many)
        for name, space in (
            ("framing shared by all", SHARED_FRAMING),
            ("framing of each's own", OWN_FRAMING),
        )
        for association, lean in (("no association", 0.0), ("lean .5", 0.5))
    ]


def _unequal() -> list[Cell]:
    """Images that vary unequally."""
    twice = Space(spread_of_a=2.0)
    name = "A's images vary twice as much"
    return [
        _cell(f"{name}, no association", (8, 10, 5), space=twice, share=0.15),
        _cell(f"{name}, no association", (8, 40, 20), space=twice, share=0.1),
        _cell(f"{name}, lean .4", (8, 40, 20), 0.4, space=twice, share=0.1),
        _cell(
            "spreads of prompts lognormal, SD .6, no association",
            (8, 40, 20),
            space=Space(spread_sd=0.6),
            share=0.1,
        ),
        _cell(
            "A ignored in 30 %, nobody looks, no association",
            (8, 10, 5),
            space=Space(ignored=(0.3, 0.0)),
            share=0.15,
            row_score=None,
        ),
        _cell(
            "images vary along few directions, no association",
            (8, 10, 5),
            space=Space(decay=1.2),
            share=0.15,
        ),
        _cell(
            "images vary along few directions, lean .6",
            (8, 40, 20),
            0.6,
            space=Space(decay=1.2),
            share=0.1,
        ),
    ]


def cells() -> list[Cell]:
    """Without bias, then with, then on toyland's images."""
    fair, clustered = "no association", "no association, clustering"
    medium = "lean .4, clustering .2"
    return [
        _cell(fair, (3, 10, 5)),
        _cell(fair, (4, 3, 3)),
        _cell(fair, (8, 10, 5), quick=True),
        _cell(fair, (11, 20, 10), share=0.5),
        _cell(fair, (40, 10, 3), share=0.25),
        _cell(fair, (8, 100, 20), share=0.25),
        _cell(f"{clustered} .2", (8, 10, 5)),
        _cell(f"{clustered} .5", (4, 10, 5)),
        _cell(f"{clustered} .5", (11, 10, 5)),
        _cell(
            "attribute images without the attribute",
            (8, 10, 5),
            space=Space(0.0),
            quick=True,
        ),
        _cell("weak attribute, no association", (8, 10, 5), space=Space(0.05)),
        _cell("strong attribute, no association", (8, 10, 5), space=Space(0.3)),
        _cell("wording offsets, no association", (8, 10, 5), space=Space(wording=0.1)),
        _cell("lean .15", (8, 10, 5), 0.15),
        _cell(medium, (3, 10, 5), 0.4, 0.2),
        _cell(medium, (4, 10, 5), 0.4, 0.2),
        _cell(medium, (8, 10, 5), 0.4, 0.2, quick=True),
        _cell(
            medium,
            (8, 20, 10),
            0.4,
            0.2,
            share=0.5,
            doubles=f"{medium}; 8 + 8 stimuli, 10 and 5 images",
        ),
        _cell(medium, (11, 20, 10), 0.4, 0.2, share=0.5),
        _cell("lean .8", (8, 10, 5), 0.8),
        _cell(
            "lean .8, strong attribute", (8, 20, 10), 0.8, space=Space(0.3), share=0.5
        ),
        repeating(_cell(fair, (8, 10, 5))),
        repeating(_cell(medium, (8, 40, 20), 0.4, 0.2, share=0.5)),
        *wording_cells(),
        *_unequal(),
        *_framed(),
        *(_toyland(share) for share in SHARES),
    ]


def _toyland(share: float) -> Cell:
    flowers, insects = (
        ("aster", "clover", "tulip", "orchid"),
        ("ant", "flea", "wasp", "moth"),
    )
    task = simulated_task(
        T2iatTask,
        method="t2iat",
        concepts={
            "X": {"name": "flowers", "stimuli": flowers},
            "Y": {"name": "insects", "stimuli": insects},
        },
        attributes={
            "A": {"name": "pleasant", "words": ["sunny"]},
            "B": {"name": "unpleasant", "words": ["rainy"]},
        },
        prompts={
            "neutral": "a photo of {stimulus}",
            "guided": "a photo of {stimulus}, {attribute}",
        },
        words_per_stimulus=1,
        images_per_prompt=20,
        guided_images_per_prompt=5,
    )
    lean = 2 * share - 1
    planted = dict.fromkeys(flowers, share) | dict.fromkeys(insects, 1 - share)
    return Cell(
        f"toyland, {share:g} pleasant flowers; 4 + 4 stimuli, 20 and 5 images",
        task,
        ToylandWorld(
            {f"{name}.weather.pleasant": value for name, value in planted.items()},
            {"fixed_prompts": lean, "prompt_population": lean},
            {name: 2 * value - 1 for name, value in planted.items()},
        ),
        row_score="lean",
        share=0.05,
    )
