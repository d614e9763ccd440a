"""Several runs: which can be compared on a test, whether they differ, and their trend."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.results.compared_runs import read_runs
from t2ibench.results.compared_settings import compared_settings, setting_clauses
from t2ibench.results.comparison import compare
from t2ibench.results.several_runs import MOST_RUNS, RunsComparison, compare_runs
from t2ibench.results.task_across_runs import ComparedRun, TaskAcrossRuns
from tests import hand

N_IMAGES = 40


def run(
    name: str,
    tasks: Mapping[str, MethodResult],
    *,
    position: float = 1.0,
    paired: bool = True,
    **changes: Any,
) -> ComparedRun:
    records = {task: hand.record(result, **changes) for task, result in tasks.items()}
    influences = hand.pairs(tasks) if paired else {}
    return ComparedRun(name, hand.results(name, **records), influences, position)


def images(share: float, seed: int, prompts: int = 2) -> dict[str, np.ndarray]:
    """Images of some prompts, a share of which is +1, drawn from noise of their own."""
    noise = np.random.default_rng(seed).random((prompts, N_IMAGES))
    return {
        f"prompt {k}": np.where(row < share, 1.0, -1.0) for k, row in enumerate(noise)
    }


def drawn(share: float, seed: int) -> dict[str, MethodResult]:
    shown = images(share, seed)
    return {"lean": hand.mean_lean(shown), "square": hand.mean_square(shown)}


def named(comparison: RunsComparison, name: str) -> TaskAcrossRuns:
    (found,) = [test for test in comparison.tasks if test.task == name]
    return found


@pytest.mark.parametrize("paired", [True, False])
def test_two_runs_differ_by_the_p_value_of_compare(paired: bool) -> None:
    runs = [
        run("a", drawn(0.8, 1), paired=paired),
        run("b", drawn(0.6, 2), paired=paired),
    ]
    together = compare_runs(runs)
    pair = compare(
        runs[0].results, runs[1].results, runs[0].paired, runs[1].paired, rows=False
    )
    assert len(together.tasks) == len(pair) == 2
    for difference in pair:
        test = named(together, difference.task)
        assert test.p_differ is not None
        assert test.p_differ == pytest.approx(difference.p_differ, rel=1e-6)
        assert test.p_differ_holm == pytest.approx(difference.p_differ_holm, rel=1e-6)


def test_the_statistic_of_a_lean_is_that_of_the_differences_from_the_mean() -> None:
    shown = [
        images(share, seed, 1)["prompt 0"]
        for seed, share in enumerate((0.5, 0.5, 0.65))
    ]
    runs = [
        run(f"run {k}", {"lean": hand.mean_lean({f"prompt {k}": row})})
        for k, row in enumerate(shown)
    ]
    (test,) = compare_runs(runs).tasks
    means = np.array([row.mean() for row in shown])
    variances = np.array([row.var(ddof=1) / N_IMAGES for row in shown])
    squares = ((means - means.mean()) ** 2).sum()
    assert test.statistic == pytest.approx(squares / (2 / 3 * variances.sum()))
    # About Welch's analysis of variance; its degrees of freedom are approximated otherwise.
    by_f = stats.f.sf(test.statistic, 2, 3 * (N_IMAGES - 1))
    assert test.p_differ == pytest.approx(by_f, rel=0.2)


def test_a_run_three_times_does_not_differ_and_shares_all_of_its_noise() -> None:
    same = drawn(0.7, 3)
    runs = [run(f"run {k}", same, position=k) for k in range(3)]
    comparison = compare_runs(runs, ordered=True)
    assert comparison.overall is not None and comparison.overall.p == 1
    for test in comparison.tasks:
        assert test.trend is not None
        assert test.trend.slope.value == pytest.approx(0, abs=1e-12)
    # Paired, the slope of one run thrice has no width; apart, it has that of three runs.
    apart = compare_runs(
        [run(f"run {k}", same, position=k, paired=False) for k in range(3)],
        ordered=True,
    )
    for together, alone in zip(comparison.tasks, apart.tasks, strict=True):
        assert _width(together) < 1e-6 < _width(alone)


def _width(test: TaskAcrossRuns) -> float:
    assert test.trend is not None
    slope = test.trend.slope
    assert slope.low is not None and slope.high is not None
    return slope.high - slope.low


def test_the_largest_group_is_compared_and_the_others_say_why_not() -> None:
    other = hand.settings(encoders={"another": "a" * 64})
    runs = [
        run("odd", drawn(0.9, 1), settings=other),
        run("a", drawn(0.6, 2)),
        run("b", drawn(0.6, 3)),
        run("version 2", drawn(0.6, 4), task_hash="changed"),
        run("without", {"lean": drawn(0.6, 5)["lean"]}),
    ]
    comparison = compare_runs(runs)
    lean = named(comparison, "lean")
    reasons = {result.run: result.excluded for result in lean.runs}
    assert reasons == {
        "odd": "other encoders",
        "a": "",
        "b": "",
        "version 2": "another version of the task",
        "without": "",
    }
    assert lean.n_compared == 3
    square = named(comparison, "square")
    assert square.n_compared == 2
    assert square.runs[-1].excluded == "the run does not have it"
    assert square.runs[-1].mark is None
    clauses = [
        clause for clause in comparison.settings if clause.startswith("Encoders")
    ]
    assert clauses == [
        "Encoders: another aaaaaaaaaaaa in odd; toyland ffffffffffff in a, b, version 2 and without"
    ]


def test_an_inconclusive_run_counts_and_is_named_in_a_note() -> None:
    runs = [
        run("a", drawn(0.6, 1)),
        run("b", drawn(0.6, 2), inconclusive="a control leans, too"),
        run("c", drawn(0.6, 3)),
    ]
    for test in compare_runs(runs).tasks:
        assert test.n_compared == 3
        assert "b is inconclusive: a control leans, too" in test.notes
        assert test.runs[1].mark is not None
        assert test.runs[1].mark.state == "cannot_tell"


def test_texts_are_compared_once_an_encoder() -> None:
    texts = {"texts": hand.mean_lean({"a word": [0.1, 0.4], "another": [0.3, 0.2]})}
    encoders = [{"one": "1" * 64}, {"one": "1" * 64}, {"two": "2" * 64}]
    runs = [
        run(
            f"run {k}",
            texts,
            n_images=0,
            n_prompts=4,
            settings=hand.settings(encoders=given),
        )
        for k, given in enumerate(encoders)
    ]
    (test,) = compare_runs(runs).tasks
    reasons = [result.excluded for result in test.runs]
    assert reasons == ["", "measures the text encoder that run 0 has, too", ""]
    (alone,) = compare_runs(runs[:2]).tasks
    assert alone.p_differ is None
    assert alone.runs[0].excluded == "no other run can be compared with it"


def test_a_rising_lean_has_a_slope_of_weighted_least_squares() -> None:
    shares = [0.5, 0.6, 0.7, 0.8, 0.9]
    runs = [
        run(f"step {k}", drawn(share, k), position=1000.0 * k)
        for k, share in enumerate(shares, start=1)
    ]
    comparison = compare_runs(runs, ordered=True)
    lean = named(comparison, "lean")
    values = [result.task.headline.value for result in lean.runs if result.task]
    slope, height = np.polyfit(np.arange(1, 6) * 1000.0, values, 1)
    assert lean.trend is not None
    assert lean.trend.slope.value == pytest.approx(slope)
    assert lean.trend.ends == pytest.approx(
        (height + 1000 * slope, height + 5000 * slope)
    )
    square = named(comparison, "square")
    assert square.trend is not None and square.trend.is_square
    squares = [result.task.headline.value for result in square.runs if result.task]
    line = np.polyfit(np.arange(1, 6) * 1000.0, squares, 1)
    assert square.trend.slope.value == pytest.approx(line[0])
    assert square.trend.ends[1] == pytest.approx(np.sqrt(5000 * line[0] + line[1]))
    assert comparison.overall_trend is not None and comparison.overall_trend.clear


def test_the_interval_of_a_slope_excludes_0_exactly_if_p_is_small() -> None:
    for seed in range(12):
        runs = [
            run(f"run {k}", drawn(0.5 + 0.06 * k, 10 * seed + k), position=k)
            for k in range(4)
        ]
        for test in compare_runs(runs, ordered=True).tasks:
            assert test.trend is not None
            slope = test.trend.slope
            assert slope.p is not None
            assert slope.differs == (slope.p < 0.05)


def test_no_trend_without_an_order_or_of_two_runs() -> None:
    runs = [run(f"run {k}", drawn(0.6, k), position=k) for k in range(3)]
    unordered = compare_runs(runs)
    assert unordered.overall_trend is None
    assert all(test.trend is None for test in unordered.tasks)
    two = compare_runs(runs[:2], ordered=True)
    assert all(test.trend is None for test in two.tasks)


@pytest.mark.parametrize("steps", [[1, 1, 2], [3, 2, 1], [1, 2, float("inf")]])
def test_steps_that_do_not_ascend_are_refused(steps: Sequence[float]) -> None:
    runs = [
        run(f"run {k}", drawn(0.6, k), position=step) for k, step in enumerate(steps)
    ]
    with pytest.raises(T2IBenchError, match="do not ascend"):
        compare_runs(runs, ordered=True)


def test_one_run_too_many_runs_and_runs_without_a_common_task_are_refused() -> None:
    same = run("a", drawn(0.6, 1))
    with pytest.raises(T2IBenchError, match="1 runs cannot be compared"):
        compare_runs([same])
    with pytest.raises(T2IBenchError, match=f"at most {MOST_RUNS}"):
        read_runs([same.results] * (MOST_RUNS + 1))
    with pytest.raises(T2IBenchError, match="No two of the runs"):
        compare_runs([same, run("b", {"other": drawn(0.6, 2)["lean"]})])
    with pytest.raises(T2IBenchError, match="2 runs and 3 steps"):
        read_runs([same.results] * 2, [1, 2, 3])


def test_results_of_one_title_get_names_that_differ() -> None:
    same = run("a", drawn(0.6, 1)).results
    assert [read.name for read in read_runs([same, same])] == ["a (1)", "a (2)"]


def test_frames_have_a_row_for_each_test_of_each_run() -> None:
    runs = [run(f"run {k}", drawn(0.5 + k / 10, k), position=k) for k in range(3)]
    comparison = compare_runs(runs, ordered=True)
    frame = comparison.to_pandas()
    assert list(frame.columns[:3]) == ["task", "run", "model"]
    assert len(frame) == 6 and set(frame["run"]) == {"run 0", "run 1", "run 2"}
    tests = comparison.to_pandas("tasks").set_index("task")
    square = named(comparison, "square")
    assert tests.loc["square", "p_differ"] == square.p_differ
    assert {"slope", "slope_low", "p_trend_holm"} <= set(tests.columns)
    with pytest.raises(T2IBenchError, match="Did you mean 'tasks'"):
        comparison.to_pandas("task")  # type: ignore[arg-type]


def test_without_pandas_a_frame_is_an_error_of_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("t2ibench.results.display.find_spec", lambda _: None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    comparison = compare_runs([run(name, drawn(0.6, 1)) for name in "ab"])
    for frame in (comparison.to_pandas, comparison.runs[0].results.to_pandas):
        with pytest.raises(T2IBenchError, match="Data frames need pandas") as caught:
            frame()
        assert "\n" not in str(caught.value)


def test_settings_are_clauses_without_what_follows_from_them() -> None:
    first = hand.results("m", task=hand.task())
    hosted = first.model_copy(
        update={
            "environment": {},
            "model": first.model.model_copy(
                update={"name": "n", "fingerprint": "e" * 64, "revision": "v2"}
            ),
        }
    )
    runs = [first.model_copy(update={"environment": {"numpy": "2.0"}}), hosted]
    # Names of models are those of the runs, and a hosted model has no other numpy.
    assert list(setting_clauses(runs, ["m", "n"])) == ["Weights: not set in m; v2 in n"]
    clauses = list(setting_clauses(runs, ["before", "after"]))
    assert clauses[0] == "Model: m in before; n in after"


def test_a_run_that_shares_no_test_has_its_seed() -> None:
    runs = [
        hand.results(name, **{test: hand.task()})
        for name, test in (("a", "shared"), ("b", "shared"), ("c", "other"))
    ]
    (seed,) = (
        setting
        for setting in compared_settings(runs)
        if setting.name == "Seed of the run"
    )
    assert seed.values == ("0", "0", "0")


def test_a_run_and_itself_have_the_same_settings() -> None:
    results = hand.results("m", task=hand.task())
    settings = compared_settings([results, results])
    assert not any(setting.differs for setting in settings)
    assert ("Tests", ("1 test in both",) * 2) in [
        (setting.name, setting.values) for setting in settings
    ]
