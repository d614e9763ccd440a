"""A figure as a file of its own: its title above, and in small type what it rests on below."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from markupsafe import Markup

from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.figures.marks import Mark, Text, elements, framed
from t2ibench.reports.figures.patterns import pattern_rules
from t2ibench.reports.figures.text_size import LINE, SIZE, SMALL, wrapped

MARGIN = 14.0  # around a figure
FACTS = "facts"  # CSS class of the lines below it


@dataclass(frozen=True, slots=True)
class Frame:
    """A figure in its file.

    Attributes:
        canvas: The figure.
        title: What stands above it.
        facts: What it rests on: who read the images, how many there are, and the date.
    """

    canvas: Canvas
    title: str
    facts: str = ""

    @property
    def top(self) -> float:
        """Pixels above the figure."""
        more = len(wrapped(self.title, self.canvas.width, bold=True)) - 1
        return MARGIN + 2 * SIZE + LINE * more

    @property
    def width(self) -> float:
        """Width of the file in CSS pixels."""
        return self.canvas.width + 2 * MARGIN

    @property
    def height(self) -> float:
        """Height of the file in CSS pixels."""
        facts = LINE * len(self._facts()) + 6 if self.facts else 0.0
        return self.top + self.canvas.height + facts + MARGIN

    def texts(self) -> list[Text]:
        """Return the title and the facts as texts of the file."""
        titles = wrapped(self.title, self.canvas.width, bold=True)
        texts = [
            Text(MARGIN, MARGIN + SIZE - 2 + number * LINE, line, "start", "strong")
            for number, line in enumerate(titles)
        ]
        if self.facts:
            below = self.top + self.canvas.height + 6
            texts += [
                Text(MARGIN, below + (number + 1) * LINE - 3, line, "start", FACTS)
                for number, line in enumerate(self._facts())
            ]
        return texts

    def _facts(self) -> list[str]:
        # Widths are those of letters of the usual size.
        return wrapped(self.facts, self.canvas.width * SIZE / SMALL)

    def svg(self) -> Markup:
        """Return the content of an SVG file, with colours of its own."""
        marks: list[Mark] = [*self.texts()]
        parts = [
            style_element(),
            *elements(marks),
            Markup('<g transform="translate({:g},{:g})">').format(MARGIN, self.top),
            *elements(self.canvas.marks),
            Markup("</g>"),
        ]
        inner = Markup("").join(parts)
        return framed(self.width, self.height, self.canvas.title, inner)


def style_element() -> Markup:
    """Return the SVG element that holds the style sheet of figures in files, in one line."""
    rules = "".join(sheet().splitlines())
    return Markup("<style>{}</style>").format(Markup(rules))


def sheet() -> str:
    """Return the style sheet that sets the colours of figures in files."""
    path = files("t2ibench.reports") / "static" / "figure.css"
    facts = f"text.{FACTS}{{fill:#504d46;font-size:{SMALL:g}px}}\n"
    return path.read_text("utf-8") + facts + pattern_rules()
