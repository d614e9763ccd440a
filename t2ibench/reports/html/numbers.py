"""Numbers as the text and the places of a page."""

from __future__ import annotations


def signed(value: float | None) -> str:
    """A number with its sign, a true minus and two digits.

    Examples:
        >>> signed(0.469), signed(-0.25), signed(0.001), signed(None)
        ('+0.47', '−0.25', '0.00', '–')
    """
    if value is None:
        return "–"
    text = f"{value:+.2f}"
    return text[1:] if not float(text) else text.replace("-", "−")


def plain(value: float | None) -> str:
    """A size with two digits."""
    return "–" if value is None else f"{value:.2f}".replace("-", "−")


def plain_ends(low: float | None, high: float | None) -> str:
    """Both ends of an interval, without their sign where they are positive."""
    return "–" if low is None or high is None else f"{plain(low)} to {plain(high)}"


def percent(value: float | None, digits: int = 0, sign: bool = False) -> str:
    """A share in per cent, with a true minus.

    Examples:
        >>> percent(0.256), percent(-0.0311, 1), percent(0.02, 1, sign=True), percent(None)
        ('26 %', '−3.1 %', '+2.0 %', '–')
        >>> percent(-0.001), percent(0.001, sign=True)
        ('0 %', '0 %')
    """
    if value is None:
        return "–"
    text = f"{100 * value:{'+' if sign else ''}.{digits}f}"
    text = text.lstrip("+-") if not float(text) else text.replace("-", "−")
    return f"{text} %"


def between(low: float | None, high: float | None, digits: int = 0, sign: bool = False) -> str:
    """Both ends of an interval of shares."""
    if low is None or high is None:
        return "–"
    ends = [percent(end, digits, sign).removesuffix(" %") for end in (low, high)]
    return f"{ends[0]} to {ends[1]} %"


def at(value: float, from_zero: bool = False) -> str:
    """A place on an axis from -1 to 1, or from 0 to 1, cut at its ends."""
    if from_zero:
        value = 2 * value - 1
    return f"{min(max(value, -1.0), 1.0):.3f}"
