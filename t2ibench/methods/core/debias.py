"""Scores that are above 0 without any bias: what chance alone gives, taken out; ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.stats import percentile_interval


def recentred(boot: Float64Array, value: float) -> Float64Array:
    """Draws of a score within [0, 1], moved so that their median is the estimate.

    Resampling inflates magnitudes, entropies and deviations; without this their intervals would
    lie above their estimates.

    Args:
        boot: Bootstrap draws, shape (draws,); NaN draws stay NaN.
        value: The estimate.

    Returns:
        boot - median(boot) + value, cut to [0, 1]; shape (draws,).

    Examples:
        >>> recentred(np.array([0.25, 0.5, 0.75]), 0.25).tolist()
        [0.0, 0.25, 0.5]
    """
    moved: Float64Array = np.clip(boot - np.nanmedian(boot) + value, 0.0, 1.0)
    return moved


def excess(values: Float64Array | float, null: float) -> Float64Array:
    """Scores above what chance alone gives, as a part of what there could be; below it negative.

    Args:
        values: Scores with a maximum of 1, of any shape.
        null: Their expected value without bias, below 1.

    Returns:
        (values - null) / (1 - null), of the same shape.

    Examples:
        >>> excess(np.array([0.25, 0.5, 0.75, 1.0]), 0.5).tolist()
        [-0.5, 0.0, 0.5, 1.0]
    """
    above: Float64Array = (np.asarray(values, dtype=np.float64) - null) / max(1.0 - null, 1e-12)
    return above


def debiased(values: Float64Array | float, null: float) -> Float64Array:
    """`excess`, at least 0: the debiased score max(0, (score - null) / (1 - null)).

    Args:
        values: Scores with a maximum of 1, of any shape.
        null: Their expected value without bias, below 1.

    Returns:
        Scores in [0, 1], of the same shape.

    Examples:
        >>> debiased(np.array([0.25, 0.75]), 0.5).tolist()
        [0.0, 0.5]
    """
    cut: Float64Array = np.maximum(0.0, excess(values, null))
    return cut


@dataclass(frozen=True, slots=True)
class Debiased:
    """One score of several that are averaged into a headline.

    Attributes:
        value: Its excess over its null.
        boot: Bootstrap draws of that, centred on the estimate.
        null: Null draws of that.
    """

    value: float
    boot: Float64Array
    null: Float64Array


def debiased_part(value: float, boot: Float64Array, null: Float64Array, floor: float) -> Debiased:
    """A score as a part of a headline, with its draws corrected for the inflation of resampling.

    Args:
        value: The score, at most 1.
        boot: Its bootstrap draws, shape (draws,).
        null: Its draws without bias, shape (null draws,).
        floor: Its expected value without bias.

    Returns:
        The excess of each over the floor.
    """
    centred = np.nan_to_num(boot - np.nanmedian(boot)) + value
    return Debiased(float(excess(value, floor)), excess(centred, floor), excess(null, floor))


def ranking(
    what: str, names: Sequence[str], boots: Float64Array, level: float
) -> list[dict[str, Any]]:
    """Biases or concepts from the strongest down, each with the interval of its rank.

    Args:
        what: Key of the names in the rows.
        names: Shape (m,).
        boots: Draws of each one's magnitude, shape (m, draws).
        level: Of the intervals, in (0, 1).

    Returns:
        Rows with the keys `what`, 'rank_low' and 'rank_high'; rank 1 is the strongest.

    Examples:
        >>> ranking("bias", ["age", "race"], np.array([[0.1, 0.2], [0.5, 0.6]]), 0.95)
        [{'bias': 'race', 'rank_low': 1, 'rank_high': 1}, {'bias': 'age', 'rank_low': 2, 'rank_high': 2}]
    """  # noqa: E501
    ranks = 1.0 + (boots[None, :, :] > boots[:, None, :]).sum(axis=1)
    rows = []
    for index in np.argsort(-np.median(boots, axis=1), kind="stable"):
        low, high = percentile_interval(ranks[index], level)
        rows.append({what: names[index], "rank_low": round(low), "rank_high": round(high)})
    return rows
