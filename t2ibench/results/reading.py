"""Reading results.json: its checksum, its schema, and files of older schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from t2ibench.errors import T2IBenchError
from t2ibench.results.schema import SCHEMA_VERSION, Results
from t2ibench.store.checks import unsealed


class BrokenResultsError(T2IBenchError):
    """results.json exists but is damaged: not JSON, not of its schema, or changed since."""


def read_results(path: str | Path) -> Results:
    """Read and check a results.json, or the one in a run folder.

    Args:
        path: The file, or a folder that holds one.

    Returns:
        The results; files of older schemas are migrated, those without a checksum are read.

    Raises:
        BrokenResultsError: it does not fit its schema or its checksum.
        T2IBenchError: it does not exist, or a newer t2ibench wrote it.
    """
    path = Path(path)
    file = path / "results.json" if path.is_dir() else path
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise T2IBenchError(
            f"{file} cannot be read: {error.strerror}.", "Give the folder of a finished run."
        ) from None
    except UnicodeDecodeError:
        raise _broken(file, "it is not UTF-8 text") from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise _broken(file, "it is not JSON") from None
    if not isinstance(data, dict) or type(data.get("schema")) is not int:
        raise _broken(file, "it names no schema")
    if not unsealed(data):
        raise BrokenResultsError(
            f"{file} is damaged: its content does not match its checksum.",
            f"`t2ibench score {file.parent}` writes it anew.",
        )
    if not 1 <= data["schema"] <= SCHEMA_VERSION:
        raise T2IBenchError(
            f"{file} is of schema {data['schema']}; this t2ibench reads 1 to {SCHEMA_VERSION}.",
            "Upgrade t2ibench.",
        )
    _migrate(data)
    try:
        return Results.model_validate(data).in_folder(file.parent)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _broken(file, f"{where}: {first['msg']}") from None


def _migrate(data: dict[str, Any]) -> None:
    """Bring a file of schema 1 up to date: what it lacks may be absent, what it had more goes."""
    data["schema"] = SCHEMA_VERSION
    tasks = data.get("tasks")
    for task in tasks.values() if isinstance(tasks, dict) else ():
        if not isinstance(task, dict):
            continue
        encoders = task.get("by_encoder")
        parts = [task, *(encoders.values() if isinstance(encoders, dict) else ())]
        for part in parts:
            headline = part.get("headline") if isinstance(part, dict) else None
            if isinstance(headline, dict):
                headline.pop("null", None)
                headline.pop("debiased", None)


def _broken(file: Path, why: str) -> BrokenResultsError:
    return BrokenResultsError(
        f"{file} is not a results file of schema {SCHEMA_VERSION}: {why}.",
        "`t2ibench score RUN` rebuilds it from the stored evidence.",
    )
