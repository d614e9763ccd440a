"""The static site: one page and its data, without a server and without files from other sites."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from t2ibench.leaderboard.board import Board
from t2ibench.leaderboard.exports import (
    bibtex,
    family_names,
    family_record,
    ran_as,
    results_csv,
    rounded,
)
from t2ibench.leaderboard.names import visible
from t2ibench.leaderboard.ranks import Rank
from t2ibench.leaderboard.table import Entry, asked_images, borda, family_ranks, fewer_images
from t2ibench.leaderboard.thumbs import SIZE
from t2ibench.leaderboard.verdicts import LEVELS
from t2ibench.methods import METHODS
from t2ibench.reports.cells import headline
from t2ibench.results.compare import Difference, compare
from t2ibench.results.display import displayed, text_only
from t2ibench.results.paired import read_paired_run
from t2ibench.results.schema import TaskResult
from t2ibench.store.files import write_bytes, write_text
from t2ibench.store.images import image_key
from t2ibench.store.jsonl import read_rows
from t2ibench.store.pixels import UnreadableImageError, thumbnail
from t2ibench.tasks.index import build_index
from t2ibench.version import __version__

_STATIC = Path(__file__).parent / "static"
# Models of which every two are compared beforehand, image by image; time grows with the square.
PAIRED_MODELS = 40
# Levels at which images were generated again, and what that has compared; everything else is the
# submitter's word, unless the verdict no longer lists it as such.
_DRAWN_LEVELS = ("reproduced", "partly reproduced")
_DRAWN = ("model", "arguments", "fingerprint")
_OF_THE_MODEL = ("revision", "settings", "effective_settings")
_DEEPEST = 8  # of values that a submission states


def build(board: Board, output: Path) -> dict[str, Any]:
    """Write the site.

    Args:
        board: The models, and what is left out.
        output: Its folder; files of an earlier site are replaced.

    Returns:
        What data.json holds.
    """
    data = site_data(board)
    output.mkdir(parents=True, exist_ok=True)
    for path in sorted(_STATIC.iterdir()):
        shutil.copyfile(path, output / path.name)
    # A model of an earlier site may have been refused since.
    for old in [*output.glob("pairs/*.js"), *output.glob("thumbs/*/*.jpg")]:
        old.unlink()
    verified = [entry for entry in board.entries if entry.verified]
    for entry in verified:
        for path in sorted((entry.folder / "thumbs").glob("*.jpg")):
            _copy_picture(path, output / "thumbs" / entry.id / path.name)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    write_text(output / "data.json", text)
    write_text(output / "data.js", f"window.T2IBENCH = {_safe(text)};\n")
    if len(board.entries) <= PAIRED_MODELS:
        _write_pairs(verified, output / "pairs")
    write_text(output / "leaderboard.csv", results_csv(board.entries))
    write_text(output / "leaderboard.bib", bibtex(data))
    return data


def _copy_picture(path: Path, to: Path) -> None:
    """Pixels alone are copied: a JPEG may carry anything behind them."""
    try:
        write_bytes(to, thumbnail(path, SIZE, 90))
    except UnreadableImageError:
        return


def site_data(board: Board) -> dict[str, Any]:
    """Everything the page shows.

    Args:
        board: The submissions.

    Returns:
        JSON values: families, tasks, levels, models, what is left out, and Borda scores.
    """
    entries = board.entries
    names, asked = family_names(entries), asked_images()
    places = {name: family_ranks(entries, name) for name in names}
    return {
        "t2ibench": __version__,
        "levels": LEVELS,
        "families": {name: METHODS.get(name).title for name in names},
        "tasks": _tasks(entries),
        "models": [
            _model(entry, {name: places[name][k] for name in names}, asked)
            for k, entry in enumerate(entries)
        ],
        "refused": [{"id": one.id, "problem": one.problem} for one in board.refused],
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
        "value": rounded(one.value),
        "low": rounded(one.low),
        "high": rounded(one.high),
        "p": rounded(one.p_holm),
        "verdict": one.verdict,
        "notes": "; ".join(one.notes),
    }


def _safe(text: str) -> str:
    """JSON inside a script: a page that is opened from disk may run scripts, and may not fetch."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _model(
    entry: Entry, places: Mapping[str, Rank | None], asked: Mapping[str, int]
) -> dict[str, Any]:
    tasks = entry.results.tasks
    return {
        "id": entry.id,
        "name": visible(entry.manifest.name),
        "ran": ran_as(entry),
        "drawn": entry.level in _DRAWN_LEVELS,
        "level": entry.level,
        "verified": entry.verified,
        "departures": entry.departures,
        "notes": entry.notes,
        "unchecked": entry.stated,
        "families": {
            name: family_record(entry, name, rank)
            for name, rank in places.items()
            if name in entry.families
        },
        "tasks": {
            name: _task(task, fewer_images(task, asked.get(name))) for name, task in tasks.items()
        },
        "pictures": _pictures(entry) if entry.verified else {},
        **_provenance(entry),
    }


