"""The prompting tree: nodes and relations in, texts and a task file out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from t2ibench.methods.core.prompts import article

PROPERTY = "has property"
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

    nodes: Annotated[list[Node], Field(min_length=1, max_length=2000)]

    @model_validator(mode="after")
    def _is_a_tree(self) -> Tree:
        seen: set[str] = set()
        for place, node in enumerate(self.nodes):
            if node.id in seen:
                raise ValueError(f"the node '{node.id}' is there twice")
            if (node.parent is None) != (place == 0) or (place and node.parent not in seen):
                raise ValueError(f"the node '{node.id}' does not come after its parent")
            seen.add(node.id)
        return self

    def children(self, parent: str) -> list[Node]:
        """The children of a node, in order."""
        return [node for node in self.nodes if node.parent == parent]

    def text(self, chosen: Iterable[str]) -> str:
        """The text of one node, or of several branches together.

        Properties chain before their noun ("young male person"); other relations of one level are
        joined by "and" ("picture that shows a person and a dog").

        Raises:
            KeyError: there is no such node.
        """
        by_id = {node.id: node for node in self.nodes}
        kept: set[str] = set()
        for name in chosen:
            node: Node | None = by_id[name]
            while node is not None:
                kept.add(node.id)
                node = by_id[node.parent] if node.parent else None
        return " ".join(self._render(self.nodes[0], kept).split())

    def _render(self, node: Node, kept: set[str]) -> str:
        inside = [child for child in self.children(node.id) if child.id in kept]
        properties = [self._render(one, kept) for one in inside if one.relation == PROPERTY]
        words = [" ".join([*properties, node.label])]
        relations = dict.fromkeys(one.relation for one in inside if one.relation != PROPERTY)
        parts = []
        for relation in relations:
            items = [self._render(one, kept) for one in inside if one.relation == relation]
            marked = _ARTICLE.search(relation)
            stem = relation[: marked.start()] if marked else relation
            if marked:
                items = [f"{article(item)} {item}" for item in items]
            parts.append(f"{stem} {' and '.join(items)}")
        if parts:
            words.append(" and ".join(parts))
        return " ".join(words)

    def concepts(self, anchors: Sequence[str]) -> list[tuple[str, str]]:
        """Node id and text of every node but the root and nodes whose text is an anchor's."""
        found = [(node.id, self.text([node.id])) for node in self.nodes[1:]]
        return [(name, text) for name, text in found if text and text not in anchors]


class ExportedAnchor(_Strict):
    """An anchor as the page has it: its name and the prompt of its images."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    prompt: Annotated[str, Field(min_length=1, max_length=2000)]


class Export(_Strict):
    """What a task file is made of.

    Attributes:
        tree: The tree.
        anchors: The anchors.
        inverse: Ids of nodes that were drawn: they become inverse queries too.
        pairs: Ids of nodes looked at together.
        name: Id of the task.
    """

    tree: Tree
    anchors: Annotated[list[ExportedAnchor], Field(min_length=2, max_length=12)]
    inverse: list[str] = Field(default_factory=list)
    pairs: list[tuple[str, str]] = Field(default_factory=list)
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=80)] = "explored"
    images_per_prompt: Annotated[int, Field(ge=1, le=100_000)] = 50


def task_of(export: Export) -> dict[str, Any]:
    """A ViBEx task that `t2ibench run` accepts.

    Raises:
        ValueError: the tree has no test concept.
    """
    tree = export.tree
    rows: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for node, text in tree.concepts([one.prompt for one in export.anchors]):
        label = next(one.label for one in tree.nodes if one.id == node) or text
        name = label if label not in names.values() else text
        if name in names.values():
            continue
        names[node] = name
        rows.append({"name": name, "prompt": text})
        if node in export.inverse:
            rows.append({"name": name, "prompt": text, "query": "inverse"})
    if not rows:
        raise ValueError("the tree has no test concept yet")
    pairs = [[names[a], names[b]] for a, b in export.pairs if a in names and b in names and a != b]
    task: dict[str, Any] = {
        "id": export.name,
        "version": 1,
        "method": "vibex",
        "title": "Concepts explored by hand",
        "description": "Made with t2ibench explore. Say here what is asked, and what the scores do "
        "and do not show.",
        "citation": "Method: Eschner et al. (2025), ViBEx, Computer Graphics Forum.",
        "tags": ["explored"],
        "images_per_prompt": export.images_per_prompt,
        "anchors": [one.model_dump() for one in export.anchors],
        "concepts": rows,
    }
    return task | ({"intersections": pairs} if pairs else {})


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
        inverse: Ids of nodes whose images were drawn.
    """

    tree: Tree
    anchors: Annotated[list[PageAnchor], Field(min_length=1, max_length=12)]
    chosen: list[str] = Field(default_factory=list)
    inverse: list[str] = Field(default_factory=list)


Session.model_rebuild()
