"""Tables of a task's scores for pages, such as those of grammatical forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

SCORE_TABLES = "score_tables"  # the key of `details`


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """A table of chosen scores of a task, keyed by their names for readers.

    Attributes:
        title: What the table shows.
        caption: What a reader must know of its numbers.
        rows: What each row is called, to the name of its score.
        adjusted: The key of `details` with the scores' p-values after Holm, by name.
        signed: Whether a positive value is written with a plus, as leans and differences are;
            shares have none.
    """

    title: str
    caption: str
    rows: dict[str, str] = field(default_factory=dict)
    adjusted: str = ""
    signed: bool = True


_TABLES = TypeAdapter(list[ScoreTable])
_P_VALUES = TypeAdapter(dict[str, float | None])


def score_tables(details: Mapping[str, Any]) -> list[ScoreTable]:
    """Return the score tables in a result's `details`; none if they are malformed."""
    try:
        return _TABLES.validate_python(details.get(SCORE_TABLES, []))
    except ValidationError:  # of a method that means something else by the name
        return []


def adjusted_p_values(
    details: Mapping[str, Any], table: ScoreTable
) -> dict[str, float | None]:
    """Return the Holm-corrected p-values of a table's scores, keyed by score name."""
    try:
        return _P_VALUES.validate_python(details.get(table.adjusted, {}))
    except ValidationError:
        return {}
