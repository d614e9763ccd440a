"""A canvas of simple shapes, measured in CSS pixels, that can be written as SVG.

Colours go by class: on a page they are those of static/tokens.css, in files static/figure.css.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from t2ibench.reports.figures.marks import Box, Disc, Line, Mark, Text, elements, framed
from t2ibench.reports.figures.patterns import is_patterned, patterned
from t2ibench.reports.figures.text_size import LINE, text_width, wrapped

# Classes of texts that are bold.
_BOLD = {"strong", "low", "high"}
_DISCS = {"pt", "low", "high", "plain", "hollow", "mean"}
SQUARE = "square"  # in a legend
_SMALL = {*_DISCS, SQUARE}
_BOXES = {"bar", "soft", "band"}


@dataclass(slots=True)
class Canvas:
    """The shapes of one figure, its size in CSS pixels, and a title for screen readers."""

    width: float
    height: float
    title: str
    marks: list[Mark] = field(default_factory=list)

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

    def square(self, x: float, y: float) -> None:
        """Add a hollow square centred at (`x`, `y`): a lean that is below a bound."""
        self.box(x - 4, y - 4, 8, 8, "hollow")

    def patterned(
        self, x: float, y: float, width: float, height: float, name: str
    ) -> None:
        """Add a rectangle in the colour and pattern of a class of answers, such as 'k1'."""
        self.marks += patterned(Box(x, y, width, height, name))

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
        lines = wrapped(text, width, bold=name in _BOLD)
        for number, line in enumerate(lines):
            up = (number - (len(lines) - 1) / 2) * LINE
            self.text(x, y + 4 + up, line, anchor, name)

    def key(
        self, y: float, entries: Sequence[tuple[str, str]], left: float = 0.0
    ) -> float:
        """Add a legend that explains CSS classes in words; return the height where it ends."""
        x = left
        for name, text in entries:
            wide = 0.0 if not name else 14.0 if name in _SMALL else 24.0
            if x > left and x + wide + text_width(text) > self.width:
                x = left
                y = y + 16
            if name in _DISCS:
                self.dot(x + 4, y, name, 4 if name != "pt" else 3)
            elif name == SQUARE:
                self.square(x + 4, y)
            elif is_patterned(name):
                self.patterned(x, y - 5, 18, 10, name)
            elif name in _BOXES:
                self.box(x, y - 4, 18, 8, name)
            elif name:
                self.line(x, y, x + 18, y, name)
            lines = wrapped(text, self.width - x - wide)
            for number, line in enumerate(lines):
                self.text(x + wide, y + 4 + number * LINE, line)
            y += LINE * (len(lines) - 1)
            x += wide + max(map(text_width, lines)) + 12
        return y + 12

    def svg(self) -> Markup:
        """Return the figure as SVG that a page can contain."""
        inner = Markup("").join(elements(self.marks))
        return framed(self.width, self.height, self.title, inner)
