"""Exhibits of Wang et al. (2023): T2IAT."""

from __future__ import annotations

import math
from pathlib import Path

from t2ibench.apps.papers.exhibits import Exhibit, value_of
from t2ibench.apps.papers.paper import read_paper
from t2ibench.apps.papers.tables import Line
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.results.schema import Score
from t2ibench.stats.correlation import kendall_tau

_ALL = "all concepts"


def table_1(draft: Exhibit) -> None:
    """Add Table 1: statistic S, p-value and effect size d of eight association tests, and leans."""
    for name in draft.file.tasks:
        task = draft.results.get(name)
        if task is None:
            draft.line(name, "S", None, note="not measured")
            continue
        row = task.title.removeprefix("T2IAT: ").removesuffix(" (as published)")
        blocks = {str(block["model"]): block["scores"] for block in task.published}
        association = task.scores.get("differential_association") or Score()
        for symbol, score, value in (
            ("S", "differential_association", association.value),
            ("p", "p_value", association.p),
            ("d", "effect_size", value_of(task, "effect_size")),
        ):
            published = tuple(
                blocks.get(model, {}).get(score) for model in draft.file.models
            )
            is_p = symbol == "p"
            draft.lines.append(
                Line(row, symbol, value, published, note=task.reason or "", is_p=is_p)
            )
        draft.score(row, "lean", task.headline, note=task.inconclusive or "")


def table_2(draft: Exhibit) -> None:
    """Add Table 2: human ratings of eight concepts, and their rank correlation with our scores."""
    concepts = {
        concept.name: value_of(draft.results.get(name), f"association_of_{side}")
        for name, spec in draft.specs.items()
        if isinstance(spec, T2iatTask)
        for side, concept in (("x", spec.concepts.X), ("y", spec.concepts.Y))
    }
    asc = []
    ratings = []
    for name, ours in concepts.items():
        draft.line(name, "rating")
        draft.line(name, "asc", ours, 4)
        rating = draft.published.get(name, {}).get("rating")
        if ours is not None and isinstance(rating, float):
            asc.append(ours)
            ratings.append(rating)
    score = "Kendall's tau"
    if len(asc) < 2:
        draft.line(_ALL, score, None, 2, "too few concepts")
        return
    correlation = kendall_tau(asc, ratings)
    tau, low, high = (
        x if math.isfinite(x) else None
        for x in (correlation.tau, correlation.low, correlation.high)
    )
    draft.line(_ALL, score, tau, 2, f"p = {correlation.p:.3f}", (low, high))


PAPER = read_paper(Path(__file__).with_suffix(".yaml"), table_1, table_2)
