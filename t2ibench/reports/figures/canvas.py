"""A small canvas: marks in CSS pixels, drawn as SVG.

Colours go by class: on a page they are those of static/tokens.css, in files static/figure.css.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files

from markupsafe import Markup

SIZE = 12.0  # of text, in CSS pixels
_MARGIN = 14.0


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points.

    Attributes:
        points: At least two.
        name: Its class.
    """

    points: tuple[tuple[float, float], ...]
    name: str

    def svg(self) -> Markup:
        """Its element."""
        if len(self.points) == 2:
            (x1, y1), (x2, y2) = self.points
            return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(
                _n(x1), _n(y1), _n(x2), _n(y2), self.name
            )
        drawn = " ".join(f"{_n(x)},{_n(y)}" for x, y in self.points)
        return Markup('<polyline points="{}" class="{}"/>').format(drawn, self.name)


@dataclass(frozen=True, slots=True)
class Disc:
    """A disc.

    Attributes:
        x: From the left.
        y: From the top.
        radius: Its radius.
        name: Its class.
        tip: What it is, for a pointer.
    """

    x: float
    y: float
    radius: float
    name: str
    tip: str

    def svg(self) -> Markup:
        """Its element."""
        title = Markup("<title>{}</title>").format(self.tip) if self.tip else Markup()
        return Markup('<circle cx="{}" cy="{}" r="{}" class="{}">{}</circle>').format(
            _n(self.x), _n(self.y), _n(self.radius), self.name, title
        )


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle.

    Attributes:
        x: Its left.
        y: Its top.
        width: Its width.
        height: Its height.
        name: Its class.
    """

    x: float
    y: float
    width: float
    height: float
    name: str

    def svg(self) -> Markup:
        """Its element."""
        return Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}"/>').format(
            _n(self.x), _n(self.y), _n(self.width), _n(self.height), self.name
        )


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text.

    Attributes:
        x: Where it begins, ends or has its middle.
        y: Its base line.
        text: What it says.
        anchor: 'start', 'middle' or 'end'.
        name: Its class.
    """

    x: float
    y: float
    text: str
    anchor: str
    name: str

    def svg(self) -> Markup:
        """Its element; the text is escaped."""
        return Markup('<text x="{}" y="{}" text-anchor="{}" class="{}">{}</text>').format(
            _n(self.x), _n(self.y), self.anchor, self.name, self.text
        )


@dataclass(slots=True)
class Canvas:
    """Marks of one figure.

    Attributes:
        width: In CSS pixels.
        height: In CSS pixels.
        title: What the figure shows, for those who do not see it.
        marks: The marks so far.
    """

    width: float
    height: float
    title: str
    marks: list[Line | Disc | Box | Text] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, name: str = "ax") -> None:
        """A straight line."""
        self.marks.append(Line(((x1, y1), (x2, y2)), name))

    def path(self, points: Sequence[tuple[float, float]], name: str = "line") -> None:
        """A line through points."""
        self.marks.append(Line(tuple(points), name))

    def dot(self, x: float, y: float, name: str = "pt", radius: float = 3.0, tip: str = "") -> None:
        """A disc."""
        self.marks.append(Disc(x, y, radius, name, tip))

    def box(self, x: float, y: float, width: float, height: float, name: str = "bar") -> None:
        """A rectangle."""
        self.marks.append(Box(x, y, width, height, name))

    def text(self, x: float, y: float, text: str, anchor: str = "start", name: str = "") -> None:
        """A line of text."""
        self.marks.append(Text(x, y, text, anchor, name))

    def alone(self, title: str) -> Canvas:
        """The figure for a file of its own: with a title above it and a margin."""
        head = _MARGIN + 2 * SIZE
        made = Canvas(self.width + 2 * _MARGIN, self.height + head + _MARGIN, self.title)
        made.text(_MARGIN, _MARGIN + SIZE - 2, title, name="strong")
        for mark in self.marks:
            if isinstance(mark, Line):
                points = tuple((x + _MARGIN, y + head) for x, y in mark.points)
                made.marks.append(replace(mark, points=points))
            else:
                made.marks.append(replace(mark, x=mark.x + _MARGIN, y=mark.y + head))
        return made

    def svg(self, alone: bool = False) -> Markup:
        """The figure."""
        style = Markup()
        if alone:
            sheet = (files("t2ibench.reports") / "static" / "figure.css").read_text("utf-8")
            style = Markup("<style>{}</style>").format(Markup("".join(sheet.splitlines())))
        head = Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" class="fig" viewBox="0 0 {} {}" role="img" '
            'aria-label="{}">'
        ).format(_n(self.width), _n(self.height), self.title)
        return head + style + Markup("").join(_elements(self.marks)) + Markup("</svg>")


def _elements(marks: Sequence[Line | Disc | Box | Text]) -> Iterator[Markup]:
    """The elements of marks; discs of one kind without a tip are one path of round points."""

    def kind(mark: Line | Disc | Box | Text) -> tuple[str, float] | None:
        return (mark.name, mark.radius) if isinstance(mark, Disc) and not mark.tip else None

    for of, group in itertools.groupby(marks, kind):
        found = list(group)
        if of is None or len(found) == 1:
            yield from (mark.svg() for mark in found)
            continue
        points = "".join(f"M{_n(m.x)} {_n(m.y)}h0" for m in found if isinstance(m, Disc))
        yield Markup('<path class="{}" stroke-width="{}" d="{}"/>').format(
            of[0], _n(2 * of[1]), points
        )


def _n(number: float) -> str:
    return f"{number:.1f}".rstrip("0").rstrip(".")


def shortened(text: str, most: int = 22) -> str:
    """A text that fits beside a mark."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
