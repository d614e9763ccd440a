"""The evidence that an MCAS task needs: images of attributes and targets, and texts."""

from __future__ import annotations

from t2ibench.methods.core.evidence import Needs, PromptNeed, QuestionNeed
from t2ibench.methods.core.schema import Side
from t2ibench.methods.mcas.schema import McasTarget, McasTask
from t2ibench.settings import Settings


def needs(task: McasTask, settings: Settings) -> Needs:
    """Return the evidence that a task needs: prompts for images, and texts to embed."""
    attributes = (task.attributes.A, task.attributes.B)
    targets = chosen_targets(task, settings)
    words = [word for attribute in attributes for word in attribute.words]
    texts = [text for target in targets for text in target.texts]
    attribute_prompts = _attribute_prompts(task, settings)
    target_prompts = _target_prompts(task, targets, settings)
    return Needs(
        prompts=(*attribute_prompts, *target_prompts),
        texts=tuple(dict.fromkeys([*words, *texts])),
        checks=_questions_about(attribute_prompts, task),
        guided_groups=task.attribute_names,
    )


def chosen_targets(task: McasTask, settings: Settings) -> list[McasTarget]:
    """Return the targets that a run measures: all of a task's, or fewer with `--limit`.

    With `--limit` these are the first of each stereotype in each category.
    """
    groups: dict[tuple[str | None, Side | None], list[McasTarget]] = {}
    for target in task.targets:
        group = (target.category, target.stereotype)
        groups.setdefault(group, []).append(target)
    names: set[str] = set()
    for members in groups.values():
        names |= {target.name for target in settings.limited(members)}
    return [target for target in task.targets if target.name in names]


def _attribute_prompts(task: McasTask, settings: Settings) -> list[PromptNeed]:
    n_images = settings.guided_images(task.attribute_images_per_prompt)
    return [
        PromptNeed(prompt, n_images, attribute.name)
        for attribute in (task.attributes.A, task.attributes.B)
        for prompt in attribute.prompts
    ]


def _questions_about(
    attribute_prompts: list[PromptNeed], task: McasTask
) -> tuple[QuestionNeed, ...]:
    """Return a question for each attribute prompt; none if the task has no question."""
    if task.question is None:
        return ()
    return tuple(
        QuestionNeed(need.prompt, need.images, task.question, task.attribute_names)
        for need in attribute_prompts
    )


def _target_prompts(
    task: McasTask, targets: list[McasTarget], settings: Settings
) -> list[PromptNeed]:
    n_images = settings.images(task.images_per_prompt)
    groups = {
        "A": f"targets seen as {task.attributes.A.name}",
        "B": f"targets seen as {task.attributes.B.name}",
    }
    prompts = []
    for target in targets:
        group = groups.get(target.stereotype or "", "targets")
        for prompt in target.prompts:
            prompts.append(PromptNeed(prompt, n_images, group, target.name))
    return prompts
