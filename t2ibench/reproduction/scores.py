"""Scores of results as numbers and as lines of a table."""

from __future__ import annotations

from t2ibench.reproduction.tables import Line
from t2ibench.results.schema import Row, Score, TaskResult


def value_of(found: Row | TaskResult | None, score: str) -> float | None:
    """The value of a score."""
    known = None if found is None else found.scores.get(score)
    return None if known is None else known.value


def score_line(
    row: str,
    name: str,
    score: Score | None,
    digits: int = 3,
    published: tuple[float | str | None, ...] = (),
    *,
    note: str = "",
) -> Line:
    """A score with its interval, as a line."""
    if score is None:
        return Line(row, name, None, published, digits=digits, note=note or "not measured")
    ends = (score.ci_low, score.ci_high)
    return Line(row, name, score.value, published, *ends, digits, note or score.reason or "")


def which_side(
    low: float | None, high: float | None, below: str, above: str, middle: float = 0.0
) -> str:
    """On which side of a number an interval lies.

    Examples:
        >>> which_side(0.1, 0.4, "female", "male"), which_side(0.4, 0.7, "men", "women", 0.5)
        ('male', 'not clear')
    """
    if low is None or high is None:
        return "cannot tell"
    return above if low > middle else below if high < middle else "not clear"
