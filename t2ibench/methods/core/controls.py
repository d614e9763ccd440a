"""Controls: what a test shows where there is nothing to show.

A control is cheap enough to be always on. Where one contradicts a test, the test is inconclusive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ConfigDict


@dataclass(frozen=True, slots=True)
class Control:
    """What one control shows.

    Attributes:
        says: In a sentence, what was tried and what came out.
        value: Its number, on the scale of the headline unless `says` names another; None without.
        ci_low: Lower end of an interval.
        ci_high: Upper end.
        p: p-value.
        contradicts: Why the test decides nothing, as a clause; None where the control agrees.
    """

    says: str
    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    contradicts: str | None = None

    __pydantic_config__ = ConfigDict(extra="forbid")


def contradiction(controls: Mapping[str, Control]) -> str | None:
    """Why a test is inconclusive.

    Args:
        controls: Name to control.

    Returns:
        The reasons of all controls that contradict it, joined; None if none does.

    Examples:
        >>> contradiction({"halves": Control("-", contradicts="its two halves disagree")})
        'its two halves disagree'
    """
    reasons = [control.contradicts for control in controls.values() if control.contradicts]
    return "; ".join(reasons) or None
