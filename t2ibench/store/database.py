"""run.db: one SQLite database with all data of a run except its images.

One process writes a run, beside it people's labels for a moment; others may read at any time.
While a run writes to a local disk, the journal is a write-ahead log, so that nobody waits; at rest,
and on network disks, where such a log loses data, it is a rollback journal and run.db one file.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, shown_path
from t2ibench.identity import content_id
from t2ibench.store.connections import (
    connect,
    create_database,
    file_identity,
    has_impossible_format,
    is_on_network,
)
from t2ibench.store.file_errors import disk_errors, reading
from t2ibench.store.schema import (
    APPLICATION,
    VERSION,
    columns,
    is_typed,
    key_columns,
    of_text,
    row_checksum,
    to_text,
)
from t2ibench.store.untrusted import restrict

NAME = "run.db"
# Endings of the files that SQLite keeps beside a database while somebody uses it.
_JOURNALS = ("-journal", "-wal", "-shm")
# A larger version than any that t2ibench will ever have is damage.
_NEWEST_VERSION = VERSION + 1000
# Seconds of work that a loss of power may cost.
_SYNC_EVERY = 1.0


class BrokenDatabaseError(T2IBenchError):
    """Raised if run.db exists but SQLite cannot read it."""

    def __init__(self, path: Path, why: object) -> None:
        super().__init__(
            f"{shown_path(path)} is damaged: {why}.",
            "Run the original command again: it keeps intact data and regenerates the rest.",
        )
        self.path, self.why = path, str(why)

    def __reduce__(self) -> tuple[type[BrokenDatabaseError], tuple[Path, str]]:
        return BrokenDatabaseError, (self.path, self.why)


class Database:
    """The database of a run, in the file run.db.

    Nothing is created before something is written; without a file, nothing is stored. It may be
    used by several threads, and by a process that it is sent to. `damaged` has the keys of rows
    that were read and are damaged, by table; `written` the tables that got rows since `begin_run`.
    """

    def __init__(self, folder: Path, name: str = NAME, *, trusted: bool = True) -> None:
        self.folder = folder
        self.path = folder / name
        self._trusted = trusted
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self.lock = threading.RLock()
        self._synced = 0.0
        self._journal: str | None = None  # None: what the file has
        self._models: set[int] = set()
        self.damaged: defaultdict[str, set[tuple[Any, ...]]] = defaultdict(set)
        self.written: set[str] = set()

    def __reduce__(self) -> tuple[Callable[..., Database], tuple[Path, str]]:
        return partial(Database, trusted=self._trusted), (self.folder, self.path.name)

    def exists(self) -> bool:
        """Return whether the database file exists."""
        return self.path.is_file()

    def read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows that an SQL query with `values` finds; none if there is no database."""
        with self.lock, self._errors():
            connection = self._open(create=False)
            return (
                []
                if connection is None
                else connection.execute(query, values).fetchall()
            )

    def each(self, query: str, *values: Any) -> Generator[tuple[Any, ...], None, None]:
        """Yield the rows that an SQL query finds, one by one; other threads wait meanwhile."""
        with self.lock, self._errors():
            connection = self._open(create=False)
            if connection is not None:
                yield from connection.execute(query, values)

    def read_checked(
        self, table: str, where: str = "", *values: Any
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a table with valid checksums and types, without the checksums."""
        names = columns(table)
        query = (
            f"SELECT {', '.join(names)}, crc, {is_typed(table)} FROM {table} {where}"
        )
        places = [names.index(name) for name in key_columns(table)]
        whole = []
        for row in self.read(query, *values):
            values_of_row, checksum, has_types = row[:-2], row[-2], row[-1]
            if has_types and row_checksum(values_of_row) == checksum:
                whole.append(values_of_row)
            else:
                key = tuple(values_of_row[place] for place in places)
                self.damaged[table].add(key)
        return whole

    def texts(self, where: str, *values: Any) -> dict[int, str]:
        """Return stored texts, such as prompts, keyed by identifier, without altered ones."""
        texts = {
            row[0]: of_text(row[1])
            for row in self.read_checked("texts", where, *values)
        }
        return {
            number: text for number, text in texts.items() if content_id(text) == number
        }

    def damage(self) -> str:
        """Return a description of damaged data, which count as missing; "" if there are none."""
        counts = [
            f"{table} {len(keys)}"
            for table, keys in sorted(self.damaged.items())
            if keys
        ]
        but = ", but for labels: import their sheets" if self.damaged["labels"] else ""
        line = (
            f"{shown_path(self.path)} has damaged rows ({', '.join(counts)}), which count as "
            f"missing. The original command makes again what scores need{but}."
        )
        return line if counts else ""

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Store all writes inside this context together, as one transaction, or none of them."""
        with self.lock, self._errors():
            connection = self._open(create=True)
            assert connection is not None
            if connection.in_transaction:  # the outer transaction commits it
                yield
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                self._models.clear()
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            if time.monotonic() - self._synced >= _SYNC_EVERY:
                # A write-ahead log is synced at checkpoints alone; elsewhere this does nothing.
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                self._synced = time.monotonic()

    def write(
        self, table: str, rows: Iterable[Sequence[Any]], *, keep: bool = False
    ) -> None:
        """Store rows with their checksums; replace a row of the same key, or leave it if `keep`."""
        conflict = "IGNORE" if keep else "REPLACE"
        marks = ", ".join("?" * (len(columns(table)) + 1))
        with self.writing():
            assert self._connection is not None
            cursor = self._connection.executemany(
                f"INSERT OR {conflict} INTO {table} VALUES ({marks})",
                ((*row, row_checksum(row)) for row in rows),
            )
            if cursor.rowcount > 0:
                self.written.add(table)

    def add_model(self, role: str, name: str, fingerprint: str) -> None:
        """Store the generator, encoder, judge or rewriter that rows refer to."""
        number = content_id(role, name, fingerprint)
        if number not in self._models:
            self.write("models", [(number, role, to_text(name), fingerprint)])
            self._models.add(number)

    def add_texts(self, texts: Iterable[str]) -> None:
        """Store prompts, so that rows with their identifiers can be read."""
        self.write("texts", [(content_id(text), to_text(text)) for text in texts])

    def execute(self, statement: str, *values: Any) -> None:
        """Execute one SQL statement that writes to the database."""
        with self.writing():
            assert self._connection is not None
            self._connection.execute(statement, values)

    def remove(self, table: str, names: Iterable[Sequence[Any]]) -> None:
        """Delete the rows of a table that have these values in its key columns."""
        named = " AND ".join(f"{name} IS ?" for name in key_columns(table))
        with self.writing():
            assert self._connection is not None
            self._connection.executemany(f"DELETE FROM {table} WHERE {named}", names)

    def begin_run(self) -> None:
        """Reopen the database so that others can read it during a run, if it is on a local disk."""
        with self.lock, self._errors():
            self.close()
            self.written.clear()
            self._journal = "DELETE" if is_on_network(self.folder) else "WAL"
            self._open(create=False)

    def end_run(self) -> None:
        """Merge the write-ahead log into the database file, unless a reader prevents it for now."""
        with self.lock:
            self._journal = None
            if self._connection is not None:
                with suppress(sqlite3.Error):
                    self._connection.execute(
                        "PRAGMA wal_checkpoint(TRUNCATE)"
                    ).fetchall()
                with suppress(sqlite3.Error):
                    self._connection.execute("PRAGMA busy_timeout = 0")
                    self._connection.execute("PRAGMA journal_mode = DELETE").fetchall()
            self.close()

    def close(self) -> None:
        """Close the connection; the next access opens it again."""
        with self.lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = self._identity = None
            self._models.clear()
            self.damaged.clear()

    def _open(self, *, create: bool) -> sqlite3.Connection | None:
        """Return the connection; None if there is no file and none is to be created."""
        identity = file_identity(self.path)
        if self._connection is not None and identity == self._identity:
            return self._connection
        is_run = self._journal is not None
        if self._connection is not None and (identity is None or is_run):
            # A new file would lack the run's record and all that is stored. Another file in the
            # place of a run that nobody works on may be the repaired one.
            raise self._removed_error()
        self.close()  # the file was removed, or another one took its place
        if identity is None:
            if not create:
                return None
            create_database(self.path)
        self._check_files()
        if has_impossible_format(self.path):
            # SQLite would call it read-only, which no right of access mends.
            raise sqlite3.DatabaseError("its first page names a format that is none")
        connection = self._connect()
        try:
            self._check(connection)
            if self._journal is not None:
                connection.execute(f"PRAGMA journal_mode = {self._journal}").fetchall()
        except BaseException:
            connection.close()
            raise
        self._connection, self._identity = connection, file_identity(self.path)
        return connection

    def check_still_there(self) -> None:
        """Raise an error if the file of an open database was removed or replaced.

        Whoever writes a file beside it would otherwise make a new folder in its place.
        """
        with self.lock:
            is_open = self._connection is not None
            if is_open and file_identity(self.path) != self._identity:
                raise self._removed_error()

    def _removed_error(self) -> T2IBenchError:
        """Return the error for a database that was removed or replaced while it was in use."""
        return T2IBenchError(
            f"{shown_path(self.path)} was removed or replaced while it was in use.",
            "Put it back, or repeat the command of the run, which regenerates what is missing.",
        )

    def _check_files(self) -> None:
        """Raise an error where SQLite would open what is no file: the database or its journals.

        Opening a pipe waits for ever, and a device has no end.
        """
        for ending in ("", *_JOURNALS):
            path = Path(f"{self.path}{ending}")
            try:
                # Once only: a journal may be removed by its writer meanwhile.
                kind = path.stat().st_mode
            except FileNotFoundError:
                continue
            if not stat.S_ISREG(kind):
                raise T2IBenchError(
                    f"{shown_path(path)} is no file.",
                    "Remove it, or choose another --output-dir.",
                )

    def _connect(self) -> sqlite3.Connection:
        if not self._trusted:
            # No journal beside it is played back, nothing is locked, nothing written.
            return connect(self.path, "mode=ro&immutable=1")
        failure: sqlite3.Error | None = None
        # Without locks it is this process alone that writes, under the lock of the folder; a
        # read-only disk takes neither a lock nor a journal.
        for mode in ("rw", "rw&nolock=1", "ro", "ro&immutable=1"):
            connection = None
            try:
                connection = connect(self.path, f"mode={mode}")
                connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
                return connection
            except sqlite3.Error as error:
                if connection is not None:
                    connection.close()
                if not isinstance(error, sqlite3.OperationalError):
                    raise
                failure = failure or error
                if "is locked" in str(error):
                    break
        assert failure is not None
        raise failure

    def _check(self, connection: sqlite3.Connection) -> None:
        """Raise an error for a database of another version, or with foreign tables if untrusted."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            raise sqlite3.DatabaseError("it is not a database of t2ibench")
        if version != VERSION:
            if not 0 < version <= _NEWEST_VERSION:
                raise sqlite3.DatabaseError(f"its version, {version}, is none")
            if not self._trusted:
                raise sqlite3.DatabaseError(
                    f"it is of version {version}, not {VERSION}"
                )
            raise T2IBenchError(
                f"{shown_path(self.path)} is of version {version}; this t2ibench reads {VERSION}.",
                "Use the t2ibench that made it, or choose another --output-dir.",
            )
        if not self._trusted:
            restrict(connection)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of SQLite inside this context into one clear line."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if self._trusted:
                raise _error_of_disk(self.path, error) from error
            raise BrokenDatabaseError(self.path, error) from error
        except (sqlite3.DatabaseError, OverflowError, UnicodeDecodeError) as error:
            raise BrokenDatabaseError(self.path, error) from error


def _error_of_disk(path: Path, error: sqlite3.OperationalError) -> T2IBenchError:
    """Return the error for a failure of the disk or another process, worded as for any file."""
    text = str(error)
    is_unopened = "unable to open" in text
    try:
        if is_unopened and path.exists():
            with reading(path):
                path.open("rb").close()
        with disk_errors(path):
            for word, number in (("full", errno.ENOSPC), ("readonly", errno.EACCES)):
                if word in text:
                    raise OSError(number, os.strerror(number))
            if is_unopened:
                path.open("r+b" if path.exists() else "ab").close()
    except T2IBenchError as disk_error:
        return disk_error
    if "could not decode" in text.lower():
        return BrokenDatabaseError(path, error)
    return T2IBenchError(
        f"{shown_path(path)} cannot be used: {text}.",
        "Close other programs that use it, look after the disk, and run the command again.",
    )
