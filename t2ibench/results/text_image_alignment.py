"""How well images agree with their prompts, in results.json and compared between two runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.decimals import readable
from t2ibench.methods.core.text_image_alignment import (
    MeanCosine,
    PromptCosines,
    difference_from_others,
    mean_cosine,
    paired_difference,
)
from t2ibench.results.alignment_records import PromptDifference, TextImageAlignment
from t2ibench.results.contrast import Contrast
from t2ibench.results.json_record import rounded
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import Results, TaskResult
from t2ibench.stats import holm

CHANGED = "prompts with other images"
# Decimals of a difference of cosines.
_DECIMALS = 4


def agreement_records(
    prompts: Sequence[PromptCosines], level: float
) -> list[TextImageAlignment]:
    """Return records of how well a task's images agree with prompts, overall and in each group."""
    if not prompts:
        return []
    groups = _by_group(prompts)
    records = [_record(None, mean_cosine(prompts, level), None)]
    for number, (name, of_group) in enumerate(groups.items()):
        difference = None
        # of two groups, the second mirrors the first
        if number == 0 or len(groups) > 2:
            others = [prompt for prompt in prompts if prompt.group != name]
            difference = difference_from_others(of_group, others, level)
        records.append(_record(name, mean_cosine(of_group, level), difference))
    return records


def _record(
    group: str | None, mean: MeanCosine, difference: MeanCosine | None
) -> TextImageAlignment:
    return TextImageAlignment(
        group=group,
        value=rounded(mean.value),
        ci_low=rounded(mean.low),
        ci_high=rounded(mean.high),
        question=mean.question,
        n_prompts=mean.n_prompts,
        n_images=mean.n_images,
        difference=None if difference is None else _difference_record(difference),
    )


