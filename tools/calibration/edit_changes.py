"""Differences of changes alone: bias, coverage, type I error and power, without answers.

python -m tools.calibration.edit_changes --sets 2000

`tools.calibration.edits` simulates whole tasks through `score`; here the public function behind its
headline and rows is given changes directly, which is a hundred times as fast, so that the table of
docs/methods/edits.md has small errors of its own.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tabulate import tabulate

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.cli.usage import not_negative, positive
from t2ibench.methods.edits.cautious_test import cautiously_tested
from t2ibench.methods.edits.mean_change import (
    BOTH_WAYS,
    LOSS,
    GroupChanges,
    difference_of_changes,
)
from t2ibench.stats import holm
from tools.calibration.edits import Change

_LEVEL = 0.95


@dataclass(frozen=True)
class ChangeWorld:
    """Two groups of source images with known changes.

    Attributes:
        name: What is simulated, in a few words.
        sizes: Source images of each group.
        edits: Number of edits.
        changes: What edits do to each group.
        alike: How far the edits of one source image change together, from 0 to below 1.
        refused: Share of the edits of each group that are refused.
        errors: Share of the images that show the class, and of those that do not, that are judged
            wrongly.
    """

    name: str
    sizes: tuple[int, int]
    edits: int
    changes: tuple[Change, Change]
    alike: float = 0.3
    refused: tuple[float, float] = (0.0, 0.0)
    errors: tuple[float, float] = (0.0, 0.0)

    @property
    def truth(self) -> float:
        """The difference of the changes, as the judge sees it."""
        first, second = (change.of(1.0) for change in self.changes)
        return (1 - sum(self.errors)) * (first - second)

    @property
    def defines_groups(self) -> bool:
        """Whether all source images show the class."""
        return all(change.shown == 1 for change in self.changes)

    def draw(self, rng: np.random.Generator) -> list[GroupChanges]:
        """One data set: the changes of both groups."""
        return [
            GroupChanges(name, np.arange(size), self._values(rng, number, size))
            for number, (name, size) in enumerate(
                zip(("first", "second"), self.sizes, strict=True)
            )
        ]

    def _values(self, rng: np.random.Generator, number: int, size: int) -> Float64Array:
        """Changes of one group, shape (sources, edits, 1)."""
        change = self.changes[number]
        before = rng.random((size, 1)) < change.shown
        share = np.where(before, change.loss, change.gain)
        chance = _spread_over_sources(rng, share, self.alike)
        moves = rng.random((size, self.edits)) < chance
        after = before ^ moves
        seen_before = self._judged(rng, before)
        seen_after = self._judged(rng, after)
        values = seen_after.astype(np.float64) - seen_before
        values[rng.random(values.shape) < self.refused[number]] = np.nan
        return values[:, :, None]

    def _judged(self, rng: np.random.Generator, shown: BoolArray) -> BoolArray:
        missed, invented = self.errors
        is_wrong = rng.random(shown.shape) < np.where(shown, missed, invented)
        judged: BoolArray = shown ^ is_wrong
        return judged


def _spread_over_sources(
    rng: np.random.Generator, share: Float64Array, alike: float
) -> Float64Array:
    """Chances of source images to change, beta about the share of their kind."""
    if not alike:
        return share
    precision = (1 - alike) / alike
    inside = np.clip(share, 1e-9, 1 - 1e-9)
    drawn = rng.beta(inside * precision, (1 - inside) * precision)
    chances: Float64Array = np.where((share > 0) & (share < 1), drawn, share)
    return chances


def simulate(
    world: ChangeWorld, sets: int, seed: int, *, rows_too: bool = True
) -> dict[str, float | str]:
    """Return what a world shows: bias, coverage, and how often headline and rows reject.

    Rows take most of the time; without `rows_too` they are left out.
    """
    rng = np.random.default_rng([seed, len(world.name), *world.sizes, world.edits])
    possible = LOSS if world.defines_groups else BOTH_WAYS
    values: list[float] = []
    covers: list[bool] = []
    rejects: list[bool] = []
    rows: list[bool] = []
    any_row: list[bool] = []
    for _ in range(sets):
        first, second = world.draw(rng)
        difference = difference_of_changes(first, second, possible, _LEVEL)
        whole = cautiously_tested(difference, _LEVEL)
        if whole.value is None or whole.interval is None or whole.p is None:
            continue
        values.append(whole.value)
        covers.append(whole.interval[0] <= world.truth <= whole.interval[1])
        rejects.append(whole.p < 1 - _LEVEL)
        if not rows_too:
            continue
        p_values = []
        for edit in range(world.edits):
            row = difference_of_changes(
                first.of_edits([edit]), second.of_edits([edit]), possible, _LEVEL
            )
            p_values.append(cautiously_tested(row, _LEVEL).p)
        rows += [p is not None and p < 1 - _LEVEL for p in p_values]
        adjusted = [p for p in holm(p_values) if p is not None]
        any_row.append(bool(adjusted) and min(adjusted) < 1 - _LEVEL)
    return {
        "world": world.name,
        "source images": f"{world.sizes[0]} + {world.sizes[1]}",
        "edits": world.edits,
        "bias": f"{np.mean(values) - world.truth:+.3f}",
        "covers": f"{np.mean(covers):.3f}",
        "p < .05": f"{np.mean(rejects):.3f}",
        "a row p < .05": f"{np.mean(rows):.3f}" if rows else "–",
        "any row clear": f"{np.mean(any_row):.3f}" if any_row else "–",
        "true lean": f"{world.truth:.2f}",
    }


_SIZES = ((10, 10), (40, 40), (10, 40))


def _losses(first: float, second: float) -> tuple[Change, Change]:
    return Change(loss=first), Change(loss=second)


def _alike(change: Change) -> tuple[Change, Change]:
    return change, change


def worlds() -> list[ChangeWorld]:
    """Groups that change alike, then groups that do not."""
    refusing = (0.4, 0.1)
    erring = (0.15, 0.05)
    both_ways = Change(0.6, 0.5), Change(0.3, 0.5)
    listed = []
    for sizes in _SIZES:
        listed += [
            ChangeWorld("nothing changes", sizes, 8, _losses(0.0, 0.0)),
            ChangeWorld("a tenth of both lost", sizes, 8, _losses(0.1, 0.1)),
            ChangeWorld("half of both lost", sizes, 8, _losses(0.5, 0.5)),
            ChangeWorld(
                "half of both lost, each edit by itself",
                sizes,
                8,
                _losses(0.5, 0.5),
                alike=0.0,
            ),
            ChangeWorld("half of both lost", sizes, 1, _losses(0.5, 0.5)),
            ChangeWorld("nine tenths of both lost", sizes, 8, _losses(0.9, 0.9)),
            ChangeWorld(
                "half of both lost, .4 and .1 refused",
                sizes,
                8,
                _losses(0.5, 0.5),
                refused=refusing,
            ),
            ChangeWorld(
                "nothing changes, a judge that errs",
                sizes,
                8,
                _losses(0.0, 0.0),
                errors=erring,
            ),
            ChangeWorld(
                "half of both lost, a judge that errs",
                sizes,
                8,
                _losses(0.5, 0.5),
                errors=erring,
            ),
            ChangeWorld(
                "gained .3, lost .3, half shown",
                sizes,
                8,
                _alike(Change(0.5, 0.3, 0.3)),
            ),
            ChangeWorld("lost .3 and .1", sizes, 8, _losses(0.3, 0.1)),
            ChangeWorld("lost .8 and .2", sizes, 8, _losses(0.8, 0.2)),
            ChangeWorld("lost .8 and .2", sizes, 1, _losses(0.8, 0.2)),
            ChangeWorld(
                "lost .8 and .2, .4 and .1 refused",
                sizes,
                8,
                _losses(0.8, 0.2),
                refused=refusing,
            ),
            ChangeWorld(
                "lost .8 and .2, a judge that errs",
                sizes,
                8,
                _losses(0.8, 0.2),
                errors=erring,
            ),
            ChangeWorld("lost .95 and nothing", sizes, 8, _losses(0.95, 0.0)),
            ChangeWorld("gained .5, of .6 and .3 shown before", sizes, 8, both_ways),
        ]
    return listed


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.calibration.edit_changes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sets", type=positive, default=2000, help="data sets a world")
    parser.add_argument("--seed", type=not_negative, default=0, help="of the worlds")
    parser.add_argument(
        "--headline", action="store_true", help="the headline alone, which is faster"
    )
    parser.add_argument("--world", default="", help="only worlds that contain this")
    arguments = parser.parse_args(argv)
    chosen = [world for world in worlds() if arguments.world in world.name]
    rows = []
    for world in chosen:
        rows.append(
            simulate(
                world, arguments.sets, arguments.seed, rows_too=not arguments.headline
            )
        )
        print(world.name, rows[-1], file=sys.stderr, flush=True)
    print(tabulate(rows, headers="keys", tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    main()
