"""The report files that every run writes beside its results.json."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.errors import T2IBenchError
from t2ibench.machine import cores
from t2ibench.methods.core.schema import BaseTask
from t2ibench.reports.markdown.document import results_markdown
from t2ibench.reports.view import RunView, run_view
from t2ibench.results.files import read_results
from t2ibench.results.run import check_still_there, open_run
from t2ibench.results.schema import Results
from t2ibench.store.files import UNWRITABLE, read_ordinary, write_text
from t2ibench.store.locks import locked
from t2ibench.tasks.index import specs_of
from t2ibench.tasks.run_tasks import stored_specs
from t2ibench.worker_pool import each_of

if TYPE_CHECKING:
    from t2ibench.reports.html.run_page import PageFigure

PAGE = "report.html"
COMPARISON = "comparison.html"
TEXT = "results.md"
SUBMISSION = "submission.json"
# A figure takes a seventh of a second, and a process that draws a second to start.
_MANY_FIGURES = 12
_MOST_PROCESSES = 4


def write_reports(results: Results, folder: Path) -> None:
    """Write results.md, report.html and the figures of a run's results into its folder.

    Another command may have replaced results.json since; then the files are about its results.
    """
    check_still_there(folder)  # before the lock, which makes the folder that it is in
    with locked(folder):
        if not _is_current(results, folder):
            with contextlib.suppress(T2IBenchError):
                results = read_results(folder)
        write_page(run_view(results, task_files(results, folder)), folder)


def _is_current(results: Results, folder: Path) -> bool:
    """Return whether the folder's results.json contains exactly these results."""
    file = folder / "results.json"
    return file.is_file() and file.read_bytes() == _file_content(results)


def _file_content(results: Results) -> bytes:
    """Return the bytes that results.json has for these results."""
    return results.to_json(checked=True).encode(errors=UNWRITABLE)


def digest(results: Results) -> str:
    """Return the SHA-256 of results.json; without the file, of what it would contain."""
    file = results.folder / "results.json" if results.folder is not None else None
    content = (
        file.read_bytes()
        if file is not None and file.is_file()
        else _file_content(results)
    )
    return hashlib.sha256(content).hexdigest()


def write_page(run: RunView, folder: Path, target: Path | None = None) -> Path:
    """Write a run's page, results.md and figures, and return the path of the page.

    With a target the page goes there, and the folder's own files stay as they are.
    """
    # Imported here: no other command needs the libraries that draw.
    from t2ibench.reports.html.run_page import run_page

    place = target or folder / PAGE
    page = run_page(run, folder, _origin(run.results, folder))
    if target is None:
        check_still_there(folder)
    write_text(place, page.html)
    if target is None:
        write_text(folder / TEXT, results_markdown(run.results, run))
        write_figures(page.figures, folder / "figures", _made(run.results, folder))
    return place


def write_figures(figures: Sequence[PageFigure], folder: Path, made: str) -> None:
    """Write the files of figures; several processes write many of them."""
    from t2ibench.reports.figures.files import write_figure

    writing = [
        partial(
            write_figure,
            drawn.figure,
            f"{drawn.figure.title}: {drawn.about}",
            folder,
            drawn.name,
            facts=f"{drawn.facts} · {made}",
        )
        for drawn in figures
    ]
    workers = min(_MOST_PROCESSES, cores())
    is_long = len(writing) >= _MANY_FIGURES
    each_of(writing, _done, workers, at_once=is_long)


def _done(work: Callable[[], object]) -> None:
    work()


def _origin(results: Results, folder: Path) -> str:
    """Return a line with the date of a run, the version of t2ibench, and the results' digest."""
    return " · ".join(
        [
            dated(folder) or "date not recorded",
            f"t2ibench {results.t2ibench}",
            f"SHA-256 of results.json {digest(results)}",
        ]
    )


def _made(results: Results, folder: Path) -> str:
    """Return the day of a run and the version of t2ibench, for the foot of a figure."""
    when = dated(folder)
    version = f"t2ibench {results.t2ibench}"
    return version if when is None else f"{_day(when)} · {version}"


def _day(when: str) -> str:
    """Return when a run was submitted or finished without the time of day."""
    return re.sub(r" \d\d:\d\d UTC$", "", when)


def dated(folder: Path) -> str | None:
    """Return when a run was submitted, or else finished; None if neither is recorded."""
    return _submitted(folder) or _finished(folder)


def _finished(folder: Path) -> str | None:
    """Return the date and time at which a run's last command ended, as text; None if unknown."""
    with contextlib.suppress(T2IBenchError, IndexError):
        finished = open_run(folder).record.history[-1].finished
        return finished.strftime("%Y-%m-%d %H:%M UTC")
    return None


def _submitted(folder: Path) -> str | None:
    """Return the date of submission that a folder states, as text; None if it states none."""
    unreadable = (OSError, ValueError, LookupError, TypeError, AttributeError)
    with contextlib.suppress(RecursionError, *unreadable):
        text = read_ordinary(folder / SUBMISSION).decode("utf-8")
        submitted = date.fromisoformat(json.loads(text)["card"]["submitted"])
        return f"submitted {submitted.isoformat()}"
    return None


def task_files(results: Results, folder: Path | None) -> dict[str, BaseTask]:
    """Return each result's task file: the run's copy, or an installed one with its hash."""
    hashes = {name: task.task_hash for name, task in results.tasks.items()}
    if folder is None:
        return specs_of(hashes, [])
    further: list[Path] = []
    # Without a run folder, the shipped tasks are enough.
    with contextlib.suppress(T2IBenchError):
        further = [Path(path) for path in open_run(folder).record.include_path]
    stored_by_hash = stored_specs(folder)
    stored_tasks = {
        name: stored_by_hash[task_hash]
        for name, task_hash in hashes.items()
        if task_hash in stored_by_hash
    }
    return specs_of(hashes, further) | stored_tasks
