"""Writer of the leaderboard's static site: HTML pages that need no server, and their data."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from t2ibench.apps.leaderboard import compared, downloads
from t2ibench.apps.leaderboard.board import Board
from t2ibench.apps.leaderboard.pages import Pages
from t2ibench.apps.leaderboard.pictures import file_on_site
from t2ibench.apps.leaderboard.table import Entry, strata
from t2ibench.apps.leaderboard.views import models
from t2ibench.reports.html.templating import style
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
    write_text(output / "data.js", f"window.T2IBENCH = {compared.safe(text)};\n")
    if data["paired"]:
        for stratum in measured:
            compared.write_pairs(stratum.entries, output / "pairs")
    compared.write_answers(shown, output / "answers")
    write_text(output / "leaderboard.csv", downloads.results_csv(board.entries))
    layout = (_STATIC / "site.css").read_text(encoding="utf-8")
    write_text(output / "style.css", f"{style()}\n{layout}")
    for path in sorted(_STATIC.glob("*.js")):
        shutil.copyfile(path, output / path.name)
    _write_pictures(board.entries, output)
    for name, html in Pages(board.refused, measured, shown, date).all():
        write_text(output / name, html)
    return data


def _remove_pages(output: Path) -> None:
    """Delete the pages that an earlier build wrote, since their models may be rejected now."""
    for pattern in (
        "pairs/*.js",
        "answers/*.js",
        "pictures/*/*.jpg",
        "model/*",
        "task/*.html",
    ):
        for page in output.glob(pattern):
            page.unlink()


def _write_pictures(entries: Sequence[Entry], output: Path) -> None:
    """Write the pictures that were encoded when the submissions were verified."""
    for entry in entries:
        for picture in entry.verdict.pictures:
            path = output / file_on_site(entry.id, picture.sha256)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture.data)
