"""Locks between the processes that work on one run folder, and claims on parts of its work.

Both are advisory. A lock keeps two processes from reading, merging and writing one file at the same
time. A claim only saves work: whoever holds it makes a part of the evidence, and whoever does not
get it makes another part. Where the file system knows no locks, a run goes on without.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from t2ibench.errors import T2IBenchError, first_line

if TYPE_CHECKING:
    from filelock import BaseFileLock

FOLDER = ".locks"
QUIET = 1.0  # seconds that a wait may take before it is spoken of
PATIENCE = 1800.0  # seconds; scoring many tasks takes minutes
_GOLDEN = 0.6180339887498949
_held = threading.local()


class Notices(Protocol):
    """Shows a line to the user; a pipeline.progress.Reporter is one."""

    def say(self, text: str) -> None:
        """Show a line."""
        ...

    def warn(self, text: str) -> None:
        """Show a line that the user must see."""
        ...


class _Silent:
    def say(self, text: str) -> None:
        pass

    def warn(self, text: str) -> None:
        pass


SILENT: Notices = _Silent()
_warned: set[Path] = set()


def _without_locks(folder: Path, error: Exception, notices: Notices) -> None:
    """Say once that locks do not work in a folder; what cannot be written at all says so itself."""
    where = _resolved(folder)
    if where in _warned or notices is SILENT or not folder.is_dir():
        return
    _warned.add(where)
    why = getattr(error, "strerror", None) or first_line(error)
    notices.warn(
        f"{folder} cannot be locked ({why}): processes that work on it at the same time may do the "
        "same work, and may replace each other's results."
    )


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a lock.

    Attributes:
        pid: Number of the process.
        host: Name of its machine.
        since: Since when, UTC.
    """

    pid: int
    host: str
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


class FileLocked:
    """A lock on a file that lies beside what it protects, with a note of who holds it.

    The kernel releases it when its owner dies. Where the file system has no such locks, the file's
    existence is the lock, and that of a process of this machine that is dead is broken.

    Args:
        path: The lock file; its folder is created.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._note = path.with_suffix(".owner")
        self._lock: BaseFileLock | None = None

    def acquire(self, seconds: float) -> bool:
        """Try to get it."""
        from filelock import FileLock, SoftFileLock, Timeout

        for kind in (FileLock, FileLock, SoftFileLock):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock: BaseFileLock = kind(str(self.path))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of falling back to the existence of a file
                    lock.acquire(timeout=seconds, poll_interval=0.02)
            except Timeout:
                return False
            except (FileNotFoundError, NotImplementedError) as error:
                # The folder was deleted just now; or, in some versions: there is no flock here.
                failure = error
                continue
            self._lock = lock
            break
        else:
            raise OSError(first_line(failure))
        owner = Owner(os.getpid(), socket.gethostname(), _now())
        with contextlib.suppress(OSError):  # the note is for people alone
            self._note.write_text(json.dumps(asdict(owner)), encoding="utf-8")
        return True

    def release(self, *, remove: bool = False) -> None:
        """Let others have it."""
        if self._lock is None:
            return
        with contextlib.suppress(OSError):
            self._note.unlink(missing_ok=True)
        from filelock import SoftFileLock

        if remove and os.name == "posix" and not isinstance(self._lock, SoftFileLock):
            with contextlib.suppress(OSError):  # the other kinds remove theirs
                self.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._lock.release()
        self._lock = None

    def owner(self) -> Owner | None:
        """Who holds it, as far as can be told."""
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
            owner = Owner(int(note["pid"]), str(note["host"])[:80], str(note["since"])[:40])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return None if owner.host == socket.gethostname() and _is_dead(owner.pid) else owner


def _is_dead(pid: int) -> bool:
    if os.name == "nt":  # where signal 0 would end the process
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


@contextlib.contextmanager
def locked(
    folder: Path, name: str, notices: Notices = SILENT, patience: float | None = None
) -> Iterator[bool]:
    """Hold one of a folder's locks; a thread that holds it already goes on at once."""
    path = _resolved(folder) / FOLDER / f"{name}.lock"
    counts: dict[Path, int] = _held.__dict__.setdefault("counts", {})
    if counts.get(path):
        counts[path] += 1
        try:
            yield True
        finally:
            counts[path] -= 1
        return
    lock = FileLocked(path)
    try:
        _wait(lock, folder, notices, PATIENCE if patience is None else patience)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        _without_locks(folder, error, notices)
        yield False
        return
    counts[path] = 1
    try:
        yield True
    finally:
        counts[path] = 0
        lock.release()


def _wait(lock: FileLocked, folder: Path, notices: Notices, patience: float) -> None:
    if lock.acquire(min(QUIET, patience)):
        return
    owner = lock.owner()
    who = f"{owner}, which has been writing to it since {owner.since}" if owner else "its writer"
    notices.say(f"{folder} is locked: waiting for {who}.")
    if lock.acquire(max(patience - QUIET, 0.0)):
        return
    owner = lock.owner() or owner
    raise T2IBenchError(
        f"{folder} is locked by {owner or 'another process'}"
        f"{f' since {owner.since}' if owner else ''}, and was not released in {patience:.0f} s.",
        f"End that process, or, if it runs no more, remove {lock.path}; then run the same command "
        "again: images and evidence are kept.",
    )


class Claims:
    """Which process makes which part of a run's evidence. Nothing depends on it but time.

    Args:
        folder: The run folder.
        notices: Told, once, that there are no locks here.
    """

    def __init__(self, folder: Path, notices: Notices = SILENT) -> None:
        self._run = folder
        self._folder = folder / FOLDER
        self._notices = notices
        self._works = True

    def _path(self, name: str) -> Path:
        return self._folder / f"claim-{name}.lock"

    @contextlib.contextmanager
    def take(self, name: str) -> Iterator[bool]:
        """Claim a part, and let go of it at the end."""
        lock = FileLocked(self._path(name))
        mine = True
        if self._works:
            try:
                mine = lock.acquire(0)
            except OSError as error:
                self._works = False
                _without_locks(self._run, error, self._notices)
        try:
            yield mine
        finally:
            lock.release(remove=True)

    def owner(self, name: str) -> Owner | None:
        """Who holds a part."""
        return FileLocked(self._path(name)).owner()

    def start(self) -> float:
        """Where this process begins among the parts, so that processes begin apart."""
        if self._works and not self._others():
            return 0.0
        return (os.getpid() * _GOLDEN + zlib.crc32(socket.gethostname().encode()) / 2**32) % 1.0

    def at_work(self) -> str | None:
        """Who holds any part of the work; claims of the dead are removed."""
        if not self._works or not self._others():
            return None
        names = (path.stem.removeprefix("claim-") for path in self._folder.glob("claim-*.lock"))
        owners = [owner for name in names if (owner := self.owner(name)) is not None]
        return str(owners[0]) if owners else "Another process"

    def _others(self) -> bool:
        """Whether any part is held; claims of the dead are removed."""
        for path in self._folder.glob("claim-*.lock"):
            lock = FileLocked(path)
            try:
                if not lock.acquire(0):
                    return True
            except OSError:
                return True
            lock.release(remove=True)
        return False


def _resolved(folder: Path) -> Path:
    """One name for a folder, which is made; where it cannot be, the name that it was given."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return folder.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return folder
