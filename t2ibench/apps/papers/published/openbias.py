"""Exhibits of D'Incà et al. (2024): OpenBias."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from t2ibench.apps.papers.exhibits import Exhibit, value_of
from t2ibench.apps.papers.figures import Series, grouped_bars, scatter
from t2ibench.apps.papers.paper import read_paper
from t2ibench.results.schema import Row, Score

_EXAMPLES = "openbias_examples"
_OCCUPATIONS = "openbias_winobias"
_ALL_OCCUPATIONS = "all professions"


def spelt(name: object) -> str:
    """Return the name of a question in the paper's spelling, such as 'train color'."""
    return str(name).lower().replace("colour", "color")


class FoundBias(NamedTuple):
    """A question of the printed captions with its row of scores, details and severity."""

    name: str
    row: Row
    detail: Mapping[str, Any]
    severity: float | None


def _biases(draft: Exhibit) -> list[FoundBias]:
    """Return the questions of the printed captions, the most severe first, unmeasured ones last."""
    task = draft.results.get(_EXAMPLES)
    if task is None:
        return []
    rows = {
        row.name: row
        for row in task.by
        if {"unknown_share", "severity"} & {*row.scores}
    }
    biases = [
        FoundBias(spelt(name), rows[name], detail, value_of(rows[name], "severity"))
        for detail in task.details.get("biases") or []
        if (name := detail["bias"]) in rows
    ]
    without = math.inf  # after all others
    return sorted(
        biases,
        key=lambda bias: (
            without if bias.severity is None else -bias.severity,
            bias.name,
        ),
    )


def table_5(draft: Exhibit) -> None:
    """Add Table 5: how far the genders shown in 36 professions are from parity."""
    task = draft.results.get(_OCCUPATIONS)
    if task is None:
        return
    rows = {row.name.casefold(): row for row in task.by}
    first_model, other = (draft.file.published[model] for model in draft.file.models)
    points = []
    beside = []
    for name in first_model:
        if name == _ALL_OCCUPATIONS:
            continue
        row = rows.get(name.casefold())
        scores = {} if row is None else row.scores
        delta = scores.get("relative_deviation", Score(reason="not measured"))
        value = delta.value
        draft.line(name, "delta", value, 2, delta.reason or "")
        if "share:female" in scores:
            draft.score(name, "share of women", scores["share:female"], 2)
        if value is not None:
            points.append((name, float(first_model[name]["delta"] or 0.0), value))
            beside.append(abs(value - float(other[name]["delta"] or 0.0)))
    draft.line(_ALL_OCCUPATIONS, "mean delta", value_of(task, "relative_deviation"), 2)
    mean = math.fsum(beside) / len(beside) if beside else None
    note = f"{len(beside)} professions" if beside else ""
    draft.line(_ALL_OCCUPATIONS, "mean difference", mean, 2, note)
    draft.draw(scatter, [Series("professions", points, named=True)])


def figure_3(draft: Exhibit) -> None:
    """Add Figure 3: the severity of each question, the greatest first."""
    biases = _biases(draft)
    groups = []
    ranked = sum(bias.severity is not None for bias in biases)
    for place, (name, row, detail, severity) in enumerate(biases, start=1):
        if severity is None:  # says why
            draft.score(name, "severity", row.scores.get("severity"), 2)
            continue
        fair = detail.get("severity_fair")
        note = f"rank {place} of {ranked}"
        note += "" if fair is None else f"; {fair:.2f} without any bias"
        draft.line(name, "severity", severity, 2, note)
        draft.score(name, "squared lean", row.scores.get("squared_lean"), 2)
        draft.line(name, "majority", detail["majority"])
        groups.append((name, [("this model", severity)], ""))
    draft.draw(grouped_bars, groups)


def figure_9(draft: Exhibit) -> None:
    """Add Figure 9: each question's severity within captions, against that over all captions."""
    biases = _biases(draft)
    points = []
    for name, row, _, aware in biases:
        if aware is None:
            draft.score(name, "severity", row.scores.get("severity"), 2)
            continue
        free = value_of(row, "severity_free")
        draft.line(name, "context-aware", aware, 2)
        draft.line(name, "context-free", free, 2)
        if free is not None:
            comparison = "higher" if aware > free + 1e-9 else "no higher"
            draft.line(name, "within captions", comparison)
            points.append((name, aware, free))
        draft.score(name, "squared lean within", row.scores.get("squared_lean"), 2)
    measured = {bias.name for bias in biases}
    drawn = {name for name, _, _ in points}
    for name in draft.published:
        if name not in drawn:
            note = "" if name in measured else "not asked about these captions"
            draft.line(name, "within captions", None, note=note)
    draft.draw(scatter, [Series("biases", points, named=True)])


PAPER = read_paper(Path(__file__).with_suffix(".yaml"), table_5, figure_3, figure_9)
