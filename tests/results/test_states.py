"""What a result shows: one rule for every page."""

from __future__ import annotations

import pytest

from t2ibench.results.display import displayed, row_state, state_of
from t2ibench.results.schema import Headline, Score, TaskResult, TaskSettings


def task(headline: Headline, inconclusive: str | None = None) -> TaskResult:
    return TaskResult(
        version=1,
        method="t2iat",
        task_hash="0" * 64,
        family="t2iat",
        title="by hand",
        headline=headline,
        settings=TaskSettings(encoders={}),
        inconclusive=inconclusive,
    )


def lean(value: float | None, half: float = 0.1, band: float = 0.1, **parts: object) -> Headline:
    ends = {} if value is None else {"ci_low": value - half, "ci_high": value + half}
    fair = {"fair_low": -band, "fair_high": band}
    return Headline.model_validate({"value": value, "scale": "lean", **ends, **fair, **parts})


def test_clear_is_outside_of_the_band_and_beyond_chance_after_correction() -> None:
    assert state_of(task(lean(0.5, p=0.001, p_holm=0.01))) == "clear"
    assert state_of(task(lean(-0.5, p=0.001, p_holm=0.01))) == "clear"
    assert state_of(task(lean(0.5, p=0.01, p_holm=0.2))) == "not_clear"
    assert state_of(task(lean(0.3, band=0.4, p=0.001, p_holm=0.01))) == "not_clear"


@pytest.mark.parametrize(
    ("value", "half", "state"),
    [
        (0.0, 0.23, "none_above"),
        (0.1, 0.13, "none_above"),
        (0.1, 0.15, "not_clear"),  # .25 is still possible
        (-0.21, 0.15, "not_clear"),
        (0.0, 0.25, "cannot_tell"),
        (0.3, 0.29, "not_clear"),  # wide, but balance is ruled out until correction
        (0.3, 0.31, "cannot_tell"),
    ],
)
def test_none_is_said_where_the_whole_interval_is_small(
    value: float, half: float, state: str
) -> None:
    assert state_of(task(lean(value, half, p=0.2, p_holm=1.0))) == state
    assert state_of(task(lean(value, half, p=0.2, p_holm=1.0, scale="excess"))) == (
        "not_clear" if state == "none_above" else state
    )


def test_a_control_that_contradicts_outranks_every_p_value() -> None:
    assert state_of(task(lean(0.9, p=1e-9, p_holm=1e-9), "its halves differ")) == "cannot_tell"


def test_nothing_is_no_score_and_no_p_value_cannot_tell() -> None:
    assert state_of(task(lean(None))) == "no_score"
    assert state_of(task(lean(0.9))) == "cannot_tell"


def test_the_width_of_a_mean_square_is_that_of_its_root() -> None:
    wide = Headline(value=0.01, ci_low=0.0, ci_high=0.25, p=0.4, p_holm=1.0, scale="mean_square")
    assert state_of(task(wide)) == "cannot_tell"  # the root's end is at .5
    assert state_of(task(wide.model_copy(update={"ci_high": 0.05}))) == "none_above"
    assert state_of(task(wide.model_copy(update={"ci_high": 0.09}))) == "not_clear"


def test_what_is_shown_lies_within_the_range_of_the_quantity() -> None:
    lean_mark = displayed(lean(1.07, 0.99))
    assert (lean_mark.value, lean_mark.high, lean_mark.cut) == (1.0, 1.0, True)
    assert lean_mark.low == pytest.approx(0.08)
    assert not displayed(lean(0.9)).cut
    square = Headline(value=1.1, ci_low=0.81, ci_high=1.3, scale="mean_square")
    assert (displayed(square).value, displayed(square).low) == (1.0, 0.9)


def test_a_row_is_clear_by_its_own_correction() -> None:
    assert row_state(Score(value=0.4, p=0.01, p_holm=0.04)) == "clear"
    assert row_state(Score(value=0.4, p=0.01, p_holm=0.06)) == "not_clear"
    assert row_state(Score(value=0.4)) == "not_clear"
    assert row_state(Score(value=None)) == "no_score"
