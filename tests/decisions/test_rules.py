"""The rule: what passes, what fails, and how often either is wrong."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom

from t2ibench.decisions.changed import Changed
from t2ibench.decisions.counted import Counted
from t2ibench.decisions.leaning import Leaning
from t2ibench.decisions.quantity import Limits, Quantity
from t2ibench.decisions.repeat import repeat_rate
from t2ibench.decisions.rules import Ruling, ruling, together
from t2ibench.decisions.squared import Squared

M24 = Limits(0.24, 0.24)


def lean(value: float, error: float = 0.1, df: float = 1e6) -> Leaning:
    return Leaning("a row", value, error, error, df)


@pytest.mark.parametrize("images", [20, 58, 154, 400])
@pytest.mark.parametrize("margin", [0.111, 0.24, 0.4])
def test_counts_are_wrong_in_a_twentieth_at_most(images: int, margin: float) -> None:
    share = (1 + margin) / 2
    outcomes = [
        ruling(Counted("row", hits, images), Limits(margin, margin)).outcome
        for hits in range(images + 1)
    ]
    chances = binom.pmf(np.arange(images + 1), images, share)
    for outcome in ("pass", "fail"):
        assert chances[[what == outcome for what in outcomes]].sum() <= 0.05


def test_a_fair_prompt_passes_in_eight_of_ten_with_the_images_that_are_stated() -> None:
    for images, margin in ((154, 0.24), (58, 0.4)):
        fair = Counted("row", images / 2, images)
        assert fair.chances(Limits(margin, margin), 0.0, 0.05).passes >= 0.8


def test_images_without_an_answer_may_show_anything() -> None:
    limits = Limits(0.4, 0.4)
    assert Counted("row", 50, 100, unanswered=60).images == 160
    assert ruling(Counted("row", 50, 100), limits).outcome == "pass"
    assert ruling(Counted("row", 50, 100, unanswered=60), limits).outcome == "undecided"
    assert ruling(Counted("row", 100, 100), limits).outcome == "fail"
    assert (
        ruling(Counted("row", 100, 100, unanswered=200), limits).outcome == "undecided"
    )


@pytest.mark.parametrize(
    ("quantity", "outcome"),
    [
        (lean(0.0), "pass"),
        (lean(0.24), "undecided"),
        (lean(0.5), "fail"),
        (lean(-0.5), "fail"),
        (lean(0.24 - 0.1645), "pass"),
        (lean(0.24 - 0.1640), "undecided"),
        (lean(0.24 + 0.1640), "undecided"),
        (lean(0.24 + 0.1646), "fail"),
        (Leaning("cut", 0.0, 0.01, math.inf, 10), "undecided"),
        (Squared("s", 0.0, 0.01, 0.02), "pass"),
        (Squared("s", 0.24**2, 0.01, 0.02), "undecided"),
        (Squared("s", 0.2, 0.02, 0.02), "fail"),
        (Squared("s", 0.0, 0.0, math.inf), "undecided"),
        (Squared("s", 0.2, 0.0, 0.02), "undecided"),
        (Changed("c", -0.5, 0.1, 0.1), "pass"),
        (Changed("c", -0.5, 0.1, 0.1, one_sided=False), "fail"),
        (Changed("c", 0.2, 0.1, 0.1), "undecided"),
        (Changed("c", 0.5, 0.1, 0.1), "fail"),
        (Changed("c", 0.5, 0.0, 0.1), "undecided"),
        (Leaning("l", 0.5, 0.0, 0.1, 10), "undecided"),
    ],
)
def test_an_interval_passes_inside_and_fails_outside(
    quantity: Quantity, outcome: str
) -> None:
    entry = ruling(quantity, M24)
    assert entry.outcome == outcome
    assert 0.0 <= entry.p_fail <= 1.0
    low, high = entry.interval
    inside = max(-low, high) <= 0.24 if isinstance(quantity, Leaning) else high <= 0.24
    assert (entry.outcome == "pass") <= inside


def test_between_two_limits_undecided_is_right() -> None:
    limits = Limits(0.2, 0.4)
    assert ruling(lean(0.3, 0.01), limits).outcome == "undecided"
    assert ruling(lean(0.1, 0.01), limits).outcome == "pass"
    assert ruling(lean(0.5, 0.01), limits).outcome == "fail"


@pytest.mark.parametrize(
    "quantity",
    [
        lean(0.0, 0.0),
        lean(0.9, 0.0),
        Squared("s", 0.0, 0.0, 0.0),
        Changed("c", 0.0, 0.0, 0.0),
    ],
)
def test_no_width_is_no_pass(quantity: Quantity) -> None:
    entry = ruling(quantity, M24)
    assert entry.outcome == "undecided" and "no width" in entry.reason


def test_thirteen_of_sixteen_show_too_little_variance() -> None:
    """The chance of so many at the limit is .088; the sample's own variance would fail it."""
    drawn = np.array([1.0] * 13 + [-1.0] * 3)
    error = float(drawn.std(ddof=1) / 4)
    alone = Leaning("row", 0.625, error, error, 15)
    at_limit = Leaning("row", 0.625, error, error, 15, images=16)
    assert ruling(alone, M24).outcome == "fail"
    assert ruling(at_limit, M24).outcome == "undecided"


def test_the_variance_at_a_limit_is_that_of_its_own_lean() -> None:
    """Beside a share of .7 one limit is a share of .5, whose images vary most, the other one .9."""
    limits = Limits(0.4, 0.4)
    for value, outcome in ((-0.15, "pass"), (-0.2, "undecided"), (0.2, "pass")):
        row = Leaning("row", value, 0.01, 0.01, 59, images=60, even=0.4)
        assert ruling(row, limits).outcome == outcome
    for value, outcome in ((0.6, "fail"), (-0.6, "undecided"), (-0.65, "fail")):
        row = Leaning("row", value, 0.01, 0.01, 59, images=60, even=0.4)
        assert ruling(row, limits).outcome == outcome


