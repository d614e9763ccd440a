"""Signed leans, decided by Student's t interval at .90 (two one-sided tests, and their mirror)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from scipy.special import ndtr, stdtr, stdtrit

from t2ibench.decisions.quantity import ALPHA, Chances, Interval, Limits


@dataclass(frozen=True, slots=True)
class Leaning:
    """A lean with its standard error, as a deviation from a reference.

    Attributes:
        name: The task or the row.
        value: The deviation.
        error_below: Standard error behind the lower end of its interval; infinite where the end
            is that of the scale.
        error_above: The same of the upper end.
        df: Degrees of freedom of Student's t.
        images: Images of a row, whose variance is also taken about the limit: eight images that
            happen to look alike show too little of it. None for a mean over many prompts.
        fixed_part: Share of the variance that more images do not reduce.
    """

    name: str
    value: float
    error_below: float
    error_above: float
    df: float
    images: int | None = None
    fixed_part: float = 0.0

    @property
    def rule(self) -> str:
        """Which interval decides, in words."""
        about = ", its variance at least that about the limit" if self.images else ""
        return f"Student's t interval at .90{about}"

    @property
    def counts(self) -> str:
        """The counts behind it, in words; none."""
        return ""

    def interval(self, alpha: float = ALPHA) -> Interval:
        """Return the interval whose ends are beyond the truth with probability alpha each."""
        quantile = float(stdtrit(self.df, 1 - alpha))
        low = self.value - quantile * self.error_below
        high = self.value + quantile * self.error_above
        return Interval(
            low if math.isfinite(low) else min(-1.0, self.value),
            high if math.isfinite(high) else max(1.0, self.value),
        )

    def passes(self, limits: Limits, alpha: float = ALPHA) -> bool:
        """Return whether both one-sided tests reject that the deviation is at the limit."""
        above = self._p_below(limits.accept, self.value, self.error_above)
        below = self._p_below(limits.accept, -self.value, self.error_below)
        return max(above, below) <= alpha

    def p_fail(self, limits: Limits) -> float:
        """Return the p-value that the size is at most what is rejected."""
        inner = self.error_below if self.value > 0 else self.error_above
        return self._p_below(-limits.reject, -abs(self.value), inner)

    def chances(self, limits: Limits, truth: float, alpha_fail: float) -> Chances:
        """Return the chances of another run with the same standard error."""
        error = self._error()
        quantile = float(stdtrit(self.df, 1 - ALPHA))
        room = limits.accept - quantile * error
        passes = 0.0
        if room > 0:
            passes = _normal((room - truth) / error) - _normal((-room - truth) / error)
        quantile_fail = float(stdtrit(self.df, 1 - alpha_fail))
        start = limits.reject + quantile_fail * error
        fails = _normal((truth - start) / error) + _normal((-start - truth) / error)
        return Chances(passes, fails)

    def enlarged(self, times: float) -> Leaning:
        """Return the same lean as from a multiple of its images."""
        factor = math.sqrt(self.fixed_part + (1 - self.fixed_part) / times)
        images = self.images
        df = self.df
        if images is not None:
            images = max(2, round(images * times))
            df = max(df, images - 1)
        return replace(
            self,
            error_below=self.error_below * factor,
            error_above=self.error_above * factor,
            df=df,
            images=images,
        )

    def _error(self) -> float:
        errors = (self.error_below, self.error_above)
        finite = [error for error in errors if math.isfinite(error)]
        return max(max(finite, default=1.0), 1e-9)

    def _p_below(self, limit: float, value: float, error: float) -> float:
        """Return the one-sided p-value that the truth is at least a limit, from a value below."""
        distance = limit - value
        if not distance > 0 or not math.isfinite(error):
            return 1.0
        variance = error**2
        if self.images is not None:
            count = self.images
            about_limit = variance * (count - 1) / count + distance**2 / count
            variance = max(variance, about_limit)
        return float(stdtr(self.df, -distance / math.sqrt(variance)))


def _normal(z: float) -> float:
    return float(ndtr(z))
