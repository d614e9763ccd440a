"""Simulate checks of submissions with embeddings that are made again, honest ones and tilted ones.

Every check goes through the functions behind `leaderboard verify --draw`, with two groups of
prompts and four scores. Simulated is how often an honest submission is called tilted, and how often
a tilt is noticed whose size another, honest check of the same model names as noticeable.

python -m tools.calibration.tilts --sets 500
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from tabulate import tabulate

from t2ibench.apps.leaderboard.tilts import (
    FALSE_ALARMS,
    Score,
    shift_of,
    smallest_noticed,
)
from t2ibench.arrays import Float64Array
from tools.calibration.command import add_workers, drawn_sets, worlds_parser
from tools.calibration.verdicts import rate_text

# Images in each of the two groups of prompts, and how many of each group are drawn.
_TOTALS = (100, 200)
_DRAWN = (4, 8, 16, 32, 96)
# By how much a deviation moves the headline, in the root mean square; a further score moves with
# the same images by another share.
_MOVES = 2e-4
_SHARED = 0.7
_N_SCORES = 4
_VALUE = 0.5

Draw = Callable[[np.random.Generator, int], Float64Array]


def _normal(rng: np.random.Generator, count: int) -> Float64Array:
    return rng.normal(size=count)


def _heavy(rng: np.random.Generator, count: int) -> Float64Array:
    """Student's t with three degrees of freedom, scaled to a variance of 1."""
    deviations: Float64Array = rng.standard_t(3, size=count) / np.sqrt(3)
    return deviations


def _few_far(rng: np.random.Generator, count: int) -> Float64Array:
    """Nine of ten images are the same byte for byte, the others are far off."""
    return np.where(rng.random(count) < 0.1, rng.normal(size=count) * np.sqrt(10), 0.0)


def _half_same(rng: np.random.Generator, count: int) -> Float64Array:
    """Half of the images are the same byte for byte."""
    return np.where(rng.random(count) < 0.5, rng.normal(size=count) * np.sqrt(2), 0.0)


def _few_far_and_heavy(rng: np.random.Generator, count: int) -> Float64Array:
    """Nine of ten images are the same, the others far off with heavy tails."""
    return np.where(_few_far(rng, count), _heavy(rng, count) * np.sqrt(10), 0.0)


def _with_norm(rng: np.random.Generator, count: int) -> Float64Array:
    """Rounding grows with the length of an embedding, which is lognormal over images."""
    lengths = np.exp(0.5 * rng.normal(size=count))
    deviations: Float64Array = lengths * rng.normal(size=count) / np.exp(0.25)
    return deviations


@dataclass(frozen=True)
class TiltWorld:
    """How embeddings deviate that another machine makes again, and how many are drawn.

    Attributes:
        name: How they deviate.
        drawn: How many images of each group.
        draw: Deviations along the axis of a score, with a mean of 0 and a variance of 1.
    """

    name: str
    drawn: int
    draw: Draw


_NOISES: dict[str, Draw] = {
    "normal": _normal,
    "heavy tails, t with 3 degrees of freedom": _heavy,
    "growing with the length of the embedding": _with_norm,
    "half of the images the same byte for byte": _half_same,
    "9 of 10 the same, the others far off": _few_far,
    "9 of 10 the same, the others far off with heavy tails": _few_far_and_heavy,
}
WORLDS = tuple(
    TiltWorld(name, drawn, draw) for name, draw in _NOISES.items() for drawn in _DRAWN
)


def simulated(world: TiltWorld, seed: int, number: int) -> list[float]:
    """Return what two checks of a submission give, an honest one and one of a tilted submission.

    Returns:
        Whether the honest one is called tilted, the smallest tilt that it names, and whether that
        tilt of another such submission is noticed.
    """
    rng = np.random.default_rng(
        [seed, zlib.crc32(world.name.encode()), world.drawn, number]
    )
    honest = _effects(world, rng)
    named = smallest_noticed(
        Score(_VALUE), honest[0], _TOTALS, chance=FALSE_ALARMS, scores=_N_SCORES
    )
    if not np.isfinite(named):
        return [float(_is_tilted(honest)), named, np.nan]
    each = named / sum(_TOTALS)
    tilted = [group + each for group in _effects(world, rng)[0]]
    return [float(_is_tilted(honest)), named, float(_is_tilted([tilted]))]


def _effects(world: TiltWorld, rng: np.random.Generator) -> list[list[Float64Array]]:
    """Return the effects of the drawn images on each score, the headline first, by group."""
    sizes = [min(world.drawn, total) for total in _TOTALS]
    headline = [_MOVES * world.draw(rng, size) for size in sizes]
    scores = [headline]
    for _ in range(_N_SCORES - 1):
        beside = [
            _SHARED * effects
            + np.sqrt(1 - _SHARED**2)
            * np.where(effects, _MOVES * world.draw(rng, len(effects)), 0)
            for effects in headline
        ]
        scores.append(beside)
    return scores


def _is_tilted(scores: Sequence[Sequence[Float64Array]]) -> bool:
    """Return whether any of the scores is called tilted."""
    return any(
        shift_of(
            "", Score(_VALUE), effects, _TOTALS, chance=FALSE_ALARMS, scores=_N_SCORES
        ).tilted
        for effects in scores
    )


def _row(world: TiltWorld, results: Float64Array) -> list[str]:
    """Return the row of a world: false alarms, the tilt that is named, and how often noticed."""
    n_sets = len(results)
    named = results[np.isfinite(results[:, 1])]
    size = f"{np.median(named[:, 1]):.3f}" if len(named) else "none"
    alarms = rate_text(results[:, 0])
    noticed = rate_text(results[:, 2])
    return [
        world.name,
        str(world.drawn),
        alarms,
        f"{len(named) / n_sets:.2f}",
        size,
        noticed,
    ]


_HEADINGS = (
    "how embeddings deviate",
    "drawn of each group",
    "honest: called tilted",
    "a size is named",
    "median of that size",
    "noticed when there",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate each world and print its rates."""
    parser = worlds_parser("tilts", __doc__, sets=500)
    add_workers(parser)
    arguments = parser.parse_args(argv)
    rows = []
    for world in WORLDS:
        name = f"{world.name}, {world.drawn} drawn"
        if arguments.world in name:
            results = drawn_sets(
                name, partial(simulated, world, arguments.seed), arguments
            )
            rows.append(_row(world, results))
    print(tabulate(rows, headers=_HEADINGS, tablefmt="pipe", disable_numparse=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
