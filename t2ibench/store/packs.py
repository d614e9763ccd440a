"""Packs: many images in a few tar files, each with an index of what is in it and where.

A pack is a WebDataset shard: an uncompressed tar with `<key>.png` and `<key>.json` for each image,
byte for byte the files that were packed, so that every hash stays. `tar`, webdataset and
`datasets.load_dataset("webdataset")` read it. Beside it lies an index of columns, sorted by prompt,
which is mapped into memory: a store of a million images opens without a million rows being read,
and one image is one `seek` away.

Why not Parquet: images are compressed already, so columns gain nothing; one image costs a whole
page; a torn footer costs the file. Here a damaged member costs itself alone, a lost index is read
again from the tar, and both are files that are written once, which is what object stores want.
`t2ibench export --format datasets` writes Parquet.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from t2ibench.store.pack import Pack
from t2ibench.store.pack_index import read_pack

FOLDER = "packs"  # below images/
_KEY = re.compile(r"[0-9a-f]{64}")
_KEPT = 32  # run folders whose packs are kept open


class Packs:
    """The packs of a run.

    Args:
        root: The run folder's images/.
        fingerprint: The generator's; packs of another one are left alone. None takes all.
    """

    def __init__(self, root: Path, fingerprint: str | None = None) -> None:
        self.folder = root / FOLDER
        self.packs: list[Pack] = []
        self._fingerprint = fingerprint
        self._seen: tuple[tuple[str, int, int], ...] = ()
        self._prompts: dict[str, list[tuple[Pack, int, int]]] = {}
        self._heads: tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]] | None = None
        self.refresh()

    def refresh(self) -> bool:
        """Look which packs there are: one look at the folder, and one at each file in it."""
        names = pack_files(self.folder)
        if names == self._seen:
            return False
        stems = sorted({name.rpartition(".")[0] for name, _, _ in names})
        read = (read_pack(self.folder / f"{stem}.tar") for stem in stems)
        self.packs = [
            pack
            for pack in read
            if pack is not None and self._fingerprint in {None, pack.fingerprint}
        ]
        prompts: dict[str, list[tuple[Pack, int, int]]] = {}
        for pack in self.packs:
            for number, prompt in enumerate(pack.prompts()):
                prompts.setdefault(prompt, []).append((pack, *pack.rows_of(number)))
        self._prompts, self._heads, self._seen = prompts, None, names
        return True

    def __len__(self) -> int:
        """Images in all packs; one that was generated again counts as often as it was packed."""
        return sum(map(len, self.packs))

    def find(self, prompt: str, index: int) -> tuple[Pack, int] | None:
        """The newest image of a prompt and an index."""
        best: tuple[Pack, int] | None = None
        for pack, start, end in self._prompts.get(prompt, ()):
            row = pack.row(start, end, index)
            if row is not None and (best is None or pack.tries(row) >= best[0].tries(best[1])):
                best = pack, row
        return best

    def by_key(self, key: str) -> list[tuple[Pack, int]]:
        """All images of a key, the latest pack first."""
        if self._heads is None:
            heads = [pack.heads() for pack in self.packs]
            joined = np.concatenate(heads) if heads else np.zeros(0, np.uint64)
            order = np.argsort(joined, kind="stable")
            self._heads = joined[order], order
        sorted_heads, order = self._heads
        head = np.uint64(int(key[:16], 16))
        first, last = (int(np.searchsorted(sorted_heads, head, side)) for side in ("left", "right"))
        found = []
        for place in order[first:last][::-1].tolist():
            for pack in self.packs:
                if place < len(pack):
                    found.append((pack, place))
                    break
                place -= len(pack)  # noqa: PLW2901
        return found

    def candidates(self, key: str) -> Iterator[bytes]:
        """The bytes of every image of a key; whether they are as stored, their hash tells."""
        for pack, row in self.by_key(key):
            try:
                found, data = pack.read(row)
            except OSError:
                continue
            if found == key:
                yield data

    def newest(self) -> Iterator[tuple[Pack, int, str]]:
        """Each image of the packs once: pack, row and prompt."""
        for prompt, places in self._prompts.items():
            rows: dict[int, tuple[Pack, int]] = {}
            for pack, start, end in places:
                for row in range(start, end):
                    index = pack.index(row)
                    best = rows.get(index)
                    if best is None or pack.tries(row) >= best[0].tries(best[1]):
                        rows[index] = pack, row
            yield from ((pack, row, prompt) for pack, row in rows.values())


def pack_files(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, size and time of each file of a folder of packs."""
    try:
        with os.scandir(folder) as entries:
            found = [
                (entry.name, entry.stat().st_size, entry.stat().st_mtime_ns)
                for entry in entries
                if entry.name.endswith((".tar", ".index")) and not entry.name.startswith(".")
            ]
    except (OSError, ValueError):  # ValueError: a name that no folder can have
        return ()
    return tuple(sorted(found))


_shared: dict[Path, Packs] = {}
_lock = threading.Lock()


def packed_bytes(path: Path) -> Iterator[bytes]:
    """What packs hold of an image file that is not there, or not as it was stored."""
    root, key = path.parent.parent, path.stem
    if not _KEY.fullmatch(key):
        return
    with _lock:
        packs = _shared.get(root)
        if packs is None:
            if not (root / FOLDER).is_dir():
                return
            if len(_shared) >= _KEPT:
                _shared.clear()
            packs = _shared[root] = Packs(root)
    yield from packs.candidates(key)
    with _lock:  # none is right: packs may have come or gone since the last look
        changed = packs.refresh()
    if changed:
        yield from packs.candidates(key)
