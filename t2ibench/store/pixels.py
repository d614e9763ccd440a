"""Decoding of images to a common form: upright, RGB, eight bits a channel."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.store.image_headers import (
    UnreadableImageError,
    check_size,
    opened_image,
)

if TYPE_CHECKING:
    from PIL.Image import Image

    from t2ibench.arrays import Float32Array, Float64Array

# Cells a side, of brightness and of each colour.
_FINE, _COARSE = 16, 2
_CELLS = _FINE**2 + 2 * _COARSE**2
# Re-encoding moves a cell by at most 1.9 levels of 255 (JPEG from quality 50 and WebP from 80, 256
# pixels a side) or 3.4 (JPEG from 75, 64 pixels). Of 7,140 pairs of toyland's images of the prompt
# whose images differ least, of 64 pixels, the nearest two differ by 4.4; of all 18,541 images of
# the default tasks by 7.5; of 40 photographs by 130.
_LEVELS = 3.8
_STEP = 4.0  # levels of mean brightness, more than the above
_SIXTEEN_BITS = ("I;16", "I;16B", "I;16L", "I;16N")


# The formats that are read, whatever a file is called, by what Pillow calls them. Others are not
# tried: Pillow has Ghostscript run the program that an EPS file is, and IPTC may contain a file of
# any format. TGA comes last, since its files do not begin with a mark.
READ_FORMATS = (
    "PNG",
    "JPEG",
    "GIF",
    "BMP",
    "PPM",
    "WEBP",
    "AVIF",
    "TIFF",
    "DIB",
    "JPEG2000",
    "ICO",
    "PCX",
    "SGI",
    "QOI",
    "DDS",
    "PSD",
    "TGA",
)
# The formats whose files have a name of their own here. Pillow reads MPO as JPEG.
_SUFFIXES = {
    "PNG": (".png",),
    "JPEG": (".jpg", ".jpeg"),
    "MPO": (".jpg", ".jpeg"),
    "WEBP": (".webp",),
    "AVIF": (".avif",),
    "GIF": (".gif",),
    "BMP": (".bmp",),
    "TIFF": (".tif", ".tiff"),
}


def read_image(
    source: bytes | Path,
    formats: tuple[str, ...] | None = None,
    most_pixels: int | None = None,
) -> Image:
    """Return a decoded image in its display orientation.

    The orientation that a camera noted (EXIF) is applied, 16-bit images are scaled to 8 bits
    rather than clipped, and transparent pixels are put on white. Files of other formats, such as
    EPS, are refused, and so are images of which one side is more than 100 times the other.

    Args:
        source: The file, or what is in it.
        formats: Pillow's names of those that it may have; None for `READ_FORMATS`.
        most_pixels: Of the largest image; None for as many as Pillow decodes.
    """
    from PIL import ImageOps

    try:
        with opened_image(source, formats or READ_FORMATS, most_pixels) as image:
            image.load()
            # A header that another format's decoder does not check may say less than there is.
            check_size(image.im.size, most_pixels)
            # In place, because a copy of the pixels would have to be copied again as RGB.
            ImageOps.exif_transpose(image, in_place=True)
            return as_rgb(image)
    except (UnreadableImageError, MemoryError):
        raise
    except Exception as error:  # each decoder raises its own kinds for damaged files
        raise UnreadableImageError(
            f"it cannot be read as an image ({type(error).__name__})"
        ) from error


def image_format(data: bytes) -> str:
    """Return Pillow's name of an image file's format, such as 'PNG'."""
    with opened_image(data, READ_FORMATS) as image:
        return image.format or ""


def file_suffix(data: bytes, name: str) -> str:
    """Return a suffix that fits an image file's content: its own if that fits."""
    fitting = _SUFFIXES.get(image_format(data), (".png",))
    named = Path(name).suffix.lower()
    return named if named in fitting else fitting[0]


