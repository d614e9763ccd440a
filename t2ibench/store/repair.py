"""Repair of a damaged run.db: readable data are saved and damaged rows removed."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from t2ibench.errors import shown
from t2ibench.store.connections import (
    FORMAT_VERSIONS,
    NEWEST_FORMAT,
    NEWEST_SCHEMA_FORMAT,
    PAGE_SIZE,
    SCHEMA_FORMAT,
    connect,
    create_database,
)
from t2ibench.store.database import Database
from t2ibench.store.files import remove_abandoned
from t2ibench.store.labels import COPY, LabelStore
from t2ibench.store.locks import Notices
from t2ibench.store.schema import APPLICATION, TABLES, key_columns

# Bytes that are the same in every run.db, and where they stand: what every database of SQLite
# begins with, the size of a page, its unused bytes with the fractions behind them, UTF-8, and whose
# database it is.
_OWNER = (68, APPLICATION.to_bytes(4, "big"))
_CONSTANTS = (
    (0, b"SQLite format 3\0"),
    (16, PAGE_SIZE.to_bytes(2, "big")),
    (20, bytes([0, 64, 32, 32])),
    (56, bytes([0, 0, 0, 1])),
    _OWNER,
)
# The owner and two more of them show that a file was a run.db. Nothing is written into any other
# one: most databases of other programs agree in three.
_ENOUGH = 3
_PAGE_COUNT = 28  # where the number of pages stands, in four bytes
# A file is at most as many times shorter than it was; else its number of pages is damaged.
_MOST_CUT = 1000


def repair(path: Path, aside: Path) -> dict[str, int]:
    """Copy a database's readable rows into a new one; return how many, keyed by table.

    Args:
        path: The database; the new one takes its place.
        aside: Where the damaged one is kept.

    Returns:
        Table to the number of rows that could be read.
    """
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    _restore_header(path)
    _pad(path)
    copied: dict[str, int] = {}
    create_database(new)
    with closing(connect(new, "mode=rw")) as target:
        for table in TABLES:
            target.execute("BEGIN")
            # Rows are read from both ends: each scan stops at the unreadable page.
            first = _copy(path, target, table, "ASC")
            copied[table] = first + _copy(path, target, table, "DESC")
            target.execute("COMMIT")
    with suppress(sqlite3.Error), closing(connect(path, "mode=rw")) as old:
        old.execute("PRAGMA journal_mode = DELETE").fetchall()
    shutil.copyfile(path, aside)
    for suffix in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    new.replace(path)
    with closing(Database(path.parent, path.name)) as database:
        copied["labels"] += LabelStore(database).restore()
    return copied


def _copy(path: Path, target: sqlite3.Connection, table: str, order: str) -> int:
    """Copy a table's rows in an order until a page cannot be read; return how many."""
    names = ", ".join(f"{name} {order}" for name in key_columns(table))
    copied = 0
    damaged = (sqlite3.Error, OverflowError, UnicodeDecodeError)
    with suppress(*damaged), closing(connect(path, "mode=rw")) as source:
        for row in source.execute(f"SELECT * FROM {table} ORDER BY {names}"):
            insert = (
                f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})"
            )
            copied += target.execute(insert, row).rowcount
    return copied


def _restore_header(path: Path) -> None:
    """Put right the bytes at the beginning of a file that are known whatever it stores."""
    with suppress(OSError), path.open("r+b") as file:
        header = bytearray(file.read(100))
        agreeing = [
            (place, value)
            for place, value in _CONSTANTS
            if header[place : place + len(value)] == value
        ]
        is_run = _OWNER in agreeing and len(agreeing) >= _ENOUGH
        if len(header) < 100 or not is_run:
            return
        for place, value in _CONSTANTS:
            header[place : place + len(value)] = value
        for place in FORMAT_VERSIONS:
            if header[place] > NEWEST_FORMAT:
                header[place] = 1
        if int.from_bytes(header[SCHEMA_FORMAT], "big") > NEWEST_SCHEMA_FORMAT:
            header[SCHEMA_FORMAT] = NEWEST_SCHEMA_FORMAT.to_bytes(4, "big")
        pages = slice(_PAGE_COUNT, _PAGE_COUNT + 4)
        in_file = -(-path.stat().st_size // PAGE_SIZE)
        if not in_file <= int.from_bytes(header[pages], "big") <= in_file * _MOST_CUT:
            header[pages] = in_file.to_bytes(4, "big")
        file.seek(0)
        file.write(header)


def _pad(path: Path) -> None:
    """Pad a truncated file to the size in its first page, without which SQLite rejects it."""
    with suppress(OSError), path.open("r+b") as file:
        header = file.read(100)
        if len(header) == 100:
            page = int.from_bytes(header[16:18], "big")
            size = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
            if path.stat().st_size < size <= path.stat().st_size * _MOST_CUT:
                file.truncate(size)


def mend(database: Database, notices: Notices) -> None:
    """Prepare a run for work: report and remove damaged rows and leftovers of killed processes."""
    remove_abandoned(database.folder)
    labels = LabelStore(database)
    restored = labels.restore()
    if restored:
        notices.warn(
            f"{restored} labels that {shown(database.path)} has lost are back from {COPY}."
        )
    line = database.damage()
    if not line:
        return
    notices.warn(line)
    # Labels of people cannot be made again: every command says that they are damaged, until they
    # are imported again.
    for table in [name for name in database.damaged if name != "labels"]:
        database.remove(table, database.damaged.pop(table))
