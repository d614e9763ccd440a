"""A figure as files: SVG, PNG and its numbers."""

from __future__ import annotations

import io
from importlib.resources import as_file, files
from pathlib import Path

from PIL import Image

from t2ibench.errors import visible_lines
from t2ibench.reports.csv import WRITER
from t2ibench.reports.figures.figure import Figure
from t2ibench.reports.writers import Table
from t2ibench.store.files import write_bytes, write_text

SCALE = 2  # pixels of the PNG for a CSS pixel
_COLOURS = 128
_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")


def write_figure(
    figure: Figure, about: str, folder: Path, name: str, numbers: str = ""
) -> tuple[Path, Path, Path]:
    """Write a figure as NAME.svg and NAME.png, with its numbers as NAME.csv."""
    vector, picture = folder / f"{name}.svg", folder / f"{name}.png"
    table = folder / f"{numbers or name}.csv"
    # What a terminal would obey is no XML either, nor are the last two characters.
    svg = visible_lines(figure.canvas.file_svg(about)).translate(_NO_XML) + "\n"
    if not (picture.is_file() and vector.is_file() and vector.read_bytes() == svg.encode()):
        write_bytes(picture, png(svg))  # takes longer than all else
        write_text(vector, svg)
    rows = [[str(cell) for cell in row] for row in figure.rows]
    write_text(table, WRITER.table(Table(figure.head, rows)))
    return vector, picture, table


def png(svg: str) -> bytes:
    """A figure as PNG, for what takes no SVG; with the package's font, the same everywhere."""
    import resvg_py

    fonts = files("t2ibench.reports") / "static" / "fonts"
    with (
        as_file(fonts / "figure-sans-regular.ttf") as regular,
        as_file(fonts / "figure-sans-bold.ttf") as bold,
    ):
        data = resvg_py.svg_to_bytes(
            svg_string=svg,
            background="#ffffff",
            zoom=SCALE,
            skip_system_fonts=True,
            font_files=[str(regular), str(bold)],
            sans_serif_family="Figure Sans",
        )
    image = Image.open(io.BytesIO(bytes(data))).convert("RGB")
    buffer = io.BytesIO()
    small = image.quantize(_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    small.save(buffer, format="PNG", dpi=(96 * SCALE, 96 * SCALE))
    return buffer.getvalue()
