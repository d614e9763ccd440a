"""A small SVG canvas: marks in data coordinates, text that is escaped, colours by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

# The same names as in static/tokens.css, for files that stand alone.
_ALONE = (
    "svg{background:#fff;font:12px 'Source Sans 3',system-ui,sans-serif}"
    ".ax{stroke:#c9c4b6}.zero{stroke:#817c6d}.eq{stroke:#817c6d;stroke-dasharray:2 3}"
    ".pt{fill:#3f3c36;opacity:.75}.low{fill:#a34e00}.high{fill:#006a63}"
    ".hollow{fill:#fff;stroke:#69655b;stroke-width:1.5}.line{stroke:#3f3c36;fill:none}"
    ".line.low{stroke:#a34e00;fill:none}.line.high{stroke:#006a63;fill:none}"
    ".mean{fill:#1c1b18;stroke:#fff;stroke-width:2}.bar{fill:#3f3c36}"
    "text{fill:#504d46}text.strong{fill:#1c1b18;font-weight:600}"
    "text.low{fill:#a34e00;font-weight:600}text.high{fill:#006a63;font-weight:600}"
)


@dataclass(slots=True)
class Canvas:
    """Marks of one figure.

    Attributes:
        width: In CSS pixels.
        height: In CSS pixels.
        title: What the figure shows, for those who do not see it.
        parts: The elements so far.
    """

    width: float
    height: float
    title: str
    parts: list[Markup] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, name: str = "ax") -> None:
        """A straight line.

        Args:
            x1: Begin, from the left.
            y1: Begin, from the top.
            x2: End.
            y2: End.
            name: Its class.
        """
        self.parts.append(
            Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(
                _n(x1), _n(y1), _n(x2), _n(y2), name
            )
        )

    def path(self, points: Sequence[tuple[float, float]], name: str = "line") -> None:
        """A line through points.

        Args:
            points: At least two.
            name: Its class.
        """
        drawn = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self.parts.append(Markup('<polyline points="{}" class="{}"/>').format(drawn, name))

    def dot(self, x: float, y: float, name: str = "pt", radius: float = 3.0, tip: str = "") -> None:
        """A disc.

        Args:
            x: From the left.
            y: From the top.
            name: Its class.
            radius: Its radius.
            tip: What it is, for a pointer.
        """
        title = Markup("<title>{}</title>").format(tip) if tip else Markup()
        self.parts.append(
            Markup('<circle cx="{}" cy="{}" r="{}" class="{}">{}</circle>').format(
                _n(x), _n(y), _n(radius), name, title
            )
        )

    def box(self, x: float, y: float, width: float, height: float, name: str = "bar") -> None:
        """A rectangle.

        Args:
            x: Its left.
            y: Its top.
            width: Its width.
            height: Its height.
            name: Its class.
        """
        self.parts.append(
            Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}"/>').format(
                _n(x), _n(y), _n(width), _n(height), name
            )
        )

    def text(self, x: float, y: float, text: str, anchor: str = "start", name: str = "") -> None:
        """A line of text.

        Args:
            x: Where it begins, ends or has its middle.
            y: Its base line.
            text: What it says.
            anchor: 'start', 'middle' or 'end'.
            name: Its class.
        """
        self.parts.append(
            Markup('<text x="{}" y="{}" text-anchor="{}" class="{}">{}</text>').format(
                _n(x), _n(y), anchor, name, text
            )
        )

    def svg(self, alone: bool = False) -> Markup:
        """The figure.

        Args:
            alone: Whether it is a file of its own, with its colours.

        Returns:
            An <svg> element.
        """
        style = Markup("<style>{}</style>").format(Markup(_ALONE)) if alone else Markup()
        head = Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" class="fig" viewBox="0 0 {} {}" role="img" '
            'aria-label="{}">'
        ).format(_n(self.width), _n(self.height), self.title)
        return head + style + Markup("").join(self.parts) + Markup("</svg>")


def _n(number: float) -> str:
    return f"{number:.1f}".rstrip("0").rstrip(".")


def shortened(text: str, most: int = 22) -> str:
    """A text that fits beside a mark.

    Args:
        text: The text.
        most: Characters.

    Returns:
        The text, or its beginning and '…'.
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"
