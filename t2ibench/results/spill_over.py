"""Spill-over: how far a remedy moves the leans of tests that are about other attributes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import JointInfluence
from t2ibench.results.comparison import is_current, items_of
from t2ibench.results.contrast import Contrast
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import Score, TaskResult
from t2ibench.results.score_difference import Difference
from t2ibench.stats import holm
from t2ibench.stats.squares import MeanSquare, f_square

# A lean before and the same after.
PairOfParts = tuple[Part, Part]


@dataclass(frozen=True, slots=True)
class SpillOver:
    """How far the leans of one test moved.

    Attributes:
        task: The test.
        attribute: What it is about.
        shift: Root of the unbiased mean squared difference of its leans, with its interval.
        change: How much more one-sided it is after the remedy, as `compare` has it.
        p: p-value that no lean moved.
        p_holm: The same after Holm's correction over the tests.
    """

    task: str
    attribute: str
    shift: Score
    change: Contrast | None
    p: float | None
    p_holm: float | None = None

    @property
    def falls(self) -> bool:
        """Whether the test is clearly less one-sided after the remedy: that is no cost."""
        return (
            self.change is not None
            and self.change.high is not None
            and self.change.high < 0
        )


def with_corrected_tests(cells: Sequence[SpillOver]) -> tuple[SpillOver, ...]:
    """Return tests with p-values after Holm's correction over all of them."""
    p_values = holm([cell.p for cell in cells])
    return tuple(
        replace(cell, p_holm=p) for cell, p in zip(cells, p_values, strict=True)
    )


def spill_over(
    attribute: str, difference: Difference, pairs: Sequence[PairOfParts], level: float
) -> SpillOver | None:
    """Return how far the leans of a test moved; None where that cannot be tested."""
    square = mean_squared_shift([pairs], level)
    if square is None:
        return None
    return SpillOver(
        difference.task, attribute, score_of_shift(square), difference.change, square.p
    )


def paired_parts(
    results: tuple[TaskResult, TaskResult], paired: tuple[PairedTask, PairedTask]
) -> list[PairOfParts]:
    """Return the leans of a test's items, or its signed headline, in both runs.

    Empty where the stored influences are not those of the results.
    """
    for task, influences in zip(results, paired, strict=True):
        if not is_current(influences, task.headline):
            return []
    if paired[0].scale != "mean_square":
        return list(zip(paired[0].headline[:1], paired[1].headline[:1], strict=True))
    items_after = {part.name: part for part in items_of(paired[1])}
    return [
        (part, items_after[part.name])
        for part in items_of(paired[0])
        if part.name in items_after
    ]


def mean_squared_shift(
    tests: Sequence[Sequence[PairOfParts]], level: float
) -> MeanSquare | None:
    """Return the unbiased mean squared difference of leans between two runs, over several tests.

    Every test counts alike, and within a test every item: with d the differences, S their
    covariance and w = 1 / (tests × items of the test), Σ w d² − Σ w S_jj, tested by
    F = Σ w d² / Σ w S_jj and with the interval of `stats.squares.f_square`. Images that both runs
    have by prompt and index, or that several tests share, are in S.

    Returns:
        The mean square; None where some item's variance is unknown.
    """
    pairs = [pair for test in tests for pair in test]
    weights = np.array([1.0 / (len(tests) * len(test)) for test in tests for _ in test])
    roots = np.sqrt(weights)
    differences = np.array([after.value - before.value for before, after in pairs])
    influences = [
        *(before.influence for before, _ in pairs),
        *(after.influence for _, after in pairs),
    ]
    if not all(math.isfinite(influence.variance) for influence in influences):
        return None
    scaled = np.diag(roots)
    spread = JointInfluence(influences).spread(np.hstack([-scaled, scaled]))
    moved = roots * differences
    squares = float(moved @ moved)
    noise = float(np.trace(spread.matrix))
    if squares > 0 and not noise > 0:
        return None  # images that do not vary show no variance
    along = 0.0
    if squares > 0:
        along = float(moved @ spread.matrix @ moved) / squares
    return f_square(squares, noise, along, spread.dfs, level)


def score_of_shift(square: MeanSquare) -> Score:
    """Return the root of a mean squared shift and of its interval, none below 0."""
    value, low, high = (
        math.sqrt(max(end, 0.0)) for end in (square.value, square.low, square.high)
    )
    return Score(value=value, ci_low=low, ci_high=high, p=square.p)
