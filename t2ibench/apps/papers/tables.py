"""Tables of published numbers beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.reports.writers import Table

NONE = "–"
_LEAST_P = 0.001  # a table says no more than that of smaller ones, as papers do
PAPER = "the paper"  # in place of a published model, where the number is of none


@dataclass(frozen=True, slots=True)
class Line:
    """A number in a table, such as 'd' of a test: ours, and that of each published model.

    `low` and `high` are the ends of our 95 % interval, where there is one that is vouched for.
    Of a p-value (`is_p`) no difference is taken: it says how sure each is, not how large.
    """

    row: str
    score: str
    ours: float | str | None
    published: tuple[float | str | None, ...] = ()
    low: float | None = None
    high: float | None = None
    digits: int = 3
    note: str = ""
    is_p: bool = False

    def text(self, value: float | str | None) -> str:
        """Return a number of this line as text; p-values up to .001 are shown as that bound."""
        if self.is_p and isinstance(value, float) and value <= _LEAST_P:
            return f"≤ {_LEAST_P:g}"
        return cell(value, self.digits)

    def differences(self) -> tuple[float | None, ...]:
        """Return ours minus each published number; None if either is missing."""
        ours = self.ours
        if self.is_p or not isinstance(ours, float):
            return (None,) * len(self.published)
        return tuple(
            ours - value if isinstance(value, (float, int)) else None
            for value in self.published
        )


def cell(value: float | str | None, digits: int, sign: bool = False) -> str:
    """Format a table cell: a number without a sign if it rounds to 0, a text, or a dash."""
    if value is None:
        return NONE
    if isinstance(value, str):
        return value
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    return text.lstrip("+-") if not float(text) else text


def comparison(
    lines: Sequence[Line], models: Sequence[str], *, comparable: bool = True
) -> Table:
    """Return lines as a table, with unrounded records and every column.

    Args:
        lines: The numbers.
        models: The published models, in the order of each line's published numbers.
        comparable: Whether ours and the published numbers are on one scale; without it there are
            no differences.

    Returns:
        The table, without columns that are empty.
    """
    named = [
        "published" if model == PAPER else f"published, {model}" for model in models
    ]
    heads = ["", "score", *named, "ours", "95 % CI"]
    heads += [
        f"ours − {model}" if len(models) > 1 else "difference" for model in models
    ] + ["note"]
    rows = []
    records = []
    for line in lines:
        published = line.published or (None,) * len(models)
        gaps = (comparable and line.differences()) or (None,) * len(models)
        ends = (line.low, line.high)
        within = (
            None
            if None in ends
            else f"[{', '.join(cell(x, line.digits) for x in ends)}]"
        )
        row = [line.row, line.score, *(line.text(value) for value in published)]
        row += [line.text(line.ours), within or NONE]
        rows.append(
            [*row, *(cell(gap, line.digits, sign=True) for gap in gaps), line.note]
        )
        record: dict[str, object] = {"row": line.row, "score": line.score}
        record |= {
            f"published: {model}": x for model, x in zip(models, published, strict=True)
        }
        record |= {"ours": line.ours, "ci_low": line.low, "ci_high": line.high}
        record |= {f"ours - {model}": x for model, x in zip(models, gaps, strict=True)}
        records.append(record | {"note": line.note})
    columns = [
        k for k in range(len(heads)) if any(row[k] not in {NONE, ""} for row in rows)
    ]
    return Table(
        [heads[k] for k in columns],
        [[row[k] for k in columns] for row in rows],
        records=records,
    )
