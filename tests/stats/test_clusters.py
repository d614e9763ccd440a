"""Means of clusters, and distances between groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats
from scipy.stats import ttest_ind, ttest_rel

from t2ibench.stats import group_distance, shuffled_labels
from t2ibench.stats.clusters import mean_difference

LIGHT, DARK = 57.0, -26.0  # degrees, the two tones of toyland


def side(
    rng: np.random.Generator, clusters: int, images: int, share: float, icc: float
) -> dict[object, list[float]]:
    """Angles of images, dark ones with a share that varies between prompts."""
    found: dict[object, list[float]] = {}
    for _ in range(clusters):
        mine = rng.beta(share * (1 / icc - 1), (1 - share) * (1 / icc - 1)) if icc else share
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


@pytest.mark.nightly
@pytest.mark.parametrize("sizes", [(3, 3), (5, 5), (10, 10), (2, 10), (3, 40), (10, 3)])
def test_few_prompts_and_sides_of_other_sizes(sizes: tuple[int, int]) -> None:
    """Plain Welch's t covers .88 to .90 of 2 against 10 prompts, .92 of 3 against 40."""
    rng, runs = np.random.default_rng(sizes), 300
    for spread in (1.0, 0.3):
        inside, rejected = 0, 0
        for _ in range(runs):
            sides: list[dict[object, list[float]]] = [{}, {}]
            for one, count, scale in zip(sides, sizes, (1.0, spread), strict=True):
                for k in range(count):
                    images = (1, 3, 10)[k % 3]  # prompts with some images refused
                    one[object()] = (
                        rng.normal(0, scale) + rng.normal(0, scale / 3, images)
                    ).tolist()
            found = mean_difference(*sides)
            inside += found.low <= 0 <= found.high
            rejected += found.p < 0.05
        assert inside / runs >= 0.91 and inside + rejected == runs


@pytest.mark.parametrize(("clusters", "images"), [(4, 10), (8, 10), (8, 60)])
@pytest.mark.parametrize("icc", [0.0, 0.3])
def test_the_zero_is_a_zero_and_the_interval_covers(clusters: int, images: int, icc: float) -> None:
    rng, runs = np.random.default_rng([clusters, images, int(10 * icc)]), 400
    for shares in ((0.35, 0.35), (0.2, 0.5)):
        truth = (DARK - LIGHT) * (shares[0] - shares[1])
        found = [
            mean_difference(*(side(rng, clusters, images, share, icc) for share in shares))
            for _ in range(runs)
        ]
        covered = sum(one.low <= truth <= one.high for one in found) / runs
        assert 0.91 <= covered <= 0.99
        error = np.std([one.value for one in found]) / np.sqrt(runs)
        assert np.mean([one.value for one in found]) == pytest.approx(truth, abs=4 * error)
        if truth == 0:
            assert sum(one.p < 0.05 for one in found) / runs <= 0.085


@pytest.mark.parametrize("ties", [False, True])
def test_two_groups_are_scipy(ties: bool) -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(7, 31))
    values[:, :12] += 0.5
    if ties:
        values = values.round(0)
    labels = np.repeat([0, 1], [12, 19])
    for row, found in zip(values, group_distance(values, labels), strict=True):
        expected = scipy_stats.ks_2samp(row[:12], row[12:]).statistic
        assert found == pytest.approx(expected)


def test_several_groups_are_the_worst_pair() -> None:
    values = np.array([[0.0, 0.1, 0.2, 5.0, 5.1, 0.05]])
    assert group_distance(values, np.array([0, 0, 2, 1, 1, 2])) == pytest.approx([1.0])


def test_many_groupings_at_once() -> None:
    rng = np.random.default_rng(2)
    values, labels = rng.normal(size=(3, 20)), np.repeat([0, 1], 10)
    shuffled = shuffled_labels(labels, 50, rng)
    assert (np.sort(shuffled, axis=1) == labels).all()
    found = group_distance(values, shuffled)
    assert found.shape == (50, 3)
    for draw in (0, 17, 49):
        assert found[draw] == pytest.approx(group_distance(values, shuffled[draw]))
