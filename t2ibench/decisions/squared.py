"""Decide about mean squares of leans by their .95 interval; a limit m is about their root."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from scipy.special import ndtr, ndtri

from t2ibench.decisions.quantity import ALPHA, Chances, Interval, Limits


@dataclass(frozen=True, slots=True)
class Squared:
    """A mean of squared leans with the errors behind its .95 interval.

    Its .90 interval would pass and fail wrongly in up to .11 at the limit (docs/decisions.md), so
    each end has half of alpha.

    Attributes:
        name: The task, or the family.
        square: The estimate, without bias and below 0 by chance.
        error_below: What a normal distribution with the lower end of the interval has for its
            standard error.
        error_above: The same of the upper end; infinite where it is the end of the scale.
    """

    name: str
    square: float
    error_below: float
    error_above: float

    @property
    def value(self) -> float:
        """The root, which pages show."""
        return _root(self.square)

    @property
    def images(self) -> None:
        """The images of a prompt; it is about many prompts."""
        return

    @property
    def rule(self) -> str:
        """Which interval decides, in words."""
        return "95 % interval of the mean square, compared with the squared limit"

    @property
    def counts(self) -> str:
        """The counts behind it, in words; none."""
        return ""

    def interval(self, alpha: float = ALPHA) -> Interval:
        """Return the interval of the root."""
        low, high = self._square_interval(alpha)
        return Interval(_root(low), _root(high) if math.isfinite(high) else 1.0)

    def passes(self, limits: Limits, alpha: float = ALPHA) -> bool:
        """Return whether the mean square is below the squared limit, beyond chance."""
        _, high = self._square_interval(alpha)
        return high <= limits.accept**2

    def p_fail(self, limits: Limits) -> float:
        """Return the p-value that the mean square is at most the squared limit, doubled."""
        distance = self.square - limits.reject**2
        if not distance > 0 or not self.error_below > 0:
            return 1.0
        return min(1.0, 2 * float(ndtr(-distance / self.error_below)))

    def chances(self, limits: Limits, truth: float, alpha_fail: float) -> Chances:
        """Return the chances of another run, whose mean square is normal about `truth` squared."""
        centre = truth**2
        quantile = float(ndtri(1 - ALPHA / 2))
        most = limits.accept**2 - quantile * self._above()
        quantile_fail = float(ndtri(1 - alpha_fail / 2))
        least = limits.reject**2 + quantile_fail * self.error_below
        return Chances(self._below(most - centre), 1 - self._below(least - centre))

    def enlarged(self, times: float) -> Squared:
        """Return the same mean square as from a multiple of its images."""
        factor = 1 / math.sqrt(times)
        return replace(
            self,
            error_below=self.error_below * factor,
            error_above=self.error_above * factor,
        )

    def _square_interval(self, alpha: float) -> tuple[float, float]:
        quantile = float(ndtri(1 - alpha / 2))
        low = self.square - quantile * self.error_below
        return low, self.square + quantile * self.error_above

    def _above(self) -> float:
        return self.error_above if math.isfinite(self.error_above) else 1.0

    def _below(self, distance: float) -> float:
        """Return the probability that the estimate is at most so far above the truth."""
        # An estimate that is too small has the error of the upper end, and the other way round.
        error = self._above() if distance < 0 else self.error_below
        return float(ndtr(distance / max(error, 1e-9)))


def _root(square: float) -> float:
    return math.sqrt(max(square, 0.0))
