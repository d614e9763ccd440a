"""Colours and patterns of classes of answers in figures, the same as on pages.

A class has a number, see `class_colours`, and on pages the CSS class 'k' and that number. Its
colour is read from static/tokens.css; patterns are drawn as lines and dots, since neither a PDF
nor every viewer of SVG has those of a style sheet.
"""

from __future__ import annotations

import functools
import re
from importlib.resources import files

from t2ibench.methods.core.answer_counts import COLOURS
from t2ibench.reports.class_bars import NO_ANSWER
from t2ibench.reports.figures.marks import Box, Disc, Mark, Strokes

_DIAGONAL = 7.0  # pixels between the stripes of a pattern
_VERTICAL = 6.0
_HORIZONTAL = 4.0
_DOTS = 5.0
_DOT = 1.3
_INSET = 1.0  # from the edge to a stripe
# Pattern of a class's number; those of races and of skin begin again.
_PATTERNS = ("solid", "diagonal", "vertical", "horizontal", "dots", "outline")
_STROKE_WIDTHS = {"diagonal": 2.0, "vertical": 3.0, "horizontal": 1.5}


def is_patterned(name: str) -> bool:
    """Return whether a CSS class is that of a class of answers, or of images without one."""
    return name == NO_ANSWER or re.fullmatch(r"k\d+", name) is not None


def pattern_of(number: int) -> str:
    """Return the pattern of a class's number, such as 'diagonal'."""
    return _PATTERNS[number % len(_PATTERNS)]


def patterned(box: Box) -> list[Mark]:
    """Return the shapes that fill a box with the pattern of its class."""
    marks: list[Mark] = [box]
    if box.name == NO_ANSWER:
        return marks
    pattern = pattern_of(int(box.name.removeprefix("k")))
    if pattern == "dots":
        marks += _dots(box)
    elif pattern in _STRIPES:
        segments = tuple(_STRIPES[pattern](box))
        marks += [Strokes(segments, box.name)] if segments else []
    return marks


def _diagonal(box: Box) -> list[tuple[float, float, float, float]]:
    """Return the stripes from the lower left to the upper right, cut at the edges of a box."""
    left = box.x + _INSET
    top = box.y + _INSET
    width = box.width - 2 * _INSET
    height = box.height - 2 * _INSET
    segments = []
    reach = _DIAGONAL / 2
    while reach < width + height:
        begin = max(0.0, reach - height)
        end = min(width, reach)
        if end > begin:
            segments.append(
                (left + begin, top + reach - begin, left + end, top + reach - end)
            )
        reach += _DIAGONAL
    return segments


def _vertical(box: Box) -> list[tuple[float, float, float, float]]:
    places = _places(box.x, box.width, _VERTICAL)
    return [(x, box.y + _INSET, x, box.y + box.height - _INSET) for x in places]


def _horizontal(box: Box) -> list[tuple[float, float, float, float]]:
    places = _places(box.y, box.height, _HORIZONTAL)
    return [(box.x + _INSET, y, box.x + box.width - _INSET, y) for y in places]


def _dots(box: Box) -> list[Disc]:
    return [
        Disc(x, y, _DOT, box.name, "")
        for x in _places(box.x, box.width, _DOTS)
        for y in _places(box.y, box.height, _DOTS)
    ]


def _places(begin: float, length: float, step: float) -> list[float]:
    """Return places a step apart, in the middle of a length."""
    count = max(int((length - 2 * _INSET) / step), 1)
    first = begin + (length - (count - 1) * step) / 2
    return [first + number * step for number in range(count)]


_STRIPES = {"diagonal": _diagonal, "vertical": _vertical, "horizontal": _horizontal}


@functools.cache
def pattern_rules() -> str:
    """Return the style rules of all classes of answers, a line each, for a figure's file."""
    colours = _colours()
    rules = ["rect.none{fill:#ffffff;stroke:#c9c4b6;stroke-width:1}"]
    for number in range(COLOURS):
        colour = colours[number]
        pattern = pattern_of(number)
        if pattern == "solid":
            rules.append(f"rect.k{number}{{fill:{colour}}}")
            continue
        edge = 2 if pattern == "outline" else 1
        rules.append(
            f"rect.k{number}{{fill:#ffffff;stroke:{colour};stroke-width:{edge}}}"
        )
        if pattern == "dots":
            rules.append(f"circle.k{number}{{fill:{colour}}}")
            rules.append(f"path.k{number}{{stroke:{colour};stroke-linecap:round}}")
        elif pattern in _STROKE_WIDTHS:
            width = _STROKE_WIDTHS[pattern]
            rules.append(
                f"path.k{number}{{fill:none;stroke:{colour};stroke-width:{width:g}}}"
            )
    return "\n".join(rules) + "\n"


def _colours() -> list[str]:
    """Return the colour of each class's number on a light page."""
    tokens = (files("t2ibench.reports") / "static" / "tokens.css").read_text("utf-8")
    light = tokens.partition("@media")[0]
    values = dict(re.findall(r"--([\w-]+):(#\w{6});", light))
    names = dict(re.findall(r"\.k(\d+),\.key\d+\{--c:var\(--([\w-]+)\)\}", tokens))
    return [values[names[str(number)]].lower() for number in range(COLOURS)]
