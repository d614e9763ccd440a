"""Checks of edit tasks for problems that their schema cannot express."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from t2ibench.errors import did_you_mean
from t2ibench.methods.core import checks
from t2ibench.methods.core.computed_edits import INSTRUCTIONS
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.edits.schema import (
    NO_CHANGE,
    Box,
    Edit,
    EditAttribute,
    EditsTask,
    middles_between,
)


def check(task: EditsTask) -> Iterator[checks.Finding]:
    """Yield each problem of an edit task that its schema cannot express."""
    yield from _check_groups(task)
    yield from _check_names_of_edits(task)
    for edit, place in _edits_with_places(task):
        yield from _check_edit(edit, task, place)
    if task.no_change is not None:
        yield from _check_instruction(task.no_change, task, ("no_change",))
    names = [attribute.full_name for attribute in task.attributes]
    yield from checks.duplicates(names, ("attributes",))
    for number, attribute in enumerate(task.attributes):
        yield from _check_attribute(attribute, task, ("attributes", number))
    yield from _check_headline(task)
    yield from _check_pixels(task)


def _edits_with_places(task: EditsTask) -> Iterator[tuple[Edit, checks.Location]]:
    """Yield every edit with its place in the file, the positive control last."""
    for number, edit in enumerate(task.edits):
        yield edit, ("edits", number)
    if task.positive is not None:
        yield task.positive, ("positive",)


def _check_groups(task: EditsTask) -> Iterator[checks.Finding]:
    """Yield a problem for groups and prompts given twice, and for unknown compared groups."""
    names = [group.name for group in task.groups]
    yield from checks.duplicates(names, ("groups",))
    prompts: list[str] = []
    for group in task.groups:
        prompts += group.prompts
    yield from checks.duplicates(prompts, ("groups",))
    for number, name in enumerate(task.between or ()):
        yield from _check_name(name, names, "group", ("between", number))
    yield from checks.duplicates(task.between or (), ("between",))
    numbers = {len(group.prompts) for group in task.groups}
    if len(numbers) > 1:
        message = (
            "groups with unequal numbers of prompts: a difference between groups may come from "
            "what only some prompts show"
        )
        yield checks.Finding(("groups",), message, warning=True, kind="unequal_sizes")


def _check_names_of_edits(task: EditsTask) -> Iterator[checks.Finding]:
    """Yield a problem for names and instructions that are given twice."""
    edits = [edit for edit, _ in _edits_with_places(task)]
    names = [edit.name for edit in edits]
    instructions = [edit.instruction for edit in edits]
    if task.no_change is not None:
        names.append(NO_CHANGE)
        instructions.append(task.no_change)
    names += task.does_nothing
    instructions += [INSTRUCTIONS[name] for name in task.does_nothing]
    yield from checks.duplicates(names, ("edits",))
    yield from checks.duplicates(instructions, ("edits",))


def _check_edit(
    edit: Edit, task: EditsTask, place: checks.Location
) -> Iterator[checks.Finding]:
    """Yield each problem of an instruction and of the question whether it was followed."""
    yield from _check_instruction(edit.instruction, task, (*place, "instruction"))
    yield from _check_classes(edit.classes, (*place, "classes"))
    if edit.question is None:
        if edit.classes != Edit.model_fields["classes"].default:
            message = "classes answer a question, but there is none"
            yield checks.Finding((*place, "classes"), message)
        if place == ("positive",):
            message = (
                "a positive control needs a question that tells whether it was made"
            )
            yield checks.Finding(place, message)
        elif task.no_change is None:
            message = (
                f"nothing tells whether '{edit.name}' was made: give it a question, or the "
                "task an instruction 'no_change' with which distances are compared"
            )
            yield checks.Finding(place, message, warning=True)
    questions = [_folded(attribute.question) for attribute in task.attributes]
    if edit.question is not None and _folded(edit.question) in questions:
        message = (
            "this is also an attribute's question: what an edit asks for changes with it, and is "
            "no finding about a group"
        )
        yield checks.Finding((*place, "question"), message)


def _check_instruction(
    instruction: str, task: EditsTask, place: checks.Location
) -> Iterator[checks.Finding]:
    """Yield a problem for each group, or class that defines one, that an instruction names."""
    if "{" in instruction or "}" in instruction:
        message = "an instruction is the same for all groups and has no placeholder"
        yield checks.Finding(place, message)
    named = _groups_named(instruction, task)
    if named:
        words = ", ".join(f"'{word}'" for word in named)
        message = (
            f"the instruction names {words}: an edit that asks for a group does not show whom "
            "the model changes"
        )
        yield checks.Finding(place, message)


def _groups_named(instruction: str, task: EditsTask) -> list[str]:
    """Return the words of an instruction that name a group, or a class that defines one.

    A group of two words or more is looked for as it is; of single words also their other forms,
    such as 'woman' for a group of women or for the class 'female'.
    """
    # Not at the top: listing tasks does not load what describes results.
    from t2ibench.methods.core.describe import people

    names: dict[str, None] = {}
    for group in task.groups:
        names[group.name] = None
    for attribute in task.attributes:
        names |= dict.fromkeys(attribute.shown_by_group.values())
    nouns = {people(_folded(name)) for name in names}
    named: dict[str, None] = {}
    for word in re.findall(r"[\w'-]+", instruction):
        if people(word.casefold()) in nouns:
            named[word] = None
    for name in names:
        phrase = rf"(?<!\w){re.escape(name)}(?!\w)"
        if " " in name and re.search(phrase, instruction, re.IGNORECASE):
            named[name] = None
    return list(named)


def _check_classes(
    classes: Sequence[str], place: checks.Location
) -> Iterator[checks.Finding]:
    """Yield a problem for each class that is given twice, and for 'unknown' as a class."""
    names = [_folded(name) for name in classes]
    yield from checks.duplicates(names, place)
    if UNKNOWN in names:
        message = "'unknown' is always possible; leave it out"
        yield checks.Finding(place, message)


def _check_attribute(
    attribute: EditAttribute, task: EditsTask, place: checks.Location
) -> Iterator[checks.Finding]:
    """Yield each problem of an attribute's classes, and of the classes that groups are shown as."""
    yield from _check_classes(attribute.classes, (*place, "classes"))
    if attribute.shown is not None:
        at = (*place, "shown")
        yield from _check_name(attribute.shown, attribute.classes, "class", at)
        if attribute.shown_by_group:
            message = "give either 'shown' or 'shown_by_group', not both"
            yield checks.Finding(at, message)
    groups = [group.name for group in task.groups]
    at = (*place, "shown_by_group")
    for name, shown_class in attribute.shown_by_group.items():
        yield from _check_name(name, groups, "group", (*at, name))
        yield from _check_name(shown_class, attribute.classes, "class", (*at, name))
    without = [name for name in groups if name not in attribute.shown_by_group]
    if attribute.shown_by_group and without:
        message = f"no class for {', '.join(f'{name!r}' for name in without)}"
        yield checks.Finding(at, message)
    shown = [attribute.shown_by_group.get(name) for name in task.compared_groups]
    if None not in shown and shown[0] == shown[1]:
        message = f"both compared groups are shown as '{shown[0]}': use 'shown' instead"
        yield checks.Finding(at, message)


