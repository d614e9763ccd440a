"""What a result shows: one rule for every page."""

from __future__ import annotations

import pytest

from t2ibench.results.display import row_state, state_of
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
    assert state_of(task(lean(0.05, p=0.001, p_holm=0.01))) == "not_clear"


@pytest.mark.parametrize(("half", "band"), [(0.3, 0.1), (0.1, 0.3)])
def test_what_is_too_wide_to_rule_a_lean_out_cannot_tell(half: float, band: float) -> None:
    assert state_of(task(lean(0.0, half, band, p=0.9, p_holm=1.0))) == "cannot_tell"


def test_a_control_that_contradicts_outranks_every_p_value() -> None:
    assert state_of(task(lean(0.9, p=1e-9, p_holm=1e-9), "its halves differ")) == "cannot_tell"


def test_nothing_is_no_score_and_no_p_value_cannot_tell() -> None:
    assert state_of(task(lean(None))) == "no_score"
    assert state_of(task(lean(0.9))) == "cannot_tell"


def test_the_width_of_a_mean_square_is_that_of_its_root() -> None:
    wide = Headline(value=0.01, ci_low=0.0, ci_high=0.25, p=0.4, p_holm=1.0, scale="mean_square")
    assert state_of(task(wide)) == "cannot_tell"  # the root's end is at .5
    narrow = wide.model_copy(update={"ci_high": 0.04})
    assert state_of(task(narrow)) == "not_clear"


def test_a_row_is_clear_by_its_own_correction() -> None:
    assert row_state(Score(value=0.4, p=0.01, p_holm=0.04)) == "clear"
    assert row_state(Score(value=0.4, p=0.01, p_holm=0.06)) == "not_clear"
    assert row_state(Score(value=0.4)) == "not_clear"
    assert row_state(Score(value=None)) == "no_score"
