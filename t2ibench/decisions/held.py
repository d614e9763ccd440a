"""Whether something holds that must hold beside a limit, and how its interval decides."""

from __future__ import annotations

from dataclasses import dataclass

from t2ibench.decimals import readable
from t2ibench.decisions.rules import Outcome


@dataclass(frozen=True, slots=True)
class Held:
    """Whether something holds that must hold beside a limit.

    Attributes:
        name: What: agreement, diversity or refusals.
        wanted: What must hold, in words.
        outcome: Whether it holds ('pass'), does not ('fail') or may ('undecided').
        shows: What was measured, or why nothing was, as a clause.
    """

    name: str
    wanted: str
    outcome: Outcome
    shows: str


def at_least(low: float | None, high: float | None, least: float) -> Outcome:
    """Return whether a change is known to be no less than `least`."""
    if low is None or high is None:
        return "undecided"
    if low >= least and high - low > 0:
        return "pass"
    return "fail" if high < least else "undecided"


def worst(outcomes: list[Outcome]) -> Outcome:
    """Return the worst of several outcomes."""
    if "fail" in outcomes:
        return "fail"
    return "undecided" if "undecided" in outcomes else "pass"


def signed(value: float) -> str:
    """Return a number with its sign and three decimals."""
    return readable(value, 3, sign=True)


def ends_in_words(low: float | None, high: float | None) -> str:
    """Return both ends of an interval in words."""
    if low is None or high is None:
        return "no interval"
    if not high - low > 0:
        return "no width: the images that are compared are the same"
    return f"{signed(low)} to {signed(high)}"
