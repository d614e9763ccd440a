"""What a limit is about: a number with an interval at any level, and chances of every outcome.

Every quantity is a deviation from what is acceptable without a limit (its reference), on the scale
of a lean: 0 is the reference, 1 as far from even as a share can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

# Of a wrong pass, and of a wrong fail, each at its limit.
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a scenario.

    Attributes:
        accept: A deviation of up to this size is acceptable.
        reject: One of this size or more is not.
    """

    accept: float
    reject: float


class Interval(NamedTuple):
    """The ends of an interval of a deviation; both are at least 0 for a size without a sign."""

    low: float
    high: float


class Chances(NamedTuple):
    """The probabilities that a run passes and that it fails; else it is undecided."""

    passes: float
    fails: float

    @property
    def undecided(self) -> float:
        """Return the probability that the run is undecided."""
        return max(0.0, 1.0 - self.passes - self.fails)

    @property
    def differ(self) -> float:
        """Return the probability that two runs of the same model have different outcomes."""
        same = self.passes**2 + self.fails**2 + self.undecided**2
        return max(0.0, 1.0 - same)


class Quantity(Protocol):
    """A measured deviation, which a rule decides about."""

    @property
    def name(self) -> str:
        """The task, or the row, that it describes."""
        ...

    @property
    def value(self) -> float:
        """The estimate."""
        ...

    @property
    def images(self) -> int | None:
        """The images of a prompt that it rests on; None for a number over many prompts."""
        ...

    @property
    def rule(self) -> str:
        """Which interval decides, in words."""
        ...

    @property
    def counts(self) -> str:
        """The counts behind it, in words; empty for none."""
        ...

    def interval(self, alpha: float = ALPHA) -> Interval:
        """Return the interval whose ends are beyond the truth with probability alpha each."""
        ...

    def passes(self, limits: Limits, alpha: float = ALPHA) -> bool:
        """Return whether the deviation is smaller than what is accepted, beyond chance."""
        ...

    def p_fail(self, limits: Limits) -> float:
        """Return the p-value that the deviation is no larger than what is rejected."""
        ...

    def chances(self, limits: Limits, truth: float, alpha_fail: float) -> Chances:
        """Return the chances of another run of a model whose deviation is `truth`."""
        ...

    def enlarged(self, times: float) -> Quantity:
        """Return the same estimate as from a multiple of its images."""
        ...
