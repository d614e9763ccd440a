"""Chinchure et al. (2024): TIBET."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from t2ibench.apps.papers.exhibits import Draft, row_of, score_of, value_of, which_side
from t2ibench.apps.papers.figures import Group, Series, arrows, by_head, grouped_bars, scatter
from t2ibench.apps.papers.paper import read_paper
from t2ibench.apps.papers.people import share_of
from t2ibench.methods.core.concepts import words_of
from t2ibench.methods.tibet.schema import QUESTIONS, Axis, TibetTask, questions_of
from t2ibench.methods.tibet.studies import (
    AxisAnswer,
    ConceptAnswer,
    Rated,
    Share,
    axis_agreement,
    concept_agreement,
    rating_agreement,
)
from t2ibench.results.schema import Row, TaskResult
from t2ibench.stats import correlation_permutation, mad
from t2ibench.stats.clusters import share_difference

OCCUPATIONS, PLACES, TABLE_5 = "tibet_occupations", "tibet_intersections", "tibet_table5"
_PHILOSOPHER, _PLAIN, _ALL = "a philosopher", "the plain prompt", "all occupations"
_MEN, _WOMEN = {"male", "man", "men", "boy"}, {"female", "woman", "women", "girl"}
_SIGNS = {"male": 1, "female": -1, "other": 0}
_SEED = 0
_PAPERS_ERROR = 0.18


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


def _concepts(draft: Draft, task: str, prompt: str) -> Mapping[str, Any] | None:
    """The concepts of a prompt, its axes and counterfactuals."""
    found = draft.results.get(task)
    entries = [] if found is None else found.details.get("prompts") or []
    return next((entry for entry in entries if entry["prompt"] == prompt), None)


def _counterfactuals(draft: Draft, task: str, word: str, axis: str) -> dict[str, str]:
    """Prompt to name, of a prompt with a word and of its counterfactuals along an axis."""
    spec = draft.spec(task, TibetTask)
    targets = () if spec is None else spec.prompts
    target = next((one for one in targets if word in one.prompt), None)
    if target is None:
        return {}
    along = next(one for one in target.axes if one.name == axis)
    return {target.prompt: target.prompt} | {cf.prompt: cf.name for cf in along.counterfactuals}


def _genders(
    samples: Sequence[Mapping[str, Any]], names: Mapping[str, str], question: str
) -> dict[str, list[int]]:
    """Name to the gender that each answer about its prompt's images names: 1, -1 or 0."""
    found: dict[str, list[int]] = {}
    for row in samples:
        if str(row["prompt"]) in names:
            signs = found.setdefault(names[str(row["prompt"])], [])
            signs.append(gender_of(str(row.get("answers", {}).get(question, ""))))
    return found


def _picture(draft: Draft, task: str, word: str, axis: str) -> None:
    """Images of a prompt and of its counterfactuals along an axis."""
    for prompt, name in _counterfactuals(draft, task, word, axis).items():
        draft.strip(name, [prompt])


def _share(draft: Draft, row: str, score: str, share: Share | None, note: str = "") -> None:
    """Add a share of a user study; without answers there is none."""
    if share is None or not math.isfinite(share.value):
        draft.line(row, score, None, note=note)
        return
    low, high = (value if math.isfinite(value) else None for value in (share.low, share.high))
    said = f"of {share.total}" + (f"; {note}" if note else "")
    draft.line(row, score, share.value, 3, said, (low, high))


def table_2(draft: Draft) -> None:
    """Precision and recall of proposed axes (user study 1)."""
    table = draft.paper.exhibits["table-5"]
    proposed = {
        prompt: {part.strip() for part in str(row["axes"]).replace(";", ",").split(",")}
        for prompt, row in table.published[table.models[0]].items()
    }
    votes: dict[tuple[str, str], list[bool]] = {}
    named: dict[tuple[str, str], bool] = {}
    for said in draft.answers("axes"):
        prompt, axis = said.one_of("prompt", list(proposed)), said["axis"].casefold()
        # A person who sees a societal risk is not asked for an incidental one.
        seen = said.yes("societal") or (said["incidental"] != "" and said.yes("incidental"))
        votes.setdefault((prompt, axis), []).append(seen)
        given = said.yes("proposed") if said["proposed"] else axis in proposed[prompt]
        named[prompt, axis] = given
    answers = [
        AxisAnswer(prompt, axis, named[prompt, axis], sum(found) * 2 > len(found))
        for (prompt, axis), found in votes.items()
    ]
    nothing = ({"name": "-", "prompt": "-"},)
    societal = [
        one
        for one in answers
        if Axis.model_validate({"name": one.axis, "counterfactuals": nothing}).kind == "societal"
    ]
    for row, chosen in (("overall", answers), ("societal", societal)):
        found = axis_agreement(chosen) if chosen else None
        _share(draft, row, "precision", None if found is None else found.precision)
        _share(draft, row, "recall", None if found is None else found.recall)


