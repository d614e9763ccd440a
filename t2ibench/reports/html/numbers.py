"""Numbers as the text and the places of a page."""

from __future__ import annotations


def signed(value: float | None) -> str:
    """A number with its sign, a true minus and two digits.

    Args:
        value: The number.

    Returns:
        The text.

    Examples:
        >>> signed(0.469), signed(-0.25), signed(0.001), signed(None)
        ('+0.47', '−0.25', '0.00', '–')
    """
    if value is None:
        return "–"
    text = f"{value:+.2f}"
    return text[1:] if not float(text) else text.replace("-", "−")


def plain(value: float | None) -> str:
    """A size with two digits.

    Args:
        value: The number, from 0.

    Returns:
        The text.
    """
    return "–" if value is None else f"{value:.2f}".replace("-", "−")


def at(value: float, span: float = 1.0, from_zero: bool = False) -> str:
    """A place on an axis, cut at its ends.

    Args:
        value: The number.
        span: Where the axis ends.
        from_zero: Whether the axis begins at 0, and not at -span.

    Returns:
        The number for a style attribute, of an axis from -span to span.

    Examples:
        >>> at(0.5), at(2.0, 1.4), at(0.0, 1.4, True), at(0.75, 1.0, True)
        ('0.500', '1.400', '-1.400', '0.500')
    """
    if from_zero:
        value = 2 * value - span
    return f"{min(max(value, -span), span):.3f}"
