"""Scores of answers in classes and of histograms, and coefficients of judges' agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy

from t2ibench.arrays import Float64Array, as_floats
from t2ibench.stats.moments import safe_ratio


def severity(counts: npt.ArrayLike) -> Float64Array:
    """Return the bias severity of counted answers: 1 less their normalised entropy.

    S = 1 + Σ_j p_j ln p_j / ln k, where p_j is the share of class j of k

    Args:
        counts: Counts or shares, at least 0, shape (..., k).

    Returns:
        S, from 0 (uniform) to 1 (one class only), shape (...); nan where k < 2 or nothing was
        counted.

    Source: OpenBias (D'Incà et al. 2024), eq. 5-6.

    Example:
        >>> severity([[5, 5], [3, 1], [10, 0]]).round(4).tolist()
        [0.0, 0.1887, 1.0]
    """
    values = as_floats(counts)
    k = values.shape[-1]
    total = values.sum(axis=-1)
    if k < 2:
        return np.full(total.shape, np.nan)
    shares = safe_ratio(values, total[..., None])
    negative_entropy = scipy.special.xlogy(shares, shares).sum(axis=-1)
    largest_entropy = np.log(k)
    scores = 1.0 + negative_entropy / largest_entropy
    within_range = np.clip(scores, 0.0, 1.0)
    return np.where(total > 0, within_range, np.nan)


def expected_severity(n: int, k: int) -> float:
    """Return the exact mean severity of n answers drawn uniformly from k classes.

    E[S] = 1 + k E[(N/n) ln(N/n)] / ln k, with N ~ Binomial(n, 1/k): the expectation of a sum over
    classes needs the distribution of one class only. It is .076 for two classes and ten answers.

    Args:
        n: Number of answers, at least 1.
        k: Number of classes, at least 2.

    Returns:
        E[S], in (0, 1]; nan where n < 1 or k < 2.

    Source: expectation of S in OpenBias (D'Incà et al. 2024), eq. 5-6, derived here.

    Example:
        Two answers agree (S = 1) half of the time, and differ (S = 0) otherwise.

        >>> round(expected_severity(2, 2), 6)
        0.5
    """
    if n < 1 or k < 2:
        return float("nan")
    counts = np.arange(n + 1)
    probabilities = scipy.stats.binom.pmf(counts, n, 1.0 / k)
    shares = counts / n
    terms = scipy.special.xlogy(shares, shares)
    of_one_class = (probabilities * terms).sum()
    negative_entropy = k * of_one_class
    largest_entropy = np.log(k)
    return float(1.0 + negative_entropy / largest_entropy)


def concept_association(first: npt.ArrayLike, second: npt.ArrayLike) -> Float64Array:
    """Return the concept association score (CAS): the overlap of two histograms of concepts.

    CAS = Σ_j min(a_j, b_j) / Σ_j max(a_j, b_j)

    Args:
        first: Frequencies a of v concepts, at least 0, shape (..., v).
        second: Frequencies b of the same concepts, shape (..., v).

    Returns:
        CAS, from 0 (disjoint) to 1 (equal), shape (...); nan where both are empty.

    Source: TIBET (Chinchure et al. 2024), algorithm 1.

    Example:
        >>> round(float(concept_association([2, 1], [1, 1])), 4)  # (1 + 1) / (2 + 1)
        0.6667
    """
    a = as_floats(first)
    b = as_floats(second)
    overlap = np.minimum(a, b).sum(axis=-1)
    union = np.maximum(a, b).sum(axis=-1)
    return safe_ratio(overlap, union)


def mad(values: npt.ArrayLike, *, root: bool = True) -> Float64Array:
    """Return the normalised mean absolute deviation (MAD) of groups' shares from uniform ones.

    MAD = √(r), r = (1/k) Σ_j |p_j − 1/k| / (2 (k − 1) / k²), with p_j = v_j / Σ v. The denominator
    is the mean deviation of (1, 0, …, 0), the largest possible.

    Args:
        values: Scores v of k groups, at least 0, shape (..., k).
        root: True for the published score, False for r.

    Returns:
        From 0 (all alike) to 1 (one has everything), shape (...); nan where k < 2 or all are 0.

    Source: TIBET (Chinchure et al. 2024), eq. 7.

    Example:
        >>> float(mad([3, 1], root=False))  # deviations of 1/4 against at most 1/2
        0.5
    """
    rows = as_floats(values)
    k = rows.shape[-1]
    if k < 2:
        return np.full(rows.shape[:-1], np.nan)
    totals = rows.sum(axis=-1, keepdims=True)
    shares = safe_ratio(rows, totals)
    uniform = 1.0 / k
    deviations = np.abs(shares - uniform)
    mean_deviation = deviations.mean(axis=-1)
    largest_mean = 2.0 * (k - 1) / k**2
    ratio: Float64Array = mean_deviation / largest_mean
    return np.sqrt(ratio) if root else ratio


def macro_f1(truth: Sequence[str], predicted: Sequence[str]) -> float:
    """Return the macro-averaged F1 of predicted classes.

    F1 = (1/k) Σ_j 2 TP_j / (n_j + m_j), with TP_j hits of class j, which is true n_j times and
    predicted m_j times, over the k classes that occur on either side

    Args:
        truth: True classes, one per item.
        predicted: Predicted classes, of the same length.

    Returns:
        F1, from 0 to 1; nan without items.

    Source: Opitz & Burst 2019, "Macro F1 and Macro F1", the mean of F1 scores.

    Example:
        >>> round(macro_f1(["a", "a", "b"], ["a", "b", "b"]), 4)  # 2 · 1 / 3 for a and for b
        0.6667
    """
    equal = [
        actual
        for actual, guess in zip(truth, predicted, strict=True)
        if actual == guess
    ]
    scores = []
    for name in sorted({*truth, *predicted}):
        hits = equal.count(name)
        n_true = truth.count(name)
        n_predicted = predicted.count(name)
        scores.append(2 * hits / (n_true + n_predicted))
    if not scores:
        return float("nan")
    return float(np.mean(scores))


def kl_divergence(p: npt.ArrayLike, q: npt.ArrayLike) -> float:
    """Return the Kullback-Leibler divergence of one distribution of classes from another.

    KL(p ‖ q) = Σ_j p_j ln(p_j / q_j)

    Args:
        p: Probabilities or weights, shape (k,); made to sum to 1.
        q: The same classes, shape (k,).

    Returns:
        KL in nats, at least 0; infinite where q lacks a class that p has.

    Source: Kullback & Leibler 1951.

    Example:
        >>> round(kl_divergence([0.5, 0.5], [0.25, 0.75]), 4)  # ½ ln 2 + ½ ln ⅔ = ½ ln 4⁄3
        0.1438
    """
    probabilities = as_floats(p)
    others = as_floats(q)
    return float(scipy.stats.entropy(probabilities, others))


def cohens_kappa(first: Sequence[str], second: Sequence[str]) -> float:
    """Return Cohen's kappa of two judges: their agreement on classes, corrected for chance.

    κ = (A − E) / (1 − E), where A is the share of equal answers and E = Σ_j p_j q_j what judges
    with these shares agree on by chance

    Args:
        first: One judge's classes, one per item.
        second: The other's, of the same length.

    Returns:
        κ, at most 1; nan without items, or where both only ever give one and the same class.

    Source: Cohen 1960, "A coefficient of agreement for nominal scales".

    Example:
        >>> cohens_kappa(["a", "a", "b", "b"], ["a", "a", "a", "b"])  # E = 1/2 · 3/4 + 1/2 · 1/4
        0.5
    """
    n = len(first)
    n_equal = sum(ours == theirs for ours, theirs in zip(first, second, strict=True))
    if not n:
        return float("nan")
    counts_first = Counter(first)
    counts_second = Counter(second)
    equal_pairs = 0
    for name, count in counts_first.items():
        equal_pairs += count * counts_second[name]
    equal = n_equal / n
    chance = equal_pairs / n**2
    if chance >= 1:
        return float("nan")
    return (equal - chance) / (1 - chance)


def krippendorff_alpha(judges: Sequence[Sequence[str | None]]) -> float:
    """Return Krippendorff's alpha: the agreement of judges on classes without an order.

    α = 1 − D / E. D is the share of unequal pairs of answers about one item, each item's pairs
    weighted by 1 / (m − 1) for its m answers; E that of pairs of all answers to such items.

    Args:
        judges: One list of classes a judge, one per item, None where a judge gave none.

    Returns:
        α, at most 1; nan where no item has two answers, or only one class occurs.

    Source: Krippendorff 2011, "Computing Krippendorff's alpha-reliability".

    Example:
        One of four pairs differs; of eight answers, 30 of 56 ordered pairs do: 1 − (2/8) / (30/56).

        >>> round(krippendorff_alpha([["a", "a", "b", "b"], ["a", "a", "a", "b"]]), 4)
        0.5333
    """
    totals: Counter[str] = Counter()
    unequal = 0.0
    for answers in zip(*judges, strict=True):
        counts = Counter(answer for answer in answers if answer is not None)
        m = counts.total()
        if m > 1:
            totals += counts
            unequal += _unequal_pairs(counts) / (m - 1)
    n = totals.total()
    expected = _unequal_pairs(totals)
    if not expected:
        return float("nan")
    # D = unequal / n and E = expected / (n (n − 1)).
    return 1.0 - (n - 1) * unequal / expected


def _unequal_pairs(counts: Counter[str]) -> int:
    """Return the number of ordered pairs of answers in different classes."""
    total = counts.total()
    equal = sum(count * count for count in counts.values())
    return total * total - equal
