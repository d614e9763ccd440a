"""Headlines before they are written down: means over encoders, and what is inferred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from t2ibench.methods.core.headline import (
    HeadlineEstimate,
    Part,
    average_headlines,
    lean_headline,
    square_headline,
)
from t2ibench.methods.core.inference import HeadlineInference, Inference
from t2ibench.methods.core.influence import Influence


def influence_of(prompt: str, values: Sequence[float]) -> Influence:
    return Influence.of_mean(prompt, range(len(values)), np.array(values))


def square_of(**leans: Sequence[float]) -> HeadlineEstimate:
    """A mean square of rows, each with the leans of its images."""
    parts = [
        Part(name, float(np.mean(values)), influence_of(name, values))
        for name, values in leans.items()
    ]
    return square_headline(parts, 0.95)


NURSE = [0.3, 0.5, 0.4, 0.6]
MINER = [-0.5, -0.2, -0.4, -0.3]


def test_encoders_that_share_no_row_have_no_headline_in_common() -> None:
    headlines = [square_of(nurse=NURSE), square_of(miner=MINER)]
    both = average_headlines(headlines, 0.95)
    assert both.value is None and both.scale == "mean_square"
    assert both.reason is not None and "no row in common" in both.reason
    assert not both.inference and both.p is None


def test_encoders_that_share_one_row_have_its_square_in_common() -> None:
    """With three encoders of the same numbers, it is the square of that row alone."""
    together = square_of(nurse=NURSE, miner=MINER)
    alone = square_of(nurse=NURSE)
    average = average_headlines([together, alone, together], 0.95)
    assert average.value == pytest.approx(alone.value)
    assert average.chosen.interval == pytest.approx(alone.chosen.interval)
    assert average.fair == pytest.approx(alone.fair)
    assert average.inference.test == "f"


def test_the_mean_of_equal_leans_is_that_lean_for_both_questions() -> None:
    images, prompts = influence_of("nurse", NURSE), influence_of("words", MINER)
    lean = lean_headline(0.45, images, 0.95, prompts, "prompt_population")
    assert lean.chosen == lean.inference["prompt_population"]
    assert list(lean.inference) == ["fixed_prompts", "prompt_population"]
    assert lean.other_influences == {"fixed_prompts": images}
    average = average_headlines([lean, lean], 0.95)
    assert average.question == "prompt_population" and set(average.inference) == set(
        lean.inference
    )
    for question, inference in lean.inference.items():
        assert average.inference[question].interval == pytest.approx(inference.interval)
    assert average.fair == pytest.approx(lean.fair)


def test_headlines_without_influences_have_a_mean_without_an_interval() -> None:
    lean = lean_headline(0.4, influence_of("nurse", NURSE), 0.95)
    without = replace(lean, value=0.2, parts=())
    average = average_headlines([lean, without], 0.95)
    assert average.value == pytest.approx(0.3)
    assert average.p is None and average.fair is None and average.parts == ()
    assert "no influences" in str(average.chosen.reason)


def test_the_inference_that_is_shown_is_empty_where_the_question_has_no_answer() -> (
    None
):
    images = Inference(-0.1, 0.3, 0.2)
    inference = HeadlineInference({"fixed_prompts": images}, "prompt_population")
    assert inference.chosen == Inference() and inference["fixed_prompts"] == images
    assert len(inference) == 1 and "prompt_population" not in inference
