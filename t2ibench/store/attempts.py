"""What is known of each image: one row for every attempt to generate it."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".avif", ".bmp", ".gif", ".tif", ".tiff"}
RANK = {"failed": 0, "refused": 1, "filtered": 1, "ok": 2}
_FEW = 64  # files that are looked up one by one
_FILE = re.compile(r"([0-9a-f]{2})/\1[0-9a-f]{62}(\.[a-z]{3,4})")


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


def is_sound(status: str, sha256: str | None, file: str | None) -> bool:
    """Whether a row says of an image what this program would say.

    It may come from somebody else's run: the path must be one that `ImageStore` writes. A
    submission has the hashes of its images without their files.
    """
    if status not in RANK or (status == "ok" and not sha256):
        return False
    found = None if file is None else _FILE.fullmatch(file)
    return file is None or (found is not None and found[2] in SUFFIXES)


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
