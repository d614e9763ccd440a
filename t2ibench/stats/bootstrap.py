"""Two-level bootstrap: prompts are resampled, then the images within each picked prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float32Array, Float64Array
from t2ibench.stats.clusters import Clusters, blocks, draw_resamples
from t2ibench.stats.moments import (
    NOT_COMPUTED,
    Need,
    Pair,
    Values,
    combined_needs,
    require_known,
    safe_ratio,
    select,
)
from t2ibench.stats.resampling import (
    Resample,
    Sample,
    resampled_dominance,
    sign_table,
)


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
    """Bootstrap distribution of two-sample statistics, with clusters.

    For each draw and each side, k of the k clusters are picked with replacement; from each picked
    cluster of m values, m values are picked with replacement. The statistic of the resample is
    θ* = θ(X*, Y*).

    The resamples depend on the state of `rng` and on the clusters only: neither on the values nor
    on the statistics asked for. Two encoders with the same seed are thus compared on the same
    resamples. Sums are taken in another order, and so may differ in the last bits, where a
    statistic that needs individual values (cliffs_delta, prompt_mean_difference) is asked for too.

    Args:
        values_x: Shape (n,), or (n_draws, n) where the values themselves differ by draw.
        values_y: Shape (m,) or (n_draws, m).
        clusters_x: Shape (n,), labels; None makes each value its own cluster.
        clusters_y: Shape (m,).
        statistics: Names in the table `t2ibench.stats.moments.STATISTICS`: mean_difference,
            mean_x, mean_y, prompt_mean_difference (of cluster means), cohens_d, union_d,
            union_d_ddof0, cliffs_delta.
        n_draws: Number of draws, at least 1.
        rng: Source of the draws.

    Returns:
        Name to draws of shape (n_draws,); nan where a draw has no value.

    Raises:
        ValueError: a statistic is unknown.

    Source: Davison & Hinkley 1997, section 3.8 (resampling at two levels).

    Example:
        Every resample of constant values is the sample itself.

        >>> draws = two_sample_bootstrap([3, 3], [1, 1], n_draws=3, rng=np.random.default_rng(0))
        >>> draws["mean_difference"].tolist()
        [2.0, 2.0, 2.0]
    """
    entries = select(statistics)
    needs = combined_needs(entries.values())
    x = Sample(np.asarray(values_x, dtype=np.float64), clusters_x, needs)
    y = Sample(np.asarray(values_y, dtype=np.float64), clusters_y, needs)
    signs = sign_table(x, y) if Need.ORDER in needs else None
    draws = {name: np.empty(n_draws) for name in entries}
    for rows in blocks(n_draws, x.clusters.width + y.clusters.width):
        pair = _resampled_pair(x, y, rows, rng, signs)
        for name, entry in entries.items():
            draws[name][rows] = entry.of(pair)
    return draws


def _resampled_pair(
    x: Sample, y: Sample, rows: slice, rng: np.random.Generator, signs: Float32Array | None
) -> Pair:
    """Moments of one block of resamples; the resamples themselves are freed on return."""
    of_x, of_y = x.resample(rows, rng), y.resample(rows, rng)
    dominance: Values = NOT_COMPUTED
    if Need.ORDER in x.needs:
        dominance = resampled_dominance(of_x, of_y, signs)
    return Pair(of_x.moments, of_y.moments, dominance)


def _mean_sign(resample: Resample) -> Float64Array:
    """P(value > 0) − P(value < 0) of each resample."""
    signs = np.sign(resample.values)
    if resample.weights is not None:
        signs = signs * resample.weights
    mean: Float64Array = signs.sum(axis=1) / resample.moments.n
    return mean


def _std(resample: Resample) -> Float64Array:
    variance = safe_ratio(resample.moments.squares, resample.moments.n - 1)
    sd: Float64Array = np.sqrt(variance)
    return sd


_ONE_SAMPLE: dict[str, Callable[[Resample], Values]] = {
    "mean": lambda resample: resample.moments.mean,
    "std": _std,
    "two_p_minus_one": _mean_sign,
    "share_positive": lambda resample: (_mean_sign(resample) + 1) / 2,
}
_QUANTILES = {"q25": 0.25, "median": 0.5, "q75": 0.75}


def one_sample_bootstrap(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    statistics: Sequence[str] = ("mean",),
    n_draws: int = 10_000,
    rng: np.random.Generator,
) -> dict[str, Float64Array]:
    """Bootstrap distribution of one-sample statistics, with clusters.

    Resamples as `two_sample_bootstrap` does. The statistics of a resample x_1 … x_n are

    - mean: x̄
    - std: √(Σ(x − x̄)² / (n − 1))
    - two_p_minus_one: 2p − 1, where p is the share of positive values, a zero counting half
    - share_positive: p
    - q25, median, q75: quantiles, interpolated linearly

    Args:
        values: Shape (n,), or (n_draws, n) where the values themselves differ by draw.
        clusters: Shape (n,), labels; None makes each value its own cluster.
        statistics: Names from the list above.
        n_draws: Number of draws, at least 1.
        rng: Source of the draws.

    Returns:
        Name to draws of shape (n_draws,); nan where a draw has no value.

    Raises:
        ValueError: a statistic is unknown.

    Source: Davison & Hinkley 1997, section 3.8.

    Example:
        >>> draws = one_sample_bootstrap([2, 2, 2], n_draws=2, rng=np.random.default_rng(0))
        >>> draws["mean"].tolist()
        [2.0, 2.0]
    """
    require_known(statistics, (*_ONE_SAMPLE, *_QUANTILES))
    needs = Need.SQUARES if "std" in statistics else Need.MEANS
    sample = Sample(np.asarray(values, dtype=np.float64), clusters, needs, individual=True)
    quantiles = [name for name in statistics if name in _QUANTILES]
    draws = {name: np.empty(n_draws) for name in statistics}
    for rows in blocks(n_draws, sample.clusters.width):
        resample = sample.resample(rows, rng)
        if quantiles:
            of_rows = _row_quantiles(resample, [_QUANTILES[name] for name in quantiles])
            for name, block in zip(quantiles, of_rows, strict=True):
                draws[name][rows] = block
        for name in statistics:
            if name in _ONE_SAMPLE:
                draws[name][rows] = _ONE_SAMPLE[name](resample)
    return draws


def _row_quantiles(resample: Resample, shares: list[float]) -> Float64Array:
    """Shape (quantiles, draws)."""
    if resample.weights is None:
        return np.asarray(np.quantile(resample.values, shares, axis=1))
    padded = np.where(resample.weights > 0, resample.values, np.nan)
    return np.asarray(np.nanquantile(padded, shares, axis=1))


def resample_weights(
    clusters: npt.ArrayLike, n_draws: int, rng: np.random.Generator
) -> Float64Array:
    """Weights of the two-level bootstrap: `weights @ values` is the mean of each resample.

    w_bi = c_bi / Σ_j c_bj, where c_bi is how often draw b has value i.

    Args:
        clusters: Shape (n,), labels.
        n_draws: Number of draws, at least 1.
        rng: Source of the draws.

    Returns:
        Shape (n_draws, n), in [0, 1]; rows sum to 1.

    Source: Davison & Hinkley 1997, section 3.8.

    Example:
        Every resample of one value is that value.

        >>> resample_weights(["a"], 2, np.random.default_rng(0)).tolist()
        [[1.0], [1.0]]
    """
    labels = np.asarray(clusters)
    resampled = Clusters.of(len(labels), labels)
    weights = np.empty((n_draws, len(labels)))
    for rows in blocks(n_draws, resampled.width):
        weights[rows] = draw_resamples(resampled, rows.stop - rows.start, rng).counts()
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def percentile_interval(draws: npt.ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Percentile interval: the middle `level` of the bootstrap draws.

    [q((1 − level) / 2), q((1 + level) / 2)], with q the quantile function of the finite draws.

    Args:
        draws: Shape (n_draws,); draws that are not finite are excluded.
        level: Confidence level, in (0, 1).

    Returns:
        Lower and upper end, in the unit of the draws; nan where no draw is finite.

    Raises:
        ValueError: the level is not in (0, 1).

    Source: Efron & Tibshirani 1993, chapter 13.

    Example:
        >>> low, high = percentile_interval(range(101), 0.9)
        >>> round(low, 6), round(high, 6)
        (5.0, 95.0)
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    values = np.asarray(draws, dtype=np.float64)
    values = values[np.isfinite(values)]
    if not len(values):
        return (float("nan"), float("nan"))
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def magnitude_interval(low: float, high: float) -> tuple[float, float]:
    """Interval of |θ| where [low, high] is the interval of θ.

    It is the image of [low, high] under the absolute value: [min(|low|, |high|),
    max(|low|, |high|)], and it starts at 0 where low ≤ 0 ≤ high.

    Args:
        low: Lower end.
        high: Upper end, at least `low`.

    Returns:
        Lower and upper end, both at least 0; nan where an end is not finite.

    Source: image of an interval under a map that is not monotone; derived here.

    Example:
        >>> magnitude_interval(-0.25, 0.5)
        (0.0, 0.5)
        >>> magnitude_interval(-0.5, -0.25)
        (0.25, 0.5)
    """
    if not (np.isfinite(low) and np.isfinite(high)):
        return (float("nan"), float("nan"))
    ends = sorted((abs(low), abs(high)))
    return (0.0 if low <= 0.0 <= high else ends[0], ends[1])
