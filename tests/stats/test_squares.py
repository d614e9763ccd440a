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
    assert found.low == 0.0 and found.high == np.inf
    # F = Σ N² / Σ V = 2, with 2 and 11 degrees of freedom.
    assert found.df == pytest.approx((2, 22))
    assert found.p == pytest.approx(scipy_stats.f.sf(2.0, 2, 22))


def test_an_f_test_has_no_more_degrees_of_freedom_than_effects() -> None:
    """Of few images that are like A or like B variances vary little, and would count as more."""
    found = mean_square([0.1] * 8, [1.0] * 8, [4] * 8)
    assert found.df == (8.0, pytest.approx(48.0))


def test_a_mean_square_of_ratios_by_hand() -> None:
    """N = 3 and 1 with V = .5 and .25; D = 2 and 4 with U = .5 and 1.

    Σ (N² − V) = 9.25 and Σ (D² − U) = 18.5; Σ (4 D² U − 2 U²) = 8 − .5 + 64 − 2 = 69.5, so that
    R² = (9.25 / 18.5) / (1 + 69.5 / 18.5²).
    """
    scale = 18.5 * (1 + 69.5 / 18.5**2)
    result = mean_square([3, 1], [0.5, 0.25], [6, 9], [2, 4], [0.5, 1.0])
    assert result.value == pytest.approx(9.25 / scale)
    h = 0.75**2 / (0.25 * 6 / 8 + 0.0625 * 9 / 11)
    h2 = 0.75**2 / (0.25 / 8 + 0.0625 / 11)
    assert h > 2
    assert result.df == pytest.approx((2, h2))
    f = scipy_stats.f(2, h2)
    assert result.p == pytest.approx(f.sf(10 / 0.75))
    assert result.fair_low == pytest.approx(-0.75 / scale)
    assert result.fair_high == pytest.approx(0.75 / scale * (f.ppf(0.95) - 1))
    # Σ N² V / Σ N² = (4.5 + .25) / 10, and Σ U / Σ V = 2.
    same = f_square(
        squares=10 / scale,
        noise=0.75 / scale,
        along=0.475 / scale,
        degrees=(2, h2),
        value=9.25 / scale,
        growth=2.0,
    )
    assert (result.low, result.high) == pytest.approx((same.low, same.high))


def test_the_mean_square_of_ratios_is_unbiased_to_the_second_order() -> None:
    """Normal N and D about 3 and 4, of one effect: the mean is (3 / 4)², not more."""
    rng = np.random.default_rng(3)
    tops = 3 + 0.5 * rng.normal(size=(800, 20))
    bottoms = 4 + 1.2 * rng.normal(size=(800, 20))
    values = [
        mean_square(n, [0.25] * 20, [50] * 20, d, [1.44] * 20).value
        for n, d in zip(tops, bottoms, strict=True)
    ]
    error = np.std(values) / np.sqrt(len(values))
    assert np.mean(values) == pytest.approx(9 / 16, abs=3 * error + 1e-4)


def test_degrees_of_freedom_are_those_of_unequal_variances() -> None:
    """V = 1, 2 and 4 with 3, 5 and 8: h = 49 / Σ V² f / (f + 2), h₂ = 49 / Σ V² / (f + 2)."""
    result = mean_square([1.0] * 3, [1.0, 2.0, 4.0], [3, 5, 8])
    h = 49 / (1 * 3 / 5 + 4 * 5 / 7 + 16 * 8 / 10)
    h2 = 49 / (1 / 5 + 4 / 7 + 16 / 10)
    assert result.df == pytest.approx((min(h, 3), h2))


def test_an_effect_whose_images_are_all_alike_takes_no_interval_away() -> None:
    """Its variance is 0, so that its degrees of freedom are no number."""
    tops = [0.9, -0.8, 0.5, 1.0]
    variances = [0.01, 0.02, 0.03, 0.0]
    alike = mean_square(tops, variances, [20, 20, 20, np.nan])
    nearly = mean_square(tops, [0.01, 0.02, 0.03, 1e-15], [20] * 4)
    for name in ("value", "low", "high", "p", "fair_low", "fair_high"):
        assert getattr(alike, name) == pytest.approx(getattr(nearly, name), rel=1e-6)
    assert 0 < alike.low < alike.value < alike.high


def test_effects_without_variance_are_what_they_are() -> None:
    result = mean_square([3.0, 1.0], [0.0, 0.0], [5, 5])
    assert (result.value, result.low, result.high) == (5.0, 5.0, 5.0)
    nothing = mean_square([0.0], [0.0], [5], [0.0], [1.0])
    assert nothing.p == 1.0 and np.isnan(nothing.value)
    assert (nothing.fair_low, nothing.fair_high) == (-np.inf, np.inf)


