"""How many images a pipeline generates in one call: decided once for a run, before its first image.

Libraries pick other kernels for another number of rows, so images of another batch size differ in
their last digits (docs/reproducibility.md). What suits a card depends on its memory and on the
model alone, not on what else runs there, so that the same card comes to the same size.
"""

from __future__ import annotations

from t2ibench.errors import T2IBenchError

# Images at once of more than 768 × 768 pixels, of fewer, and of one prompt alone. Larger batches
# were no faster.
_OF_LARGE = 8
_OF_SMALL = 16
_OF_ONE_PROMPT = 4
_SMALL = 768 * 768
LARGEST = _OF_SMALL
# Memory of a pixel in 16 bits: SDXL takes 1.9 GiB an image of 1024 × 1024.
_BYTES_PER_PIXEL = 2048
_USABLE = 0.9  # of the card's memory; the rest is its driver's and torch's


def suited_batch_size(
    pixels: int, *, bytes_per_number: int, weights: int, memory: int, one_prompt: bool
) -> int:
    """Return how many images to generate at once on a card: a power of two, at most 16.

    Args:
        pixels: Pixels of an image.
        bytes_per_number: Of the model's precision, such as 2 for bfloat16.
        weights: Bytes of the weights that are on the card at the same time.
        memory: Bytes of the card's memory.
        one_prompt: Whether a batch holds images of one prompt only, which tasks need few of.
    """
    most = _OF_SMALL if pixels <= _SMALL else _OF_LARGE
    if one_prompt:
        most = min(most, _OF_ONE_PROMPT)
    each = pixels * _BYTES_PER_PIXEL * bytes_per_number // 2
    free = _USABLE * memory - weights
    while most > 1 and most * each > free:
        most //= 2
    return most


class BatchSize:
    """The number of images in one call of a pipeline, the same for all images of a run.

    Attributes:
        size: Images in a call; None where it is not fixed: a call then has what was asked for, or,
            where `is_fixed`, is fixed as soon as the pipeline is loaded.
        is_fixed: Whether every call has the same size, so that the last one is filled up.
        is_final: Whether images that count were generated with it, so that it may not change.
    """

    def __init__(
        self, size: int | None = None, *, is_fixed: bool = False, is_final: bool = False
    ) -> None:
        self.size = size
        self.is_fixed = is_fixed
        self.is_final = is_final

    def of(self, requested: int) -> int:
        """Return how many of the requested images one call generates."""
        return self.size or requested

    def fitted(self) -> None:
        """Keep the size after a call that succeeded, if it is fixed."""
        self.is_final = self.is_fixed

    def halve(self, tried: int) -> bool:
        """Halve the size after a call that did not fit; return False where that is not allowed."""
        if self.is_final or tried == 1:
            return False
        self.size = tried // 2
        return True


def out_of_memory(error: Exception, batch: BatchSize) -> Exception:
    """Return the error to raise where a batch does not fit and may not be halved."""
    if not batch.is_final or batch.size == 1:
        return error
    return T2IBenchError(
        f"Memory ran out: {batch.size} images at a time do not fit now, and the run's first images "
        "were generated so; others would differ in their last digits.",
        "End what else uses the card and run the same command again, or start another run: "
        f"--batch-size {batch.size // 2 if batch.size else 1} and another --name.",
    )
