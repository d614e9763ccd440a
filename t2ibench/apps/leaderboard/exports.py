"""The leaderboard as tables and files: what papers, READMEs and programs read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from t2ibench.apps.leaderboard.board import Board
from t2ibench.apps.leaderboard.names import visible
from t2ibench.apps.leaderboard.ranks import Rank, span
from t2ibench.apps.leaderboard.table import Cell, Entry, family_ranks
from t2ibench.apps.leaderboard.verify import LEVELS
from t2ibench.arguments import format_args
from t2ibench.methods import METHODS
from t2ibench.reports.csv import CsvWriter
from t2ibench.reports.writers import Table, render

NOTE = (
    "A cell is the root of the mean unbiased squared lean over the tasks of a family in the "
    "default suite that passed their own check (an excess is as it is), with its 95 % interval; a "
    "fair model's is at most 'fair up to' nineteen times in twenty. Ranks are intervals, by "
    "squares, among models with the same encoders and judges and the same settings, image by "
    "image; tasks that failed their own check are left out."
)
_RAN = (
    "Model, arguments and revision are as the submitter states them; only of a reproduced model "
    "were they checked."
)


def rounded(value: float | None) -> float | None:
    """A number as files hold it."""
    return None if value is None or not math.isfinite(value) else round(value, 4)


def family_names(entries: Sequence[Entry]) -> list[str]:
    """The families that any model ran, in the order of the registry."""
    ran = {name for entry in entries for name in entry.families}
    return [name for name in METHODS.names() if name in ran]


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
        "verified": entry.level,
        "settings": "; ".join(entry.departures),
    }


def ran_as(entry: Entry) -> str:
    """What was given to --model, with its arguments, revision and rewriter."""
    said = identity(entry)
    args, revision = said["model_args"], said["revision"]
    text = f"{said['ran']} ({args})" if args else said["ran"]
    return f"{text}, revision {revision}" if revision else text


def family_record(entry: Entry, family: str, rank: Rank | None) -> dict[str, Any]:
    """A model's numbers in a family; nothing where it was not run."""
    cell = entry.families.get(family)

    def of(name: str) -> Any:
        return None if cell is None else getattr(cell, name)

    ends = {"value": "square", "low": "low", "high": "high", "fair": "fair_high"}
    shown = {key: cell.shown(of(name)) if cell else None for key, name in ends.items()}
    return {
        "square": rounded(of("square")),
        **{key: rounded(number) for key, number in shown.items()},
        "rooted": of("rooted"),
        "tasks": of("conclusive"),
        **{name: of(name) for name in ("inconclusive", "of", "fewer")},
        "best_rank": rank.best if rank else None,
        "worst_rank": rank.worst if rank else None,
        "ranked": rank.among if rank else None,
        "unranked": unranked(cell) if cell and not rank else None,
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
            head, keys = task.headline, ("scale", "ci_low", "ci_high", "fair_low", "fair_high")
            records.append({
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
                "inconclusive": visible(task.inconclusive) if task.inconclusive else None,
            })  # fmt: skip
    return CsvWriter().table(Table((), (), (), records))


def bibtex(data: Mapping[str, Any]) -> str:
    """What to cite, as BibTeX: one entry a distinct citation."""
    entries: dict[str, str] = {}
    for name, task in data["tasks"].items():
        entries.setdefault(" ".join(task["citation"].split()), name)
    parts = []
    for citation, name in entries.items():
        year = re.search(r"\b(?:19|20)\d\d\b", citation)
        text, when = re.sub(r"([&%$#_{}])", r"\\\1", citation), year.group(0) if year else ""
        parts.append(f"@misc{{{name},\n  note = {{{text}}},\n  year = {{{when}}}\n}}\n")
    return "\n".join(parts)


def table(board: Board, form: str) -> str:
    """Families by model, for papers and READMEs."""
    entries = board.entries
    names = family_names(entries)
    places = {name: family_ranks(entries, name) for name in names}
    rows, records = [], []
    for k, entry in enumerate(entries):
        texts = (_text(entry.families.get(name), places[name][k]) for name in names)
        settings = "; ".join(entry.departures) or "as the tasks ask"
        rows.append([visible(entry.manifest.name), ran_as(entry), settings, entry.level, *texts])
        for name in names:
            found = family_record(entry, name, places[name][k])
            records.append({**identity(entry), "family": name, **found})
    headers = ["Model", "--model", "Settings", "Verified"]
    headers += [METHODS.get(name).title for name in names]
    levels = dict.fromkeys(one.level for one in entries)
    notes = [NOTE, *(f"{name}: {LEVELS[name]}" for name in levels), _RAN]
    if board.refused:
        notes.append(f"Left out, because verifying refused them: {', '.join(board.refused)}.")
    return render(form, Table(headers, rows, notes, records))


def _text(cell: Cell | None, rank: Rank | None) -> str:
    if cell is None:
        return "not run"
    measured = cell.conclusive + cell.inconclusive
    parts = [f"{cell.inconclusive} failed their own check"] if cell.inconclusive else []
    parts += [f"{measured} of {cell.of} tasks"] if measured < cell.of else []
    parts += ["fewer images"] if cell.fewer else []
    parts += [f"rank {span(rank.best, rank.worst)} of {rank.among}"] if rank else []
    value = cell.shown(cell.square)
    if value is None:
        return "; ".join(parts) or "no value"
    low, high, fair = map(cell.shown, (cell.low, cell.high, cell.fair_high))
    interval = f" [{low:.2f}, {high:.2f}]" if low is not None and high is not None else ""
    if fair is not None:
        parts.insert(0, f"fair up to {fair:.2f}")
    return f"{value:.2f}{interval}" + (f" ({'; '.join(parts)})" if parts else "")