def tails(
    x: float, squares: float, noise: float, slopes: tuple[float, float], top: float
) -> tuple[float, float]:
    """P of smaller estimates at x, by scipy's noncentral chi-squared, and the test's weight."""
    s = (noise * slopes[0] + x * slopes[1]) / (noise + x) * (1 - x / top)
    distribution = scipy_stats.ncx2(noise / s, x / s, scale=s)
    return float(distribution.cdf(squares)), float(np.exp(-x / np.sqrt(2 * noise * s)))


@pytest.mark.parametrize("slopes", [(0.1, 0.1), (0.05, 0.2), (0.2, 0.04)])
@pytest.mark.parametrize("top", [1.5, float("inf")])
def test_each_end_has_the_tail_of_students_t(
    slopes: tuple[float, float], top: float
) -> None:
    """Toward 0 the lower end's tail becomes the test's, and the upper end's becomes 0."""
    squares, critical, noise, df = 0.9, 0.4, 0.2, 9.0
    low, high = square_interval(squares, critical, noise, slopes, df, top=top)
    quantile = scipy_stats.t.ppf(0.975, df)
    tail = scipy_stats.norm.sf(quantile)
    rejected = scipy_stats.chi2.sf(critical / slopes[0], noise / slopes[0])
    below, weight = tails(low, squares, noise, slopes, top)
    assert 1 - below == pytest.approx(tail + (rejected - tail) * weight, rel=1e-6)
    below, weight = tails(high, squares, noise, slopes, top)
    assert below == pytest.approx(tail * (1 - weight), rel=1e-6)


def test_noise_that_grows_with_the_mean_square_widens_its_interval() -> None:
    """At the end x the noise is u (1 + g x), and the slope that of such noise, times 1 + g x."""
    squares, noise, slope, growth = 2.0, 0.2, 0.05, 0.5
    _, high = square_interval(squares, 0.4, noise, (slope, slope), 1e9, growth=growth)
    u = noise * (1 + growth * high)
    s = slope * (1 + growth * high)
    weight = np.exp(-high / np.sqrt(2 * u * s))
    below = scipy_stats.ncx2(u / s, high / s, scale=s).cdf(squares)
    assert below == pytest.approx(0.025 * (1 - weight), rel=1e-5)


def test_a_very_strong_effect_has_the_normal_interval_of_its_square() -> None:
    """From 100,000 slopes on: (y − u − x)² = z² s (2 u + 4 x) at both ends x."""
    squares, noise, slope = 5000.0, 0.02, 0.01
    ends = square_interval(squares, 0.1, noise, (slope, slope), 1e9)
    for x in ends:
        moved = squares - noise - x
        assert moved**2 == pytest.approx(
            1.959964**2 * slope * (2 * noise + 4 * x), rel=1e-5
        )


def test_the_interval_of_squares_that_are_less_than_a_tenth_of_the_noise() -> None:
    """They count as a tenth; the lower end is what was measured, below 0."""
    least = square_interval(0.0, 0.4, 0.2, (0.1, 0.1), 9)
    tenth = square_interval(0.02, 0.4, 0.2, (0.1, 0.1), 9)
    assert least[1] == tenth[1] < square_interval(0.03, 0.4, 0.2, (0.1, 0.1), 9)[1]
    assert (least[0], tenth[0]) == (-0.2, pytest.approx(-0.18))


def test_an_f_square_is_tested_by_f_and_has_the_range_of_no_effect() -> None:
    f = scipy_stats.f(3.0, 12.0)
    result = f_square(0.6, 0.2, 0.05, (3.0, 12.0), level=0.9)
    assert result.value == pytest.approx(0.4)
    assert result.p == pytest.approx(f.sf(3.0))
    assert result.fair_low == -0.2
    assert result.fair_high == pytest.approx(0.2 * (f.ppf(0.9) - 1))
    critical = 0.2 * f.ppf(0.9)
    ends = square_interval(0.6, critical, 0.2, (0.2 / 3, 0.05), 12.0, level=0.9)
    assert (result.low, result.high) == pytest.approx(ends)
    unknown_direction = f_square(0.6, 0.2, 0.0, (3.0, 12.0), level=0.9)
    same = square_interval(0.6, critical, 0.2, (0.2 / 3, 0.2 / 3), 12.0, level=0.9)
    assert unknown_direction.high == pytest.approx(same[1])


def test_where_the_test_does_not_reject_the_lower_end_is_at_most_zero() -> None:
    above = f_square(0.3, 0.2, 0.05, (3.0, 12.0))
    assert above.p > 0.05 and above.value > 0 and above.low == 0.0
    below = f_square(0.1, 0.2, 0.05, (3.0, 12.0))
    assert below.low == below.value == pytest.approx(-0.1)
