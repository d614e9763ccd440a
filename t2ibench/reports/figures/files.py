"""Writer of a figure's files: SVG, PNG, PDF, and its data as CSV."""

from __future__ import annotations

import functools
import io
import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup
from PIL import Image

from t2ibench.errors import visible_lines
from t2ibench.reports.csv import WRITER
from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.figures.figure import DrawnFigure
from t2ibench.reports.figures.fonts import (
    font_files,
    has_common_letters,
    needs_system_fonts,
)
from t2ibench.reports.figures.frame import FACTS, MARGIN, Frame, sheet, style_element
from t2ibench.reports.figures.marks import (
    LEFT_OF_ANCHOR,
    Box,
    Disc,
    Line,
    Mark,
    Strokes,
    Text,
    elements,
    framed,
)
from t2ibench.reports.figures.text_size import SIZE, SMALL, text_width
from t2ibench.reports.writers import Table
from t2ibench.store.files import write_bytes, write_text

if TYPE_CHECKING:
    from fpdf import FPDF

SCALE = 2  # pixels of the PNG for a CSS pixel
_POINT = 0.75  # points of a CSS pixel
_COLOURS = 128
_PICTURE_SCALE = 6  # pixels for a CSS pixel, of a text that is a picture in a PDF
_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")


def write_figure(
    figure: DrawnFigure,
    about: str,
    folder: Path,
    name: str,
    *,
    numbers: str = "",
    facts: str = "",
) -> tuple[Path, ...]:
    """Write a figure as SVG and PNG, as PDF if fpdf2 is installed, and its data as CSV.

    Args:
        figure: The figure.
        about: Its title.
        folder: Where the files go.
        name: Their name, without its ending.
        numbers: The name of the CSV file, where it is another.
        facts: What stands below it: who read the images, how many there are, and the date.
    """
    frame = Frame(figure.canvas, about, facts)
    vector, picture, page = (
        folder / f"{name}.{kind}" for kind in ("svg", "png", "pdf")
    )
    table = folder / f"{numbers or name}.csv"
    written = [vector, picture, table] + ([page] if find_spec("fpdf") else [])
    svg = _shown(frame.svg()) + "\n"
    there = all(path.is_file() for path in written if path != table)
    if not (there and vector.read_bytes() == svg.encode()):
        # An earlier PDF would be stale where fpdf2 is not installed any more.
        page.unlink(missing_ok=True)
        if page in written:
            write_bytes(page, pdf(frame))
        write_bytes(picture, png(svg))  # the slowest step
        write_text(vector, svg)
    rows = [[str(cell) for cell in row] for row in figure.rows]
    write_text(table, WRITER.table(Table(figure.head, rows)))
    return tuple(written)


def _shown(text: str) -> str:
    """Return a text without the characters that XML forbids, such as control characters."""
    return visible_lines(text).translate(_NO_XML)


def png(svg: str, scale: int = SCALE) -> bytes:
    """Return an SVG figure as PNG bytes.

    They are the same on all machines, as the font is bundled, but for letters that it lacks: those
    are drawn with the fonts of the system.
    """
    import resvg_py

    with font_files() as fonts:
        data = resvg_py.svg_to_bytes(
            svg_string=svg,
            background="#ffffff",
            zoom=scale,
            skip_system_fonts=not needs_system_fonts(svg),
            font_files=fonts,
            sans_serif_family="Figure Sans",
        )
    image = Image.open(io.BytesIO(bytes(data))).convert("RGB")
    buffer = io.BytesIO()
    small = image.quantize(
        _COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    )
    small.save(buffer, format="PNG", dpi=(96 * scale, 96 * scale))
    return buffer.getvalue()


def pdf(frame: Frame) -> bytes:
    """Return a figure as PDF bytes, with the bundled font embedded."""
    from fpdf import FPDF

    # warnings of letters that the font lacks are noise
    logging.getLogger("fpdf").setLevel(logging.ERROR)
    page = FPDF(unit="pt", format=(_POINT * frame.width, _POINT * frame.height))
    # a fixed date keeps the bytes reproducible
    page.set_creation_date(datetime(2000, 1, 1, tzinfo=timezone.utc))
    page.set_title(_shown(frame.canvas.title))
    page.set_auto_page_break(False)
    with font_files(small=_says_common_letters(frame)) as fonts:
        for style, font in zip(("", "B"), fonts, strict=True):
            page.add_font("figure", style, font)
    page.add_page()
    for text in frame.texts():
        _draw(page, text, 0.0, 0.0)
    top = frame.top  # worked out from the widths of the title's words
    for mark in frame.canvas.marks:
        _draw(page, mark, MARGIN, top)
    return bytes(page.output())


