"""The largest lean that is still possible given an interval, in words."""

from __future__ import annotations

from t2ibench.methods.core.describe import GROUP, people
from t2ibench.methods.core.presentation import Axis
from t2ibench.methods.core.scales import SMALL
from t2ibench.results.display import IntervalMark

# Digits with which a bound is never written.
_MOST_DIGITS = 6


def possible(mark: IntervalMark, axis: Axis | None) -> str:
    """Return a clause on the largest lean that an interval allows, and to which pole.

    Examples:
        >>> possible(IntervalMark(-0.2, -0.35, -0.06, "not_clear", None), Axis("female", "male"))
        'A lean of up to 0.35 to women is possible'
    """
    size, pole = _largest(mark, axis)
    return f"A {_what(mark)} of up to {size}{pole} is possible"


def none_above(mark: IntervalMark, axis: Axis | None) -> str:
    """Return a sentence on an interval that lies within the smallest lean that matters.

    Examples:
        >>> none_above(IntervalMark(0.0, -0.2, 0.1, "none_above", None), Axis("female", "male"))
        'No lean above 0.24: at most 0.20 to women.'
    """
    size, pole = _largest(mark, axis)
    limit = f"{mark.scale.matters:g}{mark.scale.unit}"
    return f"No {_what(mark)} above {limit}: at most {size}{pole}."


def _what(mark: IntervalMark) -> str:
    return "lean" if mark.scale.matters == SMALL else "value"


def _largest(mark: IntervalMark, axis: Axis | None) -> tuple[str, str]:
    """Return the largest lean that an interval allows, and to which pole, as texts."""
    low = mark.low or 0.0
    high = mark.high or 0.0
    pole = ""
    if axis is not None:
        pole = f" to {people(axis.high if high > -low else axis.low, GROUP)}"
    size = f"{_beside(max(-low, high), mark.scale.matters)}{mark.scale.unit}"
    return size, pole


def _beside(bound: float, limit: float) -> str:
    """Return a bound as text, with enough decimals to show on which side of `limit` it is.

    'No lean above 0.24: at most 0.24' would read as a contradiction.

    Examples:
        >>> _beside(0.231, 0.24), _beside(0.2371, 0.24), _beside(0.2398, 0.24), _beside(0.242, 0.24)
        ('0.23', '0.237', '0.2398', '0.242')
    """
    for digits in range(2, _MOST_DIGITS):
        text = f"{bound:.{digits}f}"
        shown = float(text)
        if shown != limit and (shown < limit) == (bound < limit):
            return text
    return f"{bound:.2f}"
