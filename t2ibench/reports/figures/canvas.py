"""A canvas of simple shapes, measured in CSS pixels, that can be written as SVG.

Colours go by class: on a page they are those of static/tokens.css, in files static/figure.css.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from markupsafe import Markup

SIZE = 12.0  # of text, in CSS pixels
LETTER = 5.9  # of a letter, on the safe side
LINE = 12.5  # from one line of a name to the next
MARGIN = 14.0  # around a figure that is a file of its own
_LINES = 5  # of a name; what is longer yet ends in dots


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


@dataclass(slots=True)
class Canvas:
    """The shapes of one figure, its size in CSS pixels, and a title for screen readers."""

    width: float
    height: float
    title: str
    marks: list[Line | Disc | Box | Text] = field(default_factory=list)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, name: str = "ax"
    ) -> None:
        """Add a straight line from (`x1`, `y1`) to (`x2`, `y2`)."""
        self.marks.append(Line(((x1, y1), (x2, y2)), name))

    def path(self, points: Sequence[tuple[float, float]], name: str = "line") -> None:
        """Add a line through all `points`."""
        self.marks.append(Line(tuple(points), name))

    def dot(
        self, x: float, y: float, name: str = "pt", radius: float = 3.0, tip: str = ""
    ) -> None:
        """Add a disc, with a tooltip if `tip` is given."""
        self.marks.append(Disc(x, y, radius, name, tip))

    def box(
        self, x: float, y: float, width: float, height: float, name: str = "bar"
    ) -> None:
        """Add a rectangle whose top left corner is at (`x`, `y`)."""
        self.marks.append(Box(x, y, width, height, name))

    def text(
        self, x: float, y: float, text: str, anchor: str = "start", name: str = ""
    ) -> None:
        """Add a line of text on the base line `y`."""
        self.marks.append(Text(x, y, text, anchor, name))

    def label(
        self,
        x: float,
        y: float,
        text: str,
        width: float,
        anchor: str = "end",
        name: str = "",
    ) -> None:
        """Add a text, wrapped to `width` pixels, with its lines centred vertically at `y`."""
        lines = wrapped(text, width)
        for number, line in enumerate(lines):
            up = (number - (len(lines) - 1) / 2) * LINE
            self.text(x, y + 4 + up, line, anchor, name)

    def key(
        self, y: float, entries: Sequence[tuple[str, str]], left: float = 0.0
    ) -> float:
        """Add a legend that explains CSS classes in words; return the height where it ends."""
        x = left
        for name, text in entries:
            wide = 0.0 if not name else 14.0 if name in _DISCS else 24.0
            if x > left and x + wide + LETTER * len(text) > self.width:
                x = left
                y = y + 16
            if name in _DISCS:
                self.dot(x + 4, y, name, 4 if name != "pt" else 3)
            elif name in _BOXES:
                self.box(x, y - 4, 18, 8, name)
            elif name:
                self.line(x, y, x + 18, y, name)
            self.text(x + wide, y + 4, text)
            x += wide + LETTER * len(text) + 12
        return y + 12

    def svg(self) -> Markup:
        """Return the figure as SVG that a page can contain."""
        return self._framed(
            self.width, self.height, Markup("").join(_elements(self.marks))
        )

    def file_svg(self, title: str) -> Markup:
        """Return the figure as the content of an SVG file, with colours, a margin and a title."""
        head = MARGIN + 2 * SIZE
        rules = "".join(sheet().splitlines())
        parts = [
            Markup("<style>{}</style>").format(Markup(rules)),
            Text(MARGIN, MARGIN + SIZE - 2, title, "start", "strong").svg(),
            Markup('<g transform="translate({},{})">').format(_n(MARGIN), _n(head)),
            *_elements(self.marks),
            Markup("</g>"),
        ]
        size = self.width + 2 * MARGIN, self.height + head + MARGIN
        return self._framed(*size, Markup("").join(parts))

    def _framed(self, width: float, height: float, inner: Markup) -> Markup:
        return Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" class="fig" viewBox="0 0 {} {}" role="img" '
            'aria-label="{}">{}</svg>'
        ).format(_n(width), _n(height), self.title, inner)


_DISCS = {"pt", "low", "high", "plain", "hollow", "mean"}
_BOXES = {"bar", "soft", "band"}


def sheet() -> str:
    """Return the style sheet that sets the colours of figures in files."""
    return (files("t2ibench.reports") / "static" / "figure.css").read_text("utf-8")


def wrapped(text: str, width: float) -> list[str]:
    """Return a text as lines that are at most `width` pixels wide.

    Examples:
        >>> wrapped("elementary school teacher", 110)
        ['elementary school', 'teacher']
    """
    letters = max(int(width / LETTER), 6)
    return textwrap.wrap(text, letters, max_lines=_LINES, placeholder="…") or [""]


def left_of(names: Sequence[str], most: float) -> float:
    """Return the width in pixels of a column of names: that of the longest, at most `most`."""
    return min(LETTER * max(map(len, names), default=0) + 6, most)


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


def _elements(marks: Sequence[Line | Disc | Box | Text]) -> Iterator[Markup]:
    """Yield the SVG elements of shapes; neighbouring discs of the same style share one element."""

    def kind(mark: Line | Disc | Box | Text) -> tuple[str, float] | None:
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


def shortened(text: str, most: int = 22) -> str:
    """Return a text cut to at most `most` characters, with '…' at its end if it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
