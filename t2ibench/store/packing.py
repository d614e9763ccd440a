"""Putting a run's images into packs and taking them out again; a kill at any moment loses nothing.

A pack is written and flushed to the disk under a temporary name, renamed, read back and compared
with every hash, and only then are the files removed that it holds. An image is therefore always in
a file or in a pack, at times in both.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from t2ibench.errors import T2IBenchError
from t2ibench.store.attempts import RANK, Attempt, order, row_of
from t2ibench.store.files import write_atomically
from t2ibench.store.images import ImageStore
from t2ibench.store.jsonl import dump_rows
from t2ibench.store.locks import SILENT, Claims, Notices, locked
from t2ibench.store.pack import ORDER, Member
from t2ibench.store.pack_index import write_index
from t2ibench.store.problems import disk_errors

SIZE = 512 * 2**20  # bytes of a pack
MOST = 20_000  # images in one
_BLOCK = tarfile.BLOCKSIZE
_NAME = re.compile(r"images-(\d+)\.(?:tar|index)")
THREADS = 8
_PATIENCE = 5.0  # seconds to wait for a process that writes results

Advance = Callable[[int], None]


def _ignore(_: int) -> None:
    pass


@dataclass(slots=True)
class Report:
    """What packing or unpacking did.

    Attributes:
        images: Images that were moved.
        packs: Packs that were written or removed.
        size: Bytes of the images.
        damaged: Images that are not as they were stored, by their path; the next run makes them
            again.
    """

    images: int = 0
    packs: int = 0
    size: int = 0
    damaged: list[str] = field(default_factory=list)


@contextlib.contextmanager
def alone(folder: Path, notices: Notices = SILENT) -> Iterator[None]:
    """Work on a run folder while nobody else does."""
    with (
        locked(folder, "results", notices, _PATIENCE),
        locked(folder, "packs", notices, _PATIENCE),
    ):
        owner = Claims(folder, notices).at_work()
        if owner is not None:
            raise T2IBenchError(
                f"{owner} is at work on {folder}.", "Run this again when that has ended."
            )
        yield


def pack(
    store: ImageStore,
    *,
    size: int = SIZE,
    most: int = MOST,
    advance: Advance = _ignore,
) -> Report:
    """Put the image files of a run into packs, and remove the files; see `alone`."""
    report = Report()
    for lost in (one for one in store.packs.packs if one.lost):
        write_index(lost.path, lost.fingerprint, list(lost.members()))
    files = sorted(_files(store), key=lambda one: (one.prompt, one.index))
    todo = [one for one in files if not _is_packed(store, one, report, advance)]
    images = _undamaged(todo, store, report)
    while members := add_pack(store.packs.folder, store.fingerprint, images, size=size, most=most):
        remove_files(store.path(one.attempt()) for one in members)
        report.packs += 1
        report.images += len(members)
        report.size += sum(one.size for one in members)
        advance(len(members))
    store.packs.refresh()
    _thin_out(store)
    _remove_empty(store.root)
    return report


def collect(store: ImageStore, least: int = 0) -> int:
    """Put image files into packs while a run may be at work; rows stay as they are.

    A reader that knew the file finds its bytes in the pack.
    """
    report = Report()
    todo = [one for one in _files(store) if not _is_packed(store, one, report, _ignore)]
    todo.sort(key=lambda one: (one.prompt, one.index))
    if not todo or (least and sum(_size(store.path(one)) for one in todo) < least):
        return 0
    images, count = _undamaged(todo, store, report), 0
    while members := add_pack(store.packs.folder, store.fingerprint, images):
        remove_files(store.path(one.attempt()) for one in members)
        count += len(members)
    return count


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def add_pack(
    folder: Path,
    fingerprint: str,
    images: Iterator[tuple[Attempt, bytes]],
    *,
    size: int = SIZE,
    most: int = MOST,
) -> list[Member]:
    """Write one pack; the disk holds it afterwards, and gives back what was written."""
    first = next(images, None)
    if first is None:
        return []
    path = _next(folder)
    members: list[Member] = []

    def write(temporary: Path) -> None:
        with temporary.open("wb") as tar:
            members.append(_add(tar, *first, fingerprint))
            while tar.tell() < size and len(members) < most and (one := next(images, None)):
                members.append(_add(tar, *one, fingerprint))
            tar.write(bytes(2 * _BLOCK))

    write_atomically(path, write)
    _read_back(path, members)
    write_index(path, fingerprint, members)
    return members


def _files(store: ImageStore) -> list[Attempt]:
    """The images that have a file of their own."""
    there: set[str] = set()
    for folder in _folders(store.root):
        there.update(f"{folder.name}/{name}" for name in os.listdir(folder))  # noqa: PTH208
    return [one for one in store.all_attempts() if one.file in there]


def _folders(root: Path) -> list[Path]:
    return sorted(path for path in root.glob("??") if path.is_dir() and not path.is_symlink())


def _is_packed(store: ImageStore, attempt: Attempt, report: Report, advance: Advance) -> bool:
    """Whether a pack has an image already, as a killed call leaves it; its file is removed then."""
    found = store.packs.find(attempt.prompt, attempt.index)
    if found is None or not found[0].has(found[1]):
        return False
    member = found[0].member(found[1], attempt.prompt)
    if member.sha256 != attempt.sha256 or member.tries < attempt.tries:
        return False
    if not any(has_hash(data, member.sha256) for data in store.packs.candidates(member.key)):
        return False
    remove_files([store.path(attempt)])
    report.images += 1
    advance(1)
    return True


def has_hash(data: bytes, sha256: str | None) -> bool:
    """Whether bytes are those that were stored."""
    return hashlib.sha256(data).hexdigest() == sha256


def _undamaged(
    attempts: Iterable[Attempt], store: ImageStore, report: Report
) -> Iterator[tuple[Attempt, bytes]]:
    """Images with the bytes of their files; those that are not as they were stored are noted."""
    for attempt in attempts:
        path = store.path(attempt)
        try:
            data = path.read_bytes()
        except OSError:
            data = b""
        if has_hash(data, attempt.sha256) and path.suffix in ORDER:
            yield attempt, data
        else:
            report.damaged.append(str(path))


def _add(tar: BinaryIO, attempt: Attempt, data: bytes, fingerprint: str) -> Member:
    """Add an image, and what is known of it, to a tar."""
    offset, suffix = tar.tell(), "." + (attempt.file or "").rpartition(".")[2]
    row = {name: value for name, value in row_of(attempt).items() if name not in {"file", "status"}}
    about = dump_rows([{**row, "fingerprint": fingerprint}], checked=True)
    tar.write(_entry(attempt.key + suffix, data))
    tar.write(_entry(f"{attempt.key}.json", about))
    return Member(
        attempt.key,
        attempt.prompt,
        attempt.index,
        attempt.seed,
        attempt.sha256 or "",
        suffix,
        attempt.tries,
        offset + _BLOCK,
        len(data),
    )


def _entry(name: str, data: bytes) -> bytes:
    """A file of a tar: always the same bytes for the same content."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    return info.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % _BLOCK)


