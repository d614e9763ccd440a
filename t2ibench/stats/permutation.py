"""Permutation tests of samples, signs and answers, and p-values adjusted for many tests.

Every statistic is a function of sums over clusters. The sums of all partitions are one product of
a matrix of labels with a small table of cluster sums: there is no Python loop over draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import BoolArray, Float64Array, IntArray, as_floats
from t2ibench.stats.clusters import label_indices
from t2ibench.stats.moments import STATISTICS, Moments, Pair

# Random numbers held at a time: they should stay in the cache.
BLOCK_CELLS = 1_000_000


@dataclass(frozen=True, slots=True)
class PermutationResult:
    """A statistic and its distribution under the null hypothesis.

    Attributes:
        observed: The statistic of the data.
        p: From `p_value`; never 0, nan where `observed` is nan.
        null: Statistic of each partition evaluated, signed, shape (n_draws,).
        exact: Whether all partitions were evaluated.
    """

    observed: float
    p: float
    null: Float64Array
    exact: bool


def p_value(
    null: Float64Array, observed: float, alternative: str, exact: bool
) -> float:
    """Return the share of a null distribution that is at least as extreme as the data.

    With b draws of N as extreme: p = b / N if exact, and p = (1 + b) / (1 + N) for Monte Carlo
    draws, where the observed arrangement counts as one more draw. A nan draw counts as extreme.

    Args:
        null: Statistic of each partition, shape (N,), N ≥ 1.
        observed: Statistic of the data.
        alternative: 'two-sided' (|null| ≥ |observed|), 'greater' or 'less'.
        exact: Whether the draws are all partitions, the observed one among them.

    Returns:
        p, in (0, 1]; nan where `observed` is not finite.

    Raises:
        ValueError: the alternative is unknown.

    Source: Phipson & Smyth 2010, "Permutation p-values should never be zero".

    Example:
        >>> null = np.array([-2.0, -1.0, 0.0, 0.0, 1.0, 2.0])
        >>> round(p_value(null, 2.0, "two-sided", exact=True), 4)  # 2 / 6
        0.3333
        >>> round(p_value(null, 2.0, "greater", exact=False), 4)  # (1 + 1) / (1 + 6)
        0.2857
    """
    if not np.isfinite(observed):
        return math.nan
    # Sums in another order differ in their last bits, and ties with the observed must count.
    sizes = np.abs(null)
    observed_size = abs(observed)
    largest = float(np.nanmax(sizes, initial=0.0))
    slack = 1e-11 * max(largest, observed_size)
    if alternative == "two-sided":
        extreme = sizes >= observed_size - slack
    elif alternative == "greater":
        extreme = null >= observed - slack
    elif alternative == "less":
        extreme = null <= observed + slack
    else:
        raise ValueError(
            f"alternative must be two-sided, greater or less, not '{alternative}'"
        )
    count = int(np.count_nonzero(extreme | np.isnan(null)))
    if exact:
        return max(count, 1) / len(null)
    return (1 + count) / (1 + len(null))


def two_sample_permutation(
    values: npt.ArrayLike,
    in_x: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    statistics: Sequence[str] = ("mean_difference",),
    alternative: str = "two-sided",
    n_draws: int = 100_000,
    max_exact: int = 200_000,
    rng: np.random.Generator,
) -> dict[str, PermutationResult]:
    """Test whether two samples are exchangeable, by permuting which clusters belong to X.

    θ is recomputed for each of the C(k, k_x) ways to choose k_x of the k clusters as X, or for
    `n_draws` random ones. p as in `p_value`. All statistics see the same partitions.

    Args:
        values: Shape (n,).
        in_x: Shape (n,), whether each value belongs to X.
        clusters: Shape (n,), labels; None makes each value its own cluster.
        statistics: Names in `t2ibench.stats.moments.STATISTICS`; see `two_sample_bootstrap`.
        alternative: 'two-sided', 'greater' or 'less'.
        n_draws: Monte Carlo draws, at least 1, where there are more than `max_exact` partitions.
        max_exact: Enumerate all partitions up to this number of them.
        rng: Source of the draws.

    Returns:
        Name to result.

    Raises:
        ValueError: the alternative is unknown, a side is empty, or shares a cluster.

    Source: Ernst 2004, Statistical Science 19:676; for the WEAT, Caliskan et al. 2017.

    Example:
        >>> result = two_sample_permutation(
        ...     [1, 2, 3, 4], [True, True, False, False], rng=np.random.default_rng(0)
        ... )["mean_difference"]
        >>> result.observed, len(result.null), round(result.p, 4)
        (-2.0, 6, 0.3333)
    """
    entries = {name: STATISTICS[name] for name in statistics}
    rows, sides, center, squares = _cluster_table(
        as_floats(values), np.asarray(in_x, dtype=bool), clusters
    )
    totals = rows.sum(axis=0)
    # Sums of squares leave a residue where the values of both sides do not vary.
    rounding = 1e-13 * math.sqrt(squares / totals[0]) ** 2

    def evaluate(labels: Float64Array) -> dict[str, Float64Array]:
        """Return the statistics of many partitions; labels has shape (partitions, k)."""
        sums_of_x = labels @ rows
        pair = Pair(
            x=_moments(sums_of_x),
            y=_moments(totals - sums_of_x),
            union_squares=squares,
            shift=-center,
            rounding=rounding,
        )
        return {name: np.asarray(entry(pair)) for name, entry in entries.items()}

    k = len(rows)
    k_x = int(sides.sum())
    exact = math.comb(k, k_x) <= max_exact
    observed_labels = sides[None, :].astype(np.float64)
    observed = evaluate(observed_labels)
    labellings = _all_labels(k, k_x)
    if not exact:
        labellings = _random_labels(k, k_x, n_draws, rng)
    parts = [evaluate(labels) for labels in labellings]
    results = {}
    for name in entries:
        null = np.concatenate([part[name] for part in parts])
        value = float(observed[name][0])
        results[name] = PermutationResult(
            observed=value,
            p=p_value(null, value, alternative, exact),
            null=null,
            exact=exact,
        )
    return results


def _cluster_table(
    values: Float64Array, in_x: BoolArray, clusters: npt.ArrayLike | None
) -> tuple[Float64Array, BoolArray, float, float]:
    """Return each cluster's size, sum and sum of squares, of values less their mean.

    With them, which clusters are X's, that mean, and the sum of squares of all values.
    """
    if in_x.all() or not in_x.any():
        raise ValueError("each side needs at least one value")
    center = float(values.mean())
    centred = values - center
    labels = label_indices(len(values), clusters)
    k = int(labels.max()) + 1
    n = np.bincount(labels, minlength=k).astype(np.float64)
    n_in_x = np.bincount(labels, weights=in_x.astype(np.float64), minlength=k)
    is_outside_x = n_in_x == 0
    is_inside_x = n_in_x == n
    if not np.all(is_outside_x | is_inside_x):
        raise ValueError("a cluster has values on both sides")
    total = np.bincount(labels, weights=centred, minlength=k)
    squares = np.bincount(labels, weights=centred**2, minlength=k)
    rows = np.stack([n, total, squares], axis=1)
    all_squares = 0.0
    largest = np.abs(values).max()
    constant = np.ptp(values) <= 1e-14 * largest
    if not constant:
        all_squares = float((centred**2).sum())
    return rows, n_in_x > 0, center, all_squares


def _moments(sums: Float64Array) -> Moments:
    """Return the moments of one sample, from the sums over its clusters."""
    n, total, second = sums.T
    mean = total / n
    squares = second - total**2 / n
    return Moments(n=n, mean=mean, squares=squares)


def _all_labels(k: int, k_x: int) -> Iterator[Float64Array]:
    subsets = combinations(range(k), k_x)
    numbers = np.fromiter(chain.from_iterable(subsets), dtype=np.int64)
    chosen = numbers.reshape(math.comb(k, k_x), k_x)
    size = max(1, BLOCK_CELLS // k)
    for start in range(0, len(chosen), size):
        block = chosen[start : start + size]
        labels = np.zeros((len(block), k))
        np.put_along_axis(labels, block, 1.0, axis=1)
        yield labels


def _random_labels(
    k: int, k_x: int, n_draws: int, rng: np.random.Generator
) -> Iterator[Float64Array]:
    """Yield blocks of random partitions, each with k_x of the k clusters in the sample X.

    They are the k_x smallest of k random keys, so that none is chosen twice in a draw.
    """
    size = max(1, BLOCK_CELLS // k)
    for start in range(0, n_draws, size):
        n_rows = min(size, n_draws - start)
        keys = rng.random((n_rows, k), dtype=np.float32)
        partitioned = np.partition(keys, k_x - 1, axis=1)
        largest = partitioned[:, k_x - 1]
        chosen = keys <= largest[:, None]
        # Very rarely, two keys are alike.
        n_chosen = chosen.sum(axis=1)
        for row in np.flatnonzero(n_chosen != k_x):
            smallest = np.argsort(keys[row], kind="stable")[:k_x]
            chosen[row] = False
            chosen[row, smallest] = True
        yield chosen.astype(np.float64)


# Cells of one block of draws.
_BLOCK = 200_000


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers to questions about images, of which an image may have several.

    Attributes:
        image: Number of the image of each answer, shape (cells,).
        row: Row that the answer is counted in: a question about a prompt, shape (cells,).
        code: Number of the class, shape (cells,).
        expected: Shares of the classes without bias, shape (rows, k), padded with zeros.
        classes: Number of classes of each row, shape (rows,).
    """

    image: IntArray
    row: IntArray
    code: IntArray
    expected: Float64Array
    classes: IntArray


