"""The prompts of an occupations task, and so the evidence it needs; the pairs of its groups."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, cycle, product

from t2ibench.methods.core.evidence import (
    Evidence,
    ImageCollector,
    Needs,
    PromptImages,
    PromptNeed,
    QuestionNeed,
)
from t2ibench.methods.core.guided import Wording
from t2ibench.methods.core.leans import Marked
from t2ibench.methods.core.obedience import Seen, obedient
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.core.schema import WordGroup
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings


@dataclass(frozen=True, slots=True)
class GroupPair:
    """Two groups that are compared.

    Attributes:
        first: A positive lean is towards this one.
        second: The other.
        suffix: What the names of the pair's scores end in: ':male-female', or '' where the task
            has one pair only.
    """

    first: WordGroup
    second: WordGroup
    suffix: str


def group_pairs(task: OccupationsTask) -> list[GroupPair]:
    """Every pair of groups."""
    pairs = list(combinations(task.groups, 2))
    return [
        GroupPair(first, second, f":{first.name}-{second.name}" if len(pairs) > 1 else "")
        for first, second in pairs
    ]


def neutral_prompts(task: OccupationsTask, stimulus: str) -> list[str]:
    """The prompts that name no group."""
    return [wording.without(stimulus) for wording in task.prompts.wordings]


def group_prompts(
    task: OccupationsTask, stimulus: str, group: WordGroup, wording: Wording | None = None
) -> list[str]:
    """The prompts that name a group."""
    wordings = task.prompts.wordings if wording is None else (wording,)
    return [prompt for one in wordings for prompt in one.with_each(stimulus, group.words)]


def crossed_prompts(task: OccupationsTask, stimulus: str, words: list[str]) -> list[str]:
    """The prompts of one combination of groups."""
    return [
        prompt for wording in task.prompts.wordings for prompt in wording.with_each(stimulus, words)
    ]


def needs(task: OccupationsTask, settings: Settings) -> Needs:
    """Images and texts of neutral and guided prompts."""
    n_neutral, n_guided = task.image_counts(settings)
    prompts = []
    for stimulus in settings.limited(task.concept.stimuli):
        prompts += [
            PromptNeed(prompt, n_neutral, "no group named", stimulus)
            for prompt in neutral_prompts(task, stimulus)
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
    names = [" x ".join(g.name for g in groups) for groups in product(*task.crossing.values())]
    for stimulus in settings.limited(task.concept.stimuli) if task.crossing else ():
        for name, words in zip(names, task.combined_words, strict=True):
            prompts += [
                PromptNeed(prompt, n_guided, name, stimulus)
                for prompt in crossed_prompts(task, stimulus, words)
            ]
    return Needs(tuple(prompts), texts, checks=tuple(checks))


@dataclass(frozen=True, slots=True)
class StimulusImages:
    """The images of one stimulus.

    Attributes:
        name: The stimulus.
        neutral: Without a group, for each wording.
        guided: Of each group, for each wording.
    """

    name: str
    neutral: list[PromptImages]
    guided: dict[str, list[PromptImages]]

    @property
    def complete(self) -> bool:
        """Whether every prompt has an image."""
        return all(
            images.whole for part in (self.neutral, *self.guided.values()) for images in part
        )

    @property
    def all_neutral(self) -> PromptImages:
        """Without a group, of all wordings."""
        return PromptImages.merged(self.neutral)

    def of_group(self, name: str) -> PromptImages:
        """Those of a group."""
        return PromptImages.merged(self.guided[name])

    def marked(self, pair: GroupPair) -> list[Marked]:
        """The images with the first group as attribute A and the second as B."""
        first, second = self.guided[pair.first.name], self.guided[pair.second.name]
        return [Marked(*sides) for sides in zip(self.neutral, first, second, strict=True)]


def collect(
    task: OccupationsTask, collector: ImageCollector, settings: Settings
) -> list[StimulusImages]:
    """The images of every stimulus."""
    n_neutral, n_guided = task.image_counts(settings)
    return [
        StimulusImages(
            name,
            [
                collector.collect([fill(wording.neutral, stimulus=name)], n_neutral)
                for wording in task.prompts.wordings
            ],
            {
                group.name: [
                    collector.collect(group_prompts(task, name, group, wording), n_guided)
                    for wording in task.prompts.wordings
                ]
                for group in task.groups
            },
        )
        for name in settings.limited(task.concept.stimuli)
    ]


def obeying(
    task: OccupationsTask, images: StimulusImages, evidence: Evidence, settings: Settings
) -> tuple[StimulusImages, dict[str, Seen]]:
    """The images of a stimulus without guided ones that do not show their group, by a judge.

    Returns:
        The images, all of them where nobody was asked or answered; and by group how many obey.
    """
    names = [group.name for group in task.groups]
    if not task.prompts.question:
        return images, dict.fromkeys(names, Seen())
    count = task.image_counts(settings)[1]
    question = (task.prompts.question, names)
    kept: dict[str, list[PromptImages]] = {}
    seen: dict[str, Seen] = {}
    for name in names:
        found = [obedient(evidence, one, count, question, name) for one in images.guided[name]]
        kept[name] = [one for one, _ in found]
        seen[name] = sum((counted for _, counted in found), Seen())
    return StimulusImages(images.name, images.neutral, kept), seen