def _says_common_letters(frame: Frame) -> bool:
    """Return whether the small fonts have all letters of a figure.

    fpdf2 reads the whole font for each document, and embeds the letters that it shows. These are
    the same from either font.
    """
    marks: list[Mark] = [*frame.texts(), *frame.canvas.marks]
    texts = [_shown(mark.text) for mark in marks if isinstance(mark, Text)]
    # A text that needs further fonts is a picture in the PDF.
    return all(has_common_letters(text) or needs_system_fonts(text) for text in texts)


def _draw(page: FPDF, mark: Mark, left: float, top: float) -> None:
    """Draw one shape on a PDF page, with the figure's corner at (`left`, `top`)."""
    look = _style(mark)
    page.set_line_width(_POINT * float(look.get("stroke-width", 1)))
    if stroke := look.get("stroke"):
        page.set_draw_color(stroke)
    if (fill := look.get("fill", "none")) != "none":
        page.set_fill_color(fill)
        page.set_text_color(fill)
    if isinstance(mark, Line):
        _draw_line(page, mark, look, left, top)
    elif isinstance(mark, Strokes):
        for x1, y1, x2, y2 in mark.segments:
            page.line(
                _POINT * (x1 + left),
                _POINT * (y1 + top),
                _POINT * (x2 + left),
                _POINT * (y2 + top),
            )
    elif isinstance(mark, Text):
        _draw_text(page, mark, look, left, top)
    else:
        _draw_shape(page, mark, look, left, top)


def _draw_line(
    page: FPDF, line: Line, look: Mapping[str, str], left: float, top: float
) -> None:
    dash, gap = map(float, look.get("stroke-dasharray", "0 0").split())
    page.set_dash_pattern(_POINT * dash, _POINT * gap)
    page.polyline([(_POINT * (x + left), _POINT * (y + top)) for x, y in line.points])
    page.set_dash_pattern()


def _draw_shape(
    page: FPDF, mark: Disc | Box, look: Mapping[str, str], left: float, top: float
) -> None:
    from fpdf.enums import RenderStyle

    style = RenderStyle.DF if look.get("stroke") else RenderStyle.F
    x = _POINT * (mark.x + left)
    y = _POINT * (mark.y + top)
    if isinstance(mark, Disc):
        with page.local_context(fill_opacity=float(look.get("opacity", 1))):
            page.circle(x, y, _POINT * mark.radius, style)
    else:
        page.rect(x, y, _POINT * mark.width, _POINT * mark.height, style)


def _draw_text(
    page: FPDF, text: Text, look: Mapping[str, str], left: float, top: float
) -> None:
    """Draw a text; one with letters that the font lacks is a picture of it."""
    words = _shown(text.text)
    if needs_system_fonts(words):
        _draw_picture_of(page, replace(text, text=words), left, top)
        return
    size = SMALL if text.name == FACTS else SIZE
    page.set_font("figure", "B" if "font-weight" in look else "", _POINT * size)
    back = LEFT_OF_ANCHOR[text.anchor]
    x = _POINT * (text.x + left) - back * page.get_string_width(words)
    page.text(x, _POINT * (text.y + top), words)


def _draw_picture_of(page: FPDF, text: Text, left: float, top: float) -> None:
    """Draw a text as a picture, which the fonts of the system make."""
    width = text_width(text.text, bold="strong" in text.name) + 2
    height = 1.5 * SIZE
    canvas = Canvas(width, height, text.text)
    canvas.marks.append(Text(1, SIZE + 1, text.text, "start", text.name))
    inner = Markup("").join([style_element(), *elements(canvas.marks)])
    svg = framed(width, height, "", inner)
    back = LEFT_OF_ANCHOR[text.anchor]
    x = text.x + left - 1 - back * (width - 2)
    y = text.y + top - SIZE - 1
    picture = io.BytesIO(png(_shown(str(svg)), scale=_PICTURE_SCALE))
    page.image(
        picture,
        x=_POINT * x,
        y=_POINT * y,
        w=_POINT * width,
        h=_POINT * height,
        alt_text=_shown(text.text),
    )


@functools.cache
def _styles() -> dict[str, dict[str, str]]:
    """Return the style properties of each CSS selector in the style sheet of figure files."""
    rules = re.findall(r"^([\w.]+)\{([^}]*)\}", sheet(), re.MULTILINE)
    return {
        name: dict(
            declaration.split(":", 1) for declaration in body.split(";") if declaration
        )
        for name, body in rules
    }


def _style(mark: Mark) -> dict[str, str]:
    names = {Line: "", Disc: "circle", Box: "rect", Strokes: "path", Text: "text"}
    element = names[type(mark)]
    name = f"{element}.{mark.name.replace(' ', '.')}" if mark.name else element
    return _styles().get(name, {})
