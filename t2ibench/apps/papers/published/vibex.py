"""Exhibits of Eschner et al. (2025): ViBEx."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from t2ibench.apps.papers.exhibits import Exhibit, row_of, value_of
from t2ibench.apps.papers.figures import Point, arrows, distributions
from t2ibench.apps.papers.paper import read_paper
from t2ibench.methods.core.score_names import join_score_name, split_score_name
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.results.schema import Row

GENDER = "vibex_gender"
RACE = "vibex_race"
LOCATION = "vibex_location"
_FIGURES = "vibex_figures_gender"


def _anchors(draft: Exhibit, task: str) -> dict[str, str]:
    """Return the name of each of a task's anchors, by the anchor's prompt."""
    spec = draft.specs.get(task)
    anchors = spec.anchors if isinstance(spec, VibexTask) else ()
    return {anchor.prompt: anchor.name for anchor in anchors}


def _side(row: Row | None, anchors: Sequence[str]) -> str | None:
    """Return the anchor to which a concept most probably belongs; None if it was not measured."""
    if row is None:
        return None
    return max(
        anchors,
        key=lambda name: value_of(row, join_score_name("probability", name)) or 0.0,
    )


def table_2(draft: Exhibit) -> None:
    """Add Table 2: the direction that experts found for each concept, and its lean in this run."""
    for name, concept in draft.published.items():
        task = draft.results.get(f"vibex_{concept['scenario']}")
        if task is None:
            continue
        query = str(concept["query"])
        row = row_of(task, name, query)
        note = f"{query} query of {concept['experts']}"
        note += (
            "; among TIBET's axes" if concept.get("TIBET covers it") == "yes" else ""
        )
        note += "; not measured" if row is None else ""
        draft.line(
            name,
            "tendency",
            _entry(task.details, "tendencies", name).get("found"),
            3,
            note,
        )
        if row is None:
            continue
        if query == "inverse":
            reasons = (
                score.reason
                for key, score in row.scores.items()
                if split_score_name(key)[0] == "share"
            )
            why = next(filter(None, reasons), "") if "lean" not in row.scores else ""
            draft.score(name, "lean", row.scores.get("lean"), 2, why)
            continue
        verdict = _entry(task.details, "verdicts", name)
        outcome = verdict.get("verdict")
        if outcome == "leans":
            outcome = f"leans to {verdict['anchor']}"
        elif outcome is not None:
            outcome = str(outcome).replace("_", " ")
        draft.line(name, "verdict", outcome, note=str(verdict.get("says", "")))
        draft.score(name, "beyond words", row.scores.get("beyond_words"), 4)
    for shipped in (GENDER, LOCATION):
        task = draft.results.get(shipped)
        share = None if task is None else task.scores.get("tendencies_reproduced")
        if share is not None:
            row_name = f"all of {shipped.removeprefix('vibex_')}"
            draft.score(row_name, "tendencies that come out", share, 2)


def _entry(details: Mapping[str, Any], kind: str, concept: str) -> Mapping[str, Any]:
    """Return what a task's details of one kind say of a concept; empty if they do not name it."""
    return next(
        (row for row in details.get(kind) or [] if row["concept"] == concept), {}
    )


def figure_3(draft: Exhibit) -> None:
    """Add Figure 3: where each concept lies between two anchors."""
    anchors = [*_anchors(draft, RACE).values()]
    drawn: list[Point] = []
    for name in draft.published:
        row = row_of(draft.results.get(RACE), name, "forward")
        draft.line(name, "side", _side(row, anchors))
        if row is not None:
            draft.score(
                name,
                "probability difference",
                row.scores.get("probability_difference"),
                4,
            )
            draft.score(name, "beyond words", row.scores.get("beyond_words"), 4)
            first, second = (
                value_of(row, join_score_name("probability", anchor)) or 0.0
                for anchor in anchors
            )
            drawn.append((name, 0.0, 100.0 * (first - second)))
    words = draft.words(x=anchors[1], y=anchors[0]) if anchors else draft.words()
    draft.draw(arrows, drawn, words)


def figure_4(draft: Exhibit) -> None:
    """Add Figure 4: the similarity of every anchor image to each concept."""
    anchors = _anchors(draft, _FIGURES)
    samples = draft.samples(_FIGURES)
    groups = {}
    for name in draft.published:
        row = row_of(draft.results.get(_FIGURES), name, "forward")
        if row is None:
            draft.line(name, "side", None, note="not measured")
            continue
        draft.line(name, "side", _side(row, [*anchors.values()]))
        draft.score(name, "D", row.scores.get("kolmogorov_smirnov_distance"))
        draft.score(name, "beyond words", row.scores.get("beyond_words"), 4)
        values: dict[str, list[float]] = {anchor: [] for anchor in anchors.values()}
        for sample in samples:
            anchor = anchors.get(str(sample["prompt"]))
            value = (sample.get("similarities") or {}).get(name)
            if anchor is not None and value is not None:
                values[anchor].append(float(value))
        every = [value for some in values.values() for value in some]
        mean = math.fsum(every) / len(every) if every else 0.0
        for anchor, some in values.items():
            groups[f"{name}: {anchor}"] = [1000 * (value - mean) for value in some]
    draft.draw(distributions, groups)


PAPER = read_paper(Path(__file__).with_suffix(".yaml"), table_2, figure_3, figure_4)
