"""Numbers and positions on an axis as texts of a page."""

from __future__ import annotations

from t2ibench.decimals import decimal, readable


def signed(value: float | None) -> str:
    """Return a number as text with two decimals, its sign, and a true minus.

    Examples:
        >>> signed(0.469), signed(-0.25), signed(0.001), signed(None)
        ('+0.47', '−0.25', '0.00', '–')
    """
    return "–" if value is None else readable(value, 2, sign=True)


def plain(value: float | None) -> str:
    """Return a number as text with two decimals, and no plus sign."""
    return "–" if value is None else readable(value, 2)


def percent(value: float | None) -> str:
    """Return a share as text in whole per cent, with a true minus.

    Examples:
        >>> percent(0.256), percent(-0.031), percent(-0.001), percent(None)
        ('26 %', '−3 %', '0 %', '–')
    """
    if value is None:
        return "–"
    return f"{readable(100 * value, 0)} %"


def at(value: float, from_zero: bool = False) -> str:
    """Return a value as −1 to 1 for a style sheet; `from_zero` if the axis starts at 0."""
    if from_zero:
        value = 2 * value - 1
    return decimal(min(max(value, -1.0), 1.0), 3)
