"""The static site: one page and its data, without a server and without files from other sites."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from t2ibench.leaderboard.ranks import Rank
from t2ibench.leaderboard.table import (
    Cell,
    Entry,
    asked_images,
    borda,
    fewer_images,
    ranks,
)
from t2ibench.methods import METHODS
from t2ibench.reports.cells import headline
from t2ibench.reports.csv import CsvWriter
from t2ibench.reports.writers import Table, render
from t2ibench.results.compare import Difference, compare
from t2ibench.results.display import displayed, text_only
from t2ibench.results.paired import read_paired_run
from t2ibench.results.schema import TaskResult
from t2ibench.store.files import write_text
from t2ibench.store.images import image_key
from t2ibench.store.jsonl import read_rows
from t2ibench.tasks.index import build_index
from t2ibench.version import __version__

_STATIC = Path(__file__).parent / "static"
# Models of which every two are compared beforehand, image by image; time grows with the square.
PAIRED_MODELS = 40
NOTE = (
    "A cell is the root of the mean unbiased squared lean over a family's conclusive tasks (an "
    "excess is as it is), with its 95 % interval; a fair model's is at most 'fair up to' nineteen "
    "times in twenty. Ranks are intervals, by squares, among models with the same encoders and "
    "judges, image by image; inconclusive tasks are left out of them."
)


def build(entries: Sequence[Entry], output: Path) -> dict[str, Any]:
    """Write the site.

    Args:
        entries: The models.
        output: Its folder; files of an earlier site are replaced.

    Returns:
        What data.json holds.
    """
    data = site_data(entries)
    output.mkdir(parents=True, exist_ok=True)
    for path in sorted(_STATIC.iterdir()):
        shutil.copyfile(path, output / path.name)
    for entry in entries:
        for path in sorted((entry.folder / "thumbs").glob("*.jpg")):
            thumbnails = output / "thumbs" / entry.id
            thumbnails.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, thumbnails / path.name)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    write_text(output / "data.json", text)
    write_text(output / "data.js", f"window.T2IBENCH = {_safe(text)};\n")
    if len(entries) <= PAIRED_MODELS:
        _write_pairs(entries, output / "pairs")
    write_text(output / "leaderboard.csv", results_csv(entries))
    write_text(output / "leaderboard.bib", bibtex(data))
    return data


def site_data(entries: Sequence[Entry]) -> dict[str, Any]:
    """Everything the page shows.

    Args:
        entries: The submissions.

    Returns:
        JSON values: families, tasks, models and Borda scores.
    """
    names, asked = family_names(entries), asked_images()
    places = {name: ranks([entry.families.get(name) for entry in entries]) for name in names}
    return {
        "t2ibench": __version__,
        "families": {name: METHODS.get(name).title for name in names},
        "tasks": _tasks(entries),
        "models": [
            _model(entry, {name: places[name][k] for name in names}, asked)
            for k, entry in enumerate(entries)
        ],
        "borda": borda(entries, places),
        "paired": len(entries) <= PAIRED_MODELS,
    }


def _write_pairs(entries: Sequence[Entry], target: Path) -> None:
    """One script a model: how its headlines differ from those of the models after it."""
    paired = [read_paired_run(entry.folder) for entry in entries]
    for k, first in enumerate(entries):
        rows = {
            second.id: [
                _difference(one)
                for one in compare(first.results, second.results, paired[k], paired[j])
                if not one.row
            ]
            for j, second in enumerate(entries)
            if j > k
        }
        text = _safe(json.dumps([first.id, rows], ensure_ascii=False, separators=(",", ":")))
        write_text(target / f"{first.id}.js", f"window.T2IBENCH_PAIR({text});\n")


def _difference(one: Difference) -> dict[str, Any]:
    return {
        "task": one.task,
        "value": _rounded(one.value),
        "low": _rounded(one.low),
        "high": _rounded(one.high),
        "p": _rounded(one.p_holm),
        "verdict": one.verdict,
        "notes": "; ".join(one.notes),
    }


def _safe(text: str) -> str:
    """JSON inside a script: a page that is opened from disk may run scripts, and may not fetch."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def family_names(entries: Sequence[Entry]) -> list[str]:
    """The families that any model ran, in the order of the registry.

    Args:
        entries: The models.

    Returns:
        Names of methods.

    Raises:
        T2IBenchError: one of them is not installed here.
    """
    ran = {name for entry in entries for name in entry.families}
    for name in sorted(ran - set(METHODS.names())):
        raise METHODS.unknown(name)
    return [name for name in METHODS.names() if name in ran]


