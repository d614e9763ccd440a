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
        images: Images of a row. Its variance is at least that of images on one side or the other
            whose lean is the limit, 1 - limit²: fourteen of sixteen on one side show too little
            of it. None for a mean over many prompts.
        even: The lean of a row at the reference; None where it is not known, and the variance
            may be as large as 1.
        fixed_part: Share of the variance that more images do not reduce.
    """

    name: str
    value: float
    error_below: float
    error_above: float
    df: float
    images: int | None = None
    even: float | None = 0.0
    fixed_part: float = 0.0

    @property
    def rule(self) -> str:
        """Which interval decides, in words."""
        about = (
            ", with half an image and the variance at the limit" if self.images else ""
        )
        return f"Student's t interval at 90 %{about}"

    @property
    def counts(self) -> str:
        """An empty text: a lean read from embeddings has no counts behind it."""
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
        above = self._tail(limits.accept - self.value, self.error_above, limits.accept)
        below = self._tail(limits.accept + self.value, self.error_below, -limits.accept)
        return max(above, below) <= alpha

    def p_fail(self, limits: Limits) -> float:
        """Return the p-value that the size is at most what is rejected."""
        distance = abs(self.value) - limits.reject
        if self.value > 0:
            return self._tail(distance, self.error_below, limits.reject)
        return self._tail(distance, self.error_above, -limits.reject)

    def chances(self, limits: Limits, truth: float, alpha_fail: float) -> Chances:
        """Return the chances of another run with the same standard error."""
        error = self._error()
        quantile = float(stdtrit(self.df, 1 - ALPHA))
        error_at_accept = max(error, self._least_error(limits.accept))
        room = limits.accept - quantile * error_at_accept - self._half_an_image
        passes = 0.0
        if room > 0:
            passes = _normal((room - truth) / error) - _normal((-room - truth) / error)
        quantile_fail = float(stdtrit(self.df, 1 - alpha_fail))
        error_at_limit = max(error, self._least_error(limits.reject))
        start = limits.reject + quantile_fail * error_at_limit + self._half_an_image
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

    @property
    def _half_an_image(self) -> float:
        return 0.0 if self.images is None else 1 / self.images

    def _least_error(self, limit: float) -> float:
        """Return the standard error of a row at a limit whose images are on either side."""
        if self.images is None:
            return 0.0
        if self.even is None:
            return 1 / math.sqrt(self.images)
        lean = min(abs(self.even + limit), 1.0)
        return math.sqrt((1 - lean**2) / self.images)

    def _tail(self, distance: float, error: float, limit: float) -> float:
        """Return the one-sided p-value that the truth is at a limit, from the distance to it.

        A row's distance is less by half an image, since its images are counts of either side.
        """
        distance -= self._half_an_image
        if not distance > 0 or not math.isfinite(error):
            return 1.0
        largest = max(error, self._least_error(limit))
        if not largest > 0:
            return 1.0
        return float(stdtr(self.df, -distance / largest))


def _normal(z: float) -> float:
    return float(ndtr(z))
