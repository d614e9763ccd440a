"""Comparison of two runs, such as a model and its debiased version or its training images."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.methods import method_named
from t2ibench.methods.core.headline import Part
from t2ibench.results.comparison_claims import with_claims
from t2ibench.results.comparison_remarks import Remarks, remarks_on
from t2ibench.results.contrast import (
    Contrast,
    change_of_leans,
    detectable_difference,
    difference_interval,
    linear,
    with_p_of_interval,
)
from t2ibench.results.display import displayed
from t2ibench.results.json_record import rounded
from t2ibench.results.paired import PairedTask
from t2ibench.results.prompt_changes import compare_prompts, p_values_of_answers
from t2ibench.results.schema import Headline, Results, Row, Score, TaskResult
from t2ibench.results.score_difference import Difference, Verdict
from t2ibench.results.square_contrast import compare_items, mean_square_of

# The row score of which it is known that 0 is balanced.
LEAN = "lean"


def compare(
    first: Results,
    second: Results,
    first_paired: Mapping[str, PairedTask] | None = None,
    second_paired: Mapping[str, PairedTask] | None = None,
    *,
    rows: bool = True,
) -> list[Difference]:
    """Return the differences of headlines and rows between two runs, with verdicts.

    Tasks of both runs are compared; rows, where a method has scores of them to compare.

    Images are paired by prompt and index: a run and itself differ by exactly 0 [0, 0].

    Args:
        first: A run.
        second: Another.
        first_paired: The influences of the first run by task; None where it has none.
        second_paired: Those of the second.
        rows: Whether rows are compared, too.

    Returns:
        For each task of both runs the difference of the headlines, followed by those of its rows.
    """
    differences = []
    answers = p_values_of_answers(compare_prompts(first, second))
    for name, task in first.tasks.items():
        other = second.tasks.get(name)
        if other is None:
            continue
        influences = (first_paired or {}).get(name)
        other_influences = (second_paired or {}).get(name)
        paired = None
        if influences is not None and other_influences is not None:
            paired = (influences, other_influences)
        pair = _TaskPair(name, task, other, remarks_on(task, other), paired)
        headlines = _compare_headlines(pair)
        if headlines.p_differ is None and pair.remarks.testable:
            # Counts of answers tell two models apart even where they give no lean.
            headlines = replace(headlines, p_differ=answers.get(name))
        differences.append(headlines)
        if rows:
            differences += _compare_rows(pair)
    return with_claims(differences)


@dataclass(frozen=True, slots=True)
class _TaskPair:
    """The results of one task in two runs, with the influences of their images.

    Attributes:
        name: The task's name.
        first: Its result in the first run.
        second: Its result in the second run.
        remarks: What differs between the results other than the models.
        paired: The influences of either result; None where a run has none.
    """

    name: str
    first: TaskResult
    second: TaskResult
    remarks: Remarks
    paired: tuple[PairedTask, PairedTask] | None

    @property
    def level(self) -> float:
        """Confidence level of both runs."""
        return self.first.settings.level


@dataclass(frozen=True, slots=True)
class _ScorePair:
    """One score of a task or row, as two runs measured it.

    Attributes:
        row: The row's name; empty for the headline.
        name: The score's name.
        first: The score in the first run.
        second: The score in the second run.
        signed: Whether the score is a lean, whose sign says to which side.
        ranked: Whether a verdict says which run leans less.
    """

    row: str
    name: str
    first: Score
    second: Score
    signed: bool
    ranked: bool = True

    @property
    def difference(self) -> float:
        """First run's score minus the second's."""
        return (self.first.value or 0.0) - (self.second.value or 0.0)

    @property
    def total(self) -> float:
        """Sum of both runs' scores."""
        return (self.first.value or 0.0) + (self.second.value or 0.0)


@dataclass(frozen=True, slots=True)
class _Measurement:
    """How one score differs between two runs, before p-values are corrected.

    Attributes:
        difference: The difference.
        change: By how much more the second run leans.
        p_differ: p-value that both runs are alike.
        paired: Whether it was measured image by image.
        detectable: The least true difference that is detected in 8 of 10 cases.
        notes: What is special about this measurement, in words.
    """

    difference: Contrast
    change: Contrast
    p_differ: float | None
    paired: bool = True
    detectable: float | None = None
    notes: tuple[str, ...] = ()


