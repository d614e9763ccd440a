"""The schema of occupation tasks, and what it cannot express."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Literal

from pydantic import Field

from t2ibench.errors import did_you_mean
from t2ibench.methods.core import checks
from t2ibench.methods.core.guided import GuidedTask
from t2ibench.methods.core.schema import Concept, Reference, Text, WordGroup


class OccupationsTask(GuidedTask):
    """The association of each stimulus with groups (Wang et al. 2023, sections 5.3 and 5.4).

    Attributes:
        concept: The stimuli, for example occupations.
        groups: Two or more attribute groups; every pair is compared.
        reference: Known shares to compare with.
        crossing: Name of an attribute to its two groups, for two or three attributes: every
            combination of their words is generated too, and the shares of the combinations in the
            images without a group are measured.
        sets: Two or more sets of the stimuli, whose mean leans are compared with each other.
        likeness: Whether to measure how far apart the images of the groups are, too.
    """

    later = frozenset({"likeness", "crossing", "sets"})

    method: Literal["occupations"]
    concept: Concept
    groups: Annotated[tuple[WordGroup, ...], Field(min_length=2)]
    reference: Reference | None = None
    crossing: Annotated[
        dict[Text, Annotated[tuple[WordGroup, ...], Field(min_length=2, max_length=2)]],
        Field(max_length=3),
    ] = Field(default_factory=dict)
    likeness: bool = False
    sets: tuple[Concept, ...] = ()

    @property
    def combinations(self) -> list[WordGroup]:
        """Every combination of crossed groups, the last attribute changing first.

        The words of later attributes stand first, as in "old female".
        """
        return [
            WordGroup(
                name=" x ".join(group.name for group in groups),
                words=tuple(" ".join(one[::-1]) for one in product(*(g.words for g in groups))),
            )
            for groups in product(*self.crossing.values())
            if groups
        ]


def check(task: OccupationsTask) -> Iterator[checks.Finding]:
    """Problems of a task that its schema cannot express."""
    yield from checks.duplicates(task.concept.stimuli, ("concept", "stimuli"))
    words = [word for group in task.groups for word in group.words]
    yield from checks.guided(task.prompts, task.concept.stimuli, words)
    names = [group.name for group in task.groups]
    yield from checks.duplicates(names, ("groups",))
    for number, group in enumerate(task.groups):
        yield from checks.duplicates(group.words, ("groups", number, "words"))
        for other in task.groups[:number]:
            yield from checks.overlap(
                other.words, group.words, (other.name, group.name), ("groups", number)
            )
    yield from _check_crossing(task)
    yield from _sets(task)
    if task.reference is None:
        return
    if task.reference.group not in names:
        yield checks.Finding(
            ("reference", "group"),
            f"unknown group '{task.reference.group}'.{did_you_mean(task.reference.group, names)}",
        )
    unknown = [word for word in task.concept.stimuli if word not in task.reference.shares]
    if unknown:
        yield checks.Finding(
            ("reference", "shares"),
            f"no reference share for: {', '.join(map(repr, unknown))}",
            warning=True,
        )


def _check_crossing(task: OccupationsTask) -> Iterator[checks.Finding]:
    if len(task.crossing) == 1:
        yield checks.Finding(("crossing",), "give two or three attributes to cross")
    names = [group.name for groups in task.crossing.values() for group in groups]
    yield from checks.duplicates(names, ("crossing",))
    if task.crossing:
        words = [word for one in task.combinations for word in one.words]
        yield from checks.duplicates(words, ("crossing",))
        yield from checks.guided(task.prompts, task.concept.stimuli, words)


def _sets(task: OccupationsTask) -> Iterator[checks.Finding]:
    """Sets that do not compare stimuli of the task."""
    if len(task.sets) == 1:
        yield checks.Finding(("sets",), "one set has nothing to be compared with: give two or more")
    yield from checks.duplicates([one.name for one in task.sets], ("sets",))
    for number, one in enumerate(task.sets):
        at: checks.Location = ("sets", number, "stimuli")
        yield from checks.duplicates(one.stimuli, at)
        if len(one.stimuli) < 2:
            yield checks.Finding(at, "a set needs two stimuli or more, here: 1")
        for word in one.stimuli:
            if word not in task.concept.stimuli:
                near = did_you_mean(word, task.concept.stimuli)
                yield checks.Finding(at, f"'{word}' is not a stimulus of the concept.{near}")
        for other in task.sets[:number]:
            yield from checks.overlap(other.stimuli, one.stimuli, (other.name, one.name), at)
