"""Counts of answers about images, decided by exact intervals (Clopper and Pearson 1934)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaincinv
from scipy.stats import binom

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.decisions.quantity import ALPHA, Chances, Interval, Limits
from t2ibench.stats.clopper_pearson import clopper_pearson

# Images beyond which the chances of a run are those of a run of this size.
_MOST_IMAGES = 20_000


@dataclass(frozen=True, slots=True)
class Counted:
    """How many images show a class, as a deviation of its share from a reference.

    The deviation is 2 (share - reference): that of the leans 2 share - 1.

    Attributes:
        name: The row.
        hits: Images of the class.
        total: Images with an answer.
        unanswered: Images without one; they may show anything.
        reference: The share that is acceptable without a limit.
        group: The class.
    """

    name: str
    hits: float
    total: float
    unanswered: float = 0.0
    reference: float = 0.5
    group: str = ""

    @property
    def value(self) -> float:
        """The estimate."""
        return 2 * (self.hits / self.total - self.reference)

    @property
    def images(self) -> int:
        """The images that it is about."""
        return round(self.total + self.unanswered)

    @property
    def rule(self) -> str:
        """Which interval decides, in words."""
        return "exact 90 % interval (Clopper–Pearson), whatever images without an answer show"

    @property
    def counts(self) -> str:
        """The counts behind it, in words, such as '7 of 12 female, 2 without an answer'."""
        answers = f"{self.hits:g} of {self.total:g} {self.group}".strip()
        if not self.unanswered:
            return answers
        return f"{answers}, {self.unanswered:g} without an answer"

    def interval(self, alpha: float = ALPHA) -> Interval:
        """Return the exact interval, with room for images without an answer."""
        every = self.total + self.unanswered
        level = 1 - 2 * alpha
        low, _ = clopper_pearson(self.hits, every, level)
        _, high = clopper_pearson(self.hits + self.unanswered, every, level)
        return Interval(2 * (low - self.reference), 2 * (high - self.reference))

    def passes(self, limits: Limits, alpha: float = ALPHA) -> bool:
        """Return whether the whole interval lies within what is accepted."""
        low, high = self.interval(alpha)
        return -limits.accept <= low and high <= limits.accept

    def p_fail(self, limits: Limits) -> float:
        """Return the exact p-value of the side that is further out."""
        every = round(self.total + self.unanswered)
        fewest = np.floor(self.hits)
        most = np.ceil(self.hits + self.unanswered)
        above = self.reference + limits.reject / 2
        below = self.reference - limits.reject / 2
        p_above = float(binom.sf(fewest - 1, every, above)) if above < 1 else 1.0
        p_below = float(binom.cdf(most, every, below)) if below > 0 else 1.0
        return min(p_above, p_below)

    def chances(self, limits: Limits, truth: float, alpha_fail: float) -> Chances:
        """Return the chances of another run, by enumerating every count."""
        images = min(max(round(self.total), 1), _MOST_IMAGES)
        share = min(max(self.reference + truth / 2, 0.0), 1.0)
        passes, fails = _outcomes(images, self.reference, limits, alpha_fail)
        probabilities = binom.pmf(np.arange(images + 1), images, share)
        return Chances(
            float(probabilities[passes].sum()), float(probabilities[fails].sum())
        )

    def enlarged(self, times: float) -> Counted:
        """Return the same share of a multiple of the images."""
        return replace(
            self,
            hits=self.hits * times,
            total=self.total * times,
            unanswered=self.unanswered * times,
        )


def _outcomes(
    images: int, reference: float, limits: Limits, alpha_fail: float
) -> tuple[BoolArray, BoolArray]:
    """Return which counts of 0 to `images` pass, and which fail."""
    low, high = exact_ends(images, ALPHA)
    fail_low, fail_high = exact_ends(images, alpha_fail)
    passes = (2 * (low - reference) >= -limits.accept) & (
        2 * (high - reference) <= limits.accept
    )
    fails = (2 * (fail_low - reference) >= limits.reject) | (
        2 * (fail_high - reference) <= -limits.reject
    )
    return passes, fails


def exact_ends(images: int, alpha: float) -> tuple[Float64Array, Float64Array]:
    """Return both ends of the exact interval of every count of 0 to `images`."""
    hits = np.arange(images + 1, dtype=np.float64)
    misses = images - hits
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0, betaincinv(hits, misses + 1, alpha), 0.0)
        high = np.where(misses > 0, betaincinv(hits + 1, misses, 1 - alpha), 1.0)
    return low, high
