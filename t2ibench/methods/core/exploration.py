"""What a method gives the explorer: where to start, and a task file of what was explored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from t2ibench.methods.core.schema import BaseTask

TaskT_contra = TypeVar("TaskT_contra", bound=BaseTask, contravariant=True)


@dataclass(frozen=True, slots=True)
class ExploredConcept:
    """A test concept that was looked at.

    Attributes:
        name: What reports call it.
        prompt: Its text.
        inverse: Whether images of it were generated too.
    """

    name: str
    prompt: str
    inverse: bool = False


@dataclass(frozen=True, slots=True)
class ExploredReference:
    """Words that the concepts are compared with.

    Attributes:
        template: How a word is put, with '{word}' or '{a word}'.
        words: The words; None for the list that tasks use by default.
    """

    template: str
    words: tuple[str, ...] | None = None


class Exploration(Protocol[TaskT_contra]):
    """The part of a method that the explorer uses. A method names it in `Method.explores`."""

    def anchors(self, task: TaskT_contra, /) -> Mapping[str, str]:
        """The anchors of a task."""
        ...

    def reference(self, task: TaskT_contra, /) -> ExploredReference:
        """The words that the concepts of a task are compared with."""
        ...

    def default_reference(self, anchors: Sequence[str], /) -> ExploredReference:
        """The words that concepts are compared with where no task says it."""
        ...

    def task_file(
        self,
        name: str,
        anchors: Mapping[str, str],
        concepts: Sequence[ExploredConcept],
        pairs: Sequence[tuple[str, str]],
        images_per_prompt: int,
        reference: ExploredReference,
        /,
    ) -> dict[str, Any]:
        """A task file of what was explored."""
        ...