def relabelled_codes(
    answers: Answers, n_draws: int, rng: np.random.Generator
) -> IntArray:
    """Return random answers without bias, as dependent within an image as the given ones.

    The classes of a row lie on a circle, each as wide as its expected share. An answer is a random
    place within its class (the same one for all answers about an image), and each image's answers
    are turned together by a uniformly random angle. Every answer then has its expected shares,
    and answers about one image still resemble each other.

    Args:
        answers: The answers.
        n_draws: How many draws.
        rng: Source of the draws.

    Returns:
        Codes, shape (draws, cells).

    Source: cyclic relabelling; for uniform shares x → (x + ⌊u k⌋) mod k, derived here.
    """
    row_edges = np.cumsum(answers.expected, axis=1)
    # Beyond the edge of the last class, which holds every place that is left, there is none.
    last_class = answers.classes[:, None] - 1
    k = row_edges.shape[1]
    is_last = np.arange(k) >= last_class
    row_edges[is_last] = 2.0
    edges = row_edges[answers.row]
    # The circle begins with the first class, at 0.
    n_answers = len(edges)
    first_edge = np.zeros((n_answers, 1))
    below = np.concatenate([first_edge, edges], axis=1)
    start = below[np.arange(n_answers), answers.code]
    width = answers.expected[answers.row, answers.code]
    n_images = int(answers.image.max(initial=-1)) + 1
    places_of_images = rng.random((n_draws, n_images))
    angles_of_images = rng.random((n_draws, n_images))
    within_class = places_of_images[:, answers.image]
    angle = angles_of_images[:, answers.image]
    place = start + within_class * width
    place += angle
    place %= 1.0
    codes = np.zeros(place.shape, dtype=np.int16)
    for column in range(k - 1):
        is_beyond = place >= edges[:, column]
        codes += is_beyond
    return codes.astype(np.int64)


