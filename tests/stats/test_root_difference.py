"""The difference of two root mean squares: its test, interval and power in simulated runs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import optimize
from scipy import stats as scipy_stats

from t2ibench.stats.root_difference import (
    RootDifference,
    _correlated,
    _end,
    _middle,
    _Model,
    _relative,
    _squares,
    root_difference,
)
from t2ibench.stats.squares import SquareNoise

KNOWN = SquareNoise(0.1, (0.0125, 0.0125), 64)


def compared(first: float, second: float, **changes: float) -> RootDifference:
    other = SquareNoise(0.1, (0.0125, 0.0125), 64, **changes)
    return root_difference(
        (first, second), (KNOWN, other), (0.0, 0.0), np.random.default_rng(0)
    )


def test_equal_mean_squares_do_not_differ() -> None:
    found = compared(0.25, 0.25)
    assert found.value == 0 and found.p == 1.0
    assert found.low == -found.high < 0


def test_differences_of_runs_with_shared_images_have_narrower_intervals() -> None:
    alone, together = (
        root_difference(
            (0.36, 0.16), (KNOWN, KNOWN), correlations, np.random.default_rng(0)
        )
        for correlations in ((0.0, 0.0), (0.9, 0.9))
    )
    assert alone.value == together.value == pytest.approx(0.2)
    assert together.p < alone.p and together.high - together.low < 0.6 * (
        alone.high - alone.low
    )
    assert (
        alone.detectable
        and together.detectable
        and together.detectable < alone.detectable
    )


def test_more_images_tell_less() -> None:
    """Four times the images: the noise of a mean square is a quarter, its variance less."""
    few, many = (
        root_difference(
            (0.0, 0.0), (noise, noise), (0.0, 0.0), np.random.default_rng(0)
        ).detectable
        for noise in (KNOWN, SquareNoise(0.025, (0.0125 / 4, 0.0125 / 4), 256))
    )
    assert few is not None and many is not None
    assert many == pytest.approx(few / 2, abs=0.03)


def test_tested_mean_squares_never_exceed_the_largest_possible() -> None:
    """Answers that are nearly all alike leave room for less, not for more."""
    noise = SquareNoise(0.1, (0.0125, 0.0125), 64, 1.0)
    found = root_difference(
        (0.9, 0.9), (noise, noise), (0.0, 0.0), np.random.default_rng(0)
    )
    assert found.detectable is not None and 0.05 < found.detectable < 0.3
    assert found.high < 0.3


def test_a_mean_square_without_noise_is_compared_with_one_that_has() -> None:
    exact = SquareNoise(0.0, (0.0, 0.0), 1.0)
    found = root_difference(
        (0.81, 0.1), (exact, KNOWN), (0.0, 0.0), np.random.default_rng(0)
    )
    assert found.p < 0.05 and 0 < found.low < found.value < found.high


def simulated(
    leans: npt.NDArray[np.float64], variance: float, df: int, rng: np.random.Generator
) -> tuple[float, SquareNoise]:
    seen = leans + rng.normal(0, variance**0.5, len(leans))
    variances = variance * rng.chisquare(df, len(leans)) / df
    noise, squares = float(variances.mean()), float((seen**2).mean())
    h = variances.sum() ** 2 / (variances**2 * df / (df + 2)).sum()
    h2 = variances.sum() ** 2 / (variances**2 / (df + 2)).sum()
    along = float((seen**2 * variances).mean()) / squares / len(leans)
    return squares - noise, SquareNoise(noise, (noise / h, along), h2)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("roots", "variances", "rejects"),
    [
        ((0.0, 0.0), (0.05, 0.05), (0.01, 0.08)),  # cautious: neither is known to be 0
        ((0.5, 0.5), (0.05, 0.05), (0.02, 0.08)),
        ((0.5, 0.5), (0.05, 0.01), (0.02, 0.08)),
        ((0.5, 0.0), (0.05, 0.05), (0.82, 1.0)),  # at most .91 can be had
    ],
)
def test_the_test_of_roots_has_its_nominal_size(
    roots: tuple[float, float],
    variances: tuple[float, float],
    rejects: tuple[float, float],
) -> None:
    pattern = np.linspace(-1, 1, 8) / np.sqrt((np.linspace(-1, 1, 8) ** 2).mean())
    found = []
    for number in range(300):
        rng = np.random.default_rng(number)
        (x, noise), (y, other) = (
            simulated(root * pattern, variance, 57, rng)
            for root, variance in zip(roots, variances, strict=True)
        )
        found.append(root_difference((x, y), (noise, other), (0.0, 0.0), rng))
    assert rejects[0] <= np.mean([one.p < 0.05 for one in found]) <= rejects[1]
    covered = [one.low <= roots[0] - roots[1] <= one.high for one in found]
    assert 0.91 <= np.mean(covered) <= 0.99
    agree = [(one.p < 0.05) == (one.low > 0 or one.high < 0) for one in found]
    assert np.mean(agree) == 1.0


def test_a_small_p_value_can_be_corrected_for_many_tests() -> None:
    """Two thousand draws alone could not say less than .0005, which 100 tests make .05."""
    noise = SquareNoise(0.01, (0.00125, 0.00125), 57)
    rng = np.random.default_rng(0)
    found = root_difference((0.6, 0.0), (noise, noise), (0.0, 0.0), rng)
    assert 0 < found.p < 0.0002 and found.low > 0


# Two runs that differ in everything: noise, slopes, degrees of freedom, and the first has a top.
NOISES = (
    SquareNoise(0.1, (0.02, 0.015), 30, 1.2),
    SquareNoise(0.06, (0.01, 0.03), 12),
)
CORRELATIONS = (0.6, 0.5)


def model_of(values: tuple[float, float], n_draws: int = 50) -> _Model:
    rng = np.random.default_rng(8)
    return _Model(values, NOISES, CORRELATIONS, rng, n_draws)


def variances_by_hand(
    squares: npt.NDArray[np.float64], scales: npt.NDArray[np.float64]
) -> tuple[list[float], list[float]]:
    """4 S s₁ and 2 u s₀ of both runs, whose noise u, s₀, s₁ is scaled and shrinks with 1 − S/T."""
    linear, squared = [], []
    for noise, square, scale in zip(NOISES, squares, scales, strict=True):
        remaining = max(1 - square / noise.top, 0.02) * scale
        linear.append(4 * square * noise.slopes[1] * remaining)
        squared.append(2 * noise.noise * noise.slopes[0] * remaining**2)
    return linear, squared


def z_by_hand(
    x: npt.NDArray[np.float64], scales: npt.NDArray[np.float64], difference: float
) -> tuple[float, npt.NDArray[np.float64]]:
    """Z, and the S with the difference of roots that fit x best by scipy's minimiser.

    The weights are those at the mean of both x, and once more at the S that fit best with these.
    """
    squares = np.full(2, max(float(x.mean()), 0.0))
    for _ in range(2):
        variances = np.add(*variances_by_hand(squares, scales))

        def loss(middle: float, v: npt.NDArray[np.float64] = variances) -> float:
            roots = middle + np.array([difference, -difference]) / 2
            return float(((x - roots**2) ** 2 / v).sum())

        least = abs(difference) / 2
        result = optimize.minimize_scalar(
            loss, bounds=(least, least + 3), method="bounded", options={"xatol": 1e-10}
        )
        squares = (result.x + np.array([difference, -difference]) / 2) ** 2
    linear, squared = variances_by_hand(squares, scales)
    covariance = 0.6 * np.sqrt(linear[0] * linear[1])
    covariance += 0.25 * np.sqrt(squared[0] * squared[1])
    variance = sum(linear) + sum(squared) - 2 * covariance
    z = (x[0] - x[1] - squares[0] + squares[1]) / np.sqrt(variance)
    return float(z), squares


@pytest.mark.parametrize("values", [(0.5, 0.3), (0.25, 0.36), (0.9, 0.1)])
@pytest.mark.parametrize("difference", [-0.2, 0.0, 0.3])
def test_z_is_the_distance_from_the_best_fit_in_standard_errors(
    values: tuple[float, float], difference: float
) -> None:
    z, _ = model_of(values).at(difference)
    expected, _ = z_by_hand(np.array(values), np.ones(2), difference)
    assert z == pytest.approx(expected, abs=1e-5)


def test_draws_of_z_are_those_of_mean_squares_with_drawn_noise() -> None:
    """x = S + 2 √(S s₁) g + squares − u·scale, each at what remains of the noise, at most T."""
    values = np.array([0.5, 0.3])
    model = model_of((0.5, 0.3))
    _, draws = model.at(0.1)
    _, squares = z_by_hand(values, np.ones(2), 0.1)
    assert draws.shape == (100,)
    for draw in range(0, 100, 7):
        x = []
        for run, noise in enumerate(NOISES):
            remaining = 1 - squares[run] / noise.top
            direction = model.direction[run, draw]
            linear = 2 * np.sqrt(squares[run] * noise.slopes[1] * remaining)
            estimated = noise.noise * model.scale[run, draw]
            beyond = model.squares[run, draw] - estimated
            value = squares[run] + linear * direction + remaining * beyond
            x.append(min(value, noise.top))
        expected, _ = z_by_hand(np.array(x), model.scale[:, draw], 0.1)
        assert draws[draw] == pytest.approx(expected, abs=2e-3)


def test_the_runs_exchanged_have_the_draws_exchanged() -> None:
    same = SquareNoise(0.1, (0.02, 0.02), 20)
    rng = np.random.default_rng(1)
    model = _Model((0.4, 0.4), (same, same), (0.6, 0.5), rng, 30)
    for drawn in (model.direction, model.squares, model.scale):
        assert drawn.shape == (2, 60)
        assert drawn[0, :30] == pytest.approx(drawn[1, 30:])
        assert drawn[1, :30] == pytest.approx(drawn[0, 30:])
    _, draws = model.at(0.0)
    assert draws[:30] == pytest.approx(-draws[30:])


def test_drawn_noise_has_its_mean_and_variance() -> None:
    """Squared noise u and 2 u s₀ with correlation c², its estimate u and 2 u² / f."""
    rng = np.random.default_rng(2)
    noises = (SquareNoise(0.1, (0.02, 0.02), 30), SquareNoise(0.06, (0.01, 0.03), 12))
    model = _Model((0.5, 0.3), noises, (0.6, 0.5), rng, 40_000)
    for run, noise in enumerate(noises):
        assert model.squares[run].mean() == pytest.approx(noise.noise, rel=0.01)
        variance = 2 * noise.noise * noise.slopes[0]
        assert model.squares[run].var() == pytest.approx(variance, rel=0.05)
        assert model.scale[run].mean() == pytest.approx(1.0, rel=0.01)
        assert model.scale[run].var() == pytest.approx(2 / noise.df, rel=0.05)
    assert np.corrcoef(model.direction)[0, 1] == pytest.approx(0.6, abs=0.01)
    assert np.corrcoef(model.scale)[0, 1] == pytest.approx(0.25, abs=0.02)
    # Of 5 and 6 degrees of freedom one is along the direction, whose squares correlate by .36.
    expected = (0.36 + np.sqrt(4 * 5) * 0.25) / np.sqrt(5 * 6)
    assert np.corrcoef(model.squares)[0, 1] == pytest.approx(expected, abs=0.02)


def test_squared_noise_is_chi_squared_with_its_direction_as_one_part() -> None:
    direction, others = np.array([0.5, -2.0]), np.array([0.3, -1.0])
    noise = SquareNoise(0.1, (0.02, 0.5), 30)
    quantiles = scipy_stats.chi2.ppf(scipy_stats.norm.cdf(others), 4)
    expected = 0.02 * (direction**2 + quantiles)
    assert _squares(noise, direction, others) == pytest.approx(expected)
    one = SquareNoise(0.1, (0.1, 0.5), 30)
    assert _squares(one, direction, others) == pytest.approx(0.1 * direction**2)
    none = SquareNoise(0.0, (0.0, 0.0), 30)
    assert _squares(none, direction, others).tolist() == [0.0, 0.0]
    quantiles = scipy_stats.chi2.ppf(scipy_stats.norm.cdf(others), 30)
    assert _relative(noise, others) == pytest.approx(quantiles / 30)
    for known in (NOISES[0], SquareNoise(0.1, (0.1, 0.5), np.inf)):
        assert _relative(known, others).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.3, 0.9, 1.0])
def test_two_variables_get_exactly_the_correlation(correlation: float) -> None:
    """The squares of the weights sum to 1, and twice their product is the correlation."""
    first, second = _correlated(np.eye(2), correlation)
    assert first @ first == pytest.approx(1.0) == second @ second
    assert first @ second == pytest.approx(correlation)
    assert first[0] == second[1] >= first[1]


@pytest.mark.parametrize("half", [-0.2, 0.0, 0.1, 0.4])
@pytest.mark.parametrize("x", [(0.5, 0.3), (0.04, 0.9), (-0.1, 0.2), (-0.1, -0.3)])
@pytest.mark.parametrize("weights", [(1.0, 1.0), (9.0, 2.0)])
def test_the_middle_root_is_where_the_fit_is_best(
    half: float, x: tuple[float, float], weights: tuple[float, float]
) -> None:
    grid = np.linspace(abs(half), 2.0, 200_001)
    losses = weights[0] * (x[0] - (grid + half) ** 2) ** 2
    losses = losses + weights[1] * (x[1] - (grid - half) ** 2) ** 2
    result = _middle(np.array(x)[:, None], np.array(weights)[:, None], half)
    at_found = weights[0] * (x[0] - (result + half) ** 2) ** 2
    at_found = at_found + weights[1] * (x[1] - (result - half) ** 2) ** 2
    assert at_found == pytest.approx(losses.min(), abs=2e-4)
    assert result == pytest.approx(grid[losses.argmin()], abs=0.04)


@pytest.mark.parametrize(("sign", "end"), [(1.0, 0.83), (-1.0, -0.57)])
def test_an_end_is_where_the_test_begins_to_reject_for_good(
    sign: float, end: float
) -> None:
    """Rejected for .02 on the way alone, which is less than the search steps over."""

    def beyond(difference: float) -> float:
        if 0.3 < abs(difference) < 0.32:
            return 0.1
        return max(difference - 0.83, -0.57 - difference)

    assert _end(beyond, centre=0.2, sign=sign) == pytest.approx(end, abs=2e-3)


def test_an_end_without_rejection_is_the_farthest() -> None:
    assert _end(lambda difference: -1.0, centre=0.2, sign=1.0) == 4.2
    assert _end(lambda difference: -1.0, centre=0.2, sign=-1.0) == -3.8
    at_once = _end(lambda difference: 1.0, centre=0.2, sign=1.0)
    assert at_once == 0.2


def test_where_z_is_zero_a_negative_mean_square_counts() -> None:
    assert model_of((0.49, 0.04)).centre == pytest.approx(0.5)
    assert model_of((0.2, -0.05)).centre == pytest.approx(0.5)
    assert model_of((-0.05, 0.2)).centre == pytest.approx(-0.5)
    assert model_of((-0.02, -0.11)).centre == pytest.approx(0.3)
    assert model_of((-0.02, 0.25)).roots.tolist() == [0.0, 0.5]


def test_the_detectable_difference_is_detected_in_eight_of_ten_cases() -> None:
    """In draws of another generator, of new data beside the equal root: at .01 less in fewer."""
    noise = SquareNoise(0.05, (0.00625, 0.00625), 200)
    model = _Model((0.3, 0.3), (noise, noise), (0, 0), np.random.default_rng(0), 1000)
    least = model.detectable(0.95)
    fresh = _Model((0.3, 0.3), (noise, noise), (0, 0), np.random.default_rng(1), 20_000)
    equal = np.full((2, 1), 0.3**0.5)
    critical = np.quantile(np.abs(fresh._drawn(equal**2, 0.0)), 0.95)

    def power(difference: float) -> float:
        roots = equal + np.array([[difference], [0.0]])
        return float((np.abs(fresh._drawn(roots**2, 0.0)) >= critical).mean())

    # 500 draws give a power its standard error of .018.
    assert power(least) == pytest.approx(0.8, abs=0.06)
    assert power(least + 0.05) > 0.85 and power(least - 0.05) < 0.75
    assert round(100 * least) == pytest.approx(100 * least)


def test_p_is_the_share_of_draws_and_the_interval_agrees_with_it() -> None:
    """The share of draws of a second generator that are as far out; their error is .01."""
    result = root_difference((0.5, 0.3), NOISES, CORRELATIONS, np.random.default_rng(0))
    z, draws = model_of((0.5, 0.3), 20_000).at(0.0)
    assert result.p == pytest.approx((np.abs(draws) >= abs(z)).mean(), abs=0.035)
    assert result.value == pytest.approx(np.sqrt(0.5) - np.sqrt(0.3))
    fresh = model_of((0.5, 0.3), 20_000)
    for end in (result.low, result.high):
        z, draws = fresh.at(end)
        critical = np.quantile(np.abs(draws), 0.95)
        assert abs(z) == pytest.approx(critical, rel=0.08)
    narrower = root_difference(
        (0.5, 0.3), NOISES, CORRELATIONS, np.random.default_rng(0), level=0.5
    )
    assert result.low < narrower.low < narrower.high < result.high
