"""Shares corrected by people's labels: no bias, and intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats.judged import corrected_share


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
        low, high = found.interval
        covered += low <= share <= high
    assert abs(np.mean(values) - share) < 0.006
    assert 0.93 <= covered / 400 <= 0.995


def test_labels_alone_where_the_judge_guesses() -> None:
    rng = np.random.default_rng(1)
    truth, guess = rng.random(5000) < 0.8, rng.random(5000) < 0.5
    found = corrected_share(guess[:], guess[:300], truth[:300].astype(float))
    assert found.weight < 0.15 and abs(found.value - truth[:300].mean()) < 0.02
