"""Choose the number of images per batch to suit the device's memory."""

from __future__ import annotations

LARGEST = 64
_SPARE = 1.15  # a batch of twice the size may need up to this much more than twice the memory
_MOST = 0.92  # of the free memory that may be used


class CudaMemory:
    """Measures the memory of a CUDA device, in bytes."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._before = 0

    def start(self) -> None:
        """Start measuring the memory of a batch."""
        import torch

        torch.cuda.reset_peak_memory_stats(self._device)
        self._before = torch.cuda.memory_allocated(self._device)

    def used(self) -> int:
        """Return the peak memory of the batch in bytes, less what was in use before it."""
        import torch

        return int(torch.cuda.max_memory_allocated(self._device)) - self._before

    def free(self) -> int:
        """Return the bytes that the next batch can use: free, or reserved by torch but unused."""
        import torch

        unused = torch.cuda.memory_reserved(self._device) - self._before
        return int(torch.cuda.mem_get_info(self._device)[0]) + unused


class BatchSize:
    """The number of images per batch, where the user does not set it; `now` is the size.

    It depends on memory alone, never on how fast a batch was, so that the same machine comes to
    the same size. It doubles while twice the last batch's memory is free, and after a batch that
    did not fit it stays below that one. Without a `memory` to measure it does not grow.
    """

    def __init__(self, first: int, memory: CudaMemory | None = None) -> None:
        self.now = first
        self._memory = memory
        self._limit = LARGEST

    def watch(self) -> None:
        """Start measuring the memory of a batch of images; call before each batch."""
        if self._memory is not None:
            self._memory.start()

    def fitted(self, size: int) -> None:
        """Double the batch size after a batch of `size` images fitted, if the memory allows it."""
        if self._memory is None or size < self.now or 2 * size > self._limit:
            return
        if 2 * _SPARE * self._memory.used() <= _MOST * self._memory.free():
            self.now = 2 * size

    def too_large(self, size: int) -> None:
        """Reduce the number of images per batch after a batch did not fit into memory."""
        self._limit = self.now = max(1, size // 2)
