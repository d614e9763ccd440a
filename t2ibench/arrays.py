"""Types of numpy arrays by dtype, and the conversion to float64.

Embeddings are stored and passed on as float32; sums and statistics are computed in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Float32Array = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]
# of either precision
FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def as_floats(values: npt.ArrayLike) -> Float64Array:
    """Return values as an array of float64; an array that is one already is not copied."""
    return np.asarray(values, dtype=np.float64)
