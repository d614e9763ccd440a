"""The mean square of several effects: its value, its test and its interval."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from t2ibench.stats.squares import f_square, mean_square, square_interval


def test_the_interval_of_a_strong_effect_is_close_to_the_effect() -> None:
    """Scipy's noncentral chi-squared is no number in places that the search passes."""
    rng = np.random.default_rng(0)
    for strength in (5.0, 11.0, 17.0, 30.0, 60.0, 200.0, 1e5):
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
    as_one = mean_square([2.0] * 4, [1.0] * 4, [10] * 4, degrees=(1.0, 12.0))
    assert four.value == one.value == as_one.value == 3.0
    assert four.p < as_one.p == pytest.approx(one.p)


@pytest.mark.parametrize("squares", [0.0, 0.3, 0.3999, 0.4, 0.4001, 1.2])
@pytest.mark.parametrize("top", [1.0, float("inf")])
@pytest.mark.parametrize("slopes", [(0.1, 0.1), (0.05, 0.2), (0.2, 0.01)])
def test_the_lower_end_is_above_zero_exactly_where_the_test_rejects(
    squares: float, top: float, slopes: tuple[float, float]
) -> None:
    low, high = square_interval(squares, 0.4, 0.2, slopes, 9, top=top)
    assert (low > 0) == (squares > 0.4)
    assert low <= max(squares - 0.2, 0.0) <= high <= top


def test_the_lower_end_grows_steadily_from_where_the_test_rejects() -> None:
    squares = (0.400001, 0.41, 0.42, 0.45)
    lows = [square_interval(one, 0.4, 0.2, (0.1, 0.1), 9)[0] for one in squares]
    assert 0 < lows[0] < 0.001 and lows == sorted(lows) and lows[-1] > 0.01


def test_the_interval_of_one_strong_effect_is_students() -> None:
    found = f_square(100.0, 0.04, 0.04, (1.0, 20.0))
    half = scipy_stats.t.ppf(0.975, 20) * 0.2
    assert (found.low, found.high) == pytest.approx(
        ((10 - half) ** 2, (10 + half) ** 2), rel=1e-3
    )
    assert found.p == pytest.approx(2 * scipy_stats.t.sf(50, 20), rel=1e-6)


def test_an_interval_follows_the_variance_in_the_direction_of_the_effects() -> None:
    found = [f_square(0.5, 0.05, along, (2.0, 40.0)) for along in (0.01, 0.05, 0.1)]
    widths = [one.high - one.low for one in found]
    assert widths == sorted(widths) and widths[2] > 1.3 * widths[0]


def test_variances_along_the_effects_widen_the_interval_alone() -> None:
    """By hand: Σ N² V' / Σ N² is (9 · .1 + 1 · .4) / 10 = .13, in place of V = .1."""
    plain = mean_square([3.0, 1.0], [0.1, 0.1], [20, 20])
    wider = mean_square([3.0, 1.0], [0.1, 0.1], [20, 20], along_variances=[0.1, 0.4])
    same = f_square(5.0, 0.1, 0.13 / 2, plain.df, value=plain.value)
    assert (wider.low, wider.high) == pytest.approx((same.low, same.high))
    assert wider.low < plain.low and wider.high > plain.high
    assert (wider.value, wider.p, wider.fair_high) == (
        plain.value,
        plain.p,
        plain.fair_high,
    )


def test_answers_that_are_exactly_even_do_not_prove_that_there_is_no_lean() -> None:
    """Five of ten: shares up to .81 have Clopper and Pearson's intervals around them."""
    assert square_interval(0.0, 0.4, 0.1, (0.1, 0.1), 9, top=1.0)[1] > 0.3
    assert f_square(0.0, 0.1, 0.0, (1.0, 9.0)).high > 0.3


def test_where_nothing_varies_the_interval_is_the_value() -> None:
    found = f_square(0.25, 0.0, 0.0, (0.0, 0.0))
    assert (found.low, found.value, found.high) == (
        0.25,
        0.25,
        0.25,
    ) and found.p < 1e-300
    assert f_square(0.0, 0.0, 0.0, (0.0, 0.0)).p == 1.0


def test_denominators_of_nothing_but_noise_leave_everything_open() -> None:
    found = mean_square([1.0, 1.0], [0.5, 0.5], [9, 9], [0.1, 0.1], [1.0, 1.0])
    assert found.low == 0.0 and found.high == np.inf and 0 < found.p < 1


def test_an_f_test_has_no_more_degrees_of_freedom_than_effects() -> None:
    """Of few images that are like A or like B variances vary little, and would count as more."""
    found = mean_square([0.1] * 8, [1.0] * 8, [4] * 8)
    assert found.df == (8.0, pytest.approx(48.0))
