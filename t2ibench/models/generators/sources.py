"""The source image of an edit as a server gets it: bytes, and what they are."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from t2ibench.store.pixels import UnreadableImageError, read_image

if TYPE_CHECKING:
    from t2ibench.store.images import ImageFile

# Formats that every API takes, so that the file is sent as it is on disk.
_AS_THEY_ARE = {"PNG": "image/png", "JPEG": "image/jpeg"}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source image in the form in which it is sent.

    Attributes:
        data: The bytes, those of the file on disk where that is a PNG or a JPEG; else a PNG.
        media_type: 'image/png' or 'image/jpeg'.
        stored_format: The format of the file on disk, such as 'PNG'.
        width: Pixels of a row.
        height: Pixels of a column.
    """

    data: bytes
    media_type: str
    stored_format: str
    width: int
    height: int

    @property
    def name(self) -> str:
        """The name under which it is sent, which says nothing about where it came from."""
        return f"source.{self.media_type.partition('/')[2]}"

    @property
    def base64(self) -> str:
        """The bytes in Base64."""
        return base64.b64encode(self.data).decode("ascii")

    @property
    def data_url(self) -> str:
        """The bytes in an address of their own."""
        return f"data:{self.media_type};base64,{self.base64}"

    def facts(self) -> dict[str, str]:
        """Return what is sent, by name, for the record of a run."""
        sent = self.media_type.partition("/")[2].upper()
        as_it_is = sent == self.stored_format
        return {
            "format": sent if as_it_is else f"{self.stored_format}, sent as {sent}",
            "size": f"{self.width}x{self.height}",
        }


def read_source(file: ImageFile) -> SourceFile:
    """Return a source image as it is sent; raise UnreadableImageError if it cannot be."""
    from PIL import Image

    data = file.data()
    try:
        with Image.open(io.BytesIO(data)) as image:
            stored_format = image.format or ""
            width, height = image.size
            image.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        kind = type(error).__name__
        raise UnreadableImageError(f"it cannot be read as an image ({kind})") from error
    media_type = _AS_THEY_ARE.get(stored_format)
    if media_type is None:
        buffer = io.BytesIO()
        decoded = read_image(data)
        decoded.save(buffer, format="PNG")
        data = buffer.getvalue()
        media_type = _AS_THEY_ARE["PNG"]
        width, height = decoded.size
    return SourceFile(data, media_type, stored_format, width, height)
