"""`t2ibench ls runs`: list the runs under a folder."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.errors import T2IBenchError, visible

if TYPE_CHECKING:
    from t2ibench.results.run_list import ListedRun

Row = dict[str, Any]
_WIDTH = 100  # columns of the table at most
# The largest widths of folders and models.
_FOLDER = 34
_MODEL = 12
_HEADS = ("folder", "model", "tasks", "images", "date", "state", "tests")
_FINISHED = "finished"
_UNKNOWN = "–"


def run_rows(folders: Sequence[str]) -> list[Row]:
    """Return a row for each run in some folders, the default output folder if there are none.

    Raises:
        T2IBenchError: a folder does not exist.
    """
    from t2ibench.results.run_list import listed_runs
    from t2ibench.settings import RunSettings

    given = [Path(folder) for folder in folders]
    default = Path(RunSettings().output_dir)
    if not given and not default.is_dir():
        raise T2IBenchError(
            f"There is no folder '{default}' here.",
            "Give the folder of your runs: `t2ibench ls runs FOLDER`.",
        )
    return [_row(run) for run in listed_runs(given or [default])]


def _row(run: ListedRun) -> Row:
    row: Row = {
        "folder": str(run.folder),
        "name": run.name,
        "model": run.model,
        "tasks": run.tasks,
        "images": run.images,
        "state": run.status,
        "date": run.date,
        "readable": not run.problem,
    }
    return row | _counts(run)


def _counts(run: ListedRun) -> Row:
    """Return how many tests are in each state, as the run's report counts them.

    Where a run has only tests of texts, those are counted.
    """
    from t2ibench.reports.view import run_view
    from t2ibench.results.states import STATES

    states = [state for state in STATES if state != "no_score"]
    if run.results is None:
        return {str(state): None for state in states}
    view = run_view(run.results)
    if view.tests or not view.texts:
        return {str(state): count for state, count in view.shown_counts().items()}
    states_of_texts = [task.mark.state for task in view.texts]
    counts = {state: states_of_texts.count(state) for state in states}
    counts["cannot_tell"] += states_of_texts.count("no_score")
    return {str(state): count for state, count in counts.items()}


def print_runs(rows: Sequence[Row]) -> None:
    """Print runs as a table of at most a hundred columns, one a line.

    What a partial run lacks is on a line below it; of a broken one the line says why.
    """
    from t2ibench.reports.run_names import without_middles

    if not rows:
        print("No runs.")
        return
    width = min(_WIDTH, shutil.get_terminal_size((_WIDTH, 24)).columns)
    parent = _common_parent([row["folder"] for row in rows])
    if parent:
        print(f"Runs in {visible(parent)}:\n")
    folders = [
        str(Path(row["folder"]).relative_to(parent)) if parent else row["folder"]
        for row in rows
    ]
    names = without_middles([visible(folder) for folder in folders], _FOLDER)
    cells = [_cells(name, row) for name, row in zip(names, rows, strict=True)]
    widths = [max(map(len, column)) for column in zip(_HEADS, *cells, strict=True)]
    print(_line(_HEADS, widths))
    print(_line(["-" * size for size in widths], widths))
    for name, row, texts in zip(names, rows, cells, strict=True):
        state = visible(row["state"])
        if not row["readable"]:
            print(_fitted(f"{name:{widths[0]}}  {state}", width))
            continue
        print(_line(texts, widths))
        if state != _FINISHED:
            print(_fitted(f"  {state}", width))
    print(f"\nTests: {_signs()}.")


def _common_parent(folders: Sequence[str]) -> str:
    """Return the folder that all of several runs are below; empty if there is none."""
    parents = [Path(folder).parent for folder in folders]
    if len(folders) < 2:
        return ""
    common = parents[0]
    while not all(parent.is_relative_to(common) for parent in parents):
        common = common.parent
        if common == common.parent:
            return ""
    return "" if str(common) in {".", "/"} else str(common)


def _cells(name: str, row: Row) -> list[str]:
    """Return the cells of a run, in the order of `_HEADS`; what is not known is a dash."""
    from t2ibench.reports.run_names import without_middles
    from t2ibench.results.states import STATES

    if not row["readable"]:
        return [name, *[""] * (len(_HEADS) - 1)]
    counts = [
        f"{display.sign}{row[state]}"
        for state, display in STATES.items()
        if row.get(state)
    ]
    images = row["images"]
    (model,) = without_middles([visible(row["model"] or _UNKNOWN)], _MODEL)
    return [
        name,
        model,
        _UNKNOWN if row["tasks"] is None else str(row["tasks"]),
        _UNKNOWN if images is None else f"{images:,}",
        row["date"] or _UNKNOWN,
        _FINISHED if row["state"] == _FINISHED else "partial",
        " ".join(counts) or _UNKNOWN,
    ]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return cells as a line of columns, numbers at the right of theirs."""
    texts = [
        f"{cell:>{width}}" if head in {"tasks", "images"} else f"{cell:{width}}"
        for head, cell, width in zip(_HEADS, cells, widths, strict=True)
    ]
    return "  ".join(texts).rstrip()


def _fitted(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _signs() -> str:
    """Return what the signs of states mean."""
    from t2ibench.results.states import STATES

    return ", ".join(
        f"{display.sign} {display.word}"
        for state, display in STATES.items()
        if state != "no_score"
    )
