"""Shares and mean squares of classes, corrected for a judge's errors by people's labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from t2ibench.arrays import Float64Array, IntArray, as_floats
from t2ibench.stats.student import t_interval

# With fewer labels a corrected mean square may be off by any amount.
FEWEST_LABELS = 200
# Of the confusion matrix: below it the judge tells the classes apart badly.
LEAST_DETERMINANT = 0.3
# Fewer captions cannot be jackknifed.
_FEWEST_CAPTIONS = 3
# Of the test that a judge's errors are those of every caption.
_ALPHA = 0.05
_DRAWS = 499
# Two values that differ by less are equal but for rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Corrected:
    """A number corrected to what human labels would give, or the reason why it cannot be.

    Attributes:
        value: The corrected number.
        interval: Its interval.
        weight: Weight of the judge's answers, in [0, 1].
        reason: Why there is no value.
    """

    value: float | None
    interval: tuple[float, float] | None = None
    weight: float = 0.0
    reason: str | None = None


def corrected_share(
    judged: npt.ArrayLike,
    labelled: npt.ArrayLike,
    labels: npt.ArrayLike,
    level: float = 0.95,
    *,
    unanswered: float = 0.0,
    labels_of_unanswered: npt.ArrayLike = (),
) -> Corrected:
    """Return a class's share, from a judge's answers about all images and people's about few.

    Among the K images that the judge answered for

    p = w mean(f over all) + mean(y - w f over the labelled), with f and y the indicators of the
    class among the judge's answers and among the labels, and w in [0, 1] chosen for the smallest
    variance. It is unbiased whatever errors the judge makes. Without labels p is the judge's share.
    Two labels are added to the variance that the judge got wrong, one each way. Among the U images
    that it did not answer for, for whatever reason, q is the share of the s labels:

    (K p + U q) / M, M = K + U, with the variance
    (K / M)² V_p + (U / M)² q' (1 - q') / s + K U (p - q)² / M³, q' with one more label each way

    The interval is Wilson's, with the effective number of answers.

    Args:
        judged: The judge's indicator of every image that it answered for, shape (K,), 0 or 1.
        labelled: The judge's indicator of the labelled ones of them, a random sample, shape (n,).
        labels: People's indicator of those, shape (n,), n 0 or at least 2.
        level: Confidence level, in (0, 1).
        unanswered: Number of further images, U; estimated, where some show none of the classes.
        labels_of_unanswered: People's indicator of a random sample of them, shape (s,).

    Returns:
        The corrected share.

    Source: Angelopoulos, Duchi & Zrnic 2023, "PPI++: Efficient prediction-powered inference";
    Neyman 1938 for double sampling; Wilson 1927.

    Example:
        >>> share = corrected_share([1] * 60 + [0] * 40, [1] * 12 + [0] * 8, [1] * 12 + [0] * 8)
        >>> round(share.value, 2), share.weight > 0.8
        (0.6, True)
        >>> round(corrected_share([1] * 60 + [0] * 40, [], [], unanswered=50,
        ...                       labels_of_unanswered=[1] * 10).value, 3)
        0.733
    """
    value, variance, weight = _answered_share(
        as_floats(judged),
        as_floats(labelled),
        as_floats(labels),
    )
    others = as_floats(labels_of_unanswered)
    if unanswered and len(others):
        answered = len(np.asarray(judged))
        m = answered + unanswered
        s = len(others)
        q = float(others.mean())
        # One more label each way.
        padded = (float(others.sum()) + 1) / (s + 2)
        part_answered = answered / m
        part_unanswered = unanswered / m
        within_answered = part_answered**2 * variance
        within_unanswered = part_unanswered**2 * padded * (1 - padded) / s
        difference = value - q
        between = answered * unanswered * difference**2 / m**3
        variance = within_answered + within_unanswered + between
        with_class = answered * value + unanswered * q
        value = with_class / m
    share = float(np.clip(value, 0, 1))
    interval = _wilson(share, variance, level)
    return Corrected(value=value, interval=interval, weight=weight)


def _answered_share(
    judged: Float64Array, f: Float64Array, y: Float64Array
) -> tuple[float, float, float]:
    """Return the corrected share of images with a judge's answer, its variance and weight."""
    n = len(y)
    n_judged = len(judged)
    if not n:
        # Agresti and Coull's two more answers each way.
        padded_n = n_judged + 4
        padded = (float(judged.sum()) + 2) / padded_n
        padded_variance = padded * (1 - padded) / padded_n
        return float(judged.mean()), padded_variance, 1.0
    variance_f = float(f.var(ddof=1))
    weight = 0.0
    if variance_f > 0:
        covariance = float(np.cov(y, f)[0, 1])
        slope = covariance / variance_f
        best_weight = slope / (1 + n / n_judged)
        weight = float(np.clip(best_weight, 0.0, 1.0))
    # Two more labels that the judge got wrong, one each way.
    padded_f = np.append(f, [0.0, 1.0])
    padded_y = np.append(y, [1.0, 0.0])
    padded_errors = padded_y - weight * padded_f
    variance_of_errors = float(padded_errors.var(ddof=1))
    variance_judged = 0.0
    if n_judged > 1:
        variance_judged = float(judged.var(ddof=1))
    variance = variance_of_errors / (n + 2)
    variance += weight**2 * variance_judged / n_judged
    errors = y - weight * f
    share = weight * judged.mean() + errors.mean()
    return float(share), variance, weight


