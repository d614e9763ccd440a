"""Slopes of generated shares on reference shares, such as occupations' shares of women."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from t2ibench.arrays import Float64Array, as_floats
from t2ibench.stats.student import t_interval, t_test

# Reference shares of 0 and 1 have no logit.
CLIP = 0.005
_ITERATIONS = 100
# The largest change of a coefficient in one iteration.
_STEP = 2.0
_CONVERGED = 1e-10


@dataclass(frozen=True, slots=True)
class Slope:
    """The slope of a line that is fitted to independent units, such as stimuli.

    Attributes:
        value: The slope.
        intercept: The intercept.
        influence: Of each unit on the slope; the squares sum to its HC3 variance, shape (units,).
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
        """Return Student's t interval of the slope."""
        return t_interval(self.value, self.variance, self.df, level)

    def p(self, expected: float = 0.0) -> float:
        """Return the two-sided p-value that the slope is `expected`; nan if it has no variance.

        At a slope of 0 shares do not follow the reference, at 1 they mirror it.
        """
        if not self.variance > 0:
            return float("nan")
        return t_test(self.value - expected, self.variance, self.df)


def logit_slope(
    hits: npt.ArrayLike, totals: npt.ArrayLike, reference: npt.ArrayLike
) -> Slope:
    """Return the marginal slope of generated shares on reference shares, on the logit scale.

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

    Source: Firth 1993, "Bias reduction of maximum likelihood estimates"; HC3: MacKinnon & White
        1985.

    Example:
        >>> reference = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
        >>> round(logit_slope(1000 * reference, np.full(5, 1000), reference).value, 2)
        1.0
    """
    x = as_floats(hits)
    n = as_floats(totals)
    shares = np.clip(as_floats(reference), CLIP, 1 - CLIP)
    design = _design(scipy.special.logit(shares))
    beta = np.zeros(2)
    for _ in range(_ITERATIONS):
        p, weights, inverse = _fit(design, n, beta)
        leverage = weights * _hat_diagonal(design, inverse)
        # Firth's penalty adds half of a success and half of a failure, shared by leverage.
        penalty = leverage * (0.5 - p)
        residuals = x - n * p + penalty
        score = design.T @ residuals
        step = inverse @ score
        beta += np.clip(step, -_STEP, _STEP)
        if np.abs(step).max() < _CONVERGED:
            break
    p, weights, inverse = _fit(design, n, beta)
    leverage = weights * _hat_diagonal(design, inverse)
    return _slope(beta, design, inverse, residuals=x - n * p, leverage=leverage)


def share_slope(
    hits: npt.ArrayLike, totals: npt.ArrayLike, reference: npt.ArrayLike
) -> Slope:
    """Return the least-squares slope of generated shares on reference shares.

    Unbiased whatever the shape of the relation, and linear in the shares: points of share for each
    point of the reference.

    Args:
        hits: Answers of the class, shape (units,).
        totals: Answers, at least 1 each, shape (units,).
        reference: Reference shares of the class, shape (units,).

    Returns:
        The slope with its HC3 variance.

    Source: HC3: MacKinnon & White 1985.

    Example:
        >>> round(share_slope([1, 2, 3, 4], [10] * 4, [0.2, 0.4, 0.6, 0.8]).value, 3)
        0.5
    """
    x = as_floats(hits)
    n = as_floats(totals)
    shares = x / n
    design = _design(as_floats(reference))
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ shares
    residuals = shares - design @ beta
    leverage = _hat_diagonal(design, inverse)
    return _slope(beta, design, inverse, residuals=residuals, leverage=leverage)


def _design(values: Float64Array) -> Float64Array:
    if len(values) < 2 or not np.ptp(values) > 0:
        raise ValueError("the reference shares are all equal")
    return np.column_stack([np.ones(len(values)), values])


def _fit(
    design: Float64Array, n: Float64Array, beta: Float64Array
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return fitted shares, the weights of the stimuli, and the inverse information matrix."""
    logits = np.clip(design @ beta, -30, 30)
    p = scipy.special.expit(logits)
    weights = n * p * (1 - p) + 1e-12
    weighted_design = weights[:, None] * design
    information = design.T @ weighted_design
    inverse = np.linalg.inv(information)
    return p, weights, inverse


def _hat_diagonal(design: Float64Array, inverse: Float64Array) -> Float64Array:
    diagonal: Float64Array = np.einsum("oi,ij,oj->o", design, inverse, design)
    return diagonal


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
        weights_of_slope = design @ inverse[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            influence = weights_of_slope * residuals / (1 - leverage)
    return Slope(
        value=float(beta[1]),
        intercept=float(beta[0]),
        influence=influence,
        df=float(max(units - 2, 0)),
    )
