"""Preprocessing of images in two parts: bytes of the model's size, then numbers on its device.

Threads that decode images prepare the bytes, which are a quarter of the numbers to copy to a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

_LEVELS = 256  # values of a byte
# Steps of torchvision and open_clip, by the names of their classes.
_TO_NUMBERS = {"ToTensor", "MaybeToTensor"}
_OF_EACH_NUMBER = {"Normalize"}


class PixelPreparation:
    """An image preprocessing, whose last steps may be looked up in a table, with the same results.

    From the step that makes numbers of bytes on, each number depends on one byte and its channel
    alone. A table of all bytes is made by these steps themselves, so that every number is the same
    to the last bit, on any device. Where preprocessing ends otherwise, `prepare` does all of it.
    """

    def __init__(self, preprocess: Callable[[Any], Any], *, in_two_parts: bool) -> None:
        """Divide a preprocessing into steps on images and steps on numbers, if that is asked for.

        Args:
            preprocess: A `Compose` of torchvision's, or any function of an image.
            in_two_parts: Whether numbers are made on the model's device. On a CPU, where nothing
                has to be copied, a table takes longer than arithmetic.
        """
        self._preprocess = preprocess
        steps: Sequence[Any] = getattr(preprocess, "transforms", ())
        names = [type(step).__name__ for step in steps]
        places = [place for place, name in enumerate(names) if name in _TO_NUMBERS]
        self._steps: Sequence[Any] | None = None
        self._table: torch.Tensor | None = None
        is_divisible = (
            len(places) == 1 and set(names[places[0] + 1 :]) <= _OF_EACH_NUMBER
        )
        if in_two_parts and is_divisible:
            self._steps = steps[: places[0]]
            self._table = _numbers_of_bytes(steps[places[0] :])

    def prepare(self, image: Image) -> torch.Tensor:
        """Return an image's bytes, shape (3, h, w), or the numbers where there is no table."""
        if self._steps is None:
            pixels: torch.Tensor = self._preprocess(image)
            return pixels
        for step in self._steps:
            image = step(image)
        import numpy as np
        import torch

        # Contiguous here, in a thread of its own, rather than where batches are put together.
        channels_first = np.ascontiguousarray(np.asarray(image).transpose(2, 0, 1))
        return torch.from_numpy(channels_first)

    def numbers(self, pixels: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """Return the numbers of prepared images, shape (n, 3, h, w), on their device."""
        if self._table is None or pixels.is_floating_point():
            return pixels
        import torch

        if self._table.device != pixels.device:
            self._table = self._table.to(pixels.device)
        table = self._table.to(dtype)
        channels = torch.arange(len(table), device=pixels.device).view(1, -1, 1, 1)
        return table[channels, pixels.long()]


def _numbers_of_bytes(steps: Sequence[Any]) -> torch.Tensor:
    """Return what steps make of every byte in each channel, shape (3, 256)."""
    import numpy as np
    from PIL import Image

    row = np.arange(_LEVELS, dtype=np.uint8).reshape(1, _LEVELS, 1)
    numbers: Any = Image.fromarray(np.repeat(row, 3, axis=2))
    for step in steps:
        numbers = step(numbers)
    table: torch.Tensor = numbers[:, 0, :].clone()
    return table
