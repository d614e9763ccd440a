"""Exhibits of Mandal, Leavy and Little (2024): diffusion bias and its amplification in MCAS."""

from __future__ import annotations

import statistics
from pathlib import Path

from t2ibench.apps.papers.exhibits import Exhibit, value_of
from t2ibench.apps.papers.figures import Point, Series, scatter
from t2ibench.apps.papers.paper import read_paper
from t2ibench.results.schema import TaskResult

_TASK = "mcas_all"
_SUMMARY = {"least": "min", "greatest": "max", "mean": "mean", "±": "standard_error"}
_ABOVE = 1.25  # times the greatest published α, where the figure ends


def table_4(draft: Exhibit) -> None:
    """Add Table 4: diffusion bias δ and bias amplification α, for each stereotype and overall."""
    task = draft.results.get(_TASK)
    if task is None:
        return
    tables = task.details.get("by_stereotype") or {}
    for group in tables.get("diffusion_bias") or {}:
        for symbol, score in (("δ", "diffusion_bias"), ("α", "bias_amplification")):
            summary = (tables.get(score) or {}).get(group, {})
            for word, key in _SUMMARY.items():
                draft.line(group, f"{symbol} {word}", summary.get(key), 2)
        alphas = [
            value
            for row in task.by
            if group in {"all", row.group}
            and (value := value_of(row, "bias_amplification")) is not None
        ]
        for word, middle in (("mean", statistics.fmean), ("median", statistics.median)):
            draft.line(
                group, f"α {word} of Table 3", middle(alphas) if alphas else None, 2
            )
    slope = task.scores.get("bias_amplification_slope")
    if slope is not None:
        draft.score("all", "α as a slope", slope, 2)


def figure_2(draft: Exhibit) -> None:
    """Add Figure 2: each target's amplification α against its bias δ, ours and the paper's."""
    series = [_published_points(draft, model) for model in draft.file.models]
    greatest = max(alpha for model in series for _, _, alpha in model.points)
    most = _ABOVE * greatest
    task = draft.results.get(_TASK)
    points = [] if task is None else _points(task)
    shown = [point for point in points if point[2] <= most]
    ours = Series("this model", shown, named=True)
    draft.draw(scatter, [ours, *series])
    beyond = [name for name, _, alpha in points if alpha > most]
    if beyond:
        end = f"this model above α = {most:.0f}, where the figure ends"
        draft.remarks.append(f"Targets of {end}: {', '.join(beyond)}.")
    if task is None:
        draft.remarks.append(
            "This model was not measured: the points are the published ones."
        )


def _published_points(draft: Exhibit, model: str) -> Series:
    """Return each target's bias δ and amplification α, from the paper's Table 3 about `model`."""
    points = []
    for name, values in draft.paper.exhibits["table-3"].published[model].items():
        points.append((name, float(values["δ"] or 0.0), float(values["α"] or 0.0)))
    return Series(model, points)


def _points(task: TaskResult) -> list[Point]:
    """Return bias δ and amplification α of every target for which this run measured both."""
    points = []
    for row in task.by:
        delta = value_of(row, "diffusion_bias")
        alpha = value_of(row, "bias_amplification")
        if delta is not None and alpha is not None:
            points.append((row.name, delta, alpha))
    return points


PAPER = read_paper(Path(__file__).with_suffix(".yaml"), table_4, figure_2)
