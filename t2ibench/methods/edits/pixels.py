"""What is measured on the pixels of a picture: lightness of a part, distance of another picture.

A picture is known by the brightness of 16 by 16 cells, which every run stores of every image.
"""

from __future__ import annotations

import numpy as np

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.methods.edits.schema import CELLS, Box, middles_between

# CIELAB's L* is linear below this share of white's luminance (CIE 15, "Colorimetry").
_LINEAR_BELOW = (6 / 29) ** 3
# The same of sRGB's transfer function (IEC 61966-2-1).
_LINEAR_LUMA_BELOW = 0.04045


def cells_in(box: Box | None) -> BoolArray:
    """Return which cells of a picture have their middle inside a rectangle, shape (16, 16).

    Examples:
        >>> int(cells_in(None).sum())
        256
        >>> int(cells_in((0.4375, 0.3125, 0.5625, 0.4375)).sum())
        4
    """
    if box is None:
        return np.ones((CELLS, CELLS), dtype=bool)
    left, top, right, lower = box
    columns = np.array(middles_between(left, right))
    rows = np.array(middles_between(top, lower))
    inside: BoolArray = rows[:, None] & columns[None, :]
    return inside


def lightness(brightness: Float64Array, cells: BoolArray) -> float:
    """Return the mean lightness of some cells, CIELAB's L* of greys of their brightness.

    It is divided by 100: 0 is black and 1 is white.

    Args:
        brightness: Luma of each cell, from 0 to 1, shape (16, 16).
        cells: Which of them count.

    Examples:
        >>> grey = np.full((16, 16), 0.5)
        >>> round(lightness(grey, cells_in(None)), 3)
        0.534
    """
    luma = np.clip(brightness[cells], 0.0, 1.0)
    luminance = np.where(
        luma <= _LINEAR_LUMA_BELOW, luma / 12.92, ((luma + 0.055) / 1.055) ** 2.4
    )
    root = np.where(
        luminance > _LINEAR_BELOW,
        np.cbrt(luminance),
        luminance * (29 / 6) ** 2 / 3 + 4 / 29,
    )
    return float((1.16 * root - 0.16).mean())


def distance(first: Float64Array, second: Float64Array, cells: BoolArray) -> float:
    """Return the mean absolute difference in brightness of two pictures over some cells.

    It is 0 for equal pictures and 1 for a black and a white one.
    """
    return float(np.abs(first - second)[cells].mean())
