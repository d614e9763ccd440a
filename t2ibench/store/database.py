"""run.db: everything that is stored of a run but its images, in one SQLite database.

One process writes a run, beside it people's labels for a moment; others may read at any time.
While a run writes to a local disk, the journal is a write-ahead log, so that nobody waits; at rest,
and on network disks, where such a log loses data, it is a rollback journal and run.db one file.
"""

from __future__ import annotations

import errno
import gc
import os
import shutil
import sqlite3
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, shown
from t2ibench.store.file_errors import disk_errors
from t2ibench.store.files import remove_abandoned, temporary_beside
from t2ibench.store.locks import Notices
from t2ibench.store.schema import (
    APPLICATION,
    TABLES,
    VERSION,
    columns,
    content_id,
    is_typed,
    key_columns,
    of_text,
    row_checksum,
    to_text,
)

NAME = "run.db"
_PAGE = 16384  # bytes; the rows of a batch of embeddings fill many
_WAIT = 60  # seconds for somebody else's short transaction
_EVERY = 1.0  # seconds of work that a loss of power may cost
_LARGEST = 64 * 2**20  # bytes of one value in a database of somebody else
_STEPS = 200_000_000  # of SQLite's machine in all questions to such a database
_NETWORK = {
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "lustre",
    "gpfs",
    "beegfs",
    "ceph",
    "9p",
    "virtiofs",
    "afs",
    "glusterfs",
    "pvfs2",
    "orangefs",
}