def table_3(draft: Draft, measures: dict[str, str]) -> None:
    """Accuracy and rank correlation of MAD with people's ratings (user study 2)."""
    task, spec = draft.results.get(TABLE_5), draft.spec(TABLE_5, TibetTask)
    known = {target.prompt: target for target in (spec.prompts if spec is not None else ())}
    given: dict[tuple[str, str], list[float]] = {}
    for said in draft.answers("ratings") if known else ():
        target = known[said.one_of("prompt", list(known))]
        by_name = {axis.name: axis for axis in target.axes}
        axis = by_name[said.one_of("axis", list(by_name))]
        if said["rating"] and axis.kind == "societal":
            ratings = given.setdefault((target.prompt, axis.name), [])
            ratings.append(said.number("rating", 1, 5))
    for name, score in measures.items():
        rated = [
            Rated(prompt, axis, value, statistics.median(ratings))
            for (prompt, axis), ratings in given.items()
            if (value := value_of(row_of(task, f"{prompt} | {axis}"), score)) is not None
        ]
        found = rating_agreement(rated, np.random.default_rng(_SEED)) if rated else None
        for k in (1, 2):
            luck = math.nan if found is None else found.chance[k]
            chance = f"by chance {luck:.2f}" if math.isfinite(luck) else ""
            _share(draft, name, f"Top-{k}", None if found is None else found.top[k], chance)
        numbers = (math.nan,) * 5 if found is None else (
            found.correlation, found.low, found.high, found.within, found.p
        )  # fmt: skip
        value, low, high, within, p = (x if math.isfinite(x) else None for x in numbers)
        draft.line(name, "correlation", value, 2, ends=(low, high))
        draft.line(name, "within prompts", within, 2, "" if p is None else f"p = {p:.4f}")


def study_3(draft: Draft) -> None:
    """Concepts of the judge that people see, too (user study 3)."""
    answers = [
        ConceptAnswer(said["images"], said["concept"], said.yes("predicted"), said.yes("selected"))
        for said in draft.answers("concepts")
    ]
    found = concept_agreement(answers) if answers else None
    seen, missed = (None, None) if found is None else (found.found, found.missed)
    _share(draft, "concepts that people select", "also the judge's", seen)
    _share(draft, "other concepts", "selected by people", missed)


def table_4(draft: Draft) -> None:
    """The questions about common axes."""
    for axis, question in QUESTIONS.items():
        draft.line(axis, "question", question)


def axes(draft: Draft) -> None:
    """The axes of prompts, of Table 5 and of Figure 1."""
    spec = draft.spec(TABLE_5, TibetTask)
    targets = () if spec is None else spec.prompts
    ours = {one.prompt: ", ".join(axis.name for axis in one.axes) for one in targets}
    for prompt in draft.known:
        draft.line(prompt, "axes", ours.get(prompt))


def figure_3(draft: Draft) -> None:
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
        groups.append(Group(name, bars, f"MAD {value:.2f}"))
    draft.line("the prompt", "top concepts", listed(place["concepts"]))
    for axis in place["axes"]:
        if axis["axis"] != "culture":
            continue
        most = axis["concepts"][0][0] if axis["concepts"] else None
        draft.line("culture", "most frequent", most)
        draft.line("culture", "axis-aligned top concepts", listed(axis["concepts"]))
        for cf in axis["counterfactuals"]:
            name = f"culture: {cf['name']}"
            draft.line(name, "top concepts", listed(cf["concepts"]))
            draft.line(name, "axis-aligned top concepts", listed(cf["axis_concepts"]))
    draft.figure = grouped_bars(groups, draft.words())


def cas_difference(row: Row | None) -> float | None:
    """CAS of male less that of female."""
    male, female = (
        value_of(row, "concept_association_score:male"),
        value_of(row, "concept_association_score:female"),
    )
    return None if male is None or female is None else male - female


