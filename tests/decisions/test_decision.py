"""Decisions about runs: what is decided, and everything that must never pass."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench.decisions.changed import Changed
from t2ibench.decisions.decision import EXIT_STATUS, ScenarioDecision
from t2ibench.decisions.evidence import headline_quantity
from t2ibench.decisions.leaning import Leaning
from t2ibench.decisions.runs import MeasuredRun, read_run
from t2ibench.methods.core.inference import Inference
from t2ibench.reports.decisions.formats import FORMATS
from t2ibench.results.people import AskedQuestion
from t2ibench.results.prompt_outcomes import PromptOutcomes, Rate
from t2ibench.results.schema import Score, TaskResult
from tests import hand
from tests.decisions.made import (
    TASK,
    counted_task,
    decided,
    images,
    lean_task,
    profile,
    results,
    scenario,
    square_task,
)


def test_every_outcome_has_a_status_of_its_own() -> None:
    assert EXIT_STATUS == {"pass": 0, "fail": 4, "undecided": 3}
    for lean, outcome in ((0.0, "pass"), (0.9, "fail"), (0.4, "undecided")):
        for task in (lean_task(lean), square_task(lean)):
            decision = decided(profile(), {TASK: task})
            assert decision.outcome == outcome
            assert decision.exit_status == EXIT_STATUS[decision.outcome]


def _undone(**changes: Any) -> TaskResult:
    return lean_task(0.0, **changes)


def _zero_width() -> TaskResult:
    task = lean_task(0.0)
    headline = task.headline.model_copy(
        update={"ci_low": 0.0, "ci_high": 0.0, "value": 0.0}
    )
    return task.model_copy(update={"headline": headline})


def _without_interval() -> TaskResult:
    task = lean_task(0.0)
    headline = task.headline.model_copy(update={"ci_low": None, "ci_high": None})
    return task.model_copy(update={"headline": headline})


def _of_other_scale() -> TaskResult:
    task = lean_task(0.0)
    headline = task.headline.model_copy(update={"scale": "excess"})
    return task.model_copy(update={"headline": headline})


TWO_ENCODERS = {"toyland": "e" * 64, "clip": "e" * 64}
NEVER = {
    "another task": ({"t2iat_ones": lean_task(0.0)}, "is not in the run. Did you mean"),
    "a control contradicts": (
        {TASK: _undone(inconclusive="its halves disagree")},
        "halves",
    ),
    "no score": ({TASK: _undone(reason="no image")}, "no score: no image"),
    "a trial": ({TASK: _undone(settings=hand.settings(limit=2))}, "--limit"),
    "prompts without images": (
        {TASK: _undone(missing_prompts=["a nurse"])},
        "a prompt of",
    ),
    "images that failed": ({TASK: _undone(excluded={"failed": 3})}, "3 images of"),
    "images that are missing": (
        {TASK: _undone(excluded={"missing": 3})},
        "3 images of",
    ),
    "answers that are missing": (
        {TASK: _undone(questions=[AskedQuestion(about="age", images=9, answered=4)])},
        "4 of 9 images",
    ),
    "another encoder": (
        {TASK: _undone(settings=hand.settings(encoders={"clip": "e" * 64}))},
        "with the encoder clip; the profile fixes the encoder toyland",
    ),
    "a further encoder": (
        {TASK: _undone(settings=hand.settings(encoders=TWO_ENCODERS))},
        "with the encoders clip, toyland; the profile fixes the encoder toyland",
    ),
    "another judge": (
        {TASK: _undone(settings=hand.settings(judges={"vlm": "e" * 64}))},
        "the judge vlm; the profile fixes the judge people",
    ),
    "zero width": ({TASK: _zero_width()}, "no width"),
    "no interval": ({TASK: _without_interval()}, "has no interval: the test gave none"),
    "another scale": ({TASK: _of_other_scale()}, "no rule has known error rates"),
    "a control that fails": (
        {TASK: lean_task(0.0), "flowers": lean_task(0.0, positive_control=True)},
        "positive control flowers is not clear",
    ),
}


@pytest.mark.parametrize("why", NEVER)
def test_it_fails_closed(why: str) -> None:
    tasks, reason = NEVER[why]
    readers: dict[str, Any] = {
        "task": TASK,
        "statistic": "headline",
        "encoder": "toyland",
    }
    if why == "another judge":
        readers["judge"] = "people"
    decision = decided(profile(scenario(measurement=readers)), tasks)
    assert decision.outcome == "undecided" and decision.exit_status == 3
    assert any(reason in text for text in decision.scenarios[0].reasons)
    assert decision.scenarios[0].p_fail == 1.0


def test_a_positive_control_of_texts_says_nothing_about_images() -> None:
    words = lean_task(0.0, positive_control=True).model_copy(update={"n_images": 0})
    for control, outcome in (
        (words, "pass"),
        (lean_task(0.0, positive_control=True), "undecided"),
    ):
        assert (
            decided(profile(), {TASK: lean_task(0.0), "flowers": control}).outcome
            == outcome
        )


def test_nothing_that_fails_closed_hides_a_failure_elsewhere() -> None:
    both = profile(
        scenario(),
        scenario(name="other", measurement={"task": "b", "statistic": "headline"}),
    )
    decision = decided(
        both, {TASK: lean_task(0.9), "b": lean_task(0.0, reason="no image")}
    )
    assert decision.outcome == "fail"


def test_parts_of_a_run_that_are_missing_are_no_pass() -> None:
    run = results(**{TASK: lean_task(0.0)}).model_copy(
        update={"missing_parts": ["3 of 4"]}
    )
    assert decided(profile(), run).outcome == "undecided"


def test_chances_are_that_all_scenarios_pass_or_any_fails() -> None:
    other = scenario(name="other", measurement={"task": "b", "statistic": "headline"})
    tasks = {TASK: lean_task(0.33), "b": lean_task(0.45)}
    decision = decided(profile(scenario(), other), tasks)
    first, second = (
        part.repeat.chances for part in decision.scenarios if part.repeat is not None
    )
    assert 0.1 < first.passes < 0.99 and 0.01 < second.fails < 0.99
    any_fails = first.fails + second.fails - first.fails * second.fails
    assert decision.chances == pytest.approx((first.passes * second.passes, any_fails))


def test_chances_of_another_run_are_of_numbers_alone() -> None:
    assert decided(profile(), {TASK: lean_task(0.0)}).chances is not None
    absent = scenario(
        name="absent", measurement={"task": "none", "statistic": "headline"}
    )
    run = {TASK: lean_task(0.0)}
    for given, more in (
        (profile(absent), {}),
        (profile(scenario(), absent), {}),
        (profile(scenario(holds={"agreement": -0.01})), {}),
        (profile(), {"departures": ["another seed"]}),
    ):
        decision = decided(given, run, **more)
        assert decision.outcome == "undecided" and decision.chances is None
        assert "would pass in" not in FORMATS["terminal"]([decision])
        content = json.loads(FORMATS["json"]([decision]))
        assert content["decisions"][0]["another_run"] is None


def test_what_does_not_hold_fails_no_scenario_that_decides_nothing() -> None:
    refused = [
        PromptOutcomes(
            group=group,
            n_prompts=5,
            refused=Rate(
                count=count, total=300, share=count / 300, ci_low=None, ci_high=None
            ),
            filtered=Rate(count=0, total=300, share=0.0, ci_low=None, ci_high=None),
        )
        for group, count in (("men", 0), ("women", 200))
    ]
    given = profile(scenario(holds={"refusals": 0.05}))
    fails = decided(given, {TASK: lean_task(0.0, prompt_outcomes=refused)})
    assert fails.outcome == "fail"
    trial = lean_task(0.0, prompt_outcomes=refused, settings=hand.settings(limit=2))
    decision = decided(given, {TASK: trial})
    assert decision.outcome == decision.scenarios[0].outcome == "undecided"


def test_a_task_of_an_earlier_command_is_no_pass() -> None:
    run = results(**{TASK: lean_task(0.0)})
    moved = run.model_copy(update={"tasks": {}, "earlier": run.tasks})
    decision = decided(profile(), moved)
    assert decision.outcome == "undecided"
    assert "earlier command" in decision.scenarios[0].reasons[0]


def test_rows_all_pass_or_any_fails() -> None:
    rows = {"task": TASK, "statistic": "rows"}
    assert (
        decided(profile(scenario(measurement=rows)), {TASK: lean_task(0.0)}).outcome
        == "pass"
    )
    mixed = hand.record(hand.mean_lean({"x": images(0.0), "y": images(0.95)}))
    counted = [row.model_copy(update={"n_images": 200}) for row in mixed.by]
    task = mixed.model_copy(update={"by": counted})
    decision = decided(profile(scenario(measurement=rows)), {TASK: task})
    assert decision.outcome == "fail"
    assert decision.scenarios[0].rulings[0].quantity.name == "y"


def test_a_row_is_named_or_the_nearest_is() -> None:
    def row(name: str) -> dict[str, Any]:
        return scenario(measurement={"task": TASK, "statistic": f"row {name}"})

    task = {
        TASK: counted_task(
            {"nurse": {"female": 100, "male": 100}, "cook": {"female": 9, "male": 1}}
        )
    }
    assert decided(profile(row("nurse")), task).outcome == "pass"
    decision = decided(profile(row("nurs")), task)
    assert decision.outcome == "undecided"
    assert "Did you mean 'nurse'?" in decision.scenarios[0].reasons[0]


def test_rows_of_one_name_need_their_attribute() -> None:
    task = lean_task(0.0)
    x, _ = task.by
    other = hand.record(hand.mean_lean({"x": images(0.95)})).by[0]
    rows = [
        x.model_copy(update={"group": "gender"}),
        other.model_copy(update={"group": "age", "n_images": 200}),
    ]
    tasks = {TASK: task.model_copy(update={"by": rows})}
    measurement = {"task": TASK, "statistic": "row x"}
    unnamed = decided(profile(scenario(measurement=measurement)), tasks)
    assert unnamed.outcome == "undecided"
    assert "name one in measurement.attribute" in unnamed.scenarios[0].reasons[0]
    for attribute, outcome in (("gender", "pass"), ("age", "fail")):
        named = scenario(measurement={**measurement, "attribute": attribute})
        assert decided(profile(named), tasks).outcome == outcome
    absent = scenario(measurement={**measurement, "attribute": "skin"})
    (part,) = decided(profile(absent), tasks).scenarios
    assert part.reasons == (f"{TASK} has no rows with a lean",)


def test_a_share_beside_statistics_counts_twice_as_a_lean() -> None:
    """Shares of .3 more than the statistics have: twice that is the deviation of the lean."""
    task = lean_task(0.0)
    score = Score(value=0.3, ci_low=0.25, ci_high=0.35)
    other = Score(value=0.0, ci_low=-0.01, ci_high=0.01)
    beside = {"share_minus_reference:male": score, "share_minus_reference:x": other}
    rows = [row.model_copy(update={"scores": row.scores | beside}) for row in task.by]
    tasks = {TASK: task.model_copy(update={"by": rows})}

    def part(group: str | None) -> ScenarioDecision:
        given = scenario(
            measurement={"task": TASK, "statistic": "rows", "group": group},
            reference="labour statistics",
        )
        return decided(profile(given), tasks).scenarios[0]

    assert [entry.quantity.value for entry in part("male").rulings] == [0.6, 0.6]
    # .05 of a share at each end of its .95 interval is .1 of a lean.
    assert part("male").rulings[0].quantity.interval(0.025) == pytest.approx((0.5, 0.7))
    assert [part(group).outcome for group in ("male", None, "x")] == [
        "fail", "fail", "pass",
    ]  # fmt: skip
    assert "no share of labour statistics" in part("y").reasons[0]


def test_counts_are_compared_with_a_share_or_with_statistics() -> None:
    task = {TASK: counted_task({"nurse": {"female": 60, "male": 140}})}
    rows = {"task": TASK, "statistic": "rows"}
    for reference, outcome in (
        ("even", "undecided"),
        ({"share": 0.3}, "pass"),
        ("labour statistics", "pass"),
        ({"share": 0.7}, "fail"),
    ):
        given = scenario(measurement=rows, reference=reference)
        assert decided(profile(given), task).outcome == outcome


def test_images_without_an_answer_may_show_either_class() -> None:
    counts = {"nurse": {"female": 100, "male": 100}}
    rows = scenario(measurement={"task": TASK, "statistic": "rows"})
    for unanswered, outcome in ((0, "pass"), (200, "undecided")):
        task = counted_task(counts, unanswered)
        assert decided(profile(rows), {TASK: task}).outcome == outcome


@pytest.mark.parametrize("mark", [{"estimated": True}, {"test": "a mixture"}])
def test_answers_that_another_test_estimates_are_no_counts(
    mark: dict[str, Any],
) -> None:
    task = counted_task({"nurse": {"female": 100, "male": 100}})
    (table,) = task.details["answers_by_prompt"]
    marked = {"answers_by_prompt": [{**table, **mark}]}
    task = task.model_copy(update={"details": marked})
    rows = scenario(measurement={"task": TASK, "statistic": "rows"})
    (part,) = decided(profile(rows), {TASK: task}).scenarios
    assert part.outcome == "undecided" and "no rows with a lean" in part.reasons[0]


def test_one_image_of_a_row_decides_nothing() -> None:
    task = lean_task(0.0)
    rows = [row.model_copy(update={"n_images": 1}) for row in task.by]
    tasks = {TASK: task.model_copy(update={"by": rows})}
    asked = scenario(measurement={"task": TASK, "statistic": "row x"})
    (part,) = decided(profile(asked), tasks).scenarios
    assert part.outcome == "undecided"
    assert part.reasons == ("the row 'x' has fewer than two images",)


def test_three_classes_need_a_group() -> None:
    task = {TASK: counted_task({"nurse": {"young": 100, "adult": 100, "old": 100}})}
    rows: dict[str, Any] = {"task": TASK, "statistic": "rows"}
    decision = decided(profile(scenario(measurement=rows)), task)
    assert "name one in measurement.group" in decision.scenarios[0].reasons[0]
    named = scenario(measurement=rows | {"group": "old"})
    assert decided(profile(named), task).outcome == "pass"


def test_unknown_answers_widen_a_mean_square() -> None:
    task = square_task(0.0)
    scores = {
        "unanswered_share": Score(value=0.2),
        "squared_lean_least": Score(value=0.0),
        "squared_lean_most": Score(value=0.3),
    }
    assert decided(profile(), {TASK: task}).outcome == "pass"
    unsure = task.model_copy(update={"scores": scores})
    assert decided(profile(), {TASK: unsure}).outcome == "undecided"
    for absent in ("squared_lean_least", "squared_lean_most"):
        for kept in ({}, {absent: Score(value=None)}):
            bounds = {name: score for name, score in scores.items() if name != absent}
            unbounded = task.model_copy(update={"scores": bounds | kept})
            (part,) = decided(profile(), {TASK: unbounded}).scenarios
            assert "nothing bounds" in part.reasons[0]


def test_an_interval_reaches_to_whatever_unanswered_images_show() -> None:
    task = square_task(0.3)
    given = {"value": 0.1, "ci_low": 0.08, "ci_high": 0.14}
    task = task.model_copy(update={"headline": task.headline.model_copy(update=given)})
    for least, most, ends in (
        *((0.07, 0.25, (0.05, 0.29)), (0.1, 0.1, (0.08, 0.14))),
        (0.2, 0.05, (0.08, 0.14)),  # bounds on the wrong side narrow nothing
    ):
        scores = {
            "unanswered_share": Score(value=0.2),
            "squared_lean_least": Score(value=least),
            "squared_lean_most": Score(value=most),
        }
        found = headline_quantity(TASK, task.model_copy(update={"scores": scores}))
        assert found.interval(0.05) == pytest.approx([end**0.5 for end in ends])


def test_a_mean_square_of_a_milder_level_is_no_pass() -> None:
    task = square_task(0.0, settings=hand.settings(level=0.8))
    assert decided(profile(), {TASK: task}).outcome == "undecided"


def test_a_family_is_the_mean_of_its_squares() -> None:
    family = scenario(measurement={"task": [TASK, "b"], "statistic": "family"})
    decision = decided(profile(family), {TASK: square_task(0.0), "b": square_task(0.5)})
    (entry,) = decision.scenarios[0].rulings
    assert entry.quantity.value == pytest.approx(0.35, abs=0.02)
    # Two tasks that may share images are no surer than one.
    twice = decided(profile(family), {TASK: square_task(0.5), "b": square_task(0.5)})
    once = decided(profile(), {TASK: square_task(0.5)})
    assert twice.scenarios[0].rulings[0].interval == pytest.approx(
        once.scenarios[0].rulings[0].interval
    )
    assert (
        decided(profile(family), {TASK: square_task(0.0), "b": lean_task(0.0)}).outcome
        == "undecided"
    )
    # What one family calls a lean is no lean of another.
    other = square_task(0.0, family="tibet")
    mixed = decided(profile(family), {TASK: square_task(0.0), "b": other})
    assert mixed.outcome == "undecided"
    assert "of the families t2iat and tibet" in mixed.scenarios[0].reasons[0]
    part = decided(profile(family), {TASK: square_task(0.0)})
    assert part.outcome == "undecided"
    assert "b is not in the run" in part.scenarios[0].reasons[0]


@pytest.mark.parametrize(("value", "side"), [(0.9, 1.0), (-0.9, -1.0)])
def test_an_end_of_the_scale_says_nothing_and_is_no_pass(
    value: float, side: float
) -> None:
    """An interval that was cut to the scale may have been of any width on that side."""
    task = lean_task(value)
    ends = sorted([0.85 * side, side])
    headline = task.headline.model_copy(update={"ci_low": ends[0], "ci_high": ends[1]})
    cut = task.model_copy(update={"headline": headline})
    wide = scenario(accept=0.99, reject=0.99)
    assert decided(profile(wide), {TASK: cut}).outcome == "undecided"


@pytest.mark.parametrize(("high", "outcome"), [(0.95, "pass"), (1.0, "undecided")])
def test_the_end_of_the_scale_of_a_mean_square_is_no_pass_either(
    high: float, outcome: str
) -> None:
    """Results of a higher level would else be narrowed from an end that is none."""
    task = square_task(0.5, settings=hand.settings(level=0.99))
    ends = {"value": 0.25, "ci_low": 0.1, "ci_high": high}
    headline = task.headline.model_copy(update=ends)
    cut = task.model_copy(update={"headline": headline})
    wide = scenario(accept=0.99, reject=0.99)
    assert decided(profile(wide), {TASK: cut}).outcome == outcome


def test_more_images_do_not_narrow_what_lies_between_prompts() -> None:
    """Of a population of prompts: half as wide for fixed ones is a quarter of the variance."""
    task = lean_task(0.1)
    given: dict[str, Any] = {
        "value": 0.1,
        "ci_low": -0.1,
        "ci_high": 0.3,
        "prompt_population": Inference(-0.1, 0.3, df=9.0),
        "fixed_prompts": Inference(0.0, 0.2, df=400.0),
    }

    def quantity(question: str) -> Leaning:
        changes = {**given, "question": question}
        headline = task.headline.model_copy(update=changes)
        found = headline_quantity(TASK, task.model_copy(update={"headline": headline}))
        assert isinstance(found, Leaning)
        return found

    drawn = quantity("prompt_population")
    assert (drawn.df, drawn.fixed_part) == (9.0, pytest.approx(0.75))
    # The level of the stored interval is .95: at .025 each end, it comes back.
    assert drawn.interval(0.025) == pytest.approx((-0.1, 0.3))
    fixed = quantity("fixed_prompts")
    assert (fixed.df, fixed.fixed_part) == (400.0, 0.0)


def test_holm_is_over_the_scenarios() -> None:
    """p between .025 and .05 fails alone, and not beside another scenario."""
    count = 200
    for lean in np.arange(0.4, 0.6, 0.01):
        alone = decided(profile(), {TASK: lean_task(float(lean), count)})
        if 0.025 < alone.scenarios[0].p_fail < 0.05:
            break
    assert alone.outcome == "fail"
    other = scenario(name="other", measurement={"task": "b", "statistic": "headline"})
    two = {TASK: lean_task(float(lean), count), "b": lean_task(0.0)}
    assert decided(profile(scenario(), other), two).outcome == "undecided"
    # A scenario that decides nothing is no rejection, however far its number is from the limit.
    two["b"] = lean_task(0.9, count, reason="no image")
    closed = decided(profile(scenario(), other), two)
    assert closed.outcome == "undecided" and closed.scenarios[1].p_fail == 1.0


def test_the_images_that_would_decide_do() -> None:
    undecided = decided(profile(), {TASK: lean_task(0.3, 40)}).scenarios[0]
    assert undecided.needed is not None and undecided.needed.times is not None
    more = round(40 * undecided.needed.times)
    assert decided(profile(), {TASK: lean_task(0.3, more)}).outcome == "pass"
    at_limit = decided(profile(), {TASK: lean_task(0.4, 40)}).scenarios[0].needed
    assert at_limit is not None and at_limit.times is None
    # No number of images decides about a trial, or about what is decided.
    trial = lean_task(0.3, 40, settings=hand.settings(limit=2))
    for task in (trial, lean_task(0.0), lean_task(0.9)):
        assert decided(profile(), {TASK: task}).scenarios[0].needed is None


@pytest.fixture
def pair(tmp_path: Path) -> tuple[MeasuredRun, MeasuredRun]:
    """Two models that drew the same prompts from the same noise; the second leans more."""
    noise = np.random.default_rng(5).random((2, 400))
    runs = []
    for name, share in (("old", 0.55), ("new", 0.9)):
        drawn = np.where(noise < share, 1.0, -1.0)
        found = {TASK: hand.mean_lean({"x": drawn[0], "y": drawn[1]})}
        runs.append(read_run(hand.write_run(tmp_path / name, name, found)))
    return runs[0], runs[1]


def test_a_comparison_is_about_the_second_run(
    pair: tuple[MeasuredRun, MeasuredRun],
) -> None:
    old, new = pair
    compared = profile(
        scenario(measurement={"task": TASK, "statistic": "comparison"}, accept=0.1)
    )
    assert decided(
        compared, new.results, MeasuredRun(None, old.results, old.paired)
    ).outcome
    worse = decided(compared, new.results, old)
    better = decided(compared, old.results, new)
    alone = decided(compared, new.results)
    assert (worse.outcome, better.outcome, alone.outcome) == (
        "fail",
        "pass",
        "undecided",
    )
    assert "nothing was compared" in alone.scenarios[0].reasons[0]


def test_a_run_and_itself_is_no_pass(pair: tuple[MeasuredRun, MeasuredRun]) -> None:
    compared = profile(
        scenario(measurement={"task": TASK, "statistic": "comparison"}, accept=0.1)
    )
    from t2ibench.decisions.decision import decide
    from t2ibench.decisions.runs import ReferenceRuns

    decision = decide(compared, pair[0], ReferenceRuns(Path()), pair[0])
    assert decision.outcome == "undecided"
    assert "no width" in decision.scenarios[0].reasons[0]


def test_runs_of_different_tests_are_not_compared(
    pair: tuple[MeasuredRun, MeasuredRun],
) -> None:
    old, new = pair
    compared = profile(
        scenario(measurement={"task": TASK, "statistic": "comparison"}, accept=0.1)
    )
    changed = old.results.tasks[TASK].model_copy(update={"task_hash": "another"})
    tasks = {**old.results.tasks, TASK: changed}
    other = replace(old, results=old.results.model_copy(update={"tasks": tasks}))
    (part,) = decided(compared, new.results, other).scenarios
    assert part.outcome == "undecided"
    assert f"{TASK} was not compared: " in part.reasons[0]


def test_another_run_with_missing_evidence_is_no_pass(
    pair: tuple[MeasuredRun, MeasuredRun],
) -> None:
    old, new = pair
    compared = profile(
        scenario(measurement={"task": TASK, "statistic": "comparison"}, accept=0.1)
    )
    parts_missing = new.results.model_copy(update={"missing_parts": ["3 of 4"]})
    broken = MeasuredRun(None, parts_missing, new.paired)
    decision = decided(compared, old.results, broken)
    assert decision.outcome == "undecided"
    assert "in the older run, part 3 of 4" in decision.scenarios[0].reasons[0]


def test_a_reference_with_missing_evidence_is_no_pass(
    pair: tuple[MeasuredRun, MeasuredRun],
) -> None:
    old, new = pair
    assert old.path is not None
    hand.edit(
        old.path / "results.json", lambda data: data.update(missing_parts=["3 of 4"])
    )
    given = scenario(reference={"run": str(old.path)}, accept=0.95)
    decision = decided(profile(given), new.results)
    assert decision.outcome == "undecided"
    assert "in the reference, part 3 of 4" in decision.scenarios[0].reasons[0]


def test_a_run_may_be_the_reference(pair: tuple[MeasuredRun, MeasuredRun]) -> None:
    old, new = pair
    for measured, accept, outcome in ((new, 0.1, "fail"), (new, 0.95, "pass")):
        given = scenario(reference={"run": str(old.path)}, accept=accept)
        assert decided(profile(given), measured.results).outcome == outcome


@pytest.mark.parametrize(
    ("statistic", "names"),
    [("headline", [TASK]), ("rows", ["x", "y"]), ("row y", ["y"])],
)
def test_what_is_named_is_what_is_compared_with_another_run(
    pair: tuple[MeasuredRun, MeasuredRun], statistic: str, names: list[str]
) -> None:
    old, new = pair
    measurement = {"task": TASK, "statistic": statistic}
    given = scenario(
        measurement=measurement, reference={"run": str(old.path)}, accept=0.1
    )
    (part,) = decided(profile(given), new.results).scenarios
    quantities = {entry.quantity.name: entry.quantity for entry in part.rulings}
    assert sorted(quantities) == names
    for quantity in quantities.values():
        assert isinstance(quantity, Changed) and not quantity.one_sided
        # The shares are .55 and .9.
        assert quantity.value == pytest.approx(0.7, abs=0.12)
