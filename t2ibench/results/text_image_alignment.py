"""Agreement of images with their prompts: for results.json, and between two runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.methods.core.text_image_alignment import (
    MeanCosine,
    PromptCosines,
    difference_from_others,
    mean_cosine,
    paired_difference,
)
from t2ibench.results.contrast import Contrast
from t2ibench.results.paired import PairedTask
from t2ibench.results.rates import PromptDifference, TextImageAlignment, rounded
from t2ibench.results.schema import Results
from t2ibench.stats import holm

CHANGED = "prompts with other images"


def agreement_records(
    prompts: Sequence[PromptCosines], level: float
) -> list[TextImageAlignment]:
    """What results.json says of one task and one encoder."""
    if not prompts:
        return []
    groups = _by_group(prompts)
    whole = [_record(None, mean_cosine(prompts, level), None)]
    for number, (name, own) in enumerate(groups.items()):
        difference = None
        # of two groups, the second mirrors the first
        if number == 0 or len(groups) > 2:
            others = [one for one in prompts if one.group != name]
            difference = difference_from_others(own, others, level)
        whole.append(_record(name, mean_cosine(own, level), difference))
    return whole


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
        difference=None
        if difference is None
        else PromptDifference(
            value=rounded(difference.value),
            ci_low=rounded(difference.low),
            ci_high=rounded(difference.high),
            p=rounded(difference.p),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementChange(Contrast):
    """How much better one run's images agree with their prompts: the mean cosine, less another's.

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
        """Whether it is about all prompts of both runs."""
        return not self.task and not self.group


def every_prompt(
    paired: Mapping[str, PairedTask], encoder: str, tasks: Sequence[str]
) -> list[PromptCosines]:
    """The prompts of several tasks, each once, with the most images that one of them has."""
    found: dict[str, PromptCosines] = {}
    for name in tasks:
        for one in paired[name].agreement.get(encoder, ()):
            known = found.get(one.prompt)
            if known is None or len(one.indices) > len(known.indices):
                found[one.prompt] = one
    return list(found.values())


def compare_agreement(
    first: Results,
    second: Results,
    first_paired: Mapping[str, PairedTask],
    second_paired: Mapping[str, PairedTask],
) -> list[AgreementChange]:
    """How much better the first run's images agree with their prompts, prompt by prompt."""
    found: list[AgreementChange] = []
    shared = [
        name
        for name, task in first.tasks.items()
        if name in second.tasks
        and task.task_hash == second.tasks[name].task_hash
        and name in first_paired
        and name in second_paired
    ]
    for encoder in dict.fromkeys(
        key for name in shared for key in first_paired[name].agreement
    ):
        tasks = []
        # one and the same encoder has to have read them in both runs
        for name in shared:
            one, other = (
                run.tasks[name].settings.encoders.get(encoder)
                for run in (first, second)
            )
            if one is not None and one == other:
                tasks.append(name)
        if not tasks:
            continue
        level = first.tasks[tasks[0]].settings.level
        here, there = (
            every_prompt(run, encoder, tasks) for run in (first_paired, second_paired)
        )
        whole = _change((encoder, "", ""), here, there, level)
        found += whole
        # All prompts with other images, where a method leaves some prompts as they are.
        others = {one.prompt: one for one in there}
        changed = [
            one
            for one in here
            if one.prompt in others and not _same(one, others[one.prompt])
        ]
        if whole and 0 < len(changed) < whole[0].n_prompts:
            found += _change((encoder, "", CHANGED), changed, there, level)
        each = [
            change
            for name in tasks
            for change in _change(
                (encoder, name, ""),
                first_paired[name].agreement.get(encoder, ()),
                second_paired[name].agreement.get(encoder, ()),
                level,
            )
        ]
        # Where all images are the same there is nothing to test.
        tested = holm([None if one.low == one.high == 0 else one.p for one in each])
        found += [
            replace(one, p_holm=rounded(p)) for one, p in zip(each, tested, strict=True)
        ]
    p_values = iter(holm([one.p for one in found if one.overall]))
    return [
        replace(one, p_holm=rounded(next(p_values))) if one.overall else one
        for one in found
    ]


def _same(one: PromptCosines, other: PromptCosines) -> bool:
    return np.array_equal(one.indices, other.indices) and np.array_equal(
        one.cosines, other.cosines
    )


def _by_group(prompts: Sequence[PromptCosines]) -> dict[str, list[PromptCosines]]:
    groups: dict[str, list[PromptCosines]] = {}
    for one in prompts:
        groups.setdefault(one.group, []).append(one)
    return groups if len(groups) > 1 else {}


def _change(
    of: tuple[str, str, str],
    first: Sequence[PromptCosines],
    second: Sequence[PromptCosines],
    level: float,
) -> list[AgreementChange]:
    found = paired_difference(first, second, level)
    if found is None:
        return []
    encoder, task, group = of
    return [
        AgreementChange(
            *(rounded(found.value) or 0.0, rounded(found.low), rounded(found.high)),
            rounded(found.p),
            encoder=encoder,
            task=task,
            group=group,
            n_prompts=found.n_prompts,
            n_images=found.n_images,
        )
    ]


def agreement_sentence(
    changes: Sequence[AgreementChange], names: Sequence[str]
) -> list[str]:
    """The comparison in words."""
    lines = []
    wholes = [one for one in changes if one.overall]
    for whole in wholes:
        by = f" ({whole.encoder})" if len(wholes) > 1 else ""
        count = f"{whole.n_prompts} prompts, {whole.n_images} images of each"
        told = f"the images of {names[1]} and {names[0]} do not differ beyond chance"
        if whole.differs:
            word = "less" if whole.value > 0 else "more"
            told = f"the images of {names[1]} agree {word} with their prompts than those of "
            told += names[0]
        # The prompts whose images a method changed, where it left the others as they were.
        alone = next(
            (
                one
                for one in changes
                if (one.encoder, one.group) == (whole.encoder, CHANGED)
            ),
            None,
        )
        rest = ""
        if alone is not None:
            rest = (
                f"; of the {alone.n_prompts} prompts with other images {_amount(alone)}"
            )
        lines.append(
            f"Agreement with the prompts{by}: {told} ({_amount(whole)}; {count}){rest}."
        )
    return lines


def _amount(one: AgreementChange) -> str:
    change = one.turned
    if change.low is None or change.high is None:
        return f"{change.value:+.4f}"
    return f"{change.value:+.4f}, {change.low:+.4f} to {change.high:+.4f}"
