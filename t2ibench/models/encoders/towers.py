"""What the torch encoders share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from t2ibench.arrays import Float32Array, Float64Array

_Item = TypeVar("_Item")
# On a GPU several batches are handed over at once, so that it computes one while the next is put
# together; their size is fixed, because it decides the last bit of an embedding.
_CPU_BATCH, _GPU_BATCH, _GPU_BATCHES = 16, 64, 4


def batch_sizes(device: str) -> tuple[int, int]:
    """How many images a tower takes."""
    if device == "cpu":
        return _CPU_BATCH, _CPU_BATCH
    return _GPU_BATCH, _GPU_BATCH * _GPU_BATCHES


def stacked(images: Sequence[Any], device: str, dtype: Any) -> Any:
    """Prepared images as a batch on a device."""
    import torch

    batch = torch.stack(list(images))
    if device.startswith("cuda"):
        return batch.pin_memory().to(device, non_blocking=True).to(dtype)
    return batch.to(device, dtype)


def encode(
    items: Sequence[_Item], batch_size: int, call: Callable[[Sequence[_Item]], Any]
) -> Float32Array:
    """Run a tower over items in batches of one size.

    The last batch is filled up with its own last item: matrix products round differently with
    the number of rows, and an embedding must not depend on how many others were missing.
    """
    import torch

    rows = []
    with torch.inference_mode():
        for start in range(0, len(items), batch_size):
            batch = list(items[start : start + batch_size])
            count = len(batch)
            batch += [batch[-1]] * (batch_size - count)
            rows.append(call(batch)[:count].float())
        embeddings: Float32Array = torch.cat(rows).cpu().numpy()  # a GPU is waited for once
    return embeddings


def unit_rows(rows: Float32Array | Float64Array) -> Float32Array:
    """Rows of length 1; a row of zeros becomes NaN."""
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    rounded: Float32Array = unit.astype(np.float32)
    return rounded
