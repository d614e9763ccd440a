"""Checks of a submission's database, evidence.db, which strangers wrote."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from t2ibench.apps.leaderboard.bounded_process import answer_of
from t2ibench.errors import T2IBenchError
from t2ibench.identity import content_id
from t2ibench.store.database import BrokenDatabaseError, Database
from t2ibench.store.schema import (
    TABLES,
    blob_checksum,
    declared,
    of_text,
    row_checksum,
)

NAME = "evidence.db"
_MOST_ROWS = 500_000  # of a table
# Tables of a submission; all others are of runs alone.
_TABLES = ("models", "texts", "questions", "attempts", "answers", "embeddings")
_TYPES: dict[str, tuple[type, ...]] = {
    "INTEGER": (int,),
    "TEXT": (str,),
    "BLOB": (bytes,),
}
# What people or models wrote is bytes where it holds half a surrogate pair.
_WRITTEN = {"text", "question", "answer", "raw", "reason", "revised_prompt"}
_Rows = list[tuple[Any, ...]]
_STATUSES = {"ok", "refused", "filtered"}
_SHA256 = re.compile(r"[0-9a-f]{64}")


def open_evidence(folder: Path) -> Database:
    """Open the evidence database of a submission, as one that strangers wrote."""
    return Database(folder, NAME, trusted=False)


def content_problem(folder: Path) -> str | None:
    """Return the first problem in evidence.db, which a limited process reads; None if sound."""
    problem: str | None
    try:
        problem = answer_of("t2ibench.apps.leaderboard.evidence:look", folder)
    except T2IBenchError as error:
        problem = str(error)
    return problem and f"{NAME} {problem}"


def look(folder: Path) -> str | None:
    """Return the first problem in evidence.db, read in this process; None if it is sound."""
    database = open_evidence(folder)
    try:
        _check(database)
    except BrokenDatabaseError as error:
        return f"cannot be read: {error.why}"
    except (T2IBenchError, MemoryError) as error:
        return str(error) or "takes too much memory to read"
    finally:
        database.close()
    return None


def _check(database: Database) -> None:
    # No page is used twice after this: what can be read of the file is no larger than the file.
    ((integrity,),) = database.read("PRAGMA integrity_check(1)")
    if integrity != "ok":
        raise T2IBenchError(f"is damaged: {integrity}")
    ((pages,),), ((size,),) = (
        database.read("PRAGMA page_count"),
        database.read("PRAGMA page_size"),
    )
    if pages * size != database.path.stat().st_size:
        raise T2IBenchError("holds something behind its last page")
    for table in TABLES:
        most = _MOST_ROWS if table in _TABLES else 0
        ((rows,),) = database.read(
            f"SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT {most + 1})"
        )
        if rows > most:
            excess = (
                f"more than {most} rows" if most else "rows, which no submission has"
            )
            raise T2IBenchError(f"holds {excess} in its table {table}")
    models = {
        number
        for number, *parts in _rows(database, "models")
        if number == content_id(*parts)
    }
    texts = {
        number
        for number, text in _rows(database, "texts")
        if number == content_id(of_text(text))
    }
    _check_attempts(_rows(database, "attempts"), models, texts)
    for table in ("questions", "answers", "embeddings"):
        _rows(database, table)


def _check_attempts(rows: _Rows, models: set[int], texts: set[int]) -> None:
    for generator, text, number, tries, seed, status, sha256, file, *_ in rows:
        where = f"its row of image {number} of text {text}"
        if (
            generator not in models
            or text not in texts
            or number < 0
            or tries
            or seed < 0
        ):
            raise T2IBenchError(f"holds no such image as {where} says")
        if status not in _STATUSES:
            raise T2IBenchError(
                f"has '{status}' in {where}; ok, refused or filtered are accepted"
            )
        if file is not None:
            raise T2IBenchError(f"names a file in {where}")
        if (status == "ok") != bool(_SHA256.fullmatch(sha256 or "")):
            raise T2IBenchError(
                f"gives a SHA-256 for an image that is not there, or none: {where}"
            )


def _rows(database: Database, table: str) -> _Rows:
    """Return the rows of a table; raise an error if a type or a checksum is wrong."""
    allowed: dict[str, tuple[type, ...]] = {}
    for name, kind, nullable, _ in declared(table):
        written = (bytes,) if kind == "TEXT" and name in _WRITTEN else ()
        allowed[name] = (*_TYPES[kind], *written, *((type(None),) if nullable else ()))
    rows = []
    for row in database.read(f"SELECT * FROM {table}"):
        for (name, types), value in zip(allowed.items(), row, strict=True):
            if type(value) not in types:
                raise T2IBenchError(f"holds a {type(value).__name__} as {table}.{name}")
        *values, crc = row
        blobs = [value for value in values if isinstance(value, bytes)]
        computed = (
            blob_checksum(*blobs) if table == "embeddings" else row_checksum(values)
        )
        if crc != computed:
            raise T2IBenchError(
                f"is damaged: a row of {table} does not match its checksum"
            )
        rows.append(tuple(values))
    return rows
