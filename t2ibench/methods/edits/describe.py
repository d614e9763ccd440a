"""The result of an edit task in a sentence."""

from __future__ import annotations

from t2ibench.decimals import decimal
from t2ibench.methods.core.describe import (
    GROUP,
    clear_rows,
    listed,
    nothing_shown,
    people,
    percent,
    sentence,
    shown_class,
)
from t2ibench.methods.core.edit_report import (
    ALL_EDITS,
    LEAN,
    OUTCOME,
    AttributeChange,
    ShareChange,
    edit_report,
)
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.score_names import join_score_name
from t2ibench.methods.edits.schema import EditAttribute, EditsTask

_MOST_EDITS = 3


def describe(task: EditsTask, result: MethodResult) -> str:
    """Return the result of an edit task as plain sentences: who is shown as what, and how often.

    Counts are those of the images that were answered for; which group changes more is said only
    where the test shows it.
    """
    attribute = task.headline_attribute
    shares = _shares_of_all_edits(result, attribute)
    first, second = task.compared_groups
    missing = nothing_shown(result, _claim(attribute, first, second))
    if missing:
        counts = _counts(attribute, shares) if result.headline.value is not None else ""
        parts = [missing, counts, _measured_alone(result), _outcomes(task, result)]
        return " ".join(filter(None, parts))
    more, less = (
        (first, second) if (result.headline.value or 0.0) > 0 else (second, first)
    )
    parts = [
        sentence(_finding(attribute, more, less)),
        _counts(attribute, shares),
        _clear_edits(result, attribute),
        _corrected(task, result),
        _outcomes(task, result),
    ]
    return " ".join(filter(None, parts))


def _claim(attribute: EditAttribute, first: str, second: str) -> str:
    """Return the clause that is open where the test shows nothing."""
    who = people(first, GROUP)
    others = people(second, GROUP)
    if attribute.defines_groups:
        return f"edits change {who} more often than {others}, or less often"
    return f"{_finding(attribute, first, second)}, or less"


def _finding(attribute: EditAttribute, more: str, less: str) -> str:
    """Return the clause on which group is changed more."""
    who = people(more, GROUP)
    others = people(less, GROUP)
    if attribute.defines_groups:
        return f"edited, {who} are shown as another group more often than {others}"
    shown = attribute.followed_class(more)
    return f"edits shift {who} towards '{shown}' more than {others}"


def _shares_of_all_edits(
    result: MethodResult, attribute: EditAttribute
) -> list[ShareChange]:
    """Return what changed over all edits in each group, for the headline's attribute."""
    report = edit_report(result.details)
    changes: tuple[AttributeChange, ...] = () if report is None else report.attributes
    for change in changes:
        if change.attribute == attribute.full_name:
            return [row for row in change.shares if row.edit == ALL_EDITS]
    return []


def _counts(attribute: EditAttribute, shares: list[ShareChange]) -> str:
    """Return a sentence on each group's share before and after; '' without any."""
    clauses = []
    for row in shares:
        if row.before is None or row.after is None:
            continue
        shown = shown_class(attribute.followed_class(row.group), attribute.full_name)
        clauses.append(
            f"of {people(row.group, GROUP)}, {percent(row.before)} of the source images and "
            f"{percent(row.after)} of the edits show {shown}"
        )
    return sentence("; ".join(clauses)) if clauses else ""


def _clear_edits(result: MethodResult, attribute: EditAttribute) -> str:
    """Return a sentence on the edits that are clear by themselves; '' where none is."""
    clear = [
        item
        for item in clear_rows(result.by, LEAN)
        if item.group == attribute.full_name
    ]
    if not clear:
        return "No edit is clear by itself."
    names = [f"'{item.name}'" for item in clear]
    return f"Clear by themselves: {listed(names, _MOST_EDITS)}."


def _measured_alone(result: MethodResult) -> str:
    """Return a sentence on what pixels show where nothing was answered; '' where it was."""
    report = edit_report(result.details)
    if result.headline.value is not None or report is None:
        return ""
    sentences = []
    for change in report.attributes:
        if not change.is_measured:
            continue
        clear = [
            f"'{item.name}'"
            for item in clear_rows(result.by, LEAN)
            if item.group == change.attribute
        ]
        which = "No edit"
        if clear:
            which = sentence(listed(clear, _MOST_EDITS)).removesuffix(".")
        verb = "changes" if len(clear) < 2 else "change"
        sentences.append(
            f"{which} clearly {verb} the {change.attribute}, measured on the pixels, more in one "
            "group than in the other."
        )
    return " ".join(sentences)


def _corrected(task: EditsTask, result: MethodResult) -> str:
    """Return a sentence on the lean that labels of pairs show; '' without labels."""
    lean = result.scores.get("lean_corrected")
    if lean is None or lean.value is None or lean.interval is None:
        return ""
    value, low, high = (
        decimal(number, 2, sign=True) for number in (lean.value, *lean.interval)
    )
    first, second = (
        result.scores[join_score_name("labelled_pairs", group)].value or 0.0
        for group in task.compared_groups
    )
    return (
        f"People's labels of {first:.0f} and {second:.0f} pairs, which correct the judge, make "
        f"the lean {value} ({low} to {high}); the headline and its test are the judge's."
    )


def _outcomes(task: EditsTask, result: MethodResult) -> str:
    """Return a sentence on outcomes that clearly differ between the groups; '' where none does."""
    first, second = task.compared_groups
    clauses = []
    for item in clear_rows(result.by, LEAN):
        if item.group == OUTCOME:
            share_of_first = item.scores[f"share:{first}"].value or 0.0
            share_of_second = item.scores[f"share:{second}"].value or 0.0
            clauses.append(
                f"{item.name}: {percent(share_of_first)} of the edits of {people(first, GROUP)}, "
                f"{percent(share_of_second)} of those of {people(second, GROUP)}"
            )
    return sentence("; ".join(clauses)) if clauses else ""
