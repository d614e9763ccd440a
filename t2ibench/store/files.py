"""Files: writing them so that a kill leaves the old one or the new one, never half; their order."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path

from t2ibench.store.problems import disk_errors

UNWRITABLE = "backslashreplace"  # what is done with half of a surrogate pair
_counter = itertools.count()


def natural_key(name: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key that orders the numbers in names by their value.

    Args:
        name: The name of a file, folder or task.

    Returns:
        Its runs of digits, as numbers, and what is between them.

    Examples:
        >>> sorted(["task_10", "task_9"], key=natural_key)
        ['task_9', 'task_10']
    """
    parts = re.findall(r"\d+|\D+", name)
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in parts)


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it.

    Args:
        path: Where the file goes; folders are created.
        write: Gets the temporary path and writes to it.

    Raises:
        T2IBenchError: the path cannot be written to.
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{next(_counter)}.tmp")
        try:
            write(temporary)
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):  # what went wrong first is what is said
                temporary.unlink(missing_ok=True)
            raise


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically.

    Args:
        path: Where the file goes; folders are created.
        text: Its content, written as UTF-8; what UTF-8 cannot hold (half of a surrogate pair, as
            file names of another encoding have it) is written as its escape, which JSON reads back.

    Raises:
        T2IBenchError: the path cannot be written to.
    """
    write_atomically(
        path,
        lambda temporary: temporary.write_text(text, encoding="utf-8", errors=UNWRITABLE),
    )


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically.

    Args:
        path: Where the file goes; folders are created.
        data: Its content.

    Raises:
        T2IBenchError: the path cannot be written to.
    """
    write_atomically(path, lambda temporary: temporary.write_bytes(data))


def set_aside(path: Path) -> Path:
    """Rename a file that cannot be read, so that a new one can be written and nothing is lost.

    Args:
        path: The file.

    Returns:
        Its new name, 'run.json.broken' or with a number.
    """
    for number in itertools.count(1):
        target = path.with_name(f"{path.name}.broken{'' if number == 1 else f'-{number}'}")
        if not target.exists():
            path.rename(target)
            return target
    raise AssertionError  # the count does not end
