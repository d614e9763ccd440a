"""A judge's error rates, the shares that its answers show with them, and corrected shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import BoolArray, Float64Array, as_floats
from t2ibench.stats.clusters import Proportion
from t2ibench.stats.rounding import sums_by

# What errors would make of these shares is shown.
SHARES = (0.1, 0.5, 0.9)
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of images with its interval; the share is nan without images.

    Attributes:
        value: The share.
        low: Lower end of its interval.
        high: Upper end.
        images: Number of images that it is a share of.
    """

    value: float
    low: float
    high: float
    images: int


@dataclass(frozen=True, slots=True)
class ClassErrors:
    """A judge's error rates for one class against all others.

    Attributes:
        sensitivity: Of the images of the class that it answered for, those it gave the class.
        specificity: Of the images of other classes that it answered for, those it gave another.
        answered: Of the images of the class, those it gave a class.
        answered_others: Of the images of other classes, those it gave a class.
    """

    sensitivity: Rate
    specificity: Rate
    answered: Rate
    answered_others: Rate

    @property
    def youden(self) -> Rate:
        """Youden's index, sensitivity + specificity - 1: 1 without errors, 0 for guesses.

        Source: Youden 1950.
        """

        def youden(se: float, sp: float) -> float:
            return max(se + sp - 1, 0)

        rates = [self.sensitivity, self.specificity]
        return _combined(youden, rates)

    def read(self, share: float) -> Rate:
        """Return the share that the judge's answers would show for a class with this true share.

        w se + (1 - w) (1 - sp), w = share a / (share a + (1 - share) b), with a and b the shares of
        the class and of the others that it answers for, as far as the errors are known (generalized
        MOVER).

        Source: Rogan & Gladen 1978, here with answers that are missing; Zou & Donner 2008,
            "Construction of confidence limits about effect measures", for the interval.
        """

        def read(se: float, sp: float, a: float, b: float) -> float:
            weight = _weight(share, a, b)
            right = weight * se
            wrong = (1 - weight) * (1 - sp)
            return right + wrong

        return _combined(read, self._rates)

    def corrected(self, read: float, low: float, high: float) -> Rate:
        """Return the true share, given the share that the judge's answers show.

        It is the inverse of `read`.
        """

        def true(se: float, sp: float, a: float, b: float, q: float) -> float:
            youden = max(se + sp - 1, _ROUNDING)
            share_of_answers = (q - 1 + sp) / youden
            weight = float(np.clip(share_of_answers, 0, 1))
            return _weight(weight, b, a)

        share_read = Rate(value=read, low=low, high=high, images=0)
        return _combined(true, [*self._rates, share_read])

    @property
    def _rates(self) -> list[Rate]:
        return [self.sensitivity, self.specificity, self.answered, self.answered_others]


def _weight(share: float, a: float, b: float) -> float:
    """Return a class's share of answered images, from its true share and the shares answered."""
    of_class = share * a
    of_others = (1 - share) * b
    answered = of_class + of_others
    return of_class / answered if answered > 0 else share


def _combined(value: Callable[..., float], rates: Sequence[Rate]) -> Rate:
    """Return a share that is a monotone function of independent rates, with its interval."""
    points = [rate.value for rate in rates]
    middle = value(*points)
    below = 0.0
    above = 0.0
    for number, rate in enumerate(rates):
        before = points[:number]
        after = points[number + 1 :]
        with_low = value(*before, rate.low, *after) - middle
        with_high = value(*before, rate.high, *after) - middle
        lowest = min(with_low, with_high, 0.0)
        highest = max(with_low, with_high, 0.0)
        below += lowest**2
        above += highest**2
    distance_below = float(np.sqrt(below))
    distance_above = float(np.sqrt(above))
    return Rate(
        value=float(middle),
        low=max(0.0, middle - distance_below),
        high=min(1.0, middle + distance_above),
        images=min(rate.images for rate in rates),
    )


