"""Paths that users write: any text becomes a path, which need not be one of an existing file."""

from __future__ import annotations

import os
from pathlib import Path


def expanded(text: str | Path) -> Path:
    """Return a path whose '~' is the user's home; as it was given where nobody knows the home.

    Examples:
        >>> expanded("~no-such-user/images").name
        'images'
    """
    try:
        return Path(os.path.expanduser(text))  # noqa: PTH111  pathlib's raises
    except ValueError:  # a NUL in the name of a user
        return Path(text)


def resolved(path: Path) -> Path:
    """Return a path without links; as it was given where they lead in a circle."""
    try:
        return path.resolve()
    # RuntimeError: of Python before 3.13, for a circle; ValueError: a NUL
    except (OSError, RuntimeError, ValueError):
        return path


def matching(folder: Path, pattern: str) -> list[Path]:
    """Return the paths in a folder that match a pattern, sorted; none if there is no such folder.

    Examples:
        >>> matching(Path("no such folder"), "*.yaml")
        []
    """
    try:
        return sorted(folder.glob(pattern))
    except ValueError:  # a NUL, with Python 3.13
        return []
