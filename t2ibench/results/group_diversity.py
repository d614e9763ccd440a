"""Diversity within groups: whether a remedy makes the guided images of a prompt more alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from t2ibench.methods.core.prompt_groups import is_guided, shown_group
from t2ibench.methods.core.prompt_values import (
    PromptValues,
    changes_of,
    mean_over_prompts,
)
from t2ibench.results.contrast import Contrast
from t2ibench.results.frontier_numbers import (
    GroupChange,
    RemedyNumber,
    with_corrected_p,
)
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import Score, TaskResult
from t2ibench.results.task_attributes import guided_groups
from t2ibench.stats.student import t_interval

# Prompts of a group over which Vendi scores are compared.
_FEWEST_PROMPTS = 3
# Of so many images a prompt, intervals of diversity are about as wide as they should be.
_ENOUGH_IMAGES = 10
_NOT_MEASURED = (
    "it takes three guided images of a prompt, and influences in both runs that one encoder "
    "measured: `t2ibench score RUN` writes them"
)


def group_diversity(
    results: tuple[TaskResult, TaskResult], paired: tuple[PairedTask, PairedTask]
) -> tuple[RemedyNumber, tuple[GroupChange, ...]]:
    """Return how the diversity of a task's guided images changes, overall and by group."""
    level = results[0].settings.level
    names = guided_groups(results[0])
    for encoder in _shared_encoders(results, paired):
        before, after = (
            [
                values
                for values in task.diversity[encoder]
                if is_guided(values.group, names)
            ]
            for task in paired
        )
        change = change_of_diversity(before, after, level)
        if change is not None:
            number = RemedyNumber(
                mean_score(before, level),
                mean_score(after, level),
                change,
                reader=encoder,
            )
            return number, _by_group(before, after, level)
    return RemedyNumber(reason=_NOT_MEASURED), ()


def few_images_line(
    results: tuple[TaskResult, TaskResult], paired: tuple[PairedTask, PairedTask]
) -> str:
    """Return that intervals of diversity are too wide; empty where prompts have enough images."""
    encoder = next(iter(_shared_encoders(results, paired)), None)
    if encoder is None:
        return ""
    names = guided_groups(results[0])
    counts = [
        len(values.values)
        for task in paired
        for values in task.diversity[encoder]
        if is_guided(values.group, names)
    ]
    fewest = min(counts, default=_ENOUGH_IMAGES)
    if fewest >= _ENOUGH_IMAGES:
        return ""
    return (
        f"A prompt has as few as {fewest} guided images. Below {_ENOUGH_IMAGES}, the 95 % "
        "interval of diversity is too wide, so it may miss a collapse."
    )


def group_vendi(
    results: tuple[TaskResult, TaskResult], paired: tuple[PairedTask, PairedTask]
) -> tuple[GroupChange, ...]:
    """Return how the Vendi score of guided prompts' images changes, by group.

    Only prompts of which both runs have the same images by their numbers count, since the score
    grows with the number of images. A prompt is one observation, of Student's t over prompts: about
    other prompts like these. Empty where fewer than three prompts of a group can be compared.
    """
    level = results[0].settings.level
    names = guided_groups(results[0])
    changes: list[GroupChange] = []
    for encoder in _shared_encoders(results, paired):
        scores = [_by_prompt(task.vendi.get(encoder, ()), names) for task in paired]
        pairs: dict[str, list[tuple[PromptValues, PromptValues]]] = {}
        for prompt, before in scores[0].items():
            after = scores[1].get(prompt)
            if after is not None and np.array_equal(before.indices, after.indices):
                pairs.setdefault(before.group, []).append((before, after))
        for group, of_group in pairs.items():
            if len(of_group) >= _FEWEST_PROMPTS:
                changes.append(_vendi_change(group, of_group, level))
        if changes:
            return with_corrected_p(changes)
    return ()


def _by_prompt(
    prompts: Iterable[PromptValues], groups: Iterable[str]
) -> dict[str, PromptValues]:
    names = list(groups)
    return {
        values.prompt: values for values in prompts if is_guided(values.group, names)
    }


def _vendi_change(
    group: str, pairs: Sequence[tuple[PromptValues, PromptValues]], level: float
) -> GroupChange:
    """Return the mean change over prompts with Student's t; the levels have no interval."""
    before = np.array([first.mean for first, _ in pairs])
    after = np.array([second.mean for _, second in pairs])
    differences = after - before
    count = len(pairs)
    value = float(differences.mean())
    variance = float(differences.var(ddof=1)) / count
    change = Contrast(value)
    if variance > 0:
        change = Contrast.from_t(value, variance, count - 1, level)
    elif value == 0:
        change = Contrast(0.0, 0.0, 0.0, 1.0)
    return GroupChange(
        shown_group(group),
        Score(value=float(before.mean())),
        Score(value=float(after.mean())),
        change,
        sum(len(second.values) for _, second in pairs),
    )


def _shared_encoders(
    results: tuple[TaskResult, TaskResult], paired: tuple[PairedTask, PairedTask]
) -> list[str]:
    """Return the encoders that measured diversity in both runs and are the same network."""
    fingerprints = results[1].settings.encoders
    return [
        name
        for name, fingerprint in results[0].settings.encoders.items()
        if fingerprints.get(name) == fingerprint
        and all(name in task.diversity for task in paired)
    ]


def _by_group(
    before: Sequence[PromptValues], after: Sequence[PromptValues], level: float
) -> tuple[GroupChange, ...]:
    changes = []
    for group in dict.fromkeys(values.group for values in before):
        prompts = [values for values in before if values.group == group]
        prompts_after = [values for values in after if values.group == group]
        change = change_of_diversity(prompts, prompts_after, level)
        if change is not None:
            n_images = sum(len(values.values) for values in prompts_after)
            changes.append(
                GroupChange(
                    shown_group(group),
                    mean_score(prompts, level),
                    mean_score(prompts_after, level),
                    change,
                    n_images,
                )
            )
    return with_corrected_p(changes)


def change_of_diversity(
    first: Iterable[PromptValues], second: Iterable[PromptValues], level: float
) -> Contrast | None:
    """Return second minus first, paired by image; None where no prompt has two shared images."""
    changes = [change for change in changes_of(first, second) if len(change.values) > 1]
    if not changes:
        return None
    value, variance, df = mean_over_prompts(changes)
    if variance == 0 and value == 0:
        return Contrast(0.0, 0.0, 0.0, 1.0)
    if not variance > 0 or not math.isfinite(variance):
        return Contrast(value)
    return Contrast.from_t(value, variance, df, level)


def mean_score(prompts: Sequence[PromptValues], level: float) -> Score:
    """Return the mean over prompts with its interval, about exactly these prompts."""
    value, variance, df = mean_over_prompts(list(prompts))
    if not variance > 0:
        return Score(value=value)
    low, high = t_interval(value, variance, df, level)
    return Score(value=value, ci_low=max(low, 0.0), ci_high=high)