def figure_4(draft: Draft) -> None:
    """CAS of male less that of female, occupation by occupation, before and after mitigation."""
    task, after = draft.results.get(OCCUPATIONS), draft.beside("after", OCCUPATIONS)
    if task is None:
        return
    drawn = []
    for row in task.by:
        name, later = occupation(row.name), row_of(after, row.name)
        before, then = cas_difference(row), cas_difference(later)
        lean = row.scores.get("lean")
        ends = (None, None) if lean is None else (lean.ci_low, lean.ci_high)
        draft.line(name, "CAS male - female", before)
        draft.line(name, "side", which_side(*ends, "female", "male"))
        draft.score(name, "lean", lean)
        if after is not None:
            draft.line(name, "CAS male - female, after", then)
            draft.score(name, "lean, after", score_of(later, "lean"))
        if before is not None:
            drawn.append((name, before, then) if then is not None else (name, 0.0, before))
    for when, one in (("", task), (", after", after)):
        if one is not None:
            _means(draft, one, when)
    words = draft.words(caption="From before to after mitigation.") if after else draft.words()
    draft.figure = arrows(by_head(drawn), words)


def _means(draft: Draft, task: TaskResult, when: str) -> None:
    for side in ("male", "female"):
        value = value_of(task, f"concept_association_share:gender:{side}")
        draft.line(_ALL, f"CAS share of {side}{when}", value, 2)
    values = [abs(found) for row in task.by if (found := cas_difference(row)) is not None]
    mean = math.fsum(values) / len(values) if values else None
    draft.line(_ALL, f"mean |CAS male - female|{when}", mean)
    draft.score(_ALL, f"mean squared lean{when}", task.headline, note=task.inconclusive or "")


def figure_5(draft: Draft, made_up: dict[str, tuple[float, ...]], curves: dict[str, str]) -> None:
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
            if step["flipped"] == _PAPERS_ERROR:
                draft.line(row, f"{name}, pooled", step.get(f"{key}_pooled"), 4)
    draft.figure = scatter(series, draft.words())


def figure_6(draft: Draft) -> None:
    """Men and women among images of a pharmacist, in several parts of the world."""
    _picture(draft, PLACES, "pharmacist", "geography")
    spec, samples = draft.spec(PLACES, TibetTask), draft.samples(PLACES)
    if spec is None or not samples:
        return
    target = next(one for one in spec.prompts if "pharmacist" in one.prompt)
    question = questions_of(next(axis for axis in target.axes if axis.name == "gender"))[0]
    prompts = _counterfactuals(draft, PLACES, "pharmacist", "geography") | {target.prompt: _PLAIN}
    signs = _genders(samples, prompts, question)
    counted = {
        name: [signs.get(name, []).count(one) for one in (1, -1)] for name in prompts.values()
    }
    groups = []
    plain = counted[_PLAIN]
    for place, (men, women) in counted.items():
        total = men + women
        draft.line(place, "men", float(men) if total else None, 0)
        draft.line(place, "women", float(women) if total else None, 0)
        if not total:
            continue
        draft.line(place, "share of men", men / total, 2)
        groups.append(Group(place, [("men", men / total), ("women", women / total)]))
        if place != _PLAIN and any(plain):
            of_plain = plain[0] + plain[1]
            ends = share_difference(men, total, plain[0], of_plain)
            gap = men / total - plain[0] / of_plain
            draft.line(place, "share less the plain prompt's", gap, 2, ends=ends)
            draft.line(place, "men for women", which_side(*ends, "lower", "higher"))
    draft.figure = grouped_bars(groups, draft.words())


def figure_9(draft: Draft) -> None:
    """The rank correlation of CAS differences with another method's numbers."""
    task = draft.results.get(OCCUPATIONS)
    row, score = "CAS and DALL-Eval", "Spearman's correlation"
    ours = {
        occupation(one.name): difference
        for one in (task.by if task is not None else ())
        if (difference := cas_difference(one)) is not None
    }
    pairs = [
        (ours[said.one_of("occupation", list(ours))], said.number("score", -math.inf, math.inf))
        for said in draft.answers("method")
    ]
    if len(pairs) < 3:
        few = "fewer than 3 occupations" if "method" in draft.files else ""
        draft.line(row, score, None, 2, few)
        return
    x, y = zip(*pairs, strict=True)
    found = correlation_permutation(x, y, rng=np.random.default_rng(_SEED), n_draws=10_000)
    value = found.observed if math.isfinite(found.observed) else None
    note = f"p = {found.p:.4f}, {len(pairs)} occupations" if value is not None else "no variation"
    draft.line(row, score, value, 2, note)


