"""Refusals by group: whether a remedy makes the model refuse some groups' prompts more often."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from t2ibench.methods.core.prompt_groups import shown_group
from t2ibench.results.contrast import Contrast, difference_interval
from t2ibench.results.frontier_numbers import (
    GroupChange,
    RemedyNumber,
    with_corrected_p,
)
from t2ibench.results.prompt_outcomes import PromptOutcomes
from t2ibench.results.schema import Score, TaskResult
from t2ibench.stats.clopper_pearson import clopper_pearson
from t2ibench.stats.fisher import fisher_exact


def group_refusals(
    first: TaskResult, second: TaskResult
) -> tuple[RemedyNumber, tuple[GroupChange, ...]]:
    """Return how refusals change: the largest gap between two groups, and each group's share.

    Refused and filtered images count alike. A run without records of refusals
    refused nothing; neither did one whose records are of rewritten prompts alone.
    """
    level = first.settings.level
    outcomes = (*first.prompt_outcomes, *second.prompt_outcomes)
    if not any(outcome.refused.count + outcome.filtered.count for outcome in outcomes):
        return RemedyNumber(reason="no image was refused or filtered in either run"), ()
    before = _unmade_by_group(first, second)
    after = _unmade_by_group(second, first)
    groups = []
    for group in before.keys() & after.keys():
        shares = [_share(*counts[group], level) for counts in (before, after)]
        groups.append(
            GroupChange(
                shown_group(group),
                shares[0],
                shares[1],
                _change(before[group], after[group], level),
                after[group][1],
            )
        )
    ordered = sorted(groups, key=lambda change: change.group)
    gaps = [_largest_gap(counts) for counts in (before, after)]
    number = RemedyNumber(
        Score(value=gaps[0]), Score(value=gaps[1]), Contrast(gaps[1] - gaps[0])
    )
    return number, with_corrected_p(ordered)


def _unmade_by_group(task: TaskResult, other: TaskResult) -> dict[str, tuple[int, int]]:
    """Return how many images of each group were refused or filtered, and of how many."""
    if task.prompt_outcomes:
        return dict(_counts(task.prompt_outcomes))
    return {group: (0, total) for group, (_, total) in _counts(other.prompt_outcomes)}


def _counts(outcomes: list[PromptOutcomes]) -> Iterator[tuple[str, tuple[int, int]]]:
    named = [outcome for outcome in outcomes if outcome.group is not None]
    for outcome in named or outcomes:
        count = outcome.refused.count + outcome.filtered.count
        yield outcome.group or "all prompts", (count, outcome.refused.total)


def _share(count: int, total: int, level: float) -> Score:
    low, high = clopper_pearson(count, max(total, 1), level)
    return Score(value=count / max(total, 1), ci_low=low, ci_high=high)


def _change(before: tuple[int, int], after: tuple[int, int], level: float) -> Contrast:
    """Return after minus before of two shares of images, as if they were independent."""
    first = _share(*before, level)
    second = _share(*after, level)
    table = [[count, total - count] for count, total in (before, after)]
    p = fisher_exact(table)
    value = (second.value or 0.0) - (first.value or 0.0)
    return Contrast(value, *difference_interval(second, first), p)


def _largest_gap(counts: dict[str, tuple[int, int]]) -> float:
    shares = [count / max(total, 1) for count, total in counts.values()]
    gaps = [abs(first - second) for first, second in combinations(shares, 2)]
    return max(gaps, default=0.0)
