"""The rows of a result: every attribute, and what pixels show, by every edit; then outcomes."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.methods.core.edit_report import LEAN, OUTCOME
from t2ibench.methods.core.estimate import Item
from t2ibench.methods.core.score_names import join_score_name
from t2ibench.methods.edits.cautious_test import cautiously_tested
from t2ibench.methods.edits.changes import GroupedChange
from t2ibench.methods.edits.outcomes import OutcomeTest


def rows_of(
    followed: Sequence[GroupedChange], outcomes: Sequence[OutcomeTest], level: float
) -> list[Item]:
    """Return a row for each change and edit, the headline's first, and for each outcome.

    All are corrected together for the number of tests.
    """
    items = []
    for change in followed:
        for number, edit in enumerate(change.edits):
            items.append(_row_of_edit(change, number, edit, level))
    for test in outcomes:
        scores = {LEAN: cautiously_tested(test.difference, level)}
        for group, share in test.shares.items():
            scores[join_score_name("share", group)] = share
        items.append(Item(test.outcome, scores, OUTCOME, test.images))
    return items


def _row_of_edit(followed: GroupedChange, number: int, edit: str, level: float) -> Item:
    """Return the row of one change and one edit."""
    lean = followed.difference(level, [number])
    scores = {LEAN: cautiously_tested(lean, level)}
    for group, change in followed.changes(level, [number]).items():
        scores[join_score_name("change", group)] = change
    pairs = sum(
        changes.of_edits([number]).pairs for changes in followed.by_group.values()
    )
    return Item(edit, scores, followed.name, pairs)
