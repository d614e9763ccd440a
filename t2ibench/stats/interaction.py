"""Association of two attributes of the same images, within prompts.

Attributes of images of different prompts may go together only because prompts differ (surgeons are
drawn older and more often as men). Everything here is within prompts, and then averaged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from t2ibench.arrays import Float64Array, IntArray, as_floats
from t2ibench.stats.permutation import p_value
from t2ibench.stats.student import t_interval, t_test

# Of a prompt, for an excess.
FEWEST_IMAGES = 4
# Answers that are permuted at a time.
_BLOCK = 400_000


@dataclass(frozen=True, slots=True)
class CrossedAnswers:
    """Answers to two questions about the same images, with the prompt of each image.

    Attributes:
        codes: Class that each image was answered with, shape (images, 2).
        prompt: Number of each image's prompt, without gaps, shape (images,).
        classes: Number of classes of each question.
    """

    codes: IntArray
    prompt: IntArray
    classes: tuple[int, int]

    def table(self) -> Float64Array:
        """Return the number of images for each prompt and combination of classes.

        The shape is (prompts, *classes).
        """
        prompts = int(self.prompt.max(initial=-1)) + 1
        first, second = self.codes.T
        counts = np.zeros((prompts, *self.classes))
        np.add.at(counts, (self.prompt, first, second), 1.0)
        return counts


@dataclass(frozen=True, slots=True)
class CellExcess:
    """How much more frequent each combination of two classes is than if independent.

    All arrays have the shape (*classes,).
    """

    share: Float64Array  # mean over prompts
    excess: Float64Array  # mean over prompts of P(a, b) - P(a) P(b), unbiased
    low: Float64Array
    high: Float64Array
    p: Float64Array  # two-sided, of no excess


def cell_excess(answers: CrossedAnswers, level: float = 0.95) -> CellExcess:
    """Return how much more frequent each combination of classes is than if independent.

    The prompts count as fixed.

    For each prompt P(a, b) - P(a) P(b) is estimated without bias: the product of shares by distinct
    images. The variance is the delete-one-image jackknife's, at least that of independent classes
    with one more image that is as likely any, because ten images that are all alike do not show
    that an eleventh is.

    Args:
        answers: The answers; prompts with fewer than four images are left out.
        level: Confidence level, in (0, 1).

    Returns:
        The excess, with Student's t interval and images less prompts degrees of freedom.

    Source: Hoeffding 1948 for the products of distinct images; Efron & Stein 1981.

    Example:
        Four of ten are (0, 0) and six (1, 1): 10/9 (.4 - .16) more than by chance.

        >>> codes = np.array([[0, 0]] * 4 + [[1, 1]] * 6)
        >>> answers = CrossedAnswers(codes, np.zeros(10, int), (2, 2))
        >>> cell_excess(answers).excess.round(4).tolist()
        [[0.2667, -0.2667], [-0.2667, 0.2667]]
    """
    all_counts = answers.table()
    enough = all_counts.sum(axis=(1, 2)) >= FEWEST_IMAGES
    counts = all_counts[enough]
    sizes = counts.sum(axis=(1, 2))
    prompts = len(counts)
    if not prompts:
        nothing = np.full(answers.classes, np.nan)
        return CellExcess(
            share=nothing,
            excess=nothing,
            low=nothing,
            high=nothing,
            p=nothing,
        )
    excess_of_prompts = unbiased_excess(counts).reshape(prompts, -1)
    value = excess_of_prompts.mean(axis=0)
    jackknife = _jackknife_variance(counts).sum(axis=0)
    null = _null_variance(counts).sum(axis=0)
    variance = np.maximum(jackknife, null) / prompts**2
    df = float((sizes - 1).sum())
    ends = []
    p_values = []
    for cell_value, cell_variance in zip(value, variance, strict=True):
        ends.append(t_interval(cell_value, cell_variance, df, level))
        p_values.append(t_test(cell_value, cell_variance, df))
    low, high = np.array(ends).T
    shares = counts / sizes[:, None, None]
    return CellExcess(
        share=shares.mean(axis=0),
        excess=np.reshape(value, answers.classes),
        low=np.reshape(low, answers.classes),
        high=np.reshape(high, answers.classes),
        p=np.reshape(p_values, answers.classes),
    )


def _jackknife_variance(counts: Float64Array) -> Float64Array:
    """Return the jackknife variance of how far each combination's share exceeds chance.

    Shape (prompts, cells); the jackknife is over images.
    """
    prompts, *classes = counts.shape
    flat = counts.reshape(prompts, -1)
    cells = flat.shape[1]
    first = np.zeros((prompts, cells))
    second = np.zeros((prompts, cells))
    for cell in range(cells):
        has_image = flat[:, cell] > 0
        fewer = flat[has_image].copy()
        fewer[:, cell] -= 1
        tables = fewer.reshape(-1, *classes)
        without = unbiased_excess(tables).reshape(-1, cells)
        weight = flat[has_image, cell][:, None]
        first[has_image] += weight * without
        second[has_image] += weight * without**2
    size = counts.sum(axis=(1, 2))[:, None]
    squares = np.maximum(second - first**2 / size, 0.0)
    factor = (size - 1) / size
    variance: Float64Array = factor * squares
    return variance


def _margins(counts: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return the number of images of each prompt, and of each class of either question.

    Their shapes broadcast with that of the counts.
    """
    total = counts.sum(axis=(1, 2), keepdims=True)
    first = counts.sum(axis=2, keepdims=True)
    second = counts.sum(axis=1, keepdims=True)
    return total, first, second