def _compare_headlines(pair: _TaskPair) -> Difference:
    first = pair.first.headline
    second = pair.second.headline
    signed = first.scale == "lean"
    scores = _ScorePair("", "headline", first, second, signed)
    if not pair.remarks.comparable or first.value is None or second.value is None:
        return _not_compared(pair, scores)
    if (first.scale, first.question) != (second.scale, second.question):
        return _not_compared(pair, scores, "another kind of headline")
    if pair.paired is None or not _are_current(pair.paired, (first, second)):
        return _compared(pair, scores, _unpaired(scores, pair.level))
    if first.scale == "mean_square":
        measured = _paired_squares(pair, pair.paired)
        if measured is None:
            return _not_compared(pair, scores, "no row in common")
        return _compared(pair, scores, measured)
    part = pair.paired[0].headline[0]
    other = pair.paired[1].headline[0]
    detectable = detectable_difference(part.influence, other.influence, pair.level)
    measured = _paired(pair, scores, part, other)
    return _compared(pair, scores, replace(measured, detectable=detectable))


def _compare_rows(pair: _TaskPair) -> Iterator[Difference]:
    rows = _unique_rows(pair.first.by)
    other_rows = _unique_rows(pair.second.by)
    for name in method_named(pair.first.method).row_scores:
        for key, row in rows.items():
            other = other_rows.get(key)
            if other is None or name not in row.scores or name not in other.scores:
                continue
            signed = name == LEAN
            scores = _ScorePair(
                row.name, name, row.scores[name], other.scores[name], signed, signed
            )
            yield _compare_row(pair, scores)


def _compare_row(pair: _TaskPair, scores: _ScorePair) -> Difference:
    first = scores.first
    second = scores.second
    if not pair.remarks.comparable or first.value is None or second.value is None:
        return _not_compared(pair, scores)
    measured = _unpaired(scores, pair.level)
    if pair.paired is not None and not (first.as_published or second.as_published):
        part = pair.paired[0].rows.get((scores.row, scores.name))
        other = pair.paired[1].rows.get((scores.row, scores.name))
        if (
            part is not None
            and other is not None
            and _is_equal(first.value, part.value)
            and _is_equal(second.value, other.value)
        ):
            measured = _paired(pair, scores, part, other)
    return _compared(pair, scores, measured)


def _not_compared(pair: _TaskPair, scores: _ScorePair, *notes: str) -> Difference:
    return Difference(
        pair.name,
        scores.row,
        scores.name,
        scores.first,
        scores.second,
        level=pair.level,
        notes=(*pair.remarks.notes, *notes),
    )


def _compared(
    pair: _TaskPair, scores: _ScorePair, measured: _Measurement
) -> Difference:
    """Return the difference of one score, rounded and with p-values that are not corrected yet."""
    difference = measured.difference
    change = Contrast(
        rounded(measured.change.value) or 0.0,
        rounded(measured.change.low),
        rounded(measured.change.high),
        rounded(measured.change.p),
    )
    remarks = pair.remarks
    verdict: Verdict | None = None
    if scores.ranked and remarks.decidable and change.p is not None:
        # Until corrected p-values are known, nothing is claimed.
        verdict = "tie"
    blank = _not_compared(pair, scores)
    valued = replace(
        blank,
        value=rounded(difference.value),
        low=rounded(difference.low),
        high=rounded(difference.high),
        detectable=rounded(measured.detectable),
        paired=measured.paired,
        notes=(*remarks.notes, *measured.notes),
    )
    return replace(
        valued,
        change=change,
        p=change.p if remarks.decidable else None,
        p_differ=rounded(measured.p_differ) if remarks.testable else None,
        comparable=remarks.decidable,
        verdict=verdict,
    )


