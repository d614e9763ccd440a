"""The source image of an edit as a server gets it: bytes, and what they are."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING

from t2ibench.models.generators.plain_files import media_type_of_plain
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.pixels import (
    as_png,
    image_format,
    read_image,
)

if TYPE_CHECKING:
    from t2ibench.store.images import ImageFile


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source image in the form in which it is sent.

    Attributes:
        data: The bytes, those of the file on disk where it is plain; else a new PNG.
        media_type: 'image/png' or 'image/jpeg'.
        stored_format: The format of the file on disk, such as 'PNG'.
        as_stored: Whether the bytes are those of the file on disk.
        width: Pixels of a row, as judges see the image.
        height: Pixels of a column, as judges see the image.
    """

    data: bytes
    media_type: str
    stored_format: str
    as_stored: bool
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
        return {
            "format": self._format_sent(),
            "size": f"{self.width}x{self.height}",
        }

    def _format_sent(self) -> str:
        """Return the format of the file on disk, and what became of it."""
        if self.as_stored:
            return self.stored_format
        if self.stored_format == "PNG":
            return "PNG, re-encoded"
        return f"{self.stored_format}, sent as PNG"


def read_source(file: ImageFile) -> SourceFile:
    """Return a source image as it is sent; raise UnreadableImageError if it cannot be.

    A plain file is sent as it is on disk (see `media_type_of_plain`). Of any other a new PNG is
    sent, with the pixels that judges see: upright, without metadata, transparent pixels on white.
    """
    data = file.data()
    try:
        decoded = read_image(data)
        stored_format = image_format(data)
        media_type = media_type_of_plain(data)
        sent = as_png(decoded) if media_type is None else data
    except MemoryError as error:
        # The other images of a run that costs money need not end with this one.
        raise UnreadableImageError("it needs more memory than there is") from error
    return SourceFile(
        data=sent,
        media_type=media_type or "image/png",
        stored_format=stored_format,
        as_stored=media_type is not None,
        width=decoded.width,
        height=decoded.height,
    )
