"""How far an embedding that was made again may be from the one that a submission holds.

The noise of an image is fixed; what a network makes of it is the same up to rounding. What rounding
does depends on the precision that the submission records (docs/reproducibility.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError
from t2ibench.models.devices import dtype_name

# The largest 1 - cosine, by precision. In float32 a processor without vector units, another version
# of torch and a card in place of the processor move an image by 1 of 255 and an embedding by less
# than the half precision does in which it is stored: 6.1e-8 at most.
_LARGEST_DISTANCES: Mapping[str, float] = {
    "float32": 1e-6,
    "float16": 2e-5,
    "bfloat16": 2e-4,
}


def largest_distance(dtype: str | None) -> float:
    """Return the largest accepted 1 - cosine for a precision; the strictest for an unknown one.

    Examples:
        >>> largest_distance("bf16"), largest_distance(None), largest_distance("int3")
        (0.0002, 1e-06, 1e-06)
    """
    name = None
    with suppress(T2IBenchError):
        name = dtype_name(dtype)  # a command may say bf16
    return _LARGEST_DISTANCES[name or "float32"]


def are_alike(first: Float32Array, other: Float32Array, largest: float) -> bool:
    """Return whether 1 - cosine of two embeddings is at most `largest`; all-NaN rows agree."""
    left = first.astype(np.float64)
    right = other.astype(np.float64)
    if left.shape != right.shape:
        return False
    if np.isnan(left).all():
        return bool(np.isnan(right).all())
    norm = float(np.linalg.norm(left) * np.linalg.norm(right))
    return bool(norm > 0 and 1 - float(left @ right) / norm <= largest)


def is_as_stored(made_here: Float32Array, stored: Float32Array) -> bool:
    """Return whether an embedding, in the half precision of submissions, is the stored one."""
    rounded = made_here.astype(np.float16).astype(np.float32)
    return bool(np.array_equal(rounded, stored, equal_nan=True))
