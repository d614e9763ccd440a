"""The package's own source code, in one hash: what is cached is renewed when a rule changes."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
# Rules are in modules, in lists of words and in tables.
_KINDS = ("*.py", "*.txt", "*.yaml")


@cache
def source_digest(root: Path = _HERE) -> str | None:
    """Return the SHA-256 over all source files of the package; None if they cannot be read.

    The version alone does not tell one rule from another: between two releases it stays the same.

    Args:
        root: The folder of the package.
    """
    digest = hashlib.sha256()
    try:
        paths = sorted(file for kind in _KINDS for file in root.rglob(kind))
        for path in paths:
            digest.update(f"{path.relative_to(root)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    except OSError:
        return None
    # An archive that Python imports from has no folder to read.
    return digest.hexdigest() if paths else None
