"""The prompting tree: nodes and relations in, texts and a task file out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.exploration import (
    Exploration,
    ExploredConcept,
    ExploredReference,
)
from t2ibench.methods.core.prompts import article
from t2ibench.methods.registry import METHODS
from t2ibench.registry import load_target

PROPERTY = "has property"
MOST_NODES = 2000
DEEPEST = 50  # levels below the root; a text of more is no prompt any more
Label = Annotated[str, Field(max_length=200)]
_ARTICLE = re.compile(r"\s+(?:an?)$")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Node(_Strict):
    """A node of the tree.

    Attributes:
        id: Unique within the tree.
        label: Noun or adjective; may be empty at the root.
        parent: Id of its parent; None for the root.
        relation: The words between parent and label; 'has property' puts the label before it.
    """

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
    label: Label
    parent: str | None = None
    relation: Label = PROPERTY


class Tree(_Strict):
    """A prompting tree (section 3.4.2).

    Attributes:
        nodes: The root first, every other node after its parent.
    """

    nodes: Annotated[list[Node], Field(min_length=1, max_length=MOST_NODES)]

    @model_validator(mode="after")
    def _is_a_tree(self) -> Tree:
        depth: dict[str | None, int] = {None: -1}
        for index, node in enumerate(self.nodes):
            if node.id in depth:
                raise ValueError(f"the node '{node.id}' is listed twice")
            if (node.parent is None) != (index == 0) or node.parent not in depth:
                raise ValueError(f"the node '{node.id}' does not come after its parent")
            depth[node.id] = depth[node.parent] + 1
            if depth[node.id] > DEEPEST:
                raise ValueError(f"the tree is deeper than {DEEPEST} levels")
        return self

    def text(self, chosen: Iterable[str]) -> str:
        """The text of one node, or of several branches together.

        Properties chain before their noun ("young male person"); other relations of one level are
        joined by "and" ("picture that shows a person and a dog").

        Args:
            chosen: Ids of nodes.

        Returns:
            The text, with single spaces.

        Raises:
            KeyError: the node does not exist.
        """
        by_id = {node.id: node for node in self.nodes}
        order = {node.id: number for number, node in enumerate(self.nodes)}
        kept: set[str] = set()
        for name in chosen:
            node: Node | None = by_id[name]
            while node is not None and node.id not in kept:
                kept.add(node.id)
                node = by_id[node.parent] if node.parent else None
        children: dict[str | None, list[Node]] = {}
        for name in sorted(kept, key=order.__getitem__):
            children.setdefault(by_id[name].parent, []).append(by_id[name])
        return " ".join(self._render(self.nodes[0], children).split())

    def _render(self, node: Node, children: Mapping[str | None, Sequence[Node]]) -> str:
        inside = children.get(node.id, ())
        properties = [self._render(c, children) for c in inside if c.relation == PROPERTY]
        words = [" ".join([*properties, node.label])]
        relations = dict.fromkeys(child.relation for child in inside if child.relation != PROPERTY)
        parts = []
        for relation in relations:
            items = [self._render(c, children) for c in inside if c.relation == relation]
            marked = _ARTICLE.search(relation)
            stem = relation[: marked.start()] if marked else relation
            if marked:
                items = [f"{article(item)} {item}" for item in items]
            parts.append(f"{stem} {' and '.join(items)}")
        if parts:
            words.append(" and ".join(parts))
        return " ".join(words)

    def concepts(self, anchors: Sequence[str]) -> list[tuple[str, str]]:
        """The nodes that can be test concepts.

        Args:
            anchors: Prompts of the anchors.

        Returns:
            Node id and text of every node but the root and nodes whose text is an anchor's.
        """
        texts = [(node.id, self.text([node.id])) for node in self.nodes[1:]]
        return [(node, text) for node, text in texts if text and text not in anchors]


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
    """The exploration of the first registered method that has one.

    Returns:
        What writes the task file.

    Raises:
        T2IBenchError: the method is unknown.
    """
    for _, method in METHODS.items():
        if method.explores is not None:
            loaded: Exploration[Any] = load_target(method.explores)
            return loaded
    raise T2IBenchError("No method is installed whose tasks can be explored.")


def task_from_export(export: Export, reference: ExploredReference | None = None) -> dict[str, Any]:
    """A task that `t2ibench run` accepts.

    Args:
        export: The tree and what was done with it.
        reference: What its concepts were compared with; by default everyday words.

    Returns:
        The body of the task file.

    Raises:
        ValueError: the tree has no test concept.
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
            concepts[node] = ExploredConcept(name, text, node in export.inverse)
    if not concepts:
        raise ValueError("the tree has no test concept yet")
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
