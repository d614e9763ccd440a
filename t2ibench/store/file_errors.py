"""One-line messages on file errors: the problem, its reason, and a remedy."""

from __future__ import annotations

import csv
import errno
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from t2ibench.errors import T2IBenchError, first_line, shown_path

_FULL = {errno.ENOSPC, errno.EDQUOT}
FROM_A_SHELL = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
# What files of users make readers raise.
_UNREADABLE = (
    OSError,
    ValueError,
    OverflowError,
    EOFError,
    csv.Error,
    zlib.error,
    RecursionError,
    MemoryError,
)


def why(error: OSError, path: Path) -> tuple[str, str | None]:
    """Return the reason for an error of the operating system at a path, and a remedy or None."""
    culprit = _in_the_way(path)
    if culprit is not None:
        return culprit
    if error.errno in _FULL:
        return "the disk is full", "Free some space."
    if error.errno == errno.EISDIR:
        return "it is a folder, where a file is expected", "Move the folder away."
    if error.errno in {errno.EEXIST, errno.ENOTEMPTY}:
        # such as another command's, which has written it meanwhile
        return "it exists already", "Choose another place, or remove it."
    words = error.strerror or first_line(error)
    return (
        f"{words[:1].lower()}{words[1:]}",
        "Choose another place, or change its permissions.",
    )


def _in_the_way(path: Path) -> tuple[str, str] | None:
    """Return why a path cannot be used, with a remedy; None if nothing is in the way.

    A dead link or a file where a folder is needed, or a current folder that has been
    deleted.
    """
    try:
        for part in (*reversed(path.parents), path):
            if part.is_symlink() and not part.exists():
                return (
                    f"'{shown_path(part)}' is a link that leads nowhere",
                    "Remove the link.",
                )
            if part != path and part.exists() and not part.is_dir():
                return (
                    f"'{shown_path(part)}' is a file, not a folder",
                    "Choose another place.",
                )
        if not path.is_absolute():
            Path.cwd()
    except FileNotFoundError:
        return "the current folder has been deleted", "Go to a folder that exists (cd)."
    except (
        OSError,
        ValueError,
        RuntimeError,
    ):  # Python before 3.13 raises the last for loops
        return None
    return None


def could_be_endless(path: Path) -> bool:
    """Return whether a path is that of a device, a named pipe, or a socket.

    A device may have no end, and a named pipe is waited for until somebody writes to it. What a
    shell passes on, as <(...) or a pipe, is written by a command that it has started.
    """
    if str(path).startswith(FROM_A_SHELL):
        return False
    kind = path.stat().st_mode
    return not stat.S_ISREG(kind) and not stat.S_ISDIR(kind)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn errors on writing a file inside this context into one clear line."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        where = shown_path(path)
        if isinstance(error, OSError) and error.errno in _FULL:
            raise T2IBenchError(
                f"The disk is full: {where} could not be written.",
                "Everything before it is kept; free some space and run the same command again.",
            ) from error
        if isinstance(error, OSError):
            reason, advice = why(error, path)
        elif isinstance(error, UnicodeEncodeError) or "null" in str(error):
            reason, advice = (
                "no file of this system has such a name",
                "Choose another name.",
            )
        else:
            raise
        raise T2IBenchError(f"{where} cannot be written: {reason}.", advice) from error


@contextmanager
def reading(path: Path, hint: str | None = None) -> Iterator[None]:
    """Turn errors on reading a user's file inside this context into one clear line."""
    where = shown_path(path)
    with suppress(OSError, ValueError):
        if could_be_endless(path):
            raise T2IBenchError(
                f"{where} cannot be read: it is no ordinary file.", hint
            )
    try:
        yield
    except T2IBenchError:
        raise
    except UnicodeDecodeError:
        line = _undecodable_line(path)
        raise T2IBenchError(
            f"{where}{line} is not UTF-8 text.", "Save it as UTF-8."
        ) from None
    except _UNREADABLE as error:
        reason, advice = why_unreadable(error, path)
        raise T2IBenchError(
            f"{where} cannot be read: {reason}.", advice or hint
        ) from None


def read_data(path: Path, largest: int, hint: str | None = None) -> bytes:
    """Return the bytes of a user's file; raise an error if there are more than `largest`."""
    with reading(path, hint), path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(largest + 1) if size <= largest else b""
        if max(size, len(data)) > largest:
            raise ValueError(f"it is larger than {largest // 2**20} MiB")
        return data


def read_text(path: Path, largest: int, hint: str | None = None) -> str:
    """Return the text of a user's file; raise an error above `largest` bytes."""
    data = read_data(path, largest, hint)
    with reading(path, hint):
        return data.decode("utf-8-sig")


def _undecodable_line(path: Path) -> str:
    """Return ':N' with the number of the first line that is not UTF-8; '' if all are."""
    with suppress(OSError), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return f":{number}"
    return ""


def why_unreadable(error: Exception, path: Path) -> tuple[str, str | None]:
    """Return the reason for an error on reading a file, and a remedy or None."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply", None
    if isinstance(error, MemoryError):
        return "it does not fit into memory", "Give a part of it."
    if not isinstance(error, OSError) or error.errno is None:  # gzip's have none
        return first_line(error).rstrip("."), None
    if error.errno == errno.ENOENT and _in_the_way(path) is None:
        return "it does not exist", None
    if error.errno == errno.EISDIR:
        return "it is a folder, where a file is expected", None
    return why(error, path)
