"""What the torch encoders share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from t2ibench.arrays import Float32Array

_Item = TypeVar("_Item")


def encode(
    items: Sequence[_Item], batch_size: int, call: Callable[[Sequence[_Item]], Any]
) -> Float32Array:
    """Run a tower over items in batches of one size.

    The last batch is filled up with its own last item: matrix products round differently with
    the number of rows, and an embedding must not depend on how many others were missing.

    Args:
        items: What to embed.
        batch_size: The size of every batch.
        call: From a batch to a tensor of shape (batch, d).

    Returns:
        float32, shape (n, d).
    """
    import torch

    rows = []
    with torch.inference_mode():
        for start in range(0, len(items), batch_size):
            batch = list(items[start : start + batch_size])
            count = len(batch)
            batch += [batch[-1]] * (batch_size - count)
            rows.append(call(batch)[:count].float().cpu().numpy())
    embeddings: Float32Array = np.concatenate(rows)
    return embeddings


def unit_rows(rows: Float32Array) -> Float32Array:
    """Rows of length 1; a row of zeros becomes NaN.

    Args:
        rows: Shape (n, d).

    Returns:
        float32, shape (n, d).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        unit: Float32Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit.astype(np.float32)
