"""The prompting tree: texts by the paper's rules, and task files."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from t2ibench.apps.explorer.start import split
from t2ibench.apps.explorer.tree import (
    Export,
    ExportedAnchor,
    exploration,
    task_from_export,
)
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.prompting_tree import Node, Tree


def tree(*rows: tuple[str, str | None, str, str]) -> Tree:
    return Tree(
        nodes=[
            Node(
                id=id_.replace(" ", "_"), parent=parent, relation=relation, label=label
            )
            for id_, parent, relation, label in rows
        ]
    )


# Figure 2 of the paper, and a dog.
PAPER = tree(
    ("root", None, "has property", "picture"),
    ("person", "root", "that shows a", "person"),
    ("female", "person", "has property", "female"),
    ("young", "person", "has property", "young"),
    ("suit", "person", "wearing a", "suit"),
    ("old", "suit", "has property", "old"),
    ("dog", "root", "that shows a", "dog"),
)


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        (["root"], "picture"),
        (["person"], "picture that shows a person"),
        (["female"], "picture that shows a female person"),
        (["young", "female"], "picture that shows a female young person"),
        (["suit", "female"], "picture that shows a female person wearing a suit"),
        (["old"], "picture that shows a person wearing an old suit"),
        (["person", "dog"], "picture that shows a person and a dog"),
    ],
)
def test_texts(chosen: list[str], text: str) -> None:
    assert PAPER.text(chosen) == text


@pytest.mark.parametrize(
    "nodes",
    [
        [],
        [{"id": "a", "label": "x", "parent": "b"}],
        [{"id": "a", "label": "x"}, {"id": "b", "label": "y"}],
        [{"id": "a", "label": "x"}, {"id": "a", "label": "y", "parent": "a"}],
        [{"id": "a", "label": "x"}, {"id": "b", "label": "y", "parent": "c"}],
        [{"id": "<b>", "label": "x"}],
        [{"id": "a", "label": "x", "mood": "y"}],
    ],
)
def test_invalid_trees_are_rejected(nodes: list[dict[str, str]]) -> None:
    with pytest.raises(ValidationError):
        Tree.model_validate({"nodes": nodes})


@pytest.mark.parametrize(
    ("prompts", "root"),
    [
        (["picture that shows a woman", "picture that shows a man"], "picture"),
        (["picture taken in Germany", "picture taken in Nigeria"], "picture"),
        (["a nurse", "the chef"], ""),
        (["a nurse", "a chef"], ""),
        (["one", "one two"], ""),
    ],
)
def test_anchors_become_a_tree(prompts: list[str], root: str) -> None:
    found, relation, labels = split(prompts)
    rows = [(label, "root", relation, label) for label in labels]
    made = tree(("root", None, "has property", found), *rows)
    assert found == root
    assert [made.text([node.id]) for node in made.nodes[1:]] == prompts


def test_a_task_of_a_tree() -> None:
    anchors = [
        ExportedAnchor(name="person", prompt="picture that shows a person"),
        ExportedAnchor(name="dog", prompt="picture that shows a dog"),
    ]
    reference = exploration().default_reference([anchor.prompt for anchor in anchors])
    export = Export(tree=PAPER, anchors=anchors, pairs=[("young", "female")])
    task = task_from_export(export, reference, ["picture that shows a young person"])
    rows = [(row["name"], row.get("query", "forward")) for row in task["concepts"]]
    assert rows == [
        *(("female", "forward"), ("young", "forward"), ("young", "inverse")),
        *(("suit", "forward"), ("old", "forward")),
    ]
    assert task["intersections"] == [["young", "female"]]
    empty = tree(("root", None, "has property", "picture"))
    with pytest.raises(T2IBenchError, match="no test concept"):
        task_from_export(Export(tree=empty, anchors=anchors), reference)
