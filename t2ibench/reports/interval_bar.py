"""The mark for every interval, as text: band, zero, interval and value on one axis."""

from __future__ import annotations

from dataclasses import dataclass

from t2ibench.results.display import UNSURE, IntervalMark

WIDTH = 25


@dataclass(frozen=True, slots=True)
class Signs:
    """The characters of an interval bar.

    Attributes:
        band: A fair model's band.
        zero: Zero.
        line: The interval.
        wide: The interval of what cannot tell.
        clear: The value, where the lean is clear.
        not_clear: The value, where it is not.
        none_above: The value, where no lean that matters is left.
        cannot_tell: The value, where it cannot tell.
        lower: The end of an axis that something goes on beyond.
        higher: The other end.
    """

    band: str = "░"
    zero: str = "│"
    line: str = "─"
    wide: str = "╌"
    clear: str = "●"
    not_clear: str = "○"
    none_above: str = "□"
    cannot_tell: str = "◌"
    lower: str = "‹"
    higher: str = "›"


UNICODE = Signs()
ASCII = Signs(":", "|", "-", "~", "@", "o", "n", "?", "<", ">")


def signs_for(encoding: str | None) -> Signs:
    """The characters that a stream can show."""
    try:
        "".join((UNICODE.band, UNICODE.wide, UNICODE.clear)).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def interval_bar(mark: IntervalMark, width: int = WIDTH, signs: Signs = UNICODE) -> str:
    """A mark on an axis from -1 to 1.

    Examples:
        >>> interval_bar(IntervalMark(0.5, 0.25, 0.75, "clear", "high", -0.2, 0.2), 17)
        '      ░░│░──●──  '
    """
    cells = [" "] * width
    _fill(cells, mark.fair_low, mark.fair_high, signs.band)
    cells[width // 2] = signs.zero
    unsure = mark.state in UNSURE
    _fill(cells, mark.low, mark.high, signs.wide if unsure else signs.line)
    ends = [x for x in (mark.low, mark.value, mark.high) if x is not None]
    below, above = (mark.cut and end in ends for end in (-1.0, 1.0))
    if mark.value is not None:
        place = min(max(_place(mark.value, width), below), width - 1 - above)
        cells[place] = signs.cannot_tell if unsure else getattr(signs, mark.state)
    if below:
        cells[0] = signs.lower
    if above:
        cells[-1] = signs.higher
    return "".join(cells)


def scale(width: int = WIDTH) -> str:
    """The ends and the middle of the axis."""
    half = width // 2
    return "-1" + "0".rjust(half - 1) + "+1".rjust(width - half - 1)


def _place(value: float, width: int) -> int:
    return round((min(max(value, -1.0), 1.0) + 1) / 2 * (width - 1))


def _fill(cells: list[str], low: float | None, high: float | None, sign: str) -> None:
    if low is None or high is None:
        return
    for place in range(_place(low, len(cells)), _place(high, len(cells)) + 1):
        cells[place] = sign
