"""Moments of resampled values, for the bootstrap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float32Array, Float64Array
from t2ibench.stats.clusters import Clusters, Resamples, digits, draw_resamples
from t2ibench.stats.moments import NOT_COMPUTED, Moments, Need, Values


@dataclass(frozen=True, slots=True)
class Resample:
    """A block of resamples of one sample.

    Attributes:
        draws: Which values were drawn.
        moments: Their moments, shape (draws,).
        values: The values drawn, shape (draws, width); empty where only sums were looked up.
            The next block of the same sample overwrites them.
        weights: 1, or 0 for padding, of the same shape; None where nothing is padded.
    """

    draws: Resamples
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
        self._buffer = np.empty((0, self.clusters.width))
        sums_do = not individual and not needs & (Need.ORDER | Need.CLUSTER_MEANS)
        tabulated = values.ndim == 1 and self.clusters.equal_sized and self.clusters.longest > 1
        self._sums = GroupSums(values, self.clusters) if sums_do and tabulated else None

    def resample(self, rows: slice, rng: np.random.Generator) -> Resample:
        """Draw a block of resamples, and take their moments.

        Args:
            rows: Which of the draws this block is; values that differ by draw are read there.
            rng: Source of the draws.

        Returns:
            The block; its `values` are overwritten by the next one.
        """
        draws = draw_resamples(self.clusters, rows.stop - rows.start, rng)
        squared = Need.SQUARES in self.needs
        if self._sums is not None:
            n, total = float(self.clusters.width), self._sums.sums(draws)
            second = self._sums.squares(draws) if squared else None
            return Resample(draws, _moments(n, total, second), np.empty(0), None)
        values, weights = self._gather(draws.indices(), rows), draws.weights()
        cluster_mean: Values = NOT_COMPUTED
        if Need.CLUSTER_MEANS in self.needs:
            cluster_mean = _cluster_mean(values, weights, len(self.clusters.sizes))
        sums = _sums(values, weights, squared)
        return Resample(draws, _moments(*sums, cluster_mean), values, weights)

    def _gather(self, indices: npt.NDArray[np.int64], rows: slice) -> Float64Array:
        if self.values.ndim == 1:
            # One buffer for all blocks: fresh memory would cost more than the gathering.
            if self._buffer.shape[0] < len(indices):
                self._buffer = np.empty(indices.shape)
            # All indices are inside; mode 'clip' skips a second check.
            return self.values.take(indices, mode="clip", out=self._buffer[: len(indices)])
        gathered: Float64Array = np.take_along_axis(self.values[rows], indices, axis=1)
        return gathered


def _sums(
    values: Float64Array, weights: Float64Array | None, squared: bool
) -> tuple[Values, Float64Array, Float64Array | None]:
    """Number, sum and sum of squares of each row."""
    if weights is None:
        second = np.einsum("ij,ij->i", values, values) if squared else None
        return float(values.shape[1]), values.sum(axis=1), second
    second = np.einsum("ij,ij,ij->i", values, values, weights) if squared else None
    return weights.sum(axis=1), np.einsum("ij,ij->i", values, weights), second


def _moments(
    n: Values,
    total: Float64Array,
    second: Float64Array | None,
    cluster_mean: Values = NOT_COMPUTED,
) -> Moments:
    mean = total / n
    squares: Values = NOT_COMPUTED
    if second is not None:
        squares = np.maximum(second - n * mean**2, 0.0)
    return Moments(n, mean, squares, cluster_mean)


def _cluster_mean(values: Float64Array, weights: Float64Array | None, k: int) -> Float64Array:
    """Mean over the k picked clusters of their resampled means."""
    cells = values.reshape(len(values), k, -1)
    inside = np.ones_like(cells) if weights is None else weights.reshape(cells.shape)
    mean: Float64Array = ((cells * inside).sum(axis=2) / inside.sum(axis=2)).mean(axis=1)
    return mean


def sign_table(x: Sample, y: Sample) -> Float32Array | None:
    """Signs of x − y for all pairs of values; None where the values differ by draw.

    Args:
        x: One sample, of n values.
        y: Another, of m values.

    Returns:
        −1, 0 or 1, shape (n, m).

    Example:
        >>> x, y = (Sample(np.array(v), None, Need.ORDER) for v in ([1.0, 2.0], [1.0, 3.0]))
        >>> sign_table(x, y).tolist()
        [[0.0, -1.0], [1.0, -1.0]]
    """
    if x.values.ndim != 1 or y.values.ndim != 1:
        return None
    return np.sign(x.values[:, None] - y.values[None, :]).astype(np.float32)


def resampled_dominance(x: Resample, y: Resample, signs: Float32Array | None) -> Float64Array:
    """P(X > Y) − P(X < Y) of each resample.

    With a table of signs s and c_i, d_j the times that x_i and y_j were drawn, it is
    Σ c_i s_ij d_j / (Σ c_i Σ d_j). Without the table, each draw is sorted.

    Args:
        x: Resamples of X.
        y: Resamples of Y, of the same number.
        signs: From `sign_table`.

    Returns:
        Shape (draws,), from −1 to 1.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x, y = (Sample(np.array(v), None, Need.ORDER) for v in ([4.0, 5.0], [1.0, 3.0]))
        >>> drawn = x.resample(slice(0, 2), rng), y.resample(slice(0, 2), rng)
        >>> resampled_dominance(*drawn, sign_table(x, y)).tolist()  # X is always above Y
        [1.0, 1.0]
    """
    if signs is None:
        return _sorted_dominance(x, y)
    counts_x, counts_y = x.draws.counts(), y.draws.counts()
    net_wins = np.einsum("ij,ij->i", counts_x @ signs, counts_y, dtype=np.float64)
    pairs = counts_x.sum(axis=1, dtype=np.float64) * counts_y.sum(axis=1, dtype=np.float64)
    dominance: Float64Array = net_wins / pairs
    return dominance


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