def clustered_rate(
    hits: npt.ArrayLike,
    totals: npt.ArrayLike,
    level: float = 0.95,
    *,
    of_another: bool = False,
) -> Rate:
    """Return a share of images with an interval that allows for images alike within prompts.

    p = sum x_c / sum n_c with the ratio estimator's variance V over C prompts, at least that of
    independent images; Wilson's interval with the effective number of images and Student's t. For
    one more prompt, V grows by what prompts differ by, C V - p (1 - p) / n of n images a prompt.

    Args:
        hits: Images with the answer, shape (prompts,).
        totals: Images, shape (prompts,); prompts without any do not count.
        level: Confidence level, in (0, 1).
        of_another: Whether the interval is of one more prompt, and not of the mean of such.

    Returns:
        The share; from 0 to 1 where there is no image.

    Source: Cochran 1977, chapter 9; Korn & Graubard 1998; Wilson 1927.

    Example:
        >>> rate = clustered_rate([9, 10, 8], [10, 10, 10])
        >>> round(rate.value, 2), round(rate.low, 2), rate.high < 1, rate.images
        (0.9, 0.49, True, 30)
    """
    all_totals = as_floats(totals)
    has_images = all_totals > 0
    x = as_floats(hits)[has_images]
    n = all_totals[has_images]
    prompts = len(n)
    images = float(n.sum())
    if not prompts:
        return Rate(value=float("nan"), low=0.0, high=1.0, images=0)
    p = float(x.sum()) / images
    size = images
    df = images - 1
    if prompts > 1:
        df = prompts - 1.0
        residuals = x - p * n
        squares = float((residuals**2).sum())
        variance = prompts / df * squares / images**2
        spread = p * (1 - p)
        if of_another:
            variance_of_prompts = prompts * variance
            variance_within = spread * prompts / images
            between = variance_of_prompts - variance_within
            variance += max(0.0, between)
        if spread > 0 and variance > 0:
            effective = spread / variance
            size = min(images, effective)
    share = Proportion(value=p, size=size, df=max(df, 1.0))
    low, high = share.interval(level)
    return Rate(value=p, low=low, high=high, images=int(images))


def errors_of(
    truth: npt.ArrayLike,
    judged: npt.ArrayLike,
    code: int,
    clusters: npt.ArrayLike,
    level: float = 0.95,
    *,
    of_another: bool = False,
) -> ClassErrors:
    """Return a judge's error rates for one class, from images that people labelled.

    Args:
        truth: People's class of each image, by number, shape (n,).
        judged: The judge's; -1 where it gave none.
        code: Number of the class.
        clusters: Number of the prompt of each image, from 0.
        level: Confidence level, in (0, 1).
        of_another: See `clustered_rate`.

    Returns:
        The errors.

    Example:
        >>> errors = errors_of([0, 0, 1, 1], [0, 1, 1, -1], 0, [0, 1, 2, 3])
        >>> errors.sensitivity.value, errors.specificity.value, errors.answered_others.value
        (0.5, 1.0, 0.5)
    """
    true_codes = np.asarray(truth, dtype=np.int64)
    judged_codes = np.asarray(judged, dtype=np.int64)
    prompts = np.asarray(clusters, dtype=np.int64)
    n_prompts = int(prompts.max()) + 1 if len(prompts) else 0

    def rate(hits: BoolArray, among: BoolArray) -> Rate:
        prompts_of_hits = prompts[hits & among]
        right = np.bincount(prompts_of_hits, minlength=n_prompts)
        totals = np.bincount(prompts[among], minlength=n_prompts)
        return clustered_rate(right, totals, level, of_another=of_another)

    answered = judged_codes >= 0
    of_class = true_codes == code
    of_others = ~of_class
    judged_as_class = judged_codes == code
    judged_otherwise = judged_codes != code
    return ClassErrors(
        sensitivity=rate(judged_as_class, among=of_class & answered),
        specificity=rate(judged_otherwise, among=of_others & answered),
        answered=rate(answered, among=of_class),
        answered_others=rate(answered, among=of_others),
    )


