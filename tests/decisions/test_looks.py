"""Several looks: their levels are spent beforehand, and their errors together stay below .05."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from t2ibench.decisions.decision import Decision, decide
from t2ibench.decisions.looks import check_same, level_of, planned_looks
from t2ibench.decisions.runs import MeasuredRun, ReferenceRuns
from t2ibench.decisions.spending import look_levels, spent
from t2ibench.errors import T2IBenchError
from t2ibench.settings import Measurement
from tests import hand
from tests.decisions.made import TASK, lean_task, profile, results, scenario

FIRST = Measurement(images_per_prompt=16)


@pytest.mark.parametrize(
    "shares", [[1.0], [0.5, 1.0], [0.25, 0.5, 1.0], [0.3, 0.6, 1.0]]
)
def test_a_process_at_the_limit_crosses_in_a_twentieth(shares: list[float]) -> None:
    levels = look_levels(shares)
    assert levels == sorted(levels) and levels[-1] <= 0.05 + 1e-9
    rng = np.random.default_rng(3)
    process = np.zeros(100_000)
    crossed = np.zeros(100_000, bool)
    before = 0.0
    for share, level in zip(shares, levels, strict=True):
        process += rng.normal(0, np.sqrt(share - before), 100_000)
        before = share
        crossed |= process / np.sqrt(share) > -ndtri(level)
        assert crossed.mean() == pytest.approx(spent(share), abs=0.0025)


def test_one_look_has_the_whole_level() -> None:
    assert look_levels([1.0]) == [pytest.approx(0.05)]


@pytest.mark.parametrize(
    ("first", "most", "sizes"),
    [
        (16, 64, [16, 32, 64]),
        (16, 16, [16]),
        (4, 64, [16, 32, 64]),
        (16, 70, [16, 32, 70]),
        (16, 100, [32, 64, 100]),
    ],
)
def test_sizes_double_up_to_the_largest(
    first: int, most: int, sizes: list[int]
) -> None:
    looks = planned_looks(profile(), first, most, FIRST)
    assert looks.images_per_prompt == sizes
    assert looks.profile_sha256 == profile().sha256 and looks.taken == 0


def test_the_largest_is_no_smaller_than_the_first() -> None:
    with pytest.raises(T2IBenchError, match="below the first look"):
        planned_looks(profile(), 16, 8, FIRST)


def test_a_run_keeps_its_design() -> None:
    looks = planned_looks(profile(), 16, 64, FIRST)
    check_same(None, looks)
    check_same(looks.model_copy(update={"taken": 2}), looks)
    for other in (
        planned_looks(profile(), 16, 128, FIRST),
        planned_looks(profile(scenario(accept=0.41)), 16, 64, FIRST),
    ):
        with pytest.raises(T2IBenchError, match="looks at 16, 32, 64 images"):
            check_same(looks, other)


def looked_at(times: float, lean: float = 0.25, **settings: Any) -> Decision:
    """The decision about a run of looks at 16, 32 and 64 images whose results have this size."""
    looks = planned_looks(profile(), 16, 64, FIRST).model_copy(update={"taken": 3})
    measured = hand.settings(images_per_prompt=16, times=times, **settings)
    run = results(**{TASK: lean_task(lean, settings=measured)})
    return decide(profile(), MeasuredRun(None, run, looks=looks), ReferenceRuns(Path()))


def test_tasks_that_were_measured_at_different_looks_are_of_none() -> None:
    looks = planned_looks(profile(), 16, 64, FIRST)
    first, last = (
        hand.settings(images_per_prompt=16, times=times) for times in (1.0, 4.0)
    )
    assert level_of(looks, [first, first]) == looks.levels[0]
    assert level_of(looks, [last, last]) == looks.levels[2]
    for mixed in ([first, last], [last, first]):
        assert level_of(looks, mixed) is None


def test_decide_uses_the_level_of_the_look_that_results_are_of() -> None:
    looks = planned_looks(profile(), 16, 64, FIRST)
    assert [planned.times for planned in looks.measurements] == [1, 2, 4]
    for times, outcome in ((1.0, "undecided"), (4.0, "pass")):
        assert looked_at(times).outcome == outcome
    remark = "may be looked at 3 times; these results have the level 8.9e-05"
    assert remark in looked_at(1.0).remarks[0]


def test_results_of_no_planned_look_do_not_pass_and_may_fail() -> None:
    for times, settings in ((8.0, {}), (4.0, {"guided_images_per_prompt": 3})):
        decision = looked_at(times, 0.0, **settings)
        assert decision.outcome == "undecided"
        assert "fixed at 16, 32, 64 images" in decision.departures[0]
    assert looked_at(8.0, 0.9).outcome == "fail"
