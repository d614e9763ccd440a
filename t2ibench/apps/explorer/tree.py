"""The prompting tree: nodes and relations in, texts and a task file out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.prompting_tree import (
    Exploration,
    ExploredConcept,
    ExploredReference,
    Tree,
)
from t2ibench.methods.registry import METHODS
from t2ibench.registry import load_target


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ExportedAnchor(_Strict):
    """An anchor as the page has it: its name and the prompt of its images."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    prompt: Annotated[str, Field(min_length=1, max_length=2000)]


class Export(_Strict):
    """What a task file is made of.

    Attributes:
        tree: The tree.
        anchors: The anchors.
        inverse: Ids of nodes whose images were generated: they become inverse queries too.
        pairs: Ids of nodes looked at together.
        name: Id of the task.
    """

    tree: Tree
    anchors: Annotated[list[ExportedAnchor], Field(min_length=2, max_length=12)]
    inverse: list[str] = Field(default_factory=list)
    pairs: list[tuple[str, str]] = Field(default_factory=list)
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=80)] = "explored"
    images_per_prompt: Annotated[int, Field(ge=1, le=100_000)] = 50


def exploration() -> Exploration[Any]:
    """The exploration of the first registered method that has one."""
    for _, method in METHODS.items():
        if method.explores is not None:
            loaded: Exploration[Any] = load_target(method.explores)
            return loaded
    raise T2IBenchError("No method is installed whose tasks can be explored.")


def task_from_export(export: Export, reference: ExploredReference | None = None) -> dict[str, Any]:
    """A task that `t2ibench run` accepts."""
    tree = export.tree
    anchors = {anchor.prompt: anchor.name for anchor in export.anchors}
    labels = {node.id: node.label for node in tree.nodes}
    concepts: dict[str, ExploredConcept] = {}
    taken: set[str] = set()
    for node, text in tree.concepts(list(anchors)):
        label = labels[node] or text
        name = label if label not in taken else text
        if name not in taken:
            taken.add(name)
            concepts[node] = ExploredConcept(name, text, node in export.inverse)
    if not concepts:
        raise T2IBenchError("The tree has no test concept yet.")
    pairs = [
        (concepts[first].name, concepts[second].name)
        for first, second in export.pairs
        if first in concepts and second in concepts and first != second
    ]
    writer = exploration()
    return writer.task_file(
        export.name,
        anchors,
        list(concepts.values()),
        pairs,
        export.images_per_prompt,
        reference or writer.default_reference(list(anchors)),
    )


class Session(_Strict):
    """A saved exploration.

    Attributes:
        version: Of this schema.
        state: What the page shows now.
        undo: Earlier states, the latest last.
        redo: States that were undone.
    """

    version: Literal[1] = 1
    state: State
    undo: Annotated[list[State], Field(max_length=100)] = Field(default_factory=list)
    redo: Annotated[list[State], Field(max_length=100)] = Field(default_factory=list)


class PageAnchor(ExportedAnchor):
    """An anchor and its colour."""

    colour: Annotated[str, Field(pattern=r"^#[0-9a-fA-F]{6}$")]


class State(_Strict):
    """Everything that an exploration can change.

    Attributes:
        tree: The prompting tree.
        anchors: Two or more, with their colours.
        chosen: Ids of the nodes that the plots show.
        inverse: Ids of nodes whose images were generated.
    """

    tree: Tree
    anchors: Annotated[list[PageAnchor], Field(min_length=1, max_length=12)]
    chosen: list[str] = Field(default_factory=list)
    inverse: list[str] = Field(default_factory=list)


Session.model_rebuild()
