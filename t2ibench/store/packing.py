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
from functools import partial
from pathlib import Path
from typing import BinaryIO

from t2ibench.errors import T2IBenchError
from t2ibench.store.attempts import RANK, Attempt, order, row_of
from t2ibench.store.files import sync, write_atomically, write_bytes
from t2ibench.store.images import ImageStore
from t2ibench.store.jsonl import dump_rows
from t2ibench.store.locks import SILENT, Claims, Notices, locked
from t2ibench.store.pack_index import ORDER, Member, Pack, index_path, write_index
from t2ibench.store.problems import disk_errors

SIZE = 512 * 2**20  # bytes of a pack
MOST = 20_000  # images in one
_BLOCK = tarfile.BLOCKSIZE
_NAME = re.compile(r"images-(\d+)\.(?:tar|index)")
_THREADS = 8
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
    """Work on a run folder while nobody else does.

    Args:
        folder: The run folder.
        notices: Told for whom it waits.

    Yields:
        Nothing.

    Raises:
        T2IBenchError: another process works on it.
    """
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
    """Put the image files of a run into packs, and remove the files; see `alone`.

    Args:
        store: The run's images.
        size: Bytes from which on a pack is full.
        most: Images from which on it is.
        advance: Told how many images are done.

    Returns:
        What was done. A file that does not match its hash stays where it is.

    Raises:
        T2IBenchError: the disk is full or read-only, or does not give back what was written. No
            file is removed that is not in a pack.
    """
    report = Report()
    for lost in (one for one in store.packs.packs if one.lost):
        write_index(lost.path, lost.fingerprint, list(lost.members()))
    files = sorted(_files(store), key=lambda one: (one.prompt, one.index))
    todo = [one for one in files if not _is_packed(store, one, report, advance)]
    images = _undamaged(todo, store, report)
    while members := add_pack(store.packs.folder, store.fingerprint, images, size=size, most=most):
        _remove(store.path(one.attempt()) for one in members)
        report.packs += 1
        report.images += len(members)
        report.size += sum(one.size for one in members)
        advance(len(members))
    store.packs.refresh()
    _thin_out(store)
    _remove_empty(store.root)
    return report


def add_pack(
    folder: Path,
    fingerprint: str,
    images: Iterator[tuple[Attempt, bytes]],
    *,
    size: int = SIZE,
    most: int = MOST,
) -> list[Member]:
    """Write one pack; the disk holds it afterwards, and gives back what was written.

    Args:
        folder: Where packs are.
        fingerprint: The generator's.
        images: Images with their bytes; as many are taken as the pack has room for.
        size: Bytes from which on it is full.
        most: Images from which on it is.

    Returns:
        What was written; empty, and no pack, where there are no images.

    Raises:
        T2IBenchError: the disk is full or read-only, or does not give back what was written.
    """
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
    if not any(_is(data, member.sha256) for data in store.packs.candidates(member.key)):
        return False
    _remove([store.path(attempt)])
    report.images += 1
    advance(1)
    return True


def _is(data: bytes, sha256: str | None) -> bool:
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
        if _is(data, attempt.sha256) and path.suffix in ORDER:
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
    """Compare what the disk holds with every hash.

    Args:
        path: The pack.
        members: What was written to it.

    Raises:
        T2IBenchError: it is something else.
    """
    with disk_errors(path), path.open("rb") as file:
        for one in members:
            file.seek(one.offset)
            if not _is(file.read(one.size), one.sha256):
                raise T2IBenchError(
                    f"{path} does not give back what was written to it.",
                    "Look after the disk. No image was removed; remove that file and try again.",
                )


def _remove(paths: Iterable[Path]) -> None:
    """Remove files; several at once, because most of it is waiting for the disk's journal."""

    def remove(path: Path) -> None:
        with disk_errors(path):
            path.unlink(missing_ok=True)

    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(remove, paths):
            pass


def _remove_empty(root: Path) -> None:
    def remove(folder: Path) -> None:
        with contextlib.suppress(OSError):  # it is not empty
            folder.rmdir()

    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(remove, _folders(root)))


def _thin_out(store: ImageStore) -> None:
    """Leave rows to those images alone that no pack describes."""

    def is_needed(attempt: Attempt) -> bool:
        found = store.packs.find(attempt.prompt, attempt.index)
        return found is None or order(attempt) > (RANK["ok"], found[0].tries(found[1]))

    store.replace_rows(is_needed)


def unpack(store: ImageStore, *, advance: Advance = _ignore) -> Report:
    """Make a file of each image again, and remove the packs; see `alone`.

    Args:
        store: The run's images.
        advance: Told how many images are done.

    Returns:
        What was done. Of a damaged image the hash is kept, and the next run makes it again.

    Raises:
        T2IBenchError: the disk is full or read-only. No pack is removed whose images are not files.
    """
    report = Report()
    for one in list(store.packs.packs):
        newest = [
            member
            for member in one.members()
            if store.get(member.prompt, member.index) == member.attempt()
        ]
        with ThreadPoolExecutor(_THREADS) as pool:
            for member, taken in zip(
                newest, pool.map(partial(_take_out, store, one), newest), strict=True
            ):
                if taken is None:
                    report.damaged.append(str(store.path(member.attempt())))
                else:
                    report.images += taken
                    report.size += taken * member.size
        rows = [row_of(member.attempt()) for member in newest]
        _flush(store.root / str(row["file"]) for row in rows)
        store.write_rows(rows)
        _remove([one.path, index_path(one.path)])
        report.packs += 1
        advance(len(one))
    store.packs.refresh()
    with contextlib.suppress(OSError):  # it is not empty, or there was none
        store.packs.folder.rmdir()
    store.reload()
    return report


def _take_out(store: ImageStore, one: Pack, member: Member) -> bool | None:
    """Make a file of an image, unless there is the right one.

    Args:
        store: The run's images.
        one: The pack.
        member: The image.

    Returns:
        Whether a file was made; None where the image is damaged.
    """
    path = store.path(member.attempt())
    with contextlib.suppress(OSError):
        if _is(path.read_bytes(), member.sha256):
            return False
    if not one.has_tar():
        return False
    for data in store.packs.candidates(member.key):
        if _is(data, member.sha256):
            write_bytes(path, data, durable=False)
            return True
    return None


def _flush(paths: Iterable[Path]) -> None:
    """Have the disk keep files, all together where the system can."""
    if hasattr(os, "sync"):
        os.sync()
        return
    for path in paths:
        with contextlib.suppress(FileNotFoundError), path.open("r+b") as file:
            sync(file)
