"""Numbers as text: how many digits people read, and of which form.

docs/reading.md states the rules ("How numbers are written"), and gives the reasons. Files for
programs have numbers as they are.
"""

from __future__ import annotations

# Decimals of a number on a scale that ends at 1, of its interval, and of all in its column.
SCALE_DECIMALS = 2
_DIGITS = 3  # significant ones, of a number without such a scale
_SMALLEST = 0.001  # what is less is shown as that
_WHOLE = 999.5  # from here on, a number has no decimals


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

    What programs read has the hyphen of `decimal`.

    Examples:
        >>> readable(-0.25, 2), readable(0.5, 2, sign=True), readable(-0.001, 2, sign=True)
        ('−0.25', '+0.50', '0.00')
    """
    return true_minus(decimal(value, digits, sign=sign))


def significant(value: float | None, *, sign: bool = False) -> str:
    """Return a number without a scale of its own, in three significant digits; None as a dash.

    Examples:
        >>> significant(0.012345), significant(-1.5, sign=True), significant(28312.0)
        ('0.0123', '−1.50', '28,312')
        >>> significant(2e-9), significant(-2e-9), significant(0.0), significant(None)
        ('<0.001', '>−0.001', '0.00', '–')
        >>> significant(999.6), significant(999.4), significant(-0.0)
        ('1,000', '999', '0.00')
    """
    if value is None:
        return "–"
    value = value or 0.0  # 0 has no sign
    if value != 0 and abs(value) < _SMALLEST:
        return f"<{_SMALLEST:g}" if value > 0 else f">−{_SMALLEST:g}"
    if abs(value) >= _WHOLE:
        return true_minus(f"{value:{'+' if sign else ''},.0f}")
    text = f"{value:{'+' if sign and value else ''}#.{_DIGITS}g}"
    return true_minus(text.rstrip("."))


def p_value(p: float | None) -> str:
    """Return a p-value for a cell of a table: three significant digits, or that it is tiny.

    Examples:
        >>> p_value(0.049613), p_value(1.0), p_value(2e-9), p_value(None)
        ('0.0496', '1', '<0.001', '–')
    """
    if p is None:
        return "–"
    return f"<{_SMALLEST:g}" if p < _SMALLEST else f"{p:.{_DIGITS}g}"


def p_in_words(p: float | None) -> str:
    """Return a p-value for a sentence; None becomes a dash.

    Examples:
        >>> p_in_words(0.01239), p_in_words(2e-9), p_in_words(1.0), p_in_words(None)
        ('p = 0.0124', 'p < 0.001', 'p = 1', '–')
    """
    if p is None:
        return "–"
    return f"p < {_SMALLEST:g}" if p < _SMALLEST else f"p = {p_value(p)}"


def true_minus(number: str) -> str:
    """Return a formatted number with a typographic minus in place of a hyphen.

    Examples:
        >>> true_minus("-1e-05"), true_minus("+0.5")
        ('−1e−05', '+0.5')
    """
    return number.replace("-", "−")
