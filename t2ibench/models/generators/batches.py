"""How many images a device generates at once: as many as its memory holds, remembered."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from t2ibench.errors import T2IBenchError
from t2ibench.store.files import write_bytes

LARGEST = 64
_SPARE = 1.15  # of memory: what a batch of twice the size may need beyond twice as much
_MOST = 0.92  # of the free memory that may be used


class Memory(Protocol):
    """The memory of a device, in bytes."""

    def name(self) -> str:
        """What the device is, and how much memory it has."""
        ...

    def start(self) -> None:
        """Begin to watch a batch."""
        ...

    def used(self) -> int:
        """The most that the batch needed, beyond what was used before it."""
        ...

    def free(self) -> int:
        """What the next batch could use."""
        ...


class CudaMemory:
    """The memory of a CUDA device (see `Memory`)."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._before = 0

    def name(self) -> str:
        """Its model, and its memory in MiB."""
        import torch

        properties = torch.cuda.get_device_properties(self._device)
        return f"{properties.name} {properties.total_memory // 2**20} MiB"

    def start(self) -> None:
        """Begin to watch a batch."""
        import torch

        torch.cuda.reset_peak_memory_stats(self._device)
        self._before = torch.cuda.memory_allocated(self._device)

    def used(self) -> int:
        """Bytes of the batch at its peak."""
        import torch

        return int(torch.cuda.max_memory_allocated(self._device)) - self._before

    def free(self) -> int:
        """Bytes that are free, or reserved by torch without being used."""
        import torch

        unused = torch.cuda.memory_reserved(self._device) - self._before
        return int(torch.cuda.mem_get_info(self._device)[0]) + unused


class BatchSize:
    """The number of images at once, where the user leaves it open.

    It depends on memory alone, never on how fast a batch was, so that the same machine comes to
    the same size. It doubles while twice the last batch's memory is free, and after a batch that
    did not fit it stays below that one.

    Args:
        first: The size to begin with.
        memory: Of the device; None where the size stays as it is.
        key: What the size is remembered for, besides the device.
        folder: Where it is remembered; None for the user's cache.

    Attributes:
        now: The size.
    """

    def __init__(
        self, first: int, memory: Memory | None = None, key: str = "", folder: Path | None = None
    ) -> None:
        self.now = first
        self._memory = memory
        self._key = key
        self._limit = LARGEST
        self._file = (folder or _cache()) / "batch-sizes.json"
        self._begun = memory is None

    def begin(self) -> None:
        """Go on where an earlier run on this machine ended; called once the model is loaded."""
        if not self._begun and self._memory is not None:
            known = _read(self._file).get(f"{self._key[:16]} {self._memory.name()}")
            if isinstance(known, int) and 1 <= known <= LARGEST:
                self.now = known
        self._begun = True

    def watch(self) -> None:
        """Call before each batch."""
        if self._memory is not None:
            self._memory.start()

    def fitted(self, size: int) -> None:
        """A batch was generated."""
        if self._memory is None or size < self.now or 2 * size > self._limit:
            return
        if 2 * _SPARE * self._memory.used() <= _MOST * self._memory.free():
            self.now = 2 * size
            self._remember()

    def too_large(self, size: int) -> None:
        """A batch did not fit."""
        self._limit = self.now = max(1, size // 2)
        self._remember()

    def _remember(self) -> None:
        if self._memory is None:
            return
        known = {**_read(self._file), f"{self._key[:16]} {self._memory.name()}": self.now}
        with suppress(T2IBenchError, OSError):  # it only saves time
            write_bytes(self._file, json.dumps(known, indent=1, sort_keys=True).encode())


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if Path(home).is_absolute() else Path("~/.cache").expanduser()) / "t2ibench"


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
