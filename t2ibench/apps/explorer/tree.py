"""The tree of prompts that the explorer's page edits: as it sends and saves it, and as a task."""

from __future__ import annotations

from collections.abc import Collection
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
    """An anchor sent by the page: its name and the prompt of its images."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    prompt: Annotated[str, Field(min_length=1, max_length=2000)]


class Export(_Strict):
    """A request to export a prompting tree as a task; `pairs` are ids of nodes viewed together."""

    tree: Tree
    anchors: Annotated[list[ExportedAnchor], Field(min_length=2, max_length=12)]
    pairs: list[tuple[str, str]] = Field(default_factory=list)
    images_per_prompt: Annotated[int, Field(ge=1, le=100_000)] = 50


def exploration() -> Exploration[Any]:
    """Return the explorer's interface to the first registered method that has one."""
    for _, method in METHODS.items():
        if method.explores is not None:
            loaded: Exploration[Any] = load_target(method.explores)
            return loaded
    raise T2IBenchError("No method is installed whose tasks can be explored.")


def task_from_export(
    export: Export, reference: ExploredReference, prompts: Collection[str] = ()
) -> dict[str, Any]:
    """Return a prompting tree as a task for `t2ibench run`.

    A concept whose text is among `prompts`, those of existing images, is also queried in the
    inverse direction.
    """
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
            concepts[node] = ExploredConcept(name, text, text in prompts)
    if not concepts:
        raise T2IBenchError("The tree has no test concept yet.")
    pairs = [
        (concepts[first].name, concepts[second].name)
        for first, second in export.pairs
        if first in concepts and second in concepts and first != second
    ]
    return exploration().task_file(
        "explored",
        anchors,
        list(concepts.values()),
        pairs,
        export.images_per_prompt,
        reference,
    )


class Session(_Strict):
    """A saved exploration: the page's current state, and the states to undo and redo."""

    version: Literal[1] = 1
    state: State
    undo: Annotated[list[State], Field(max_length=100)] = Field(default_factory=list)
    redo: Annotated[list[State], Field(max_length=100)] = Field(default_factory=list)


class PageAnchor(ExportedAnchor):
    """An anchor of the page: its name, the prompt of its images, and its colour."""

    colour: Annotated[str, Field(pattern=r"^#[0-9a-fA-F]{6}$")]


class State(_Strict):
    """What a user can change on the page: the tree, its anchors, and the nodes that are plotted."""

    model_config = ConfigDict(extra="ignore")  # earlier versions kept more

    tree: Tree
    anchors: Annotated[list[PageAnchor], Field(min_length=1, max_length=12)]
    chosen: list[str] = Field(default_factory=list)


Session.model_rebuild()
