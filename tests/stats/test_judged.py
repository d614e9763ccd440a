"""Shares and mean squares corrected by people's labels: no bias, and intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats.judged import corrected_mean_square, corrected_share


@pytest.mark.parametrize(("share", "right", "labels"), [(0.9, 0.8, 200), (0.5, 0.95, 50)])
def test_a_corrected_share_is_unbiased_and_covers(share: float, right: float, labels: int) -> None:
    rng = np.random.default_rng(0)
    values, covered = [], 0
    for _ in range(400):
        truth = rng.random(2000) < share
        judged = np.where(rng.random(2000) < right, truth, ~truth).astype(float)
        chosen = rng.choice(2000, labels, replace=False)
        found = corrected_share(judged, judged[chosen], truth[chosen].astype(float))
        values.append(found.value)
        covered += found.low <= share <= found.high
    assert abs(np.mean(values) - share) < 0.006
    assert 0.93 <= covered / 400 <= 0.995


def test_labels_alone_where_the_judge_guesses() -> None:
    rng = np.random.default_rng(1)
    truth, guess = rng.random(5000) < 0.8, rng.random(5000) < 0.5
    found = corrected_share(guess[:], guess[:300], truth[:300].astype(float))
    assert found.weight < 0.15 and abs(found.value - truth[:300].mean()) < 0.02


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_a_corrected_mean_square_is_unbiased_and_covers(share: float) -> None:
    rng = np.random.default_rng(2)
    planted, values, covered, naive = (2 * share - 1) ** 2, [], 0, []
    for _ in range(150):
        truth = (rng.random((30, 12)) < share).astype(int)
        judged = np.where(rng.random((30, 12)) < 0.85, truth, 1 - truth)
        counts = np.stack([judged.sum(1), 12 - judged.sum(1)], axis=1)
        c, i = np.divmod(rng.choice(360, 240, replace=False), 12)
        confusions = np.zeros((30, 2, 2))
        np.add.at(confusions, (c, 1 - truth[c, i], 1 - judged[c, i]), 1)
        found = corrected_mean_square(counts, confusions)
        values.append(found.value)
        covered += found.low <= planted <= found.high
        naive.append(float(np.mean((2 * judged.mean(axis=1) - 1) ** 2)) - 1 / 12)
    assert abs(np.mean(values) - planted) < 0.02
    assert covered / 150 >= 0.93
    if planted:
        assert np.mean(naive) < planted - 0.1  # what the judge alone would say


def test_too_little_is_said_and_not_guessed() -> None:
    few = corrected_mean_square([[10, 0]] * 5, [[[10, 0], [0, 10]]] * 5)
    assert few.value is None and few.reason == "100 labels; at least 200 are needed"
    blind = corrected_mean_square([[10, 0]] * 5, [[[25, 25], [25, 25]]] * 5)
    assert blind.reason == "the judge tells the classes apart too badly"
    one = corrected_mean_square([[10, 0]] * 5, [[[60, 0], [0, 0]]] * 5)
    assert one.reason == "people never gave one of the classes"
