"""Slopes of shares on known ones, corrected by people's labels."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats import share_slope
from t2ibench.stats.slope import corrected_slope

REFERENCE = np.linspace(0.05, 0.95, 60)


def drawn(rng: np.random.Generator, slope: float, labels: int, images: int = 12) -> tuple:
    """A judge that misses every fifth woman, and takes more men for women where many are."""
    units = len(REFERENCE)
    shares = np.clip(0.5 + slope * (REFERENCE - 0.5) + rng.normal(0, 0.08, units), 0.02, 0.98)
    truth = rng.random((units, images)) < shares[:, None]
    wrong = 0.2 - 0.15 * (REFERENCE[:, None] - 0.5)
    judged = np.where(truth, rng.random(truth.shape) > 0.2, rng.random(truth.shape) < wrong)
    chosen = np.zeros(truth.size, bool)
    chosen[rng.choice(truth.size, labels, replace=False)] = True
    chosen = chosen.reshape(truth.shape)
    answers = np.column_stack([np.full(units, images), judged.sum(axis=1)])
    parts = (chosen, chosen & truth, chosen & judged)
    return answers, np.column_stack([part.sum(axis=1) for part in parts])


@pytest.mark.parametrize("slope", [0.0, 0.8])
def test_labels_undo_a_judges_errors(slope: float) -> None:
    rng = np.random.default_rng(int(10 * slope))
    found, plain = [], []
    for _ in range(300):
        answers, labels = drawn(rng, slope, 200)
        one = corrected_slope(REFERENCE, answers, labels)
        found.append((one.value, one.low <= slope <= one.high))
        plain.append(share_slope(answers[:, 1], answers[:, 0], REFERENCE).value)
    value, covers = np.mean(found, axis=0)
    assert value == pytest.approx(slope, abs=0.03)
    assert 0.91 <= covers <= 0.98
    assert abs(np.mean(plain) - slope) > 0.06


def test_the_judge_makes_the_interval_narrower() -> None:
    answers, labels = drawn(np.random.default_rng(1), 0.5, 200, images=60)
    found = corrected_slope(REFERENCE, answers, labels)
    alone = corrected_slope(REFERENCE, answers * [1, 0], labels * [1, 1, 0])
    assert alone.weight == 0.0 < found.weight
    assert found.high - found.low < 0.9 * (alone.high - alone.low)


@pytest.mark.parametrize(
    ("reference", "labels", "reason"),
    [
        (REFERENCE, [[1, 1, 1]] * 60, "60 labels; at least 100 are needed"),
        (REFERENCE, [[20, 5, 5]] * 9 + [[0, 0, 0]] * 51, "9 labelled stimuli; at least 10"),
        (np.full(60, 0.5), [[3, 1, 1]] * 60, "the labelled stimuli have one reference share"),
    ],
)
def test_too_few_labels_correct_nothing(
    reference: np.ndarray, labels: list[list[int]], reason: str
) -> None:
    found = corrected_slope(reference, [[12, 6]] * 60, labels)
    assert found.value is None and reason in found.reason
