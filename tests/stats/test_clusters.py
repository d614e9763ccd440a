"""Distances between groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from t2ibench.stats import group_distance, shuffled_labels


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
