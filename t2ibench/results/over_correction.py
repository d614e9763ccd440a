"""Over-correction: images that contradict their prompts, and rows that turned to the other side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.core.prompt_groups import shown_group
from t2ibench.methods.core.prompt_values import PromptValues, changes_of
from t2ibench.results.contrast import Contrast, with_p_of_interval
from t2ibench.results.frontier_numbers import (
    GroupChange,
    RemedyNumber,
    with_corrected_p,
)
from t2ibench.results.paired import PairedTask
from t2ibench.results.prompt_changes import AttributeChange
from t2ibench.results.schema import Score
from t2ibench.results.score_difference import Difference
from t2ibench.stats import holm
from t2ibench.stats.clopper_pearson import clopper_pearson
from t2ibench.stats.paired_shares import change_of_paired_shares

NO_JUDGE = (
    "no judge and no people said in both runs what the guided images show: give --judge, or have "
    "people look (`t2ibench label export`)"
)
_LEAN = "lean"
_NO_CHANGE = Contrast(0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class TurnedRow:
    """A row that clearly leans to one side before a remedy and clearly to the other after it.

    Attributes:
        row: Its name, such as an occupation.
        first: Its lean, or the share of a class among the answers, before.
        second: The same after.
        p: The largest of three p-values, each after Holm's correction over the rows: that it leans
            to no side before, that it leans to none after, and that both leans are equal. Of
            answers to several questions it is multiplied by their number.
    """

    row: str
    first: float
    second: float
    p: float


def contradictions(
    first: PairedTask, second: PairedTask, level: float
) -> tuple[RemedyNumber, tuple[GroupChange, ...]]:
    """Return how the share of guided images that contradict their prompt changes.

    Overall, and by the group that was asked for. Of the very same images it is exactly 0: what
    each of them adds to the diversity of its prompt says whether they are the same.
    """
    judges = first.contradictions.keys() & second.contradictions.keys()
    if not judges:
        return RemedyNumber(reason=NO_JUDGE), ()
    judge = min(judges)
    before = first.contradictions[judge]
    after = second.contradictions[judge]
    change = change_of_shares(before, after, level)
    if change is None:
        return RemedyNumber(reason="no guided image is in both runs"), ()
    same = _same_images(first, second)
    if same:
        change = _NO_CHANGE
    overall = RemedyNumber(
        share_of(before, level), share_of(after, level), change, reader=judge
    )
    groups = _by_wanted(before)
    groups_after = _by_wanted(after)
    changes = []
    for group in groups.keys() & groups_after.keys():
        prompts = groups[group]
        prompts_after = groups_after[group]
        change = change_of_shares(prompts, prompts_after, level)
        if change is not None:
            changes.append(
                GroupChange(
                    group,
                    share_of(prompts, level),
                    share_of(prompts_after, level),
                    _NO_CHANGE if same else change,
                    sum(len(values.values) for values in prompts_after),
                )
            )
    ordered = sorted(changes, key=lambda group_change: group_change.group)
    return overall, with_corrected_p(ordered)


def _same_images(first: PairedTask, second: PairedTask) -> bool:
    """Return whether encoders see the very same images of the judged prompts in both runs.

    Only an encoder that measured every judged prompt in both runs can say so.
    """
    judged = {
        values.prompt for prompts in first.contradictions.values() for values in prompts
    }
    verdicts: list[bool] = []
    for encoder in first.diversity.keys() & second.diversity.keys():
        before = _by_prompt(first.diversity[encoder], judged)
        after = _by_prompt(second.diversity[encoder], judged)
        if before.keys() == judged == after.keys():
            verdicts.append(
                all(_are_equal(before[prompt], after[prompt]) for prompt in judged)
            )
    return bool(judged and verdicts) and all(verdicts)


def _by_prompt(
    prompts: Iterable[PromptValues], wanted: Set[str]
) -> dict[str, PromptValues]:
    return {values.prompt: values for values in prompts if values.prompt in wanted}


def _are_equal(first: PromptValues, second: PromptValues) -> bool:
    return np.array_equal(first.indices, second.indices) and np.array_equal(
        first.values, second.values
    )


def share_of(prompts: Iterable[PromptValues], level: float) -> Score:
    """Return the share of images whose value is 1, with its exact interval."""
    values = [value for prompt in prompts for value in prompt.values.tolist()]
    hits = sum(values)
    low, high = clopper_pearson(hits, len(values), level)
    return Score(value=hits / len(values), ci_low=low, ci_high=high)


def change_of_shares(
    first: Sequence[PromptValues], second: Sequence[PromptValues], level: float
) -> Contrast | None:
    """Return second minus first of two shares of the same images; None without a shared image.

    The interval is that of `change_of_paired_shares`, about exactly these prompts.

    Examples:
        >>> import numpy as np
        >>> before = PromptValues("a nurse", "", np.arange(40), np.zeros(40))
        >>> after = PromptValues("a nurse", "", np.arange(40), np.repeat([1.0, 0.0], [8, 32]))
        >>> change = change_of_shares([before], [after], 0.95)
        >>> change.value, round(change.low, 3), round(change.high, 3), change.p < 0.01
        (0.2, 0.063, 0.348, True)
    """
    changes: list[float] = []
    for prompt in changes_of(first, second):
        changes += prompt.values.tolist()
    n = len(changes)
    if not n:
        return None
    rises = sum(value > 0 for value in changes)
    falls = sum(value < 0 for value in changes)
    low, high, p = change_of_paired_shares(rises, falls, n, level)
    return Contrast((rises - falls) / n, low, high, p)


def _by_wanted(prompts: Iterable[PromptValues]) -> dict[str, list[PromptValues]]:
    """Return prompts by the group that they ask for, whatever concept they are of.

    Prompts that ask for a group in no word, but by a fact, are groups of their own.
    """
    groups: dict[str, list[PromptValues]] = {}
    for prompt in prompts:
        wanted = shown_group(prompt.group).rpartition(", ")[2]
        groups.setdefault(wanted, []).append(prompt)
    return groups


def turned_rows(
    task: str, differences: Iterable[Difference], answers: Iterable[AttributeChange]
) -> tuple[TurnedRow, ...]:
    """Return the rows of a task that could have turned to the other side, the clearest first.

    Rows with a lean on one side before and on the other after; their p-value says which clearly
    turned. Where a judge counted answers about prompts, those count instead, unless other judges
    answered in the second run, or no text encoder read where the prompts of the runs differ.
    """
    questions = [change for change in answers if change.task == task]
    rows = _turned_answers(questions) if questions else _turned_leans(task, differences)
    return tuple(sorted(rows, key=lambda row: (row.p, row.row)))


def _turned_answers(questions: Iterable[AttributeChange]) -> list[TurnedRow]:
    """Return the prompts whose most frequent answer is another one after the remedy.

    Their p-values are corrected for several questions as `p_values_of_answers` does it.
    """
    compared = [
        change for change in questions if len(change.judged) == 1 and not change.unread
    ]
    turned = []
    for change in compared:
        for prompt in change.prompts:
            p_values = (prompt.p_holm, prompt.first.p, prompt.second.p)
            if prompt.first.most == prompt.second.most or None in p_values:
                continue
            largest = max(p for p in p_values if p is not None)
            p = min(1.0, len(compared) * largest)
            turned.append(TurnedRow(prompt.short, *prompt.shares, p))
    return turned


def _turned_leans(task: str, differences: Iterable[Difference]) -> list[TurnedRow]:
    rows = [
        difference
        for difference in differences
        if difference.task == task and difference.row and difference.name == _LEAN
    ]
    before = holm([_p_of_lean(row.first, row.level) for row in rows])
    after = holm([_p_of_lean(row.second, row.level) for row in rows])
    turned = []
    for row, p_before, p_after in zip(rows, before, after, strict=True):
        first = row.first.value or 0.0
        second = row.second.value or 0.0
        p_values = (p_before, p_after, row.p_differ_holm)
        if first * second < 0 and None not in p_values:
            p = max(p for p in p_values if p is not None)
            turned.append(TurnedRow(row.row, first, second, p))
    return turned


def _p_of_lean(score: Score, level: float) -> float | None:
    """Return the p-value that a row leans to no side, by its test or else by its interval."""
    if score.p is not None or score.value is None:
        return score.p
    lean = Contrast(score.value, score.ci_low, score.ci_high)
    return with_p_of_interval(lean, level).p
