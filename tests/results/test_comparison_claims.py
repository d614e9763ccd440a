"""What may be claimed of two runs: intervals, p-values, corrections and verdicts agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from t2ibench.methods import combine, score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.results.comparison import compare
from t2ibench.results.comparison_claims import overall_difference, with_claims
from t2ibench.results.contrast import Contrast, with_p_of_interval
from t2ibench.results.paired import paired_task
from t2ibench.results.schema import Score
from t2ibench.results.score_difference import Difference
from tests import hand
from tools.calibration.compare import record_of, run_of
from tools.calibration.families import FAMILIES

BLANK = Difference("t", "", "headline", Score(value=0.0), Score(value=0.0))


def compared(
    first: MethodResult, second: MethodResult, method: str
) -> list[Difference]:
    """All differences of two results of one task, rows included."""
    results = (first, second)
    runs = [
        run_of({"t": record_of(method, "t", result, seed=0, level=0.95)})
        for result in results
    ]
    return compare(*runs, *({"t": paired_task(result)} for result in results))


def check_interval_and_p(difference: Difference) -> bool:
    """Check that interval and p are of one test; return whether there was one."""
    change = difference.change
    if change is None or change.low is None or difference.p is None:
        return False
    assert change.high is not None
    excludes = not change.low <= 0 <= change.high
    assert excludes == (difference.p < 0.05), difference
    if not difference.is_square and difference.low is not None:
        assert difference.high is not None and difference.p_differ is not None
        differs = not difference.low <= 0 <= difference.high
        assert differs == (difference.p_differ < 0.05), difference
    return True


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "weat"])
def test_an_interval_excludes_0_if_and_only_if_p_is_small(family: str) -> None:
    cells = [cell for cell in FAMILIES[family]() if cell.quick and cell.other is None]
    cell = min(cells, key=lambda cell: len(cell.name))
    rng = np.random.default_rng(5)
    checked = 0
    for _ in range(2):
        results = [
            combine(
                cell.task,
                [score(cell.task, sample.evidence, cell.settings)],
                cell.settings,
            )
            for sample in (cell.world.draw(rng), cell.world.draw(rng))
        ]
        differences = compared(results[0], results[1], cell.task.method)
        checked += sum(map(check_interval_and_p, differences))
    assert checked


@pytest.mark.parametrize("make", [hand.mean_lean, hand.mean_square])
def test_interval_and_p_agree_whatever_the_leans(make: Any) -> None:
    rng = np.random.default_rng(6)
    decided = [0, 0]
    for _ in range(10):
        runs = []
        for shares in rng.uniform(0.05, 0.95, (2, 3)):
            images = rng.random((3, 40)) < shares[:, None]
            images[:, 0], images[:, 1] = True, False
            runs.append(
                make(dict(zip("xyz", np.where(images, 1.0, -1.0), strict=True)))
            )
        for difference in compared(*runs, "occupations"):
            assert check_interval_and_p(difference)
            assert difference.p is not None
            decided[difference.p < 0.05] += 1
    assert min(decided) > 1


def test_opposite_leans_of_one_size_differ_and_neither_is_less() -> None:
    """The difference of such a row is far from 0, and its change is not: each has its own p."""
    images = {"x": [1.0] * 9 + [-1.0], "y": [1.0, -1.0] * 5}
    other = {"x": [1.0] + [-1.0] * 9, "y": [1.0, -1.0] * 5}
    first, second = hand.mean_lean(images), hand.mean_lean(other)
    row = compared(first, second, "occupations")[1]
    assert row.row == "x" and row.value == pytest.approx(1.6)
    assert row.p_differ is not None and row.p_differ < 0.01
    assert (
        row.p == pytest.approx(1.0)
        and row.change is not None
        and row.change.low is not None
    )
    assert row.change.low < 0 < (row.change.high or 0)


def a_test(p: float | None, p_differ: float | None, change: float = 1.0) -> Difference:
    """A headline with these uncorrected p-values, of which nothing is claimed yet."""
    contrast = Contrast(change, change - 0.5, change + 0.5, p)
    verdict = "tie" if p is not None else None
    return replace(BLANK, change=contrast, p=p, p_differ=p_differ, verdict=verdict)


def test_verdicts_follow_from_corrected_p_values() -> None:
    claimed = with_claims(
        [
            a_test(0.001, 0.001),
            a_test(0.03, 0.002, -1.0),
            a_test(0.03, 0.03),
            a_test(0.9, 0.9),
        ]
    )
    assert [test.p_holm for test in claimed] == pytest.approx([0.004, 0.09, 0.09, 0.9])
    assert [test.p_differ_holm for test in claimed] == pytest.approx(
        [0.004, 0.006, 0.06, 0.9]
    )
    assert [test.verdict for test in claimed] == ["first", "opposite", "tie", "tie"]
    assert claimed[1].notes == claimed[2].notes == ("p = 0.03 before correction",)
    negative = with_claims([a_test(0.001, 0.001, -1.0)])[0]
    assert negative.verdict == "second"


def test_nothing_is_claimed_of_a_test_or_row_where_the_runs_do_not_differ() -> None:
    tests = [
        a_test(0.001, 0.04),
        a_test(0.5, 0.5),
        replace(a_test(0.002, 0.002), row="x"),
    ]
    claimed = with_claims(tests)
    overall = overall_difference(tests)
    assert overall is not None and overall.p == pytest.approx(0.08)
    assert (overall.differ, overall.n_tests, overall.n_differ) == (False, 2, 0)
    assert [test.p_holm for test in claimed] == pytest.approx([0.08, 0.5, 0.08])
    assert {test.verdict for test in claimed} == {"tie"}


def test_a_test_without_a_verdict_counts_in_the_overall_test() -> None:
    """A test that failed its own check has no verdict, and still tells two models apart."""
    without_lean = a_test(None, 0.01)
    tests = [without_lean, a_test(0.2, 0.2)]
    overall = overall_difference(tests)
    assert overall is not None and overall.p == pytest.approx(0.02) and overall.differ
    assert [test.verdict for test in with_claims(tests)] == [None, "tie"]
    assert overall_difference([a_test(None, None)]) is None


def test_a_failed_check_does_not_withdraw_the_test_of_a_difference() -> None:
    images = {"x": [1.0] * 11 + [-1.0], "y": [1.0] * 11 + [-1.0]}
    other = {"x": [-1.0] * 11 + [1.0], "y": [-1.0] * 11 + [1.0]}
    results = [hand.mean_lean(images), hand.mean_lean(other)]
    records = [hand.record(result) for result in results]
    records[1] = hand.record(results[1], inconclusive="images are missing")
    runs = [hand.results(t=record) for record in records]
    headline = compare(*runs, *(hand.pairs({"t": result}) for result in results))[0]
    assert headline.verdict is None and headline.p is None and not headline.comparable
    assert headline.p_differ is not None and headline.p_differ < 0.001
    other_encoder = hand.settings(encoders={"other": "0" * 64})
    records[1] = hand.record(results[1], settings=other_encoder)
    runs = [hand.results(t=record) for record in records]
    headline = compare(*runs, *(hand.pairs({"t": result}) for result in results))[0]
    assert headline.p_differ is None


@pytest.mark.parametrize("value", [0.5, -0.5, 0.0])
@pytest.mark.parametrize("half", [0.3, 0.49, 0.51, 0.9])
def test_the_p_value_of_an_interval_is_below_5_percent_where_it_excludes_0(
    value: float, half: float
) -> None:
    contrast = with_p_of_interval(Contrast(value, value - half, value + half), 0.95)
    assert contrast.p is not None
    assert (contrast.p < 0.05) == contrast.differs
    assert with_p_of_interval(Contrast(0.5), 0.95).p is None
