"""The images of the stimuli of a T2IAT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.methods.core.evidence import ImageCollector, PromptImages
from t2ibench.methods.core.projections import Marked
from t2ibench.methods.t2iat.design import Stimulus, stimuli_of
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.settings import Settings


@dataclass(frozen=True, slots=True)
class StimulusImages:
    """The images of one stimulus.

    Attributes:
        stimulus: The stimulus.
        wordings: Its images in each wording.
    """

    stimulus: Stimulus
    wordings: tuple[Marked, ...]

    @property
    def complete(self) -> bool:
        """Whether every prompt has an image."""
        return all(one.complete for one in self.wordings)

    @property
    def neutral(self) -> PromptImages:
        """Without an attribute, of all wordings."""
        return PromptImages.merged([one.neutral for one in self.wordings])

    @property
    def a(self) -> PromptImages:
        """With attribute A."""
        return PromptImages.merged([one.a for one in self.wordings])

    @property
    def b(self) -> PromptImages:
        """With attribute B."""
        return PromptImages.merged([one.b for one in self.wordings])


def balanced(task: T2iatTask, collected: Sequence[StimulusImages]) -> list[StimulusImages]:
    """The stimuli that have all of their images, and whose partners on the other side have them.

    Stimuli of one number share their attribute words, so that X and Y meet the same words equally
    often. A stimulus without its partner would compare other words on the two sides, which leans
    where words differ in strength. With pairing 'cross' every stimulus has all words.
    """
    lacking = {one.stimulus.number for one in collected if not one.complete}
    cross = task.pairing == "cross"
    return [
        one for one in collected if (one.complete if cross else one.stimulus.number not in lacking)
    ]


def collect(task: T2iatTask, collector: ImageCollector, settings: Settings) -> list[StimulusImages]:
    """The images of every stimulus."""
    n_neutral, n_guided = task.image_counts(settings)
    return [
        StimulusImages(
            stimulus,
            tuple(
                Marked(
                    collector.collect(prompts.neutral, n_neutral),
                    collector.collect(prompts.guided["A"], n_guided),
                    collector.collect(prompts.guided["B"], n_guided),
                )
                for prompts in stimulus.wordings
            ),
        )
        for stimulus in stimuli_of(task, settings)
    ]
