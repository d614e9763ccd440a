"""Chinchure et al. (2024): TIBET."""

from __future__ import annotations

import math
from pathlib import Path

from t2ibench.apps.papers.exhibits import Exhibit, value_of, which_side
from t2ibench.apps.papers.figures import arrows
from t2ibench.apps.papers.paper import read_paper
from t2ibench.methods.core.score_names import join_score_name

_OCCUPATIONS = "tibet_occupations"
_ALL = "all occupations"


def occupation(row: str) -> str:
    """Return the occupation in a row name such as 'A photo of an architect | gender'."""
    return row.partition(" | ")[0].partition(" of ")[2].partition(" ")[2]


def figure_4(draft: Exhibit) -> None:
    """Build Figure 4: the CAS of male minus that of female, for each occupation."""
    task = draft.results.get(_OCCUPATIONS)
    if task is None:
        return
    drawn = []
    for row in task.by:
        name = occupation(row.name)
        lean = row.scores.get("lean")
        male, female = (
            value_of(row, join_score_name("concept_association_score", side))
            for side in ("male", "female")
        )
        difference = None if male is None or female is None else male - female
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
        draft.line(
            _ALL,
            f"CAS share of {side}",
            math.fsum(shares) / len(shares) if shares else None,
            2,
        )
    mean = math.fsum(abs(x) for _, _, x in drawn) / len(drawn) if drawn else None
    draft.line(_ALL, "mean |CAS male - female|", mean)
    draft.score(_ALL, "mean squared lean", task.headline, note=task.inconclusive or "")
    draft.draw(arrows, drawn)


PAPER = read_paper(Path(__file__).with_suffix(".yaml"), figure_4)