def group_test(
    outcome: npt.ArrayLike,
    groups: npt.ArrayLike,
    clusters: npt.ArrayLike,
    rng: np.random.Generator,
    draws: int = 4999,
) -> float:
    """Return the p-value that an outcome is equally frequent in every group of images.

    Images of one prompt may be alike.

    The largest difference between a group and all others, in standard errors. Its p-value is the
    larger of two: with the groups permuted over images (exact where prompts do nothing), and with
    the signs of each prompt's part of the differences drawn at random (where they do).

    Args:
        outcome: 0 or 1 for each image, shape (n,).
        groups: Number of its group, from 0.
        clusters: Number of its prompt, from 0.
        rng: Draws the permutations and the signs.
        draws: How many of each.

    Returns:
        p, in (0, 1]; nan where there is one group, or one outcome.

    Source: Fisher 1935 for permutations; Kline & Santos 2012, "A score based approach to wild
        bootstrap inference", with Rademacher signs.

    Example:
        >>> prompts, rng = [0, 1, 2, 3, 4, 5, 6, 7] * 2, np.random.default_rng(0)
        >>> group_test([1] * 8 + [0] * 8, [0] * 8 + [1] * 8, prompts, rng) < 0.02
        True
    """
    outcomes = np.asarray(outcome, dtype=np.int64)
    members = np.asarray(groups, dtype=np.int64)
    prompts = np.asarray(clusters, dtype=np.int64)
    n = len(outcomes)
    if not n:
        return float("nan")
    sizes = np.bincount(members)
    hits = int(outcomes.sum())
    present = sizes > 0
    single_group = present.sum() < 2
    single_outcome = hits in (0, n)
    if single_group or single_outcome:
        return float("nan")
    others = n - sizes
    is_member = members[:, None] == np.arange(len(sizes))
    with np.errstate(divide="ignore", invalid="ignore"):
        weight_of_member = 1 / sizes
        weight_of_other = 1 / others
        errors_of_difference = np.sqrt(weight_of_member + weight_of_other)
        scale = np.where(present, errors_of_difference, np.inf)
        weights = np.where(is_member, weight_of_member, -weight_of_other)
    # Groups permuted over images; the first row is the data.
    observed = np.bincount(members[outcomes == 1], minlength=len(sizes))
    drawn = rng.multivariate_hypergeometric(sizes, hits, size=draws)
    rows = np.vstack([observed, drawn])
    share_of_group = rows / np.maximum(sizes, 1)
    share_of_others = (hits - rows) / others
    gaps = (share_of_group - share_of_others) / scale
    # Signs of each prompt's part; again the first row is the data.
    mean = hits / n
    centred = (outcomes - mean)[:, None]
    moved = centred * np.where(present, weights, 0.0)
    n_prompts = int(prompts.max()) + 1
    parts = sums_by(prompts, moved.astype(np.float64), n_prompts)
    variances = (parts**2).sum(axis=0)
    errors = np.sqrt(variances)
    varies = errors > 0
    scaled = parts[:, varies] / errors[varies]
    bits = rng.integers(0, 2, (draws, n_prompts))
    drawn_signs = 2.0 * bits - 1
    signs = np.vstack([np.ones(n_prompts), drawn_signs])
    p_of_permutations = _beyond(gaps)
    p_of_signs = _beyond(signs @ scaled)
    return max(p_of_permutations, p_of_signs)


def _beyond(rows: Float64Array) -> float:
    """Return the p-value of the first row's largest absolute number among those of all rows."""
    largest = np.abs(rows).max(axis=1)
    observed = largest[0] * (1 - _ROUNDING)
    reached = largest >= observed
    return float(reached.mean())