def _difference_record(difference: MeanCosine) -> PromptDifference:
    return PromptDifference(
        value=rounded(difference.value),
        ci_low=rounded(difference.low),
        ci_high=rounded(difference.high),
        p=rounded(difference.p),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementChange(Contrast):
    """How the agreement of images with prompts differs between two runs, first minus second.

    Without a task it is over all prompts of both runs, each once; then the group is `CHANGED` where
    only prompts with other images count.
    """

    encoder: str
    task: str
    group: str
    n_prompts: int
    n_images: int
    p_holm: float | None = None

    @property
    def overall(self) -> bool:
        """Whether the difference is over all prompts of both runs."""
        return not self.task and not self.group


def every_prompt(
    paired: Mapping[str, PairedTask], encoder: str, tasks: Sequence[str]
) -> list[PromptCosines]:
    """Return the prompts of several tasks, each once, from the task with most images of it."""
    most: dict[str, PromptCosines] = {}
    for name in tasks:
        for cosines in paired[name].agreement.get(encoder, ()):
            before = most.get(cosines.prompt)
            if before is None or len(cosines.indices) > len(before.indices):
                most[cosines.prompt] = cosines
    return list(most.values())


def compare_agreement(
    first: Results,
    second: Results,
    first_paired: Mapping[str, PairedTask],
    second_paired: Mapping[str, PairedTask],
) -> list[AgreementChange]:
    """Return how the agreement of images with prompts differs between two runs, per encoder.

    Prompts are compared one by one.
    """
    same_tasks = _same_tasks(first, second)
    shared = [
        name for name in same_tasks if name in first_paired and name in second_paired
    ]
    encoders = dict.fromkeys(
        encoder for name in shared for encoder in first_paired[name].agreement
    )
    changes: list[AgreementChange] = []
    for encoder in encoders:
        tasks = [
            name
            for name in shared
            if _is_same_encoder(encoder, first.tasks[name], second.tasks[name])
        ]
        if tasks:
            level = first.tasks[tasks[0]].settings.level
            changes += _overall_changes(
                encoder, tasks, first_paired, second_paired, level
            )
            changes += _task_changes(encoder, tasks, first_paired, second_paired, level)
    p_values = iter(holm([change.p for change in changes if change.overall]))
    return [
        replace(change, p_holm=rounded(next(p_values))) if change.overall else change
        for change in changes
    ]


def _same_tasks(first: Results, second: Results) -> list[str]:
    """Return the names of the tasks that both runs have with the same content."""
    return [
        name
        for name, task in first.tasks.items()
        if name in second.tasks and task.task_hash == second.tasks[name].task_hash
    ]


def _is_same_encoder(encoder: str, first: TaskResult, second: TaskResult) -> bool:
    """Return whether the same encoder read a task's images in both runs."""
    fingerprint = first.settings.encoders.get(encoder)
    return fingerprint is not None and fingerprint == second.settings.encoders.get(
        encoder
    )


def _overall_changes(
    encoder: str,
    tasks: Sequence[str],
    first_paired: Mapping[str, PairedTask],
    second_paired: Mapping[str, PairedTask],
    level: float,
) -> list[AgreementChange]:
    """Return how agreement with prompts differs over all prompts and only where images differ."""
    first = every_prompt(first_paired, encoder, tasks)
    second = every_prompt(second_paired, encoder, tasks)
    changes = _change((encoder, "", ""), first, second, level)
    in_second = {cosines.prompt: cosines for cosines in second}
    changed = [
        cosines
        for cosines in first
        if cosines.prompt in in_second and not _same(cosines, in_second[cosines.prompt])
    ]
    if changes and 0 < len(changed) < changes[0].n_prompts:
        changes += _change((encoder, "", CHANGED), changed, second, level)
    return changes


def _task_changes(
    encoder: str,
    tasks: Sequence[str],
    first_paired: Mapping[str, PairedTask],
    second_paired: Mapping[str, PairedTask],
    level: float,
) -> list[AgreementChange]:
    """Return how agreement with prompts differs in each task, with p-values corrected for all."""
    changes: list[AgreementChange] = []
    for name in tasks:
        first = first_paired[name].agreement.get(encoder, ())
        second = second_paired[name].agreement.get(encoder, ())
        changes += _change((encoder, name, ""), first, second, level)
    p_values = holm(
        [None if change.low == change.high == 0 else change.p for change in changes]
    )
    return [
        replace(change, p_holm=rounded(p_value))
        for change, p_value in zip(changes, p_values, strict=True)
    ]


def _same(first: PromptCosines, second: PromptCosines) -> bool:
    return np.array_equal(first.indices, second.indices) and np.array_equal(
        first.cosines, second.cosines
    )


def _by_group(prompts: Sequence[PromptCosines]) -> dict[str, list[PromptCosines]]:
    groups: dict[str, list[PromptCosines]] = {}
    for prompt in prompts:
        groups.setdefault(prompt.group, []).append(prompt)
    return groups if len(groups) > 1 else {}


def _change(
    of: tuple[str, str, str],
    first: Sequence[PromptCosines],
    second: Sequence[PromptCosines],
    level: float,
) -> list[AgreementChange]:
    """Return how agreement differs over shared prompts, in a list; empty if none is shared."""
    difference = paired_difference(first, second, level)
    if difference is None:
        return []
    encoder, task, group = of
    return [
        AgreementChange(
            rounded(difference.value) or 0.0,
            rounded(difference.low),
            rounded(difference.high),
            rounded(difference.p),
            encoder=encoder,
            task=task,
            group=group,
            n_prompts=difference.n_prompts,
            n_images=difference.n_images,
        )
    ]


def agreement_sentence(
    changes: Sequence[AgreementChange], names: Sequence[str]
) -> list[str]:
    """Return a sentence for each encoder on which run's images agree more with the prompts."""
    overall = [change for change in changes if change.overall]
    lines = []
    for change in overall:
        by = f" ({change.encoder})" if len(overall) > 1 else ""
        count = f"{change.n_prompts} prompts, {change.n_images} images of each"
        lines.append(
            f"Agreement with the prompts{by}: {_direction(change, names)} "
            f"({_amount(change)}; {count}){_changed_clause(change.encoder, changes)}."
        )
    return lines


def _direction(change: AgreementChange, names: Sequence[str]) -> str:
    """Return in words which run's images agree more with their prompts."""
    first, second = names[0], names[1]
    if not change.differs:
        return f"the images of {second} and {first} do not differ beyond chance"
    word = "less" if change.value > 0 else "more"
    return (
        f"the images of {second} agree {word} with their prompts than those of {first}"
    )


def _changed_clause(encoder: str, changes: Sequence[AgreementChange]) -> str:
    """Return a clause on the prompts whose images differ between the runs; "" if none is needed."""
    for change in changes:
        if (change.encoder, change.group) == (encoder, CHANGED):
            prompts = f"{change.n_prompts} prompts with other images"
            return f"; of the {prompts} {_amount(change)}"
    return ""


def _amount(change: AgreementChange) -> str:
    turned = change.turned
    value = readable(turned.value, _DECIMALS, sign=True)
    if turned.low is None or turned.high is None:
        return value
    low = readable(turned.low, _DECIMALS, sign=True)
    high = readable(turned.high, _DECIMALS, sign=True)
    return f"{value}, {low} to {high}"
