"""Two-level resampling: clusters are drawn with replacement, then values within each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import BoolArray, Float32Array, Float64Array, IntArray

_BLOCK_CELLS = 800_000  # random numbers drawn at a time
_PIECE_CELLS = 50_000  # values decoded at a time: a fraction of a core's own cache
_CODE_LIMIT = 4096  # codes stay at or below this number; see `Resamples`


def label_indices(n: int, labels: npt.ArrayLike | None) -> IntArray:
    """Index of each value's cluster, from 0, in the sorted order of the labels.

    Args:
        n: Number of values.
        labels: Shape (n,), of any sortable type; None makes each value its own cluster.

    Returns:
        Shape (n,).

    Example:
        >>> label_indices(3, ["nurse", "chef", "nurse"]).tolist()
        [1, 0, 1]
        >>> label_indices(3, None).tolist()
        [0, 1, 2]
    """
    if labels is None:
        return np.arange(n)
    return np.unique(np.asarray(labels), return_inverse=True)[1]


@dataclass(frozen=True)
class Clusters:
    """Which values belong together.

    Attributes:
        order: Shape (n,), indices that sort the values by cluster.
        starts: Shape (k,), where each cluster begins in that order.
        sizes: Shape (k,), values in each cluster.
    """

    order: IntArray
    starts: IntArray
    sizes: IntArray

    @classmethod
    def of(cls, n: int, labels: npt.ArrayLike | None) -> Clusters:
        """Clusters of n values by their labels; None makes each value its own cluster.

        Args:
            n: Number of values.
            labels: Shape (n,), any labels; None makes each value its own cluster.

        Returns:
            The clusters, ordered by label.

        Example:
            >>> clusters = Clusters.of(3, ["nurse", "chef", "nurse"])
            >>> clusters.order.tolist(), clusters.starts.tolist(), clusters.sizes.tolist()
            ([1, 0, 2], [0, 1], [1, 2])
        """
        if labels is None:
            return cls(np.arange(n), np.arange(n), np.ones(n, dtype=np.int64))
        indices = label_indices(n, labels)
        sizes = np.bincount(indices)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        return cls(np.argsort(indices, kind="stable"), starts, sizes)

    @cached_property
    def longest(self) -> int:
        """Size of the largest cluster."""
        return int(self.sizes.max())

    @cached_property
    def equal_sized(self) -> bool:
        """Whether all clusters have one size."""
        return bool((self.sizes == self.sizes[0]).all())

    @cached_property
    def contiguous(self) -> bool:
        """Whether the values were given in the order of their clusters."""
        return bool((self.order == np.arange(len(self.order))).all())

    @property
    def width(self) -> int:
        """Values gathered in one draw; clusters shorter than the longest are padded."""
        return len(self.sizes) * self.longest

    @cached_property
    def code_length(self) -> int:
        """Number of values that one code stands for: the most that keep codes small."""
        length = 1
        while length < self.longest and self.longest ** (length + 1) <= _CODE_LIMIT:
            length += 1
        return length

    def original(self, sorted_indices: IntArray) -> IntArray:
        """Indices into the values as they were given, from indices into the sorted values.

        Args:
            sorted_indices: Indices into the values sorted by cluster, any shape.

        Returns:
            Of the same shape.
        """
        return sorted_indices if self.contiguous else self.order[sorted_indices]


# How one random integer picks several values.
#
# To resample a cluster of m values, m indices are drawn independently and uniformly from
# 0 … m − 1. Take g of them, d_0 … d_{g−1}, as the digits of a number in base m:
#
#     c = d_0 + d_1 m + d_2 m² + … + d_{g−1} m^{g−1},        0 ≤ c < m^g.
#
# Every c has exactly one such expansion. So c is uniform on 0 … m^g − 1 if and only if its digits
# are independent and uniform: one random integer c, a "code", stands for g picked values.
# A cluster takes ⌊m / g⌋ codes of g digits, and one code of (m mod g) digits for what remains.
#
# The sum of the g values that a code picks depends on the cluster j and on c alone. `GroupSums`
# in resampling.py tabulates it once, T[j, c] = Σ_i values[j, d_i(c)], and a resample's sum is a
# sum of m / g look-ups instead of m. The table has k m^g cells, which `_CODE_LIMIT` keeps small.
@dataclass(frozen=True)
class Resamples:
    """A block of resamples, as it was drawn.

    Attributes:
        clusters: What was resampled.
        picks: Shape (draws, k), indices of the clusters picked.
        codes: For clusters of one size: arrays of codes with the number of digits of each code,
            shape (draws, k, codes of a cluster).
        uniforms: For clusters of several sizes: numbers in [0, 1), shape (draws, k, longest).
    """

    clusters: Clusters
    picks: IntArray
    codes: tuple[tuple[npt.NDArray[Any], int], ...] = ()
    uniforms: Float64Array | None = None

    def part(self, rows: slice) -> Resamples:
        """Some of the resamples.

        Args:
            rows: Which.

        Returns:
            Those.
        """
        codes = tuple((drawn[rows], length) for drawn, length in self.codes)
        uniforms = None if self.uniforms is None else self.uniforms[rows]
        return Resamples(self.clusters, self.picks[rows], codes, uniforms)

    @cached_property
    def cells(self) -> IntArray:
        """Places of the values drawn among the values sorted by cluster, shape (draws, width).

        Padding has any place.
        """
        clusters, draws = self.clusters, len(self.picks)
        if clusters.longest == 1:
            return self.picks
        starts = clusters.starts.take(self.picks)[:, :, None]
        if self.uniforms is not None:
            sizes = clusters.sizes.take(self.picks)[:, :, None]
            cells = starts + (self.uniforms * sizes).astype(np.int64)
            return np.where(self._inside(), cells, 0).reshape(draws, -1)
        parts = [
            starts + _digits_of(codes, clusters.longest, length).reshape(*self.picks.shape, -1)
            for codes, length in self.codes
        ]
        whole = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=2)
        return whole.reshape(draws, -1)

    def indices(self) -> IntArray:
        """Indices of the values drawn, as they were given; padding has an arbitrary index.

        Returns:
            Shape (draws, width).
        """
        return self.clusters.original(self.cells)

    def weights(self) -> Float64Array | None:
        """Weights of the values drawn: 1, or 0 for padding.

        Returns:
            Shape (draws, width); None where nothing is padded.
        """
        if self.clusters.equal_sized:
            return None
        return self._inside().astype(np.float64).reshape(len(self.picks), -1)

    def counts(self) -> Float32Array:
        """How often each value was drawn.

        Returns:
            Shape (draws, n).
        """
        draws, n = len(self.picks), len(self.clusters.order)
        cells = self.indices() + (np.arange(draws) * n)[:, None]
        inside = self.weights()
        weights = None if inside is None else inside.ravel()
        counted = np.bincount(cells.ravel(), weights=weights, minlength=draws * n)
        return counted.reshape(draws, n).astype(np.float32)

    def _inside(self) -> BoolArray:
        sizes = self.clusters.sizes[self.picks][:, :, None]
        inside: BoolArray = np.arange(self.clusters.longest)[None, None, :] < sizes
        return inside


def draw_resamples(clusters: Clusters, n_draws: int, rng: np.random.Generator) -> Resamples:
    """One block of resamples; depends on the clusters alone, never on the values.

    Args:
        clusters: What is resampled.
        n_draws: Number of resamples.
        rng: Source of the draws.

    Returns:
        The resamples, not yet decoded.

    Example:
        >>> one_cluster = Clusters.of(2, ["a", "a"])
        >>> draw_resamples(one_cluster, 5, np.random.default_rng(0)).picks.ravel().tolist()
        [0, 0, 0, 0, 0]
    """
    k, longest = len(clusters.sizes), clusters.longest
    picks = rng.integers(0, k, (n_draws, k), dtype=_narrow_type(k)).astype(np.int64)
    if longest == 1:
        return Resamples(clusters, picks)
    if not clusters.equal_sized:
        return Resamples(clusters, picks, uniforms=rng.random((n_draws, k, longest)))
    codes = []
    length = clusters.code_length
    for count, size in ((longest // length, length), (int(longest % length > 0), longest % length)):
        if count:
            limit = longest**size
            drawn = rng.integers(0, limit, (n_draws, k, count), dtype=_narrow_type(limit))
            codes.append((drawn, size))
    return Resamples(clusters, picks, tuple(codes))


def _narrow_type(limit: int) -> type[np.unsignedinteger[Any]]:
    """A small integer type for numbers below a limit: narrow random integers are made faster."""
    return np.uint8 if limit <= 256 else np.uint16 if limit <= 65536 else np.uint32


@lru_cache(maxsize=64)
def digits(base: int, length: int) -> IntArray:
    """Digits of every code, least significant first.

    Args:
        base: Size of a cluster, at least 1.
        length: Number of digits, at least 1.

    Returns:
        Shape (base ** length, length).

    Example:
        >>> digits(3, 2)[5].tolist()  # 5 = 2 + 1 · 3
        [2, 1]
    """
    codes = np.arange(base**length)
    return np.stack([codes // base**position % base for position in range(length)], axis=1)


def _digits_of(codes: npt.NDArray[Any], base: int, length: int) -> npt.NDArray[Any]:
    """The digits of codes, one more axis; a code of one digit is that digit."""
    return codes if length == 1 else digits(base, length).take(codes, axis=0)


def blocks(n_draws: int, width: int) -> Iterator[slice]:
    """Slices of the draws, of each of which random numbers are drawn at once.

    Args:
        n_draws: Number of draws.
        width: Values gathered in one draw.

    Yields:
        Slices that cover 0 … n_draws − 1 in order. What is drawn depends on them.

    Example:
        >>> list(blocks(5, 400_000))
        [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    yield from _slices(0, n_draws, _BLOCK_CELLS // max(1, width))


def pieces(block: slice, width: int) -> Iterator[tuple[slice, slice]]:
    """Slices of a block that are decoded at once; nothing depends on them but the time it takes.

    Args:
        block: Of `blocks`.
        width: Values gathered in one draw.

    Yields:
        The same draws as counted from the first of all, and from the first of the block.

    Example:
        >>> list(pieces(slice(2, 4), 50_000))
        [(slice(2, 3, None), slice(0, 1, None)), (slice(3, 4, None), slice(1, 2, None))]
    """
    for rows in _slices(block.start, block.stop, _PIECE_CELLS // max(1, width)):
        yield rows, slice(rows.start - block.start, rows.stop - block.start)


def _slices(start: int, stop: int, size: int) -> Iterator[slice]:
    step = max(1, size)
    for first in range(start, stop, step):
        yield slice(first, min(first + step, stop))
