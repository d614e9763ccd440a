"""The prompting tree, which joins nodes into prompts (Eschner et al. 2025, section 3.4.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from t2ibench.methods.core.prompts import article
from t2ibench.methods.core.schema import BaseTask

PROPERTY = "has property"
MOST_NODES = 2000
DEEPEST = 50  # levels below the root; a text of more is no prompt any more
Label = Annotated[str, Field(max_length=200)]
_ARTICLE = re.compile(r"\s+(?:an?)$")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Node(_Strict):
    """One node of a prompting tree: a word and its relation to its parent."""

    # unique within the tree
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
    label: Label  # noun or adjective; may be empty at the root
    parent: str | None = None  # id of its parent; None for the root
    # the words between parent and label; 'has property' puts the label before it
    relation: Label = PROPERTY


class Tree(_Strict):
    """A tree of words whose branches make prompts (section 3.4.2)."""

    # the root first, every other node after its parent
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
        """Return the prompt that the chosen nodes make together with all nodes above them.

        Properties chain before their noun ("young male person"); other relations of one level are
        joined by "and" ("picture that shows a person and a dog").
        """
        by_id = {node.id: node for node in self.nodes}
        order = {node.id: number for number, node in enumerate(self.nodes)}
        included: set[str] = set()
        for name in chosen:
            node: Node | None = by_id[name]
            while node is not None and node.id not in included:
                included.add(node.id)
                node = by_id[node.parent] if node.parent else None
        children: dict[str | None, list[Node]] = {}
        for name in sorted(included, key=order.__getitem__):
            child = by_id[name]
            children.setdefault(child.parent, []).append(child)
        root = self.nodes[0]
        words = self._render(root, children).split()
        return " ".join(words)

    def _render(self, node: Node, children: Mapping[str | None, Sequence[Node]]) -> str:
        inside = children.get(node.id, ())
        properties = [
            self._render(c, children) for c in inside if c.relation == PROPERTY
        ]
        words = [" ".join([*properties, node.label])]
        relations = dict.fromkeys(
            child.relation for child in inside if child.relation != PROPERTY
        )
        parts = []
        for relation in relations:
            items = [
                self._render(c, children) for c in inside if c.relation == relation
            ]
            marked = _ARTICLE.search(relation)
            stem = relation[: marked.start()] if marked else relation
            if marked:
                items = [f"{article(item)} {item}" for item in items]
            parts.append(f"{stem} {' and '.join(items)}")
        if parts:
            words.append(" and ".join(parts))
        return " ".join(words)

    def concepts(self, anchors: Sequence[str]) -> list[tuple[str, str]]:
        """Return the id and text of each node that can be a test concept, so no anchor."""
        concepts = []
        for node in self.nodes[1:]:
            text = self.text([node.id])
            if text and text not in anchors:
                concepts.append((node.id, text))
        return concepts


TaskT_contra = TypeVar("TaskT_contra", bound=BaseTask, contravariant=True)


@dataclass(frozen=True, slots=True)
class ExploredConcept:
    """A test concept that was explored, with its prompt."""

    name: str  # what reports call it
    prompt: str  # its text
    inverse: bool = False  # whether images of it were generated too


@dataclass(frozen=True, slots=True)
class ExploredReference:
    """Words that the explored concepts are compared with."""

    template: str  # how a word is put, with '{word}' or '{a word}'
    # the words; None for the list that tasks use by default
    words: tuple[str, ...] | None = None


class Exploration(Protocol[TaskT_contra]):
    """The part of a method that the explorer uses, named in `Method.explores`."""

    def anchors(self, task: TaskT_contra, /) -> Mapping[str, str]:
        """Return a task's anchors: the name of each, keyed by its prompt."""
        ...

    def reference(self, task: TaskT_contra, /) -> ExploredReference:
        """Return the words that the concepts of a task are compared with."""
        ...

    def default_reference(self, anchors: Sequence[str], /) -> ExploredReference:
        """Return the reference words for concepts of tasks that have none of their own."""
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
        """Return the content of a task file with the explored concepts."""
        ...
