"""Images beside a paper's: rows of small ones, on the page and as one PNG."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import NamedTuple

from PIL import Image

from t2ibench.store.images import StoredImage
from t2ibench.store.pixels import UnreadableImageError

SHOWN = 6  # images of a row
_SIDE, _GAP, _QUALITY = 112, 6, 75


class Strip(NamedTuple):
    """A row of images: what they have in common, and the images."""

    title: str
    images: tuple[StoredImage, ...]


def _small(image: StoredImage) -> Image.Image | None:
    """An image of the page's size; None where its file is gone or has changed."""
    try:
        small = image.read()
    except UnreadableImageError:
        return None
    small.thumbnail((_SIDE, _SIDE))
    return small


def tiles(strip: Strip) -> list[tuple[str, str]]:
    """Data URIs of a row's images, with their prompts and numbers, never who may be shown."""
    found = []
    for image in strip.images:
        small = _small(image)
        if small is not None:
            buffer = io.BytesIO()
            small.save(buffer, format="WEBP", quality=_QUALITY)
            text = base64.b64encode(buffer.getvalue()).decode()
            found.append((f"data:image/webp;base64,{text}", f"{image.prompt}, image {image.index}"))
    return found


def sheet(strips: Sequence[Strip]) -> bytes | None:
    """Rows of images as one picture, without text: a caption names the rows."""
    rows = [[_small(image) for image in strip.images] for strip in strips]
    if not any(image is not None for row in rows for image in row):
        return None
    step, most = _SIDE + _GAP, max(map(len, rows))
    page = Image.new("RGB", (most * step - _GAP, len(rows) * step - _GAP), "#ffffff")
    for y, row in enumerate(rows):
        for x, image in enumerate(row):
            if image is not None:
                page.paste(image, (x * step, y * step))
    buffer = io.BytesIO()
    page.save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


def caption(strips: Sequence[Strip]) -> str:
    """Which row is what."""
    return f"Rows, from the top: {'; '.join(strip.title for strip in strips)}."
