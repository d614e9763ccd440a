"""Two-level bootstrap: prompts are resampled, then the images within each picked prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array
from t2ibench.stats.clusters import Clusters, blocks, draw_resamples, pieces
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
from t2ibench.stats.resampling import Order, Resample, Sample, resampled_dominance


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
    ordered = Need.ORDER in needs
    order = Order.of(x, y) if ordered else None
    width = x.clusters.width + y.clusters.width
    draws = {name: np.empty(n_draws) for name in entries}
    for block in blocks(n_draws, width):
        drawn_x, drawn_y = (side.draw(block.stop - block.start, rng) for side in (x, y))
        for rows, part in pieces(block, width):
            of_x = x.resample(rows, drawn_x.part(part))
            of_y = y.resample(rows, drawn_y.part(part))
            dominance = resampled_dominance(of_x, of_y, order) if ordered else NOT_COMPUTED
            pair = Pair(of_x.moments, of_y.moments, dominance)
            for name, entry in entries.items():
                draws[name][rows] = entry.of(pair)
    return draws


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
    return one_sample_bootstraps(
        [values], clusters, statistics=statistics, n_draws=n_draws, rng=rng
    )[0]


def one_sample_bootstraps(
    columns: Sequence[npt.ArrayLike],
    clusters: npt.ArrayLike | None = None,
    *,
    statistics: Sequence[str] = ("mean",),
    n_draws: int = 10_000,
    rng: np.random.Generator,
) -> list[dict[str, Float64Array]]:
    """`one_sample_bootstrap` of several values of the same units, on the same resamples.

    Args:
        columns: One or more, each as `one_sample_bootstrap` takes them.
        clusters: Shape (n,), labels; None makes each unit its own cluster.
        statistics: As of `one_sample_bootstrap`.
        n_draws: Number of draws, at least 1.
        rng: Source of the draws.

    Returns:
        For each column what `one_sample_bootstrap` returns from the same state of `rng`.

    Raises:
        ValueError: a statistic is unknown.

    Source: Davison & Hinkley 1997, section 3.8.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> one, other = one_sample_bootstraps([[1, 2, 3], [2, 4, 6]], n_draws=4, rng=rng)
        >>> bool((other["mean"] == 2 * one["mean"]).all())
        True
    """
    require_known(statistics, (*_ONE_SAMPLE, *_QUANTILES))
    needs = Need.SQUARES if "std" in statistics else Need.MEANS
    samples = [
        Sample(np.asarray(values, dtype=np.float64), clusters, needs, individual=True)
        for values in columns
    ]
    found = [{name: np.empty(n_draws) for name in statistics} for _ in samples]
    width = samples[0].clusters.width
    for block in blocks(n_draws, width):
        drawn = samples[0].draw(block.stop - block.start, rng)
        for rows, part in pieces(block, width):
            draws = drawn.part(part)
            for sample, draws_of in zip(samples, found, strict=True):
                for name, of_rows in _statistics(sample.resample(rows, draws), statistics):
                    draws_of[name][rows] = of_rows
    return found


def _statistics(resample: Resample, names: Sequence[str]) -> Iterator[tuple[str, Values]]:
    quantiles = [name for name in names if name in _QUANTILES]
    if quantiles:
        of_rows = _row_quantiles(resample, [_QUANTILES[name] for name in quantiles])
        yield from zip(quantiles, of_rows, strict=True)
    for name in names:
        if name in _ONE_SAMPLE:
            yield name, _ONE_SAMPLE[name](resample)


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
