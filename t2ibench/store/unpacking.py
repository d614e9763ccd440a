"""Making files of packed images again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from t2ibench.store.attempts import row_of
from t2ibench.store.files import sync, write_bytes
from t2ibench.store.images import ImageStore
from t2ibench.store.pack import Member, Pack
from t2ibench.store.pack_index import index_path
from t2ibench.store.packing import THREADS, Report, has_hash, remove_files

Advance = Callable[[int], None]


def unpack(store: ImageStore, *, advance: Advance = lambda _: None) -> Report:
    """Make a file of each image again, and remove the packs; see `alone`."""
    report = Report()
    for one in list(store.packs.packs):
        known = {
            member: attempt
            for member in one.members()
            if (attempt := store.get(member.prompt, member.index)) is not None
            # A pack does not say which prompt was used instead.
            and replace(attempt, revised_prompt=None) == member.attempt()
        }
        with ThreadPoolExecutor(THREADS) as pool:
            for member, taken in zip(
                known, pool.map(partial(_take_out, store, one), known), strict=True
            ):
                if taken is None:
                    report.damaged.append(str(store.path(member.attempt())))
                else:
                    report.images += taken
                    report.size += taken * member.size
        rows = [row_of(attempt) for attempt in known.values()]
        _flush(store.root / str(row["file"]) for row in rows)
        store.write_rows(rows)
        remove_files([one.path, index_path(one.path)])
        report.packs += 1
        advance(len(one))
    store.packs.refresh()
    with contextlib.suppress(OSError):  # it is not empty, or there was none
        store.packs.folder.rmdir()
    store.reload()
    return report


def _take_out(store: ImageStore, one: Pack, member: Member) -> bool | None:
    """Make a file of an image, unless there is the right one."""
    path = store.path(member.attempt())
    with contextlib.suppress(OSError):
        if has_hash(path.read_bytes(), member.sha256):
            return False
    if not one.has_tar():
        return False
    for data in store.packs.candidates(member.key):
        if has_hash(data, member.sha256):
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
