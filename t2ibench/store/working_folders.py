"""Folders beside a command's result, in which it works until the result is whole.

Whoever works in one holds a lock on it, which the system releases when the process ends. So the
next command can remove what a killed one has left behind, and nothing of one that still works.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks: there, what is left behind stays.
    fcntl = None  # type: ignore[assignment]

_PREFIX = ".t2ibench-working-"
_NAME = re.compile(re.escape(_PREFIX) + r"[a-z0-9_]{8}")  # as tempfile names it
# A file in each of them that names the machine: locks may not reach those of another one. A folder
# without it is not removed, whatever its name.
_MARKER = ".made-by-t2ibench"
# Seconds to wait for the lock on the folder above. A command of t2ibench holds it for a moment;
# another program may hold it for ever.
_PATIENCE = 3.0
_PAUSE = 0.05


@contextlib.contextmanager
def working_folder(parent: Path) -> Iterator[Path]:
    """Give a new folder, which is removed at the end, with those that killed commands left.

    Args:
        parent: The folder in which it is made.
    """
    with contextlib.ExitStack() as ours:
        # Between its making and its lock, no other command may take it for an abandoned one.
        with _locked(parent, patience=_PATIENCE) as is_parent_held:
            if is_parent_held:
                _remove_abandoned(parent)
            place = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            is_held = ours.enter_context(_locked(place))
            # Another program may have removed it by then.
            ours.callback(shutil.rmtree, place, ignore_errors=True)
            if is_held:
                (place / _MARKER).write_text(platform.node(), encoding="utf-8")
        folder = place / "result"  # which the marker is no part of
        folder.mkdir()
        yield folder


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.iterdir():
        if not _is_working_folder(folder):
            continue
        with _locked(folder) as is_held:
            if is_held:
                shutil.rmtree(folder, ignore_errors=True)


def _is_working_folder(folder: Path) -> bool:
    """Return whether a folder is one that `working_folder` made on this machine."""
    if not _NAME.fullmatch(folder.name) or folder.is_symlink():
        return False
    try:
        made_on = (folder / _MARKER).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    return made_on == platform.node()


@contextlib.contextmanager
def _locked(folder: Path, *, patience: float = 0.0) -> Iterator[bool]:
    """Hold a lock on a folder, for which it is tried some seconds; give whether it is held."""
    if fcntl is None:
        yield False
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        yield False
        return
    try:
        yield _takes_lock(descriptor, patience)
    finally:
        os.close(descriptor)


def _takes_lock(descriptor: int, patience: float) -> bool:
    """Take the lock on an open folder within some seconds; return whether it was taken."""
    until = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another process holds it
            if time.monotonic() >= until:
                return False
            time.sleep(_PAUSE)
        except OSError:  # the file system knows no locks
            return False
        else:
            return True
