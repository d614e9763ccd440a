"""Fisher's exact test that two shares are equal."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import stats as scipy_stats

from t2ibench.stats.fisher import fisher_exact


def exact_p(table: list[list[int]]) -> Fraction:
    """Return the p-value from counts of arrangements, without rounding."""
    (hits, misses), (other_hits, other_misses) = table
    size, other_size, all_hits = (
        hits + misses,
        other_hits + other_misses,
        hits + other_hits,
    )
    counts = [
        comb(size, number) * comb(other_size, all_hits - number)
        for number in range(max(0, all_hits - other_size), min(size, all_hits) + 1)
    ]
    observed = comb(size, hits) * comb(other_size, other_hits)
    return Fraction(sum(count for count in counts if count <= observed), sum(counts))


def test_p_is_that_of_counted_arrangements() -> None:
    rng = np.random.default_rng(0)
    for high in (4, 30, 300):
        for _ in range(100):
            table = rng.integers(0, high, (2, 2)).tolist()
            assert fisher_exact(table) == pytest.approx(
                float(exact_p(table)), rel=1e-11
            )


def test_p_of_many_items_is_that_of_scipy() -> None:
    for table in ([[40_000, 10_000], [39_800, 10_200]], [[9_000, 1_000], [9_800, 200]]):
        expected = scipy_stats.fisher_exact(table).pvalue
        assert fisher_exact(table) == pytest.approx(expected, rel=1e-8)


# As likely as another table, which rounding makes likelier by 2e-16 and by 7e-16.
TIES = [[[5, 1], [2, 9]], [[7, 33], [28, 17]]]
# Less likely than another table, by 2e-7 and by 4e-7.
NEAR_TIES = [[[76, 36], [104, 70]], [[26, 79], [48, 124]]]


@pytest.mark.parametrize("table", [*TIES, *NEAR_TIES])
def test_tables_that_are_as_likely_count_and_likelier_ones_do_not(
    table: list[list[int]],
) -> None:
    assert fisher_exact(table) == pytest.approx(float(exact_p(table)), rel=1e-12)


@pytest.mark.parametrize("table", [[[-1, 3], [2, 4]], [[1, 3], [2, -4]]])
def test_a_number_of_items_is_not_negative(table: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="negative"):
        fisher_exact(table)


@pytest.mark.parametrize(
    "table", [[[0, 0], [3, 4]], [[0, 5], [0, 4]], [[0, 0], [0, 0]]]
)
def test_an_empty_row_or_column_tells_nothing(table: list[list[int]]) -> None:
    assert fisher_exact(table) == 1.0
