"""Means over clusters and their differences: the zero is a zero, and intervals cover."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

from t2ibench.stats.clusters import mean_difference

LIGHT, DARK = 57.0, -26.0  # degrees, the two tones of toyland


def side(
    rng: np.random.Generator, clusters: int, images: int, share: float, icc: float
) -> dict[object, list[float]]:
    """Angles of images, dark ones with a share that varies between prompts."""
    found: dict[object, list[float]] = {}
    for _ in range(clusters):
        mine = rng.beta(share * (1 / icc - 1), (1 - share) * (1 / icc - 1))
        dark = rng.random(images) < mine
        found[object()] = (np.where(dark, DARK, LIGHT) + rng.normal(0, 3, images)).tolist()
    return found


def test_it_is_welchs_and_students_test_on_clusters_means() -> None:
    rng = np.random.default_rng(0)
    one = {k: rng.normal(1, 1, 3).tolist() for k in range(5)}
    other = {f"other {k}": rng.normal(0, 3, 4).tolist() for k in range(4)}
    a, b = ([float(np.mean(v)) for v in values.values()] for values in (one, other))
    found, known = mean_difference(one, other), ttest_ind(a, b, equal_var=False)
    assert known.df < 6.9  # below that of equal variances, which is the bound
    assert (found.p, found.df) == pytest.approx((known.pvalue, known.df))
    assert (found.low, found.high) == pytest.approx(tuple(known.confidence_interval()))
    same = dict(zip(one, (rng.normal(0, 1, 2).tolist() for _ in range(5)), strict=True))
    paired = mean_difference(one, same)
    assert paired.paired and not found.paired
    assert paired.p == pytest.approx(ttest_rel(a, [np.mean(v) for v in same.values()]).pvalue)


@pytest.mark.parametrize("other", [1, 10])
def test_one_prompt_on_a_side_has_a_difference_and_no_test(other: int) -> None:
    many = {k: [2.0, 3.0] for k in range(other)}
    found = mean_difference({"a": [1.0, 1.5], "empty": []}, many)
    assert (found.value, found.clusters) == (-1.25, 1 + other)
    assert np.isnan([found.low, found.high, found.p]).all()


@pytest.mark.parametrize("shares", [(0.35, 0.35), (0.2, 0.5)])
def test_the_zero_is_a_zero_and_the_interval_covers(shares: tuple[float, float]) -> None:
    rng, truth = np.random.default_rng([8, 10, 3]), (DARK - LIGHT) * (shares[0] - shares[1])
    found = [mean_difference(*(side(rng, 8, 10, one, 0.3) for one in shares)) for _ in range(400)]
    assert 0.91 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.99
    values = [one.value for one in found]
    assert np.mean(values) == pytest.approx(truth, abs=4 * np.std(values) / 20)
    assert truth or np.mean([one.p < 0.05 for one in found]) <= 0.085
