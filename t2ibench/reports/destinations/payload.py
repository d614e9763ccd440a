"""What is sent to a destination of a run, and the sending, with errors as one line."""

from __future__ import annotations

import contextlib
import io
import logging
import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.errors import T2IBenchError, failing, visible
from t2ibench.reports.files import PAGE
from t2ibench.results.display import TASKS, task_rows
from t2ibench.results.schema import Results
from t2ibench.settings import Measurement
from t2ibench.store.files import UNWRITABLE

if TYPE_CHECKING:
    from t2ibench.reports.destinations import Chosen

_FILES = (PAGE, "results.json", "results.md")
PROJECT = "t2ibench"
# What a metric is called, and its column in the table.
_METRICS = {
    "headline": "value",
    "ci_low": "ci_low",
    "ci_high": "ci_high",
    "p": "p",
    "p_holm": "p_holm",
    "fair_low": "fair_low",
    "fair_high": "fair_high",
    "n_images": "n_images",
}


@dataclass(frozen=True, slots=True)
class Payload:
    """All data of a run that a destination receives.

    Attributes:
        name: Of the run: its folder's name.
        results: What results.json holds.
        config: The model, its settings and versions; text, numbers, lists and mappings.
        metrics: 'TASK/headline' and what belongs to it: the ends of its interval ('/ci_low',
            '/ci_high'), its p-values ('/p', '/p_holm'), a fair model's band ('/fair_low',
            '/fair_high') and how many images count ('/n_images'). Tests that decide nothing are
            in the table only.
        columns: Heads of the table.
        rows: One row a task; None where there is no value.
        folder: The run folder.
    """

    name: str
    results: Results
    config: dict[str, Any]
    metrics: dict[str, float]
    columns: list[str]
    rows: list[list[Any]]
    folder: Path

    def files(self) -> list[Path]:
        """Return the paths of those of report.html, results.json and results.md that exist."""
        return [self.folder / name for name in _FILES if (self.folder / name).is_file()]


def payload_of(results: Results, folder: Path) -> Payload:
    """Return the data of a run that is sent to destinations."""
    columns = ["task", *TASKS]
    rows = task_rows(results)
    return Payload(
        name=folder.resolve().name,
        results=results,
        config=_writable(_config(results)),
        metrics=_metrics(results, columns, rows),
        columns=columns,
        rows=_writable(rows),
        folder=folder,
    )


def _writable(value: Any) -> Any:
    """Return plain data in which half surrogate pairs, which no library sends, are escaped."""
    if isinstance(value, str):
        return value.encode(errors=UNWRITABLE).decode()
    if isinstance(value, list):
        return [_writable(entry) for entry in value]
    if isinstance(value, dict):
        return {_writable(key): _writable(entry) for key, entry in value.items()}
    return value


def _config(results: Results) -> dict[str, Any]:
    """Return a run's settings for a tracker: model, measurement, versions and command."""
    model = results.model.model_dump(exclude={"other_libraries"}, exclude_none=True)
    settings = [task.settings for task in results.tasks.values()]
    encoders: dict[str, str] = {}
    judges: dict[str, str] = {}
    for used in settings:
        encoders |= used.encoders
        judges |= used.judges
    measurement = {
        name: _common([getattr(used, name) for used in settings])
        for name in Measurement.model_fields
    }
    task_versions = {name: task.version for name, task in results.tasks.items()}
    return {
        "model": {key: value for key, value in model.items() if value != {}},
        "measurement": measurement,
        "encoders": encoders,
        "judges": judges,
        "tasks": task_versions,
        "versions": {"t2ibench": results.t2ibench, **results.environment},
        "command": shlex.join(results.command),
        "limited": results.limited,
    }


def _common(values: list[Any]) -> Any:
    """Return the one value that all tasks share, or else a list of the distinct values."""
    different = list(dict.fromkeys(values))
    return different[0] if len(different) == 1 else different


def _metrics(
    results: Results, columns: list[str], rows: list[list[Any]]
) -> dict[str, float]:
    """Return the numbers of each conclusive test, under keys such as 'TASK/headline'."""
    metrics: dict[str, float] = {}
    for row in rows:
        record = dict(zip(columns, row, strict=True))
        name = record["task"]
        if record["value"] is None or results.tasks[name].inconclusive:
            continue
        for key, column in _METRICS.items():
            value = record[column]
            if value is not None and math.isfinite(value):
                metrics[f"{name}/{key}"] = float(value)
    return metrics


def send(chosen: Chosen, sent: Payload) -> str:
    """Send a run to one destination, and return a line that says where it is."""
    with failing(f"{chosen.name}: sending the results failed with"), _quiet():
        where = chosen.destination.send(sent, chosen.args)
    return visible(f"{chosen.name}: {where}")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Context in which libraries print nothing; errors are raised as usual."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            yield
    finally:
        logging.disable(before)


def send_all(
    chosen: list[Chosen], results: Results, folder: Path
) -> tuple[list[str], list[T2IBenchError]]:
    """Send a run to all destinations; return where it is found, and an error for each failure."""
    lines = []
    failures = []
    sent = payload_of(results, folder) if chosen else None
    for destination in chosen:
        assert sent is not None
        try:
            lines.append(send(destination, sent))
        except T2IBenchError as error:
            command = destination.command(folder)
            remedy = f"The run is kept; `{command}` sends it again."
            hint = f"{error.hint} {remedy}" if error.hint else remedy
            failure = T2IBenchError(f"{error.message.rstrip('. ')}.", hint)
            failures.append(failure.with_traceback(error.__traceback__))
    return lines, failures
