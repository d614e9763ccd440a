"""The lock of a run folder: one command works on it at a time.

It is advisory. Where the file system knows no locks, a run goes on without.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import warnings
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from t2ibench.errors import first_line
from t2ibench.store.files import is_running

if TYPE_CHECKING:
    from filelock import BaseFileLock

FOLDER = ".locks"
QUIET = 1.0  # seconds that a wait may take before it is spoken of


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


def _acquired(path: Path, seconds: float) -> BaseFileLock | None:
    """A lock, if it can be had within so many seconds; for ever where they are negative.

    The kernel releases it when its owner dies. Where the file system has no such locks, the file's
    existence is the lock, and that of a process of this machine that is dead is broken.
    """
    from filelock import FileLock, SoftFileLock, Timeout

    failure: Exception | None = None
    for kind in (FileLock, FileLock, SoftFileLock):
        path.parent.mkdir(parents=True, exist_ok=True)
        # One object a file, so that a thread that holds it may enter again.
        lock: BaseFileLock = kind(str(path), is_singleton=True)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of falling back to the existence of a file
                lock.acquire(timeout=seconds, poll_interval=0.02)
            return lock
        except Timeout:
            return None
        except (FileNotFoundError, NotImplementedError) as error:
            # The folder was deleted just now; or, in some versions: there is no flock here.
            failure = error
    raise OSError(first_line(failure or OSError("no lock")))


def owner_of(note: Path) -> str | None:
    """Who holds a lock, as far as its note tells."""
    try:
        known = json.loads(note.read_text(encoding="utf-8"))
        pid, host, since = int(known["pid"]), str(known["host"])[:80], str(known["since"])[:40]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    if host == socket.gethostname() and not is_running(pid):
        return None
    return f"process {pid} on {host}, which has held it since {since}"


@contextlib.contextmanager
def locked(folder: Path, name: str = "run", notices: Notices = SILENT) -> Iterator[bool]:
    """Hold one of a folder's locks; a thread that holds it already goes on at once.

    Whoever waits is told for whom, once. One command works on a run at a time ('run'); rewritings
    for the explorer have a lock of their own, and hold it for a moment.
    """
    path = _resolved(folder) / FOLDER / f"{name}.lock"
    note = path.with_suffix(".owner")
    try:
        lock = _acquired(path, QUIET)
        if lock is None:
            who = owner_of(note) or "its owner"
            notices.say(f"{folder} is in use: waiting for {who}.")
            lock = _acquired(path, -1)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        _without_locks(folder, error, notices)
        yield False
        return
    assert lock is not None
    outermost = lock.lock_counter == 1
    if outermost:
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": now}
        with contextlib.suppress(OSError):  # the note is for people alone
            note.write_text(json.dumps(owner), encoding="utf-8")
    try:
        yield True
    finally:
        with contextlib.suppress(OSError):
            if outermost:
                note.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            lock.release()


def _resolved(folder: Path) -> Path:
    """One name for a folder, which is made; where it cannot be, the name that it was given."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return folder.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return folder
