"""Search of what a run wrote for the secrets that this process knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.redaction import Redaction, known_secrets
from t2ibench.store.database import Database
from t2ibench.store.schema import TABLES, declared, of_text

_FILES = ("*.json", "*.jsonl", "*.csv", "*.md", "*.txt", "*.log")
_LARGEST_FILE = 50_000_000  # bytes
# Columns whose texts t2ibench forms itself: digests, names of files, words of a fixed list.
_FORMED = {
    "dtype",
    "file",
    "fingerprint",
    "image",
    "inputs",
    "key",
    "kind",
    "role",
    "samples",
    "sha256",
    "status",
}
# The record of a run and what names its parts: every call writes them again, and they are small.
_RECORD = ("run", "models")
_WRITTEN_BY_EVERY_CALL = {*_RECORD, "texts"}


def secrets_written_now(database: Database) -> Iterator[str]:
    """Yield a line for each place that holds a secret, after a call.

    Everything is searched if the call stored evidence or scores, otherwise only the run's record.
    """
    if database.written - _WRITTEN_BY_EVERY_CALL:
        yield from secrets_written(database)
    else:
        yield from _in_tables(database, _RECORD, Redaction(known_secrets()))


def secrets_written(database: Database) -> Iterator[str]:
    """Yield a line for each place of a run that holds a secret, in any encoding.

    Texts of servers are hidden before they are stored; this finds what came by another way.
    """
    redaction = Redaction(known_secrets())
    if not redaction:
        return
    yield from _in_tables(database, TABLES, redaction)
    for path in _written_files(database.folder):
        if _is_in_file(path, redaction):
            yield _line(str(path))


def _in_tables(
    database: Database, tables: Iterable[str], redaction: Redaction
) -> Iterator[str]:
    """Yield a line for each column of these tables that holds a secret."""
    if not redaction:
        return
    for table in tables:
        for column, kind, *_ in declared(table):
            is_searched = kind == "TEXT" and column not in _FORMED
            if is_searched and _is_in_column(database, table, column, redaction):
                yield _line(f"{database.path} ({table}.{column})")


def _line(place: str) -> str:
    return (
        f"{place} holds a secret of the environment. Do not pass it on: remove it there and "
        "replace the secret."
    )


def _is_in_column(
    database: Database, table: str, column: str, redaction: Redaction
) -> bool:
    query = f"SELECT DISTINCT {column} FROM {table}"
    try:
        with closing(database.each(query)) as rows:
            return any(
                redaction.contains(of_text(value))
                for (value,) in rows
                if isinstance(value, str | bytes)
            )
    except T2IBenchError:
        return False  # a damaged table is reported where it is read


def _written_files(folder: Path) -> Iterator[Path]:
    for pattern in _FILES:
        yield from sorted(path for path in folder.glob(pattern) if path.is_file())


def _is_in_file(path: Path, redaction: Redaction) -> bool:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            return False
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return redaction.contains(text)
