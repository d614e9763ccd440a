"""The mean square of several effects: its value, its interval, and the ends of both."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats.squares import mean_square


def test_the_interval_of_a_strong_effect_is_near_it() -> None:
    """Scipy's noncentral F is nan in places that the search passes."""
    rng = np.random.default_rng(0)
    for strength in (5.0, 11.0, 17.0, 30.0, 60.0, 200.0):
        tops = strength * np.linspace(-0.9, 0.9, 40) + rng.normal(size=40)
        bottoms = strength + 0.3 * rng.normal(size=40)
        found = mean_square(tops, np.ones(40), [110] * 40, bottoms, np.full(40, 0.1))
        # About 2 R SE, where the standard error of a mean of 40 is 1 / (strength √40).
        assert found.value - found.low == pytest.approx(0.33 / strength, rel=0.3)
        assert found.high - found.value == pytest.approx(0.33 / strength, rel=0.3)


def test_given_degrees_of_freedom_replace_those_of_independent_effects() -> None:
    """One effect that is counted four times is tested as one."""
    four = mean_square([2.0] * 4, [1.0] * 4, [10] * 4)
    one = mean_square([2.0], [1.0], [10])
    as_one = mean_square([2.0] * 4, [1.0] * 4, [10] * 4, degrees=(1.2, 12.0))
    assert four.value == one.value == as_one.value == 3.0
    assert four.p < as_one.p == pytest.approx(one.p)
