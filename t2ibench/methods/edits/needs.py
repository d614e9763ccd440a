"""The needs of an edit task: source images, edits of them, and answers about both."""

from __future__ import annotations

from collections.abc import Iterator

from t2ibench.methods.core.computed_edits import INSTRUCTIONS, computed_edit
from t2ibench.methods.core.edit_evidence import EditNeed, PairQuestion, SourceImage
from t2ibench.methods.core.evidence import Needs, PromptNeed
from t2ibench.methods.edits.schema import NO_CHANGE, Edit, EditsTask, SourceGroup
from t2ibench.settings import Settings


def needs(task: EditsTask, settings: Settings) -> Needs:
    """Return the source images and edits that a task needs, and the questions about them."""
    n_sources = settings.images(task.images_per_prompt)
    sources = [
        PromptNeed(prompt, n_sources, group=group.name, unit=prompt)
        for group in task.groups
        for prompt in settings.limited(group.prompts)
    ]
    edits: list[EditNeed] = []
    for edit in edits_of(task, settings):
        for group in task.groups:
            edits += edit_needs(task, edit, group, settings)
    return Needs(
        embeds=task.no_change is not None,
        sources=tuple(sources),
        edits=tuple(edits),
        pair_questions=tuple(_questions(task, settings)),
    )


def edits_of(task: EditsTask, settings: Settings) -> list[Edit]:
    """Return the edits that a run makes, with the controls after those that are measured."""
    edits = list(settings.limited(task.edits))
    if task.positive is not None:
        edits.append(task.positive)
    if task.no_change is not None:
        edits.append(Edit(name=NO_CHANGE, instruction=task.no_change))
    for name in task.does_nothing:
        edits.append(Edit(name=name, instruction=INSTRUCTIONS[name]))
    return edits


def edit_needs(
    task: EditsTask, edit: Edit, group: SourceGroup, settings: Settings
) -> list[EditNeed]:
    """Return an edit of every source image of a group, by prompt and by index."""
    n_sources = settings.images(task.images_per_prompt)
    # What the benchmark makes itself is the same each time.
    is_computed = computed_edit(edit.instruction) is not None
    n_images = 1 if is_computed else task.images_per_edit
    is_control = edit not in task.edits
    return [
        EditNeed(
            instruction=edit.instruction,
            source=SourceImage(prompt, index),
            images=n_images,
            group=group.name,
            edit=edit.name,
            is_control=is_control,
        )
        for prompt in settings.limited(group.prompts)
        for index in range(n_sources)
    ]


def _questions(task: EditsTask, settings: Settings) -> Iterator[PairQuestion]:
    """Yield the question of every attribute, then of every edit that has one."""
    for attribute in task.attributes:
        yield PairQuestion(attribute.question, attribute.classes, attribute.full_name)
    for edit in edits_of(task, settings):
        if edit.question is not None:
            yield PairQuestion(
                edit.question, edit.classes, about_edit(edit), (edit.name,)
            )


def about_edit(edit: Edit) -> str:
    """Return what reports call the question whether an edit was made."""
    return f"edit {edit.name}"
