"""Two-level bootstrap: prompts are resampled, then the images within each picked prompt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, as_floats
from t2ibench.stats.clusters import Clusters, blocks, draw_resamples
from t2ibench.stats.moments import STATISTICS, Moments, Pair


def _moments(counts: Float64Array, values: Float64Array) -> Moments:
    """Return each resample's size, mean and squared deviations, from the counts of its values.

    Values have the shape (n,), or that of the counts.
    """
    sizes: Float64Array = counts.sum(axis=1)
    mean = _weighted_sums(counts, values) / sizes
    second_moments = _weighted_sums(counts, values**2)
    squares = np.maximum(second_moments - sizes * mean**2, 0.0)
    return Moments(n=sizes, mean=mean, squares=squares)


def _weighted_sums(counts: Float64Array, values: Float64Array) -> Float64Array:
    if values.ndim == 1:
        product: Float64Array = counts @ values
        return product
    sums: Float64Array = (counts * values).sum(axis=1)
    return sums


def two_sample_bootstrap(
    values_x: npt.ArrayLike,
    values_y: npt.ArrayLike,
    clusters_x: npt.ArrayLike | None = None,
    clusters_y: npt.ArrayLike | None = None,
    *,
    statistics: Sequence[str] = ("mean_difference",),
    n_draws: int = 10_000,
    rng: np.random.Generator,
) -> dict[str, Float64Array]:
    """Return bootstrap draws of statistics that compare two samples of clustered values.

    For each draw and each side, k of the k clusters are picked with replacement; from each picked
    cluster of m values, m values are picked with replacement; θ* = θ(X*, Y*). The resamples depend
    on the state of `rng` and on the clusters only: neither on the values nor on the statistics
    asked for. Two encoders with the same seed are thus compared on the same resamples.

    Args:
        values_x: Shape (n,), or (n_draws, n) where the values themselves differ by draw.
        values_y: Shape (m,) or (n_draws, m).
        clusters_x: Shape (n,), labels; None makes each value its own cluster.
        clusters_y: Shape (m,).
        statistics: Names in the table `t2ibench.stats.moments.STATISTICS`.
        n_draws: Number of draws, at least 1.
        rng: Source of the draws.

    Returns:
        Name to draws of shape (n_draws,); nan where a draw has no value.

    Source: Davison & Hinkley 1997, section 3.8 (resampling at two levels).
    """
    entries = {name: STATISTICS[name] for name in statistics}
    x = as_floats(values_x)
    y = as_floats(values_y)
    side_x = Clusters.of(x.shape[-1], clusters_x)
    side_y = Clusters.of(y.shape[-1], clusters_y)
    draws = {name: np.empty(n_draws) for name in entries}
    for rows in blocks(n_draws, side_x.width + side_y.width):
        n_rows = rows.stop - rows.start
        counts_x = draw_resamples(side_x, n_rows, rng).counts()
        counts_y = draw_resamples(side_y, n_rows, rng).counts()
        pair = Pair(
            x=_moments(counts_x, _values_of_draws(x, rows)),
            y=_moments(counts_y, _values_of_draws(y, rows)),
        )
        for name, entry in entries.items():
            draws[name][rows] = entry(pair)
    return draws


def _values_of_draws(values: Float64Array, rows: slice) -> Float64Array:
    """Return the values of a block of draws: its own rows, or the ones all draws share."""
    return values if values.ndim == 1 else values[rows]


def resample_weights(
    clusters: npt.ArrayLike, n_draws: int, rng: np.random.Generator
) -> Float64Array:
    """Return each value's share of each bootstrap resample; `weights @ values` are the means.

    w_bi = c_bi / Σ_j c_bj, where c_bi is how often draw b has value i.

    Args:
        clusters: Shape (n,), labels.
        n_draws: Number of draws, at least 1.
        rng: Source of the draws.

    Returns:
        Shape (n_draws, n), in [0, 1]; rows sum to 1.

    Source: Davison & Hinkley 1997, section 3.8.

    Example:
        >>> resample_weights(["a"], 2, np.random.default_rng(0)).tolist()
        [[1.0], [1.0]]
    """
    labels = np.asarray(clusters)
    resampled = Clusters.of(len(labels), labels)
    weights = np.empty((n_draws, len(labels)))
    for rows in blocks(n_draws, resampled.width):
        n_rows = rows.stop - rows.start
        weights[rows] = draw_resamples(resampled, n_rows, rng).counts()
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def percentile_interval(
    draws: npt.ArrayLike, level: float = 0.95
) -> tuple[float, float]:
    """Return the percentile interval of bootstrap draws: both ends of their middle part.

    Args:
        draws: Shape (n_draws,); draws that are not finite are excluded.
        level: Confidence level, in (0, 1).

    Returns:
        Lower and upper end, in the unit of the draws; nan where no draw is finite.

    Raises:
        ValueError: the level is not in (0, 1).

    Source: Efron & Tibshirani 1993, chapter 13.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    values = as_floats(draws)
    finite = values[np.isfinite(values)]
    if not len(finite):
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    low, high = np.quantile(finite, [tail, 1 - tail])
    return float(low), float(high)
