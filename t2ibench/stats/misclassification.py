"""How often a judge errs, what that makes of a share, and the share without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.stats.clusters import Proportion
from t2ibench.stats.rounding import sums_by

# What errors would make of these shares is shown.
SHARES = (0.1, 0.5, 0.9)
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of images with its interval; nan without images.

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
    """How a judge reads one class against all others.

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
        """Sensitivity + specificity - 1 (Youden 1950): 1 without errors, 0 for guesses."""
        rates = [self.sensitivity, self.specificity]
        return _combined(lambda se, sp: max(se + sp - 1, 0), rates)

    def read(self, share: float) -> Rate:
        """What the judge would read where a share of the images shows the class.

        w se + (1 - w) (1 - sp), w = share a / (share a + (1 - share) b), with a and b the shares of
        the class and of the others that it answers for, as far as the errors are known (generalized
        MOVER).

        Source: Rogan & Gladen 1978, here with answers that are missing; Zou & Donner 2008,
            "Construction of confidence limits about effect measures", for the interval.
        """

        def read(se: float, sp: float, a: float, b: float) -> float:
            weight = _weight(share, a, b)
            return weight * se + (1 - weight) * (1 - sp)

        return _combined(read, self._rates)

    def corrected(self, read: float, low: float, high: float) -> Rate:
        """The share that a judge with these errors would have read as this one; inverts `read`."""

        def true(se: float, sp: float, a: float, b: float, q: float) -> float:
            youden = max(se + sp - 1, _ROUNDING)
            weight = float(np.clip((q - 1 + sp) / youden, 0, 1))
            return _weight(weight, b, a)

        share_read = Rate(value=read, low=low, high=high, images=0)
        return _combined(true, [*self._rates, share_read])

    @property
    def _rates(self) -> list[Rate]:
        return [self.sensitivity, self.specificity, self.answered, self.answered_others]


def _weight(share: float, a: float, b: float) -> float:
    """The class's share of the answers, of which it has a share a and the others b."""
    whole = share * a + (1 - share) * b
    return share * a / whole if whole > 0 else share


def _combined(value: Callable[..., float], rates: Sequence[Rate]) -> Rate:
    """A share as a function of independent rates, monotone in each, with its interval."""
    points = [rate.value for rate in rates]
    middle = value(*points)
    below = 0.0
    above = 0.0
    for number, rate in enumerate(rates):
        before = points[:number]
        after = points[number + 1 :]
        with_low = value(*before, rate.low, *after) - middle
        with_high = value(*before, rate.high, *after) - middle
        below += min(with_low, with_high, 0.0) ** 2
        above += max(with_low, with_high, 0.0) ** 2
    return Rate(
        value=float(middle),
        low=max(0.0, middle - float(np.sqrt(below))),
        high=min(1.0, middle + float(np.sqrt(above))),
        images=min(rate.images for rate in rates),
    )


def clustered_rate(
    hits: npt.ArrayLike,
    totals: npt.ArrayLike,
    level: float = 0.95,
    *,
    of_another: bool = False,
) -> Rate:
    """A share of all images of several prompts, images of one prompt alike.

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
    all_totals = np.asarray(totals, dtype=np.float64)
    has_images = all_totals > 0
    x = np.asarray(hits, dtype=np.float64)[has_images]
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
        residuals = float(((x - p * n) ** 2).sum())
        variance = prompts / df * residuals / images**2
        spread = p * (1 - p)
        if of_another:
            variance += max(0.0, prompts * variance - spread * prompts / images)
        if spread > 0 and variance > 0:
            size = min(images, spread / variance)
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
    """A judge's errors about one class, from images that people labelled.

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
        right = np.bincount(prompts[hits & among], minlength=n_prompts)
        totals = np.bincount(prompts[among], minlength=n_prompts)
        return clustered_rate(right, totals, level, of_another=of_another)

    answered = judged_codes >= 0
    of_class = true_codes == code
    return ClassErrors(
        sensitivity=rate(judged_codes == code, among=of_class & answered),
        specificity=rate(judged_codes != code, among=~of_class & answered),
        answered=rate(answered, among=of_class),
        answered_others=rate(answered, among=~of_class),
    )


def group_test(
    outcome: npt.ArrayLike,
    groups: npt.ArrayLike,
    clusters: npt.ArrayLike,
    rng: np.random.Generator,
    draws: int = 4999,
) -> float:
    """Whether an outcome is as frequent in every group, images of one prompt alike.

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
    sizes = np.bincount(members) if len(members) else np.zeros(0, dtype=np.int64)
    n = len(outcomes)
    hits = int(outcomes.sum())
    present = sizes > 0
    if present.sum() < 2 or not 0 < hits < n:
        return float("nan")
    others = n - sizes
    is_member = members[:, None] == np.arange(len(sizes))
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(present, np.sqrt(1 / sizes + 1 / others), np.inf)
        weights = np.where(is_member, 1 / sizes, -1 / others)
    # Groups permuted over images; the first row is the data.
    observed = np.bincount(members[outcomes == 1], minlength=len(sizes))
    drawn = rng.multivariate_hypergeometric(sizes, hits, size=draws)
    rows = np.vstack([observed, drawn])
    gaps = (rows / np.maximum(sizes, 1) - (hits - rows) / others) / scale
    # Signs of each prompt's part; again the first row is the data.
    centred = (outcomes - hits / n)[:, None]
    moved = centred * np.where(present, weights, 0.0)
    parts = sums_by(prompts, moved.astype(np.float64), int(prompts.max()) + 1)
    errors = np.sqrt((parts**2).sum(axis=0))
    varies = errors > 0
    scaled = parts[:, varies] / errors[varies]
    drawn_signs = 2.0 * rng.integers(0, 2, (draws, len(parts))) - 1
    signs = np.vstack([np.ones(len(parts)), drawn_signs])
    return max(_beyond(gaps), _beyond(signs @ scaled))


def _beyond(rows: Float64Array) -> float:
    """The p-value of the first row's largest size among those of all rows."""
    largest = np.abs(rows).max(axis=1)
    return float((largest >= largest[0] * (1 - _ROUNDING)).mean())
