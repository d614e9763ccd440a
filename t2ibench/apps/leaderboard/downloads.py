"""The leaderboard as data that other programs read: leaderboard.csv and data.json."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from t2ibench.apps.leaderboard.names import visible
from t2ibench.apps.leaderboard.ranks import Rank
from t2ibench.apps.leaderboard.table import Cell, Entry, Stratum
from t2ibench.apps.leaderboard.views import Model
from t2ibench.arguments import format_args
from t2ibench.methods import METHODS
from t2ibench.reports.csv import CsvWriter
from t2ibench.reports.view import TaskView, poles
from t2ibench.reports.writers import Table
from t2ibench.results.display import text_only
from t2ibench.results.states import STATES
from t2ibench.version import __version__


def rounded(value: float | None) -> float | None:
    """A number as files hold it."""
    return None if value is None or not math.isfinite(value) else round(value, 4)


def identity(entry: Entry) -> dict[str, Any]:
    """Who a row is about, for programs."""
    manifest, rewriter = entry.manifest, entry.results.model.rewriter
    # A rewriter makes another model of a generator, whatever name it was submitted by.
    behind = f", prompts rewritten by {visible(rewriter.name, 120)}" if rewriter else ""
    return {
        "model": visible(manifest.name),
        "ran": visible(manifest.model) + behind,
        "model_args": visible(format_args(manifest.model_args), 2000),
        "revision": visible(manifest.revision or ""),
        "verified": entry.verdict.level,
        "settings": "; ".join(entry.departures),
    }


def ran_as(entry: Entry) -> str:
    """What was given to --model, with its arguments, revision and rewriter."""
    said = identity(entry)
    args, revision = said["model_args"], said["revision"]
    text = f"{said['ran']} ({args})" if args else said["ran"]
    return f"{text}, revision {revision}" if revision else text


def family_record(cell: Cell, rank: Rank | None) -> dict[str, Any]:
    """A model's numbers in a family that it ran."""
    ends = {
        "value": cell.square,
        "low": cell.low,
        "high": cell.high,
        "fair": cell.fair_high,
    }
    return {
        "square": rounded(cell.square),
        **{key: rounded(cell.shown(number)) for key, number in ends.items()},
        "tasks": cell.conclusive,
        **{
            name: getattr(cell, name)
            for name in ("rooted", "inconclusive", "of", "unlike")
        },
        "best_rank": rank.best if rank else None,
        "worst_rank": rank.worst if rank else None,
        "ranked": rank.among if rank else None,
        "unranked": None if rank else unranked(cell),
    }


def unranked(cell: Cell) -> str:
    """Why a model has no rank in a family."""
    if cell.text:
        return "it measures the text encoder, not the model"
    if cell.conclusive + cell.inconclusive < cell.of:
        return "not all of its tasks were measured"
    if not cell.conclusive:
        return "every task failed its own check"
    return "a variance is unknown"


def results_csv(entries: Sequence[Entry]) -> str:
    """All headlines as CSV, one row a model and task."""
    records = []
    for entry in entries:
        for name, task in entry.results.tasks.items():
            head, keys = (
                task.headline,
                ("scale", "ci_low", "ci_high", "fair_low", "fair_high"),
            )
            records.append(
                {
                    **identity(entry),
                    "family": task.family,
                    "task": name,
                    "headline": head.value,
                    **{key: getattr(head, key) for key in (*keys, "square", "p_holm")},
                    "about": head.question,
                    "images": task.n_images,
                    "images_per_prompt": task.settings.images_per_prompt,
                    "seed": task.settings.seed,
                    "excluded": sum(task.excluded.values()),
                    "inconclusive": visible(task.inconclusive)
                    if task.inconclusive
                    else None,
                }
            )
    return CsvWriter().table(Table((), (), (), records))


def data(
    models: Sequence[Model], strata: Sequence[Stratum], refused: dict[str, str]
) -> dict[str, Any]:
    """What the page Compare reads, and whoever else wants the numbers of the tables."""
    return {
        "t2ibench": __version__,
        "families": {name: METHODS.get(name).title for name in METHODS.names()},
        "states": {
            state: {"word": display.word, "classes": display.classes}
            for state, display in STATES.items()
        },
        "strata": [
            {key: getattr(one, key) for key in ("id", "title", "readers", "settings")}
            for one in strata
        ],
        "models": [
            {
                "id": model.entry.id,
                **identity(model.entry),
                "name": model.name,
                "stratum": model.stratum.id,
                "rank": asdict(model.entry.overall) if model.entry.overall else None,
                "unranked": model.entry.why or None,
                "families": {
                    name: family_record(cell, model.entry.ranks.get(name))
                    for name, cell in model.entry.families.items()
                },
                "tasks": {name: _task(view) for name, view in model.tasks.items()},
            }
            for model in models
        ],
        "refused": refused,
    }


def _task(view: TaskView) -> dict[str, Any]:
    task, mark, axis = view.result, view.mark, poles(view)
    return {
        "name": view.name,
        "family": task.method,
        **{key: rounded(getattr(mark, key)) for key in ("value", "low", "high")},
        "fair": [rounded(mark.fair_low), rounded(mark.fair_high)],
        "state": mark.state,
        "side": mark.side,
        "poles": [axis.low, axis.high],
        "scale": view.scale,
        "text_only": text_only(task),
    }
