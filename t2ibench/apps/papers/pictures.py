"""Images beside a paper's: rows of small ones, on the page and as one PNG."""

from __future__ import annotations

import base64
import functools
import io
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from t2ibench.errors import T2IBenchError
from t2ibench.results.run import open_run
from t2ibench.store.images import ImageStore, StoredImage
from t2ibench.store.pixels import UnreadableImageError

SHOWN = 6  # images of a row
_SIDE, _GAP, _QUALITY = 112, 6, 75


@dataclass(frozen=True, slots=True)
class Strip:
    """A row of images: what they have in common, and the images."""

    title: str
    images: tuple[StoredImage, ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """A small image on a page.

    Attributes:
        source: A data URI.
        alt: Its prompt and its number, never a guess about who is shown.
    """

    source: str
    alt: str


class Shelf:
    """The images of a run, by prompt.

    Args:
        folder: The run folder; None where only results are at hand.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @functools.cached_property
    def _store(self) -> ImageStore | None:
        try:
            generator = None if self._folder is None else open_run(self._folder).record.generator
        except T2IBenchError:
            return None
        if self._folder is None or generator is None:
            return None
        return ImageStore(self._folder / "images", generator.fingerprint)

    def strip(self, title: str, prompts: Sequence[str], each: int = SHOWN) -> Strip:
        """The first images of some prompts; none is picked by hand."""
        store = self._store
        if store is None:
            return Strip(title, ())
        attempts = (store.get(prompt, index) for prompt in prompts for index in range(each))
        found = (store.image(one) for one in attempts if one is not None and one.status == "ok")
        return Strip(title, tuple(itertools.islice(found, SHOWN)))


def _small(image: StoredImage) -> Image.Image | None:
    """An image of the page's size; None where its file is gone or has changed."""
    try:
        small = image.read()
    except UnreadableImageError:
        return None
    small.thumbnail((_SIDE, _SIDE))
    return small


def tiles(strip: Strip) -> list[Tile]:
    """The images of a row for a page."""
    found = []
    for image in strip.images:
        small = _small(image)
        if small is not None:
            buffer = io.BytesIO()
            small.save(buffer, format="WEBP", quality=_QUALITY)
            text = base64.b64encode(buffer.getvalue()).decode()
            alt = f"{image.prompt}, image {image.index}"
            found.append(Tile(f"data:image/webp;base64,{text}", alt))
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