def _next(folder: Path) -> Path:
    """The first number behind those of the packs that are there, or were."""
    try:
        names = [_NAME.fullmatch(path.name) for path in folder.iterdir()]
    except OSError:
        names = []
    numbers = [int(found[1]) for found in names if found]
    return folder / f"images-{max(numbers, default=-1) + 1:06d}.tar"


def _read_back(path: Path, members: Iterable[Member]) -> None:
    """Compare what the disk holds with every hash."""
    with disk_errors(path), path.open("rb") as file:
        for one in members:
            file.seek(one.offset)
            if not has_hash(file.read(one.size), one.sha256):
                raise T2IBenchError(
                    f"{path} does not give back what was written to it.",
                    "Look after the disk. No image was removed; remove that file and try again.",
                )


def remove_files(paths: Iterable[Path]) -> None:
    """Remove files; several at once, because most of it is waiting for the disk's journal."""

    def remove(path: Path) -> None:
        with disk_errors(path):
            path.unlink(missing_ok=True)

    with ThreadPoolExecutor(THREADS) as pool:
        for _ in pool.map(remove, paths):
            pass


def _remove_empty(root: Path) -> None:
    def remove(folder: Path) -> None:
        with contextlib.suppress(OSError):  # it is not empty
            folder.rmdir()

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(remove, _folders(root)))


def _thin_out(store: ImageStore) -> None:
    """Leave rows to those images alone that no pack describes, or not in full."""

    def is_needed(attempt: Attempt) -> bool:
        if attempt.revised_prompt is not None:  # packs do not say it
            return True
        found = store.packs.find(attempt.prompt, attempt.index)
        return found is None or order(attempt) > (RANK["ok"], found[0].tries(found[1]))

    store.replace_rows(is_needed)
