"""How much room a text takes in a figure, and how it is wrapped into that."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterator, Sequence
from importlib.resources import as_file, files

SIZE = 12.0  # of text, in CSS pixels
SMALL = 10.0  # of the line of facts below a figure
LETTER = 5.9  # of a letter, on the safe side
LINE = 12.5  # from one line of a name to the next
_LINES = 5  # of a name; what is longer yet ends in dots
_LEAST = 6 * LETTER  # of a line
_WIDE = {"W", "F"}  # as Unicode calls letters that are as wide as high
_NO_ADVANCE = {"Mn", "Me", "Cf"}  # marks on other letters, and control characters
_DOTS = "…"


@functools.cache
def _advances(bold: bool) -> dict[str, float]:
    """Return the width of each letter of a figure's font, in CSS pixels at `SIZE`."""
    from PIL import ImageFont

    name = f"figure-sans-{'bold' if bold else 'regular'}.ttf"
    with as_file(files("t2ibench.reports") / "static" / "fonts" / name) as path:
        # Large, since the widths of small letters are rounded to pixels.
        font = ImageFont.truetype(str(path), 120)
        letters = map(chr, range(0x20, 0x180))
        return {letter: font.getlength(letter) * SIZE / 120 for letter in letters}


def text_width(text: str, bold: bool = False) -> float:
    """Return the width of a text in CSS pixels, on the safe side.

    It is at least that of letters of mean width, since a page may have another font than the files.
    """
    widths = [_letter_width(letter, bold) for letter in text]
    return max(sum(width for width, _ in widths), sum(mean for _, mean in widths))


@functools.lru_cache(maxsize=4096)
def _letter_width(letter: str, bold: bool) -> tuple[float, float]:
    """Return the width of a letter in the files' font, and that of a letter of its kind."""
    if unicodedata.category(letter) in _NO_ADVANCE:
        return 0.0, 0.0
    if unicodedata.east_asian_width(letter) in _WIDE:
        return SIZE, SIZE
    return _advances(bold).get(letter, 0.62 * SIZE), LETTER


def wrapped(text: str, width: float, bold: bool = False) -> list[str]:
    """Return a text as lines that are at most `width` pixels wide.

    Examples:
        >>> wrapped("elementary school teacher", 110)
        ['elementary school', 'teacher']
        >>> wrapped("小学校教師と看護師", 60)
        ['小学校教師', 'と看護師']
    """
    room = max(width, _LEAST)
    lines: list[str] = []
    for space, piece in _pieces(text, room, bold):
        longer = f"{lines[-1]}{space}{piece}" if lines else ""
        if longer and text_width(longer, bold) <= room:
            lines[-1] = longer
        else:
            lines.append(piece)
    if len(lines) > _LINES:
        last = lines[_LINES - 1]
        while last and text_width(last + _DOTS, bold) > room:
            last = last[:-1]
        lines = [*lines[: _LINES - 1], last.rstrip() + _DOTS]
    return lines or [""]


def _pieces(text: str, room: float, bold: bool) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text between which a line may end, and what stands before each.

    That is a space, or nothing between letters that are as wide as high and within what is wider
    than a line.
    """
    for word in text.split():
        space = " "
        piece = ""
        width = 0.0
        for letter in word:
            is_wide = unicodedata.east_asian_width(letter) in _WIDE
            letter_width = max(_letter_width(letter, bold))
            if piece and (is_wide or width + letter_width > room):
                yield space, piece
                space = ""
                piece = ""
                width = 0.0
            piece += letter
            width += letter_width
        yield space, piece


def left_of(names: Sequence[str], most: float) -> float:
    """Return the width in pixels of a column of names: that of the longest, at most `most`."""
    return min(max(map(text_width, names), default=0.0) + 6, most)


def row_places(
    names: Sequence[str], width: float, step: float
) -> tuple[list[float], float]:
    """Return the vertical centre of each row, with its name wrapped, and the height of all rows."""
    places = []
    y = 0.0
    for name in names:
        high = max(step, LINE * len(wrapped(name, width)) + 4)
        places.append(y + high / 2)
        y += high
    return places, y


def shortened(text: str, most: int = 22) -> str:
    """Return a text cut to at most `most` characters, with '…' at its end if it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
