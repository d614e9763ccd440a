"""Encoding of a stranger's pictures, in a process of its own that imports little else."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.pixels import read_image, thumbnail

SIDE = 256  # pixels of the longer side
QUALITY = 85  # of a JPEG


def encode(folder: Path, names: Sequence[str]) -> dict[str, str] | str:
    """Return the pictures, encoded anew as JPEG in Base64; or what is wrong with one of them."""
    encoded = {}
    for name in names:
        data = (folder / name).read_bytes()
        try:
            # The size is known before anything is decoded.
            if problem := _problem_of_header(data):
                return f"{name} {problem}"
            small = thumbnail_of_jpeg(data)
        except UnreadableImageError as error:
            return f"{name}: {error}"
        encoded[name] = base64.b64encode(small).decode()
    return encoded


def _problem_of_header(data: bytes) -> str | None:
    try:
        with Image.open(io.BytesIO(data), "r", ("JPEG",)) as image:
            if max(image.size) > SIDE:
                return f"has more than {SIDE} pixels a side"
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        return f"is not a JPEG ({type(error).__name__})"
    return None


def thumbnail_of_jpeg(data: bytes) -> bytes:
    """Return a JPEG with the pixels of another, and with nothing else that it holds."""
    read_image(data, ("JPEG",))  # an error if it is damaged
    return thumbnail(data, SIDE, QUALITY)
