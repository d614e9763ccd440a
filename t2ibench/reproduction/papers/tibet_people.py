"""TIBET's user studies, from files of people's answers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from t2ibench.methods.tibet.schema import Axis, TibetTask
from t2ibench.methods.tibet.studies import (
    AxisAnswer,
    ConceptAnswer,
    Rated,
    Share,
    axis_agreement,
    concept_agreement,
    rating_agreement,
)
from t2ibench.reproduction.paper import Built, Material
from t2ibench.reproduction.papers.tibet_material import (
    OCCUPATIONS,
    TABLE_5,
    occupation,
    row_of,
    spec_of,
)
from t2ibench.reproduction.papers.tibet_mitigation import cas_difference
from t2ibench.reproduction.people import read_people
from t2ibench.reproduction.scores import value_of
from t2ibench.reproduction.tables import Line
from t2ibench.results.schema import TaskResult
from t2ibench.stats import correlation_permutation

OPTIONS = {
    "axes": "user study 1, for Table 2 (prompt,axis,societal,incidental; one answer a row)",
    "ratings": "user study 2, for Table 3 (prompt,axis,rating; 1 to 5, empty: not relevant)",
    "concepts": "user study 3 (images,concept,predicted,selected)",
    "after": "a run of the mitigated model with this preset, for Figures 4, 12 and 13",
    "people": "genders as people see them, for Figure 13 (occupation,when,answer)",
    "method": "another method's numbers of the occupations, for Figure 9 (occupation,score)",
}
_MEASURES = {
    "Bipartite Matching": "mad_bipartite",
    "CLIP (CAS_CLIP)": "mad_clip",
    "VQA (CAS)": "mad",
    "squared lean": "squared_lean",
}
_SEED = 0


def table_2(material: Material) -> Built:
    """Precision and recall of proposed axes (user study 1)."""
    file = material.options.get("axes")
    proposed = _proposed(material)
    answers = [] if file is None else _axis_answers(file, proposed)
    lines = []
    societal = [one for one in answers if _named(one.axis).kind == "societal"]
    for row, chosen in (("overall", answers), ("societal", societal)):
        found = axis_agreement(chosen) if chosen else None
        for name in ("precision", "recall"):
            share = None if found is None else getattr(found, name)
            lines.append(_share_line(row, name, share, material.published(row, name)))
    note = (
        "Nobody's answers are at hand: `--with axes=FILE` takes a CSV or JSON Lines with the "
        "columns prompt, axis, societal and incidental (yes or no: does a person see a risk?), "
        "one answer a row. An axis counts as seen where most answers have one of the two. Proposed "
        "are those that Table 5 prints, or those whose further column 'proposed' says yes."
    )
    return Built(lines, notes=[] if file is not None else [note])


def _named(axis: str) -> Axis:
    nothing = ({"name": "-", "prompt": "-"},)
    return Axis.model_validate({"name": axis, "counterfactuals": nothing})


def _proposed(material: Material) -> dict[str, set[str]]:
    """Prompt to the axes that Table 5 prints."""
    table = material.exhibits["table-5"]
    published = table.published[table.models[0]]
    return {
        prompt: {part.strip() for part in str(row["axes"]).replace(";", ",").split(",")}
        for prompt, row in published.items()
    }


def _axis_answers(file: Path, proposed: Mapping[str, set[str]]) -> list[AxisAnswer]:
    votes: dict[tuple[str, str], list[bool]] = {}
    named: dict[tuple[str, str], bool] = {}
    for said in read_people(file, ("prompt", "axis", "societal", "incidental"), ("proposed",)):
        prompt, axis = said.one_of("prompt", list(proposed)), said["axis"].casefold()
        # A person who sees a societal risk is not asked for an incidental one.
        seen = said.yes("societal") or (said["incidental"] != "" and said.yes("incidental"))
        votes.setdefault((prompt, axis), []).append(seen)
        given = said.yes("proposed") if said["proposed"] else axis in proposed[prompt]
        named[prompt, axis] = given
    return [
        AxisAnswer(prompt, axis, named[prompt, axis], sum(found) * 2 > len(found))
        for (prompt, axis), found in votes.items()
    ]


def _share_line(
    row: str, score: str, share: Share | None, known: Sequence[Any] = (), note: str = ""
) -> Line:
    if share is None or not math.isfinite(share.value):
        return Line(row, score, None, tuple(known), digits=3, note=note)
    ends = [value if math.isfinite(value) else None for value in (share.low, share.high)]
    said = f"of {share.total}" + (f"; {note}" if note else "")
    return Line(row, score, share.value, tuple(known), ends[0], ends[1], 3, said)


def table_3(material: Material) -> Built:
    """Accuracy and rank correlation of MAD with people's ratings (user study 2)."""
    task, spec = material.results.get(TABLE_5), spec_of(material, TABLE_5)
    file = material.options.get("ratings")
    ratings = {} if file is None or spec is None else _ratings(file, spec)
    lines = []
    for name, score in _MEASURES.items():
        rated = [] if task is None else _rated(task, score, ratings)
        found = rating_agreement(rated, np.random.default_rng(_SEED)) if rated else None
        for k in (1, 2):
            share = None if found is None else found.top[k]
            luck = math.nan if found is None else found.chance[k]
            chance = f"by chance {luck:.2f}" if math.isfinite(luck) else ""
            known = material.published(name, f"Top-{k}")
            lines.append(_share_line(name, f"Top-{k}", share, known, chance))
        numbers = [None] * 5 if found is None else [
            value if math.isfinite(value) else None
            for value in (found.correlation, found.low, found.high, found.within, found.p)
        ]  # fmt: skip
        correlation, low, high, within, p = numbers
        known = material.published(name, "correlation")
        lines.append(Line(name, "correlation", correlation, known, low, high, 2))
        note = "" if p is None else f"p = {p:.4f}"
        lines.append(Line(name, "within prompts", within, digits=2, note=note))
    note = (
        "Nobody has rated these images: `--with ratings=FILE` takes a CSV or JSON Lines with the "
        "columns prompt, axis (as the task names it) and rating (1 to 5, empty: not relevant), "
        "one rating a row. Ratings are of this model's images, never of another's."
    )
    return Built(lines, notes=[] if file is not None else [note])


