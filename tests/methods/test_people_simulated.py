"""Shares that several people answered hold what is planted (tools/calibration/people.py)."""

from __future__ import annotations

from itertools import product

import pytest

from tools.calibration.people import CROWDS, World, simulated

FAIR = [name for name, (_, _, one_sided) in CROWDS.items() if not one_sided]
CELLS = [*product(FAIR, (10, 40), (0.5, 0.7, 0.9))]
SETS = 200


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "images", "share"), CELLS)
def test_intervals_cover_and_even_shares_are_rejected_at_the_nominal_level(
    name: str, images: int, share: float
) -> None:
    errors, hard, one_sided = CROWDS[name]
    found = simulated(World(errors, share, images, hard, one_sided), SETS, seed=1)
    for part in ("row covers", "mean covers", "headline covers"):
        assert found[part].mean > 0.93 - 2 * found[part].error
    if share == 0.5:
        for part in ("row rejects", "mean rejects", "headline rejects"):
            assert found[part].mean < 0.065 + 2 * found[part].error
        assert abs(found["row bias"].mean) < 0.01 + 3 * found["row bias"].error


@pytest.mark.slow
def test_a_majority_of_people_who_err_underestimates_a_bias_within_its_interval() -> (
    None
):
    """.9 is read as .73 by three people who err in 30 %; the interval still holds .9."""
    found = simulated(World((0.3, 0.3, 0.3), 0.9, 40), 12)
    assert found["row bias"].mean < -0.12
    assert found["row covers"].mean > 0.95 and found["mean covers"].mean > 0.9
