"""Data of the leaderboard for programs: leaderboard.csv and data.json."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from t2ibench.apps.leaderboard.chosen import choice_of_seed, choice_of_settings
from t2ibench.apps.leaderboard.names import shortened
from t2ibench.apps.leaderboard.ranks import Rank
from t2ibench.apps.leaderboard.table import Cell, Entry, Stratum
from t2ibench.apps.leaderboard.views import Model
from t2ibench.arguments import format_args
from t2ibench.methods import METHODS
from t2ibench.reports.csv import CsvWriter
from t2ibench.reports.view import TaskView, poles, scale_record
from t2ibench.reports.writers import Table
from t2ibench.results.display import text_only
from t2ibench.results.schema import TaskResult
from t2ibench.results.states import STATES
from t2ibench.version import __version__


def rounded(value: float | None) -> float | None:
    """Return a number rounded to four decimals; None if it is unknown or not finite."""
    return None if value is None or not math.isfinite(value) else round(value, 4)


def identity(entry: Entry) -> dict[str, Any]:
    """Return what a submission says of its model, its verification level, and unusual settings."""
    manifest = entry.manifest
    rewriter = entry.results.model.rewriter
    # A rewriter makes another model of a generator, whatever name it was submitted by.
    behind = f", prompts rewritten by {rewriter.name}" if rewriter else ""
    return {
        "model": manifest.name,
        "ran": f"{manifest.model}{behind}",
        "model_args": shortened(format_args(manifest.model_args)),
        "revision": manifest.revision or "",
        "verified": entry.verdict.level,
        "chosen": choice_of_settings(manifest, entry.results),
        "seed_of": choice_of_seed(manifest, entry.results),
        "settings": "; ".join(entry.departures),
    }


def ran_as(entry: Entry) -> str:
    """Return the model that a submission ran as text, with its arguments, revision and rewriter."""
    about = identity(entry)
    text = about["ran"]
    if about["model_args"]:
        text += f" ({about['model_args']})"
    if about["revision"]:
        text += f", revision {about['revision']}"
    return str(text)


def family_record(cell: Cell, rank: Rank | None) -> dict[str, Any]:
    """Return a model's scores and ranks in one family of tests as a JSON record."""
    value, low, high, fair = (
        rounded(cell.shown(square))
        for square in (cell.square, cell.low, cell.high, cell.fair_high)
    )
    return {
        "square": rounded(cell.square),
        "value": value,
        "low": low,
        "high": high,
        "fair": fair,
        "tasks": cell.conclusive,
        "rooted": cell.rooted,
        "inconclusive": cell.inconclusive,
        "of": cell.of,
        "unlike": cell.unlike,
        **_rank_record(cell, rank),
    }


def _rank_record(cell: Cell, rank: Rank | None) -> dict[str, Any]:
    """Return a model's best and worst rank in a family, or the reason why it has no rank."""
    if rank is None:
        reason = unranked(cell)
        return {
            "best_rank": None,
            "worst_rank": None,
            "ranked": None,
            "unranked": reason,
        }
    return {
        "best_rank": rank.best,
        "worst_rank": rank.worst,
        "ranked": rank.among,
        "unranked": None,
    }


def unranked(cell: Cell) -> str:
    """Return the reason why a model has no rank in a family."""
    if cell.text:
        return "it measures the text encoder, not the model"
    if cell.conclusive + cell.inconclusive < cell.of:
        return "not all of its tasks were measured"
    if not cell.conclusive:
        return "every task failed its own check"
    return "a variance is unknown"


def results_csv(entries: Sequence[Entry]) -> str:
    """Return the headlines of all submissions as CSV text, one row for each model and task."""
    records = [
        {**identity(entry), **_headline_record(name, task)}
        for entry in entries
        for name, task in entry.results.tasks.items()
    ]
    return CsvWriter().table(Table((), (), (), records))


def _headline_record(name: str, task: TaskResult) -> dict[str, Any]:
    head = task.headline
    settings = task.settings
    excluded = sum(task.excluded.values())
    return {
        "family": task.family,
        "task": name,
        "headline": head.value,
        "scale": head.scale,
        "ci_low": head.ci_low,
        "ci_high": head.ci_high,
        "fair_low": head.fair_low,
        "fair_high": head.fair_high,
        "square": head.square,
        "p_holm": head.p_holm,
        "about": head.question,
        "images": task.n_images,
        "images_per_prompt": settings.images_per_prompt,
        "seed": settings.seed,
        "excluded": excluded,
        "inconclusive": task.inconclusive or None,
    }


def data(
    models: Sequence[Model], strata: Sequence[Stratum], refused: dict[str, str]
) -> dict[str, Any]:
    """Return the content of data.json: the tables' data, and that of the page Compare."""
    return {
        "t2ibench": __version__,
        "families": {name: METHODS.get(name).title for name in METHODS.names()},
        "states": {
            state: {"word": display.word, "classes": display.classes}
            for state, display in STATES.items()
        },
        "strata": [_stratum_record(stratum) for stratum in strata],
        "models": [_model_record(model) for model in models],
        "refused": refused,
    }


def _stratum_record(stratum: Stratum) -> dict[str, Any]:
    return {
        "id": stratum.id,
        "title": stratum.title,
        "readers": stratum.readers,
        "settings": stratum.settings,
    }


def _model_record(model: Model) -> dict[str, Any]:
    entry = model.entry
    families = {
        name: family_record(cell, entry.ranks.get(name))
        for name, cell in entry.families.items()
    }
    return {
        "id": entry.id,
        **identity(entry),
        "name": model.name,
        "stratum": model.stratum.id,
        "rank": asdict(entry.overall) if entry.overall else None,
        "unranked": entry.why or None,
        "families": families,
        "tasks": {
            name: _task_record(view, entry.task_ranks.get(name))
            for name, view in model.tasks.items()
        },
    }


def _task_record(view: TaskView, rank: Rank | None) -> dict[str, Any]:
    mark = view.mark
    axis = poles(view)
    fair_band = [rounded(mark.fair_low), rounded(mark.fair_high)]
    return {
        "name": view.name,
        "family": view.result.method,
        "value": rounded(mark.value),
        "low": rounded(mark.low),
        "high": rounded(mark.high),
        "fair": fair_band,
        "state": mark.state,
        "side": mark.side,
        "poles": [axis.low, axis.high],
        **scale_record(mark.scale),
        "rank": rank.text if rank else None,
        "ranked": rank.among if rank else None,
        "text_only": text_only(view.result),
    }
