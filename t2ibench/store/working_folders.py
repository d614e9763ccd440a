"""Folders beside a command's result, in which it works until the result is whole.

Whoever works in one holds a lock on it, which the system releases when the process ends. So the
next command can remove what a killed one has left behind, and nothing of one that still works.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks: there, what is left behind stays.
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def working_folder(prefix: str, parent: Path) -> Iterator[Path]:
    """Give a new folder, which is removed at the end, with those that killed commands left.

    Args:
        prefix: What its name begins with, and those of earlier ones.
        parent: The folder in which it is made.
    """
    with _locked(parent, wait=True):
        # Between its making and its lock, no other command may take it for an abandoned one.
        _remove_abandoned(prefix, parent)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        ours = contextlib.ExitStack()
        ours.enter_context(_locked(folder, wait=False))
    with ours:
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


def _remove_abandoned(prefix: str, parent: Path) -> None:
    for folder in parent.glob(f"{prefix}*"):
        if folder.is_symlink() or not folder.is_dir():
            continue
        with _locked(folder, wait=False) as is_held:
            if is_held:
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path, *, wait: bool) -> Iterator[bool]:
    """Hold a lock on a folder; give whether it is held."""
    if fcntl is None:
        yield False
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:  # Another holds it, or the file system knows no locks.
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
