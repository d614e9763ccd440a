"""Whether the headlines of several runs differ by more than chance: one test over all of them.

For two runs it is the test of whether they differ at all that `comparison` makes of that pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import JointInfluence
from t2ibench.results.comparison import items_of
from t2ibench.results.display import displayed
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import Headline
from t2ibench.stats.several import (
    Heterogeneity,
    heterogeneity_of_intervals,
    heterogeneity_of_mean_squares,
)

# Squared differences of equal runs that are rounding, as a share of the squared leans.
_ROUNDING = 1e-20
_PAIR = 2


@dataclass(frozen=True, slots=True)
class SharedItems:
    """The items of a mean square, such as occupations, that several runs have.

    Attributes:
        by_run: The leans of the same items in each run, in one order.
        most: The number of items of the run that has most.
    """

    by_run: tuple[tuple[Part, ...], ...]
    most: int

    @property
    def count(self) -> int:
        """Return the number of shared items."""
        return len(self.by_run[0])

    @property
    def complete(self) -> bool:
        """Return whether every run has the same items."""
        return self.count == self.most


def shared_items(paired: Sequence[PairedTask]) -> SharedItems:
    """Return the items of mean squares that all runs have, in the order of the first run."""
    items_by_name = [{part.name: part for part in items_of(task)} for task in paired]
    shared = set.intersection(*(set(items) for items in items_by_name))
    names = [name for name in items_by_name[0] if name in shared]
    by_run = tuple(tuple(items[name] for name in names) for items in items_by_name)
    return SharedItems(by_run, max(len(items) for items in items_by_name))


def paired_heterogeneity(paired: Sequence[PairedTask]) -> Heterogeneity | None:
    """Return a test of whether runs lean alike, over the images that they share.

    With C the orthonormal contrasts of K runs and θ the leans of each of J items in each run,

        F = |C θ|² / tr(C S C'),

    where S is the joint covariance of all leans. It is referred to F with the degrees of freedom of
    S (`methods.core.influence.Spread`). A headline that is one lean is one item; of a mean square
    the test is whether every item leans alike in every run, which needs no root and no scale
    that is uneven near 0.

    Args:
        paired: The influences of one task in each run.

    Returns:
        F and its p-value; None where the runs share no item, or no image shows how they vary.
    """
    if paired[0].scale == "mean_square":
        by_run = shared_items(paired).by_run
    else:
        by_run = tuple((task.headline[0],) for task in paired)
    count = len(by_run[0])
    if not count:
        return None
    parts = [part for items in by_run for part in items]
    leans = np.array([part.value for part in parts])
    weights = np.kron(_contrasts(len(paired)), np.eye(count))
    squares = float(((weights @ leans) ** 2).sum())
    spread = JointInfluence([part.influence for part in parts]).spread(weights)
    trace = float(np.trace(spread.matrix))
    if squares <= _ROUNDING * float((leans**2).sum()):
        return Heterogeneity(0.0, 1.0)
    if not (np.isfinite(trace) and trace > _ROUNDING):
        return None
    statistic = squares / trace
    p = float(fdtrc(*spread.dfs, statistic))
    return Heterogeneity(statistic, max(p, float(np.finfo(float).tiny)))


def unpaired_heterogeneity(
    headlines: Sequence[Headline], sizes: Sequence[int], level: float
) -> Heterogeneity | None:
    """Return a test of whether headlines are of one number, from their intervals alone.

    Runs count as independent. Two mean squares are compared by their roots, as `comparison` does;
    more of them as they are, which are unbiased.

    Args:
        headlines: Those of one task in each run, with values.
        sizes: Number of images of each run.
        level: The confidence level of their intervals.

    Returns:
        Q and its p-value; None where a headline has no interval, or one without width.
    """
    if headlines[0].scale == "mean_square" and len(headlines) > _PAIR:
        ends = [
            (headline.value, headline.ci_low, headline.ci_high)
            for headline in headlines
        ]
    else:
        marks = [displayed(headline) for headline in headlines]
        ends = [(mark.value, mark.low, mark.high) for mark in marks]
    values, lows, highs = np.array(ends, dtype=np.float64).T
    if not np.isfinite([lows, highs]).all():
        return None
    lows = np.minimum(lows, values)
    highs = np.maximum(highs, values)
    if headlines[0].scale == "mean_square" and len(headlines) > _PAIR:
        return heterogeneity_of_mean_squares(values, lows, highs, sizes, level)
    return heterogeneity_of_intervals(values, lows, highs, level)


def _contrasts(count: int) -> Float64Array:
    """Return orthonormal contrasts of some runs (Helmert's), shape (count - 1, count)."""
    rows = np.zeros((count - 1, count))
    for number in range(1, count):
        rows[number - 1, :number] = 1.0
        rows[number - 1, number] = -number
        rows[number - 1] /= np.sqrt(number * (number + 1))
    return rows
