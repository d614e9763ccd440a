"""Images to try adapters on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image


def sample_images(count: int) -> list[Image]:
    """Different RGB images of several sizes: one of one colour, one of noise, smooth ones.

    Args:
        count: How many.

    Returns:
        The images, the same at every call.
    """
    from PIL import Image

    rng = np.random.default_rng(0)
    images = [Image.new("RGB", (64, 64), (200, 40, 40))]
    images.append(Image.fromarray(rng.integers(0, 256, (48, 80, 3), dtype=np.uint8)))
    while len(images) < count:
        small = Image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8))
        side = 64 + 16 * (len(images) % 3)
        images.append(small.resize((side, 96), Image.Resampling.BICUBIC))
    return images[:count]
