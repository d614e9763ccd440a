"""How steeply generated shares follow reference shares, from answers or corrected by labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from t2ibench.arrays import Float64Array
from t2ibench.stats.judged import Corrected
from t2ibench.stats.student import t_interval, t_test

CLIP = 0.005  # reference shares of 0 and 1 have no logit
_ITERATIONS = 100
_STEP = 2.0  # the largest change of a coefficient in one iteration


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope over independent units.

    Attributes:
        value: The slope.
        intercept: The intercept.
        influence: Influence of each unit on the slope, whose squares sum to its HC3 variance,
            shape (units,).
        df: Degrees of freedom: units less 2.
    """

    value: float
    intercept: float
    influence: Float64Array
    df: float

    @property
    def variance(self) -> float:
        """HC3 variance of the slope."""
        return float((self.influence**2).sum())

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Student's t interval.

        Args:
            level: Confidence level, in (0, 1).

        Returns:
            Lower and upper end.
        """
        return t_interval(self.value, self.variance, self.df, level)

    def p(self, expected: float = 0.0) -> float:
        """Two-sided p-value of a slope.

        Args:
            expected: The slope under test: 0 is none, 1 mirrors the reference.

        Returns:
            p, in (0, 1]; nan without a variance.
        """
        known = self.variance > 0
        return t_test(self.value - expected, self.variance, self.df) if known else float("nan")


def logit_slope(hits: npt.ArrayLike, totals: npt.ArrayLike, reference: npt.ArrayLike) -> Slope:
    """Marginal slope of generated shares on reference shares, in a binomial model.

    logit E[x / n | r] = a + b logit r, fitted with Firth's penalty, which keeps it finite where
    shares are 0 or 1 and removes the first-order bias. The HC3 variance takes each stimulus as a
    unit, so that stimuli may differ from the line. b = 1 mirrors the reference, b > 1 amplifies
    it, b = 0 does not follow it. Shares of stimuli that scatter around the line have a smaller
    marginal slope than each stimulus has on average (the conditional slope).

    Args:
        hits: Answers x of the class, shape (units,).
        totals: Answers n, at least 1 each, shape (units,).
        reference: Reference shares r of the class, cut to [.005, .995], shape (units,).

    Returns:
        The slope; its variance is nan for fewer than three units.

    Raises:
        ValueError: the reference shares are all equal.

    Source: Firth 1993, "Bias reduction of maximum likelihood estimates"; HC3: MacKinnon & White
        1985.

    Example:
        >>> reference = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
        >>> round(logit_slope(1000 * reference, np.full(5, 1000), reference).value, 2)
        1.0
    """
    x, n = np.asarray(hits, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    design = _design(logit(np.clip(np.asarray(reference, dtype=np.float64), CLIP, 1 - CLIP)))
    beta = np.zeros(2)
    for _ in range(_ITERATIONS):
        p, weights, inverse = _fit(design, n, beta)
        leverage = weights * np.einsum("oi,ij,oj->o", design, inverse, design)
        step = inverse @ (design.T @ (x - n * p + leverage * (0.5 - p)))
        beta += np.clip(step, -_STEP, _STEP)
        if np.abs(step).max() < 1e-10:
            break
    p, weights, inverse = _fit(design, n, beta)
    leverage = weights * np.einsum("oi,ij,oj->o", design, inverse, design)
    return _slope(beta, design, inverse, x - n * p, leverage)


def share_slope(hits: npt.ArrayLike, totals: npt.ArrayLike, reference: npt.ArrayLike) -> Slope:
    """Least-squares slope of generated shares on reference shares.

    Unbiased whatever the shape of the relation, and linear in the shares: points of share for each
    point of the reference.

    Args:
        hits: Answers of the class, shape (units,).
        totals: Answers, at least 1 each, shape (units,).
        reference: Reference shares of the class, shape (units,).

    Returns:
        The slope with its HC3 variance.

    Raises:
        ValueError: the reference shares are all equal.

    Source: HC3: MacKinnon & White 1985.

    Example:
        >>> round(share_slope([1, 2, 3, 4], [10] * 4, [0.2, 0.4, 0.6, 0.8]).value, 3)
        0.5
    """
    share = np.asarray(hits, dtype=np.float64) / np.asarray(totals, dtype=np.float64)
    design = _design(np.asarray(reference, dtype=np.float64))
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ share
    leverage = np.einsum("oi,ij,oj->o", design, inverse, design)
    return _slope(beta, design, inverse, share - design @ beta, leverage)


def _design(values: Float64Array) -> Float64Array:
    if len(values) < 2 or not np.ptp(values) > 0:
        raise ValueError("the reference shares are all equal")
    return np.column_stack([np.ones(len(values)), values])


def _fit(
    design: Float64Array, n: Float64Array, beta: Float64Array
) -> tuple[Float64Array, Float64Array, Float64Array]:
    p = expit(np.clip(design @ beta, -30, 30))
    weights = n * p * (1 - p) + 1e-12
    return p, weights, np.linalg.inv(design.T @ (weights[:, None] * design))


def _slope(
    beta: Float64Array,
    design: Float64Array,
    inverse: Float64Array,
    residuals: Float64Array,
    leverage: Float64Array,
) -> Slope:
    units = len(design)
    influence = np.full(units, np.nan)
    if units > 2:
        with np.errstate(divide="ignore", invalid="ignore"):
            influence = (design @ inverse[1]) * residuals / (1 - leverage)
    return Slope(float(beta[1]), float(beta[0]), influence, float(max(units - 2, 0)))


FEWEST_LABELS = 100
FEWEST_UNITS = 10  # labelled stimuli


def corrected_slope(
    reference: npt.ArrayLike,
    judged: npt.ArrayLike,
    labels: npt.ArrayLike,
    level: float = 0.95,
) -> Corrected:
    """Least-squares slope of true shares, from many answers of a judge and a few of people.

    b = w b(f over all) + b(y over the labelled) - w b(f over the labelled)

    with b(z) the slope of z on the reference over images, f and y the indicators of the class
    among the judge's and among people's answers, and w in [0, 1] chosen for the smallest variance.
    Whatever errors the judge makes, and however they differ between stimuli, b is unbiased where
    the labelled images are a random sample. Variance and w come from leaving out one stimulus at a
    time, with all its images and labels; Student's t has the labelled stimuli less 2 degrees of
    freedom.

    Args:
        reference: Reference share of each stimulus, shape (units,).
        judged: Images of each stimulus and how many of them the judge gave the class: shape
            (units, 2).
        labels: Of the labelled images of each stimulus their number, how many people gave the
            class, and how many the judge did: shape (units, 3).
        level: Confidence level, in (0, 1).

    Returns:
        The slope; without a value where there are fewer than 100 labels or 10 labelled stimuli.

    Source: Angelopoulos, Duchi & Zrnic 2023, "PPI++"; Efron & Stein 1981 for the jackknife.

    Example:
        A judge that sees every second woman only: half the slope, and all of it after correction.

        >>> r = np.linspace(0.1, 0.9, 20)
        >>> judged = np.column_stack([np.full(20, 100.0), 50 * r])
        >>> labels = np.column_stack([np.full(20, 10.0), 10 * r, 5 * r])
        >>> round(corrected_slope(r, judged, labels).value, 3)
        1.0
    """
    r = np.asarray(reference, dtype=np.float64)
    many, few = np.asarray(judged, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    units = int((few[:, 0] > 0).sum())
    if few[:, 0].sum() < FEWEST_LABELS:
        count = int(few[:, 0].sum())
        return Corrected(None, reason=f"{count} labels; at least {FEWEST_LABELS} are needed")
    if units < FEWEST_UNITS:
        return Corrected(
            None, reason=f"{units} labelled stimuli; at least {FEWEST_UNITS} are needed"
        )
    parts = np.array(
        [
            _slopes(r, many[:, 0], many[:, 1]),
            _slopes(r, few[:, 0], few[:, 1]),
            _slopes(r, few[:, 0], few[:, 2]),
        ]
    )
    if not np.isfinite(parts).all():
        return Corrected(None, reason="the labelled stimuli have one reference share")
    whole, without = parts[:, 0], parts[:, 1:]
    gain, people = without[0] - without[2], without[1]
    covariance = np.cov(people, gain)
    weight = float(np.clip(-covariance[0, 1] / covariance[1, 1], 0, 1)) if gain.std() > 0 else 0.0
    value = float(whole[1] + weight * (whole[0] - whole[2]))
    left = people + weight * gain
    count = len(r)
    variance = (count - 1) / count * float(((left - left.mean()) ** 2).sum())
    low, high = t_interval(value, variance, units - 2, level)
    return Corrected(value, low, high, weight)


def _slopes(reference: Float64Array, images: Float64Array, hits: Float64Array) -> Float64Array:
    """The slope over images of all units, and without each of them, shape (1 + units,)."""
    sums = np.stack([images, images * reference, images * reference**2, hits, hits * reference])
    total = sums.sum(axis=1, keepdims=True)
    n, x, xx, y, xy = np.concatenate([total, total - sums], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes: Float64Array = (xy - x * y / n) / (xx - x**2 / n)
    return slopes
