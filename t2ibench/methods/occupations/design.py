"""The prompts of an occupations task, and so the evidence it needs; the pairs of its groups."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, cycle

from t2ibench.methods.core.evidence import (
    ImageCollector,
    Needs,
    PromptNeed,
    QuestionNeed,
)
from t2ibench.methods.core.guided import Wording
from t2ibench.methods.core.schema import WordGroup
from t2ibench.methods.core.stimulus_images import StimulusImages
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings


@dataclass(frozen=True, slots=True)
class GroupPair:
    """Two groups that are compared."""

    first: WordGroup  # a positive lean is towards this one
    second: WordGroup
    # what the names of the pair's scores end in: ':male-female', or '' where the task has one pair
    # only
    suffix: str

    @property
    def names(self) -> tuple[str, str]:
        """Of both groups."""
        return self.first.name, self.second.name


def group_pairs(task: OccupationsTask) -> list[GroupPair]:
    """Every pair of groups."""
    pairs = list(combinations(task.groups, 2))
    return [
        GroupPair(
            first, second, f":{first.name}-{second.name}" if len(pairs) > 1 else ""
        )
        for first, second in pairs
    ]


def neutral_prompts(
    task: OccupationsTask, stimulus: str, form: str | None = None
) -> list[str]:
    """The prompts that name no group, with one form of the stimulus.

    By default its name or, where it has forms, the one that the headline is about.
    """
    concept = task.concept
    text = concept.stimulus(stimulus).text(form or concept.headline_form)
    return [wording.without(text) for wording in task.prompts.wordings]


def group_prompts(
    task: OccupationsTask,
    stimulus: str,
    group: WordGroup,
    wording: Wording | None = None,
) -> list[str]:
    """The prompts that name a group, or a combination of groups."""
    wordings = task.prompts.wordings if wording is None else (wording,)
    text = task.concept.stimulus(stimulus).text_with(group.name)
    return [prompt for one in wordings for prompt in one.with_each(text, group.words)]


def other_forms(task: OccupationsTask) -> list[str]:
    """The forms of the stimuli beside the one that the headline is about."""
    concept = task.concept
    return [form for form in concept.forms if form != concept.headline_form]


def needs(task: OccupationsTask, settings: Settings) -> Needs:
    """Images and texts of neutral and guided prompts."""
    n_neutral, n_guided = task.image_counts(settings)
    prompts = []
    for stimulus in settings.limited(task.concept.names):
        prompts += [
            PromptNeed(prompt, n_neutral, "no group named", stimulus)
            for prompt in neutral_prompts(task, stimulus)
        ]
        for form in other_forms(task):
            prompts += [
                PromptNeed(prompt, n_neutral, f"{form} form", stimulus)
                for prompt in neutral_prompts(task, stimulus, form)
            ]
        for group in task.groups:
            prompts += [
                PromptNeed(prompt, n_guided, group.name, stimulus, word)
                for prompt, word in zip(
                    group_prompts(task, stimulus, group),
                    (cycle(group.words if len(group.words) > 1 else ("",))),
                    strict=False,
                )
            ]
    texts = tuple(dict.fromkeys(need.prompt for need in prompts))
    groups = tuple(group.name for group in task.groups)
    checks = [
        QuestionNeed(need.prompt, n_guided, task.prompts.question, groups)
        for need in prompts
        if task.prompts.question and need.group in groups
    ]
    prompts += [
        PromptNeed(prompt, n_guided, combined.name, stimulus)
        for stimulus in settings.limited(task.concept.names)
        for combined in task.combinations
        for prompt in group_prompts(task, stimulus, combined)
    ]
    return Needs(tuple(prompts), texts, checks=tuple(checks))


def collect(
    task: OccupationsTask,
    collector: ImageCollector,
    settings: Settings,
    form: str | None = None,
) -> list[StimulusImages]:
    """The images of every stimulus, in one form where it has several."""
    n_neutral, n_guided = task.image_counts(settings)
    return [
        StimulusImages(
            name,
            [
                collector.collect([prompt], n_neutral)
                for prompt in neutral_prompts(task, name, form)
            ],
            {
                group.name: [
                    collector.collect(
                        group_prompts(task, name, group, wording), n_guided
                    )
                    for wording in task.prompts.wordings
                ]
                for group in task.groups
            },
        )
        for name in settings.limited(task.concept.names)
    ]
