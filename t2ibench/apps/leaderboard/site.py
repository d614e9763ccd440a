"""Writer of the leaderboard's static site: HTML pages that need no server, and their data."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from t2ibench.apps.leaderboard import downloads
from t2ibench.apps.leaderboard.board import Board
from t2ibench.apps.leaderboard.names import visible
from t2ibench.apps.leaderboard.pages import Pages
from t2ibench.apps.leaderboard.table import Entry, strata
from t2ibench.apps.leaderboard.views import models
from t2ibench.reports.html.templating import style
from t2ibench.results.comparison import compare
from t2ibench.results.score_difference import Difference
from t2ibench.store.files import write_text

_STATIC = Path(__file__).parent / "static"
# Models of which every two are compared beforehand, image by image; time grows with the square.
PAIRED_MODELS = 40


def build(board: Board, output: Path, date: str | None = None) -> dict[str, Any]:
    """Write the leaderboard's pages and data into a folder, and return the data."""
    measured = strata(board.entries)
    shown = models(measured)
    data = downloads.data(shown, measured, board.refused)
    data["paired"] = len(shown) <= PAIRED_MODELS
    output.mkdir(parents=True, exist_ok=True)
    _remove_pages(output)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    write_text(output / "data.json", text)
    write_text(output / "data.js", f"window.T2IBENCH = {_safe(text)};\n")
    if data["paired"]:
        for stratum in measured:
            _write_pairs(stratum.entries, output / "pairs")
    write_text(output / "leaderboard.csv", downloads.results_csv(board.entries))
    layout = (_STATIC / "site.css").read_text(encoding="utf-8")
    write_text(output / "style.css", f"{style()}\n{layout}")
    for path in sorted(_STATIC.glob("*.js")):
        shutil.copyfile(path, output / path.name)
    _write_pictures(board.entries, output / "pictures")
    for name, html in Pages(board.refused, measured, shown, date).all():
        write_text(output / name, html)
    return data


def _remove_pages(output: Path) -> None:
    """Delete the pages that an earlier build wrote, since their models may be rejected now."""
    for pattern in ("pairs/*.js", "pictures/*/*.jpg", "model/*", "task/*.html"):
        for page in output.glob(pattern):
            page.unlink()


def _write_pictures(entries: Sequence[Entry], target: Path) -> None:
    """Write the pictures that were encoded when the submissions were verified."""
    for entry in entries:
        for picture in entry.verdict.pictures:
            path = target / entry.id / f"{picture.sha256}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture.data)


def _write_pairs(entries: Sequence[Entry], target: Path) -> None:
    """Write for each model a script with its differences from every model that follows it."""
    for number, first in enumerate(entries):
        rows = {
            second.id: _differences(first, second) for second in entries[number + 1 :]
        }
        content = json.dumps(
            [first.id, rows], ensure_ascii=False, separators=(",", ":")
        )
        script = f"window.T2IBENCH_PAIR({_safe(content)});\n"
        write_text(target / f"{first.id}.js", script)


def _differences(first: Entry, second: Entry) -> list[dict[str, Any]]:
    """Return a record of the difference between two models' headlines, for each test."""
    differences = compare(
        first.results,
        second.results,
        first.verdict.paired,
        second.verdict.paired,
        rows=False,
    )
    names = {
        "in the first run": f"for {visible(first.manifest.name)}",
        "in the second run": f"for {visible(second.manifest.name)}",
    }
    return [_record(difference, names) for difference in differences]


def _record(difference: Difference, names: dict[str, str]) -> dict[str, Any]:
    """Return two models' difference in a test as a record, with the models' names in its notes."""
    notes = "; ".join(difference.notes)
    for run, model in names.items():
        notes = notes.replace(run, model)
    return {
        "task": difference.task,
        "value": downloads.rounded(difference.value),
        "low": downloads.rounded(difference.low),
        "high": downloads.rounded(difference.high),
        "verdict": difference.verdict,
        "notes": notes,
    }


def _safe(text: str) -> str:
    """Return JSON text that can stand inside a script of an HTML page."""
    return (
        text.replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
