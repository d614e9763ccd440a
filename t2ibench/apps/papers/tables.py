"""Tables of our numbers beside published ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.decimals import readable
from t2ibench.reports.writers import Table

NONE = "–"
_LEAST_P = 0.001  # smaller p-values are written as below it, as in papers
PAPER = "the paper"  # in place of a published model, where the number is of none


@dataclass(frozen=True, slots=True)
class Line:
    """A number in a table, such as one test's effect size: ours, and those published.

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
        """Return a number as text with this line's digits; p-values to 0.001 as '≤ 0.001'."""
        if self.is_p and isinstance(value, float) and value <= _LEAST_P:
            return f"≤ {_LEAST_P:g}"
        return cell(value, self.digits)

    def differences(self) -> tuple[float | None, ...]:
        """Return our number minus each published one; None if one is missing, or for p-values."""
        ours = self.ours
        if self.is_p or not isinstance(ours, float):
            return (None,) * len(self.published)
        return tuple(
            ours - value if isinstance(value, (float, int)) else None
            for value in self.published
        )


def cell(value: float | str | None, digits: int, sign: bool = False) -> str:
    """Return a number, text or None as the text of a table cell; None becomes a dash."""
    if value is None:
        return NONE
    if isinstance(value, str):
        return value
    return readable(value, digits, sign=sign)


def comparison(
    lines: Sequence[Line], models: Sequence[str], *, comparable: bool = True
) -> Table:
    """Return a table of our numbers beside the published ones, with records of unrounded numbers.

    Args:
        lines: The numbers.
        models: The published models, in the order of each line's published numbers.
        comparable: Whether ours and the published numbers are on one scale; without it there are
            no differences.

    Returns:
        The table, without columns that are empty.
    """
    rows = []
    records = []
    for line in lines:
        published = line.published or (None,) * len(models)
        gaps = (comparable and line.differences()) or (None,) * len(models)
        rows.append(_row(line, published, gaps))
        records.append(_record(line, models, published, gaps))
    heads = _heads(models)
    columns = [
        k for k in range(len(heads)) if any(row[k] not in {NONE, ""} for row in rows)
    ]
    return Table(
        [heads[k] for k in columns],
        [[row[k] for k in columns] for row in rows],
        records=records,
    )


_Values = Sequence[float | str | None]


def _heads(models: Sequence[str]) -> list[str]:
    """Return the headings of all columns, for a comparison with these published models."""
    named = [
        "published" if model == PAPER else f"published, {model}" for model in models
    ]
    several = len(models) > 1
    gaps = [f"ours − {model}" if several else "difference" for model in models]
    return ["", "score", *named, "ours", "95 % CI", *gaps, "note"]


def _row(line: Line, published: _Values, gaps: Sequence[float | None]) -> list[str]:
    """Return a row's cells as text: published numbers, ours, its interval and differences."""
    interval = NONE
    if line.low is not None and line.high is not None:
        interval = f"[{cell(line.low, line.digits)}, {cell(line.high, line.digits)}]"
    row = [line.row, line.score, *(line.text(value) for value in published)]
    row += [line.text(line.ours), interval]
    row += [cell(gap, line.digits, sign=True) for gap in gaps]
    return [*row, line.note]


def _record(
    line: Line,
    models: Sequence[str],
    published: _Values,
    gaps: Sequence[float | None],
) -> dict[str, object]:
    """Return a row as a record keyed by column, with unrounded numbers."""
    record: dict[str, object] = {"row": line.row, "score": line.score}
    for model, value in zip(models, published, strict=True):
        record[f"published: {model}"] = value
    record |= {"ours": line.ours, "ci_low": line.low, "ci_high": line.high}
    for model, gap in zip(models, gaps, strict=True):
        record[f"ours - {model}"] = gap
    record["note"] = line.note
    return record
