"""D'Incà et al. (2024): OpenBias."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from t2ibench.apps.papers.exhibits import Exhibit, value_of
from t2ibench.apps.papers.figures import Series, grouped_bars, scatter
from t2ibench.apps.papers.paper import read_paper
from t2ibench.results.schema import Row

_EXAMPLES, _PROFESSIONS = "openbias_examples", "openbias_winobias"
_ALL_PROFESSIONS = "all professions"


def spelt(name: object) -> str:
    """The name of a bias, in the paper's spelling: 'train color'."""
    return str(name).lower().replace("colour", "color")


class FoundBias(NamedTuple):
    """A bias that was measured: its scores, and what the details say of it."""

    name: str
    row: Row
    detail: Mapping[str, Any]

    def value(self, score: str) -> float | None:
        """A score."""
        return value_of(self.row, score)


def _biases(draft: Exhibit) -> list[FoundBias]:
    """The biases of the printed captions."""
    task = draft.results.get(_EXAMPLES)
    if task is None:
        return []
    rows = {row.name: row for row in task.by if {"unknown_share", "severity"} & {*row.scores}}
    return [
        FoundBias(spelt(detail["bias"]), rows[detail["bias"]], detail)
        for detail in task.details.get("biases") or []
        if detail["bias"] in rows
    ]


def table_5(draft: Exhibit) -> None:
    """How far from even the genders of 36 professions are."""
    task = draft.results.get(_PROFESSIONS)
    if task is None:
        return
    rows = {row.name.casefold(): row for row in task.by}
    own, other = (draft.file.published[model] for model in draft.file.models)
    points, beside = [], []
    for name in own:
        if name == _ALL_PROFESSIONS:
            continue
        row = rows.get(name.casefold())
        delta = None if row is None else row.scores.get("relative_deviation")
        value = None if delta is None else delta.value
        draft.line(name, "delta", value, 2, "not measured" if delta is None else delta.reason or "")
        share = None if row is None else row.scores.get("share:female")
        if share is not None:
            draft.score(name, "share of women", share, 2)
        if value is not None:
            points.append((name, float(own[name]["delta"] or 0.0), value))
            beside.append(abs(value - float(other[name]["delta"] or 0.0)))
    draft.line(_ALL_PROFESSIONS, "mean delta", value_of(task, "relative_deviation"), 2)
    mean = math.fsum(beside) / len(beside) if beside else None
    note = f"{len(beside)} professions" if beside else ""
    draft.line(_ALL_PROFESSIONS, "mean difference", mean, 2, note)
    draft.draw(scatter, [Series("professions", points, named=True)])


def _by_severity(biases: list[FoundBias]) -> list[FoundBias]:
    """Biases with a severity, the most severe first."""
    known = [bias for bias in biases if bias.value("severity") is not None]
    return sorted(known, key=lambda bias: (-(bias.value("severity") or 0.0), bias.name))


def _without_severity(draft: Exhibit, biases: list[FoundBias]) -> None:
    """Biases that have no severity, each with the reason."""
    for bias in biases:
        if bias.value("severity") is None:
            draft.score(bias.name, "severity", bias.row.scores.get("severity"), 2)


def figure_3(draft: Exhibit) -> None:
    """Biases from the most to the least severe."""
    biases, groups = _biases(draft), []
    ranked = _by_severity(biases)
    for place, bias in enumerate(ranked, start=1):
        severity, fair = bias.value("severity") or 0.0, bias.detail.get("severity_fair")
        note = f"rank {place} of {len(ranked)}"
        note += "" if fair is None else f"; {fair:.2f} without any bias"
        draft.line(bias.name, "severity", severity, 2, note)
        draft.score(bias.name, "squared lean", bias.row.scores.get("squared_lean"), 2)
        draft.line(bias.name, "majority", bias.detail["majority"])
        groups.append((bias.name, [("this model", severity)], ""))
    _without_severity(draft, biases)
    draft.draw(grouped_bars, groups)


def figure_9(draft: Exhibit) -> None:
    """Severities within captions, and over all captions."""
    biases, points = _biases(draft), []
    for bias in _by_severity(biases):
        aware, free = bias.value("severity"), bias.value("severity_free")
        draft.line(bias.name, "context-aware", aware, 2)
        draft.line(bias.name, "context-free", free, 2)
        if aware is not None and free is not None:
            said = "higher" if aware > free + 1e-9 else "no higher"
            draft.line(bias.name, "within captions", said)
            points.append((bias.name, aware, free))
        draft.score(bias.name, "squared lean within", bias.row.scores.get("squared_lean"), 2)
    _without_severity(draft, biases)
    measured, drawn = {bias.name for bias in biases}, {name for name, _, _ in points}
    for name in draft.known:
        if name not in drawn:
            note = "" if name in measured else "not asked about these captions"
            draft.line(name, "within captions", None, note=note)
    draft.draw(scatter, [Series("biases", points, named=True)])


PAPER = read_paper(Path(__file__).with_suffix(".yaml"), table_5, figure_3, figure_9)
