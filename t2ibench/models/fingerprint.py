"""Fingerprints: SHA-256 over everything that decides the output of a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from t2ibench.models.downloads import snapshot_of
from t2ibench.models.hash_cache import cached_hash
from t2ibench.models.locations import exists, is_path, no_folder
from t2ibench.store.files import open_ordinary
from t2ibench.store.user_paths import expanded

T = TypeVar("T")

_WHOLE = 64 * 1024 * 1024  # files up to this size are hashed from end to end
_BLOCK = 1024 * 1024
_SAMPLES = 64
_THREADS = 8
_SKIPPED = {".md", ".txt.lock", ".png", ".jpg", ".gitattributes"}


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file.

    Of files above 64 MB it covers the size and 64 evenly spaced blocks of 1 MB, the first and the
    last among them: enough to tell two sets of weights apart, in a fraction of the time. Hashes of
    large files are kept between commands (see `hash_cache`). A pipe or a device raises OSError.
    """
    return cached_hash(path, _computed_hash)


def _computed_hash(path: Path) -> str:
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with open_ordinary(path) as file:
        if size <= _WHOLE:
            for block in iter(lambda: file.read(_BLOCK), b""):
                digest.update(block)
        else:
            for number in range(_SAMPLES):
                file.seek((size - _BLOCK) * number // (_SAMPLES - 1))
                digest.update(file.read(_BLOCK))
    return digest.hexdigest()


def folder_hash(folder: Path) -> str:
    """Return the SHA-256 over a model folder's names and contents, except images and readmes."""
    files = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        if path.is_file() and path.suffix not in _SKIPPED and not hidden:
            files[relative.as_posix()] = path
    digest = hashlib.sha256()
    # hashlib lets other threads work meanwhile.
    with ThreadPoolExecutor(_THREADS) as threads:
        hashes = threads.map(file_hash, files.values())
        for name, sha256 in zip(files, hashes, strict=True):
            digest.update(f"{name}\0{sha256}\n".encode())
    return digest.hexdigest()


def in_background(call: Callable[[], T]) -> Callable[[], T]:
    """Start a call in a thread, and return a function that waits for its result.

    The function raises what the call raises. Weights are hashed this way while tasks are read, and
    not while the model loads: a run's folder, and what it still lacks, are found by fingerprint,
    and a model of which nothing is missing is not loaded at all.
    """
    thread = ThreadPoolExecutor(1)
    result = thread.submit(call).result
    thread.shutdown(wait=False)
    return result


def fingerprint(parts: Mapping[str, Any] | None = None, /, **more: Any) -> str:
    """Return the SHA-256 over named JSON values, which does not depend on their order.

    Examples:
        >>> fingerprint({"a": 1, "b": 2}) == fingerprint(b=2, a=1)
        True
    """
    text = json.dumps(
        {**(parts or {}), **more},
        sort_keys=True,
        ensure_ascii=False,
        separators=(",", ":"),
    )
    # The name of a folder that is not UTF-8 has halves of surrogate pairs in it.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def find_weights(source: str, scheme: str) -> tuple[str, Callable[[], Any]]:
    """Return a model's folder or hub id, and a function that identifies its weights."""
    if is_path(source):
        folder = expanded(source) if exists(source) else Path()
        if not exists(source) or not folder.is_dir():
            raise no_folder(source, f"Check the path after {scheme}")
        return str(folder), lambda: folder_hash(folder)
    return source, lambda: [source, hub_revision(source, None)]


def hub_revision(repo_id: str, revision: str | None) -> str:
    """Return the commit of a hub repository, from the hub or else from the local cache.

    Where neither knows it, return the given revision, or 'main'.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.constants import HF_HUB_OFFLINE

    if not HF_HUB_OFFLINE:
        try:
            sha = HfApi().model_info(repo_id, revision=revision, timeout=5).sha
            if sha:
                return sha
        except (
            Exception
        ):  # unreachable, private or removed: loading it raises the proper error
            pass
    snapshot = snapshot_of(repo_id, revision)
    return snapshot.name if snapshot is not None else revision or "main"
