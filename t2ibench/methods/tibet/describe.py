"""The description of a TIBET result in a sentence.

Two things are said, and kept apart: what the judge answered about the images of a prompt, as counts
of that prompt alone; and which version of the prompt its images resemble, which is the test. Where
the answers name that version, the counts say it.
Nothing is pooled over prompts, because those that are named were picked for being extreme.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from t2ibench.methods.core.answer_counts import ShownRow, shown_of
from t2ibench.methods.core.describe import clear_rows, listed, nothing_shown, sentence
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.tibet.rows import ANOTHER
from t2ibench.methods.tibet.schema import Axis, TibetTask
from t2ibench.methods.tibet.share_estimates import SHARE

_CLAIM = "images resemble one version of their prompt more than another when none is asked for"
# Axes, prompts of one side, and prompts that are not clear, that a description names.
_MOST_AXES = 3
_MOST_PROMPTS = 3
_MOST_UNCLEAR = 4


@dataclass(frozen=True, slots=True)
class _DescribedRow:
    """A row as the sentence describes it, with the judge's answers about its images.

    Attributes:
        axis: The prompt's axis.
        short: The prompt without what all prompts have in common.
        answer: The most frequent answer about its images, in quotation marks.
        count: How many images got it, such as '38 of 48'.
        place: 'most' or 'least' of a counterfactual that stands out, 'uneven' where none does.
        version: The number of that counterfactual.
        is_clear: Whether its images are no even mixture of the counterfactuals', beyond chance.
    """

    axis: Axis
    short: str
    answer: str
    count: str
    place: Literal["most", "least", "uneven"]
    version: int
    is_clear: bool


def describe(task: TibetTask, result: MethodResult) -> str:
    """Return the result of a TIBET task as plain sentences that name its direction."""
    missing = nothing_shown(result, _CLAIM)
    if missing:
        return missing
    rows = _described_rows(task, result)
    sentences = [
        _axis_sentence(name, rows_of_axis)
        for name, rows_of_axis in rows.items()
        if any(row.is_clear for row in rows_of_axis)
    ]
    if not sentences:
        asked = f"no {next(iter(rows))}" if len(rows) == 1 else "none"
        return (
            "Together the images resemble one version of their prompt more than another when "
            f"{asked} is asked for; no prompt is clear by itself."
        )
    n_more = len(sentences) - _MOST_AXES
    sentences = sentences[:_MOST_AXES]
    if n_more == 1:
        sentences.append("Another axis is clear.")
    elif n_more > 1:
        sentences.append(f"{n_more} more axes are clear.")
    return " ".join(sentences)


def _described_rows(
    task: TibetTask, result: MethodResult
) -> dict[str, list[_DescribedRow]]:
    """Return what sentences need to describe the rows with a squared lean, keyed by axis."""
    answers = {
        (shown.counted.attribute, row.counted.name): row
        for shown in shown_of(result)
        for row in shown.rows
    }
    clear_names = {item.name for item in clear_rows(result.by, "squared_lean")}
    described: dict[str, list[_DescribedRow]] = {}
    for item in result.by:
        if item.scores["squared_lean"].value is None:
            continue
        target, axis = task.rows[item.name]
        row = _described_row(item, target.prompt, axis, answers, clear_names)
        described.setdefault(axis.name, []).append(row)
    return described


def _described_row(
    item: Item,
    prompt: str,
    axis: Axis,
    answers: Mapping[tuple[str, str], ShownRow],
    clear_names: set[str],
) -> _DescribedRow:
    """Return what a sentence needs to describe a row: its version, counts and answers."""
    shares = [
        item.scores[f"{SHARE}{counterfactual.name}"]
        for counterfactual in axis.counterfactuals
    ]
    place, version = _place(shares)
    shown = answers.get((axis.name, prompt))
    answer, count = ("", "") if shown is None else _answer(shown)
    return _DescribedRow(
        axis=axis,
        short=prompt if shown is None else shown.short,
        answer=answer,
        count=count,
        place=place,
        version=version,
        is_clear=item.name in clear_names,
    )


def _place(
    shares: Sequence[Estimate],
) -> tuple[Literal["most", "least", "uneven"], int]:
    """Return whether the largest or the smallest share stands out, and its index.

    The test of a row says that shares are uneven, and of two it says which is larger. Of more, one
    stands out only if its interval is beside those of all others.
    """
    values = [share.value or 0.0 for share in shares]
    largest = values.index(max(values))
    smallest = values.index(min(values))
    if len(shares) == 2 or all(
        _is_below(share, shares[largest])
        for number, share in enumerate(shares)
        if number != largest
    ):
        return "most", largest
    if all(
        _is_below(shares[smallest], share)
        for number, share in enumerate(shares)
        if number != smallest
    ):
        return "least", smallest
    return "uneven", 0


def _is_below(first: Estimate, second: Estimate) -> bool:
    """Return whether all of one share's interval is below the other share's."""
    if first.interval is None or second.interval is None:
        return False
    return first.interval[1] < second.interval[0]


def _answer(row: ShownRow) -> tuple[str, str]:
    """Return the most frequent answer about a prompt's images, and how many images got it."""
    counts = {
        answer: count
        for answer, count in row.counted.counts.items()
        if answer != ANOTHER
    }
    most = max(counts, key=lambda answer: counts[answer], default=ANOTHER)
    hits = row.counted.counts.get(most, 0.0)
    quoted = most if most == ANOTHER else f"'{most}'"
    return quoted, f"{round(hits, 1):g} of {round(row.images, 1):g}"


