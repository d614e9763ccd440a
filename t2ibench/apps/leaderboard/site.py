"""Writer of the leaderboard's static site: HTML pages that need no server, and their data."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from t2ibench.apps.leaderboard import compared, downloads
from t2ibench.apps.leaderboard.board import Board
from t2ibench.apps.leaderboard.pages import Pages
from t2ibench.apps.leaderboard.pictures import file_on_site
from t2ibench.apps.leaderboard.table import Entry, Stratum, strata
from t2ibench.apps.leaderboard.views import Model, models
from t2ibench.reports.html.templating import style
from t2ibench.store.file_errors import disk_errors
from t2ibench.store.files import write_bytes, write_text
from t2ibench.store.user_paths import matching
from t2ibench.store.working_folders import working_folder

_STATIC = Path(__file__).parent / "static"
# Models of which every two are compared beforehand, image by image; time grows with the square.
PAIRED_MODELS = 40


# Names the files of a site, one a line, so that the next build knows which it may remove.
_LIST = "files.txt"
# What the script of a site's data begins with.
_DATA = "window.T2IBENCH = "
# Where pages of models and tests are, which may be refused or gone by the next build.
_PAGES = (
    "pairs/*.js",
    "answers/*.js",
    "pictures/*/*.jpg",
    "model/*.html",
    "task/*.html",
)


def build(board: Board, output: Path, date: str | None = None) -> dict[str, Any]:
    """Write the leaderboard's pages and data into a folder, and return the data.

    The whole site is written beside the earlier one before any file of that is replaced, so that
    a full disk costs nothing.
    """
    measured = strata(board.entries)
    shown = models(measured)
    data = downloads.data(shown, measured, board.refused)
    data["paired"] = len(shown) <= PAIRED_MODELS
    with disk_errors(output):
        output.mkdir(parents=True, exist_ok=True)
        with working_folder(output) as built:
            _write_data(data, measured, shown, built)
            write_text(built / "leaderboard.csv", downloads.results_csv(board.entries))
            _write_pictures(board.entries, built)
            for name, html in Pages(board.refused, measured, shown, date).all():
                write_text(built / name, html)
            _put_in_place(built, output)
    return data


def _write_data(
    data: dict[str, Any],
    measured: Sequence[Stratum],
    shown: Sequence[Model],
    output: Path,
) -> None:
    """Write the scripts and style sheets of a site, and the data that they show."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    write_text(output / "data.json", text)
    write_text(output / "data.js", f"{_DATA}{compared.safe(text)};\n")
    if data["paired"]:
        for stratum in measured:
            compared.write_pairs(stratum.entries, output / "pairs")
    compared.write_answers(shown, output / "answers")
    layout = (_STATIC / "site.css").read_text(encoding="utf-8")
    write_text(output / "style.css", f"{style()}\n{layout}")
    for path in sorted(_STATIC.glob("*.js")):
        write_bytes(output / path.name, path.read_bytes())


def _put_in_place(built: Path, output: Path) -> None:
    """Move a built site's files into a folder, and remove pages that only the earlier one had."""
    files = [path for path in sorted(built.rglob("*")) if path.is_file()]
    names = [path.relative_to(built).as_posix() for path in files]
    earlier = _earlier_pages(output)
    # Until the end, pages of both builds are listed: this one may be interrupted.
    _write_list(output, {*names, *earlier})
    for name in names:
        _move(built / name, output / name)
    for name in earlier - set(names):
        (output / name).unlink(missing_ok=True)
    _write_list(output, names)


def _write_list(output: Path, names: Iterable[str]) -> None:
    """Write which files of a folder are those of its site."""
    write_text(output / _LIST, "\n".join([*sorted(names), _LIST]) + "\n")


def _move(source: Path, target: Path) -> None:
    """Move a file, also where a folder of the site is a link to another disk."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        source.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        write_bytes(target, source.read_bytes())


def _earlier_pages(output: Path) -> set[str]:
    """Return the pages of models and tests that an earlier build wrote into a folder.

    A folder may hold files of other people beside a site, such as a model's weights; none of them
    is named by the site's list. Sites of builds that wrote no list are recognised by their data;
    where the list cannot be read, nothing counts as a page.
    """
    pages = {
        path.relative_to(output).as_posix()
        for pattern in _PAGES
        for path in matching(output, pattern)
    }
    try:
        listed = (output / _LIST).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        if not isinstance(error, FileNotFoundError):
            return set()
        return pages if _is_old_site(output) else set()
    return pages & set(listed)


def _is_old_site(output: Path) -> bool:
    """Return whether a folder holds the data of a site, by how they begin."""
    try:
        with (output / "data.js").open("rb") as file:
            is_data = file.read(len(_DATA)) == _DATA.encode()
    except OSError:
        return False
    return is_data and (output / "data.json").is_file()


def _write_pictures(entries: Sequence[Entry], output: Path) -> None:
    """Write the pictures that were encoded when the submissions were verified."""
    for entry in entries:
        for picture in entry.verdict.pictures:
            write_bytes(output / file_on_site(entry.id, picture.sha256), picture.data)
