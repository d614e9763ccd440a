"""Numbers as the text and the places of a page."""

from __future__ import annotations

from t2ibench.reports import cells


def signed(value: float | None) -> str:
    """A number with its sign, a true minus and two digits.

    Examples:
        >>> signed(0.469), signed(-0.25), signed(0.001), signed(None)
        ('+0.47', '−0.25', '0.00', '–')
    """
    return cells.signed(value, 2).replace("-", "−")


def plain(value: float | None) -> str:
    """A size with two digits."""
    return cells.number(value, 2).replace("-", "−")


def percent(value: float | None) -> str:
    """A share in per cent, with a true minus.

    Examples:
        >>> percent(0.256), percent(-0.031), percent(-0.001), percent(None)
        ('26 %', '−3 %', '0 %', '–')
    """
    if value is None:
        return "–"
    text = f"{100 * value:.0f} %"
    return text.lstrip("-") if text == "-0 %" else text.replace("-", "−")


def at(value: float, from_zero: bool = False) -> str:
    """A place on an axis from -1 to 1, or from 0 to 1, cut at its ends."""
    if from_zero:
        value = 2 * value - 1
    return f"{min(max(value, -1.0), 1.0):.3f}"
