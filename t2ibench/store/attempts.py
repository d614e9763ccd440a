"""What is known of each image: one row for every attempt to generate it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff"}
RANK = {"failed": 0, "refused": 1, "filtered": 1, "ok": 2}
_ALWAYS = ("key", "prompt", "index", "seed", "status")
_OFTEN = ("file", "sha256", "reason", "revised_prompt")
_FEW = 64  # files that are looked up one by one


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at one image.

    Attributes:
        key: Which image.
        prompt: Its prompt.
        index: Which sample of the prompt.
        seed: Its seed.
        status: 'ok', 'refused', 'filtered' or 'failed'.
        file: Path of the image below images/, for status 'ok'.
        sha256: Hash of that file.
        reason: Why the attempt gave no image.
        tries: Attempts before this one.
        revised_prompt: The prompt that the model says it used instead.
    """

    key: str
    prompt: str
    index: int
    seed: int
    status: str
    file: str | None = None
    sha256: str | None = None
    reason: str | None = None
    tries: int = 0
    revised_prompt: str | None = None


def image_key(fingerprint: str, prompt: str, index: int) -> str:
    """SHA-256 hex of what decides an image."""
    text = f"{fingerprint}\0{index}\0{prompt}"
    # A row that somebody else wrote may hold half a surrogate pair.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def order(attempt: Attempt) -> tuple[int, int]:
    """What outranks what: an image a failed attempt, and a later attempt an earlier one."""
    return RANK[attempt.status], attempt.tries


def attempt_of(row: dict[str, Any]) -> Attempt | None:
    """The record in a row of a JSON Lines file."""
    try:
        attempt = Attempt(
            key=str(row["key"]),
            prompt=str(row["prompt"]),
            index=int(row["index"]),
            seed=int(row["seed"]),
            status=str(row["status"]),
            file=row.get("file"),
            sha256=row.get("sha256"),
            reason=row.get("reason"),
            tries=int(row.get("tries", 0)),
            revised_prompt=None if (said := row.get("revised_prompt")) is None else str(said),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    if attempt.status not in RANK:
        return None
    if attempt.file is not None:
        # Rows may come from somebody else's run folder: the path must be the one we would write.
        stem, dot, suffix = attempt.file.rpartition(".")
        if stem != f"{attempt.key[:2]}/{attempt.key}" or f"{dot}{suffix}" not in SUFFIXES:
            return None
    return attempt if attempt.status != "ok" or (attempt.file and attempt.sha256) else None


def row_of(attempt: Attempt) -> dict[str, Any]:
    """An attempt as a row of a JSON Lines file."""
    row: dict[str, Any] = {name: getattr(attempt, name) for name in _ALWAYS}
    row |= {name: value for name in _OFTEN if (value := getattr(attempt, name)) is not None}
    return {**row, "tries": attempt.tries} if attempt.tries else row


def absent_files(root: Path, files: Iterable[str]) -> set[str]:
    """Which files are not there: one listing a folder, where a look at each would take minutes."""
    by_folder: dict[str, list[str]] = {}
    for file in files:
        by_folder.setdefault(file[:2], []).append(file)
    absent: set[str] = set()
    for folder, wanted in by_folder.items():
        if len(wanted) <= _FEW and sum(map(len, by_folder.values())) <= _FEW:
            absent.update(file for file in wanted if not (root / file).is_file())
            continue
        try:
            names = set(os.listdir(root / folder))  # noqa: PTH208  # names alone, no paths
        except (OSError, ValueError):  # ValueError: a name that no folder can have
            names = set()
        absent.update(file for file in wanted if file[3:] not in names)
    return absent
