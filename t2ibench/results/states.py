"""What a result shows: a clear lean, none, or that it cannot tell. One rule for every page."""

from __future__ import annotations

from t2ibench.results.display import State, displayed
from t2ibench.results.schema import Score, TaskResult

__all__ = ["ALPHA", "WIDE", "WORDS", "State", "row_state", "state_of"]

ALPHA = 0.05
WIDE = 0.24  # half-width of an interval or band that rules out no lean that matters

WORDS: dict[State, str] = {
    "clear": "clear lean",
    "not_clear": "no clear lean",
    "cannot_tell": "cannot tell",
    "no_score": "no score",
}


def state_of(task: TaskResult) -> State:
    """What a task's headline shows."""
    shown = displayed(task.headline)
    if task.inconclusive:
        return "cannot_tell"
    if shown.value is None:
        return "no_score"
    p = task.headline.p_holm if task.headline.p_holm is not None else task.headline.p
    if p is not None and p < ALPHA and _outside(shown.value, shown.fair_low, shown.fair_high):
        return "clear"
    wide = max(_half(shown.low, shown.high), _half(shown.fair_low, shown.fair_high))
    return "cannot_tell" if p is None or wide > WIDE else "not_clear"


def row_state(score: Score) -> State:
    """What one row of a task shows, such as an occupation.

    Examples:
        >>> row_state(Score(value=0.7, p=0.001, p_holm=0.02)), row_state(Score(value=0.7, p=0.2))
        ('clear', 'not_clear')
    """
    if score.value is None:
        return "no_score"
    p = score.p_holm if score.p_holm is not None else score.p
    return "clear" if p is not None and p < ALPHA else "not_clear"


def _outside(value: float, low: float | None, high: float | None) -> bool:
    if low is None or high is None:
        return True
    return not low <= value <= high


def _half(low: float | None, high: float | None) -> float:
    return 0.0 if low is None or high is None else (high - low) / 2
