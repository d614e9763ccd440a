"""Eschner et al. (2025): ViBEx."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from t2ibench.methods.core.prompting_tree import PROPERTY, Node, Tree
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.reproduction.paper import Built, Material, read_paper
from t2ibench.reproduction.papers.vibex_figures import (
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    figure_10,
    figure_11,
)
from t2ibench.reproduction.papers.vibex_material import GENDER, LOCATION, lean_line, row_of
from t2ibench.reproduction.papers.vibex_people import OPTIONS, figure_14, pilot_study, proposed_axes
from t2ibench.reproduction.papers.vibex_photographs import table_b
from t2ibench.reproduction.scores import score_line
from t2ibench.reproduction.tables import Line
from t2ibench.results.schema import TaskResult

_SHOWS = "that shows a"
_PERSON = [
    Node(id="picture", label="picture"),
    Node(id="person", label="person", parent="picture", relation=_SHOWS),
    Node(id="young", label="young", parent="person", relation=PROPERTY),
    Node(id="male", label="male", parent="person", relation=PROPERTY),
    Node(id="female", label="female", parent="person", relation=PROPERTY),
    Node(id="suit", label="suit", parent="person", relation="wearing a"),
    Node(id="dog", label="dog", parent="picture", relation=_SHOWS),
]
# What is chosen in the tree of Figure 2 and section 3.4.2, by what it is to say.
_BRANCHES = {
    "a property": ("young",),
    "the branch of 'female'": ("female",),
    "a property and a relation": ("female", "suit"),
    "two properties": ("young", "male"),
    "two relations at one level": ("person", "dog"),
}


def table_1(material: Material) -> Built:
    """The prompts of the anchors of the four scenarios."""
    lines = []
    for name in material.exhibit.read:
        spec = material.specs.get(name)
        anchors = spec.anchors if isinstance(spec, VibexTask) else ()
        row = name.removeprefix("vibex_")
        lines += [
            Line(row, score, anchor.prompt, material.published(row, score))
            for score, anchor in zip(("anchor 1", "anchor 2"), anchors, strict=False)
        ]
    return Built(lines)


def figure_15(material: Material) -> Built:
    """Images of the anchors of three scenarios."""
    prompts = material.exhibit.published[material.exhibit.models[0]]
    return Built(strips=[material.shelf.strip(prompt, [prompt]) for prompt in prompts])


def figure_2(material: Material) -> Built:
    """Texts of a prompting tree."""
    tree = Tree(nodes=_PERSON)
    return Built(
        [
            Line(row, "text", tree.text(chosen), material.published(row, "text"))
            for row, chosen in _BRANCHES.items()
        ]
    )


def table_2(material: Material) -> Built:
    """The tendency of every concept that experts found, and whether it leans here."""
    lines = []
    for name, known in material.exhibit.published[material.exhibit.models[0]].items():
        task = material.results.get(f"vibex_{known['scenario']}")
        lines += [] if task is None else _concept(name, known, task)
    for scenario, shipped in (("gender", GENDER), ("location", LOCATION)):
        task = material.results.get(shipped)
        share = None if task is None else task.scores.get("tendencies_reproduced")
        if share is not None:
            lines.append(score_line(f"all of {scenario}", "tendencies that come out", share, 2))
    return Built(lines)


def _concept(name: str, known: Mapping[str, object], task: TaskResult) -> list[Line]:
    query = str(known["query"])
    row = row_of(task, name, query)
    found = _entry(task, "tendencies", name)
    said = f"{query} query of {known['experts']}"
    if known.get("TIBET covers it") == "yes":
        said += "; among TIBET's axes"
    if row is None:
        said += "; not measured"
    lines = [Line(name, "tendency", found.get("found"), (str(known["tendency"]),), note=said)]
    if row is None:
        return lines
    if query == "inverse":
        return [*lines, lean_line(name, row)]
    verdict = _entry(task, "verdicts", name)
    outcome = verdict.get("verdict")
    if outcome == "leans":
        outcome = f"leans to {verdict['anchor']}"
    elif outcome is not None:
        outcome = str(outcome).replace("_", " ")
    return [
        *lines,
        Line(name, "verdict", outcome, note=str(verdict.get("says", ""))),
        score_line(name, "beyond words", row.scores.get("beyond_words"), 4),
    ]


def _entry(task: TaskResult, kind: str, concept: str) -> Mapping[str, Any]:
    """What the details say of a concept; empty where they say nothing."""
    rows = task.details.get(kind) or []
    return next((row for row in rows if row["concept"] == concept), {})


PAPER = read_paper(
    "vibex",
    {
        "table-1": table_1,
        "figure-2": figure_2,
        "figure-3": figure_3,
        "figure-4": figure_4,
        "figure-5": figure_5,
        "figure-6": figure_6,
        "table-2": table_2,
        "table-3": proposed_axes,
        "table-4": proposed_axes,
        "table-pilot": pilot_study,
        "table-b": table_b,
        "figure-10": figure_10,
        "figure-11": figure_11,
        "figure-14": figure_14,
        "figure-15": figure_15,
    },
    options=OPTIONS,
)
