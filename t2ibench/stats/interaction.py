"""Whether two or three attributes of the same images go together, prompt by prompt.

Attributes of images of different prompts may go together only because prompts differ (surgeons are
drawn older and more often as men). Everything here is within prompts, and then averaged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.stats.permutation import p_value
from t2ibench.stats.rounding import sums_by
from t2ibench.stats.student import t_interval, t_test

FEWEST_SIGNS = 6  # clusters: with five, no sign flip could reach p < .05
_BLOCK = 400_000  # answers that are permuted at a time


@dataclass(frozen=True, slots=True)
class CrossedAnswers:
    """Answers to two or three questions about the same images."""

    codes: IntArray  # class that each image was answered with, shape (images, axes)
    prompt: IntArray  # number of each image's prompt, without gaps, shape (images,)
    cluster: IntArray  # number of each prompt's cluster, such as its stimulus, shape (prompts,)
    classes: tuple[int, ...]  # number of classes of each axis

    def table(self) -> Float64Array:
        """Images of each prompt and combination of classes, shape (prompts, *classes)."""
        counts = np.zeros((len(self.cluster), *self.classes))
        np.add.at(counts, (self.prompt, *self.codes.T), 1.0)
        return counts

    def of(self, axes: Sequence[int]) -> CrossedAnswers:
        """The answers to some of the questions, by their numbers."""
        chosen = tuple(self.classes[axis] for axis in axes)
        return CrossedAnswers(self.codes[:, list(axes)], self.prompt, self.cluster, chosen)


@dataclass(frozen=True, slots=True)
class CellExcess:
    """How much more frequent each combination is than its parts would make it, all (*classes,)."""

    share: Float64Array  # mean over prompts
    excess: Float64Array  # mean over prompts of P(a, b) - P(a) P(b), unbiased
    low: Float64Array
    high: Float64Array
    p: Float64Array  # two-sided, of no excess


def cell_excess(answers: CrossedAnswers, level: float = 0.95) -> CellExcess:
    """The excess of every combination of classes, for these prompts.

    For each prompt P(a, b) - P(a) P(b) (with three axes P(a, b, c) - P(a) P(b) P(c)) is estimated
    without bias: the product of shares by distinct images. The variance is the delete-one-image
    jackknife's, at least that of independent classes with one more image that is as likely any,
    because ten images that are all alike do not show that an eleventh is.

    Args:
        answers: The answers; prompts with fewer images than two more than axes are left out.
        level: Confidence level, in (0, 1).

    Returns:
        The excess, with Student's t interval and images less prompts degrees of freedom.

    Source: Hoeffding 1948 for the products of distinct images; Efron & Stein 1981.

    Example:
        Four of ten are (0, 0) and six (1, 1): 10/9 (.4 - .16) more than by chance.

        >>> codes = np.array([[0, 0]] * 4 + [[1, 1]] * 6)
        >>> answers = CrossedAnswers(codes, np.zeros(10, int), np.zeros(1, int), (2, 2))
        >>> cell_excess(answers).excess.round(4).tolist()
        [[0.2667, -0.2667], [-0.2667, 0.2667]]
    """
    counts = answers.table()
    axes = tuple(range(1, counts.ndim))
    counts = counts[counts.sum(axis=axes) >= len(axes) + 2]
    n = counts.sum(axis=axes)
    prompts, cells = len(counts), counts[0].size if len(counts) else 0
    if not prompts:
        nothing = np.full(answers.classes, np.nan)
        return CellExcess(nothing, nothing, nothing, nothing, nothing)
    flat = counts.reshape(prompts, cells)
    excess = unbiased_excess(counts).reshape(prompts, cells)
    first, second = np.zeros((prompts, cells)), np.zeros((prompts, cells))
    for number in range(cells):
        has = flat[:, number] > 0
        fewer = flat[has].copy()
        fewer[:, number] -= 1
        without = unbiased_excess(fewer.reshape(-1, *answers.classes)).reshape(-1, cells)
        weight = flat[has, number][:, None]
        first[has] += weight * without
        second[has] += weight * without**2
    size = n[:, None]
    jackknife = (size - 1) / size * np.maximum(second - first**2 / size, 0.0)
    variance = np.maximum(jackknife.sum(axis=0), _null_variance(counts).sum(axis=0)) / prompts**2
    value = excess.mean(axis=0)
    df = float((n - 1).sum())
    ends = [t_interval(v, s, df, level) for v, s in zip(value, variance, strict=True)]
    p = [t_test(v, s, df) for v, s in zip(value, variance, strict=True)]
    share = (flat / size).mean(axis=0)
    low, high = np.array(ends).T
    shaped = [np.reshape(one, answers.classes) for one in (share, value, low, high, p)]
    return CellExcess(*shaped)


def _margins(counts: Float64Array) -> list[Float64Array]:
    """Images of each class of each axis, in shapes that multiply to that of the counts."""
    axes = range(1, counts.ndim)
    return [counts.sum(axis=tuple(b for b in axes if b != a), keepdims=True) for a in axes]


def unbiased_excess(counts: Float64Array) -> Float64Array:
    """P of all classes less the product of each, unbiased.

    Args:
        counts: Images of each prompt and combination, shape (prompts, *classes), two or three axes;
            at least as many images of a prompt as axes.

    Returns:
        The same shape.

    Example:
        >>> unbiased_excess(np.array([[[4.0, 0.0], [0.0, 6.0]]])).round(3).tolist()
        [[[0.267, -0.267], [-0.267, 0.267]]]
    """
    axes = tuple(range(1, counts.ndim))
    n = counts.sum(axis=axes, keepdims=True)
    parts = _margins(counts)
    if len(axes) == 2:
        products = (parts[0] * parts[1] - counts) / (n * (n - 1))
    else:
        pairs = [counts.sum(axis=axis, keepdims=True) for axis in axes]  # without one axis each
        mixed = sum(one * part for one, part in zip(pairs, parts, strict=True))
        whole = parts[0] * parts[1] * parts[2]
        products = (whole - mixed + 2 * counts) / (n * (n - 1) * (n - 2))
    excess: Float64Array = counts / n - products
    return excess


def _null_variance(counts: Float64Array) -> Float64Array:
    """Variance of the excess of independent axes, with one more image that is as likely any.

    Of two axes p (1 - p) q (1 - q) / n; of three, by Hoeffding's decomposition, the parts of two
    and of three axes. Shape (prompts, cells).
    """
    n = counts.sum(axis=tuple(range(1, counts.ndim)), keepdims=True)
    shares = [
        (part + 1.0 / part.shape[axis]) / (n + 1)
        for axis, part in enumerate(_margins(counts), start=1)
    ]
    spread = np.zeros_like(counts)
    for size in (2, 3)[: len(shares) - 1]:
        for chosen in combinations(range(len(shares)), size):
            part = np.ones_like(counts)
            for axis, share in enumerate(shares):
                part = part * (share * (1 - share) if axis in chosen else share**2)
            spread = spread + part
    variance: Float64Array = (spread / (n + 1)).reshape(len(counts), -1)
    return variance


@dataclass(frozen=True, slots=True)
class Interaction:
    """Whether attributes go together."""

    # G / 2 N less what chance gives, in nats: 0 on average where nothing goes together
    value: float
    p: float


def interaction(answers: CrossedAnswers, n_draws: int, rng: np.random.Generator) -> Interaction:
    """Test that attributes are independent within every prompt, against one common association.

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
        >>> both = CrossedAnswers(codes, np.zeros(40, int), np.zeros(1, int), (2, 2))
        >>> found = interaction(both, 999, np.random.default_rng(0))
        >>> found.p, round(found.value, 2)
        (0.001, 0.68)
    """
    counts = answers.table()
    expected = _expected(counts).sum(axis=0).ravel()
    whole = float(_g(counts.sum(axis=0).ravel(), expected))
    # Counts with all axes but the first permuted within prompts.
    order = np.argsort(answers.prompt, kind="stable")
    prompt, codes = answers.prompt[order], answers.codes[order]
    block = max(1, _BLOCK // max(len(prompt), 1))
    null = []
    for first in range(0, n_draws, block):
        n = min(block, n_draws - first)
        place = np.broadcast_to(codes[:, 0], (n, len(prompt)))
        for axis in range(1, codes.shape[1]):
            turned = np.argsort(prompt + rng.random((n, len(prompt))), axis=1)
            place = place * answers.classes[axis] + codes[:, axis][turned]
        where = np.arange(n)[:, None] * len(expected) + place
        counted = np.bincount(where.ravel(), minlength=n * len(expected))
        null.append(_g(counted.reshape(n, -1).astype(np.float64), expected))
    draws = np.concatenate(null)
    value = (whole - float(draws.mean())) / (2 * len(answers.codes))
    return Interaction(value, p_value(draws, whole, "greater", exact=False))


def _expected(counts: Float64Array) -> Float64Array:
    n = counts.sum(axis=tuple(range(1, counts.ndim)), keepdims=True)
    expected: Float64Array = n * np.ones_like(counts)
    for part in _margins(counts):
        expected = expected * part / np.maximum(n, 1.0)
    return expected


def _g(observed: Float64Array, expected: Float64Array) -> Float64Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(observed > 0, observed / expected, 1.0)
    g: Float64Array = 2 * xlogy(observed, ratio).sum(axis=-1)
    return g


def three_way(answers: CrossedAnswers, n_draws: int, rng: np.random.Generator) -> float:
    """Test that three attributes go together beyond what any two of them do.

    κ(a, b, c) is the third joint cumulant of the classes' indicators, unbiased within prompts and
    averaged within clusters. Without an interaction of all three it is 0 on average whatever two of
    them do while the third is independent of both; |Σ κ|² is compared with random signs of the
    clusters.

    Args:
        answers: The answers to three questions; prompts with fewer than three images are left out.
        n_draws: Sign flips.
        rng: Source of the draws.

    Returns:
        p-value; nan for fewer than six clusters.

    Source: Lancaster 1969 for the additive interaction; Canay, Romano & Shaikh 2017 for the signs.
    """
    counts = answers.table()
    n = counts.sum(axis=(1, 2, 3), keepdims=True)
    enough = n.ravel() >= 3
    counts, n, cluster = counts[enough], n[enough], answers.cluster[enough]
    names, number = np.unique(cluster, return_inverse=True)
    if len(names) < FEWEST_SIGNS:
        return float("nan")
    a, b, c = (part / n for part in _margins(counts))
    bc, ac, ab = (counts.sum(axis=axis, keepdims=True) / n for axis in (1, 2, 3))
    moment = counts / n - ab * c - ac * b - bc * a + 2 * a * b * c
    cumulant = (n**2 / ((n - 1) * (n - 2)) * moment).reshape(len(counts), -1)
    sums = sums_by(number, cumulant, len(names)) / np.bincount(number)[:, None]
    signs = rng.choice([-1.0, 1.0], size=(n_draws, len(names)))
    null = ((signs @ sums) ** 2).sum(axis=1)
    observed = float((sums.sum(axis=0) ** 2).sum())
    return p_value(np.asarray(null, dtype=np.float64), observed, "greater", exact=False)


def shared_variance(
    values: npt.ArrayLike,
    weights: npt.ArrayLike,
    strata: Sequence[Hashable],
    units: Sequence[Hashable],
    words: Sequence[Hashable],
) -> tuple[float, float]:
    """What a second way of sharing adds to the variance of a weighted sum clustered by the first.

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
        >>> found, df = shared_variance(x, [0.25] * 4, "gggg", "aabb", ["joy", "love"] * 2)
        >>> round(found, 9), round(df, 9)
        (0.5, 0.25)
    """
    x, w = (np.asarray(array, dtype=np.float64) for array in (values, weights))
    distinct = set(zip(strata, words, strict=True))
    count = Counter(stratum for stratum, word in distinct if word)
    kept = np.array(
        [bool(word) and count[stratum] > 1 for stratum, word in zip(strata, words, strict=True)]
    )
    if not kept.any():
        return 0.0, float("nan")
    (group, word, unit) = (
        _numbers([one for one, keep in zip(labels, kept, strict=True) if keep])
        for labels in (strata, words, units)
    )
    x, w = x[kept], w[kept]
    many = np.array([count[s] for s, keep in zip(strata, kept, strict=True) if keep], np.float64)
    means = _sums(x, group) / np.bincount(group)
    influence = w * (x - means[group]) * np.sqrt(many / (many - 1.0))
    both = _numbers(list(zip(word.tolist(), unit.tolist(), strict=True)))
    whole = float((_sums(influence, word) ** 2).sum())
    extra = whole - float((_sums(influence, both) ** 2).sum())
    for number, size in enumerate(np.bincount(group).tolist()):
        own = group == number
        pairs = [float((np.bincount(labels[own]) ** 2).sum()) for labels in (word, both)]
        units_too = float((_sums(influence[own], unit[own]) ** 2).sum())
        extra += (pairs[0] - pairs[1]) / size**2 * units_too
    if not extra > 0:
        return 0.0, float("nan")
    return extra, (float(many.min()) - 1.0) * min(extra / whole, 1.0) ** 2


def _numbers(labels: Sequence[Hashable]) -> IntArray:
    places: dict[Hashable, int] = {}
    return np.array([places.setdefault(label, len(places)) for label in labels], dtype=np.int64)


def _sums(values: Float64Array, numbers: IntArray) -> Float64Array:
    return np.bincount(numbers, weights=values).astype(np.float64)
