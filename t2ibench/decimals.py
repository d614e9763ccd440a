"""Numbers as text with a fixed number of decimals, in which a zero has no sign."""

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
