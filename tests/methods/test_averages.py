"""The mean over encoders or judges is as sure as the least sure of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from t2ibench.methods.core.averages import average_results, bounded_mean
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.inference import Inference
from tests import hand
from tests.decisions.made import images


def result(lean: float, **changes: Any) -> MethodResult:
    """A result of two prompts of this lean."""
    return replace(hand.mean_lean({"x": images(lean), "y": images(lean)}), **changes)


def test_a_mean_is_inconclusive_or_without_a_score_where_any_part_is() -> None:
    sure = result(0.2, excluded=Counter(failed=3, refused=1), warnings=["few"])
    unsure = result(
        0.4,
        inconclusive="its halves disagree",
        excluded=Counter(failed=1, unread=2),
        warnings=["few", "no face"],
        n_images=390,
    )
    for pair in permutations([sure, unsure]):
        mean = average_results(pair)
        assert mean.headline.value == pytest.approx(0.3)
        assert mean.inconclusive == "its halves disagree"
        assert sorted(mean.warnings) == ["few", "no face"]
        assert mean.excluded == {"failed": 3, "refused": 1, "unread": 2}
        assert mean.n_images == 390
    assert average_results([sure, sure]).inconclusive is None
    for pair in permutations([sure, MethodResult.undefined("no image")]):
        assert average_results(pair).reason == "no image"


def test_rows_that_an_encoder_lacks_are_in_no_mean() -> None:
    both = result(0.2)
    one = replace(both, by=both.by[1:])
    for pair in permutations([both, one]):
        assert [row.name for row in average_results(pair).by] == ["y"]


def judged(inference: Inference) -> MethodResult:
    """A judge's result with this interval and p-value."""
    found = result(0.2)
    of_judge = replace(
        found.headline.inference, by_question={"fixed_prompts": inference}
    )
    return replace(found, headline=replace(found.headline, inference=of_judge))


@pytest.mark.parametrize(
    ("judges", "interval", "p"),
    [
        # The mean of the ends and the largest p-value.
        ([Inference(0.1, 0.3, 0.01), Inference(0.2, 0.6, 0.04)], (0.15, 0.45), 0.04),
        # A p-value above .05 does not go with an interval without 0.
        ([Inference(0.1, 0.3, 0.01), Inference(0.2, 0.6, 0.06)], (0.0, 0.45), 0.06),
        ([Inference(-0.4, 0.3, 0.3), Inference(0.2, 0.6, 0.01)], (-0.1, 0.45), 0.3),
        (
            [Inference(-0.3, -0.1, 0.01), Inference(-0.6, -0.2, 0.06)],
            (-0.45, 0.0),
            0.06,
        ),
        # What one judge lacks, their mean lacks.
        ([Inference(0.1, 0.3, 0.01), Inference(None, None, 0.02)], None, 0.02),
        ([Inference(0.1, 0.3, 0.01), Inference(0.2, 0.6, None)], (0.15, 0.45), None),
        ([Inference(None, None, 0.3), Inference(None, None, 0.02)], None, 0.3),
    ],
)
def test_judges_are_as_sure_as_the_least_sure(
    judges: list[Inference], interval: tuple[float, float] | None, p: float | None
) -> None:
    for pair in permutations(judges):
        results = [judged(inference) for inference in pair]
        mean = bounded_mean(average_results(results), results, 0.95)
        chosen = mean.headline.chosen
        assert chosen.p == p
        assert chosen.interval == (
            None if interval is None else pytest.approx(interval)
        )
