"""Reading of the results.json in a run folder."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from t2ibench.errors import T2IBenchError
from t2ibench.results.migration import OLDEST, migrate
from t2ibench.results.schema import SCHEMA_VERSION, Results
from t2ibench.store.checksums import unsealed
from t2ibench.store.file_errors import read_data

_LARGEST = 256 * 2**20  # bytes


class BrokenResultsError(T2IBenchError):
    """Raised if results.json is not JSON, violates its schema, or does not match its checksum."""


def read_results(path: str | Path) -> Results:
    """Return the content of results.json, given its path or that of the run folder.

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
        data = json.loads(
            read_data(file, _LARGEST, "Give the folder of a finished run.").decode()
        )
    except UnicodeDecodeError:
        raise _broken(file, "it is not UTF-8 text") from None
    except (ValueError, RecursionError):
        raise _broken(file, "it is not JSON") from None
    if not isinstance(data, dict) or type(data.get("schema")) is not int:
        raise _broken(file, "it names no schema")
    if not unsealed(data):
        raise BrokenResultsError(
            f"{file} is damaged: its content does not match its checksum.",
            f"`t2ibench score {file.parent}` writes it again.",
        )
    if not OLDEST <= data["schema"] <= SCHEMA_VERSION:
        newer = data["schema"] > SCHEMA_VERSION
        raise T2IBenchError(
            f"{file} is of schema {data['schema']}; this t2ibench reads {OLDEST} to "
            f"{SCHEMA_VERSION}.",
            "Upgrade t2ibench." if newer else "Run its command again.",
        )
    migrate(data)
    try:
        return Results.model_validate(data).in_folder(file.parent)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _broken(file, f"{where}: {first['msg']}") from None


def _broken(file: Path, why: str) -> BrokenResultsError:
    return BrokenResultsError(
        f"{file} is not a results file of schema {SCHEMA_VERSION}: {why}.",
        "`t2ibench score RUN` rebuilds it from the stored evidence.",
    )
