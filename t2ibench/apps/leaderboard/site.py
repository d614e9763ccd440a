"""The static site: pages and their data, without a server and without files from other sites."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from t2ibench.apps.leaderboard.board import Board
from t2ibench.apps.leaderboard.exports import (
    bibtex,
    family_names,
    family_record,
    ran_as,
    results_csv,
    rounded,
)
from t2ibench.apps.leaderboard.names import visible
from t2ibench.apps.leaderboard.pages import Pages
from t2ibench.apps.leaderboard.table import Entry, Stratum, asked_images, fewer_images, strata
from t2ibench.apps.leaderboard.thumbs import SIZE
from t2ibench.apps.leaderboard.verify import LEVELS
from t2ibench.apps.leaderboard.views import Model, models, provenance
from t2ibench.methods import METHODS
from t2ibench.reports.cells import headline
from t2ibench.reports.view import TaskView, poles
from t2ibench.results.compare import Difference, compare
from t2ibench.results.display import text_only
from t2ibench.store.files import write_bytes, write_text
from t2ibench.store.images import image_key
from t2ibench.store.jsonl import read_rows
from t2ibench.store.pixels import UnreadableImageError, thumbnail
from t2ibench.tasks.index import build_index
from t2ibench.version import __version__

_STATIC = Path(__file__).parent / "static"
# Models of which every two are compared beforehand, image by image; time grows with the square.
PAIRED_MODELS = 40
_FACES = (
    ("Source Sans 3 Variable", "source-sans-3"),
    ("Source Serif 4 Variable", "source-serif-4"),
)


def build(board: Board, output: Path, date: str | None = None) -> dict[str, Any]:
    """Write the site."""
    data, found, measured = _data(board)
    output.mkdir(parents=True, exist_ok=True)
    # A model of an earlier site may have been refused since.
    for pattern in ("pairs/*.js", "thumbs/*/*.jpg", "model/*", "task/*.html"):
        for old in output.glob(pattern):
            old.unlink()
    verified = [model for model in found if model.entry.verified]
    for model in verified:
        for path in sorted((model.entry.folder / "thumbs").glob("*.jpg")):
            _copy_picture(path, output / "thumbs" / model.entry.id / path.name)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    write_text(output / "data.json", text)
    write_text(output / "data.js", f"window.T2IBENCH = {_safe(text)};\n")
    for record in data["models"]:
        page = json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False)
        write_text(output / "model" / f"{record['page']}.json", page + "\n")
    if len(board.entries) <= PAIRED_MODELS:
        for stratum in measured:
            _write_pairs([one for one in stratum.entries if one.verified], output / "pairs")
    write_text(output / "leaderboard.csv", results_csv(board.entries))
    write_text(output / "leaderboard.bib", bibtex(data))
    _write_static(output)
    for name, page in Pages(board, measured, found, data["tasks"], date).all():
        write_text(output / name, page)
    return data


def site_data(board: Board) -> dict[str, Any]:
    """Everything the pages show, as data."""
    return _data(board)[0]


def _data(board: Board) -> tuple[dict[str, Any], list[Model], list[Stratum]]:
    names = family_names(board.entries)
    measured = strata(board.entries, names)
    found = models(measured)
    for model in found:
        model.pictures = _pictures(model.entry) if model.entry.verified else {}
    asked = asked_images()
    data = {
        "t2ibench": __version__,
        "levels": LEVELS,
        "families": {name: METHODS.get(name).title for name in names},
        "tasks": _tasks([model.entry for model in found]),
        "strata": [_stratum(one) for one in measured],
        "models": [_model(model, asked) for model in found],
        "refused": [{"id": one.id, "problem": one.problem} for one in board.refused],
        "paired": len(board.entries) <= PAIRED_MODELS,
    }
    return data, found, measured


def _write_static(output: Path) -> None:
    """Scripts, the fonts, and the style: that of reports, then the site's own."""
    reports = files("t2ibench.reports") / "static"
    faces = [
        f'@font-face{{font-family:"{family}";font-weight:200 900;font-display:swap;'
        f'src:url(fonts/{name}.woff2) format("woff2")}}'
        for family, name in _FACES
    ]
    styles = [(reports / name).read_text(encoding="utf-8") for name in ("tokens.css", "report.css")]
    own = (_STATIC / "site.css").read_text(encoding="utf-8")
    write_text(output / "style.css", "\n".join([*faces, *styles, own]))
    for _, name in _FACES:
        data = (reports / "fonts" / f"{name}.woff2").read_bytes()
        write_bytes(output / "fonts" / f"{name}.woff2", data)
    for path in sorted(_STATIC.glob("*.js")):
        shutil.copyfile(path, output / path.name)


def _copy_picture(path: Path, to: Path) -> None:
    """Pixels alone are copied: a JPEG may carry anything behind them."""
    try:
        write_bytes(to, thumbnail(path, SIZE, 90))
    except UnreadableImageError:
        return


def _write_pairs(entries: Sequence[Entry], target: Path) -> None:
    """One script a model: how its headlines differ from those of the models after it."""
    for k, first in enumerate(entries):
        rows = {
            second.id: [
                _difference(one)
                for one in compare(first.results, second.results, first.paired, second.paired)
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


def _stratum(one: Stratum) -> dict[str, Any]:
    parts = ("encoder", "judge", "versions", "settings")
    return {
        "id": one.id,
        **{part: one.label(part) for part in parts},
        "models": [entry.id for entry in one.entries],
        "families": one.families,
        "borda": one.borda(),
    }


def _model(model: Model, asked: Mapping[str, int]) -> dict[str, Any]:
    entry, rank = model.entry, model.overall
    return {
        "id": entry.id,
        "page": model.page,
        "name": model.name,
        "ran": ran_as(entry),
        "drawn": model.drawn,
        "level": entry.level,
        "verified": entry.verified,
        "stratum": model.stratum.id,
        "rank": [rank.best, rank.worst, rank.among] if rank else None,
        "unranked": model.why or None,
        "card": entry.manifest.card.model_dump(),
        "departures": entry.departures,
        "notes": entry.notes,
        "unchecked": entry.stated,
        "families": {
            name: family_record(entry, name, model.stratum.ranks[entry.id].get(name))
            for name in entry.families
        },
        "tasks": {
            name: _task(view, fewer_images(view.result, asked.get(name)))
            for name, view in model.tasks.items()
        },
        "pictures": model.pictures,
        **provenance(entry),
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


def _task(view: TaskView, fewer: str | None) -> dict[str, Any]:
    task, mark, axis = view.result, view.mark, poles(view)
    return {
        "text": headline(task.headline, 2),
        "name": view.name,
        "value": rounded(mark.value),
        "low": rounded(mark.low),
        "high": rounded(mark.high),
        "fair": [rounded(mark.fair_low), rounded(mark.fair_high)],
        "state": mark.state,
        "side": mark.side,
        "poles": [axis.low, axis.high],
        "scale": view.scale,
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
            title = task.title if entry.verified or not shipped else shipped.spec.title
            described[name] = {
                "family": task.family,
                "title": visible(title),
                "version": task.version,
                "description": shipped.spec.description if shipped else "",
                "citation": shipped.spec.citation if shipped else "",
                "notes": [visible(note, 2000) for note in task.notes] if entry.verified else [],
                "published": task.published if entry.verified else [],
            }
    return dict(sorted(described.items()))