def unbiased_excess(counts: Float64Array) -> Float64Array:
    """Return how far each combination's share exceeds the product of its classes' shares, unbiased.

    The excess is P(a, b) - P(a) P(b) within each prompt.

    Args:
        counts: Images of each prompt and combination, shape (prompts, *classes); at least two
            images of a prompt.

    Returns:
        The same shape.

    Example:
        >>> unbiased_excess(np.array([[[4.0, 0.0], [0.0, 6.0]]])).round(3).tolist()
        [[[0.267, -0.267], [-0.267, 0.267]]]
    """
    n, first, second = _margins(counts)
    share = counts / n
    # One image of the first class and another of the second, of all pairs of distinct images.
    distinct = first * second - counts
    pairs = n * (n - 1)
    product = distinct / pairs
    excess: Float64Array = share - product
    return excess


def _null_variance(counts: Float64Array) -> Float64Array:
    """Return the variance of shares' surplus over chance as if classes were independent, smoothed.

    The additional image is of every class with the same probability:

    p (1 - p) q (1 - q) / n, shape (prompts, cells).
    """
    n, first, second = _margins(counts)
    images = n + 1
    n_first = first[0].size
    n_second = second[0].size
    p = (first + 1.0 / n_first) / images
    q = (second + 1.0 / n_second) / images
    variance_p = p * (1 - p)
    variance_q = q * (1 - q)
    variance: Float64Array = variance_p * variance_q / images
    return variance.reshape(len(counts), -1)


@dataclass(frozen=True, slots=True)
class Interaction:
    """The association of two attributes within prompts, with its test."""

    # G / 2 N less what chance gives, in nats: 0 on average where nothing goes together
    value: float
    p: float


