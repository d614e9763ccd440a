"""One stored image."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.store.pixels import UnreadableImageError, read_image

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class StoredImage:
    """One image.

    Attributes:
        place: Its file. A million images are described in seconds because this is made a path only
            when it is used.
        sha256: Hash of the file as it was when it was stored.
        prompt: What it was generated for.
        index: Which sample of the prompt.
        content: Its bytes, where the file is on another machine.
    """

    place: Path | str
    sha256: str
    prompt: str
    index: int
    content: bytes | None = field(default=None, kw_only=True)

    @property
    def path(self) -> Path:
        """Its file."""
        return Path(self.place)

    def data(self) -> bytes:
        """Its bytes, as they were stored."""
        try:
            data = self.path.read_bytes() if self.content is None else self.content
        except OSError as error:
            raise UnreadableImageError(error.strerror or type(error).__name__) from error
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise UnreadableImageError("it has changed since it was stored")
        return data

    def read(self) -> Image:
        """Decode it, and check that it is the one that was stored."""
        return read_image(self.data())