def _check_headline(task: EditsTask) -> Iterator[checks.Finding]:
    """Yield a problem if the headline names no attribute, or one of several of that name."""
    names: list[str] = []
    for attribute in task.attributes:
        names += [attribute.name, attribute.full_name]
    yield from _check_name(
        task.headline, list(dict.fromkeys(names)), "attribute", ("headline",)
    )
    named = [
        attribute
        for attribute in task.attributes
        if task.headline in (attribute.name, attribute.full_name)
    ]
    if len(named) > 1:
        message = f"several attributes are called '{task.headline}'; give what it is about, too"
        yield checks.Finding(("headline",), message)


def _check_pixels(task: EditsTask) -> Iterator[checks.Finding]:
    """Yield each problem of the measures on pixels."""
    names = [region.name for region in task.lightness]
    yield from checks.duplicates(names, ("lightness",))
    for number, region in enumerate(task.lightness):
        yield from _check_box(region.box, ("lightness", number, "box"))
    if task.stays is None:
        return
    yield from _check_box(task.stays.box, ("stays", "box"))
    if task.stays.box is None:
        message = "it is the whole picture, of which no edit could change anything: give a box"
        yield checks.Finding(("stays",), message)
    if task.no_change is None:
        message = (
            "what stays is compared beyond what 'no_change' does to it, and there is none: give "
            "an instruction that asks for no change"
        )
        yield checks.Finding(("stays",), message)


def _check_box(box: Box | None, place: checks.Location) -> Iterator[checks.Finding]:
    """Yield a problem for a rectangle that has none of the cells in which pixels are measured."""
    if box is None:
        return
    left, top, right, lower = box
    if not any(middles_between(left, right)) or not any(middles_between(top, lower)):
        message = (
            "it must be left, top, right and lower end, and hold the middle of a sixteenth of the "
            "picture's width and height, such as [0.4, 0.3, 0.6, 0.45]"
        )
        yield checks.Finding(place, message)


def _check_name(
    name: str, names: Iterable[str], what: str, place: checks.Location
) -> Iterator[checks.Finding]:
    """Yield a problem for a name that is not among those given."""
    possible = list(names)
    if name not in possible:
        hint = did_you_mean(name, possible)
        yield checks.Finding(place, f"unknown {what} '{name}'.{hint}")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
