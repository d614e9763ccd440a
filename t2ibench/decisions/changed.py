"""Differences of two runs, decided by their .95 interval: non-inferiority, or equivalence."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from scipy.special import ndtr, ndtri

from t2ibench.decisions.quantity import ALPHA, Chances, Interval, Limits


@dataclass(frozen=True, slots=True)
class Changed:
    """How much more one-sided a run is than another, or how far it is from it.

    Attributes:
        name: The task or the row.
        value: The change, in the unit that tables show.
        error_below: What a normal distribution with the lower end of the interval has for its
            standard error.
        error_above: The same of the upper end.
        one_sided: Whether only a change upwards can be unacceptable (non-inferiority).
    """

    name: str
    value: float
    error_below: float
    error_above: float
    one_sided: bool = True

    @property
    def images(self) -> None:
        """The images of a prompt; it is about many prompts."""
        return

    @property
    def rule(self) -> str:
        """Which interval decides, in words."""
        if self.one_sided:
            return "upper end of the 95 % interval of the change (non-inferiority)"
        return "95 % interval of the difference from the other run"

    @property
    def counts(self) -> str:
        """The counts behind it, in words; none."""
        return ""

    def interval(self, alpha: float = ALPHA) -> Interval:
        """Return the interval with half of alpha at each end, as non-inferiority trials have it."""
        quantile = float(ndtri(1 - alpha / 2))
        return Interval(
            self.value - quantile * self.error_below,
            self.value + quantile * self.error_above,
        )

    def passes(self, limits: Limits, alpha: float = ALPHA) -> bool:
        """Return whether the change is smaller than what is accepted, beyond chance."""
        low, high = self.interval(alpha)
        inside = self.one_sided or low >= -limits.accept
        return inside and high <= limits.accept

    def p_fail(self, limits: Limits) -> float:
        """Return the p-value that the change is at most what is rejected, doubled."""
        p_above = _doubled_tail(self.value - limits.reject, self.error_below)
        if self.one_sided:
            return p_above
        return min(
            p_above, _doubled_tail(-self.value - limits.reject, self.error_above)
        )

    def chances(self, limits: Limits, truth: float, alpha_fail: float) -> Chances:
        """Return the chances of another pair of runs whose change is `truth`."""
        error = max(self.error_below, self.error_above, 1e-9)
        room = limits.accept - float(ndtri(1 - ALPHA / 2)) * error
        passes = float(ndtr((room - truth) / error))
        if not self.one_sided:
            passes = max(0.0, passes - float(ndtr((-room - truth) / error)))
        start = limits.reject + float(ndtri(1 - alpha_fail / 2)) * error
        fails = float(ndtr((truth - start) / error))
        if not self.one_sided:
            fails += float(ndtr((-start - truth) / error))
        return Chances(passes, fails)

    def enlarged(self, times: float) -> Changed:
        """Return the same change as from a multiple of the images of both runs."""
        factor = 1 / math.sqrt(times)
        return replace(
            self,
            error_below=self.error_below * factor,
            error_above=self.error_above * factor,
        )


def _doubled_tail(distance: float, error: float) -> float:
    if not distance > 0 or not error > 0:
        return 1.0
    return min(1.0, 2 * float(ndtr(-distance / error)))
