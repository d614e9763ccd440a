"""Scores of a row that come from its shares: leans and shares, with tests and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.obedience import breakdown
from t2ibench.methods.tibet.alternatives import nearest_to_even
from t2ibench.methods.tibet.axis_shares import AxisShares
from t2ibench.methods.tibet.even_shares_test import counts_of_two
from t2ibench.methods.tibet.headline import headline_of_axes
from t2ibench.stats.error_rate import error_rate

# Begins the name of a share's score; the counterfactual's name follows.
SHARE = "share:"
# The end of an interval whose test only just rejects 0.
_SMALLEST = 1e-9


def share_estimates(
    axis: AxisShares | str, names: Sequence[str], level: float
) -> dict[str, Estimate]:
    """Return a row's squared lean, shares and lean as scores, with tests and intervals.

    Args:
        axis: The mixture, or why there is none.
        names: The counterfactuals' names.
        level: Confidence level, in (0, 1).
    """
    if isinstance(axis, str):
        return _undefined_scores(names, axis)
    if axis.reason:
        return _undefined_scores(names, axis.reason)
    scores = {"squared_lean": _squared_lean(axis, level)}
    for name, weights in zip(names, np.eye(len(names)), strict=True):
        scores[f"{SHARE}{name}"] = _share(axis, weights, level)
    if len(names) == 2:
        scores["lean"] = _lean(axis, level, tested=scores["squared_lean"])
        scores["lean_breakdown"] = breakdown(scores["lean"])
    return scores


def _undefined_scores(names: Sequence[str], reason: str) -> dict[str, Estimate]:
    scores = ["squared_lean", *(f"{SHARE}{name}" for name in names)]
    if len(names) == 2:
        scores.append("lean")
    return dict.fromkeys(scores, Estimate.undefined(reason))


def _squared_lean(axis: AxisShares, level: float) -> Estimate:
    headline = headline_of_axes([axis], level)
    return Estimate(
        headline.value,
        p=headline.p,
        test="f" if counts_of_two(axis) is None else "binomial",
        alternative="greater",
        interval=headline.chosen.interval,
    )


def _share(axis: AxisShares, weights: Float64Array, level: float) -> Estimate:
    """Return one counterfactual's share, with an interval that allows for all possible mixtures."""
    estimates = [
        Estimate.from_influence(
            float(version.mixture.shares @ weights), version.influence(weights), level
        )
        for version in (axis, *axis.alternatives)
    ]
    return replace(estimates[0], p=None, test=None, interval=_hull(estimates))


def _lean(axis: AxisShares, level: float, tested: Estimate) -> Estimate:
    """Return the lean of a prompt's images towards the first of two counterfactuals.

    A row has one test, that of its squared lean. The interval reaches over all mixtures that the
    answers allow, and is beside 0 where the test rejects 0.

    Args:
        axis: The row.
        level: Confidence level, in (0, 1).
        tested: The squared lean.
    """
    versions = [axis, *axis.alternatives]
    if axis.alternatives:
        versions.append(nearest_to_even(axis))
    weights = np.array([1.0, -1.0])
    estimates = [
        Estimate.from_influence(
            float(version.leans[0]), version.influence(weights), level
        )
        for version in versions
    ]
    low, high = _hull(estimates) or (np.nan, np.nan)
    nearest_low, nearest_high = estimates[-1].interval or (low, high)
    value = float(axis.leans[0])
    if tested.p is None or not tested.p < error_rate(level):
        low = min(low, 0.0)
        high = max(high, 0.0)
    elif value > 0:
        low = max(nearest_low, _SMALLEST)
    else:
        high = min(nearest_high, -_SMALLEST)
    return replace(estimates[0], p=tested.p, test=tested.test, interval=(low, high))


def _hull(estimates: Sequence[Estimate]) -> tuple[float, float] | None:
    """Return the smallest interval that contains those of all estimates; None without any."""
    intervals = [part.interval for part in estimates if part.interval is not None]
    if not intervals:
        return None
    return min(low for low, _ in intervals), max(high for _, high in intervals)
