"""Clusters (prompts): their resamples, shares, and distances between groups of images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from t2ibench.arrays import BoolArray, Float64Array, IntArray, as_floats

# Random numbers drawn at a time.
_BLOCK_CELLS = 800_000
# Codes stay at or below this number; see `Resamples`.
_CODE_LIMIT = 4096


def label_indices(n: int, labels: npt.ArrayLike | None) -> IntArray:
    """Return the number of each value's cluster, from 0, in the sorted order of the labels.

    Args:
        n: Number of values.
        labels: Shape (n,), of any sortable type; None makes each value its own cluster.

    Returns:
        Shape (n,).

    Example:
        >>> label_indices(3, ["nurse", "chef", "nurse"]).tolist()
        [1, 0, 1]
    """
    if labels is None:
        return np.arange(n)
    return np.unique(np.asarray(labels), return_inverse=True)[1]


@dataclass(frozen=True)
class Clusters:
    """An assignment of values to clusters, such as of images to their prompts.

    Attributes:
        order: Indices that sort the values by cluster, shape (n,).
        starts: Where each cluster begins in that order, shape (k,).
        sizes: Number of values in each cluster, shape (k,).
    """

    order: IntArray
    starts: IntArray
    sizes: IntArray

    @classmethod
    def of(cls, n: int, labels: npt.ArrayLike | None) -> Clusters:
        """Return clusters of n values, ordered by label; None makes each value its own cluster.

        Example:
            >>> clusters = Clusters.of(3, ["nurse", "chef", "nurse"])
            >>> clusters.order.tolist(), clusters.starts.tolist(), clusters.sizes.tolist()
            ([1, 0, 2], [0, 1], [1, 2])
        """
        if labels is None:
            return cls(
                order=np.arange(n),
                starts=np.arange(n),
                sizes=np.ones(n, dtype=np.int64),
            )
        indices = label_indices(n, labels)
        sizes = np.bincount(indices)
        ends = np.cumsum(sizes)
        return cls(
            order=np.argsort(indices, kind="stable"),
            starts=np.concatenate([[0], ends[:-1]]),
            sizes=sizes,
        )

    @cached_property
    def longest(self) -> int:
        """Size of the largest cluster."""
        return int(self.sizes.max())

    @cached_property
    def in_order(self) -> bool:
        """Whether the values are sorted by cluster already."""
        return bool((self.order == np.arange(len(self.order))).all())

    @cached_property
    def equal_sized(self) -> bool:
        """Whether all clusters have the same size."""
        return bool((self.sizes == self.sizes[0]).all())

    @property
    def width(self) -> int:
        """Number of values in one draw, with every cluster padded to the size of the largest."""
        return len(self.sizes) * self.longest

    @cached_property
    def code_length(self) -> int:
        """Number of drawn values that are encoded together in one small random integer."""
        length = 1
        while length < self.longest and self.longest ** (length + 1) <= _CODE_LIMIT:
            length += 1
        return length


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
@dataclass(frozen=True)
class Resamples:
    """Bootstrap resamples of clusters and of the values within them, as encoded draws.

    Attributes:
        clusters: What was resampled.
        picks: Indices of the clusters picked, shape (draws, k).
        codes: Of clusters of one size: arrays of codes with the number of digits of each code,
            shape (draws, k, codes of a cluster).
        uniforms: Of clusters of several sizes: numbers in [0, 1), shape (draws, k, longest).
    """

    clusters: Clusters
    picks: IntArray
    codes: tuple[tuple[npt.NDArray[Any], int], ...] = ()
    uniforms: Float64Array | None = None

    def counts(self) -> Float64Array:
        """Return how often each resample contains each value, shape (draws, n)."""
        draws = len(self.picks)
        n = len(self.clusters.order)
        # Each draw has n numbers of its own, so that all draws are counted at once.
        first_numbers = np.arange(draws)[:, None] * n
        starts = self.clusters.starts.take(self.picks)
        if self.clusters.in_order:
            starts += first_numbers
        places, inside = self._places(starts[:, :, None])
        indices = places.reshape(draws, -1)
        if not self.clusters.in_order:
            indices = self.clusters.order[indices]
            indices += first_numbers
        counted = np.bincount(indices.ravel(), weights=inside, minlength=draws * n)
        return counted.reshape(draws, n).astype(np.float64)

    def _places(self, starts: IntArray) -> tuple[IntArray, BoolArray | None]:
        """Return the positions of the drawn values among the values sorted by cluster.

        With them, which of these places count, where the clusters are padded to one size.

        Args:
            starts: Where each picked cluster begins, shape (draws, k, 1).
        """
        longest = self.clusters.longest
        if self.uniforms is not None:
            sizes = self.clusters.sizes.take(self.picks)[:, :, None]
            inside = np.arange(longest) < sizes
            scaled = (self.uniforms * sizes).astype(np.int64)
            picked = np.minimum(scaled, sizes - 1)
            return starts + picked, inside.ravel()
        if not self.codes:
            return starts, None
        places = np.empty((*self.picks.shape, longest), np.int64)
        first = 0
        for codes, length in self.codes:
            picked = codes  # a code of one digit is that digit
            if length > 1:
                decoded = digits(longest, length).take(codes, axis=0)
                picked = decoded.reshape(*self.picks.shape, -1)
            end = first + picked.shape[2]
            np.add(picked, starts, out=places[:, :, first:end])
            first = end
        return places, None


def draw_resamples(
    clusters: Clusters, n_draws: int, rng: np.random.Generator
) -> Resamples:
    """Draw a block of resamples, which depends on the clusters alone, never on the values.

    Args:
        clusters: What is resampled.
        n_draws: Number of resamples.
        rng: Source of the draws.

    Returns:
        The resamples, not yet decoded.
    """
    k = len(clusters.sizes)
    longest = clusters.longest
    picks = _narrow_integers(rng, limit=k, shape=(n_draws, k)).astype(np.int64)
    if longest == 1:
        return Resamples(clusters, picks)
    if not clusters.equal_sized:
        uniforms = rng.random((n_draws, k, longest))
        return Resamples(clusters, picks, uniforms=uniforms)
    length = clusters.code_length
    full_codes, last_length = divmod(longest, length)
    shape = (n_draws, k, full_codes)
    drawn = _narrow_integers(rng, limit=longest**length, shape=shape)
    codes = [(drawn, length)]
    if last_length:
        shape = (n_draws, k, 1)
        drawn = _narrow_integers(rng, limit=longest**last_length, shape=shape)
        codes.append((drawn, last_length))
    return Resamples(clusters, picks, codes=tuple(codes))


def _narrow_integers(
    rng: np.random.Generator, limit: int, shape: tuple[int, ...]
) -> npt.NDArray[Any]:
    """Return random integers below a limit, of a small type, which is drawn faster."""
    narrow: type[np.unsignedinteger[Any]] = np.uint32
    if limit <= 256:
        narrow = np.uint8
    elif limit <= 65536:
        narrow = np.uint16
    return rng.integers(0, limit, shape, dtype=narrow)


@lru_cache(maxsize=64)
def digits(base: int, length: int) -> IntArray:
    """Return the digits of every code in a base, least significant first.

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
    columns = [codes // base**position % base for position in range(length)]
    return np.stack(columns, axis=1)


def blocks(n_draws: int, width: int) -> Iterator[slice]:
    """Yield slices that divide draws into blocks, whose random numbers are drawn at once.

    Args:
        n_draws: Number of draws.
        width: Values gathered in one draw.

    Yields:
        Slices that cover 0 … n_draws − 1 in order. What is drawn depends on them.

    Example:
        >>> list(blocks(5, 400_000))
        [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, _BLOCK_CELLS // max(1, width))
    for first in range(0, n_draws, step):
        yield slice(first, min(first + step, n_draws))


_KS_BLOCK_CELLS = 4_000_000


def group_distance(values: npt.ArrayLike, labels: npt.ArrayLike) -> Float64Array:
    """Return the largest Kolmogorov-Smirnov distance between any two groups of items.

    D = max over groups g, h and values t of |F_g(t) − F_h(t)|, F the empirical distribution
    functions.

    Args:
        values: Shape (m, n), m measures of n items; (n,) is one measure.
        labels: Shape (n,), group of each item, integers from 0; or (draws, n) for many groupings
            with the same group sizes.

    Returns:
        D, from 0 to 1, shape (m,), or (draws, m).

    Source: Smirnov 1939; the maximum over pairs of groups is ours.

    Example:
        At t = 1 the first group {1, 3} has reached 1/2, the second {2, 4} 0.

        >>> group_distance([[1, 3, 2, 4]], [0, 0, 1, 1]).tolist()
        [0.5]
    """
    rows = np.atleast_2d(as_floats(values))
    groups = np.asarray(labels, dtype=np.int64)
    groupings = np.atleast_2d(groups)
    distances = np.stack([_distances(row, groupings) for row in rows], axis=1)
    return distances if groups.ndim == 2 else distances[0]


def _distances(values: Float64Array, labels: IntArray) -> Float64Array:
    order = np.argsort(values, kind="stable")
    # Equal values step together.
    rises = np.diff(values[order]) > 0
    ends = np.append(rises, True)
    counts = np.bincount(labels[0])
    present = [group for group in range(len(counts)) if counts[group]]
    distances = np.zeros(len(labels))
    cells = len(values) * len(present)
    block = max(1, _KS_BLOCK_CELLS // max(1, cells))
    for start in range(0, len(labels), block):
        rows = slice(start, start + block)
        sorted_labels = labels[rows][:, order]
        steps = {}
        for group in present:
            reached = np.cumsum(sorted_labels == group, axis=1)
            steps[group] = reached[:, ends] / counts[group]
        for first, second in combinations(present, 2):
            gaps = np.abs(steps[first] - steps[second])
            largest_gap = gaps.max(axis=1)
            distances[rows] = np.maximum(distances[rows], largest_gap)
    return distances


def shuffled_labels(
    labels: IntArray, n_draws: int, rng: np.random.Generator
) -> IntArray:
    """Return random groupings with the same group sizes: each row permutes the labels.

    Args:
        labels: Shape (n,), group of each item.
        n_draws: Number of groupings.
        rng: Source of the draws.

    Returns:
        Shape (n_draws, n).
    """
    return rng.permuted(np.tile(labels, (n_draws, 1)), axis=1)


@dataclass(frozen=True, slots=True)
class Proportion:
    """The mean over prompts (clusters) of a class's share of the answers, with its precision.

    Attributes:
        value: The share.
        size: Effective number of answers: as many independent ones would be as precise.
        df: Degrees of freedom of its variance.
    """

    value: float
    size: float
    df: float

    @property
    def error(self) -> float:
        """Standard error of the share, computed with two more answers of the class and two others.

        Source: Agresti & Coull 1998.
        """
        size = self.size + 4
        share = (self.value * self.size + 2) / size
        return float(np.sqrt(share * (1 - share) / size))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return Wilson's interval of the share, with the quantile of Student's t.

        Source: Wilson 1927, "Probable inference".

        Example:
            >>> low, high = Proportion(0.5, 100.0, 1e9).interval()
            >>> round(low, 3), round(high, 3)
            (0.404, 0.596)
        """
        quantile = float(scipy.special.stdtrit(self.df, (1 + level) / 2))
        squared = quantile**2
        scale = 1 + squared / self.size
        shift = squared / (2 * self.size)
        middle = (self.value + shift) / scale
        variance = self.value * (1 - self.value) / self.size
        added_variance = squared / (4 * self.size**2)
        spread = variance + added_variance
        half = np.sqrt(squared * spread) / scale
        low = max(0.0, float(middle - half))
        high = min(1.0, float(middle + half))
        return low, high

    def p(self, expected: float) -> float:
        """Return the two-sided p-value that the share is `expected` (Rao 1948).

        The interval holds the shares that this score test does not reject.

        It is nan for an expected share of 0 or 1.

        Example:
            >>> round(Proportion(0.6, 100.0, 1e9).p(0.5), 4)
            0.0455
        """
        variance = expected * (1 - expected) / self.size
        if not variance > 0:
            return float("nan")
        distance = abs(self.value - expected)
        statistic = -distance / np.sqrt(variance)
        p = 2 * scipy.special.stdtr(self.df, statistic)
        tiny = np.finfo(float).tiny
        return float(np.clip(p, tiny, 1.0))


def clustered_proportion(hits: npt.ArrayLike, totals: npt.ArrayLike) -> Proportion:
    """Return the mean of a class's share over given prompts, which count as fixed.

    Only the answers about the images of each prompt (cluster) vary.

    V = Σ_c p_c (1 − p_c) / (n_c − 1) / C², and the effective number of answers is p (1 − p) / V.
    Where the clusters show (nearly) no variance it is at most the number of answers, or that of
    clusters with one more answer that is half of the class.

    Args:
        hits: Answers of the class, shape (C,).
        totals: Answers, at least 1 each, shape (C,).

    Returns:
        The share; with one answer a cluster, that of independent answers.

    Source: stratified sampling (Cochran 1977, chapter 5), Korn & Graubard 1998 for the effective
        number of answers.

    Example:
        >>> share = clustered_proportion([7, 3], [10, 10])
        >>> share.value, round(share.size, 1), share.df
        (0.5, 21.4, 18.0)
    """
    x = as_floats(hits)
    n = as_floats(totals)
    shares = x / n
    clusters = len(n)
    value = float(shares.mean())
    df = float((n - 1).sum())
    if not df > 0:
        return Proportion(
            value=value, size=float(clusters), df=max(clusters - 1.0, 1.0)
        )
    several = n > 1
    sum_within = _within(shares[several], n[several])
    variance = sum_within / several.sum() / clusters
    # One more answer in each cluster, half of which is of the class.
    padded_n = n + 1
    padded_shares = (x + 0.5) / padded_n
    floor = _within(padded_shares, padded_n) / clusters**2
    answers = float(n.sum())
    size = _effective(value, variance=variance, floor=floor, total=answers)
    return Proportion(value=value, size=float(size), df=df)


def _within(shares: Float64Array, sizes: Float64Array) -> float:
    """Return the sum over clusters of the estimated variance of each one's share."""
    spreads = shares * (1 - shares)
    variances = spreads / (sizes - 1)
    return float(variances.sum())


def _effective(value: float, variance: float, floor: float, total: float) -> float:
    spread = value * (1 - value)
    if not spread > 0:
        return total
    largest = total
    if floor > 0:
        largest = max(total, spread / floor)
    if variance > 0:
        return min(largest, spread / variance)
    return largest
