"""Checksums that reveal damaged records.

They guard against accidents (a torn write, a bad disk, an edited file), never against a forger.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

KEY = "checksum"


def checksum(data: bytes) -> str:
    """Return the CRC-32 of bytes as eight hexadecimal digits.

    Examples:
        >>> checksum(b"123456789")
        'cbf43926'
    """
    return f"{zlib.crc32(data):08x}"


def row_checksums(
    keys: npt.NDArray[np.uint8], rows: npt.NDArray[np.float32]
) -> npt.NDArray[np.uint32]:
    """Return the CRC-32 of each embedding together with its key."""
    if not keys.size or not rows.size:
        return np.zeros(len(keys), dtype=np.uint32)
    key_bytes = memoryview(np.ascontiguousarray(keys).data).cast("B")
    row_bytes = memoryview(np.ascontiguousarray(rows).data).cast("B")
    k, d = keys.shape[1], rows.shape[1] * rows.itemsize
    sums = [
        zlib.crc32(
            row_bytes[i * d : (i + 1) * d], zlib.crc32(key_bytes[i * k : (i + 1) * k])
        )
        for i in range(len(keys))
    ]
    return np.array(sums, dtype=np.uint32)


def _sum_of(content: Mapping[str, Any]) -> str:
    """Return the checksum of a JSON file's content, independent of spacing and key order."""
    return checksum(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a JSON file with its checksum as the last key."""
    return {**content, KEY: _sum_of(content)}


def unsealed(content: dict[str, Any]) -> bool:
    """Remove the checksum from a JSON file's content, and return whether it was correct."""
    checksum = content.pop(KEY, None)
    try:
        return checksum is None or checksum == _sum_of(content)
    except RecursionError:
        return False