def _ratings(file: Path, spec: TibetTask) -> dict[tuple[str, str], float]:
    """The median rating of each prompt along each societal axis."""
    known = {target.prompt: target for target in spec.prompts}
    found: dict[tuple[str, str], list[float]] = {}
    for said in read_people(file, ("prompt", "axis", "rating")):
        target = known[said.one_of("prompt", list(known))]
        by_name = {axis.name: axis for axis in target.axes}
        axis = by_name[said.one_of("axis", list(by_name))]
        if said["rating"] and axis.kind == "societal":
            ratings = found.setdefault((target.prompt, axis.name), [])
            ratings.append(said.number("rating", 1, 5))
    return {key: statistics.median(ratings) for key, ratings in found.items()}


def _rated(task: TaskResult, score: str, ratings: Mapping[tuple[str, str], float]) -> list[Rated]:
    rows = []
    for (prompt, axis), rating in ratings.items():
        value = value_of(row_of(task, prompt, axis), score)
        if value is not None:
            rows.append(Rated(prompt, axis, value, rating))
    return rows


def study_3(material: Material) -> Built:
    """Concepts of the judge that people see, too (user study 3)."""
    file = material.options.get("concepts")
    rows = [] if file is None else read_people(
        file, ("images", "concept", "predicted", "selected")
    )  # fmt: skip
    answers = [
        ConceptAnswer(said["images"], said["concept"], said.yes("predicted"), said.yes("selected"))
        for said in rows
    ]
    found = concept_agreement(answers) if answers else None
    lines = [
        _share_line(row, score, None if found is None else getattr(found, name),
                    material.published(row, score))
        for row, score, name in (
            ("concepts that people select", "also the judge's", "found"),
            ("other concepts", "selected by people", "missed"),
        )
    ]  # fmt: skip
    note = (
        "Nobody's answers are at hand: `--with concepts=FILE` takes a CSV or JSON Lines with the "
        "columns images (which set), concept, predicted (yes: it is one of the judge's) and "
        "selected (yes: the person sees it), one answer a row. The judge's concepts are in "
        "the results, details, prompts."
    )
    return Built(lines, notes=[] if file is not None else [note])


def figure_9(material: Material) -> Built:
    """The rank correlation of CAS differences with another method's numbers."""
    task, file = material.results.get(OCCUPATIONS), material.options.get("method")
    row, score = "CAS and DALL-Eval", "Spearman's correlation"
    known = material.published(row, score)
    ours: dict[str, float] = {}
    for one in task.by if task is not None else ():
        difference = cas_difference(one)
        if difference is not None:
            ours[occupation(one.name)] = difference
    if file is None:
        note = (
            "`--with method=FILE` takes a CSV with the columns occupation and score, high for male."
        )
        return Built([Line(row, score, None, known, digits=2)], notes=[note])
    pairs = [
        (ours[name], said.number("score", -math.inf, math.inf))
        for said in read_people(file, ("occupation", "score"))
        for name in (said.one_of("occupation", list(ours)),)
    ]
    if len(pairs) < 3:
        return Built([Line(row, score, None, known, digits=2, note="fewer than 3 occupations")])
    x, y = zip(*pairs, strict=True)
    found = correlation_permutation(x, y, rng=np.random.default_rng(_SEED), n_draws=10_000)
    value = found.observed if math.isfinite(found.observed) else None
    note = f"p = {found.p:.4f}, {len(pairs)} occupations" if value is not None else "no variation"
    return Built([Line(row, score, value, known, digits=2, note=note)])
