"""Decode image files where they are used, and hold only so many of them decoded."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

    from t2ibench.store.images import ImageFile

# 128 images of 512 pixels a side, 32 of 1,024, 8 of 2,048: 128 MiB, since Pillow takes four bytes
# a pixel.
MOST_PIXELS = 2**25


class DecodedImages:
    """The images of files; those that were used last stay decoded, up to a number of pixels."""

    def __init__(self, most_pixels: int = MOST_PIXELS) -> None:
        self._most_pixels = most_pixels
        self._images: dict[str, Image] = {}
        self._n_pixels = 0  # of these images
        self._lock = threading.Lock()

    def read(self, file: ImageFile) -> Image:
        """Return the decoded image of a file, which is decoded again if it was let go.

        Raises:
            UnreadableImageError: it cannot be decoded, or has changed since it was stored.
        """
        with self._lock:
            image = self._images.get(file.sha256)
        if image is None:
            image = file.read()
        with self._lock:
            self._let_go(file.sha256)
            self._images[file.sha256] = image
            self._n_pixels += math.prod(image.size)
            # The image that was used longest ago comes first.
            while len(self._images) > 1 and self._n_pixels > self._most_pixels:
                self._let_go(next(iter(self._images)))
        return image

    def _let_go(self, sha256: str) -> None:
        """Hold an image no longer, if it is held."""
        image = self._images.pop(sha256, None)
        if image is not None:
            self._n_pixels -= math.prod(image.size)
