"""The shapes of a figure, measured in CSS pixels, and how each is written as SVG."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Line:
    """A line through two or more points; `name` is its CSS class."""

    points: tuple[tuple[float, float], ...]
    name: str

    def svg(self) -> Markup:
        """Return the SVG element that draws the line."""
        if len(self.points) == 2:
            (x1, y1), (x2, y2) = self.points
            return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(
                _n(x1), _n(y1), _n(x2), _n(y2), self.name
            )
        drawn = " ".join(f"{_n(x)},{_n(y)}" for x, y in self.points)
        return Markup('<polyline points="{}" class="{}"/>').format(drawn, self.name)


@dataclass(frozen=True, slots=True)
class Disc:
    """A disc with a tooltip, centred at pixel (`x`, `y`) from the top left."""

    x: float
    y: float
    radius: float
    name: str
    tip: str

    def svg(self) -> Markup:
        """Return the SVG element that draws the disc."""
        title = Markup("<title>{}</title>").format(self.tip) if self.tip else Markup()
        return Markup('<circle cx="{}" cy="{}" r="{}" class="{}">{}</circle>').format(
            _n(self.x), _n(self.y), _n(self.radius), self.name, title
        )


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle whose top left corner is at (`x`, `y`); `name` is its CSS class."""

    x: float
    y: float
    width: float
    height: float
    name: str

    def svg(self) -> Markup:
        """Return the SVG element that draws the rectangle."""
        return Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}"/>').format(
            _n(self.x), _n(self.y), _n(self.width), _n(self.height), self.name
        )


# How much of a text lies to the left of where it is anchored, as a share of its width.
LEFT_OF_ANCHOR = {"start": 0.0, "middle": 0.5, "end": 1.0}


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text on the base line `y`, which begins, is centred or ends at `x`."""

    x: float
    y: float
    text: str
    anchor: str
    name: str

    def svg(self) -> Markup:
        """Return the SVG element that draws the text, which is escaped."""
        anchor = "" if self.anchor == "start" else f' text-anchor="{self.anchor}"'
        name = f' class="{self.name}"' if self.name else ""
        return Markup('<text x="{}" y="{}"{}>{}</text>').format(
            _n(self.x), _n(self.y), Markup(anchor + name), self.text
        )


@dataclass(frozen=True, slots=True)
class Strokes:
    """Straight lines of one CSS class, such as the stripes of a bar."""

    segments: tuple[tuple[float, float, float, float], ...]
    name: str

    def svg(self) -> Markup:
        """Return the SVG element that draws all of them."""
        drawn = "".join(
            f"M{_n(x1)} {_n(y1)}L{_n(x2)} {_n(y2)}" for x1, y1, x2, y2 in self.segments
        )
        return Markup('<path d="{}" class="{}"/>').format(drawn, self.name)


Mark = Line | Disc | Box | Strokes | Text


def framed(width: float, height: float, title: str, inner: Markup) -> Markup:
    """Return SVG elements as an SVG image of this size, with a title for screen readers."""
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="fig" viewBox="0 0 {} {}" role="img" '
        'aria-label="{}">{}</svg>'
    ).format(_n(width), _n(height), title, inner)


def elements(marks: Sequence[Mark]) -> Iterator[Markup]:
    """Yield the SVG elements of shapes; neighbouring discs of the same style share one element."""

    def kind(mark: Mark) -> tuple[str, float] | None:
        return (
            (mark.name, mark.radius)
            if isinstance(mark, Disc) and not mark.tip
            else None
        )

    for style, group in itertools.groupby(marks, kind):
        marks_of_style = list(group)
        if style is None or len(marks_of_style) == 1:
            yield from (mark.svg() for mark in marks_of_style)
            continue
        discs = [mark for mark in marks_of_style if isinstance(mark, Disc)]
        points = ""
        before = (-1.0, 0.0)
        for mark in discs:
            x = round(mark.x, 1)
            y = round(mark.y, 1)
            points += (
                f"m0 {_n(y - before[1])}h0" if x == before[0] else f"M{_n(x)} {_n(y)}h0"
            )
            before = (x, y)
        yield Markup('<path class="{}" stroke-width="{}" d="{}"/>').format(
            style[0], _n(2 * style[1]), points
        )


def _n(number: float) -> str:
    return f"{number:.1f}".rstrip("0").rstrip(".")