def _wilson(p: float, variance: float, level: float) -> tuple[float, float]:
    """Return Wilson's interval of a share with the given variance."""
    if variance == 0:
        return p, p
    z = float(ndtri((1 + level) / 2))
    smoothed = max(p * (1 - p), 0.25 * variance)
    size = smoothed / variance
    scale = 1 + z**2 / size
    shift = z**2 / (2 * size)
    centre = (p + shift) / scale
    spread = p * (1 - p) / size
    added_spread = z**2 / (4 * size**2)
    error = np.sqrt(spread + added_spread)
    half = z / scale * error
    low = max(0.0, centre - half)
    high = min(1.0, centre + half)
    return float(low), float(high)


def confusion_matrix(truth: Sequence[int], judged: Sequence[int], k: int) -> IntArray:
    """Return the number of images by people's class and by the judge's class.

    Args:
        truth: People's classes, by number.
        judged: The judge's, of the same images.
        k: Number of classes.

    Returns:
        Shape (k, k), rows by truth.

    Example:
        >>> confusion_matrix([0, 0, 1], [0, 1, 1], 2).tolist()
        [[1, 1], [0, 1]]
    """
    rows = np.asarray(truth, dtype=np.int64)
    columns = np.asarray(judged, dtype=np.int64)
    counts = np.zeros((k, k), dtype=np.int64)
    np.add.at(counts, (rows, columns), 1)
    return counts


def corrected_mean_square(
    counts: npt.ArrayLike, confusions: npt.ArrayLike, level: float = 0.95
) -> Corrected:
    """Return the mean squared lean of captions' answers, corrected for the judge's errors.

    It is the mean over captions of the squared distance of true shares from uniform (Rogan-Gladen).

    With A the judge's share of class j where people say i, a caption's true shares are A^-T q, and
    h = (|A^-T q|² - 1/k) / (1 - 1/k), where the square is a U-statistic over the caption's pairs of
    images. Deleting one caption at a time, with its labels, gives the bias that the noise of A
    brings, and the variance, which is at least that of uniform answers.

    Args:
        counts: The judge's answers, shape (captions, k).
        confusions: Labels, shape (captions, k, k), rows by truth; see `confusion_matrix`.
        level: Confidence level, in (0, 1).

    Returns:
        The corrected mean square; without a value where there are fewer than 200 labels, a class
        has none, the judge hardly tells the classes apart, there are fewer than 3 captions, or its
        errors clearly differ between captions.

    Source: Rogan & Gladen 1978, for k classes; Efron & Stein 1981 for the jackknife.

    Example:
        All answers are right, and all are the first class:

        >>> labels = [[[40, 0], [0, 10]]] * 5
        >>> square = corrected_mean_square([[20, 0]] * 5, labels)
        >>> round(square.value, 6)
        1.0
    """
    n = as_floats(counts)
    labels = as_floats(confusions)
    usable = n.sum(axis=1) >= 2
    reason = _not_correctable(labels, int(usable.sum()))
    if reason:
        return Corrected(None, reason=reason)
    all_labels = labels.sum(axis=0)
    whole = _mean_square(n[usable], all_labels)
    captions = len(n)
    without = np.empty(captions)
    for caption in range(captions):
        others = usable.copy()
        others[caption] = False
        other_labels = all_labels - labels[caption]
        without[caption] = _mean_square(n[others], other_labels)
    if not np.isfinite(without).all():
        return Corrected(None, reason="without one caption's labels a class has none")
    # The jackknife's value without bias, and its variance.
    df = captions - 1
    mean = without.mean()
    value = captions * whole - df * float(mean)
    deviations = without - mean
    squares = float((deviations**2).sum())
    jackknife = df / captions * squares
    least = _least_variance(n[usable], all_labels)
    variance = max(jackknife, least)
    interval = t_interval(value, variance, df=df, level=level)
    return Corrected(value=value, interval=interval)


