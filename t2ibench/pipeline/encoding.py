"""Calling an encoder, and checking what it gives before anything is stored."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError, failing
from t2ibench.models.protocols import Encoder
from t2ibench.store.parts import off_length


def naming(name: str) -> AbstractContextManager[None]:
    """Turn an encoder's own exceptions into one line that names it.

    Args:
        name: Name of the encoder.

    Returns:
        A context; it raises T2IBenchError for what went wrong.
    """
    return failing(f"The encoder '{name}' failed with")


def checked_rows(encoder: Encoder, values: Any, count: int, width: int | None) -> Float32Array:
    """Embeddings of the shape that they must have.

    Args:
        encoder: The encoder.
        values: What it gave.
        count: How many items it was given.
        width: Numbers in one embedding; None while that is not known.

    Returns:
        Shape (count, width).

    Raises:
        T2IBenchError: they have another shape, or are not of unit length.
    """
    rows = np.asarray(values)
    if rows.ndim != 2 or len(rows) != count or (width is not None and rows.shape[1] != width):
        raise T2IBenchError(
            f"The encoder '{encoder.name}' gave embeddings of shape {rows.shape}; expected "
            f"({count}, {width or 'd'}).",
            "`t2ibench check-adapter` says what an encoder must do.",
        )
    # A row of NaN is a text without a vector; `encode` refuses such images.
    off = off_length(rows, may_lack=True) & np.isfinite(rows).all(axis=1)
    if off.any():
        raise T2IBenchError(
            f"The encoder '{encoder.name}' gave {int(off.sum())} of {count} embeddings that are "
            "not of unit length.",
            "It has to divide each by its norm; `t2ibench check-adapter` says what an encoder "
            "must do.",
        )
    return rows


def encode(encoder: Encoder, prepared: Sequence[Any], width: int | None = None) -> Float32Array:
    """Embeddings of prepared images, in batches of the encoder's own size.

    Args:
        encoder: The encoder.
        prepared: What its `prepare` gave.
        width: Numbers in one embedding; None while that is not known.

    Returns:
        Shape (n, d).

    Raises:
        T2IBenchError: the encoder fails, or they are not numbers or of another shape.
    """
    size = max(1, encoder.batch_size)
    parts = []
    for start in range(0, len(prepared), size):
        batch = prepared[start : start + size]
        with naming(encoder.name):
            rows = encoder.encode_images(batch)
        parts.append(checked_rows(encoder, rows, len(batch), width))
        width = parts[-1].shape[1]
    embeddings: Float32Array = np.concatenate(parts)
    if not np.isfinite(embeddings).all():
        raise T2IBenchError(
            f"The encoder '{encoder.name}' gave embeddings that are not numbers.",
            "Try --dtype float32, or another device.",
        )
    return embeddings
