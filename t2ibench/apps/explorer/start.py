"""The explorer's initial state: the requested anchors, or those of the run's first task."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Mapping, Sequence
from itertools import cycle, takewhile
from pathlib import Path
from typing import Any

from t2ibench.apps.explorer.album import Album, Source
from t2ibench.apps.explorer.tree import PageAnchor, State
from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.methods.core.prompting_tree import PROPERTY, Exploration, Node, Tree
from t2ibench.methods.core.schema import BaseTask
from t2ibench.methods.registry import method_of
from t2ibench.models.judges.class_words import class_named
from t2ibench.registry import load_target

# Okabe and Ito's colours, which people with any colour vision tell apart.
_COLOURS = (
    "#e69f00",
    "#0072b2",
    "#009e73",
    "#cc79a7",
    "#d55e00",
    "#56b4e9",
    "#8a6d00",
    "#6a3d9a",
)
_LONGEST = 200


def check_anchors(album: Album, anchors: Sequence[str]) -> None:
    """Raise an error if an anchor is no prompt of the images."""
    for prompt in anchors:
        if prompt not in album.prompts:
            raise T2IBenchError(
                f"No image has the prompt '{prompt}'.{did_you_mean(prompt, album.prompts)}",
                "Anchors are prompts of the images; quote each one.",
            )


def first_state(album: Album, anchors: Sequence[str] | None = None) -> State:
    """Return the page's initial state: the anchors, and a prompting tree that holds them."""
    if anchors:
        check_anchors(album, anchors)
        names = dict.fromkeys(anchors, "")
    else:
        names = _of_tasks(album.sources, album.prompts) or {
            prompt: "" for prompt, _ in album.prompts.most_common(2)
        }
    prompts = _as_reports_have_them(list(names), names)
    root, relation, labels = split(prompts)
    page = [
        PageAnchor(
            name=(names[prompt] or label)[:_LONGEST], prompt=prompt, colour=colour
        )
        for prompt, label, colour in zip(prompts, labels, cycle(_COLOURS), strict=False)
    ]
    return State(tree=_tree(root, relation, labels), anchors=page)


def _as_reports_have_them(
    prompts: Sequence[str], names: Mapping[str, str]
) -> list[str]:
    """Return two anchors with men first, which is on the right, as in reports; others unchanged."""
    genders = [_gender(names[prompt] or prompt) for prompt in prompts]
    return list(reversed(prompts)) if genders == ["female", "male"] else list(prompts)


def _gender(text: str) -> str | None:
    """Return the gender that the words of a text name; None if none or both."""
    named = {
        class_named(word, ["female", "male"]) for word in text.split() if len(word) > 1
    }
    genders = named - {None}
    return genders.pop() if len(genders) == 1 else None


def _tree(root: str, relation: str, labels: Sequence[str]) -> Tree:
    """Return a prompting tree with one root, and below it a node for each label."""
    nodes = [Node(id="root", label=root)]
    nodes += [
        Node(
            id=f"anchor{number}",
            label=label[:_LONGEST],
            parent="root",
            relation=relation,
        )
        for number, label in enumerate(labels)
    ]
    return Tree(nodes=nodes)


def _of_tasks(sources: Sequence[Source], present: Container[str]) -> dict[str, str]:
    """Return prompt and name of each anchor of the first task whose anchors all have images."""
    for exploration, task in explored_tasks(sources):
        anchors = exploration.anchors(task)
        if all(prompt in present for prompt in anchors):
            return dict(anchors)
    return {}


def explored_tasks(
    sources: Sequence[Source],
) -> list[tuple[Exploration[Any], BaseTask]]:
    """Return the first run's tasks that can be explored, each with its explorer interface."""
    from t2ibench.tasks.index import load_tasks
    from t2ibench.tasks.run_tasks import with_stored

    run = sources[0].run
    if run is None or not run.record.tasks:
        return []
    here = [path for path in run.record.include_path if Path(path).is_dir()]
    try:
        tasks = load_tasks(run.record.tasks, here, on_left_out=lambda _: None)
    except T2IBenchError:
        return []
    return [
        (load_target(target), task.spec)
        for task in with_stored(tasks, run.path)
        if (target := method_of(task.spec).explores) is not None
    ]


def split(prompts: Sequence[str]) -> tuple[str, str, list[str]]:
    """Return a root, a relation and a label for each prompt that together form these prompts.

    Examples:
        >>> split(["picture that shows a woman", "picture that shows a man"])
        ('picture', 'that shows a', ['woman', 'man'])
        >>> split(["a nurse", "the chef"])
        ('', 'has property', ['a nurse', 'the chef'])
    """
    words = [prompt.split() for prompt in prompts]
    columns = zip(*(of_one[:-1] for of_one in words), strict=False)
    shared = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
    if shared >= 2:
        root = words[0][0]
        relation = " ".join(words[0][1:shared])
        labels = [" ".join(of_one[shared:]) for of_one in words]
        tree = _tree(root, relation, labels)
        if [tree.text([node.id]) for node in tree.nodes[1:]] == list(prompts):
            return root, relation, labels
    return "", PROPERTY, list(prompts)  # without a subject, a property is its own text
