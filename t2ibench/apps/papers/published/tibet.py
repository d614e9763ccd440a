"""Chinchure et al. (2024): TIBET."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

from t2ibench.apps.papers.exhibits import Exhibit, value_of, which_side
from t2ibench.apps.papers.figures import arrows, grouped_bars
from t2ibench.apps.papers.paper import read_paper
from t2ibench.methods.core.concepts import words_of
from t2ibench.methods.tibet.schema import TibetTask, questions_of
from t2ibench.results.comparison import difference_interval
from t2ibench.results.schema import Score
from t2ibench.stats.clusters import Proportion

OCCUPATIONS, PLACES, TABLE_5 = "tibet_occupations", "tibet_intersections", "tibet_table5"
_PHILOSOPHER, _PLAIN, _ALL = "a philosopher", "the plain prompt", "all occupations"
_MEN, _WOMEN = {"male", "man", "men", "boy"}, {"female", "woman", "women", "girl"}


def occupation(row: str) -> str:
    """The occupation of a row of results such as 'A photo of an architect | gender'."""
    return row.partition(" | ")[0].partition(" of ")[2].partition(" ")[2]


def gender_of(answer: str) -> int:
    """The one gender that an answer names.

    Examples:
        >>> [gender_of(answer) for answer in ("Male.", "a woman", "other", "a man and a woman")]
        [1, -1, 0, 0]
    """
    words = set(words_of(answer))
    return int(bool(words & _MEN)) - int(bool(words & _WOMEN))


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
        draft.line(
            _ALL, f"CAS share of {side}", math.fsum(known) / len(known) if known else None, 2
        )
    mean = math.fsum(abs(x) for _, _, x in drawn) / len(drawn) if drawn else None
    draft.line(_ALL, "mean |CAS male - female|", mean)
    draft.score(_ALL, "mean squared lean", task.headline, note=task.inconclusive or "")
    draft.draw(arrows, drawn)


def figure_6(draft: Exhibit) -> None:
    """Men and women among images of a pharmacist, in several parts of the world."""
    spec, samples = draft.spec(PLACES, TibetTask), draft.samples(PLACES)
    if spec is None or not samples:
        return
    target = next(one for one in spec.prompts if "pharmacist" in one.prompt)
    axes = {axis.name: axis for axis in target.axes}
    question = questions_of(axes["gender"])[0]
    places = {one.prompt: one.name for one in axes["geography"].counterfactuals}
    prompts = {target.prompt: _PLAIN} | places
    signs = Counter(
        (prompts[row["prompt"]], gender_of(str(row.get("answers", {}).get(question, ""))))
        for row in samples
        if row["prompt"] in prompts
    )
    plain, of_plain = signs[_PLAIN, 1], signs[_PLAIN, 1] + signs[_PLAIN, -1]
    groups = []
    for place in prompts.values():
        men, women = signs[place, 1], signs[place, -1]
        total = men + women
        if not total:
            draft.line(place, "share of men", None, note="no answer names one gender")
            continue
        draft.line(place, "share of men", men / total, 2, f"of {total} images")
        groups.append((place, [("men", men / total), ("women", women / total)], ""))
        if place != _PLAIN and of_plain:
            ends = difference_interval(_share(men, total), _share(plain, of_plain))
            gap = men / total - plain / of_plain
            draft.line(place, "share less the plain prompt's", gap, 2, ends=ends)
            draft.line(place, "men for women", which_side(*ends, "lower", "higher"))
    draft.draw(grouped_bars, groups)


def _share(hits: int, total: int) -> Score:
    """A share of independent images with Wilson's interval."""
    low, high = Proportion(hits / total, total, math.inf).interval()
    return Score(value=hits / total, ci_low=low, ci_high=high)


PAPER = read_paper(Path(__file__).with_suffix(".yaml"), figure_4, figure_6)
