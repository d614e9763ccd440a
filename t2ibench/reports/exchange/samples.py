"""Samples of a run, the data of each image behind its scores, as Parquet: a file a task."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, shown, shown_path
from t2ibench.results.display import run_name
from t2ibench.results.run import is_run
from t2ibench.results.samples import read_samples
from t2ibench.results.schema import Results
from t2ibench.store.database import NAME
from t2ibench.store.file_errors import disk_errors
from t2ibench.store.files import UNWRITABLE, write_bytes

_FILE_NAME = re.compile(r"\w[\w-]{0,99}")
Sample = Mapping[str, Any]


def export_samples(
    results: Results, folder: Path, target: Path
) -> dict[str, tuple[Path, int]]:
    """Write the samples of a run's tasks into a new folder.

    Args:
        results: The run.
        folder: Its folder, whose run.db has the samples.
        target: A folder that does not exist or is empty.

    Returns:
        By task, its file and how many samples that has; tasks without samples have none.

    Raises:
        T2IBenchError: there is no run or it has no samples, a task's name is no name of a file,
            or the folder is not empty.
    """
    if not is_run(folder):
        raise T2IBenchError(
            f"{shown_path(folder)} holds no samples: it has no {NAME}.",
            "Give a folder that `t2ibench run` made, such as runs/toyland.",
        )
    for name in results.tasks:
        # Of a run that somebody else made: a path would lead out of the folder.
        if not _FILE_NAME.fullmatch(name):
            raise T2IBenchError(f"'{shown(name)}' is no name of a task.")
    samples = {name: read_samples(folder, name) for name in results.tasks}
    if not any(samples.values()):
        raise T2IBenchError(
            f"{shown_path(folder)} holds no samples.",
            "Tests on texts have none; `t2ibench score RUN` writes those of images from the "
            "stored evidence.",
        )
    about = {"run": run_name(results), "model": results.model.name}
    part = target.with_name(f".{target.name[:60]}.part")
    written = {}
    with disk_errors(target):
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise T2IBenchError(
                f"{shown_path(target)} is there already.", "Name a new folder."
            )
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        try:
            for name, rows in samples.items():
                if rows:
                    content = parquet([{"task": name, **about, **row} for row in rows])
                    write_bytes(part / f"{name}.parquet", content, durable=False)
                    written[name] = (target / f"{name}.parquet", len(rows))
            with suppress(OSError):  # there is none
                target.rmdir()
            part.replace(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return written


def parquet(rows: Sequence[Sample]) -> bytes:
    """Return rows as a Parquet file; a column of more than one kind of value is JSON text."""
    import pyarrow
    import pyarrow.parquet

    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: _column([row.get(name) for row in rows]) for name in names}
    buffer = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(columns), buffer)
    return bytes(buffer.getvalue())


def _column(values: Sequence[Any]) -> Any:
    """Return values as a column of one type."""
    import pyarrow

    # Of lists and records, which differ from image to image, JSON is the one type.
    plain = not any(isinstance(value, dict | list) for value in values)
    if plain:
        unmixed = (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError)
        with suppress(*unmixed):
            return pyarrow.array(list(map(_writable, values)))
    texts = [None if value is None else json.dumps(value) for value in values]
    return pyarrow.array(texts, pyarrow.string())


def _writable(value: Any) -> Any:
    """Return a value in whose text half a surrogate pair, which is no UTF-8, is escaped."""
    if isinstance(value, str):
        return value.encode(errors=UNWRITABLE).decode()
    return value