def _paired(
    pair: _TaskPair, scores: _ScorePair, first: Part, second: Part
) -> _Measurement:
    """Return how one score differs between two runs, paired by units such as images."""
    difference = linear(
        scores.difference, first.influence, second.influence, pair.level
    )
    change = difference.turned
    if scores.signed:
        total = linear(
            first.value + second.value,
            first.influence,
            second.influence,
            pair.level,
            sign=1.0,
        )
        change = change_of_leans(difference, total)
    return _Measurement(difference, change, p_differ=difference.p)


def _unpaired(scores: _ScorePair, level: float) -> _Measurement:
    """Return how one score differs between two runs that are treated as independent."""
    first = scores.first
    second = scores.second
    if not scores.signed:
        first = _as_displayed(first)
        second = _as_displayed(second)
    value = (first.value or 0.0) - (second.value or 0.0)
    ends = difference_interval(first, second)
    difference = with_p_of_interval(Contrast(value, *ends), level)
    change = difference.turned
    if scores.signed:
        ends_of_total = difference_interval(first, second, 1.0)
        total = with_p_of_interval(Contrast(scores.total, *ends_of_total), level)
        change = change_of_leans(difference, total)
    return _Measurement(
        difference,
        change,
        p_differ=difference.p,
        paired=False,
        notes=("unpaired",),
    )


def _as_displayed(score: Score) -> Score:
    """Return a headline's value and interval on the scale of tables; other scores unchanged."""
    if not isinstance(score, Headline):
        return score
    mark = displayed(score)
    return Score(value=mark.value, ci_low=mark.low, ci_high=mark.high)


def _paired_squares(
    pair: _TaskPair, paired: tuple[PairedTask, PairedTask]
) -> _Measurement | None:
    """Return how root mean squares over shared rows differ; None if no row is shared."""
    first, second = paired
    items = items_of(first)
    other_items = {part.name: part for part in items_of(second)}
    shared = [part for part in items if part.name in other_items]
    if not shared:
        return None
    others = [other_items[part.name] for part in shared]
    squares = (
        pair.first.headline.value or 0.0,
        pair.second.headline.value or 0.0,
    )
    noises = (first.noise, second.noise)
    notes: tuple[str, ...] = ()
    most = max(len(items), len(other_items))
    if len(shared) < most:
        squares = (mean_square_of(shared), mean_square_of(others))
        noises = (None, None)
        notes = (f"{len(shared)} of {most} rows in common",)
    seed = int.from_bytes(hashlib.sha256(pair.name.encode()).digest()[:8], "big")
    contrast = compare_items(
        (shared, others), squares, noises, np.random.default_rng(seed), pair.level
    )
    return _Measurement(
        contrast.difference,
        contrast.difference.turned,
        p_differ=contrast.p_items,
        detectable=contrast.detectable,
        notes=notes,
    )


def _are_current(
    paired: tuple[PairedTask, PairedTask], headlines: tuple[Headline, Headline]
) -> bool:
    """Return whether the stored influences of both runs belong to their present headlines."""
    return all(
        is_current(influences, headline)
        for influences, headline in zip(paired, headlines, strict=True)
    )


def is_current(paired: PairedTask, headline: Headline) -> bool:
    """Return whether stored influences are those of a headline as it is now."""
    if (headline.scale, headline.question) != (paired.scale, paired.question):
        return False
    if not paired.headline or not items_of(paired):
        return False
    if not _has_one_part(paired):
        return True
    return _is_equal(headline.value, paired.headline[0].value)


def items_of(task: PairedTask) -> Sequence[Part]:
    """Return the items that a headline is made of, such as stimuli; none in some older runs."""
    if _has_one_part(task) and task.scale == "mean_square":
        return task.items
    return task.headline


def _has_one_part(task: PairedTask) -> bool:
    return len(task.headline) == 1 and not task.headline[0].name


def _is_equal(value: float | None, other: float) -> bool:
    if value is None:
        return False
    return math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-9)


def _unique_rows(rows: Sequence[Row]) -> dict[tuple[str, str | None], Row]:
    """Return rows keyed by name and group, without those whose name several rows have."""
    counts = Counter(row.name for row in rows)
    return {(row.name, row.group): row for row in rows if counts[row.name] == 1}
