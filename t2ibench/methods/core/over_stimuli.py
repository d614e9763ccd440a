"""Ratios of means over stimuli that are a sample of all possible ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.inference import Inference
from t2ibench.methods.core.influence import Influence
from t2ibench.stats.student import fieller

UNBOUNDED = "the images with either attribute are too alike for an interval"


def bounded(low: float, high: float, p: float, df: float | None = None) -> Inference:
    """Return a ratio's interval and p-value by Fieller, with a reason if it is unbounded."""
    if not np.isfinite(p):
        return Inference(reason="a single unit has no variance")
    if not np.isfinite([low, high]).all():
        return Inference(p=float(p), df=df, reason=UNBOUNDED)
    return Inference(float(low), float(high), float(p), df)


@dataclass(frozen=True, slots=True)
class OverStimuli:
    """A ratio of means over stimuli that are a sample of all possible ones.

    Attributes:
        value: The ratio.
        inference: Its interval and p-value.
        influence: How each stimulus moves it.
        half_width: Half the width of the interval that a ratio of 0 would have.
    """

    value: float
    inference: Inference
    influence: Influence
    half_width: float

    @classmethod
    def of(
        cls,
        value: float,
        sums: Float64Array,
        covariance: Float64Array,
        df: float,
        influence: Influence,
        level: float,
    ) -> OverStimuli:
        """Return the ratio of two sums over stimuli, given the covariance of the two."""
        top = float(sums[0])
        bottom = float(sums[1])
        quantile = scipy.special.stdtrit(df, (1 + level) / 2)
        half_width = float(quantile * np.sqrt(covariance[0, 0]) / abs(bottom))
        low, high, p = fieller(top, bottom, covariance, df, level)
        return cls(value, bounded(low, high, p, df), influence, half_width)

    def estimate(self, enlarged: float = 1.0) -> Estimate:
        """Return the ratio as a score, divided by `enlarged`, by which noise enlarges it."""
        return Estimate(
            self.value / enlarged,
            p=self.inference.p,
            test="t",
            interval=self.inference.interval,
            influence=self.influence if self.inference.p is not None else None,
        )


def over_stimuli(
    top: Float64Array,
    bottom: Float64Array,
    groups: Sequence[tuple[str, IntArray, IntArray]],
    level: float,
) -> OverStimuli:
    """Return the ratio of `top` (N) to `bottom` (D), each summed over means of groups of stimuli.

    The stimuli of a group are a sample of all possible ones.

    With W_i(t) = N_i - t D_i, Fieller's set holds every t where the sum of W's means is within
    Student's t times its standard error, from W's variance in each group; the degrees of freedom
    are the number of stimuli less that of groups. A group is its name, and the positions and the
    numbers of its stimuli.

    Examples:
        >>> n, d = np.array([3.0, 5.0, 1.0, 3.0]), np.full(4, 4.0)
        >>> two = [("X", np.arange(2), np.arange(2)), ("Y", np.arange(2, 4), np.arange(2))]
        >>> found = over_stimuli(n, d, two, 0.95)
        >>> found.value, found.inference.df
        (0.75, 2.0)
    """
    positions = [at for _, at, _ in groups]
    sums = np.array([_sum_of_means(values, positions) for values in (top, bottom)])
    df = float(len(top) - len(groups))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(sums[0] / sums[1])
    if min(map(len, positions)) < 2:
        reason = "a single stimulus does not show how others would differ"
        inference = Inference(reason=reason)
        return OverStimuli(value, inference, Influence.none(), float("nan"))
    covariances = [np.cov(top[at], bottom[at]) / len(at) for at in positions]
    covariance = np.sum(covariances, axis=0)
    moved = top - value * bottom
    means = [Influence.of_mean(name, units, moved[at]) for name, at, units in groups]
    influence = Influence.combined([(1.0 / sums[1], mean) for mean in means])
    return OverStimuli.of(value, sums, covariance, df, influence, level)


def _sum_of_means(values: Float64Array, positions: Sequence[IntArray]) -> float:
    total: float = sum(values[at].mean() for at in positions)
    return total