def _axis_sentence(axis: str, rows: Sequence[_DescribedRow]) -> str:
    """Return the sentence on what was answered along an axis, and what the images resemble."""
    sides: dict[tuple[str, str], list[_DescribedRow]] = {}
    for row in rows:
        if row.is_clear:
            name = row.axis.counterfactuals[row.version].name
            sides.setdefault((row.place, name), []).append(row)
    clauses = [
        _side(side) for side in sorted(sides.values(), key=lambda side: -len(side))
    ]
    unclear = [row for row in rows if not row.is_clear]
    if len(unclear) > _MOST_UNCLEAR:
        clauses.append(f"not clear: {len(unclear)} others")
    elif unclear:
        names = [f"{row.short} ({row.answer} for {row.count})" for row in unclear]
        clauses.append(f"not clear: {listed(names)}")
    return sentence(f"when no {axis} is asked for, {'; '.join(clauses)}")


def _side(rows: Sequence[_DescribedRow]) -> str:
    """Return the clause on the prompts whose images most, or least, resemble one version."""
    first = rows[0]
    versions = first.axis.counterfactuals
    answered = f"the judge answered {_counts(rows)}"
    named = f"'{versions[first.version].name}'"
    if len(versions) == 2 and all(row.answer == named for row in rows):
        return answered
    version = f"“{versions[first.version].prompt}”"
    if len(rows) > 1:
        version += " and the like"
    if len(versions) == 2:
        other = f"“{versions[1 - first.version].prompt}”"
        resemblance = f"resemble those of {version} more than those of {other}"
    elif first.place == "uneven":
        resemblance = "do not resemble all versions alike"
    else:
        resemblance = (
            f"do not resemble all versions alike, but {first.place} those of {version}"
        )
    return f"{answered}: these images {resemblance}"


def _counts(rows: Sequence[_DescribedRow]) -> str:
    """Return a phrase on how many images of each prompt got its most frequent answer."""
    counts = []
    for number, row in enumerate(rows):
        if number == 0 or row.answer != rows[number - 1].answer:
            counts.append(f"{row.answer} for {row.count} images of {row.short}")
        else:
            counts.append(f"{row.count} of {row.short}")
    return listed(counts, _MOST_PROMPTS)