@contextmanager
def uncollected() -> Iterator[None]:
    """While millions of rows are read, Python does not search all of them for garbage again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class BrokenDatabaseError(T2IBenchError):
    """run.db exists, but SQLite cannot read it."""

    def __init__(self, path: Path, why: object) -> None:
        super().__init__(
            f"{shown(path, 400)} is damaged: {why}.",
            "Run the original command again: it keeps what is whole and makes the rest again.",
        )
        self.path, self.why = path, str(why)

    def __reduce__(self) -> tuple[type[BrokenDatabaseError], tuple[Path, str]]:
        return BrokenDatabaseError, (self.path, self.why)


class Database:
    """The database of a run.

    Nothing is created before something is written; without a file, nothing is stored. It may be
    used by several threads, and by a process that it is sent to. `damaged` has the keys of rows
    that were read and are damaged, by table.
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

    def __reduce__(self) -> tuple[Callable[..., Database], tuple[Path, str]]:
        return partial(Database, trusted=self._trusted), (self.folder, self.path.name)

    def exists(self) -> bool:
        """Whether anything is stored."""
        return self.path.is_file()

    def read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query; none where nothing is stored."""
        with self.lock, self._errors():
            connection = self._open(create=False)
            return (
                []
                if connection is None
                else connection.execute(query, values).fetchall()
            )

    def read_checked(
        self, table: str, where: str = "", *values: Any
    ) -> list[tuple[Any, ...]]:
        """The rows of a table whose checksums and types hold, without the checksums."""
        names = columns(table)
        query = (
            f"SELECT {', '.join(names)}, crc, {is_typed(table)} FROM {table} {where}"
        )
        places = [names.index(name) for name in key_columns(table)]
        whole = []
        for row in self.read(query, *values):
            found = row[:-2]
            if row[-1] and row_checksum(found) == row[-2]:
                whole.append(found)
            else:
                self.damaged[table].add(tuple(found[place] for place in places))
        return whole

    def texts(self, where: str, *values: Any) -> dict[int, str]:
        """Texts by their identifiers."""
        texts = {
            row[0]: of_text(row[1])
            for row in self.read_checked("texts", where, *values)
        }
        return {
            number: text for number, text in texts.items() if content_id(text) == number
        }

    def damage(self) -> str:
        """What was found damaged, in words; it counts as missing. Empty where nothing was."""
        counts = [
            f"{table} {len(keys)}"
            for table, keys in sorted(self.damaged.items())
            if keys
        ]
        but = ", but for labels: import their sheets" if self.damaged["labels"] else ""
        line = (
            f"{shown(self.path, 400)} has damaged rows ({', '.join(counts)}), which count as "
            f"missing. The original command makes again what scores need{but}."
        )
        return line if counts else ""

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Everything that is written within is stored together, or nothing of it."""
        with self.lock, self._errors():
            connection = self._open(create=True)
            assert connection is not None
            if connection.in_transaction:  # the outer one stores it
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
            if time.monotonic() - self._synced >= _EVERY:
                # A write-ahead log is synced at checkpoints alone; elsewhere this does nothing.
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                self._synced = time.monotonic()

    def write(
        self, table: str, rows: Iterable[Sequence[Any]], *, keep: bool = False
    ) -> None:
        """Store rows with their checksums; one of the same key is replaced, or kept."""
        conflict = "IGNORE" if keep else "REPLACE"
        marks = ", ".join("?" * (len(columns(table)) + 1))
        with self.writing():
            assert self._connection is not None
            self._connection.executemany(
                f"INSERT OR {conflict} INTO {table} VALUES ({marks})",
                ((*row, row_checksum(row)) for row in rows),
            )

    def add_model(self, role: str, name: str, fingerprint: str) -> None:
        """Store what made a row: a generator, an encoder, a judge or a rewriter."""
        number = content_id(role, name, fingerprint)
        if number not in self._models:
            self.write("models", [(number, role, to_text(name), fingerprint)])
            self._models.add(number)

    def add_texts(self, texts: Iterable[str]) -> None:
        """Store prompts, so that their rows are known by more than an identifier."""
        self.write("texts", [(content_id(text), to_text(text)) for text in texts])

    def execute(self, statement: str, *values: Any) -> None:
        """Write with one statement."""
        with self.writing():
            assert self._connection is not None
            self._connection.execute(statement, values)

    def remove(self, table: str, names: Iterable[Sequence[Any]]) -> None:
        """Remove rows by the columns that name them."""
        found = " AND ".join(f"{name} IS ?" for name in key_columns(table))
        with self.writing():
            assert self._connection is not None
            self._connection.executemany(f"DELETE FROM {table} WHERE {found}", names)

    def begin_run(self) -> None:
        """Have readers and the writer not wait for one another, on a local disk."""
        with self.lock, self._errors():
            self.close()
            self._journal = "DELETE" if is_on_network(self.folder) else "WAL"
            self._open(create=False)

    def end_run(self) -> None:
        """Have everything in one file; a reader may keep it from that for now."""
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
        """Close the file; it is opened again when something is asked for."""
        with self.lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = self._identity = None
            self._models.clear()
            self.damaged.clear()

    def _open(self, *, create: bool) -> sqlite3.Connection | None:
        """The connection; None where there is no file and none is to be made."""
        identity = _identity(self.path)
        if self._connection is not None and identity == self._identity:
            return self._connection
        self.close()  # the file was removed, or another one took its place
        if identity is None:
            if not create:
                return None
            _create(self.path)
        connection = self._connect()
        try:
            self._check(connection)
            if self._journal is not None:
                connection.execute(f"PRAGMA journal_mode = {self._journal}").fetchall()
        except BaseException:
            connection.close()
            raise
        self._connection, self._identity = connection, _identity(self.path)
        return connection

    def _connect(self) -> sqlite3.Connection:
        if not self._trusted:
            # No journal beside it is played back, nothing is locked, nothing written.
            return _connection(self.path, "mode=ro&immutable=1")
        failure: sqlite3.Error | None = None
        # Without locks it is this process alone that writes, under the lock of the folder; a
        # read-only disk takes neither a lock nor a journal.
        for mode in ("rw", "rw&nolock=1", "ro", "ro&immutable=1"):
            connection = None
            try:
                connection = _connection(self.path, f"mode={mode}")
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
        """Refuse what is no database of this version; of a stranger, every other table too."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            raise sqlite3.DatabaseError("it is not a database of t2ibench")
        if version != VERSION:
            if not self._trusted:
                raise sqlite3.DatabaseError(
                    f"it is of version {version}, not {VERSION}"
                )
            raise T2IBenchError(
                f"{shown(self.path, 400)} is of version {version}; this t2ibench reads {VERSION}.",
                "Use the t2ibench that made it, or choose another --output-dir.",
            )
        if not self._trusted:
            connection.execute("PRAGMA query_only = ON")
            left = count(_STEPS // 1_000_000, -1)

            def steps() -> bool:  # ends questions that take too long
                return next(left) <= 0

            connection.set_progress_handler(steps, 1_000_000)
            if sys.version_info >= (3, 11):
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST)
                connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
                connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1)
            connection.set_authorizer(_may)
            known = [("table", name, name, sql) for name, sql in TABLES.items()]
            query = "SELECT type, name, tbl_name, sql FROM sqlite_schema LIMIT ?"
            found = connection.execute(query, (len(known) + 1,)).fetchall()
            if sorted(found, key=str) != sorted(known, key=str):
                raise sqlite3.DatabaseError(
                    "it has other tables than a database of t2ibench"
                )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn what SQLite says into one clear line."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if self._trusted:
                raise _line(self.path, error) from error
            raise BrokenDatabaseError(self.path, error) from error
        except (sqlite3.DatabaseError, OverflowError, UnicodeDecodeError) as error:
            raise BrokenDatabaseError(self.path, error) from error


def _may(
    action: int, name: str | None, _: str | None, place: str | None, by: str | None
) -> int:
    """Of a stranger's database, the known tables are read, and nothing else is done."""
    known = name in {*TABLES, "sqlite_master", "sqlite_schema"}
    plain = action in {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_PRAGMA,
    }
    reads = action == sqlite3.SQLITE_READ and known and place in {"main", None}
    return sqlite3.SQLITE_OK if (plain or reads) and by is None else sqlite3.SQLITE_DENY


