"""Detect damaged model files: Git LFS pointers, web pages and incomplete files.

Libraries report these in words such as 'header too large'. The files are only examined after a
library could not load a model, so that a damaged file that is never read does no harm.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from t2ibench.errors import UNEXPECTED_JSON, shown
from t2ibench.store.file_errors import could_be_endless

_POINTER = b"version https://git-lfs.github.com/spec/"
_POINTER_SIZE = 1024  # bytes; a pointer is smaller
_PAGES = (b"<!doctype html", b"<html", b"<?xml")
_START = 512
_SAFETENSORS = ".safetensors"
PICKLED = {".bin", ".pt", ".pth", ".ckpt"}
_READ = {
    _SAFETENSORS,
    *PICKLED,
    ".json",
    ".txt",
    ".model",
    ".npz",
    ".npy",
    ".gguf",
    ".task",
}
_WEIGHTS = {_SAFETENSORS, *PICKLED}
_INDEX = ".safetensors.index.json"
_LENGTH = 8  # bytes at the start of a safetensors file that say how long its header is
_LONGEST_HEADER = 100_000_000


def weight_file_bytes(folder: Path) -> int:
    """Return the bytes of all weight files of a model's folder, every variant of them included."""
    files = [path for path in folder.rglob("*") if path.suffix in _WEIGHTS]
    return sum(path.stat().st_size for path in files if path.is_file())


@dataclass(frozen=True, slots=True)
class FileDefect:
    """A defect of a model's file, and the next step for the user."""

    reason: str
    hint: str


def find_file_defect(source: Path) -> FileDefect | None:
    """Return the first defect of a file, or of the files in a folder; None if there is none.

    Args:
        source: A file, or a folder with its sub-folders.

    Returns:
        The defect, in words that name the file.
    """
    try:
        for path in _files_of(source):
            name = path.name if path == source else path.relative_to(source).as_posix()
            defect = _defect_of(
                path, shown(name, 200), source if source.is_dir() else path.parent
            )
            if defect is not None:
                return defect
    except OSError:
        return None
    return None


def _files_of(source: Path) -> Iterator[Path]:
    """Yield the files that a library may read; pickled weights only if there are no others."""
    if source.is_file():
        yield source
        return
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        has_safetensors = any(name.endswith(_SAFETENSORS) for name in names)
        for name in sorted(names):
            suffix = Path(name).suffix
            if suffix in _READ and not (has_safetensors and suffix in PICKLED):
                yield Path(folder, name)


def _defect_of(path: Path, name: str, repository: Path) -> FileDefect | None:
    hint = "Download it again, or copy it again."
    if could_be_endless(path):
        return FileDefect(f"{name} is no ordinary file", hint)
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(_START)
    if size < _POINTER_SIZE and start.startswith(_POINTER):
        return FileDefect(
            f"{name} is a Git LFS pointer, not the file itself",
            f"Run `git lfs pull` in {shown(repository, 200)} (`git lfs install` before it, once).",
        )
    is_weights = path.suffix in PICKLED or path.suffix == _SAFETENSORS
    if is_weights and size == 0:
        return FileDefect(f"{name} is empty", hint)
    if start.lstrip().lower().startswith(_PAGES) and path.suffix != ".txt":
        return FileDefect(
            f"{name} is a web page, not the file itself",
            "Download it again: log in where that is asked for, and use the link to the file, "
            "such as `hf download` does.",
        )
    if path.suffix == _SAFETENSORS:
        reason = _safetensors_defect(path, size)
        return None if reason is None else FileDefect(f"{name} {reason}", hint)
    if path.name.endswith(_INDEX):
        return _missing_shard(path, name)
    return None


def _safetensors_defect(path: Path, size: int) -> str | None:
    """Return why a file is not a complete safetensors file, judging by its header; else None."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH), "little")
        if size < _LENGTH or length > _LONGEST_HEADER:
            return "is no safetensors file"
        header = file.read(length)
    if len(header) < length:
        return f"is cut off: it has {size:,} bytes, fewer than its header alone"
    try:
        tensors = json.loads(header)
        ends = [
            _offset(entry["data_offsets"][1])
            for key, entry in tensors.items()
            if key != "__metadata__"
        ]
    except UNEXPECTED_JSON:
        return "is no safetensors file"
    wanted = _LENGTH + length + max(ends, default=0)
    if size < wanted:
        return f"is cut off: it has {size:,} of {wanted:,} bytes"
    return None


def _offset(value: object) -> int:
    """Return a place in a file; raise ValueError if it is no whole number of 63 bits."""
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError
    return value


def _missing_shard(index: Path, name: str) -> FileDefect | None:
    try:
        mapping = json.loads(index.read_bytes())["weight_map"]
        shards = sorted({str(shard) for shard in mapping.values()})
    except UNEXPECTED_JSON:
        return None
    missing = [
        shard for shard in shards if not (index.parent / Path(shard).name).is_file()
    ]
    if not missing:
        return None
    others = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
    file = (Path(name).parent / missing[0]).as_posix()
    return FileDefect(
        f"{shown(file, 200)}{others} is missing: {name} names {len(shards)} files of weights",
        "Download or copy the missing files into the folder.",
    )
