"""Student's t and Fieller's sets; sums by group."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats.rounding import sums_by
from t2ibench.stats.student import fieller, ratio


def test_a_set_excludes_zero_exactly_where_the_test_rejects() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        top, bottom = rng.normal(0, 2), rng.normal(4, 1)
        root = rng.normal(size=(2, 2)) * 0.7
        low, high, p = fieller(top, bottom, root @ root.T, 6)
        assert (low > 0 or high < 0) == (p < 0.05) or np.isinf(low)
        assert low <= top / bottom <= high


def test_a_bottom_that_may_be_zero_bounds_nothing() -> None:
    low, high, p = fieller(3.0, 1.0, np.diag([1.0, 1.0]), 20)
    assert (low, high) == (-np.inf, np.inf)
    assert p == pytest.approx(0.0071, abs=1e-4)  # t = 3 with 20 degrees of freedom
    assert np.isnan(fieller(1.0, 1.0, np.full((2, 2), np.nan), 3)).all()


def test_the_ratio_agrees_with_fieller_for_many_degrees_of_freedom() -> None:
    """With very many degrees of freedom the two are one formula."""
    found = ratio([1.0, 0.0], [0.0, 1.0], [2.0, 5.0], [0.5, 0.2], [1e9, 1e9])
    low, high, p = fieller(2.0, 5.0, np.diag([0.5, 0.2]), 1e9)
    assert (float(found.low), float(found.high)) == pytest.approx((low, high))
    assert float(found.p) == pytest.approx(p)


@pytest.mark.parametrize(
    "shape", [(0, 3), (1, 1), (500,), (500, 1), (500, 2), (500, 37)]
)
def test_one_value_after_the_other(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape) + shape[0])
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-8, 8, shape)
    groups = rng.integers(0, 9, shape[0])
    expected = np.zeros((11, *shape[1:]))
    np.add.at(expected, groups, values)
    assert sums_by(groups, values, 11).tobytes() == expected.tobytes()
