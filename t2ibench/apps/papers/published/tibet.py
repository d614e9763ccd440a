"""Chinchure et al. (2024): TIBET."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from t2ibench.methods.tibet.questions import QUESTIONS, questions_of
from t2ibench.methods.tibet.schema import TibetTask
from t2ibench.reproduction.bars import Group, grouped_bars
from t2ibench.reproduction.paper import Built, Material, read_paper
from t2ibench.reproduction.papers.tibet_material import (
    PLACES,
    TABLE_5,
    gender_of,
    place_of,
    row_of,
    spec_of,
)
from t2ibench.reproduction.papers.tibet_mitigation import MITIGATED, figure_4, figure_12, figure_13
from t2ibench.reproduction.papers.tibet_people import OPTIONS, figure_9, study_3, table_2, table_3
from t2ibench.reproduction.papers.tibet_pictures import with_counterfactuals, with_mitigated
from t2ibench.reproduction.plots import Series, Words, scatter
from t2ibench.reproduction.scores import value_of, which_side
from t2ibench.reproduction.tables import Line
from t2ibench.stats import mad
from t2ibench.stats.proportions import share_difference

_PHILOSOPHER = "a philosopher"
_CURVES = {
    "CAS": "cas",
    "MAD": "mad",
    "Wasserstein": "wasserstein",
    "standard deviation": "deviation",
}
_PAPERS_ERROR = 0.18
# Made-up CAS: even, skewed; and alike in their spread, not in their amount.
_SHAPES = {"even": (0.5, 0.5, 0.5, 0.5), "somewhat skewed": (0.8, 0.5, 0.4, 0.3),
           "one only": (0.9, 0.0, 0.0, 0.0)}  # fmt: skip
_AMOUNTS = {"much in common": (0.9, 0.8, 0.8, 0.7), "little in common": (0.3, 0.2, 0.2, 0.1)}


def table_4(material: Material) -> Built:
    """The questions about common axes."""
    return Built(
        [
            Line(axis, "question", question, material.published(axis, "question"))
            for axis, question in QUESTIONS.items()
        ]
    )


def axes(material: Material) -> Built:
    """The axes of prompts, of Table 5 and of Figure 1."""
    spec = spec_of(material, TABLE_5)
    ours = {} if spec is None else {
        target.prompt: ", ".join(axis.name for axis in target.axes) for target in spec.prompts
    }  # fmt: skip
    published = material.exhibit.published[material.exhibit.models[0]]
    return Built(
        [
            Line(prompt, "axes", ours.get(prompt), material.published(prompt, "axes"))
            for prompt in published
        ]
    )


def figure_3(material: Material) -> Built:
    """CAS and MAD of every axis of a philosopher, with top concepts, overall and by axis."""
    task, place = material.results.get(TABLE_5), place_of(material, TABLE_5, _PHILOSOPHER)
    if task is None or place is None:
        return Built()
    lines: list[Line] = []
    groups, found = [], []
    for axis in place["axes"]:
        row = row_of(task, _PHILOSOPHER, axis["axis"])
        value = value_of(row, "mad")
        if row is None or value is None:
            continue
        found.append((value, axis["axis"]))
        cas = [(cf["name"], value_of(row, f"cas:{cf['name']}")) for cf in axis["counterfactuals"]]
        lines.append(Line(axis["axis"], "MAD", value))
        lines += [Line(f"{axis['axis']}: {name}", "CAS", score) for name, score in cas]
        bars = [(name, score) for name, score in cas if score is not None]
        groups.append(Group(axis["axis"], bars, f"MAD {value:.2f}"))
    first = ", ".join(name for _, name in sorted(found, reverse=True)[:3])
    known = material.published("all axes", "highest MAD")
    head = [Line("all axes", "highest MAD", first or None, known)]
    words = Words(
        "CAS and MAD of a philosopher",
        "A bar is the CAS of a counterfactual; MAD says how unlike they are.",
        "CAS",
        "",
    )
    return Built([*head, *lines, *_concepts(material, place)], grouped_bars(groups, words))


def _concepts(material: Material, place: Mapping[str, Any]) -> list[Line]:
    """Top-K concepts of the prompt and axis-aligned ones of its culture, as texts."""
    lines = [Line("the prompt", "top concepts", listed(place["concepts"]))]
    for axis in place["axes"]:
        if axis["axis"] != "culture":
            continue
        known = material.published("culture", "most frequent")
        most = axis["concepts"][0][0] if axis["concepts"] else None
        lines.append(Line("culture", "most frequent", most, known))
        lines.append(Line("culture", "axis-aligned top concepts", listed(axis["concepts"])))
        for cf in axis["counterfactuals"]:
            name = f"culture: {cf['name']}"
            lines.append(Line(name, "top concepts", listed(cf["concepts"])))
            lines.append(Line(name, "axis-aligned top concepts", listed(cf["axis_concepts"])))
    return lines


def listed(concepts: Sequence[Sequence[Any]], most: int = 5) -> str | None:
    """Concepts with their frequencies, in words.

    Examples:
        >>> listed([["man", 0.9], ["book", 0.25]])
        'man 0.90, book 0.25'
    """
    return ", ".join(f"{name} {share:.2f}" for name, share in concepts[:most]) or None


def figure_5(material: Material) -> Built:
    """MAD of made-up CAS, and the sensitivity of all scores to flipped answers."""
    lines = []
    for part, examples in (("a", _SHAPES), ("b", _AMOUNTS)):
        for name, cas in examples.items():
            row = f"({part}) CAS {', '.join(f'{x:.1f}' for x in cas)}: {name}"
            lines.append(Line(row, "MAD (equation 6)", _raw_mad(cas)))
            lines.append(Line(row, "MAD (shares, public code)", float(mad(cas))))
    task = material.results.get(TABLE_5)
    steps = [] if task is None else task.details.get("sensitivity") or []
    series = []
    for name, key in _CURVES.items():
        points = [(step["flipped"], step.get(f"{key}_change")) for step in steps]
        kept = [(x, y) for x, y in points if y is not None]
        series.append(Series(name, [(f"{x:.0%}", x, y) for x, y in kept], kept))
        for step in steps:
            row = f"{step['flipped']:.0%} flipped".replace("%", " %")
            known = material.published(row, name)
            lines.append(Line(f"(c) {row}", name, step.get(f"{key}_change"), known, digits=4))
            if step["flipped"] == _PAPERS_ERROR:
                pooled = step.get(f"{key}_pooled")
                lines.append(Line(f"(c) {row}", f"{name}, pooled", pooled, digits=4))
    words = Words(
        "How far errors of the judge move the scores",
        "Mean relative change where a share of the answers is flipped at random.",
        "share of answers flipped",
        "relative change",
    )
    return Built(lines, scatter(series, words))


def _raw_mad(cas: Sequence[float]) -> float:
    """Equations 6 and 7 on CAS as it is."""
    values, k = np.array(cas), len(cas)
    return float(np.sqrt(np.abs(values - values.mean()).mean() / (2 * (k - 1) / k**2)))


def figure_6(material: Material) -> Built:
    """Men and women among images of a pharmacist, in several parts of the world."""
    spec = spec_of(material, PLACES)
    counted = {} if spec is None else _genders(material, spec)
    if not counted:
        return Built()
    lines, groups = [], []
    plain = counted["the plain prompt"]
    for place, (men, women) in counted.items():
        total = men + women
        lines.append(Line(place, "men", float(men) if total else None, digits=0))
        lines.append(Line(place, "women", float(women) if total else None, digits=0))
        if not total:
            continue
        lines.append(Line(place, "share of men", men / total, digits=2))
        groups.append(Group(place, [("men", men / total), ("women", women / total)]))
        if place == "the plain prompt" or not sum(plain):
            continue
        low, high = share_difference(men, total, plain[0], sum(plain))
        gap = men / total - plain[0] / sum(plain)
        lines.append(Line(place, "share less the plain prompt's", gap, (), low, high, 2))
        said = which_side(low, high, "lower", "higher")
        known = material.published(place, "men for women")
        lines.append(Line(place, "men for women", said, known))
    words = Words(
        "Gender of a pharmacist, by place",
        "Shares among images whose answer names one gender.",
        "share",
        "",
    )
    return Built(lines, grouped_bars(groups, words))


def _genders(material: Material, spec: TibetTask) -> dict[str, list[int]]:
    """Place to the numbers of images answered with men and with women alone."""
    target = next(one for one in spec.prompts if "pharmacist" in one.prompt)
    by_name = {axis.name: axis for axis in target.axes}
    question = questions_of(by_name["gender"])[0]
    prompts = {target.prompt: "the plain prompt"}
    prompts |= {cf.prompt: cf.name for cf in by_name["geography"].counterfactuals}
    found = {name: [0, 0] for name in prompts.values()}
    samples = material.samples(PLACES)
    for row in samples:
        name = prompts.get(str(row["prompt"]))
        sign = gender_of(str(row.get("answers", {}).get(question, "")))
        if name is not None and sign:
            found[name][0 if sign > 0 else 1] += 1
    return found if samples else {}


def figure_11(material: Material) -> Built:
    """MAD of societal axes by concepts and by CLIP."""
    task, spec = material.results.get(TABLE_5), spec_of(material, TABLE_5)
    if task is None or spec is None:
        return Built()
    points, lines = [], []
    measures = "MAD by concepts, as published", "MAD by CLIP, as published"
    for target in spec.prompts:
        for axis in target.axes:
            row = row_of(task, target.prompt, axis.name)
            pair = [value_of(row, name) for name in ("mad", "mad_clip")]
            if axis.kind != "societal" or pair[0] is None or pair[1] is None:
                continue
            name = f"{target.prompt} | {axis.name}"
            points.append((name, pair[0], pair[1]))
            for score, value in zip(measures, pair, strict=True):
                lines.append(Line(name, score, value))
    words = Words(
        "MAD by concepts and by CLIP",
        "One point is a prompt along a societal axis.",
        *measures,
    )
    return Built(lines, scatter([Series("societal axes", points)], words))


def figure_14(material: Material) -> Built:
    """The backgrounds of a chef, in several parts of the world."""
    place = place_of(material, PLACES, "A photo of a chef")
    if place is None:
        return Built()
    by_name = {axis["axis"]: axis for axis in place["axes"]}
    rows = [("the plain prompt", by_name["background"]["concepts"])]
    rows += [
        (cf["name"], cf["intersections"]["background"])
        for cf in by_name["geography"]["counterfactuals"]
    ]
    lines = [Line(name, "concepts of the background", listed(found, 3)) for name, found in rows]
    for name, found in rows:
        there = "yes" if any(concept == "tree" for concept, _ in found[:3]) else "no"
        known = material.published(name, "a tree among them")
        lines.append(Line(name, "a tree among them", there, known))
    words = Words(
        "Backgrounds of a chef, by place", "How often a concept is named.", "frequency", ""
    )
    bars = [Group(name, [(str(c), float(f)) for c, f in found[:3]]) for name, found in rows]
    return Built(lines, grouped_bars(bars, words))


PAPER = read_paper(
    "tibet",
    {
        "table-2": table_2,
        "table-3": table_3,
        "table-4": table_4,
        "table-5": axes,
        "table-study-3": study_3,
        "figure-1": axes,
        "figure-3": with_counterfactuals(figure_3, TABLE_5, _PHILOSOPHER, "culture"),
        "figure-4": figure_4,
        "figure-5": figure_5,
        "figure-6": with_counterfactuals(figure_6, PLACES, "pharmacist", "geography"),
        "figure-9": figure_9,
        "figure-11": figure_11,
        "figure-12": with_mitigated(figure_12, MITIGATED),
        "figure-13": figure_13,
        "figure-14": with_counterfactuals(figure_14, PLACES, "chef", "geography"),
    },
    options=OPTIONS,
)
