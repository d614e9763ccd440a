"""How often a judge errs, what that makes of a share, and the share without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array
from t2ibench.stats.clusters import Proportion
from t2ibench.stats.rounding import sums_by

SHARES = (0.1, 0.5, 0.9)  # what errors would make of these is shown
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of images with its interval; nan without images."""

    value: float
    low: float
    high: float
    images: int  # out of how many


@dataclass(frozen=True, slots=True)
class ClassErrors:
    """How a judge reads one class against all others."""

    # of the images of the class that it answered for, those it gave the class
    sensitivity: Rate
    # of the images of other classes that it answered for, those it gave another
    specificity: Rate
    answered: Rate  # of the images of the class, those it gave a class
    answered_others: Rate  # of the images of other classes

    @property
    def youden(self) -> Rate:
        """Sensitivity + specificity - 1 (Youden 1950): 1 without errors, 0 for guesses."""
        return _combined(
            lambda se, sp: max(se + sp - 1, 0), [self.sensitivity, self.specificity]
        )

    def read(self, share: float) -> Rate:
        """What the judge would read where a share of the images shows the class.

        w se + (1 - w) (1 - sp), w = share a / (share a + (1 - share) b), with a and b the shares of
        the class and of the others that it answers for, as far as the errors are known (generalized
        MOVER).

        Source: Rogan & Gladen 1978, here with answers that are missing; Zou & Donner 2008,
            "Construction of confidence limits about effect measures", for the interval.
        """

        def read(se: float, sp: float, a: float, b: float) -> float:
            w = _weight(share, a, b)
            return w * se + (1 - w) * (1 - sp)

        return _combined(read, self._rates)

    def corrected(self, read: float, low: float, high: float) -> Rate:
        """The share that a judge with these errors would have read as this one; inverts `read`."""

        def true(se: float, sp: float, a: float, b: float, q: float) -> float:
            w = float(np.clip((q - 1 + sp) / max(se + sp - 1, _ROUNDING), 0, 1))
            return _weight(w, b, a)

        return _combined(true, [*self._rates, Rate(read, low, high, 0)])

    @property
    def _rates(self) -> list[Rate]:
        return [self.sensitivity, self.specificity, self.answered, self.answered_others]


def _weight(share: float, a: float, b: float) -> float:
    """The share among what is left of a class by a and of the others by b."""
    whole = share * a + (1 - share) * b
    return share * a / whole if whole > 0 else share


def _combined(value: Callable[..., float], rates: Sequence[Rate]) -> Rate:
    """A share as a function of independent rates, monotone in each, with its interval."""
    points = [rate.value for rate in rates]
    middle = value(*points)
    below = above = 0.0
    for number, rate in enumerate(rates):
        moved = [
            value(*points[:number], end, *points[number + 1 :]) - middle
            for end in (rate.low, rate.high)
        ]
        below += min(*moved, 0.0) ** 2
        above += max(*moved, 0.0) ** 2
    ends = (
        max(0.0, middle - float(np.sqrt(below))),
        min(1.0, middle + float(np.sqrt(above))),
    )
    return Rate(float(middle), *ends, min(rate.images for rate in rates))


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
        >>> found = clustered_rate([9, 10, 8], [10, 10, 10])
        >>> round(found.value, 2), round(found.low, 2), found.high < 1, found.images
        (0.9, 0.49, True, 30)
    """
    x, n = np.asarray(hits, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    x, n = x[n > 0], n[n > 0]
    prompts, images = len(n), float(n.sum())
    if not prompts:
        return Rate(float("nan"), 0.0, 1.0, 0)
    p, size, df = float(x.sum()) / images, images, images - 1
    if prompts > 1:
        df = prompts - 1.0
        variance = prompts / df * float(((x - p * n) ** 2).sum()) / images**2
        spread = p * (1 - p)
        if of_another:
            variance += max(0.0, prompts * variance - spread * prompts / images)
        size = min(images, spread / variance) if spread > 0 and variance > 0 else images
    return Rate(p, *Proportion(p, size, max(df, 1.0)).interval(level), int(images))


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
        >>> found = errors_of([0, 0, 1, 1], [0, 1, 1, -1], 0, [0, 1, 2, 3])
        >>> found.sensitivity.value, found.specificity.value, found.answered_others.value
        (0.5, 1.0, 0.5)
    """
    t, j, c = (np.asarray(array, dtype=np.int64) for array in (truth, judged, clusters))
    known = j >= 0

    def rate(hits: npt.NDArray[np.bool_], among: npt.NDArray[np.bool_]) -> Rate:
        number = int(c.max()) + 1 if len(c) else 0
        right = np.bincount(c[hits & among], minlength=number)
        totals = np.bincount(c[among], minlength=number)
        return clustered_rate(right, totals, level, of_another=of_another)

    own = t == code
    return ClassErrors(
        rate(j == code, own & known),
        rate(j != code, ~own & known),
        rate(known, own),
        rate(known, ~own),
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
    x, g, c = (
        np.asarray(array, dtype=np.int64) for array in (outcome, groups, clusters)
    )
    sizes = np.bincount(g) if len(g) else np.zeros(0, dtype=np.int64)
    n, hits = len(x), int(x.sum())
    if (sizes > 0).sum() < 2 or not 0 < hits < n:
        return float("nan")
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(sizes > 0, np.sqrt(1 / sizes + 1 / (n - sizes)), np.inf)
        weights = np.where(
            g[:, None] == np.arange(len(sizes)), 1 / sizes, -1 / (n - sizes)
        )
    drawn = rng.multivariate_hypergeometric(sizes, hits, size=draws)
    rows = np.vstack([np.bincount(g[x == 1], minlength=len(sizes)), drawn])
    gaps = (rows / np.maximum(sizes, 1) - (hits - rows) / (n - sizes)) / scale
    moved = (x - hits / n)[:, None] * np.where(sizes > 0, weights, 0.0)
    parts = sums_by(c, moved.astype(np.float64), int(c.max()) + 1)
    errors = np.sqrt((parts**2).sum(axis=0))
    parts = parts[:, errors > 0] / errors[errors > 0]
    signs = np.vstack(
        [np.ones(len(parts)), 2.0 * rng.integers(0, 2, (draws, len(parts))) - 1]
    )
    return max(_beyond(gaps), _beyond(signs @ parts))


def _beyond(rows: Float64Array) -> float:
    """The p-value of the first row's largest size among those of all rows."""
    largest = np.abs(rows).max(axis=1)
    return float((largest >= largest[0] * (1 - _ROUNDING)).mean())
