"""Differences of two runs, image by image."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import FLOOR, Influence, JointInfluence
from t2ibench.results.comparison import compare
from t2ibench.results.contrast import Contrast, change_of_leans, difference_interval
from t2ibench.results.schema import Score
from t2ibench.results.score_difference import Difference, tally
from t2ibench.results.square_contrast import compare_items
from tests import hand

A = {"a nurse": [1.0, 1.0, -1.0, 1.0], "a chef": [1.0, -1.0, -1.0, 1.0, 1.0]}
B = {"a nurse": [1.0, -1.0, -1.0, 1.0], "a chef": [1.0, -1.0, -1.0, -1.0, -1.0]}

LEANS = hand.mean_lean(A), hand.mean_lean(B)


def difference(
    first: MethodResult, second: MethodResult, before: Any = None, **changes: Any
) -> Difference:
    """The headlines' difference; `before` is what changes of the first result."""
    records = hand.record(first, **(before or {})), hand.record(second, **changes)
    pairs = (hand.pairs({"t": run}) for run in (first, second))
    return compare(*(hand.results(t=one) for one in records), *pairs)[0]


def binary(rng: np.random.Generator, share: float, n: int) -> Any:
    return np.where(rng.random(n) < share, 1.0, -1.0)


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method whose rows are compared, too."""
    method = SimpleNamespace(row_scores=("lean",))
    monkeypatch.setattr("t2ibench.results.comparison.method_named", lambda _: method)


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("make", [hand.mean_lean, hand.mean_square])
def test_a_run_compared_with_itself_differs_by_exactly_zero(make: Any) -> None:
    run = make(A)
    found = compare(
        *[hand.results(t=hand.record(run))] * 2, *[hand.pairs({"t": run})] * 2
    )
    assert [one.row for one in found] == ["", "a nurse", "a chef"]
    for one in found:
        assert (one.value, one.low, one.high, one.p) == (0.0, 0.0, 0.0, 1.0)
        assert one.paired and one.verdict == "tie" and not one.notes


def test_the_difference_of_paired_images_by_hand() -> None:
    # Differences of the four nurses: 0, 2, 0, 0; of the five chefs: 0, 0, 0, 2, 2.
    one = difference(*LEANS)
    variances = [1 / 4, 1.2 / 5]  # s² / n of both
    variance = sum(variances) / 4
    df = sum(variances) ** 2 / (variances[0] ** 2 / 3 + variances[1] ** 2 / 4)
    assert one.value == pytest.approx((0.5 + 0.8) / 2)
    half = stats.t.ppf(0.975, df) * math.sqrt(variance)
    assert (one.low, one.high) == pytest.approx((0.65 - half, 0.65 + half))
    differ = 2 * stats.t.sf(0.65 / math.sqrt(variance), df)
    assert one.p_differ == pytest.approx(differ)
    # Which leans less is asked of the sum, too: of both, .35 - .3.
    total = JointInfluence([run.headline.parts[0].influence for run in LEANS]).variance(
        [1, 1]
    )
    less = 2 * stats.t.sf(0.05 / math.sqrt(total[0]), total[1])
    assert one.p == pytest.approx(max(differ, less))


def test_units_that_one_run_alone_has_are_independent() -> None:
    first = Influence.of_mean("a", [0, 1, 2], [0.0, 1.0, 2.0])
    second = Influence.of_mean("a", [1, 2, 5], [1.0, 2.0, 0.0])
    variance, _ = JointInfluence([first, second]).variance([1.0, -1.0])
    expected = first.variance + second.variance - 2 * first.covariance(second)
    assert variance == pytest.approx(expected)


def test_variance_floors_of_two_runs_do_not_cancel() -> None:
    one = Influence.of_mean("a", [0, 1], [1.0, 1.0]).with_floor(0.04)
    other = Influence.of_mean("a", [0, 1], [1.0, 1.0]).with_floor(0.01)
    assert one.unit[-1] == FLOOR
    assert JointInfluence([one, other]).variance([1.0, -1.0])[0] == pytest.approx(0.05)
    assert JointInfluence([one, one]).variance([1.0, -1.0])[0] == 0.0


def test_opposite_leans_of_items_differ_though_neither_run_leans_less() -> None:
    rng = np.random.default_rng(1)
    shares = {
        "x": (0.85, 0.15),
        "y": (0.15, 0.85),
        "z": (0.85, 0.15),
        "w": (0.15, 0.85),
    }
    runs = [
        hand.mean_square({p: binary(rng, both[run], 40) for p, both in shares.items()})
        for run in (0, 1)
    ]
    found = difference(*runs)
    assert found.p is not None and found.p > 0.05 and found.p_items is not None
    assert found.p_items < 1e-6 and found.p_items_holm == found.p_items
    assert found.verdict == "opposite" and found.low is not None and found.low < 0
    assert found.detectable is not None and 0.05 < found.detectable < 0.5
    assert found.notes[-1].startswith(
        f"with so many images, a difference below {found.detectable}"
    )


def test_the_test_of_items_by_hand() -> None:
    first, second = hand.leans(A), hand.leans(B)
    rng = np.random.default_rng(0)
    contrast = compare_items((first, second), (0.1, 0.1), (None, None), rng, 0.95)
    # Differences of the four nurses: 0, 2, 0, 0; of the five chefs: 0, 0, 0, 2, 2.
    variances, dfs = np.array([1 / 4, 1.2 / 5]), np.array([3, 4])
    squares, total = 0.5**2 + 0.8**2, variances.sum()
    h = total**2 / (variances**2 * dfs / (dfs + 2)).sum()
    h2 = total**2 / (variances**2 / (dfs + 2)).sum()
    assert contrast.p_items == pytest.approx(stats.f.sf(squares / total, h, h2))


def test_swapping_the_runs_swaps_the_verdict() -> None:
    rng = np.random.default_rng(2)
    runs = [
        hand.mean_square({p: binary(rng, s, 30) for p in ("x", "y", "z")})
        for s in (0.8, 0.55)
    ]
    one, other = difference(*runs), difference(*runs[::-1])
    assert one.p == other.p and one.detectable == other.detectable
    assert one.value == -(other.value or 0) and one.verdict == "second" != other.verdict
    assert (one.low, one.high) == pytest.approx((-(other.high or 0), -(other.low or 0)))


def test_the_verdict_names_the_run_that_leans_less() -> None:
    rng = np.random.default_rng(3)
    shares = {"much": 0.95, "little": 0.6, "none": 0.5, "other way": 0.05}
    runs = {
        name: hand.mean_lean({p: binary(rng, share, 200) for p in ("x", "y")})
        for name, share in shares.items()
    }
    assert difference(runs["much"], runs["little"]).verdict == "second"
    assert difference(runs["none"], runs["much"]).verdict == "first"
    assert difference(runs["none"], runs["other way"]).verdict == "first"
    # Nine tenths one way and nine tenths the other are far apart, and lean alike.
    opposite = difference(runs["much"], runs["other way"])
    assert (
        opposite.verdict == "opposite" and opposite.low is not None and opposite.low > 1
    )
    assert tally([opposite])["opposite"] == 1


@pytest.mark.parametrize(
    ("first", "second", "change"),
    [
        ((0.5, 0.4, 0.6), (0.25, 0.05, 0.45), -0.25),
        ((-0.5, -0.6, -0.4), (-0.25, -0.45, -0.05), -0.25),
        ((0.25, 0.05, 0.45), (-0.5, -0.6, -0.4), 0.25),
    ],
)
def test_a_change_of_leans_is_a_change_of_their_magnitudes(
    first: Any, second: Any, change: float
) -> None:
    (a, *first), (b, *second) = first, second
    d = Contrast(a - b, first[0] - second[1], first[1] - second[0])
    t = Contrast(a + b, first[0] + second[0], first[1] + second[1])
    found = change_of_leans(d, t)
    assert found.value == pytest.approx(change)
    assert found.low is not None and found.high is not None
    # Whichever signs the leans have, the ends are those of the magnitudes.
    assert (found.low, found.high) == pytest.approx((change - 0.3, change + 0.3))


def test_a_mean_square_of_one_part_needs_its_items() -> None:
    """OpenBias says what its headline is made of; runs of older versions do not."""
    whole = hand.mean_square(A).headline
    parts = (
        Part(
            "",
            whole.value or 0.0,
            Influence.of_mean("a nurse", [0, 1, 2], [0.1, 0.2, 0.3]),
        ),
    )
    runs = [
        MethodResult(replace(whole, parts=parts, items=items), n_images=9)
        for items in ((), whole.parts)
    ]
    old, new = (difference(run, run) for run in runs)
    assert not old.paired and old.notes == ("unpaired",) and old.p_items == 1.0
    assert (new.value, new.low, new.high, new.p, new.p_items) == (
        0.0,
        0.0,
        0.0,
        1.0,
        1.0,
    )


def test_rows_are_matched_by_name_and_unequal_numbers_of_images_are_reported() -> None:
    parts = {p: [1.0, 1.0, -1.0, 1.0, 0.5] for p in ("x", "y", "z")}
    first, second = (
        hand.mean_square(parts),
        hand.mean_square({k: parts[k] for k in ("z", "x")}),
    )
    found = difference(first, second)
    assert found.value == 0.0 and found.notes[-1] == "2 of 3 rows in common"
    told = difference(*LEANS, n_images=5)
    assert told.notes[0] == "other numbers of images" and told.verdict == "tie"
    other = hand.mean_square({"w": parts["x"], "v": parts["x"]})
    assert difference(first, other).value is None


@pytest.mark.parametrize(
    ("changes", "note", "value"),
    [
        (
            {"inconclusive": "it differs"},
            "the second run is inconclusive: it differs",
            True,
        ),
        ({"task_hash": "other"}, "another version of the task", False),
        ({"settings": hand.settings(encoders={"x": "0" * 64})}, "other encoders", True),
        (
            {
                "settings": hand.settings(
                    encoders=dict.fromkeys(hand.settings().encoders, "0" * 64)
                )
            },
            "an encoder has the same name and is another network, or of another version of "
            "t2ibench",
            True,
        ),
        ({"settings": hand.settings(judges={"j": "0" * 64})}, "other judges", True),
        ({"settings": hand.settings(limit=2)}, "other stimuli (--limit)", True),
    ],
)
def test_no_verdict_where_something_else_differs(
    changes: dict[str, Any], note: str, value: bool
) -> None:
    found = difference(*LEANS, **changes)
    assert note in found.notes and found.verdict is None and found.p is None
    assert (found.value is not None) == value


@pytest.mark.parametrize(
    ("first", "second", "other"),
    [
        ("answers by anna", "answers by anna", False),
        ("answers by anna", "answers by ben", True),
        ("toyland", "toyland", True),
    ],
)
def test_answers_of_the_same_people_count_as_the_same_judge(
    first: str, second: str, other: bool
) -> None:
    before = {"settings": hand.settings(judges={first: "0" * 64})}
    found = difference(
        *LEANS, before, settings=hand.settings(judges={second: "1" * 64})
    )
    assert ("other judges" in found.notes) is other


def test_encoders_are_not_compared_with_themselves() -> None:
    run, text = hand.mean_lean(A), {"n_images": 0, "method": "weat"}
    same = difference(run, run, text, **text)
    assert same.value is None and "measures the text encoder" in same.notes[0]
    other = hand.settings(encoders={"other": "0" * 64})
    assert difference(run, run, text, **text, settings=other).verdict == "tie"


@pytest.mark.usefixtures("rows")
def test_rows_are_paired_where_their_name_is_unique() -> None:
    records = [hand.record(run) for run in LEANS]
    pairs = [hand.pairs({"t": run}) for run in LEANS]
    found = compare(*[hand.results(t=one) for one in records], *pairs)
    nurse = next(one for one in found if one.row == "a nurse")
    assert nurse.paired and nurse.value == pytest.approx(0.5)
    assert nurse.p_holm is not None and nurse.p is not None and nurse.p_holm >= nurse.p
    twice = records[0].model_copy(update={"by": [records[0].by[0]] * 2})
    found = compare(hand.results(t=twice), hand.results(t=records[1]), *pairs)
    assert [one.row for one in found] == [""]


def test_without_influences_runs_are_unpaired() -> None:
    records = [hand.results(t=hand.record(run)) for run in LEANS]
    found = compare(*records)[0]
    heads = [one.tasks["t"].headline for one in records]
    assert not found.paired and found.notes == ("unpaired",)
    assert (found.p_differ < 0.05) == (not found.low <= 0 <= found.high)
    assert (found.low, found.high) == pytest.approx(
        difference_interval(*heads), rel=1e-8
    )
    # Influences of other results than those beside them are not used.
    stale = hand.pairs({"t": hand.mean_lean(B)})
    assert not compare(records[0], records[1], stale, stale)[0].paired
    mixed = compare(records[0], hand.results(t=hand.record(hand.mean_square(A))))[0]
    assert mixed.value is None and mixed.notes == ("another kind of headline",)


def test_holm_corrects_over_all_headlines() -> None:
    runs = [dict.fromkeys(("t", "u"), run) for run in LEANS]
    both = [
        hand.results(**{name: hand.record(run) for name, run in one.items()})
        for one in runs
    ]
    found = compare(*both, *map(hand.pairs, runs), rows=False)
    assert [one.p_differ_holm for one in found] == pytest.approx(
        [2 * (one.p_differ or 0) for one in found]
    )
    assert [one.p_holm for one in found] == [1.0, 1.0]


def test_the_interval_of_a_difference_of_independent_runs() -> None:
    first = Score(value=0.6, ci_low=0.5, ci_high=0.8)
    second = Score(value=0.2, ci_low=0.1, ci_high=0.25)
    low, high = difference_interval(first, second)
    assert low == pytest.approx(0.4 - (0.1**2 + 0.05**2) ** 0.5)
    assert high == pytest.approx(0.4 + (0.2**2 + 0.1**2) ** 0.5)
    assert difference_interval(first, Score(value=0.1)) == (None, None)
