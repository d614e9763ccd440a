"""Single tests in a fair toyland: sets follow from their seeds, and rates from the sets."""

from __future__ import annotations

import numpy as np

from t2ibench.tasks.index import load_tasks
from tools.calibration.single import drawn, rates


def test_a_set_follows_from_its_seed() -> None:
    (task,) = load_tasks("t2iat_straight_gay")
    value, p, _ = drawn(task, 3, 4)
    assert drawn(task, 7, 0)[:2] == (value, p)
    assert drawn(task, 8, 0)[:2] != (value, p)
    assert 0 < p <= 1


def test_rates_are_of_the_sets_with_a_value() -> None:
    p = [0.001, 0.02, 0.3, 0.9, np.nan]
    value = [0.2, -0.2, 0.1, -0.1, np.nan]
    unsure = [0, 0, 0, 0, 1]
    row = rates(np.column_stack([value, p, unsure]))
    assert row["sets"] == "4"
    assert row["p < .05"].startswith("0.500 ")
    assert row["p < .01"].startswith("0.250 ")
    assert row["mean headline"].startswith("+0.0000 ±")
    assert row["cannot tell"].startswith("0.200 ")
