"""The difference of two root mean squares: its test, interval and power in simulated runs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from t2ibench.stats.root_difference import RootDifference, root_difference
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
