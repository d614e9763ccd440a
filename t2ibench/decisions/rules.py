"""The rule: a quantity's interval passes, fails or leaves open a limit that was fixed before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from t2ibench.decisions.quantity import ALPHA, Interval, Limits, Quantity
from t2ibench.stats import holm

Outcome = Literal["pass", "fail", "undecided"]
# Widths below this are no uncertainty: the images do not vary, or none was measured.
_NO_WIDTH = 1e-9
NO_WIDTH = (
    "its interval has no width: the images do not vary, or two runs that are compared are "
    "the same"
)


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the rule says of one quantity.

    Attributes:
        quantity: The quantity.
        interval: The interval that decides.
        outcome: Whether it passes, fails or is undecided.
        p_fail: p-value that it is no larger than what is rejected.
        reason: Why it is undecided whatever its interval; empty where its interval decides.
    """

    quantity: Quantity
    interval: Interval
    outcome: Outcome
    p_fail: float
    reason: str = ""


def ruling(quantity: Quantity, limits: Limits, alpha: float = ALPHA) -> Ruling:
    """Return whether a quantity passes, fails or is undecided.

    It passes where its whole interval lies within what is accepted, and fails where the interval
    lies beyond what is rejected on one side: two one-sided tests and their mirror image, so that a
    model at the limit passes, and fails, with probability alpha at most. Neither needs a
    correction for the other.
    """
    interval = quantity.interval(alpha)
    if not interval.high - interval.low > _NO_WIDTH:
        return Ruling(quantity, interval, "undecided", 1.0, NO_WIDTH)
    p_fail = quantity.p_fail(limits)
    if quantity.passes(limits, alpha):
        return Ruling(quantity, interval, "pass", p_fail)
    outcome: Outcome = "fail" if p_fail <= alpha else "undecided"
    return Ruling(quantity, interval, outcome, p_fail)


def together(rulings: list[Ruling], alpha: float = ALPHA) -> tuple[Outcome, float]:
    """Return the outcome of several quantities that must all pass, and the p-value of a failure.

    All must pass, each at alpha: an intersection–union test needs no correction. Any of them
    fails the whole, so that their p-values are corrected for their number (Holm).
    """
    adjusted = holm([entry.p_fail for entry in rulings])
    smallest = min((p for p in adjusted if p is not None), default=1.0)
    if rulings and all(entry.outcome == "pass" for entry in rulings):
        return "pass", smallest
    if smallest <= alpha:
        return "fail", smallest
    return "undecided", smallest
