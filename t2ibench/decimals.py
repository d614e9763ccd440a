"""Numbers as text: a zero has no sign, and what people read has a typographic minus."""

from __future__ import annotations


def decimal(value: float, digits: int, *, sign: bool = False) -> str:
    """Return a number with a fixed number of decimals; what rounds to 0 has no sign.

    Every text that people read and that may be of a negative number is made by this function,
    since -0.001 formatted with two decimals is '-0.00' otherwise.

    Args:
        value: The number.
        digits: How many decimals the text has.
        sign: Whether a positive number has a plus.

    Examples:
        >>> decimal(-0.25, 2), decimal(-0.001, 2), decimal(-0.0, 2)
        ('-0.25', '0.00', '0.00')
        >>> decimal(0.5, 3, sign=True), decimal(0.0001, 3, sign=True), decimal(-0.4, 0, sign=True)
        ('+0.500', '0.000', '0')
    """
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    is_zero = float(text) == 0
    return text.lstrip("+-") if is_zero else text


def readable(value: float, digits: int, *, sign: bool = False) -> str:
    """Return `decimal` with a typographic minus, for sentences, pages and figures.

    Tables that programs read, too, have the hyphen of `decimal`.

    Examples:
        >>> readable(-0.25, 2), readable(0.5, 2, sign=True), readable(-0.001, 2, sign=True)
        ('−0.25', '+0.50', '0.00')
    """
    return true_minus(decimal(value, digits, sign=sign))


def true_minus(number: str) -> str:
    """Return a formatted number with a typographic minus in place of a hyphen.

    Examples:
        >>> true_minus("-1e-05"), true_minus("+0.5")
        ('−1e−05', '+0.5')
    """
    return number.replace("-", "−")
