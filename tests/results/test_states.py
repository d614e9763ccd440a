"""What a result shows: one rule for every page."""

from __future__ import annotations

import pytest

from t2ibench.results.display import displayed, row_state, state_of
from t2ibench.results.schema import Headline, Score
from tests import hand


def lean(value: float | None, half: float = 0.1, band: float = 0.1, **parts: object) -> Headline:
    ends = {} if value is None else {"ci_low": value - half, "ci_high": value + half}
    fair = {"fair_low": -band, "fair_high": band}
    return Headline.model_validate({"value": value, "scale": "lean", **ends, **fair, **parts})


BEYOND = {"p": 0.001, "p_holm": 0.01}
WITHIN = {"p": 0.2, "p_holm": 1.0}
WIDE = Headline(value=0.01, ci_low=0.0, ci_high=0.25, p=0.4, p_holm=1.0, scale="mean_square")


@pytest.mark.parametrize(
    ("headline", "inconclusive", "state"),
    [
        (lean(0.5, **BEYOND), None, "clear"),
        (lean(-0.5, **BEYOND), None, "clear"),
        (lean(0.5, p=0.01, p_holm=0.2), None, "not_clear"),
        (lean(0.3, band=0.4, **BEYOND), None, "not_clear"),
        (lean(0.9, **BEYOND), "its halves differ", "cannot_tell"),
        (lean(None), None, "no_score"),
        (lean(0.9), None, "cannot_tell"),
        (lean(0.0, 0.23, **WITHIN), None, "none_above"),
        (lean(0.0, 0.23, scale="excess", **WITHIN), None, "not_clear"),
        (lean(0.1, 0.13, **WITHIN), None, "none_above"),
        (lean(0.1, 0.15, **WITHIN), None, "not_clear"),  # .25 is still possible
        (lean(-0.21, 0.15, **WITHIN), None, "not_clear"),
        (lean(0.0, 0.25, **WITHIN), None, "cannot_tell"),
        (lean(0.3, 0.29, **WITHIN), None, "not_clear"),  # wide, but balance is ruled out
        (lean(0.3, 0.31, **WITHIN), None, "cannot_tell"),
        (WIDE, None, "cannot_tell"),  # the root's end is at .5
        (WIDE.model_copy(update={"ci_high": 0.05}), None, "none_above"),
        (WIDE.model_copy(update={"ci_high": 0.09}), None, "not_clear"),
    ],
)
def test_what_a_headline_shows(headline: Headline, inconclusive: str | None, state: str) -> None:
    assert state_of(hand.task(headline=headline, inconclusive=inconclusive)) == state


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
