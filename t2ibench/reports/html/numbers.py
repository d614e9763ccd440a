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


def plain_ends(low: float | None, high: float | None) -> str:
    """Both ends of an interval, without their sign where they are positive.

    Args:
        low: Lower end.
        high: Upper end.

    Returns:
        Such as '0.12 to 0.40'; a dash where there is none.
    """
    return "–" if low is None or high is None else f"{plain(low)} to {plain(high)}"


def percent(value: float | None, digits: int = 0, sign: bool = False) -> str:
    """A share in per cent, with a true minus.

    Args:
        value: The share.
        digits: Digits after the point.
        sign: Whether a positive one has its sign.

    Returns:
        The text; a dash for None, and a zero has no sign.

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
    """Both ends of an interval of shares.

    Args:
        low: Lower end.
        high: Upper end.
        digits: Digits after the point.
        sign: Whether positive ends have their sign.

    Returns:
        Such as '−3 to 5 %'; a dash where there is none.

    Examples:
        >>> between(-0.031, 0.052), between(None, None)
        ('−3 to 5 %', '–')
    """
    if low is None or high is None:
        return "–"
    ends = [percent(end, digits, sign).removesuffix(" %") for end in (low, high)]
    return f"{ends[0]} to {ends[1]} %"


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