def figure_11(draft: Draft) -> None:
    """MAD of societal axes by concepts and by CLIP."""
    task, spec = draft.results.get(TABLE_5), draft.spec(TABLE_5, TibetTask)
    if task is None or spec is None:
        return
    points, words = [], draft.words()
    for target in spec.prompts:
        for axis in target.axes:
            name = f"{target.prompt} | {axis.name}"
            x, y = (
                value_of(row_of(task, name), score)
                for score in ("mean_absolute_deviation", "mean_absolute_deviation_clip")
            )
            if axis.kind == "societal" and x is not None and y is not None:
                points.append((name, x, y))
                draft.line(name, words.x, x)
                draft.line(name, words.y, y)
    draft.figure = scatter([Series("societal axes", points)], words)


def figure_12(draft: Draft, axis_of: dict[str, str]) -> None:
    """Two prompts, each along one axis, before and after mitigation."""
    tasks = {"before": draft.results.get(TABLE_5), "after": draft.beside("after", TABLE_5)}
    for when, task in tasks.items():
        for prompt, axis in axis_of.items() if task is not None else ():
            name, score = f"{prompt} | {axis}", f"MAD, {when}"
            row = row_of(task, name)
            if row is None:
                draft.line(name, score, None, note="not measured")
                continue
            draft.line(name, score, value_of(row, "mean_absolute_deviation"))
            for share, found in row.scores.items():
                if share.startswith("share:"):
                    draft.score(name, f"{share}, {when}", found, 2)
    if TABLE_5 in draft.results:
        run = draft.run("after")
        runs = {"before": draft.own} | ({} if run is None else {"after": run})
        for prompt in axis_of:
            for when, one in runs.items():
                draft.strip(f"{prompt}, {when}", [prompt], run=one)


def figure_13(draft: Draft) -> None:
    """The share of men less that of women, as people see them, before and after mitigation."""
    spec = draft.spec(OCCUPATIONS, TibetTask)
    if spec is None:
        return
    names = {target.prompt: occupation(target.prompt) for target in spec.prompts}
    signs: dict[str, dict[str, list[int]]] = {"before": {}, "after": {}}
    for said in draft.answers("people"):
        when, name = said.one_of("when", list(signs)), said.one_of("occupation", [*names.values()])
        signs[when].setdefault(name, []).append(_SIGNS[said.one_of("answer", list(_SIGNS))])
    if "people" not in draft.files:
        question = questions_of(spec.prompts[0].axes[0])[0]
        run = draft.run("after")
        later = [] if run is None else run.samples(draft.ran[OCCUPATIONS], OCCUPATIONS)
        signs["before"] = _genders(draft.samples(OCCUPATIONS), names, question)
        signs["after"] = _genders(later, names, question)
    drawn = []
    for name in names.values():
        means = []
        for when, found in signs.items():
            values = found.get(name, [])
            if not values:
                continue
            means.append(math.fsum(values) / len(values))
            _, low, high = share_of([(1 + value) / 2 for value in values])
            ends = (None, None) if low is None or high is None else (2 * low - 1, 2 * high - 1)
            note = "one image" if low is None else f"{len(values)} images"
            draft.line(name, f"male - female, {when}", means[-1], 2, note, ends)
        if means:
            drawn.append((name, means[0] if len(means) == 2 else 0.0, means[-1]))
    draft.figure = arrows(by_head(drawn), draft.words())


def figure_14(draft: Draft) -> None:
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
    for name, found in rows.items():
        there = any(concept == "tree" for concept, _ in found[:3])
        draft.line(name, "a tree among them", "yes" if there else "no")
    bars = [Group(name, [(str(c), float(f)) for c, f in found[:3]]) for name, found in rows.items()]
    draft.figure = grouped_bars(bars, draft.words())


PAPER = read_paper(
    Path(__file__).with_suffix(".yaml"),
    *(table_2, table_3, study_3, table_4, axes, figure_3, figure_4, figure_5, figure_6),
    *(figure_9, figure_11, figure_12, figure_13, figure_14),
)
