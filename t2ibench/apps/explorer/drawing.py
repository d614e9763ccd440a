"""A light SVG sheet with images in it: colours in the marks themselves, text that is escaped.

The page's own policy allows no inline styles, and a file of its own has no style sheet; so every
mark carries its colour.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

from markupsafe import Markup

from t2ibench.apps.explorer.source import Picture
from t2ibench.reports.figures.canvas import shortened
from t2ibench.store.pixels import UnreadableImageError, thumbnail

PAPER, INK, MUTED, QUIET, RULE, ZERO = (
    "#fbfaf6",
    "#1c1b18",
    "#504d46",
    "#69655b",
    "#c9c4b6",
    "#817c6d",
)
LEFT, RIGHT = "#a34e00", "#006a63"
_SANS = "'Source Sans 3','Source Sans 3 Variable',system-ui,sans-serif"
_SERIF = "'Source Serif 4','Source Serif 4 Variable',Charter,Georgia,serif"


@dataclass(frozen=True, slots=True)
class Tile:
    """One image of the sheet.

    Attributes:
        x: Its left.
        y: Its top.
        size: Its side.
        caption: What stands under it.
        picture: The image.
    """

    x: float
    y: float
    size: float
    caption: str
    picture: Picture


@dataclass(slots=True)
class Drawing:
    """Marks of a sheet.

    Attributes:
        width: In CSS pixels.
        height: In CSS pixels.
        title: What it shows, for those who do not see it.
        parts: The elements so far.
    """

    width: float
    height: float
    title: str
    parts: list[Markup] = field(default_factory=list)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        colour: str,
        *,
        anchor: str = "start",
        serif: bool = False,
        bold: bool = False,
        most: int = 100,
    ) -> None:
        """A line of text."""
        self.parts.append(
            Markup(
                '<text x="{:.1f}" y="{:.1f}" font-size="{}" fill="{}" text-anchor="{}" '
                'font-family="{}" font-weight="{}">{}</text>'
            ).format(
                x,
                y,
                size,
                colour,
                anchor,
                _SERIF if serif else _SANS,
                600 if bold else 400,
                _clean(shortened(text, most)),
            )
        )

    def rail(
        self,
        place: tuple[float, float, float],
        span: float,
        value: tuple[float | None, float | None, float | None],
        sure: tuple[bool, bool],
        colour: str,
        half: bool = False,
    ) -> None:
        """A number with its interval on an axis."""
        left, right, y = place
        number, low, high = value
        clear, unsure = sure

        def at(x: float) -> float:
            return (left + right) / 2 + min(max(x / span, -1.0), 1.0) * (right - left) / 2

        self._line(at(0) if half else left, y, right, y, RULE, 1)
        self._line(at(0), y - 12, at(0), y + 12, ZERO, 1)
        digits = 0 if span == 1 else 2 if span > 0.1 else 3
        for tick in (0.0, span) if half else (-span, 0.0, span):
            sign = "" if half else "+"
            told = f"{tick:{sign}.{digits}f}".replace("-", "−") if tick else "0"
            self.text(at(tick), y - 16, told, 11, QUIET, anchor="middle")
        mark = colour if clear else QUIET
        if low is not None and high is not None:
            self._line(at(low), y, at(high), y, mark, 2, "3 3" if unsure else "")
        if number is not None:
            self.parts.append(
                Markup(
                    '<circle cx="{:.1f}" cy="{:.1f}" r="5.5" fill="{}" stroke="{}" '
                    'stroke-width="2"/>'
                ).format(at(number), y, mark if clear else PAPER, mark)
            )

    def _line(
        self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float, dash: str = ""
    ) -> None:
        dashed = Markup(' stroke-dasharray="{}"').format(dash) if dash else Markup()
        self.parts.append(
            Markup(
                '<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" '
                'stroke-width="{}"{}/>'
            ).format(x1, y1, x2, y2, colour, width, dashed)
        )

    def picture(self, tile: Tile) -> None:
        """An image with its caption; a hatched place where it cannot be read."""
        uri = _uri(tile.picture, tile.size)
        caption = _clean(f"{tile.picture.prompt}, number {tile.picture.index}")
        if uri is None:
            self._missing(tile)
        else:
            self.parts.append(
                Markup(
                    '<image x="{:.1f}" y="{:.1f}" width="{}" height="{}" href="{}" '
                    'preserveAspectRatio="xMidYMid slice"><title>{}</title></image>'
                ).format(tile.x, tile.y, tile.size, tile.size, uri, caption)
            )
        most = int(tile.size / 5.2)
        self.text(tile.x, tile.y + tile.size + 13, tile.caption, 10, QUIET, most=most)

    def _missing(self, tile: Tile) -> None:
        end_x, end_y = tile.x + tile.size, tile.y + tile.size
        self._line(tile.x, tile.y, end_x, end_y, RULE, 1)
        self._line(tile.x, end_y, end_x, tile.y, RULE, 1)
        self.parts.append(
            Markup(
                '<rect x="{:.1f}" y="{:.1f}" width="{}" height="{}" fill="none" stroke="{}"/>'
            ).format(tile.x, tile.y, tile.size, tile.size, RULE)
        )

    def svg(self) -> str:
        """The sheet."""
        head = Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" viewBox="0 0 {} {}" '
            'role="img" aria-label="{}"><rect width="{}" height="{}" fill="{}"/>'
        ).format(
            self.width,
            self.height,
            self.width,
            self.height,
            _clean(self.title),
            self.width,
            self.height,
            PAPER,
        )
        return str(head + Markup("").join(self.parts) + Markup("</svg>\n"))


def _clean(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    kept = "".join(c if c.isprintable() else " " for c in text)
    return kept.encode("utf-8", "replace").decode("utf-8")


def _uri(picture: Picture, size: float) -> str | None:
    try:
        small = thumbnail(picture.data(), int(2 * size), 80)
    except UnreadableImageError:
        return None
    return f"data:image/jpeg;base64,{base64.b64encode(small).decode()}"
