"""The images of the stimuli of an occupations task."""

from __future__ import annotations

from dataclasses import dataclass

from t2ibench.methods.core.evidence import ImageCollector, PromptImages
from t2ibench.methods.core.projections import Marked
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.occupations.design import GroupPair, group_prompts
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings


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
