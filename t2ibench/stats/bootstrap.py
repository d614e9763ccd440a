"""Two-level bootstrap: prompts are resampled, then the images within each picked prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.stats.clusters import Clusters, Resamples, blocks, digits, draw_resamples, pieces
from t2ibench.stats.moments import (
    NOT_COMPUTED,
    Moments,
    Need,
    Pair,
    Values,
    combined_needs,
    select,
)


@dataclass(frozen=True, slots=True)
class Resample:
    """A block of resamples of one sample.

    Attributes:
        cells: Which values were drawn, as `Resamples.cells` says; empty where only sums were
            looked up.
        moments: Their moments, shape (draws,).
        values: The values drawn, shape (draws, width); empty where only sums were looked up.
        weights: 1, or 0 for padding, of the same shape; None where nothing is padded.
    """

    cells: IntArray
    moments: Moments
    values: Float64Array
    weights: Float64Array | None


class GroupSums:
    """Sums of the values that each code of each cluster picks; see `clusters.Resamples`."""

    def __init__(self, values: Float64Array, clusters: Clusters) -> None:
        cells = values[clusters.order].reshape(len(clusters.sizes), -1)
        lengths = {clusters.code_length, clusters.longest % clusters.code_length} - {0}
        self._sums = {length: self._table(cells, length) for length in lengths}
        self._squares = {length: self._table(cells**2, length) for length in lengths}

    @staticmethod
    def _table(cells: Float64Array, length: int) -> Float64Array:
        table: Float64Array = cells[:, digits(cells.shape[1], length)].sum(axis=2)
        return table.ravel()

    def sums(self, draws: Resamples) -> Float64Array:
        """Sum of the resampled values.

        Args:
            draws: Which values were drawn.

        Returns:
            Shape (draws,).
        """
        return self._look_up(self._sums, draws)

    def squares(self, draws: Resamples) -> Float64Array:
        """Sum of the squares of the resampled values.

        Args:
            draws: Which values were drawn.

        Returns:
            Shape (draws,).
        """
        return self._look_up(self._squares, draws)

    @staticmethod
    def _look_up(tables: dict[int, Float64Array], draws: Resamples) -> Float64Array:
        total = np.zeros(len(draws.picks))
        for codes, length in draws.codes:
            cells = (draws.picks * draws.clusters.longest**length)[:, :, None] + codes
            # Every cell is inside; mode 'clip' skips a second check.
            sums = tables[length].take(cells.reshape(len(total), -1), mode="clip")
            total += sums.sum(axis=1)
        return total


class Sample:
    """One sample, ready to be resampled.

    Args:
        values: Shape (n,), or (n_draws, n) where the values themselves differ by draw.
        labels: Shape (n,), labels of the clusters; None makes each value its own.
        needs: Moments wanted.
        individual: Gather the values themselves even where their sums would do.
    """

    def __init__(
        self,
        values: Float64Array,
        labels: npt.ArrayLike | None,
        needs: Need,
        *,
        individual: bool = False,
    ) -> None:
        self.values = values
        self.clusters = Clusters.of(values.shape[-1], labels)
        self.needs = needs
        self._sorted = values[self.clusters.order] if values.ndim == 1 else values
        sums_do = not individual and not needs & Need.ORDER
        tabulated = values.ndim == 1 and self.clusters.equal_sized and self.clusters.longest > 1
        self._sums = GroupSums(values, self.clusters) if sums_do and tabulated else None

    def resample(self, rows: slice, draws: Resamples) -> Resample:
        """Take the moments of some resamples.

        Args:
            rows: Which of all draws they are; values that differ by draw are read there.
            draws: The resamples, of `draw`.

        Returns:
            The resamples with their moments.
        """
        squared = Need.SQUARES in self.needs
        if self._sums is not None:
            n, total = float(self.clusters.width), self._sums.sums(draws)
            second = self._sums.squares(draws) if squared else None
            none: IntArray = np.empty((len(draws.picks), 0), np.int64)
            return Resample(none, _moments(n, total, second), np.empty(0), None)
        cells, weights = draws.cells, draws.weights()
        values = self._gather(cells, rows)
        return Resample(cells, _moments(*_sums(values, weights, squared)), values, weights)

    @property
    def in_order(self) -> Float64Array:
        """The values sorted by cluster, as `Resamples.cells` counts them, shape (n,)."""
        return self._sorted

    def draw(self, count: int, rng: np.random.Generator) -> Resamples:
        """Draw a block of resamples.

        Args:
            count: How many.
            rng: Source of the draws.

        Returns:
            The resamples, not yet decoded.
        """
        return draw_resamples(self.clusters, count, rng)

    def _gather(self, cells: IntArray, rows: slice) -> Float64Array:
        if self.values.ndim == 1:
            # All cells are inside; mode 'clip' skips a second check.
            return self._sorted.take(cells, mode="clip")
        indices = self.clusters.original(cells)
        return np.take_along_axis(self.values[rows], indices, axis=1)


def _sums(
    values: Float64Array, weights: Float64Array | None, squared: bool
) -> tuple[Values, Float64Array, Float64Array | None]:
    """Number, sum and sum of squares of each row."""
    if weights is None:
        second = np.einsum("ij,ij->i", values, values) if squared else None
        return float(values.shape[1]), values.sum(axis=1), second
    second = np.einsum("ij,ij,ij->i", values, values, weights) if squared else None
    return weights.sum(axis=1), np.einsum("ij,ij->i", values, weights), second


def _moments(n: Values, total: Float64Array, second: Float64Array | None) -> Moments:
    mean = total / n
    squares: Values = NOT_COMPUTED
    if second is not None:
        squares = np.maximum(second - n * mean**2, 0.0)
    return Moments(n, mean, squares)


@dataclass(frozen=True, slots=True)
class Order:
    """How the values of two samples lie, by which each resample's pairs are counted.

    Attributes:
        places: Rank of each value of X among those of X, from 0, equal ones alike, shape (n,).
        above: Number of distinct values of X that are no greater than each value of Y, shape (m,).
        not_below: Number that are less, shape (m,); None where no value of X is one of Y.
        levels: Distinct values of X.
    """

    places: IntArray
    above: IntArray
    not_below: IntArray | None
    levels: int

    @classmethod
    def of(cls, x: Sample, y: Sample) -> Order | None:
        """The order of two samples.

        Args:
            x: One sample.
            y: Another.

        Returns:
            Their order; None where values differ by draw, or are not numbers.

        Example:
            >>> x, y = (Sample(np.array(v), None, Need.ORDER) for v in ([1.0, 2.0], [1.0, 3.0]))
            >>> order = Order.of(x, y)
            >>> order.places.tolist(), order.above.tolist(), order.not_below.tolist()
            ([0, 1], [1, 2], [0, 2])
        """
        if x.values.ndim != 1 or y.values.ndim != 1:
            return None
        of_x, of_y = x.in_order, y.in_order
        if np.isnan(of_x).any() or np.isnan(of_y).any():
            return None
        distinct, places = np.unique(of_x, return_inverse=True)
        above = np.searchsorted(distinct, of_y, side="right")
        not_below = np.searchsorted(distinct, of_y, side="left")
        tied = bool((above != not_below).any())
        return cls(places, above, not_below if tied else None, len(distinct))


def resampled_dominance(x: Resample, y: Resample, order: Order | None) -> Float64Array:
    """P(X > Y) − P(X < Y) of each resample.

    The values of Y drawn are counted between those of X, and the counts summed up to each: every
    value of X drawn then looks up how many are below it. The work grows with the values drawn, not
    with the pairs. Without an order, each draw is sorted.

    Args:
        x: Resamples of X.
        y: Resamples of Y, of the same number.
        order: How the values lie.

    Returns:
        Shape (draws,), from −1 to 1.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x, y = (Sample(np.array(v), None, Need.ORDER) for v in ([4.0, 5.0], [1.0, 3.0]))
        >>> drawn = [s.resample(slice(0, 2), s.draw(2, rng)) for s in (x, y)]
        >>> resampled_dominance(*drawn, Order.of(x, y)).tolist()  # X is always above Y
        [1.0, 1.0]
    """
    if order is None:
        return _sorted_dominance(x, y)
    draws = len(x.cells)
    offsets = np.arange(draws)[:, None] * (order.levels + 1)
    of_x = order.places.take(x.cells, mode="clip")
    of_x += offsets

    def below(bins: IntArray) -> Float64Array:
        at = bins.take(y.cells, mode="clip")
        at += offsets
        weights = None if y.weights is None else y.weights.ravel()
        counts = np.bincount(at.ravel(), weights, minlength=draws * (order.levels + 1))
        up_to = counts.reshape(draws, -1).cumsum(axis=1).ravel().take(of_x, mode="clip")
        kept = up_to if x.weights is None else up_to * x.weights
        sums: Float64Array = kept.sum(axis=1).astype(np.float64)
        return sums

    strictly = below(order.above)
    pairs = x.moments.n * y.moments.n
    with_ties = strictly if order.not_below is None else below(order.not_below)
    return (strictly + with_ties - pairs) / pairs


def _sorted_dominance(x: Resample, y: Resample) -> Float64Array:
    """Ties count half by sorting once with X first, once with Y."""
    w_x = np.ones_like(x.values) if x.weights is None else x.weights
    w_y = np.ones_like(y.values) if y.weights is None else y.weights
    strictly = _pairs_below(x.values, y.values, w_x, w_y, ties=False)
    below = strictly + _pairs_below(x.values, y.values, w_x, w_y, ties=True)
    dominance: Float64Array = below / (w_x.sum(axis=1) * w_y.sum(axis=1)) - 1
    return dominance


def _pairs_below(
    x: Float64Array, y: Float64Array, w_x: Float64Array, w_y: Float64Array, *, ties: bool
) -> Float64Array:
    """Weighted number of pairs with y < x (y ≤ x with ties), row by row."""
    parts = [(x, w_x, np.zeros_like(w_x)), (y, np.zeros_like(w_y), w_y)]
    if ties:  # a stable sort keeps equal values in the order in which they were given
        parts.reverse()
    values, of_x, of_y = (np.concatenate(columns, axis=1) for columns in zip(*parts, strict=True))
    order = np.argsort(values, axis=1, kind="stable")
    sorted_x = np.take_along_axis(of_x, order, axis=1)
    sorted_y = np.take_along_axis(of_y, order, axis=1)
    pairs: Float64Array = np.einsum("ij,ij->i", sorted_x, np.cumsum(sorted_y, axis=1))
    return pairs


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
    statistic that needs individual values (cliffs_delta) is asked for too.

    Args:
        values_x: Shape (n,), or (n_draws, n) where the values themselves differ by draw.
        values_y: Shape (m,) or (n_draws, m).
        clusters_x: Shape (n,), labels; None makes each value its own cluster.
        clusters_y: Shape (m,).
        statistics: Names in the table `t2ibench.stats.moments.STATISTICS`: mean_difference,
            mean_x, mean_y, cohens_d, union_d, union_d_ddof0, cliffs_delta.
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


def bootstrap_means(
    columns: Sequence[npt.ArrayLike],
    clusters: npt.ArrayLike | None = None,
    *,
    n_draws: int = 10_000,
    rng: np.random.Generator,
) -> list[Float64Array]:
    """Bootstrap distribution of the means of several values of the same units, with clusters.

    Resamples as `two_sample_bootstrap` does; every column sees the same ones.

    Args:
        columns: One or more, each of shape (n,), or (n_draws, n) where the values themselves differ
            by draw.
        clusters: Shape (n,), labels; None makes each unit its own cluster.
        n_draws: Number of draws, at least 1.
        rng: Source of the draws.

    Returns:
        For each column its draws, shape (n_draws,).

    Source: Davison & Hinkley 1997, section 3.8.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> one, other = bootstrap_means([[1, 2, 3], [2, 4, 6]], n_draws=4, rng=rng)
        >>> bool((other == 2 * one).all())
        True
    """
    samples = [
        Sample(np.asarray(values, dtype=np.float64), clusters, Need.MEANS, individual=True)
        for values in columns
    ]
    found = [np.empty(n_draws) for _ in samples]
    width = samples[0].clusters.width
    for block in blocks(n_draws, width):
        drawn = samples[0].draw(block.stop - block.start, rng)
        for rows, part in pieces(block, width):
            draws = drawn.part(part)
            for sample, means in zip(samples, found, strict=True):
                means[rows] = sample.resample(rows, draws).moments.mean
    return found


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
