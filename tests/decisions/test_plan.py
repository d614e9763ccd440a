"""Plans: what they fix, what departs from them, and the chances that they state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from t2ibench.decisions.design import Design, forecast_of_design, square_chances
from t2ibench.decisions.looks import planned_looks
from t2ibench.decisions.plan import Plan, departures, make_plan, read_plan, write_plan
from t2ibench.decisions.quantity import Limits
from t2ibench.errors import T2IBenchError
from t2ibench.results.schema import Results
from t2ibench.settings import Measurement
from t2ibench.tasks.index import load_tasks
from t2ibench.tasks.loader import LoadedTask
from tests import hand
from tests.decisions.made import decided, lean_task, profile, results, scenario

TASK = "core_occupations_gender"
GATE = profile(scenario(measurement={"task": TASK, "statistic": "headline"}))


@pytest.fixture(scope="module")
def task() -> LoadedTask:
    (loaded,) = load_tasks([TASK])
    return loaded


def planned(task: LoadedTask, **more: Any) -> Plan:
    return make_plan(GATE, {TASK: task}, Measurement(), **more)


def run_of(task: LoadedTask, **changes: Any) -> Results:
    settings = hand.settings(**changes)
    record = lean_task(0.0, settings=settings, task_hash=task.hash)
    return results(**{TASK: record})


def test_a_plan_comes_back_and_a_changed_one_does_not(
    task: LoadedTask, tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    plan = planned(task)
    write_plan(plan, path)
    assert read_plan(path) == plan
    content = json.loads(path.read_text())
    assert content["sha256"] == plan.sha256
    content["profile"]["scenarios"][0]["accept"] = 0.5
    path.write_text(json.dumps(content))
    with pytest.raises(T2IBenchError, match="changed after it was written"):
        read_plan(path)
    for text in ("", "[]", "{}", '{"sha256": "x", "tasks": {}}'):
        path.write_text(text)
        with pytest.raises(T2IBenchError):
            read_plan(path)


def test_a_run_that_keeps_to_its_plan_departs_in_nothing(task: LoadedTask) -> None:
    assert departures(planned(task), GATE, run_of(task)) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 7}, "--seed 7, not 0"),
        ({"images_per_prompt": 3}, "--images-per-prompt 3, not unset"),
        ({"times": 2.0}, "--times 2.0, not 1.0"),
        ({"limit": 2}, "--limit 2, not unset"),
        ({"level": 0.9}, "--level 0.9, not 0.95"),
        ({"encoders": {"clip": "e" * 64}}, "has the encoders clip, not toyland"),
    ],
)
def test_departures_are_named(
    task: LoadedTask, changes: dict[str, Any], message: str
) -> None:
    plan = planned(task, encoders=("toyland",))
    (line,) = departures(plan, GATE, run_of(task, **changes))
    assert message in line


def test_another_task_or_profile_departs(task: LoadedTask) -> None:
    plan = planned(task)
    other = results(**{TASK: lean_task(0.0, task_hash="other")})
    assert "another version" in departures(plan, GATE, other)[0]
    assert "not in the run" in departures(plan, GATE, results(t=lean_task(0.0)))[0]
    milder = profile(scenario(accept=0.5))
    assert "another one than that" in departures(plan, milder, run_of(task))[0]


def test_what_departs_is_no_pass_and_may_fail(task: LoadedTask) -> None:
    run = run_of(task)
    assert decided(GATE, run).outcome == "pass"
    assert decided(GATE, run, departures=["another seed"]).outcome == "undecided"
    worse = results(**{TASK: lean_task(0.9)})
    assert decided(GATE, worse, departures=["another seed"]).outcome == "fail"


def test_looks_allow_fewer_images_and_no_more(task: LoadedTask) -> None:
    plan = planned(task, most_images_per_prompt=32)
    looks = planned_looks(GATE, 8, 32, Measurement(images_per_prompt=8))
    fewer = run_of(task, images_per_prompt=8)
    assert departures(plan, GATE, fewer, looks) == []
    many = run_of(task).tasks[TASK].model_copy(update={"n_images": 5000})
    (line,) = departures(plan, GATE, results(**{TASK: many}), looks)
    assert "more than the plan's largest number" in line


def test_looks_that_the_plan_does_not_have_depart(task: LoadedTask) -> None:
    plan = planned(task, most_images_per_prompt=32)
    size = Measurement(images_per_prompt=8)
    milder = profile(scenario(accept=0.5))
    for looks, message in (
        (None, "without --until-decided"),
        (planned_looks(GATE, 8, 64, size), "at 64 images a prompt, not 32"),
        (planned_looks(milder, 8, 32, size), "by another profile"),
    ):
        (line,) = departures(plan, GATE, run_of(task, images_per_prompt=8), looks)
        assert message in line


def test_a_run_by_a_plan_has_the_readers_of_its_profile(task: LoadedTask) -> None:
    def settings(*encoders: str | None, **more: Any) -> dict[str, Any]:
        parts = [
            scenario(
                name=f"scenario {number}",
                measurement={"task": TASK, "statistic": "headline"}
                | ({} if encoder is None else {"encoder": encoder, "judge": "toyland"}),
            )
            for number, encoder in enumerate(encoders)
        ]
        return make_plan(profile(*parts), {TASK: task}, Measurement(), **more).settings

    agreed = settings("clip", None, "clip")
    assert (agreed["encoder"], agreed["judge"]) == (("clip",), ("toyland",))
    assert "encoder" not in settings("clip", "siglip")
    assert "encoder" not in settings(None) and "judge" not in settings(None)
    assert settings("clip", encoders=("dino",))["encoder"] == ("dino",)


def test_a_design_is_read_from_a_task(task: LoadedTask) -> None:
    design = Design.of(task, Measurement())
    assert (design.rows, design.images, design.counted) == (20, 16, False)
    (asked,) = load_tasks(["occupations_us_judged"])
    assert Design.of(asked, Measurement()).counted


def test_chances_are_those_of_the_rule() -> None:
    limits = Limits(0.4, 0.4)
    design = Design(rows=20, images=16, counted=False)
    fair, at_limit, beyond = (
        square_chances(design, limits, truth) for truth in (0.0, 0.4, 0.8)
    )
    assert fair.passes > 0.95 and beyond.fails > 0.95
    assert at_limit.passes < 0.05 and at_limit.fails < 0.05


@pytest.mark.parametrize(("images", "low", "high"), [(154, 0.8, 0.85), (58, 0.0, 0.2)])
def test_a_counted_row_needs_the_images_that_docs_state(
    images: int, low: float, high: float
) -> None:
    row = scenario(measurement={"task": TASK, "statistic": "row nurse"}, accept=0.24)
    (part,) = profile(row).scenarios
    forecast = forecast_of_design(part, Design(rows=5, images=images, counted=True))
    assert low <= forecast.fair.passes <= high
    assert forecast.at_reject.fails <= 0.05 < forecast.beyond.fails


def test_twenty_rows_pass_as_a_power() -> None:
    rows = scenario(measurement={"task": TASK, "statistic": "rows"}, accept=0.24)
    (part,) = profile(rows).scenarios
    alone = forecast_of_design(part, Design(rows=1, images=300, counted=True))
    twenty = forecast_of_design(part, Design(rows=20, images=300, counted=True))
    assert twenty.fair.passes == pytest.approx(alone.fair.passes**20)
