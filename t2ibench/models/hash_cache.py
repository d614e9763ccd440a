"""Hashes of large model files, stored in the user's cache folder between commands.

A stored hash counts only while the file is the same one: its size, device, inode, and the times of
its last change of content and of status. A program can set the first of these times back, not the
second, so weights that were changed in place are hashed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.store.files import write_bytes

# The variable that names another folder than ~/.cache/t2ibench.
FOLDER = "T2IBENCH_CACHE"

# Smaller files are hashed faster than they are looked up and compared.
LEAST_BYTES = 16 * 1024 * 1024
# A file that changed so recently could change again within the resolution of its times.
_SETTLED = 3.0  # seconds


def cached_hash(path: Path, compute: Callable[[Path], str]) -> str:
    """Return the hash of a file, computed unless the file is as it was when it was last computed.

    Args:
        path: The file; links are followed.
        compute: Returns its hash.

    Returns:
        What `compute` returned for this content of the file.
    """
    before = path.stat()
    if before.st_size < LEAST_BYTES:
        return compute(path)
    state = _state(before)
    stored = _stored(path)
    if stored.get("state") == state:
        return str(stored["hash"])
    digest = compute(path)
    settled = max(before.st_mtime, before.st_ctime) < time.time() - _SETTLED
    if settled and _state(path.stat()) == state:
        _store(path, {"state": state, "hash": digest})
    return digest


def _stored(path: Path) -> dict[str, Any]:
    """Return what is stored of a file; nothing if it is missing or damaged."""
    try:
        stored = json.loads(_place(path).read_text(encoding="utf-8"))
    # A RecursionError is a RuntimeError, too.
    except (OSError, ValueError, RuntimeError):
        return {}
    return stored if isinstance(stored, dict) and "hash" in stored else {}


def _store(path: Path, values: dict[str, Any]) -> None:
    """Store the hash of a file; a cache folder that cannot be written costs only time."""
    with contextlib.suppress(OSError, RuntimeError, T2IBenchError):
        place = _place(path)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_bytes(place, json.dumps(values).encode(), durable=False)


def _state(status: os.stat_result) -> list[int]:
    """Return what differs between two states of one file."""
    return [
        status.st_size,
        status.st_dev,
        status.st_ino,
        status.st_mtime_ns,
        status.st_ctime_ns,
    ]


def _place(path: Path) -> Path:
    """Return where a file's hash is stored; RuntimeError if the user has no home."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]
    given = os.environ.get(FOLDER)
    cache = Path(given) if given else Path.home() / ".cache" / "t2ibench"
    return cache / "hashes" / f"{name}.json"
