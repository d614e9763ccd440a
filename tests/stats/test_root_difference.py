"""The difference of two root mean squares: its test, interval and power in simulated runs."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats.root_difference import RootDifference, root_difference
from t2ibench.stats.squares import SquareNoise

KNOWN = SquareNoise(0.1, (0.0125, 0.0125), 64)


def compared(
    values: tuple[float, float], *noises: SquareNoise, shared: float = 0.0
) -> RootDifference:
    first, second = (*noises, KNOWN, KNOWN)[:2]
    return root_difference(values, (first, second), (shared, shared), np.random.default_rng(0))


def test_equal_mean_squares_do_not_differ() -> None:
    found = compared((0.25, 0.25))
    assert found.value == 0 and found.p == 1.0
    assert found.low == -found.high < 0


def test_runs_that_share_images_are_told_apart_sooner() -> None:
    alone, together = (compared((0.36, 0.16), shared=shared) for shared in (0.0, 0.9))
    assert alone.value == together.value == pytest.approx(0.2)
    assert together.p < alone.p and together.high - together.low < 0.6 * (alone.high - alone.low)
    assert alone.detectable and together.detectable and together.detectable < alone.detectable


def test_more_images_tell_less() -> None:
    """Four times the images: the noise of a mean square is a quarter, its variance less."""
    less = SquareNoise(0.025, (0.0125 / 4, 0.0125 / 4), 256)
    few, many = (compared((0, 0), noise, noise).detectable for noise in (KNOWN, less))
    assert many == pytest.approx(few / 2, abs=0.03)


def test_no_mean_square_is_asked_to_be_above_its_largest() -> None:
    """Answers that are nearly all alike leave room for less, not for more."""
    noise = SquareNoise(0.1, (0.0125, 0.0125), 64, 1.0)
    found = compared((0.9, 0.9), noise, noise)
    assert 0.05 < found.detectable < 0.3 and found.high < 0.3


def test_a_mean_square_without_noise_is_compared_with_one_that_has() -> None:
    found = compared((0.81, 0.1), SquareNoise(0.0, (0.0, 0.0), 1.0))
    assert found.p < 0.05 and 0 < found.low < found.value < found.high