def _not_correctable(labels: Float64Array, captions: int) -> str | None:
    total = labels.sum(axis=0)
    n_labels = int(labels.sum())
    if captions < _FEWEST_CAPTIONS:
        return f"fewer than {_FEWEST_CAPTIONS} captions have two answers"
    if n_labels < FEWEST_LABELS:
        return f"{n_labels} labels; at least {FEWEST_LABELS} are needed"
    if not (total.sum(axis=1) > 0).all():
        return "people never gave one of the classes"
    if abs(np.linalg.det(_rates(total))) < LEAST_DETERMINANT:
        return "the judge tells the classes apart too badly"
    p = errors_differ(labels)
    if p < _ALPHA:
        return (
            f"the judge errs otherwise about some captions than about others (p = {p:.2g}), so "
            "that its errors over all of them do not correct each"
        )
    return None


def errors_differ(confusions: npt.ArrayLike) -> float:
    """Return the p-value that a judge's errors are the same in every caption.

    Pearson's chi-squared over classes of truth, against 499 draws in which the answers about
    images of one class are dealt to the captions at random. A judge that expects one class of a
    caption errs toward it there, and errors over all captions do not show that.

    Args:
        confusions: Labels, shape (captions, k, k), rows by truth; see `confusion_matrix`.

    Returns:
        p, in (0, 1]; 1 where no answer is wrong.

    Source: Fisher 1935, "The design of experiments", for permutations.

    Example:
        >>> errs_toward_first, errs_toward_second = [[10, 0], [4, 6]], [[6, 4], [0, 10]]
        >>> errors_differ([errs_toward_first, errs_toward_second] * 5) < 0.01
        True
    """
    labels = np.asarray(confusions, dtype=np.int64)
    rng = np.random.default_rng(0)
    # Observed, then drawn.
    totals = np.zeros(1 + _DRAWS)
    for number in range(labels.shape[1]):
        totals += _squares_beyond_margins(labels[:, number], rng)
    observed = totals[0]
    drawn = totals[1:]
    as_large = int((drawn >= observed - _ROUNDING).sum())
    return (1 + as_large) / (1 + _DRAWS)


def _squares_beyond_margins(table: IntArray, rng: np.random.Generator) -> Float64Array:
    """Return Pearson's chi-squared of a table, and of draws with its margins."""
    sizes = table.sum(axis=1)
    by_answer = table.sum(axis=0)
    total = max(int(sizes.sum()), 1)
    expected = np.outer(sizes, by_answer) / total
    weights = np.zeros_like(expected)
    np.divide(1.0, expected, out=weights, where=expected > 0)

    def chi_squared(counts: IntArray) -> float:
        beyond = counts - expected
        return float((beyond**2 * weights).sum())

    rows = np.arange(len(sizes))
    columns = np.arange(len(by_answer))
    first_cells = np.repeat(rows * len(columns), sizes)
    answers = np.repeat(columns, by_answer)
    squares = [chi_squared(table)]
    for _ in range(_DRAWS):
        cells = first_cells + rng.permutation(answers)
        dealt = np.bincount(cells, minlength=table.size).reshape(table.shape)
        squares.append(chi_squared(dealt))
    return np.array(squares)


def _rates(confusion: Float64Array) -> Float64Array:
    rates: Float64Array = confusion / confusion.sum(axis=1, keepdims=True)
    return rates


def _least_variance(n: Float64Array, confusion: Float64Array) -> float:
    """Return the variance of the corrected mean square as if answers were uniform."""
    captions, k = n.shape
    centring = np.eye(k) - 1 / k
    inverse = np.linalg.inv(_rates(confusion)).T
    centred_inverse = inverse @ centring
    # What the correction multiplies variances by.
    gain = float((centred_inverse**2).sum()) / (k - 1)
    total = n.sum(axis=1)
    pairs = total * (total - 1)
    variances = 2 / (pairs * (k - 1))
    mean_variance = float(variances.mean())
    return float(mean_variance * gain**2 / captions)


def _mean_square(n: Float64Array, confusion: Float64Array) -> float:
    labels_of_class = confusion.sum(axis=1)
    if not (labels_of_class > 0).all():
        return float("nan")
    k = n.shape[1]
    try:
        # True shares are this matrix times the judged shares.
        inverse = np.linalg.inv(_rates(confusion)).T
    except np.linalg.LinAlgError:
        return float("nan")
    total = n.sum(axis=1)
    pairs = total * (total - 1)
    true_counts = n @ inverse.T
    all_products = (true_counts**2).sum(axis=1)
    square_of_class = (inverse**2).sum(axis=0)
    products_with_itself = n @ square_of_class
    squares = (all_products - products_with_itself) / pairs
    uniform_square = 1 / k
    normalised = (squares - uniform_square) / (1 - uniform_square)
    return float(normalised.mean())
