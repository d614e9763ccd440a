"""The thumbnails of a submission: small, plain JPEGs of its own images."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from t2ibench.store.images import Attempt
from t2ibench.store.pixels import UnreadableImageError, read_image, thumbnail

SIZE, QUALITY = 96, 80  # pixels of the longest side; of the JPEG
SHOWN_IMAGES = 2  # of a prompt
_LARGEST = 60_000  # bytes
_ALIKE = 4.0  # mean difference of a channel, of 255: what another JPEG encoder makes
_NOT_JPEG = f"is not a plain JPEG of at most {SIZE} pixels"
# Segments that Pillow writes without metadata: JFIF, tables, frame, start of scan.
_JFIF, _SCAN, _END = 0xE0, 0xDA, 0xD9
_PLAIN_SEGMENTS = {_JFIF, 0xDB, 0xC0, 0xC1, 0xC2, 0xC4, 0xDD, _SCAN}
# The next marker after a scan: 0xFF00 and restart markers belong to the scan.
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7]")


def thumbnails(folder: Path) -> list[Path]:
    """The thumbnails of a submission."""
    return sorted((folder / "thumbs").glob("*.jpg"))


def thumbnail_problems(folder: Path, attempts: Sequence[Attempt]) -> Iterator[str]:
    """Thumbnails that do not show images of the submission, or hold more than an image."""
    keys = {attempt.key for attempt in attempts if attempt.status == "ok"}
    for path in thumbnails(folder):
        name = f"thumbs/{path.name}"
        if path.stem not in keys:
            yield f"{name} does not belong to any image of the submission"
        elif path.stat().st_size > _LARGEST or not _is_small(data := path.read_bytes()):
            yield f"{name} {_NOT_JPEG}"
        elif not is_bare(data):
            yield f"{name} holds more than an image: metadata, or bytes after its end"


def _is_small(data: bytes) -> bool:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data), "r", ("JPEG",)) as image:
            if max(image.size) > SIZE:  # told from the header, before anything is decoded
                return False
        read_image(data, ("JPEG",))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return False
    return True


def is_bare(data: bytes) -> bool:
    """Whether a JPEG holds its image and nothing else."""
    if data[:2] != b"\xff\xd8" or data[-2:] != b"\xff\xd9":
        return False
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            return False
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == _END:
            return at + 2 == len(data)
        if marker not in _PLAIN_SEGMENTS or (marker == _JFIF and length != 16) or length < 2:
            return False
        at += 2 + length
        if marker == _SCAN:
            found = _MARKER.search(data, at)
            at = found.start() if found else len(data)
    return at + 2 == len(data) and data[at:] == b"\xff\xd9"


def shows(path: Path, image: bytes) -> bool:
    """Whether a thumbnail is that of an image."""
    again, given = thumbnail(image, SIZE, QUALITY), path.read_bytes()
    if given == again:
        return True
    try:
        one, other = (np.asarray(read_image(data, ("JPEG",)), float) for data in (given, again))
    except UnreadableImageError:
        return False
    return one.shape == other.shape and float(np.abs(one - other).mean()) <= _ALIKE
