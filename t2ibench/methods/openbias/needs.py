"""The needs of an OpenBias task: images of every caption, and answers about them."""

from __future__ import annotations

from dataclasses import dataclass

from t2ibench.methods.core.evidence import Needs, PromptNeed, QuestionNeed
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.openbias.schema import Bias, OpenBiasTask
from t2ibench.settings import Settings


def needs(task: OpenBiasTask, settings: Settings) -> Needs:
    """Return the prompts whose images a task needs, and the questions about these images."""
    n_images = settings.images(task.images_per_prompt)
    prompts: dict[str, PromptNeed] = {}
    questions: list[QuestionNeed] = []
    for bias in task.biases:
        for caption in captions_of(bias, settings):
            stimulus = caption.stimulus
            prompt = PromptNeed(
                caption.text,
                n_images,
                stimulus or bias.about,
                "" if stimulus else caption.text,
            )
            prompts.setdefault(caption.text, prompt)
            question = QuestionNeed(
                caption.text,
                n_images,
                caption.question,
                bias.classes,
                bias.full_name,
            )
            questions.append(question)
    return Needs(
        prompts=tuple(prompts.values()),
        texts=(),
        questions=tuple(dict.fromkeys(questions)),
        embeds=False,
    )


@dataclass(frozen=True, slots=True)
class AskedCaption:
    """A caption of a bias with the question that is asked about its images.

    Attributes:
        text: The caption, which is the prompt.
        question: The question about each of its images.
        stimulus: The word that was put into a template; None for a caption in the task.
    """

    text: str
    question: str
    stimulus: str | None


def captions_of(bias: Bias, settings: Settings) -> list[AskedCaption]:
    """Return the captions of a bias that a run uses, each with its question."""
    if bias.captions is not None:
        return [
            AskedCaption(text, bias.questions.get(text, bias.question), None)
            for text in settings.limited(bias.captions)
        ]
    captions = []
    for stimulus in settings.limited(bias.stimuli or ()):
        question = fill(bias.question, stimulus=stimulus)
        for template in bias.templates:
            text = fill(template, stimulus=stimulus)
            captions.append(AskedCaption(text, question, stimulus))
    return captions
