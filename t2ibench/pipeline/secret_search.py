"""Search of what a run wrote for the secrets that this process knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.redaction import Redaction, known_secrets
from t2ibench.store.database import Database
from t2ibench.store.schema import TABLES, declared, of_text

_FILES = ("*.json", "*.jsonl", "*.csv", "*.md", "*.txt", "*.log")
_LARGEST_FILE = 50_000_000  # bytes


def secrets_written(database: Database) -> Iterator[str]:
    """Yield a line for each place of a run that holds a secret, in any encoding.

    Texts of servers are hidden before they are stored; this finds what came by another way.
    """
    redaction = Redaction(known_secrets())
    if not redaction:
        return
    for table in TABLES:
        for column, kind, *_ in declared(table):
            if kind == "TEXT" and _is_in_column(database, table, column, redaction):
                yield _line(f"{database.path} ({table}.{column})")
    for path in _written_files(database.folder):
        if _is_in_file(path, redaction):
            yield _line(str(path))


def _line(place: str) -> str:
    return (
        f"{place} holds a secret of the environment. Do not pass it on: remove it there and "
        "replace the secret."
    )


def _is_in_column(
    database: Database, table: str, column: str, redaction: Redaction
) -> bool:
    try:
        rows = database.read(f"SELECT DISTINCT {column} FROM {table}")
    except T2IBenchError:
        return False  # a damaged table is reported where it is read
    texts = (of_text(value) for (value,) in rows if isinstance(value, str | bytes))
    return any(redaction.contains(text) for text in texts)


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
