"""Ranks of scores whose influences are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.influence import FLOOR, Influence
from t2ibench.stats.rounding import settled

_DRAWS = 4_000


def covariance_matrix(influences: Sequence[Influence]) -> Float64Array:
    """Covariances of several estimates of one run.

    Args:
        influences: One for each, m in all.

    Returns:
        Shape (m, m). `FLOOR` units count for the variances only.

    Examples:
        >>> part = Influence.of_mean("a nurse", [0, 1], [1.0, 3.0])
        >>> covariance_matrix([part, part.scaled(-1.0)]).round(6).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
    """
    columns: dict[tuple[str, int], int] = {}
    entries: list[tuple[int, int, float]] = []
    floors = np.zeros(len(influences))
    for row, influence in enumerate(influences):
        names = [influence.strata[k] for k in influence.stratum]
        for name, unit, value in zip(names, influence.unit, influence.value, strict=True):
            if unit == FLOOR:
                floors[row] += value**2
            else:
                column = columns.setdefault((name, int(unit)), len(columns))
                entries.append((row, column, float(value)))
    table = np.zeros((len(influences), max(len(columns), 1)))
    for row, column, value in entries:
        table[row, column] += value
    covariance: Float64Array = table @ table.T + np.diag(floors)
    return covariance


def ranked(
    what: str,
    names: Sequence[str],
    values: Sequence[float],
    influences: Sequence[Influence],
    level: float,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    """Scores from the largest down, each with the interval of its rank.

    Ranks are drawn from the normal distribution of the estimates, with the covariance of their
    influences: estimates that share images move together.

    Args:
        what: Key of the names in the rows.
        names: Shape (m,).
        values: Unbiased estimates, shape (m,).
        influences: Their influences.
        level: Of the intervals, in (0, 1).
        rng: Source of the draws.

    Returns:
        Rows with the keys `what`, 'rank_low' and 'rank_high'; rank 1 is the largest.

    Examples:
        >>> sure = [Influence.of_mean(name, [0, 1], [0.49, 0.51]) for name in ("age", "race")]
        >>> ranked("bias", ["age", "race"], [0.1, 0.5], sure, 0.95, np.random.default_rng(0))
        [{'bias': 'race', 'rank_low': 1, 'rank_high': 1}, {'bias': 'age', 'rank_low': 2, 'rank_high': 2}]
    """  # noqa: E501
    spread, axes = np.linalg.eigh(covariance_matrix(influences))
    # The symmetric root: other roots depend on the signs that a library gives to eigenvectors.
    root = (axes * np.sqrt(np.maximum(spread, 0.0))) @ axes.T
    draws = settled(values + rng.standard_normal((_DRAWS, len(names))) @ root)
    order = np.argsort(-draws, axis=1, kind="stable")
    ranks = 1 + np.argsort(order, axis=1)
    ends = np.quantile(ranks, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return [
        {what: names[k], "rank_low": round(ends[0, k]), "rank_high": round(ends[1, k])}
        for k in np.argsort(-settled(values), kind="stable")
    ]