def _provenance(entry: Entry) -> dict[str, Any]:
    """What a submission says of its origin: what was compared, and what is only stated."""
    manifest, results = entry.manifest, entry.results
    told = {
        "model": manifest.model,
        "arguments": manifest.model_args,
        "fingerprint": manifest.fingerprint,
        "revision": manifest.revision,
        "settings": results.model.settings,
        "effective_settings": results.model.effective_settings,
        "encoders": manifest.encoders,
        "judges": manifest.judges,
        "t2ibench": manifest.t2ibench,
        "environment": results.environment,
        "command": results.command,
    }
    shown = {name: _plain(value) for name, value in told.items()}
    checked: set[str] = set()
    if entry.level in _DRAWN_LEVELS:
        checked |= {*_DRAWN, *(_OF_THE_MODEL if entry.stated else ())} - set(entry.stated)
    if entry.level == "reproduced":
        checked |= {"encoders", *(["judges"] if entry.parts.get("answers") else [])}
    return {
        "checked": {name: value for name, value in shown.items() if name in checked},
        "stated": {name: value for name, value in shown.items() if name not in checked},
    }


def _plain(value: Any, depth: int = 0) -> Any:
    """JSON of a stranger as it is shown: finite, not deep, and no text that hides anything."""
    if isinstance(value, Mapping) and depth < _DEEPEST:
        return {visible(str(key)): _plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple) and depth < _DEEPEST:
        return [_plain(one, depth + 1) for one in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and math.isfinite(value) and abs(value) < 1e15:
        return value
    return visible(str(value))


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


def _task(task: TaskResult, fewer: str | None) -> dict[str, Any]:
    shown = displayed(task.headline)
    return {
        "text": headline(task.headline, 2),
        "value": rounded(shown.value),
        "low": rounded(shown.low),
        "high": rounded(shown.high),
        "fair": [rounded(shown.fair_low), rounded(shown.fair_high)],
        "signed": shown.signed,
        "square": rounded(task.headline.square),
        "about": task.headline.question,
        "p": rounded(task.headline.p_holm),
        "images": task.n_images,
        "excluded": sum(task.excluded.values()),
        "inconclusive": _sentence(task.inconclusive),
        "direction": _sentence(task.headline.direction),
        "reason": _sentence(task.headline.reason or task.reason),
        "fewer": fewer,
        "text_only": text_only(task),
    }


def _sentence(text: str | None) -> str | None:
    return visible(text, 1000) if text else None


def _tasks(entries: Sequence[Entry]) -> dict[str, Any]:
    """Every task of any model, with what it does and does not show, and published values."""
    registry, _ = build_index()
    described: dict[str, Any] = {}
    # Only what was verified describes a task: a submission without evidence may say anything.
    for entry in sorted(entries, key=lambda one: not one.verified):
        for name, task in entry.results.tasks.items():
            if name in described:
                continue
            shipped = registry.tasks.get(name)
            described[name] = {
                "family": task.family,
                "title": task.title if entry.verified or not shipped else shipped.spec.title,
                "version": task.version,
                "description": shipped.spec.description if shipped else "",
                "citation": shipped.spec.citation if shipped else "",
                "notes": task.notes if entry.verified else [],
                "published": task.published if entry.verified else [],
            }
    return dict(sorted(described.items()))
