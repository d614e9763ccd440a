"""The lock of a run folder, which allows one command at a time to work on it.

It is advisory. Where the file system knows no locks, a run goes on without.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol

from t2ibench.errors import first_line, shown
from t2ibench.store.files import read_ordinary

FOLDER = ".locks"
QUIET = 1.0  # seconds of a wait, after which it is reported


class Notices(Protocol):
    """Shows lines to the user, as pipeline.progress.Reporter does."""

    def say(self, text: str) -> None:
        """Show a line of text to the user."""
        ...

    def warn(self, text: str) -> None:
        """Show a warning of one line to the user."""
        ...


@contextlib.contextmanager
def locked(folder: Path, notices: Notices | None = None) -> Iterator[None]:
    """Hold a folder's lock inside this context; a thread that already holds it continues at once.

    The kernel releases it when its owner dies. Whoever waits is told for whom, once.
    """
    from filelock import FileLock, Timeout

    path = _resolved(folder) / FOLDER / "run.lock"
    note = path.with_suffix(".owner")
    try:
        # One object a file, so that a thread that holds it may enter again.
        lock = FileLock(str(path), is_singleton=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=QUIET, poll_interval=0.02)
        except Timeout:
            if notices is not None:
                who = "its owner"
                with contextlib.suppress(OSError, ValueError):
                    owner = read_ordinary(note).decode("utf-8")
                    who = shown(owner, 200)
                notices.say(f"{folder} is in use: waiting for {who}.")
            lock.acquire(poll_interval=0.02)
    except (
        OSError,
        ValueError,
        NotImplementedError,
    ) as error:  # ValueError: no name of a file
        # writing to the file reports what is wrong
        if notices is not None and folder.is_dir():
            why = getattr(error, "strerror", None) or first_line(error)
            notices.warn(
                f"{folder} cannot be locked ({why}): commands that work on it at the same time may "
                "replace each other's results."
            )
        yield
        return
    outermost = lock.lock_counter == 1
    with contextlib.suppress(OSError):  # the note is information for people
        if outermost:
            now = datetime.now(timezone.utc).isoformat(timespec="seconds")
            who = f"process {os.getpid()} on {socket.gethostname()}, which has held it since {now}"
            note.write_text(who, encoding="utf-8")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if outermost:
                note.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            lock.release()


def _resolved(folder: Path) -> Path:
    """Return the canonical path of a folder after creating it, or the given path if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return folder.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return folder
