"""The index of a pack: written beside its tar, mapped into memory, or read again from the tar."""

from __future__ import annotations

import json
import mmap
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from t2ibench.store.files import write_bytes
from t2ibench.store.jsonl import checked_row
from t2ibench.store.pack import ORDER, Member, Pack

_FORMAT = "t2ibench pack 1"
_ABOUT = "t2ibench"
_COLUMNS: dict[str, tuple[str, int]] = {  # name to type and width
    "keys": ("u1", 32),
    "hashes": ("u1", 32),
    "index": ("i8", 0),
    "seed": ("u8", 0),
    "offset": ("i8", 0),
    "size": ("i8", 0),
    "tries": ("i4", 0),
    "suffix": ("u1", 0),
    "starts": ("i8", 0),  # of prompts: their first rows, and the end
    "ends": ("i8", 0),  # of prompts: where their texts end
    "texts": ("u1", 0),
}
_TYPES = {"U8": "u1", "I64": "i8", "U64": "u8", "I32": "i4"}


def index_path(pack: Path) -> Path:
    """Where the index of a pack lies."""
    return pack.with_suffix(".index")


def columns_of(members: Sequence[Member]) -> dict[str, npt.NDArray[Any]]:
    """The index of a pack."""
    ordered = sorted(members, key=lambda one: (one.prompt, one.index))
    starts: list[int] = []
    prompts: list[bytes] = []
    before: str | None = None
    for number, one in enumerate(ordered):
        if one.prompt != before:
            starts.append(number)
            prompts.append(one.prompt.encode("utf-8", "surrogatepass"))
            before = one.prompt
    values: dict[str, Any] = {
        "keys": [np.frombuffer(bytes.fromhex(one.key), np.uint8) for one in ordered],
        "hashes": [np.frombuffer(bytes.fromhex(one.sha256), np.uint8) for one in ordered],
        "index": [one.index for one in ordered],
        "seed": [one.seed for one in ordered],
        "offset": [one.offset for one in ordered],
        "size": [one.size for one in ordered],
        "tries": [one.tries for one in ordered],
        "suffix": [ORDER.index(one.suffix) for one in ordered],
        "starts": [*starts, len(ordered)],
        "ends": np.cumsum([len(text) for text in prompts]),
        "texts": np.frombuffer(b"".join(prompts), np.uint8),
    }
    return {
        name: np.asarray(values[name], dtype=kind).reshape((-1, width) if width else -1)
        for name, (kind, width) in _COLUMNS.items()
    }


def write_index(pack: Path, fingerprint: str, members: Sequence[Member]) -> None:
    """Write the index of a pack, atomically: safetensors, with a checksum of all columns."""
    columns = columns_of(members)
    bare = save(columns)
    crc = zlib.crc32(memoryview(bare)[8 + int.from_bytes(bare[:8], "little") :])
    about = {"format": _FORMAT, "fingerprint": fingerprint, "crc32": f"{crc:08x}"}
    # One entry: safetensors writes several in any order.
    write_bytes(index_path(pack), save(columns, {_ABOUT: json.dumps(about)}))


def read_pack(path: Path) -> Pack | None:
    """Open a pack; where its index is damaged or gone, what its tar says is read."""
    try:
        return _read_index(path)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    try:
        fingerprint, members = scan(path)
    except (OSError, ValueError, tarfile.TarError):
        return None
    return Pack(path, fingerprint, columns_of(members), lost=True)


def _read_index(path: Path) -> Pack:
    """Map an index into memory; ValueError and the like say that it is damaged."""
    with index_path(path).open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    begin = 8 + int.from_bytes(mapped[:8], "little")
    header = json.loads(mapped[8:begin])
    about = json.loads(header.pop("__metadata__")[_ABOUT])
    if (
        about["format"] != _FORMAT
        or f"{zlib.crc32(memoryview(mapped)[begin:]):08x}" != about["crc32"]
    ):
        raise ValueError("it is damaged")
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, (kind, _) in _COLUMNS.items():
        entry = header[name]
        start, end = entry["data_offsets"]
        if _TYPES.get(entry["dtype"]) != kind or end > len(mapped) - begin:
            raise ValueError(f"its column {name} is of another form")
        size = int(np.prod(entry["shape"], dtype=np.int64))
        column = np.frombuffer(mapped, kind, size, begin + start)
        columns[name] = column.reshape(entry["shape"])
    return Pack(path, about["fingerprint"], columns)


def scan(path: Path) -> tuple[str, list[Member]]:
    """Read what is in a pack from its tar alone."""
    found: dict[str, tuple[str, int, int]] = {}
    rows: dict[str, dict[str, Any]] = {}
    with tarfile.open(path, "r:") as tar:
        try:
            for info in tar:
                key, dot, suffix = info.name.partition(".")
                if suffix != "json":
                    found[key] = (dot + suffix, info.offset_data, info.size)
                    continue
                stream = tar.extractfile(info) if info.size < 1 << 20 else None
                row = checked_row(stream.read().strip()) if stream else None
                if row is not None:
                    rows[key] = row
        except (tarfile.TarError, EOFError, OSError):
            pass  # torn: what came before counts
    members, fingerprint = [], ""
    for key, row in rows.items():
        if key in found and found[key][0] in ORDER and _is_description(row):
            suffix, offset, size = found[key]
            fingerprint = row["fingerprint"]
            members.append(
                Member(
                    key, row["prompt"], row["index"], row["seed"], row["sha256"], suffix,
                    row.get("tries", 0), offset, size,
                )
            )  # fmt: skip
    return fingerprint, members


def _is_description(row: dict[str, Any]) -> bool:
    texts = all(isinstance(row.get(name), str) for name in ("prompt", "sha256", "fingerprint"))
    return texts and all(isinstance(row.get(name), int) for name in ("index", "seed"))
