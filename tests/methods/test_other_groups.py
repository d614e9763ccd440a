"""Where images of a third group lie between those of a pair, and what that explains."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.methods import score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.occupations.other_groups import OtherGroups
from tools.calibration.cells import SETTINGS
from tools.calibration.groups import (
    EVEN_THREE,
    LINE_MIDDLE,
    GroupWorld,
    Places,
    groups_task,
)


def result_of(places: Places, lean: float, seed: int = 0) -> MethodResult:
    task = groups_task(len(places), 8, 40, 20)
    world = GroupWorld(task, places, lean)
    sample = world.draw(np.random.default_rng(seed))
    return score(task, sample.evidence, SETTINGS)


def test_the_nearest_lean_that_other_groups_explain() -> None:
    others = OtherGroups(low=0.0, high=0.6, names=("old",))
    nearest = others.nearest(np.array([-0.3, 0.4, 0.9]))
    assert nearest.tolist() == [0.0, 0.4, 0.6]
    assert (others.size, others.farthest, others.listed_names) == (
        0.6,
        0.6,
        "old people",
    )
    below = OtherGroups(low=-0.7, high=0.2)
    assert (below.size, below.farthest) == (0.7, -0.7)


def test_a_fair_model_whose_groups_lie_on_a_line_is_inconclusive() -> None:
    """amber, cotton and basalt, in this order: to cotton's side of amber lies all of basalt."""
    result = result_of(LINE_MIDDLE, 0.0)
    control = result.controls["other_groups"]
    assert result.headline.p is not None and result.headline.p < 1e-6
    assert control.contradicts is not None
    assert "do not lie half way between those of" in control.contradicts
    assert control.p is not None and control.p > 0.05
    # Images of basalt lie three times as far on as those of cotton, seen from amber.
    assert abs(control.value or 0.0) == pytest.approx(3.0, abs=0.5)
    assert result.inconclusive is not None
    rows = [item.scores["lean:amber-cotton"] for item in result.by]
    assert all(row.value is None or (row.p or 1.0) > 0.05 for row in rows)
    mean = result.scores["lean_mean:amber-cotton"]
    assert mean.value is None and mean.p == 1.0


def test_a_lean_that_others_do_not_explain_stays() -> None:
    result = result_of(EVEN_THREE, 0.7)
    control = result.controls["other_groups"]
    assert control.contradicts is None and (control.p or 1.0) < 0.001
    rows = [item.scores["lean:amber-basalt"] for item in result.by]
    assert np.mean([(row.p or 1.0) < 0.05 for row in rows]) > 0.5


def test_two_groups_have_no_others() -> None:
    result = result_of(((0.0,), (0.2,)), 0.5)
    assert "other_groups" not in result.controls
