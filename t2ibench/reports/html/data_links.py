"""Tables as links that hold their data, so that a report which was mailed still has them."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from markupsafe import Markup

from t2ibench.reports.csv import WRITER
from t2ibench.reports.writers import Table
from t2ibench.store.files import UNWRITABLE

# It saves a file that works without the folder of the page.
_LINK = Markup(
    '<a class="csv noprint" download="{name}.csv" href="data:text/csv;charset=utf-8,{data}">'
    'Save as CSV<span class="sr"> ({name})</span></a>'
)
# What a data URL within an attribute may hold as it is; the rest is written as %XX.
_SAFE = " ,.;:/()[]=+-_!?*@|^~$'"
_DIGITS = 6  # significant digits; results.json has more
_MINUS = "\N{MINUS SIGN}"


def csv_link(
    name: str, heads: Sequence[str], rows: Sequence[Sequence[object]]
) -> Markup:
    """Return a link that saves a table as CSV, with its data in the link itself.

    Args:
        name: Of the file, without its suffix.
        heads: The headings of the columns.
        rows: The cells: texts, numbers, and None for what is unknown.
    """
    cells = [[_text(cell) for cell in row] for row in rows]
    text = WRITER.table(Table(list(heads), cells))
    return _LINK.format(name=name, data=quote(text, safe=_SAFE, errors=UNWRITABLE))


def _text(cell: object) -> str:
    """Return a cell as text that programs read: a number has a point and a plain minus."""
    if cell is None:
        return ""
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else f"{cell:.{_DIGITS}g}"
    return _with_plain_minus(str(cell))


def _with_plain_minus(text: str) -> str:
    """Return a text unchanged, unless it is a negative number as pages write it."""
    plain = text.replace(_MINUS, "-")
    try:
        float(plain)
    except ValueError:
        return text
    return plain