def _connection(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}",
        uri=True,
        timeout=_WAIT,
        isolation_level=None,
        check_same_thread=False,
    )
    for pragma in (
        "trusted_schema = OFF",
        "cell_size_check = ON",
        "synchronous = NORMAL",
        "cache_size = -65536",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _create(path: Path) -> None:
    """Make an empty database; nobody sees half of one, and one that is there stays."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_beside(path)
        try:
            with closing(_connection(temporary, "mode=rwc")) as connection:
                connection.execute("PRAGMA journal_mode = MEMORY").fetchall()
                connection.execute(f"PRAGMA page_size = {_PAGE}")
                connection.execute("BEGIN")
                for sql in TABLES.values():
                    connection.execute(sql)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.execute("COMMIT")
            try:
                path.hardlink_to(temporary)
            except FileExistsError:
                if path.is_symlink():  # that leads nowhere
                    temporary.replace(path)
            except OSError:  # a disk without such links
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file it is; None where there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116  # it is asked for with every query
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _line(path: Path, error: sqlite3.OperationalError) -> T2IBenchError:
    """An error of the disk or of another process, as that of any file where there is such a one."""
    text = str(error)
    try:
        with disk_errors(path):
            for word, number in (("full", errno.ENOSPC), ("readonly", errno.EACCES)):
                if word in text:
                    raise OSError(number, os.strerror(number))
            if "unable to open" in text:
                path.open("r+b" if path.exists() else "ab").close()
    except T2IBenchError as known:
        return known
    if "could not decode" in text.lower():
        return BrokenDatabaseError(path, error)
    return T2IBenchError(
        f"{shown(path, 400)} cannot be used: {text}.",
        "Close other programs that use it, look after the disk, and run the command again.",
    )


def is_on_network(folder: Path) -> bool:
    """Whether a folder lies on a disk that several machines share, as far as can be told."""
    if os.name == "nt":
        return str(folder.absolute()).startswith("\\\\")
    best, kind = "", ""
    with suppress(OSError, ValueError, RuntimeError):  # the last for links in a circle
        where = f"{folder.resolve()}/"
        for line in (
            Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
        ):
            before, _, after = line.partition(" - ")
            mount = before.split()[4].replace("\\040", " ").rstrip("/") + "/"
            if where.startswith(mount) and len(mount) >= len(best):
                best, kind = mount, after.split()[0]
    return kind in _NETWORK or kind.startswith("fuse.")


def repair(path: Path, aside: Path) -> dict[str, int]:
    """Copy what can be read of a database into a new one; table to the number of its rows."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    _pad(path)
    kept: dict[str, int] = {}
    _create(new)
    with closing(_connection(new, "mode=rw")) as target:
        for table in TABLES:
            target.execute("BEGIN")
            kept[table] = sum(
                _copy(path, target, table, order) for order in ("ASC", "DESC")
            )
            target.execute("COMMIT")
    with suppress(sqlite3.Error), closing(_connection(path, "mode=rw")) as old:
        old.execute("PRAGMA journal_mode = DELETE").fetchall()
    shutil.copyfile(path, aside)
    for suffix in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    new.replace(path)
    return kept


def _copy(path: Path, target: sqlite3.Connection, table: str, order: str) -> int:
    """Copy rows from one end on until a page cannot be read."""
    names = ", ".join(f"{name} {order}" for name in key_columns(table))
    copied = 0
    damaged = (sqlite3.Error, OverflowError, UnicodeDecodeError)
    with suppress(*damaged), closing(_connection(path, "mode=rw")) as source:
        for row in source.execute(f"SELECT * FROM {table} ORDER BY {names}"):
            insert = (
                f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})"
            )
            copied += target.execute(insert, row).rowcount
    return copied


def _pad(path: Path) -> None:
    """Give a file that was cut off the size that its first page names; SQLite refuses it else."""
    with suppress(OSError), path.open("r+b") as file:
        header = file.read(100)
        if len(header) == 100:
            page = int.from_bytes(header[16:18], "big")
            size = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
            if path.stat().st_size < size <= path.stat().st_size * 1000:
                file.truncate(size)


def mend(database: Database, notices: Notices) -> None:
    """Begin to work on a run: say what is damaged, and remove it and what killed writers left."""
    remove_abandoned(database.folder)
    if line := database.damage():
        notices.warn(line)
        for table, keys in database.damaged.items():
            database.remove(table, keys)
        database.damaged.clear()
