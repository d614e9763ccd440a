"""The evidence that a TIBET task needs."""

from __future__ import annotations

from t2ibench.methods.core.evidence import Needs, PromptNeed, QuestionNeed
from t2ibench.methods.tibet.schema import TibetPrompt, TibetTask, all_questions
from t2ibench.settings import Settings


def needs(task: TibetTask, settings: Settings) -> Needs:
    """Return the images that a TIBET task needs, and the questions about them."""
    prompts: dict[tuple[str, int], PromptNeed] = {}
    questions: list[QuestionNeed] = []
    for target in settings.limited(task.prompts):
        asked = all_questions(task, target)
        for need in _prompt_needs(task, target, settings):
            prompts.setdefault((need.prompt, need.images), need)
            questions += [
                QuestionNeed(need.prompt, need.images, question) for question in asked
            ]
    return Needs(
        prompts=tuple(prompts.values()), questions=tuple(dict.fromkeys(questions))
    )


def _prompt_needs(
    task: TibetTask, target: TibetPrompt, settings: Settings
) -> list[PromptNeed]:
    """Return the images needed of a prompt, then those needed of its counterfactuals."""
    n_images, guided_images = task.image_counts(settings)
    unchanged = PromptNeed(target.prompt, n_images, "as they stand", target.prompt)
    changed = [
        PromptNeed(
            counterfactual.prompt,
            guided_images,
            f"changed to {counterfactual.name}",
            target.prompt,
        )
        for axis in target.axes
        for counterfactual in axis.counterfactuals
    ]
    return [unchanged, *changed]
