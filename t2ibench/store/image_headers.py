"""Opening of image files with bounds on what decoding would take, from their headers alone."""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from PIL.Image import Image

# Encoders scale the shorter side to that of their network: a file of 400 bytes, one pixel wide and
# 100,000 high, would become five thousand million pixels there.
_MOST_ELONGATED = 100
_ICON = b"\0\0\1\0"
_PNG = b"\x89PNG\r\n\x1a\n"
_MOST_ICONS = 256
# Tags of a TIFF file: the sides of a tile, which is decoded as a whole.
_TILE_WIDTH, _TILE_HEIGHT = 322, 323


class UnreadableImageError(ValueError):
    """Raised with the reason if a file is not an image or cannot be decoded."""


@contextmanager
def opened_image(
    source: bytes | Path, formats: tuple[str, ...], most_pixels: int | None = None
) -> Iterator[Image]:
    """Open an image of which nothing is decoded yet, after checking what its headers say.

    Args:
        source: The file, or what is in it.
        formats: Pillow's names of those that it may have.
        most_pixels: Of the largest image; None for as many as Pillow decodes.

    Raises:
        UnreadableImageError: it is too elongated or too large, or a part of it is.
    """
    from PIL import Image

    if isinstance(source, Path):
        with source.open("rb") as file:
            check_icons(file, most_pixels)
    else:
        check_icons(io.BytesIO(source), most_pixels)
    file_or_path = source if isinstance(source, Path) else io.BytesIO(source)
    with Image.open(file_or_path, "r", formats) as image:
        check_size(image.size, most_pixels)
        _check_tiles(image, most_pixels)
        yield image


def check_icons(file: BinaryIO, most_pixels: int | None) -> None:
    """Check the images within a file of icons (ICO), which Pillow decodes while it opens the file.

    Each is a PNG or a bitmap of its own, of any size, whatever the list of sizes says. A file of
    another format is left alone.
    """
    mark, count = file.read(4), file.read(2)
    if mark != _ICON or len(count) < 2:
        return
    n_icons = int.from_bytes(count, "little")
    if n_icons > _MOST_ICONS:
        raise UnreadableImageError(f"it has {n_icons:,} icons, more than {_MOST_ICONS}")
    table = file.read(16 * n_icons)
    for (place,) in struct.iter_unpack("<12xI", table[: len(table) // 16 * 16]):
        try:
            size = _icon_size(file, place)
        except (OSError, SyntaxError, ValueError):
            # Pillow cannot open this one either, and may decode another.
            continue
        check_size(size, most_pixels)


def _icon_size(file: BinaryIO, place: int) -> tuple[int, int]:
    """Return the size of the icon at a place in a file, as Pillow reads it there."""
    from PIL import BmpImagePlugin, PngImagePlugin

    file.seek(place)
    is_png = file.read(len(_PNG)) == _PNG
    file.seek(place)
    if is_png:
        return PngImagePlugin.PngImageFile(file).size
    # Below the colours is a mask, which counts as half of the height.
    width, height = BmpImagePlugin.DibImageFile(file).size
    return width, max(1, height // 2)


def check_size(size: tuple[int, int], most_pixels: int | None) -> None:
    """Raise an error if an image is too elongated or has too many pixels."""
    check_sides(size)
    check_pixels(size, most_pixels)


def check_sides(size: tuple[int, int]) -> None:
    """Raise an error if one side of an image is more than 100 times the other."""
    if max(size) > _MOST_ELONGATED * min(size):
        width, height = size
        raise UnreadableImageError(
            f"it is {width:,} by {height:,} pixels, one side more than "
            f"{_MOST_ELONGATED} times the other"
        )


def check_pixels(size: tuple[int, int], most_pixels: int | None) -> None:
    """Raise an error if there are too many pixels: more than given, or than Pillow decodes."""
    from PIL import Image

    largest = most_pixels
    if largest is None and Image.MAX_IMAGE_PIXELS is not None:
        # Pillow warns of more than the half.
        largest = 2 * Image.MAX_IMAGE_PIXELS
    n_pixels = math.prod(size)
    if largest is not None and n_pixels > largest:
        raise UnreadableImageError(f"it has {n_pixels:,} pixels, more than {largest:,}")


def _check_tiles(image: Image, most_pixels: int | None) -> None:
    """Raise an error if a tile of a TIFF file has too many pixels: a small image may have one."""
    tags = getattr(image, "tag_v2", None)
    if tags is None or image.format != "TIFF":
        return
    width = tags.get(_TILE_WIDTH)
    height = tags.get(_TILE_HEIGHT)
    if isinstance(width, int) and isinstance(height, int):
        check_pixels((width, height), most_pixels)
