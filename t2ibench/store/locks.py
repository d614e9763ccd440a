"""The lock of a run folder: one command works on it at a time.

It is advisory. Where the file system knows no locks, a run goes on without.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from t2ibench.errors import first_line

if TYPE_CHECKING:
    from filelock import BaseFileLock

FOLDER = ".locks"
QUIET = 1.0  # seconds that a wait may take before it is spoken of
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
        f"{folder} cannot be locked ({why}): commands that work on it at the same time may replace "
        "each other's results."
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
        """Try to get it for so long; for ever where it is negative."""
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

    def release(self) -> None:
        """Let others have it."""
        if self._lock is None:
            return
        with contextlib.suppress(OSError):
            self._note.unlink(missing_ok=True)
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
def locked(folder: Path, name: str = "run", notices: Notices = SILENT) -> Iterator[bool]:
    """Hold one of a folder's locks; a thread that holds it already goes on at once.

    Whoever waits is told for whom, once. One command works on a run at a time ('run'); rewritings
    for the explorer have a lock of their own, and hold it for a moment.
    """
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
        if not lock.acquire(QUIET):
            owner = lock.owner()
            who = f"{owner}, which has held it since {owner.since}" if owner else "its owner"
            notices.say(f"{folder} is in use: waiting for {who}.")
            lock.acquire(-1)
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


def _resolved(folder: Path) -> Path:
    """One name for a folder, which is made; where it cannot be, the name that it was given."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return folder.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return folder
