"""Chinchure et al. (2024): TIBET."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from t2ibench.apps.papers.exhibits import Exhibit, row_of, value_of, which_side
from t2ibench.apps.papers.figures import Series, arrows, grouped_bars, scatter
from t2ibench.apps.papers.paper import read_paper
from t2ibench.methods.core.concepts import words_of
from t2ibench.methods.tibet.schema import QUESTIONS, TibetTask, questions_of
from t2ibench.results.comparison import difference_interval
from t2ibench.results.schema import Score
from t2ibench.stats import mad
from t2ibench.stats.clusters import Proportion

OCCUPATIONS, PLACES, TABLE_5 = "tibet_occupations", "tibet_intersections", "tibet_table5"
_PHILOSOPHER, _PLAIN, _ALL = "a philosopher", "the plain prompt", "all occupations"
_MEN, _WOMEN = {"male", "man", "men", "boy"}, {"female", "woman", "women", "girl"}


def occupation(row: str) -> str:
    """The occupation of a row of results.

    Examples:
        >>> occupation("A photo of an architect | gender")
        'architect'
    """
    return row.partition(" | ")[0].partition(" of ")[2].partition(" ")[2]


def gender_of(answer: str) -> int:
    """The one gender that an answer names.

    Examples:
        >>> [gender_of(answer) for answer in ("Male.", "a woman", "other", "a man and a woman")]
        [1, -1, 0, 0]
    """
    words = set(words_of(answer))
    return int(bool(words & _MEN)) - int(bool(words & _WOMEN))


def listed(concepts: Sequence[Sequence[Any]], most: int = 5) -> str | None:
    """Concepts with their frequencies, in words.

    Examples:
        >>> listed([["man", 0.9], ["book", 0.25]])
        'man 0.90, book 0.25'
    """
    return ", ".join(f"{name} {share:.2f}" for name, share in concepts[:most]) or None


def _concepts(draft: Exhibit, task: str, prompt: str) -> Mapping[str, Any] | None:
    """The concepts of a prompt, its axes and counterfactuals."""
    found = draft.results.get(task)
    entries = [] if found is None else found.details.get("prompts") or []
    return next((entry for entry in entries if entry["prompt"] == prompt), None)


def _counterfactuals(draft: Exhibit, task: str, word: str, axis: str) -> dict[str, str]:
    """Prompt to name, of a prompt with a word and of its counterfactuals along an axis."""
    spec = draft.spec(task, TibetTask)
    targets = () if spec is None else spec.prompts
    target = next((one for one in targets if word in one.prompt), None)
    if target is None:
        return {}
    along = next(one for one in target.axes if one.name == axis)
    return {target.prompt: target.prompt} | {cf.prompt: cf.name for cf in along.counterfactuals}


def _picture(draft: Exhibit, task: str, word: str, axis: str) -> None:
    """Images of a prompt and of its counterfactuals along an axis."""
    for prompt, name in _counterfactuals(draft, task, word, axis).items():
        draft.strip(name, [prompt])


def table_4(draft: Exhibit) -> None:
    """The questions about common axes."""
    for axis, question in QUESTIONS.items():
        draft.line(axis, "question", question)


def axes(draft: Exhibit) -> None:
    """The axes of prompts, of Table 5 and of Figure 1."""
    spec = draft.spec(TABLE_5, TibetTask)
    targets = () if spec is None else spec.prompts
    ours = {one.prompt: ", ".join(axis.name for axis in one.axes) for one in targets}
    for prompt in draft.known:
        draft.line(prompt, "axes", ours.get(prompt))


def figure_3(draft: Exhibit) -> None:
    """CAS and MAD of every axis of a philosopher, with top concepts, overall and by axis."""
    _picture(draft, TABLE_5, _PHILOSOPHER, "culture")
    task, place = draft.results.get(TABLE_5), _concepts(draft, TABLE_5, _PHILOSOPHER)
    if task is None or place is None:
        return
    found = {}
    for axis in place["axes"]:
        row = row_of(task, f"{_PHILOSOPHER} | {axis['axis']}")
        value = value_of(row, "mean_absolute_deviation")
        if value is not None:
            cas = {
                cf["name"]: value_of(row, f"concept_association_score:{cf['name']}")
                for cf in axis["counterfactuals"]
            }
            found[axis["axis"]] = (value, cas)
    first = sorted(((value, name) for name, (value, _) in found.items()), reverse=True)[:3]
    draft.line("all axes", "highest MAD", ", ".join(name for _, name in first) or None)
    groups = []
    for name, (value, cas) in found.items():
        draft.line(name, "MAD", value)
        for cf, score in cas.items():
            draft.line(f"{name}: {cf}", "CAS", score)
        bars = [(cf, score) for cf, score in cas.items() if score is not None]
        groups.append((name, bars, f"MAD {value:.2f}"))
    draft.line("the prompt", "top concepts", listed(place["concepts"]))
    culture = next((axis for axis in place["axes"] if axis["axis"] == "culture"), None)
    if culture is not None:
        most = culture["concepts"][0][0] if culture["concepts"] else None
        draft.line("culture", "most frequent", most)
        draft.line("culture", "axis-aligned top concepts", listed(culture["concepts"]))
        for cf in culture["counterfactuals"]:
            name = f"culture: {cf['name']}"
            draft.line(name, "top concepts", listed(cf["concepts"]))
            draft.line(name, "axis-aligned top concepts", listed(cf["axis_concepts"]))
    draft.draw(grouped_bars, groups)


def figure_4(draft: Exhibit) -> None:
    """CAS of male less that of female, occupation by occupation."""
    task = draft.results.get(OCCUPATIONS)
    if task is None:
        return
    drawn = []
    for row in task.by:
        name, lean = occupation(row.name), row.scores.get("lean")
        male, female = (
            value_of(row, f"concept_association_score:{side}") for side in ("male", "female")
        )
        difference = None if male is None or female is None else male - female
        ends = (None, None) if lean is None else (lean.ci_low, lean.ci_high)
        draft.line(name, "CAS male - female", difference)
        draft.line(name, "side", which_side(*ends, "female", "male"))
        draft.score(name, "lean", lean)
        if difference is not None:
            drawn.append((name, 0.0, difference))
    for side in ("male", "female"):
        values = [value_of(row, f"concept_association_share:{side}") for row in task.by]
        known = [value for value in values if value is not None]
        draft.line(_ALL, f"CAS share of {side}", float(np.mean(known)) if known else None, 2)
    mean = math.fsum(abs(x) for _, _, x in drawn) / len(drawn) if drawn else None
    draft.line(_ALL, "mean |CAS male - female|", mean)
    draft.score(_ALL, "mean squared lean", task.headline, note=task.inconclusive or "")
    draft.draw(arrows, drawn)


def figure_5(draft: Exhibit, made_up: dict[str, tuple[float, ...]], curves: dict[str, str]) -> None:
    """MAD of made-up CAS, and the sensitivity of all scores to flipped answers."""
    for row, cas in made_up.items():
        values, k = np.array(cas), len(cas)
        # Equations 6 and 7 on CAS as it is.
        spread = np.abs(values - values.mean()).mean() / (2 * (k - 1) / k**2)
        draft.line(row, "MAD (equation 6)", float(np.sqrt(spread)))
        draft.line(row, "MAD (shares, public code)", float(mad(cas)))
    task = draft.results.get(TABLE_5)
    steps = [] if task is None else task.details.get("sensitivity") or []
    series = []
    for name, key in curves.items():
        points = [(step["flipped"], step.get(f"{key}_change")) for step in steps]
        kept = [(x, y) for x, y in points if y is not None]
        series.append(Series(name, [(f"{x:.0%}", x, y) for x, y in kept], kept))
        for step in steps:
            row = f"(c) {step['flipped']:.0%} flipped".replace("%", " %")
            draft.line(row, name, step.get(f"{key}_change"), 4)
    draft.draw(scatter, series)


def figure_6(draft: Exhibit) -> None:
    """Men and women among images of a pharmacist, in several parts of the world."""
    _picture(draft, PLACES, "pharmacist", "geography")
    spec, samples = draft.spec(PLACES, TibetTask), draft.samples(PLACES)
    if spec is None or not samples:
        return
    target = next(one for one in spec.prompts if "pharmacist" in one.prompt)
    question = questions_of(next(axis for axis in target.axes if axis.name == "gender"))[0]
    prompts = _counterfactuals(draft, PLACES, "pharmacist", "geography") | {target.prompt: _PLAIN}
    signs = Counter(
        (prompts[row["prompt"]], gender_of(str(row.get("answers", {}).get(question, ""))))
        for row in samples
        if row["prompt"] in prompts
    )
    counted = {name: (signs[name, 1], signs[name, -1]) for name in prompts.values()}
    groups = []
    plain = counted[_PLAIN]
    for place, (men, women) in counted.items():
        total = men + women
        draft.line(place, "men", float(men) if total else None, 0)
        draft.line(place, "women", float(women) if total else None, 0)
        if not total:
            continue
        draft.line(place, "share of men", men / total, 2)
        groups.append((place, [("men", men / total), ("women", women / total)], ""))
        if place != _PLAIN and any(plain):
            one, other = _share(men, total), _share(plain[0], plain[0] + plain[1])
            ends = difference_interval(one, other)
            gap = (one.value or 0.0) - (other.value or 0.0)
            draft.line(place, "share less the plain prompt's", gap, 2, ends=ends)
            draft.line(place, "men for women", which_side(*ends, "lower", "higher"))
    draft.draw(grouped_bars, groups)


def _share(hits: int, total: int) -> Score:
    """A share of independent images with Wilson's interval."""
    low, high = Proportion(hits / total, total, math.inf).interval()
    return Score(value=hits / total, ci_low=low, ci_high=high)


def figure_14(draft: Exhibit) -> None:
    """The backgrounds of a chef, in several parts of the world."""
    _picture(draft, PLACES, "chef", "geography")
    place = _concepts(draft, PLACES, "A photo of a chef")
    if place is None:
        return
    by_name = {axis["axis"]: axis for axis in place["axes"]}
    rows = {_PLAIN: by_name["background"]["concepts"]}
    rows |= {
        cf["name"]: cf["intersections"]["background"]
        for cf in by_name["geography"]["counterfactuals"]
    }
    for name, found in rows.items():
        draft.line(name, "concepts of the background", listed(found, 3))
        there = any(concept == "tree" for concept, _ in found[:3])
        draft.line(name, "a tree among them", "yes" if there else "no")
    bars = [(name, [(str(c), float(f)) for c, f in found[:3]], "") for name, found in rows.items()]
    draft.draw(grouped_bars, bars)


PAPER = read_paper(
    Path(__file__).with_suffix(".yaml"),
    *(table_4, axes, figure_3, figure_4, figure_5, figure_6, figure_14),
)
