"""Image files that contain nothing but the pixels which judges see, so that they can be sent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from t2ibench.store.image_headers import opened_image
from t2ibench.store.pixels import READ_FORMATS

# Chunks that neither describe where an image is from nor change how it is shown.
_PLAIN_CHUNKS = {b"IHDR", b"IDAT", b"IEND", b"pHYs", b"sRGB"}
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_RGB = b"\x08\x02"  # eight bits a channel; red, green and blue without transparency
# A comment, or a segment of an application except APP0, which has the density of pixels (JFIF),
# and APP14, which has the space of colours (Adobe). Compressed pixels never contain these bytes;
# where a table does by chance, the image is taken for one that is not plain.
_METADATA_SEGMENT = re.compile(rb"\xff[\xe1-\xed\xef\xfe]")
_LONGEST_SEGMENT = 14  # bytes of APP0 or APP14 without a thumbnail
_JPEG_END = b"\xff\xd9"


def media_type_of_plain(data: bytes) -> str | None:
    """Return 'image/png' or 'image/jpeg' for a plain image file; None for any other.

    A file is plain if it is an RGB image of eight bits a channel and contains nothing else: no
    EXIF (which may have coordinates and turn the image), XMP, text, colour profile, transparency,
    further images, or segments of an unfamiliar kind. `data` is a file that could be decoded.

    Source: Portable Network Graphics Specification (Third Edition), section 5; ITU-T T.81, annex
        B; ITU-T T.871, section 10.
    """
    if data.startswith(_PNG_SIGNATURE):
        return "image/png" if _is_plain_png(data) else None
    return "image/jpeg" if _is_plain_jpeg(data) else None


def _is_plain_png(data: bytes) -> bool:
    is_rgb = data[24:26] == _PNG_RGB
    return is_rgb and all(name in _PLAIN_CHUNKS for name in _chunks(data))


def _chunks(data: bytes) -> Iterator[bytes]:
    """Yield the names of a PNG's chunks, and b"" for anything behind the last."""
    place = len(_PNG_SIGNATURE)
    while place < len(data):
        name = data[place + 4 : place + 8]
        yield name
        # A chunk has a length, a name, that many bytes, and a checksum.
        place += 12 + int.from_bytes(data[place : place + 4], "big")
        if name == b"IEND" and place != len(data):
            yield b""
            return


def _is_plain_jpeg(data: bytes) -> bool:
    from PIL import JpegImagePlugin

    with opened_image(data, READ_FORMATS) as image:
        # A camera's file of several images is an MPO, which is a subclass of this one.
        if type(image) is not JpegImagePlugin.JpegImageFile or image.mode != "RGB":
            return False
        longest = max((len(content) for _, content in image.applist), default=0)
    # Within the image the two bytes only occur at its end; elsewhere they belong to a thumbnail.
    ends_once = data.find(_JPEG_END) == len(data) - len(_JPEG_END)
    has_metadata = _METADATA_SEGMENT.search(data) is not None
    return ends_once and not has_metadata and longest <= _LONGEST_SEGMENT
