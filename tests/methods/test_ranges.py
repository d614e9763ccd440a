"""Intervals end where what is estimated does."""

from __future__ import annotations

import pytest

from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.headline import HeadlineEstimate
from t2ibench.methods.core.inference import HeadlineInference, Inference
from t2ibench.methods.core.ranges import (
    clipped,
    inference_within_scale,
    score_within_range,
)
from t2ibench.results.builder import headline_record


@pytest.mark.parametrize(
    ("name", "interval", "value", "expected"),
    [
        ("share:male", (0.56, 1.11), 0.83, (0.56, 1.0)),
        ("share:male", (-0.2, 0.3), 0.05, (0.0, 0.3)),
        ("lean", (0.37, 1.30), 0.83, (0.37, 1.0)),
        ("lean_of_x", (-1.4, 0.2), -0.6, (-1.0, 0.2)),
        # An estimate beyond the range stays in its interval.
        ("lean", (0.8, 1.3), 1.02, (0.8, 1.02)),
        ("squared_lean", (0.2, 2.7), 1.0, (0.2, 1.0)),
        ("squared_lean", (-0.02, 0.3), -0.02, (-0.02, 0.3)),
        # Other scores have no range.
        ("effect_size", (-2.5, 1.5), -0.5, (-2.5, 1.5)),
        ("amplification", (0.1, 1.9), 1.0, (0.1, 1.9)),
    ],
)
def test_score_intervals_stay_within_the_range_of_the_score(
    name: str,
    interval: tuple[float, float],
    value: float,
    expected: tuple[float, float],
) -> None:
    estimate = Estimate(value, interval=interval)
    assert score_within_range(name, estimate).interval == pytest.approx(expected)


def test_an_interval_beyond_the_range_becomes_the_end_of_the_range() -> None:
    assert clipped((1.1, 1.3), (-1.0, 1.0), None) == (1.0, 1.0)


def test_headlines_stay_within_the_range_of_their_scale() -> None:
    answer = Inference(ci_low=-1.2, ci_high=1.42, p=0.2, df=9.0)

    def ends(scale: str, value: float) -> tuple[float | None, float | None]:
        headline = HeadlineEstimate(value=value, scale=scale)
        inside = inference_within_scale(answer, headline)
        assert inside.p == answer.p
        return inside.ci_low, inside.ci_high

    assert ends("lean", 0.4) == (-1.0, 1.0)
    assert ends("mean_square", 0.4) == (0.0, 1.0)
    assert ends("mean_square", -0.1) == (-0.1, 1.0)
    assert ends("a_package's own scale", 0.4) == (-1.2, 1.42)


def test_the_record_of_a_headline_is_within_its_scale() -> None:
    answer = Inference(ci_low=0.7, ci_high=1.4, p=0.01, df=9.0)
    inference = HeadlineInference(
        by_question={"fixed_prompts": answer}, question="fixed_prompts"
    )
    headline = HeadlineEstimate(value=0.9, scale="lean", inference=inference)
    record = headline_record(headline)
    assert (record.ci_low, record.ci_high) == (0.7, 1.0)
    assert record.fixed_prompts is not None and record.fixed_prompts.ci_high == 1.0