def _model(
    entry: Entry, places: Mapping[str, Rank | None], asked: Mapping[str, int]
) -> dict[str, Any]:
    manifest, results = entry.manifest, entry.results
    return {
        "id": entry.id,
        "name": manifest.name,
        "level": entry.level,
        "notes": entry.notes,
        "families": {
            name: _family(entry.families[name], rank)
            for name, rank in places.items()
            if name in entry.families
        },
        "tasks": {
            name: _task(task, fewer_images(task, asked.get(name)))
            for name, task in results.tasks.items()
        },
        "pictures": _pictures(entry),
        "provenance": {
            "model": manifest.model,
            "arguments": manifest.model_args,
            "revision": manifest.revision,
            "fingerprint": manifest.fingerprint,
            "settings": results.model.settings,
            "encoders": manifest.encoders,
            "judges": manifest.judges,
            "t2ibench": manifest.t2ibench,
            "environment": results.environment,
            "command": results.command,
        },
    }


def _pictures(entry: Entry) -> dict[str, list[str]]:
    """Prompt to its thumbnails."""
    thumbnails = {path.stem for path in (entry.folder / "thumbs").glob("*.jpg")}
    if not thumbnails:
        return {}
    by_prompt: dict[str, list[str]] = {}
    for row in read_rows(entry.folder / "attempts.jsonl"):
        key = image_key(entry.manifest.fingerprint, str(row.get("prompt")), int(row["index"]))
        if key in thumbnails:
            by_prompt.setdefault(str(row["prompt"]), []).append(f"thumbs/{entry.id}/{key}.jpg")
    return dict(sorted(by_prompt.items()))


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 4)


def _family(cell: Cell, rank: Rank | None) -> dict[str, Any]:
    return {
        "square": _rounded(cell.square),
        "value": _rounded(cell.shown(cell.square)),
        "low": _rounded(cell.shown(cell.low)),
        "high": _rounded(cell.shown(cell.high)),
        "fair": _rounded(cell.shown(cell.fair_high)),
        "rooted": cell.rooted,
        "tasks": cell.conclusive,
        "inconclusive": cell.inconclusive,
        "of": cell.of,
        "fewer": cell.fewer,
        "rank": [rank.best, rank.worst, rank.among] if rank else None,
        "unranked": None if rank else _unranked(cell),
    }


def _unranked(cell: Cell) -> str:
    """Why a model has no rank in a family."""
    if cell.text:
        return "it measures the text encoder, not the model"
    if cell.conclusive + cell.inconclusive < cell.of:
        return "not all of its tasks were measured"
    if not cell.conclusive:
        return "no task is conclusive"
    return "a variance is unknown"


def _task(task: TaskResult, fewer: str | None) -> dict[str, Any]:
    shown = displayed(task.headline)
    return {
        "text": headline(task.headline, 2),
        "value": _rounded(shown.value),
        "low": _rounded(shown.low),
        "high": _rounded(shown.high),
        "fair": [_rounded(shown.fair_low), _rounded(shown.fair_high)],
        "signed": shown.signed,
        "square": _rounded(task.headline.square),
        "about": task.headline.question,
        "p": _rounded(task.headline.p_holm),
        "images": task.n_images,
        "excluded": sum(task.excluded.values()),
        "inconclusive": task.inconclusive,
        "direction": task.headline.direction,
        "reason": task.headline.reason or task.reason,
        "fewer": fewer,
        "text_only": text_only(task),
    }


def _tasks(entries: Sequence[Entry]) -> dict[str, Any]:
    """Every task of any submission, with what it does and does not show, and published values."""
    registry, _ = build_index()
    described: dict[str, Any] = {}
    for entry in entries:
        for name, task in entry.results.tasks.items():
            if name in described:
                continue
            shipped = registry.tasks.get(name)
            described[name] = {
                "family": task.family,
                "title": task.title,
                "version": task.version,
                "description": shipped.spec.description if shipped else "",
                "citation": shipped.spec.citation if shipped else "",
                "notes": task.notes,
                "published": task.published,
            }
    return dict(sorted(described.items()))