def relabelled_counts(
    answers: Answers, n_draws: int, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Yield, block by block, the counts of each class in draws of `relabelled_codes`.

    Args:
        answers: The answers.
        n_draws: How many draws.
        rng: Source of the draws.

    Yields:
        Shape (draws of the block, rows, k). For one answer an image they are multinomial.
    """
    rows, k = answers.expected.shape
    block = max(1, _BLOCK // max(len(answers.image), 1))
    for start in range(0, n_draws, block):
        n_block = min(block, n_draws - start)
        codes = relabelled_codes(answers, n_block, rng)
        first_rows = np.arange(n_block)[:, None] * rows
        row_of_draw = first_rows + answers.row
        places = row_of_draw * k + codes
        counted = np.bincount(places.ravel(), minlength=n_block * rows * k)
        yield counted.reshape(n_block, rows, k)


def sign_flip_permutation(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    n_draws: int = 100_000,
    max_exact: int = 200_000,
    rng: np.random.Generator,
) -> PermutationResult:
    """Test whether the mean is 0, by flipping the signs of each cluster's values together.

    θ = Σ_c s_c t_c / n, where t_c is the sum of cluster c and s_c = ±1 its sign: all 2^k patterns
    of signs, or `n_draws` random ones. p as in `p_value`.

    Args:
        values: Shape (n,), n ≥ 1; symmetric about 0 under the null hypothesis.
        clusters: Shape (n,), labels; None makes each value its own cluster.
        n_draws: Monte Carlo draws, at least 1, where there are more than `max_exact` patterns.
        max_exact: Enumerate all patterns of signs up to this number of them.
        rng: Source of the draws.

    Returns:
        The mean and its null distribution.

    Source: Fisher 1935, The Design of Experiments, section 21.

    Example:
        >>> result = sign_flip_permutation([1, 2, 3], rng=np.random.default_rng(0))
        >>> result.observed, len(result.null), result.p
        (2.0, 8, 0.25)
    """
    data = as_floats(values)
    n = len(data)
    labels = label_indices(n, clusters)
    sums = np.bincount(labels, weights=data)
    k = len(sums)
    exact = k < 63 and 2**k <= max_exact
    parts = []
    count = 2**k if exact else n_draws
    size = max(1, BLOCK_CELLS // k)
    for start in range(0, count, size):
        n_rows = min(size, count - start)
        if exact:
            patterns = np.arange(start, start + n_rows)
            shifted = patterns[:, None] >> np.arange(k)
            bits = shifted & 1
        else:
            bits = rng.integers(0, 2, (n_rows, k), dtype=np.int8)
        signs = 2.0 * bits - 1.0
        means = signs @ sums / n
        parts.append(means)
    null = np.concatenate(parts)
    observed = float(data.mean())
    return PermutationResult(
        observed=observed,
        p=p_value(null, observed, "two-sided", exact),
        null=null,
        exact=exact,
    )


def _tested_indices(p_values: Sequence[float | None]) -> list[int]:
    return [i for i, p in enumerate(p_values) if p is not None and np.isfinite(p)]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values after Holm's step-down adjustment for the number of tests.

    It controls the probability of any false positive.

    With p_(1) ≤ … ≤ p_(m): p̃_(i) = max over j ≤ i of min(1, (m − j + 1) p_(j))

    Args:
        p_values: p-values in [0, 1]; None or nan if no test was made.

    Returns:
        Adjusted p-values in the same order; None if no test was made.

    Source: Holm 1979, Scandinavian Journal of Statistics 6:65.

    Example:
        >>> holm([0.25, None, 0.125])  # the smaller is multiplied by 2, the larger by 1
        [0.25, None, 0.25]
    """
    tested = _tested_indices(p_values)
    ascending = sorted((p_values[index] or 0.0, index) for index in tested)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    m = len(tested)
    for rank, (p, index) in enumerate(ascending):
        multiplied = (m - rank) * p
        bounded = min(1.0, multiplied)
        highest = max(highest, bounded)
        adjusted[index] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values after Benjamini and Hochberg's adjustment for the number of tests.

    It controls the expected share of false positives.

    With p_(1) ≤ … ≤ p_(m): p̃_(i) = min over j ≥ i of min(1, m p_(j) / j)

    Args:
        p_values: p-values in [0, 1]; None or nan if no test was made.

    Returns:
        Adjusted p-values in the same order; None if no test was made.

    Raises:
        ValueError: a p-value is outside [0, 1].

    Source: Benjamini & Hochberg 1995, J. R. Stat. Soc. B 57:289.

    Example:
        >>> benjamini_hochberg([0.5, None, 0.125])  # 2 · 0.125 / 1 and 2 · 0.5 / 2
        [0.5, None, 0.25]
    """
    tested = _tested_indices(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    if not tested:
        return adjusted
    values = np.array([p_values[index] for index in tested], dtype=np.float64)
    if values.min() < 0 or values.max() > 1:
        raise ValueError("p-values must be in [0, 1]")
    descending = np.argsort(-values)
    ranks = np.arange(len(values), 0, -1)
    controlled = np.minimum.accumulate(values[descending] * (len(values) / ranks))
    for place, value in zip(descending, controlled, strict=True):
        adjusted[tested[place]] = min(float(value), 1.0)
    return adjusted
