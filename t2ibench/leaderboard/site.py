"""The static site: one page and its data, without a server and without files from other sites."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from t2ibench.leaderboard.table import Cell, Entry, borda, cell_of, rank_intervals
from t2ibench.methods import METHODS
from t2ibench.reports.csv import cell as csv_cell
from t2ibench.reports.writers import Table, render
from t2ibench.store.files import write_text
from t2ibench.store.images import image_key
from t2ibench.store.jsonl import read_rows
from t2ibench.tasks.index import build_index
from t2ibench.version import __version__

_STATIC = Path(__file__).parent / "static"


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
    # A page that is opened from disk may run scripts, and may not fetch.
    safe = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    write_text(output / "data.js", f"window.T2IBENCH = {safe};\n")
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
    names = family_names(entries)
    ranks = {
        name: rank_intervals([entry.families.get(name) for entry in entries]) for name in names
    }
    return {
        "t2ibench": __version__,
        "families": {name: METHODS.get(name).title for name in names},
        "tasks": _tasks(entries),
        "models": [_model(entry, k, names, ranks) for k, entry in enumerate(entries)],
        "borda": borda(entries),
    }


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
    entry: Entry, index: int, names: Sequence[str], ranks: Mapping[str, Sequence[Any]]
) -> dict[str, Any]:
    manifest, results = entry.manifest, entry.results
    return {
        "id": entry.id,
        "name": manifest.name,
        "level": entry.level,
        "notes": entry.notes,
        "families": {
            name: [*_numbers(entry.families[name]), entry.families[name].of, ranks[name][index]]
            for name in names
            if name in entry.families
        },
        "tasks": {
            name: [
                *_numbers(cell_of(task)),
                _rounded(task.headline.p_holm),
                sum(task.excluded.values()),
                task.headline.reason or task.reason,
            ]
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


def _numbers(cell: Cell) -> list[Any]:
    return [
        _rounded(cell.value),
        _rounded(cell.low),
        _rounded(cell.high),
        _rounded(cell.null),
        cell.n,
    ]


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
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(
        [
            *("model", "verified", "family", "task", "headline", "ci_low", "ci_high"),
            *("null", "p_holm", "images", "excluded"),
        ]
    )
    for entry in entries:
        for name, task in entry.results.tasks.items():
            head = task.headline
            writer.writerow(
                [
                    *(csv_cell(entry.manifest.name), entry.level, task.family, csv_cell(name)),
                    *(head.value, head.ci_low, head.ci_high, head.null, head.p_holm),
                    *(task.n_images, sum(task.excluded.values())),
                ]
            )
    return out.getvalue()


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
    rows = [
        [entry.manifest.name, entry.level, *(_text(entry.families.get(name)) for name in names)]
        for entry in entries
    ]
    headers = ["Model", "Verified", *(METHODS.get(name).title for name in names)]
    return render(form, Table(headers, rows))


def _text(cell: Cell | None) -> str:
    if cell is None or cell.value is None:
        return "not run"
    interval = f" [{cell.low:.2f}, {cell.high:.2f}]" if cell.low is not None else ""
    part = f" ({cell.n} of {cell.of} tasks)" if cell.n != cell.of else ""
    none = f", null {cell.null:.2f}" if cell.null is not None else ""
    return f"{cell.value:.2f}{interval}{none}{part}"
