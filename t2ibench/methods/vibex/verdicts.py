"""Conclusions that follow from a result's rows: verdicts and published tendencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from t2ibench.methods.core.estimate import Estimate, Item, MethodResult, share_estimate
from t2ibench.methods.core.probing import Reading, Verdict, verdict
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.stats import holm
from t2ibench.stats.rounding import settled

_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class ConceptVerdict:
    """The conclusion about one concept of a forward query.

    Attributes:
        concept: Its name.
        verdict: Whether it leans, to which anchor, and why.
        p: p-value of its effect beyond words, after Holm's correction.
    """

    concept: str
    verdict: Verdict
    p: float


def with_verdicts(task: VibexTask, result: MethodResult) -> MethodResult:
    """Return a result with the verdicts and tendencies that follow from its rows added."""
    anchors = [anchor.name for anchor in task.anchors]
    verdicts = verdicts_of(task, result.by)
    entries = [_verdict_entry(row, anchors) for row in verdicts]
    tendencies = _published_tendencies(task, result.by)
    warnings = [
        f"'{row.concept}' is inconclusive: {row.verdict.says}."
        for row in verdicts
        if row.verdict.contradiction
    ]
    new_warnings = [text for text in warnings if text not in result.warnings]
    return replace(
        result,
        scores=result.scores | _share_reproduced(tendencies),
        warnings=[*result.warnings, *new_warnings],
        details=result.details | {"verdicts": entries, "tendencies": tendencies},
    )


def verdicts_of(task: VibexTask, items: Sequence[Item]) -> list[ConceptVerdict]:
    """Return the verdict on every forward query, the smallest p-value first."""
    rows = [
        item
        for item in items
        if item.group == "forward" and "beyond_words" in item.scores
    ]
    anchors = [anchor.name for anchor in task.anchors]
    sides_of_images = drawn_sides(task, items)
    p_beyond = _corrected(rows, "beyond_words")
    p_plain = _corrected(rows, "similarity_difference")
    verdicts = []
    for item, p, p_plain_of_item in zip(rows, p_beyond, p_plain, strict=True):
        reading = Reading(
            p,
            _side(item, "beyond_words", anchors),
            p_plain_of_item,
            _side(item, "similarity_difference", anchors),
            sides_of_images.get(item.name),
        )
        verdicts.append(ConceptVerdict(item.name, verdict(reading, anchors), p))
    return sorted(verdicts, key=lambda row: float(settled(row.p)))


def _corrected(rows: Sequence[Item], score: str) -> list[float]:
    """Return the rows' p-values of a score after Holm's correction; 1 for a row without."""
    corrected = holm([item.scores[score].p for item in rows])
    return [1.0 if p is None else p for p in corrected]


def _side(item: Item, score: str, anchors: Sequence[str]) -> int:
    """Return the index of the anchor that a concept leans to, according to one effect."""
    if len(anchors) == 2:
        return int((item.scores[score].value or 0.0) < 0.0)
    means = [item.scores[f"{score}:{anchor}"].value or 0.0 for anchor in anchors]
    return int(np.argmax(means))


def drawn_sides(task: VibexTask, items: Sequence[Item]) -> dict[str, int]:
    """Return, for concepts whose own images clearly lean, the index of the anchor they lean to."""
    rows = [item for item in items if item.group == "inverse"]
    if len(task.anchors) == 2:
        return _sides_by_lean(rows)
    names = [anchor.name for anchor in task.anchors]
    return _sides_by_shares(rows, names)


def _sides_by_lean(rows: Sequence[Item]) -> dict[str, int]:
    """Return, for each concept with a clear lean, the index of the anchor: 0 or 1."""
    leans = [item.scores.get("lean", Estimate.undefined("")) for item in rows]
    corrected = holm([lean.p for lean in leans])
    return {
        item.name: int((lean.value or 0.0) < 0.0)
        for item, lean, p in zip(rows, leans, corrected, strict=True)
        if p is not None and p < _ALPHA
    }


def _sides_by_shares(rows: Sequence[Item], anchors: Sequence[str]) -> dict[str, int]:
    """Return, for each concept with one clearly larger share, the index of the anchor."""
    sides = {}
    for item in rows:
        above = [
            number
            for number, anchor in enumerate(anchors)
            if _lower_end(item, f"share:{anchor}") > 1.0 / len(anchors)
        ]
        if len(above) == 1:
            sides[item.name] = above[0]
    return sides


def _lower_end(item: Item, score: str) -> float:
    """Return the lower end of a score's interval; 0 if it has none."""
    estimate = item.scores.get(score)
    if estimate is None or estimate.interval is None:
        return 0.0
    return estimate.interval[0]


def _verdict_entry(row: ConceptVerdict, anchors: Sequence[str]) -> dict[str, Any]:
    """Return a verdict as an entry of `details`."""
    side = row.verdict.side
    return {
        "concept": row.concept,
        "verdict": row.verdict.outcome,
        "anchor": None if side is None else anchors[side],
        "p": row.p,
        "says": row.verdict.says,
    }


def _published_tendencies(
    task: VibexTask, items: Sequence[Item]
) -> list[dict[str, str]]:
    """Return the published and the measured tendency of each concept that has both."""
    published = {
        (concept.name, str(concept.query)): concept.tendency
        for concept in task.concepts
    }
    rows = []
    for item in items:
        expected = published.get((item.name, str(item.group)))
        measured = tendency(task, item)
        if expected is not None and measured is not None:
            row = {"concept": item.name, "published": expected, "found": measured}
            rows.append(row)
    return rows


def _share_reproduced(tendencies: Sequence[dict[str, str]]) -> dict[str, Estimate]:
    """Return the share of published tendencies that are reproduced, as a score; or no score."""
    decided = [row for row in tendencies if row["published"] != "balanced"]
    if not decided:
        return {}
    hits = sum(row["published"] == row["found"] for row in decided)
    return {"tendencies_reproduced": share_estimate(hits, len(decided))}


def tendency(task: VibexTask, item: Item) -> str | None:
    """Return the anchor that a concept leans to by the paper's scores; None if it has none."""
    score = "probability" if item.group == "forward" else "share_nearest"
    values = {}
    for anchor in task.anchors:
        estimate = item.scores.get(f"{score}:{anchor.name}")
        if estimate is not None and estimate.value is not None:
            values[anchor.name] = estimate.value
    return max(values, key=lambda name: values[name]) if values else None