def interaction(
    answers: CrossedAnswers, n_draws: int, rng: np.random.Generator
) -> Interaction:
    """Test whether two attributes are independent among the images of every prompt.

    The test has power against an association that prompts have in common.

    G = 2 Σ O ln(O / E), with O the images of each combination over all prompts and E the sum over
    prompts of what independent classes would give. Under independence the answers to one question
    are exchangeable among the images of a prompt: they are permuted within prompts, which makes
    the test exact but for Monte Carlo.

    Args:
        answers: The answers.
        n_draws: Permutations.
        rng: Source of the draws.

    Returns:
        The test.

    Source: Birch 1965 and Cochran 1954 for tests within strata; Phipson & Smyth 2010.

    Example:
        >>> codes = np.repeat([[0, 0], [1, 1]], 20, axis=0)
        >>> both = CrossedAnswers(codes, np.zeros(40, int), (2, 2))
        >>> test = interaction(both, 999, np.random.default_rng(0))
        >>> test.p, round(test.value, 2)
        (0.001, 0.68)
    """
    counts = answers.table()
    observed = counts.sum(axis=0).ravel()
    expected = _expected(counts).sum(axis=0).ravel()
    g = float(_g(observed, expected))
    images = len(answers.codes)
    block = max(1, _BLOCK // max(images, 1))
    parts = []
    for start in range(0, n_draws, block):
        n_rows = min(block, n_draws - start)
        permuted = _permuted_counts(answers, n_rows, rng)
        parts.append(_g(permuted, expected))
    null = np.concatenate(parts)
    beyond_chance = g - float(null.mean())
    return Interaction(
        value=beyond_chance / (2 * images),
        p=p_value(null, g, "greater", exact=False),
    )


def _permuted_counts(
    answers: CrossedAnswers, n_draws: int, rng: np.random.Generator
) -> Float64Array:
    """Return counts of combinations with the second answers permuted within prompts.

    The shape is (draws, cells).
    """
    order = np.argsort(answers.prompt, kind="stable")
    prompt = answers.prompt[order]
    first, second = answers.codes[order].T
    n_first, n_second = answers.classes
    cells = n_first * n_second
    # Keys in [prompt, prompt + 1) sort the images of each prompt among themselves.
    keys = prompt + rng.random((n_draws, len(prompt)))
    permuted = np.argsort(keys, axis=1)
    cell = first * n_second + second[permuted]
    places = np.arange(n_draws)[:, None] * cells + cell
    counted = np.bincount(places.ravel(), minlength=n_draws * cells)
    return counted.reshape(n_draws, cells).astype(np.float64)


def _expected(counts: Float64Array) -> Float64Array:
    n, first, second = _margins(counts)
    divisor = np.maximum(n, 1.0)
    expected: Float64Array = n * first / divisor * second / divisor
    return expected


def _g(observed: Float64Array, expected: Float64Array) -> Float64Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(observed > 0, observed / expected, 1.0)
    g: Float64Array = 2 * xlogy(observed, ratio).sum(axis=-1)
    return g


def shared_variance(
    values: npt.ArrayLike,
    weights: npt.ArrayLike,
    strata: Sequence[Hashable],
    units: Sequence[Hashable],
    words: Sequence[Hashable],
) -> tuple[float, float]:
    """Return the variance, and its df, that words shared between stimuli add to a weighted sum.

    The units, such as stimuli, are the clusters of the variance that it is added to.

    With i = w (x - mean of its stratum) √(W / (W - 1)), W the words of its stratum,

        E = Σ over words (Σ i)² - Σ over words and units (Σ i)², at least 0,

    the products of two values of one word and two units: the sum of the variances clustered by
    words and by units less that by both, without the part that clusters by units already have.
    Residuals of two units have the covariance -(Σ over units (Σ i)²) / n² even if units do not
    differ by words; it is added back.

    Args:
        values: x, shape (n,).
        weights: w of each value in the sum, shape (n,).
        strata: What each value is one of, such as its group: their means are fixed, shape (n,).
        units: What it shares with others, shape (n,).
        words: What it shares with others across units, shape (n,); those of a stratum with one
            are fixed, and an empty one is none.

    Returns:
        E, and its degrees of freedom: with those of the sum over words, one less than the fewest
        words of a stratum, E has the variance of that sum; nan where E is 0.

    Source: Cameron, Gelbach and Miller 2011, "Robust Inference With Multiway Clustering".

    Example:
        >>> x = [1.0, 3.0, 1.0, 3.0]  # two words that move two stimuli alike
        >>> extra, df = shared_variance(x, [0.25] * 4, "gggg", "aabb", ["joy", "love"] * 2)
        >>> round(extra, 9), round(df, 9)
        (0.5, 0.25)
    """
    labels = list(zip(strata, words, strict=True))
    n_words = Counter(stratum for stratum, word in set(labels) if word)
    included = np.array(
        [bool(word) and n_words[stratum] > 1 for stratum, word in labels]
    )
    if not included.any():
        return 0.0, float("nan")
    positions = np.flatnonzero(included).tolist()
    x = as_floats(values)[included]
    w = as_floats(weights)[included]
    group = _numbers([strata[position] for position in positions])
    word = _numbers([words[position] for position in positions])
    unit = _numbers([units[position] for position in positions])
    both = _numbers(list(zip(word.tolist(), unit.tolist(), strict=True)))
    words_of_stratum = np.array(
        [n_words[strata[position]] for position in positions], dtype=np.float64
    )
    sizes = np.bincount(group)
    means = _sums(x, group) / sizes
    residuals = x - means[group]
    correction = np.sqrt(words_of_stratum / (words_of_stratum - 1.0))
    influence = w * residuals * correction
    by_words = _squared_sums(influence, word)
    by_both = _squared_sums(influence, both)
    extra = by_words - by_both
    # The covariance that residuals have because their stratum's mean was subtracted.
    for number, size in enumerate(sizes.tolist()):
        members = group == number
        pairs_of_word = _equal_pairs(word[members])
        pairs_of_both = _equal_pairs(both[members])
        pairs_of_two_units = pairs_of_word - pairs_of_both
        by_units = _squared_sums(influence[members], unit[members])
        extra += pairs_of_two_units / size**2 * by_units
    if not extra > 0:
        return 0.0, float("nan")
    fewest = float(words_of_stratum.min())
    share = min(extra / by_words, 1.0)
    df = (fewest - 1.0) * share**2
    return extra, df


def _numbers(labels: Sequence[Hashable]) -> IntArray:
    places: dict[Hashable, int] = {}
    return np.array(
        [places.setdefault(label, len(places)) for label in labels], dtype=np.int64
    )


def _sums(values: Float64Array, numbers: IntArray) -> Float64Array:
    return np.bincount(numbers, weights=values).astype(np.float64)


def _squared_sums(values: Float64Array, numbers: IntArray) -> float:
    sums = _sums(values, numbers)
    return float((sums**2).sum())


def _equal_pairs(numbers: IntArray) -> float:
    """Return the number of ordered pairs of equal numbers, self-pairs included."""
    sizes = np.bincount(numbers)
    return float((sizes**2).sum())