def results_csv(entries: Sequence[Entry]) -> str:
    """All headlines as CSV, one row a model and task.

    Args:
        entries: The submissions.

    Returns:
        The text of the file.
    """
    records = [
        {
            "model": entry.manifest.name,
            "verified": entry.level,
            "family": task.family,
            "task": name,
            "headline": task.headline.value,
            "scale": task.headline.scale,
            "ci_low": task.headline.ci_low,
            "ci_high": task.headline.ci_high,
            "about": task.headline.question,
            "fair_low": task.headline.fair_low,
            "fair_high": task.headline.fair_high,
            "square": task.headline.square,
            "p_holm": task.headline.p_holm,
            "images": task.n_images,
            "images_per_prompt": task.settings.images_per_prompt,
            "excluded": sum(task.excluded.values()),
            "inconclusive": task.inconclusive,
        }
        for entry in entries
        for name, task in entry.results.tasks.items()
    ]
    return CsvWriter().table(Table((), (), (), records))


def bibtex(data: Mapping[str, Any]) -> str:
    """What to cite, as BibTeX: one entry a distinct citation.

    Args:
        data: From `site_data`.

    Returns:
        The text of the file.
    """
    entries: dict[str, str] = {}
    for name, task in data["tasks"].items():
        entries.setdefault(" ".join(task["citation"].split()), name)
    parts = []
    for citation, name in entries.items():
        if citation:
            year = re.search(r"\b(?:19|20)\d\d\b", citation)
            text = re.sub(r"([&%$#_{}])", r"\\\1", citation)
            when = year.group(0) if year else ""
            parts.append(f"@misc{{{name},\n  note = {{{text}}},\n  year = {{{when}}}\n}}\n")
    return "\n".join(parts)


def table(entries: Sequence[Entry], form: str) -> str:
    """Families by model, for papers and READMEs.

    Args:
        entries: The submissions.
        form: A report format, such as 'markdown' or 'latex'.

    Returns:
        The table as text.

    Raises:
        T2IBenchError: the format is unknown.
    """
    names = family_names(entries)
    places = {name: ranks([entry.families.get(name) for entry in entries]) for name in names}
    rows, records = [], []
    for k, entry in enumerate(entries):
        cells = {name: entry.families.get(name) for name in names}
        texts = (_text(cell, places[name][k]) for name, cell in cells.items())
        rows.append([entry.manifest.name, entry.level, *texts])
        for name, cell in cells.items():
            found = _family(cell, places[name][k]) if cell else {}
            best, worst, among = found.get("rank") or (None, None, None)
            about = {"best_rank": best, "worst_rank": worst, "ranked": among}
            keys = ("value", "low", "high", "fair", "tasks", "inconclusive", "of", "unranked")
            numbers = {key: found.get(key) for key in keys}
            model = {"model": entry.manifest.name, "verified": entry.level, "family": name}
            records.append({**model, **numbers, **about})
    headers = ["Model", "Verified", *(METHODS.get(name).title for name in names)]
    return render(form, Table(headers, rows, [NOTE], records))


def _text(cell: Cell | None, rank: Rank | None) -> str:
    if cell is None:
        return "not run"
    parts = [f"{cell.inconclusive} inconclusive"] if cell.inconclusive else []
    if cell.conclusive + cell.inconclusive < cell.of:
        parts.append(f"{cell.conclusive + cell.inconclusive} of {cell.of} tasks")
    if cell.fewer:
        parts.append("fewer images")
    if rank:
        parts.append(f"rank {_range(rank.best, rank.worst)} of {rank.among}")
    value = cell.shown(cell.square)
    if value is None:
        return "; ".join(parts) or "no value"
    low, high, fair = cell.shown(cell.low), cell.shown(cell.high), cell.shown(cell.fair_high)
    interval = f" [{low:.2f}, {high:.2f}]" if low is not None and high is not None else ""
    if fair is not None:
        parts.insert(0, f"fair up to {fair:.2f}")
    return f"{value:.2f}{interval}" + (f" ({'; '.join(parts)})" if parts else "")


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"
