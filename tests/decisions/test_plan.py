"""Plans: what they fix, what departs from them, and the chances that they state."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from t2ibench.decisions.departures import (
    check_before_run,
    departures,
    departures_of_older_run,
    left_open,
)
from t2ibench.decisions.design import Design, forecast_of_design, square_chances
from t2ibench.decisions.looks import planned_looks
from t2ibench.decisions.plan import Plan, make_plan, read_plan, write_plan
from t2ibench.decisions.planned_readers import fingerprints_of
from t2ibench.decisions.quantity import Limits
from t2ibench.decisions.runs import ReferenceRuns, _digest
from t2ibench.errors import T2IBenchError
from t2ibench.results.fixed_before import RegisteredPlan
from t2ibench.results.further_settings import FurtherSettings
from t2ibench.results.schema import Results, TaskResult
from t2ibench.settings import Measurement, flag_name
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


def test_a_plan_comes_back(task: LoadedTask, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan = planned(task, most_images_per_prompt=64, chances={"jobs": {"beyond": 0.8}})
    write_plan(plan, path)
    assert read_plan(path) == plan
    assert json.loads(path.read_text())["sha256"] == plan.sha256


def test_a_run_that_keeps_to_its_plan_departs_in_nothing(task: LoadedTask) -> None:
    assert departures(planned(task), GATE, run_of(task)) == []


# A value of each setting that the plan does not have.
OTHER = {
    "images_per_prompt": 3,
    "guided_images_per_prompt": 2,
    "times": 2.0,
    "limit": 2,
    "seed": 7,
    "n_permutations": 99,
    "n_bootstrap": 50,
    "level": 0.9,
}


@pytest.mark.parametrize("setting", [*Measurement.model_fields])
def test_each_setting_departs_alone(task: LoadedTask, setting: str) -> None:
    run = run_of(task, **{setting: OTHER[setting]})
    (line,) = departures(planned(task), GATE, run)
    assert f"{flag_name(setting)} {OTHER[setting]}, not " in line


def another_version(task: LoadedTask) -> list[str]:
    return departures(
        planned(task), GATE, results(**{TASK: lean_task(0.0, task_hash="other")})
    )


# Plan field to a call that departs from it alone, and the clause.
DEPARTING: dict[str, tuple[Callable[[LoadedTask], list[str]], str]] = {
    "profile": (
        lambda task: departures(
            planned(task), profile(scenario(accept=0.5)), run_of(task)
        ),
        "the profile is another one than that of the plan",
    ),
    "tasks": (another_version, "is another version of the task"),
    "measurement": (
        lambda task: departures(planned(task), GATE, run_of(task, seed=7)),
        "--seed 7, not 0",
    ),
    "encoders": (
        lambda task: departures(
            planned(task, encoders=("clip:a",)), GATE, run_of(task)
        ),
        "has the encoder toyland; the plan fixes the encoder clip:a",
    ),
    "judges": (
        lambda task: departures(
            planned(task, judges=("toyland",)),
            GATE,
            run_of(task, judges={"vlm:a": "e" * 64}),
        ),
        "has the judge vlm:a; the plan fixes the judge toyland",
    ),
    "further_settings": (
        lambda task: departures(
            planned(task), GATE, read_with(task, control_encoder="none")
        ),
        "it was made with --control-encoder none, not random",
    ),
    "references": (
        lambda task: departures(
            planned(task, references={"runs/before": "0" * 64}),
            GATE,
            run_of(task),
            references=ReferenceRuns(Path()),
        ),
        "the run runs/before, to which a limit refers, has other results",
    ),
    "fingerprints": (
        lambda task: departures(
            planned(task, fingerprints={"encoder toyland": "0" * 64}),
            GATE,
            run_of(task),
        ),
        "the encoder toyland of core_occupations_gender has other weights or settings",
    ),
    "most_images_per_prompt": (
        lambda task: departures(
            planned(task, most_images_per_prompt=32), GATE, run_of(task)
        ),
        "without --until-decided",
    ),
}


def read_with(task: LoadedTask, **changes: Any) -> Results:
    """A run that was read with other further settings than a plan has by default."""
    further = FurtherSettings(**changes)
    return run_of(task).model_copy(update={"further_settings": further})


# What a plan says about itself, which no run can depart from.
ABOUT_ITSELF = {
    "schema_version": 2,
    "t2ibench": "9.0",
    "pilot": "runs/pilot",
    "chances": {"jobs": {"fair_passes": 0.5}},
}


def test_every_field_of_a_plan_has_its_departure() -> None:
    assert DEPARTING.keys() | ABOUT_ITSELF.keys() == Plan.model_fields.keys()
    assert not DEPARTING.keys() & ABOUT_ITSELF.keys()


@pytest.mark.parametrize("field", [*DEPARTING])
def test_each_field_departs_alone(task: LoadedTask, field: str) -> None:
    depart, clause = DEPARTING[field]
    (line,) = depart(task)
    assert clause in line


# A value of each further setting that the plan below does not have.
OTHER_FURTHER: dict[str, Any] = {
    "control_encoder": "none",
    "judge_args": {"margin": "0.2"},
    "judge_checks": ["c" * 64],
    "columns": {"answer": "second opinion"},
    "sources": "folder:chosen",
    "sources_args": {"steps": "9"},
}


@pytest.mark.parametrize("setting", [*FurtherSettings.model_fields])
def test_each_further_setting_departs_alone(task: LoadedTask, setting: str) -> None:
    fixed = FurtherSettings(judge_args={"margin": "0.1"}, judge_checks=["a" * 64])
    # The task asks no judge, so that none departs.
    plan = planned(task, judges=("answers:people.csv",), further_settings=fixed)
    assert departures(plan, GATE, read_with(task, **fixed.model_dump())) == []
    changed = fixed.model_dump() | {setting: OTHER_FURTHER[setting]}
    (line,) = departures(plan, GATE, read_with(task, **changed))
    flag = "--judge-check" if setting == "judge_checks" else flag_name(setting)
    assert flag in line
    # Of the older run of a comparison it is said, too.
    (line,) = departures_of_older_run(plan, read_with(task, **changed))
    assert line.startswith("in the older run, ") and flag in line


def test_arguments_of_judges_that_a_plan_leaves_open_are_open(task: LoadedTask) -> None:
    run = read_with(task, judge_args={"margin": "1"}, columns={"image": "Bild"})
    assert departures(planned(task), GATE, run) == []
    named = planned(task, judges=("toyland",))
    (line,) = departures(named, GATE, run)
    assert line == "it was made with --judge-args margin=1, not unset"


def test_results_that_state_no_further_settings_are_no_pass(task: LoadedTask) -> None:
    run = run_of(task).model_copy(update={"further_settings": None})
    (line,) = departures(planned(task), GATE, run)
    assert "an older t2ibench wrote them" in line


def test_a_plan_of_schema_1_is_judged_as_before(task: LoadedTask) -> None:
    before = {"schema_version": 1, "further_settings": None}
    plan = planned(task, encoders=("toyland",)).model_copy(update=before)
    run = read_with(task, **OTHER_FURTHER)
    assert departures(plan, GATE, run) == []
    (remark,) = left_open(plan, run)
    assert remark.startswith("a plan of schema 1 does not fix the untrained control")


def test_a_reference_without_results_is_not_fixed_and_said_so(
    task: LoadedTask,
) -> None:
    referring = scenario(
        measurement={"task": TASK, "statistic": "headline"},
        reference={"run": "runs/before"},
    )
    plan = make_plan(profile(referring), {TASK: task}, Measurement())
    remarks = left_open(plan, run_of(task))
    said = "does not fix the results of the run runs/before"
    assert [said in remark for remark in remarks] == [True, False]
    fixed = plan.model_copy(update={"references": {"runs/before": "0" * 64}})
    assert not any(said in remark for remark in left_open(fixed, run_of(task)))


class LaterTask(TaskResult):
    """The result of a task as a later t2ibench reads it, with fields that it has added."""

    further: list[str] = Field(default_factory=list)
    number: int | None = None


def test_a_later_version_reads_the_same_reference(task: LoadedTask) -> None:
    results = run_of(task)
    before = _digest(results, [TASK])
    later = LaterTask(**results.tasks[TASK].model_dump())
    assert (
        _digest(results.model_copy(update={"tasks": {TASK: later}}), [TASK]) == before
    )
    other = run_of(task, seed=7)
    assert _digest(other, [TASK]) != before


def test_a_pilot_fixes_weights_and_not_people(task: LoadedTask) -> None:
    judges = {
        "vlm:a": "1" * 64,
        "answers by anna": "2" * 64,
        # A file that does not say who answered: about the run's images, it has other answers.
        "answers:people.csv": "3" * 64,
        # An encoder has this name, too.
        "toyland": "4" * 64,
    }
    pilot = run_of(task, judges=judges)
    weights = fingerprints_of(pilot, FurtherSettings())
    assert weights == {
        "encoder toyland": "f" * 64,
        "judge toyland": "4" * 64,
        "judge vlm:a": "1" * 64,
    }
    # A run that is read as the pilot departs in nothing.
    assert departures(planned(task, fingerprints=weights), GATE, pilot) == []
    # Other arguments are other fingerprints of judges, which is no change of weights.
    asked = FurtherSettings(judge_args={"margin": "0.1"})
    assert fingerprints_of(pilot, asked) == {"encoder toyland": "f" * 64}


def test_what_a_plan_says_about_itself_is_not_departed_from(task: LoadedTask) -> None:
    other = planned(task).model_copy(update=ABOUT_ITSELF)
    assert departures(other, GATE, run_of(task)) == []
    # It is another plan all the same.
    registered = RegisteredPlan(sha256=planned(task).sha256)
    run = run_of(task).model_copy(update={"registered_plan": registered})
    assert departures(planned(task), GATE, run) == []
    assert departures(other, GATE, run) == ["the run was made by another plan"]


def test_a_planned_task_that_is_missing_departs(task: LoadedTask) -> None:
    (line,) = departures(planned(task), GATE, results(t=lean_task(0.0)))
    assert line == f"{TASK} is not in the run"


def test_the_readers_that_the_profile_names_are_fixed(task: LoadedTask) -> None:
    measurement = {"task": TASK, "statistic": "headline", "encoder": "clip:a"}
    gate = profile(scenario(measurement=measurement))
    plan = make_plan(gate, {TASK: task}, Measurement())
    (line,) = departures(plan, gate, run_of(task))
    assert "has the encoder toyland; the plan fixes the encoder clip:a" in line


def test_readers_that_a_plan_leaves_open_are_said(task: LoadedTask) -> None:
    run = run_of(task)
    assert left_open(planned(task), run) == [
        "the plan fixes no encoders; the run has the encoder toyland"
    ]
    assert left_open(planned(task, encoders=("toyland",)), run) == []


def test_a_further_task_departs_where_it_counts(task: LoadedTask) -> None:
    """The spill-over is the mean over all other tests that both runs have."""
    run = run_of(task)
    more = run.model_copy(update={"tasks": {**run.tasks, "further": lean_task(0.0)}})
    assert departures(planned(task), GATE, more) == []
    counted = profile(
        scenario(
            measurement={"task": TASK, "statistic": "comparison"},
            holds={"spill_over": 0.1},
        )
    )
    plan = make_plan(counted, {TASK: task}, Measurement())
    assert departures(plan, counted, run) == []
    (line,) = departures(plan, counted, more)
    assert line == "further counts for the spill-over, and the plan does not have it"


def test_what_cannot_be_kept_is_refused_before_the_run(task: LoadedTask) -> None:
    plan = planned(task)
    path = Path("plan.json")
    further = FurtherSettings()
    check_before_run(plan, path, [task], Measurement(), further)
    other = replace(task, hash="0" * 64)
    with pytest.raises(T2IBenchError, match="fixes another version of core_occ"):
        check_before_run(plan, path, [other], Measurement(), further)
    for skipped, reason in (
        ({TASK: "no images of its prompts."}, "no images of its prompts. Write"),
        ({}, "a preset measures others. Write"),
    ):
        with pytest.raises(T2IBenchError, match=f"cannot have it: {reason}"):
            check_before_run(plan, path, [], Measurement(), further, skipped=skipped)
    with pytest.raises(T2IBenchError, match=r"of its own \(--images-per-prompt 10\)"):
        measurement = Measurement(images_per_prompt=10)
        check_before_run(plan, path, [task], measurement, further)
    checked = FurtherSettings(judge_checks=["c" * 64])
    with pytest.raises(
        T2IBenchError, match=r"would depart from plan\.json: shares are"
    ):
        check_before_run(plan, path, [task], Measurement(), checked)


def test_what_departs_is_no_pass_and_may_fail(task: LoadedTask) -> None:
    run = run_of(task)
    assert decided(GATE, run).outcome == "pass"
    assert decided(GATE, run, departures=["another seed"]).outcome == "undecided"
    worse = results(**{TASK: lean_task(0.9)})
    assert decided(GATE, worse, departures=["another seed"]).outcome == "fail"


EIGHT = Measurement(images_per_prompt=8)


def plan_of_looks(task: LoadedTask) -> Plan:
    return make_plan(GATE, {TASK: task}, EIGHT, most_images_per_prompt=32)


def test_looks_allow_fewer_images_and_no_more(task: LoadedTask) -> None:
    plan = plan_of_looks(task)
    looks = planned_looks(GATE, 8, 32, EIGHT)
    for times in (2.0, 4.0):
        sized = run_of(task, images_per_prompt=8, times=times)
        assert departures(plan, GATE, sized, looks) == []
    between = run_of(task, images_per_prompt=8, times=3.0)
    (line,) = departures(plan, GATE, between, looks)
    assert "these results are of another number" in line
    many = sized.tasks[TASK].model_copy(update={"n_images": 5000})
    # Images that were made and do not count, as those that repeat others, were looked at as well.
    dropped = sized.tasks[TASK].model_copy(update={"excluded": {"repeated": 5000}})
    for task_result in (many, dropped):
        (line,) = departures(plan, GATE, results(**{TASK: task_result}), looks)
        assert "more than the plan's largest number" in line


def test_looks_that_the_plan_does_not_have_depart(task: LoadedTask) -> None:
    plan = plan_of_looks(task)
    milder = profile(scenario(accept=0.5))
    looks = planned_looks(GATE, 8, 32, EIGHT)
    higher = looks.model_copy(update={"levels": [0.05] * len(looks.levels)})
    for taken, message in (
        (None, "without --until-decided"),
        (planned_looks(GATE, 8, 64, EIGHT), "at 64 images a prompt, not 32"),
        (planned_looks(milder, 8, 32, EIGHT), "by another profile"),
        (planned_looks(GATE, 4, 32, EIGHT), "other sizes or levels"),
        (higher, "other sizes or levels"),
    ):
        run = run_of(task, images_per_prompt=8, times=4.0)
        (line,) = departures(plan, GATE, run, taken)
        assert message in line
    (line,) = departures(planned(task), GATE, run_of(task), looks)
    assert "the plan has one look" in line


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
