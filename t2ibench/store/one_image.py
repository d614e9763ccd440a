"""One stored image, wherever its bytes are."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.store.packs import packed_bytes
from t2ibench.store.pixels import UnreadableImageError, read_image

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class StoredImage:
    """One image, in a file of its own or in a pack.

    Attributes:
        place: The file, or the one that it would be outside of its pack. A million images are
            described in seconds because this is made a path only when it is used.
        sha256: Hash of the file as it was when it was stored.
        prompt: What it was generated for.
        index: Which sample of the prompt.
    """

    place: Path | str
    sha256: str
    prompt: str
    index: int

    @property
    def path(self) -> Path:
        """The file, or the one that it would be outside of its pack."""
        return Path(self.place)

    def data(self) -> bytes:
        """Its bytes, as they were stored."""
        reason, gone = "it has changed since it was stored", None
        path = self.path
        try:
            data = path.read_bytes()
            if hashlib.sha256(data).hexdigest() == self.sha256:
                return data
        except OSError as error:
            reason, gone = error.strerror or type(error).__name__, error
        for data in packed_bytes(path):
            if hashlib.sha256(data).hexdigest() == self.sha256:
                return data
            reason = "it has changed since it was packed"
        raise UnreadableImageError(reason) from gone

    def read(self) -> Image:
        """Decode it, and check that it is the one that was stored."""
        return read_image(self.data())
