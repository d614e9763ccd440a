"""Exhibits of Chinchure et al. (2024): TIBET."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from t2ibench.apps.papers.exhibits import Exhibit, value_of, which_side
from t2ibench.apps.papers.figures import arrows
from t2ibench.apps.papers.paper import read_paper
from t2ibench.methods.core.score_names import join_score_name
from t2ibench.results.schema import Row

_OCCUPATIONS = "tibet_occupations"
_ALL = "all occupations"


def occupation(row: str) -> str:
    """Return the occupation in a row's name, such as 'A photo of an architect | gender'."""
    return row.partition(" | ")[0].partition(" of ")[2].partition(" ")[2]


def figure_4(draft: Exhibit) -> None:
    """Add Figure 4: each occupation's concept association score of male minus that of female."""
    task = draft.results.get(_OCCUPATIONS)
    if task is None:
        return
    drawn = []
    for row in task.by:
        name = occupation(row.name)
        lean = row.scores.get("lean")
        difference = _difference(row)
        ends = (None, None) if lean is None else (lean.ci_low, lean.ci_high)
        draft.line(name, "CAS male - female", difference)
        draft.line(name, "side", which_side(*ends, "female", "male"))
        draft.score(name, "lean", lean)
        if difference is not None:
            drawn.append((name, 0.0, difference))
    for side in ("male", "female"):
        values = [
            value_of(row, join_score_name("concept_association_share", side))
            for row in task.by
        ]
        shares = [value for value in values if value is not None]
        draft.line(_ALL, f"CAS share of {side}", _mean(shares), 2)
    sizes = [abs(difference) for _, _, difference in drawn]
    draft.line(_ALL, "mean |CAS male - female|", _mean(sizes))
    draft.score(_ALL, "mean squared lean", task.headline, note=task.inconclusive or "")
    draft.draw(arrows, drawn)


def _difference(row: Row) -> float | None:
    """Return the concept association score of male minus that of female; None if one is missing."""
    male = value_of(row, join_score_name("concept_association_score", "male"))
    female = value_of(row, join_score_name("concept_association_score", "female"))
    return None if male is None or female is None else male - female


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


PAPER = read_paper(Path(__file__).with_suffix(".yaml"), figure_4)
