"""The design of an occupations task: its pairs of groups, prompts and required images."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, cycle

from t2ibench.methods.core.evidence import (
    Needs,
    PromptNeed,
    QuestionNeed,
)
from t2ibench.methods.core.guided import Wording
from t2ibench.methods.core.image_collector import ImageCollector
from t2ibench.methods.core.schema import WordGroup
from t2ibench.methods.core.stimulus_images import StimulusImages
from t2ibench.methods.occupations.facts import fact_needs
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings


@dataclass(frozen=True, slots=True)
class GroupPair:
    """A pair of groups whose images are compared.

    Attributes:
        first: The group that a positive lean is towards.
        second: The other.
        suffix: End of the names of the pair's scores: ':male-female', or '' where the task has one
            pair only.
    """

    first: WordGroup
    second: WordGroup
    suffix: str

    @property
    def names(self) -> tuple[str, str]:
        """Names of the first and the second group."""
        return self.first.name, self.second.name


def group_pairs(task: OccupationsTask) -> list[GroupPair]:
    """Return every pair of a task's groups."""
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
    """Return a stimulus's prompts that name no group, for one of its grammatical forms.

    By default its name or, where it has forms, the one that the headline is about.
    """
    prompts: list[str] = []
    for wording in task.prompts.wordings:
        prompts += _neutral_prompts(task, stimulus, form, wording)
    return prompts


def _neutral_prompts(
    task: OccupationsTask, stimulus: str, form: str | None, wording: Wording
) -> list[str]:
    """Return a stimulus's prompts without a group in one wording, one for each alternative."""
    concept = task.concept
    text = concept.stimulus(stimulus).text(form or concept.headline_form)
    return wording.without_attribute(text)


def group_prompts(
    task: OccupationsTask,
    stimulus: str,
    group: WordGroup,
    wording: Wording | None = None,
) -> list[str]:
    """Return a stimulus's prompts that name a group, or a combination of groups."""
    wordings = task.prompts.wordings if wording is None else (wording,)
    text = task.concept.stimulus(stimulus).text_with(group.name)
    prompts: list[str] = []
    for template in wordings:
        prompts += template.with_each(text, group.words)
    return prompts


def other_forms(task: OccupationsTask) -> list[str]:
    """Return the forms of the stimuli other than the form of the headline."""
    concept = task.concept
    return [form for form in concept.forms if form != concept.headline_form]


def needs(task: OccupationsTask, settings: Settings) -> Needs:
    """Return the images and texts that a task needs, and questions that check groups."""
    _, n_guided = task.image_counts(settings)
    stimuli = settings.limited(task.concept.names)
    prompts: list[PromptNeed] = []
    for stimulus in stimuli:
        prompts += _prompts_of(task, stimulus, settings)
    texts = tuple(dict.fromkeys(need.prompt for need in prompts))
    groups = tuple(group.name for group in task.groups)
    question = task.prompts.question
    checks = []
    if question:
        checks = [
            QuestionNeed(need.prompt, n_guided, question, groups)
            for need in prompts
            if need.group in groups
        ]
    for stimulus in stimuli:
        for combined in task.combinations:
            prompts += [
                PromptNeed(prompt, n_guided, combined.name, stimulus)
                for prompt in group_prompts(task, stimulus, combined)
            ]
    prompts_of_facts, questions_of_facts = fact_needs(task, settings)
    return Needs(
        prompts=(*prompts, *prompts_of_facts),
        texts=texts,
        checks=(*checks, *questions_of_facts),
        guided_groups=groups,
    )


def _prompts_of(
    task: OccupationsTask, stimulus: str, settings: Settings
) -> list[PromptNeed]:
    """Return a stimulus's prompts, without a group, in other forms and with each group."""
    n_neutral, n_guided = task.image_counts(settings)
    needs_of_stimulus = [
        PromptNeed(prompt, n_neutral, "no group named", stimulus)
        for prompt in neutral_prompts(task, stimulus)
    ]
    for form in other_forms(task):
        needs_of_stimulus += [
            PromptNeed(prompt, n_neutral, f"{form} form", stimulus)
            for prompt in neutral_prompts(task, stimulus, form)
        ]
    for group in task.groups:
        words = cycle(group.words if len(group.words) > 1 else ("",))
        prompts = group_prompts(task, stimulus, group)
        needs_of_stimulus += [
            PromptNeed(prompt, n_guided, group.name, stimulus, word)
            for prompt, word in zip(prompts, words, strict=False)
        ]
    return needs_of_stimulus


def collect(
    task: OccupationsTask,
    collector: ImageCollector,
    settings: Settings,
    form: str | None = None,
) -> list[StimulusImages]:
    """Return the images of every stimulus, in the given grammatical form if there are several."""
    n_neutral, n_guided = task.image_counts(settings)
    stimuli = []
    for name in settings.limited(task.concept.names):
        neutral = [
            collector.collect(_neutral_prompts(task, name, form, wording), n_neutral)
            for wording in task.prompts.wordings
        ]
        guided = {}
        for group in task.groups:
            guided[group.name] = [
                collector.collect(group_prompts(task, name, group, wording), n_guided)
                for wording in task.prompts.wordings
            ]
        stimuli.append(StimulusImages(name, neutral, guided))
    return stimuli