def as_rgb(image: Image) -> Image:
    """Return an image as RGB with eight bits a channel (see `read_image`)."""
    from PIL import Image as images

    if image.mode in _SIXTEEN_BITS or image.mode == "I":
        image = _eight_bits(image)
    if image.mode == "F":
        raise UnreadableImageError("floating-point pixels have no known range")
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        if layer.getchannel("A").getbbox() is None:
            raise UnreadableImageError("every pixel of it is transparent")
        white = images.new("RGBA", layer.size, (255, 255, 255, 255))
        return images.alpha_composite(white, layer).convert("RGB")
    return image.convert("RGB")


def _eight_bits(image: Image) -> Image:
    """Return a grey image scaled from 16 to 8 bits, so that 65,535 becomes 255."""
    import numpy as np
    from PIL import Image as images

    pixels = np.asarray(image).astype(np.float64)
    if pixels.min() < 0 or pixels.max() > 65_535:
        raise UnreadableImageError("pixels of more than 16 bits")
    return images.fromarray((pixels / 257.0).round().astype(np.uint8))


def is_black(image: Image) -> bool:
    """Return whether every pixel is black, as after a safety filter."""
    return image.convert("RGB").getbbox() is None


def perceptual_hash(image: Image) -> Float32Array:
    """Return a perceptual hash of an image, which does not change on re-encoding.

    Shape (265,), of unit length: brightness in 16 by 16 cells, each colour in 2 by 2, and what
    makes the length 1 whatever the image shows.
    """
    import numpy as np
    from PIL import Image as images

    small = as_rgb(image).resize((64, 64), images.Resampling.BOX).convert("YCbCr")
    levels = np.asarray(small, dtype=np.float64) / 255
    cells = [
        levels[..., channel]
        .reshape(side, 64 // side, side, 64 // side)
        .mean(axis=(1, 3))
        for channel, side in enumerate((_FINE, _COARSE, _COARSE))
    ]
    row = np.concatenate([cell.ravel() for cell in cells]) / math.sqrt(_CELLS)
    return np.append(row, math.sqrt(max(0.0, 1 - float(row @ row)))).astype(np.float32)


def brightness_in_cells(row: Float32Array) -> Float64Array:
    """Return the mean brightness in cells of the image that a perceptual hash is of.

    Returns:
        Luma (ITU-R BT.601) from 0 to 1, shape (16, 16), the top row first.
    """
    cells: Float64Array = row[: _FINE**2].astype("float64") * math.sqrt(_CELLS)
    return cells.reshape(_FINE, _FINE)


def brightness(row: Float32Array) -> int:
    """Return the mean brightness of a perceptual hash, in steps.

    Images that are equal but for a re-encoding differ by at most one step.
    """
    return int(row[: _FINE**2].mean() * math.sqrt(_CELLS) * 255 // _STEP)


def looks_like_one(row: Float32Array, others: Float32Array) -> bool:
    """Return whether a perceptual hash matches any of others, shape (n, 265), up to re-encoding."""
    differences = (
        abs(others - row)[:, :_CELLS].max(axis=1, initial=0.0) * math.sqrt(_CELLS) * 255
    )
    return bool((differences <= _LEVELS).any())


def as_png(image: Image) -> bytes:
    """Return the bytes of a PNG of an image's pixels, without the colour profile of its file."""
    buffer = io.BytesIO()
    # Pillow would copy the profile, which nothing here applies.
    image.save(buffer, format="PNG", icc_profile=None)
    return buffer.getvalue()


def thumbnail(source: bytes | Path, size: int, quality: int = 85) -> bytes:
    """Return the bytes of a JPEG of an image's pixels, scaled to at most `size` a side."""
    small = read_image(source)
    small.thumbnail((size, size))
    # Pillow writes the comment and the XMP that an image was read with.
    small.info.clear()
    buffer = io.BytesIO()
    # Pillow would copy a comment of the file.
    small.save(buffer, format="JPEG", quality=quality, comment=b"")
    return buffer.getvalue()
