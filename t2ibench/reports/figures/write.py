"""A figure as files: SVG, PNG, and its numbers."""

from __future__ import annotations

from pathlib import Path

from t2ibench.reports.csv import WRITER
from t2ibench.reports.figures.draw import Drawn
from t2ibench.reports.figures.raster import is_png_of, png
from t2ibench.reports.writers import Table
from t2ibench.store.files import write_bytes, write_text


def write_figure(
    drawn: Drawn, about: str, folder: Path, name: str, numbers: str = ""
) -> tuple[Path, Path, Path]:
    """Write a figure as NAME.svg and NAME.png, with its numbers as NAME.csv."""
    alone = drawn.canvas.alone(about)
    vector, picture = folder / f"{name}.svg", folder / f"{name}.png"
    table = folder / f"{numbers or name}.csv"
    write_text(vector, alone.svg(alone=True) + "\n")
    if not is_png_of(picture, alone):  # pixels take longer than all else
        write_bytes(picture, png(alone))
    rows = [[str(cell) for cell in row] for row in drawn.rows]
    write_text(table, WRITER.table(Table(drawn.head, rows)))
    return vector, picture, table
