"""Restrictions on untrusted databases: read-only, limited, and with expected tables only."""

from __future__ import annotations

import sqlite3
import sys
from itertools import count

from t2ibench.store.schema import TABLES

_LARGEST = 64 * 2**20  # bytes of one value
_STEPS = 200_000_000  # of SQLite's virtual machine, over all queries
_STEPS_A_CALL = 1_000_000
_HARMLESS = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_PRAGMA,
}


def restrict(connection: sqlite3.Connection) -> None:
    """Restrict a connection to reading t2ibench tables, and reject files with other tables."""
    connection.execute("PRAGMA query_only = ON")
    calls_left = count(_STEPS // _STEPS_A_CALL, -1)

    def takes_too_long() -> bool:
        return next(calls_left) <= 0

    connection.set_progress_handler(takes_too_long, _STEPS_A_CALL)
    if sys.version_info >= (3, 11):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1)
    connection.set_authorizer(_authorize)
    expected = [("table", name, name, sql) for name, sql in TABLES.items()]
    query = "SELECT type, name, tbl_name, sql FROM sqlite_schema LIMIT ?"
    stored = connection.execute(query, (len(expected) + 1,)).fetchall()
    if sorted(stored, key=str) != sorted(expected, key=str):
        raise sqlite3.DatabaseError("it has other tables than a database of t2ibench")


def _authorize(
    action: int, name: str | None, _: str | None, place: str | None, by: str | None
) -> int:
    """Return SQLite's code that allows or denies an action; only known tables may be read."""
    if by is not None:  # by a trigger or a view
        return sqlite3.SQLITE_DENY
    if action in _HARMLESS:
        return sqlite3.SQLITE_OK
    is_ours = name in {*TABLES, "sqlite_master", "sqlite_schema"}
    if action == sqlite3.SQLITE_READ and is_ours and place in {"main", None}:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
