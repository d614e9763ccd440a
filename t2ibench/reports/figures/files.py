"""A figure as files: SVG, PNG and its numbers; for papers SVG and PDF in the width of a column."""

from __future__ import annotations

import contextlib
import functools
import io
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timezone
from importlib.resources import as_file, files
from pathlib import Path

from PIL import Image, ImageFont

from t2ibench.errors import check_installed, visible_lines
from t2ibench.reports.csv import WRITER
from t2ibench.reports.figures.canvas import MARGIN, SIZE, Box, Canvas, Disc, Line, Text, sheet
from t2ibench.reports.figures.figure import Figure
from t2ibench.reports.writers import Table
from t2ibench.store.files import write_bytes, write_text

SCALE = 2  # pixels of the PNG for a CSS pixel
PAPER = {"column": 3.3, "page": 6.9}  # inches: the widths of figures in a paper of two columns
_POINTS = 7.0  # of the text of such a figure
_EDGE = 2.0  # CSS pixels around it
_COLOURS = 128
_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")


def write_figure(
    figure: Figure, about: str, folder: Path, name: str, numbers: str = ""
) -> tuple[Path, Path, Path]:
    """Write a figure as NAME.svg and NAME.png, with its numbers as NAME.csv."""
    vector, picture = folder / f"{name}.svg", folder / f"{name}.png"
    table = folder / f"{numbers or name}.csv"
    svg = _svg(figure.canvas.framed(MARGIN, about))
    if not (picture.is_file() and vector.is_file() and vector.read_bytes() == svg.encode()):
        write_bytes(picture, png(svg))  # takes longer than all else
        write_text(vector, svg)
    rows = [[str(cell) for cell in row] for row in figure.rows]
    write_text(table, WRITER.table(Table(figure.head, rows)))
    return vector, picture, table


def write_for_paper(make: Callable[[float], Figure | None], folder: Path, name: str) -> list[Path]:
    """Write NAME-column and NAME-page as .svg and .pdf; `make` draws so many CSS pixels wide."""
    written = []
    for size, inches in PAPER.items():
        figure = make(72 * inches * SIZE / _POINTS - 2 * _EDGE)
        if figure is not None:
            canvas, path = figure.canvas.framed(_EDGE), folder / f"{name}-{size}.svg"
            write_text(path, _svg(_measured(canvas), inches))
            write_bytes(path.with_suffix(".pdf"), pdf(canvas, inches))
            written += [path, path.with_suffix(".pdf")]
    return written


def _svg(canvas: Canvas, inches: float | None = None) -> str:
    """A file; what a terminal would obey is no XML either, nor are the last two characters."""
    return visible_lines(canvas.svg(alone=True, inches=inches)).translate(_NO_XML) + "\n"


def _measured(canvas: Canvas) -> Canvas:
    """A figure whose texts are as wide in any font as in the package's own."""
    with _fonts() as fonts:
        plain = ImageFont.Layout.BASIC  # the same everywhere
        regular, bold = (ImageFont.truetype(font, 100, layout_engine=plain) for font in fonts)

    def wide(mark: Text) -> float:
        font = bold if "font-weight" in _style(mark) else regular
        return font.getlength(mark.text) * SIZE / 100

    return replace(
        canvas,
        marks=[
            replace(mark, length=wide(mark)) if isinstance(mark, Text) and mark.text else mark
            for mark in canvas.marks
        ],
    )


@contextlib.contextmanager
def _fonts() -> Iterator[tuple[str, str]]:
    """The package's font, regular and bold, as files."""
    folder = files("t2ibench.reports") / "static" / "fonts"
    with ExitStack() as opened:
        regular, bold = (
            str(opened.enter_context(as_file(folder / f"figure-sans-{name}.ttf")))
            for name in ("regular", "bold")
        )
        yield regular, bold


def png(svg: str) -> bytes:
    """A figure as PNG, for what takes no SVG; with the package's font, the same everywhere."""
    import resvg_py

    with _fonts() as fonts:
        data = resvg_py.svg_to_bytes(
            svg_string=svg,
            background="#ffffff",
            zoom=SCALE,
            skip_system_fonts=True,
            font_files=list(fonts),
            sans_serif_family="Figure Sans",
        )
    image = Image.open(io.BytesIO(bytes(data))).convert("RGB")
    buffer = io.BytesIO()
    small = image.quantize(_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    small.save(buffer, format="PNG", dpi=(96 * SCALE, 96 * SCALE))
    return buffer.getvalue()


@functools.cache
def _styles() -> dict[str, dict[str, str]]:
    """Selector to what the style sheet of files says of it."""
    rules = re.findall(r"^([\w.]+)\{([^}]*)\}", sheet(), re.MULTILINE)
    return {name: dict(one.split(":", 1) for one in body.split(";") if one) for name, body in rules}


def _style(mark: Line | Disc | Box | Text) -> dict[str, str]:
    element = {Line: "", Disc: "circle", Box: "rect", Text: "text"}[type(mark)]
    name = f"{element}.{mark.name.replace(' ', '.')}" if mark.name else element
    return _styles().get(name, {})


def pdf(canvas: Canvas, inches: float) -> bytes:
    """A figure as PDF, so many inches wide; its font is within."""
    check_installed("fpdf", "figures")
    from fpdf import FPDF
    from fpdf.enums import RenderStyle

    unit = 72 * inches / canvas.width
    page = FPDF(unit="pt", format=(72 * inches, unit * canvas.height))
    page.set_creation_date(datetime(2000, 1, 1, tzinfo=timezone.utc))  # the same bytes every time
    page.set_title(canvas.title)
    page.set_auto_page_break(False)
    with _fonts() as fonts:
        for style, font in zip(("", "B"), fonts, strict=True):
            page.add_font("figure", style, font)
    page.add_page()
    for mark in canvas.marks:
        look = _style(mark)
        page.set_line_width(unit * float(look.get("stroke-width", 1)))
        if stroke := look.get("stroke"):
            page.set_draw_color(stroke)
        if (fill := look.get("fill", "none")) != "none":
            page.set_fill_color(fill)
            page.set_text_color(fill)
        if isinstance(mark, Line):
            dash, gap = map(float, look.get("stroke-dasharray", "0 0").split())
            page.set_dash_pattern(unit * dash, unit * gap)
            page.polyline([(unit * x, unit * y) for x, y in mark.points])
            page.set_dash_pattern()
        elif isinstance(mark, Disc):
            how = RenderStyle.DF if stroke else RenderStyle.F
            with page.local_context(fill_opacity=float(look.get("opacity", 1))):
                page.circle(unit * mark.x, unit * mark.y, unit * mark.radius, how)
        elif isinstance(mark, Box):
            page.rect(unit * mark.x, unit * mark.y, unit * mark.width, unit * mark.height, "F")
        else:
            page.set_font("figure", "B" if "font-weight" in look else "", unit * SIZE)
            words = visible_lines(mark.text).translate(_NO_XML)
            back = {"start": 0.0, "middle": 0.5, "end": 1.0}[mark.anchor]
            page.text(unit * mark.x - back * page.get_string_width(words), unit * mark.y, words)
    return bytes(page.output())
