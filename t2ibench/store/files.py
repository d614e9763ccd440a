"""Atomic writing of files, so that a killed process leaves no partial file; natural order."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import platform
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from t2ibench.errors import T2IBenchError
from t2ibench.store.file_errors import disk_errors

UNWRITABLE = "backslashreplace"  # how half a surrogate pair is written
_counter = itertools.count()
# Of a temporary file: the host and the process that write it, and a number.
_HOST = re.sub(r"[^A-Za-z0-9]+", "-", platform.node())[:40] or "host"
_TEMPORARY = re.compile(r"\..+\.([A-Za-z0-9-]+)\.(\d+)\.\d+\.tmp")
_ABANDONED = (
    15 * 60
)  # seconds since the last write of another machine, after which it is gone
_STREAMS = {"/dev", "/dev/fd", "/proc/self/fd"}  # /dev/stdout and the like


def natural_key(name: str) -> tuple[tuple[int, int | str], ...]:
    """Return a sort key that orders the numbers in names by their value.

    Examples:
        >>> sorted(["task_10", "task_9"], key=natural_key)
        ['task_9', 'task_10']
    """
    parts = re.findall(r"\d+|\D+", name)
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in parts)


def sync(file: BinaryIO) -> None:
    """Flush a file to the disk, as far as the file system supports it."""
    file.flush()
    _fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to the disk, as far as the file system supports it."""
    if os.name == "nt":  # Windows cannot open folders
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        _fsync(descriptor)
    finally:
        os.close(descriptor)


def _fsync(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        # some network disks
        if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}:
            raise


def temporary_beside(path: Path) -> Path:
    """Return a name beside `path` for a temporary file, to which it is renamed later.

    A run removes those that killed processes leave.
    """
    return path.with_name(
        f".{path.name[:40]}.{_HOST}.{os.getpid()}.{next(_counter)}.tmp"
    )


def write_atomically(
    path: Path, write: Callable[[Path], object], *, durable: bool = True
) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it."""
    if not path.name:
        raise T2IBenchError(
            f"'{path}' is a folder, where a file is expected.", "Name a file in it."
        )
    with disk_errors(path):
        # A file renamed to a stream would take its place.
        if not path.is_symlink() and path.is_fifo():
            with _with_reader(path):
                write(path)
            return
        device = not path.is_symlink() and path.is_char_device()
        if str(path.parent) in _STREAMS or device:
            write(path)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_beside(path)
        try:
            write(temporary)
            if durable:
                with temporary.open("r+b") as file:
                    sync(file)
            temporary.replace(path)
            if durable:
                sync_folder(path.parent)
        except BaseException:
            with contextlib.suppress(OSError):  # the first error is the one to report
                temporary.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def _with_reader(pipe: Path) -> Iterator[None]:
    """Hold a named pipe open inside this context; raise OSError at once if nobody reads it."""
    descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    try:
        yield
    finally:
        os.close(descriptor)


def open_ordinary(path: Path) -> BinaryIO:
    """Open an ordinary file to read its bytes; raise OSError for a pipe or a device.

    Both could be read without end, and a pipe without a writer not even begun.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is no ordinary file", str(path))


def read_ordinary(path: Path) -> bytes:
    """Return the bytes of an ordinary file; raise OSError for a pipe or a device."""
    with open_ordinary(path) as file:
        return file.read()


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    write_atomically(
        path,
        lambda temporary: temporary.write_text(
            text, encoding="utf-8", errors=UNWRITABLE
        ),
    )


def write_bytes(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write a file atomically."""
    write_atomically(
        path, lambda temporary: temporary.write_bytes(data), durable=durable
    )


def remove_abandoned(folder: Path) -> int:
    """Remove the temporary files of killed processes, and return how many there were."""
    removed = 0
    if not folder.is_dir():
        return removed
    names = ((root, name) for root, _, names in os.walk(folder) for name in names)
    for root, name in names:
        match = _TEMPORARY.fullmatch(name) if name.endswith(".tmp") else None
        if match is None:
            continue
        path = Path(root, name)
        # Its writer has renamed it, or another process removed it.
        with suppress(OSError):
            # Of this machine's processes it is known which are left, whatever its clock says.
            is_left = (
                not is_running(int(match[2]))
                if match[1] == _HOST
                else time.time() - path.stat().st_mtime > _ABANDONED
            )
            if is_left:
                path.unlink()
                removed += 1
    return removed


def is_running(process: int) -> bool:
    """Return whether a process of this machine is running."""
    if os.name == "nt":  # on Windows, signal 0 would end the process
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it is another user's process
        return True
    return True


def set_aside(path: Path) -> Path:
    """Rename an unreadable file, replacing one set aside earlier, and return its new path."""
    target = path.with_name(f"{path.name}.broken")
    path.replace(target)
    return target
