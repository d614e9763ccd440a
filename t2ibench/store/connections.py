"""Opening and creating SQLite files, and detection of network disks."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from t2ibench.store.file_errors import disk_errors
from t2ibench.store.files import temporary_beside
from t2ibench.store.schema import APPLICATION, TABLES, VERSION

# The bytes of a file's first page that say which version of SQLite's format reads and writes it,
# and the newest version that there is.
FORMAT_VERSIONS = (18, 19)
NEWEST_FORMAT = 2
# Where the first page says in which format the tables are declared, and the newest one.
SCHEMA_FORMAT = slice(44, 48)
NEWEST_SCHEMA_FORMAT = 4
PAGE_SIZE = 16384  # bytes; the rows of a batch of embeddings fill many
_WAIT = 60  # seconds to wait for another process's transaction
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


def connect(path: Path, parameters: str) -> sqlite3.Connection:
    """Return a connection to a database; `parameters` are those of SQLite's URI, as 'mode=rw'."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{parameters}",
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


def create_database(path: Path) -> None:
    """Create an empty database atomically; an existing file stays as it is."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_beside(path)
        try:
            with closing(connect(temporary, "mode=rwc")) as connection:
                connection.execute("PRAGMA journal_mode = MEMORY").fetchall()
                connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")
                connection.execute("BEGIN")
                for sql in TABLES.values():
                    connection.execute(sql)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.execute("COMMIT")
            try:
                path.hardlink_to(temporary)
            except FileExistsError:
                if path.is_symlink():  # its target is missing
                    temporary.replace(path)
            except OSError:  # a disk without hard links
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def has_impossible_format(path: Path) -> bool:
    """Return whether a file says that a version of SQLite wrote it which does not exist."""
    with suppress(OSError), path.open("rb") as file:
        header = file.read(100)
        schema_format = int.from_bytes(header[SCHEMA_FORMAT], "big")
        return len(header) == 100 and (
            any(header[place] > NEWEST_FORMAT for place in FORMAT_VERSIONS)
            or schema_format > NEWEST_SCHEMA_FORMAT
        )
    return False


def may_lack_log(path: Path) -> bool:
    """Return whether a database was last written with a write-ahead log that is not beside it.

    So it is where run.db alone is moved from the folder of a run that was killed or still works.
    """
    log = path.with_name(f"{path.name}-wal")
    with suppress(OSError), path.open("rb") as file:
        header = file.read(100)
        has_log = log.is_file() and log.stat().st_size > 0
        return (
            len(header) == 100
            and all(header[place] == NEWEST_FORMAT for place in FORMAT_VERSIONS)
            and not has_log
        )
    return False


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return a file's device and inode number, which tell if it was replaced; None if missing."""
    try:
        status = os.stat(path)  # noqa: PTH116  # it is asked for with every query
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def is_on_network(folder: Path) -> bool:
    """Return whether a folder lies on a network disk, as far as the system reports it."""
    if os.name == "nt":
        return str(folder.absolute()).startswith("\\\\")
    kind = ""
    with suppress(OSError, ValueError, RuntimeError):  # the last for links in a circle
        kind = _disk_kind(f"{folder.resolve()}/")
    return kind in _NETWORK or kind.startswith("fuse.")


def _disk_kind(folder: str) -> str:
    """Return the type of the file system that contains a folder, such as 'nfs'."""
    innermost = ""
    kind = ""
    lines = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    for line in lines:
        before, _, after = line.partition(" - ")
        mount = before.split()[4].replace("\\040", " ").rstrip("/") + "/"
        if folder.startswith(mount) and len(mount) >= len(innermost):
            innermost = mount
            kind = after.split()[0]
    return kind
