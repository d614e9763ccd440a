"""Numbers at nine significant digits are those that Python writes with nine."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats.rounding import settled


def test_settled_numbers_are_those_written_with_nine_digits() -> None:
    rng = np.random.default_rng(0)
    exponents = rng.integers(-11, 20, 2000)
    values = rng.normal(size=2000) * 10.0**exponents
    values = values[np.abs(values) >= 1e-12]
    written = [float(f"{value:.8e}") for value in values]
    assert settled(values) == pytest.approx(written, rel=1e-15, abs=0.0)


@pytest.mark.parametrize("value", [0.3, 0.7, 1.1, 123456.789, 9.5e-7, 4.2e-11])
def test_a_settled_number_is_the_nearest_to_its_digits(value: float) -> None:
    """Bit for bit, so that 0.1 + 0.2 and 0.3 are one number."""
    assert float(settled(value * (1 + 1e-14))) == value
    assert float(settled(-value)) == -value


def test_a_power_of_ten_stays() -> None:
    powers = 10.0 ** np.arange(-11, 16)
    assert settled(powers) == pytest.approx(powers, rel=1e-15, abs=0.0)


def test_what_is_nearer_to_zero_than_a_trillionth_is_zero() -> None:
    values = [0.0, 1e-300, -9.99e-13, 1.5e-12, -1.5e-12]
    assert settled(values).tolist() == [0.0, 0.0, 0.0, 1.5e-12, -1.5e-12]


def test_what_is_not_finite_stays() -> None:
    result = settled([np.inf, -np.inf, np.nan, 2.0])
    assert np.array_equal(result, [np.inf, -np.inf, np.nan, 2.0], equal_nan=True)
