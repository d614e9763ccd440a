"""Sums over groups are those of np.add.at, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats.rounding import sums_by


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (500,), (500, 1), (500, 2), (500, 37)])
def test_one_value_after_the_other(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape) + shape[0])
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-8, 8, shape)
    groups = rng.integers(0, 9, shape[0])
    expected = np.zeros((11, *shape[1:]))
    np.add.at(expected, groups, values)
    assert sums_by(groups, values, 11).tobytes() == expected.tobytes()