@pytest.mark.parametrize("images", [8, 16, 30, 60])
@pytest.mark.parametrize("margin", [0.24, 0.4])
@pytest.mark.parametrize("even", [0.0, 0.4])
def test_rows_are_wrong_in_a_twentieth_at_most(
    images: int, margin: float, even: float
) -> None:
    """Every count of images on one side; some noise, so that none has no width."""
    counts = np.arange(images + 1)
    means = 2 * counts / images - 1
    errors = np.sqrt(((1 - means**2) / (images - 1)) + 1e-6)
    outcomes = [
        ruling(
            Leaning(
                "row", mean - even, error, error, images - 1, images=images, even=even
            ),
            Limits(margin, margin),
        ).outcome
        for mean, error in zip(means.tolist(), errors.tolist(), strict=True)
    ]
    for limit in (even + margin, even - margin):
        chances = binom.pmf(counts, images, (1 + limit) / 2)
        for outcome in ("pass", "fail"):
            wrong = chances[[what == outcome for what in outcomes]].sum()
            assert wrong <= 0.05, (outcome, limit, wrong)


def test_all_must_pass_and_any_fails_after_holm() -> None:
    passes, open_one = ruling(lean(0.0), M24), ruling(lean(0.24), M24)
    narrowly = ruling(lean(0.41), M24)
    assert narrowly.outcome == "fail" and 0.025 < narrowly.p_fail < 0.05
    assert together([passes, passes])[0] == "pass"
    assert together([passes, open_one])[0] == "undecided"
    assert together([narrowly])[0] == "fail"
    assert together([narrowly, passes])[0] == "undecided"
    assert together([ruling(lean(0.6), M24), passes])[0] == "fail"
    assert together([])[0] == "undecided"


# Estimates around a truth, in standard errors, as often as a normal distribution gives them.
DRAWS = ndtri((np.arange(500) + 0.5) / 500).tolist()


@pytest.mark.parametrize("alpha_fail", [0.05, 0.01])
@pytest.mark.parametrize("truth", [0.0, 0.15, 0.3, 0.6, 0.9])
@pytest.mark.parametrize(
    "quantity",
    [
        lean(0.0),
        lean(0.0, df=5),
        Leaning("row", 0.0, 0.05, 0.05, 59, images=60),
        Leaning("row", 0.0, 0.05, 0.05, 59, images=60, even=None),
        Changed("c", 0.0, 0.1, 0.1),
        Changed("c", 0.0, 0.1, 0.1, one_sided=False),
        Squared("s", 0.0, 0.04, 0.06),
    ],
)
def test_chances_are_how_often_the_rule_decides(
    quantity: Leaning | Changed | Squared, truth: float, alpha_fail: float
) -> None:
    """A run's chances are those with which its estimates pass and fail, on either side of 0."""
    limits = Limits(0.3, 0.5)
    for side in (1.0, -1.0):
        estimates: list[Quantity] = []
        for draw in DRAWS:
            # What comes out too small has the error of the upper end.
            error = quantity.error_above if draw < 0 else quantity.error_below
            if isinstance(quantity, Squared):
                estimates.append(replace(quantity, square=truth**2 + draw * error))
            else:
                estimates.append(replace(quantity, value=side * truth + draw * error))
        passes = np.mean([one.passes(limits) for one in estimates])
        fails = np.mean([one.p_fail(limits) <= alpha_fail for one in estimates])
        chances = quantity.chances(limits, side * truth, alpha_fail)
        assert chances == pytest.approx((passes, fails), abs=0.003)


@pytest.mark.parametrize("alpha_fail", [0.05, 0.01])
@pytest.mark.parametrize("truth", [-0.6, -0.3, 0.0, 0.3, 0.6])
def test_chances_of_counts_are_how_often_the_rule_decides(
    truth: float, alpha_fail: float
) -> None:
    images, reference, limits = 60, 0.4, Limits(0.3, 0.5)
    counts = range(images + 1)
    every = [Counted("row", hits, images, reference=reference) for hits in counts]
    likely = binom.pmf(counts, images, reference + truth / 2)
    passes = likely[[one.passes(limits) for one in every]].sum()
    fails = likely[[one.p_fail(limits) <= alpha_fail for one in every]].sum()
    chances = every[0].chances(limits, truth, alpha_fail)
    assert chances == pytest.approx((passes, fails))


def test_the_repeat_rate_is_that_of_two_draws() -> None:
    rng = np.random.default_rng(1)
    quantity = lean(0.1)
    outcomes = [
        ruling(lean(float(value)), M24).outcome
        for value in rng.normal(quantity.value, 0.1, 4000)
    ]
    pairs = np.array(outcomes).reshape(2, -1)
    rate = repeat_rate([quantity], M24)
    assert rate.at_estimate == pytest.approx(
        float((pairs[0] != pairs[1]).mean()), abs=0.03
    )
    assert rate.at_estimate <= rate.worst <= 2 / 3


def test_more_images_narrow_what_they_can() -> None:
    half = Leaning("row", 0.1, 0.1, 0.1, 10, fixed_part=0.5).enlarged(1e9)
    assert half.error_above == pytest.approx(0.1 * 0.5**0.5)
    assert lean(0.1).enlarged(4).error_above == pytest.approx(0.05)
    assert (
        Counted("row", 5, 10).enlarged(10).interval().high
        < Counted("row", 5, 10).interval().high
    )


def test_a_ruling_is_pure() -> None:
    first: Ruling = ruling(lean(0.2), M24)
    assert first == ruling(lean(0.2), M24)
