"""Folders in the system's place for temporary files, which may be full or missing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.store.file_errors import disk_errors


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a new folder, which is removed at the end as far as that is possible.

    Raises:
        T2IBenchError: no folder for temporary files can be written.
    """
    try:
        parent = Path(tempfile.gettempdir())
    except OSError:
        raise T2IBenchError(
            "No folder for temporary files can be written: neither TMPDIR nor /tmp.",
            "Set TMPDIR to a folder that can be written and has some room.",
        ) from None
    with disk_errors(parent):
        # A process that works in it may write for a moment longer.
        folder = tempfile.TemporaryDirectory(
            prefix="t2ibench-", dir=parent, ignore_cleanup_errors=True
        )
    with folder as path:
        yield Path(path)
