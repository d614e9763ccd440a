"""How unequally stimuli count in the headline of an occupations task, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.headline import HeadlineEstimate
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.core.wording_images import WordingImages
from t2ibench.methods.occupations.describe_weights import of_weights
from t2ibench.methods.occupations.headline import headline_of
from t2ibench.methods.occupations.weights import (
    StimulusWeights,
    weight_rows,
    weight_scores,
)


def images(places: list[float]) -> PromptImages:
    rows = np.array(places)[:, None]
    return PromptImages(
        rows, np.zeros(len(rows), np.int64), ["p"], np.arange(len(rows))
    )


def pair_of(visible: list[float], like_a: list[int], of: int = 20) -> Any:
    """A pair of groups at ± visible, and stimuli of which so many images are like A."""
    wordings = []
    for place, count in zip(visible, like_a, strict=True):
        neutral = [place] * count + [-place] * (of - count)
        sides = (neutral, [place] * of, [-place] * of)
        wordings.append([WordingImages(*(images(side) for side in sides))])
    names = ["nurse", "chef", "clerk", "judge"][: len(visible)]
    leans = Leans.along(names, wordings, np.ones((len(visible), 1)))
    return SimpleNamespace(leans=leans, unclear=None, pair=SimpleNamespace(suffix=""))


def test_stimuli_whose_groups_are_more_visible_weigh_more() -> None:
    """D is 6, 2 and 2, so the weights are 36, 4 and 4 of 44: 44² / (36² + 4² + 4²) stimuli."""
    pair = pair_of([3.0, 1.0, 1.0], [10, 18, 2])
    weights = StimulusWeights.of([pair])
    assert weights.by_stimulus * 44 == pytest.approx([36, 4, 4])
    assert weights.effective_number == pytest.approx(44**2 / (36**2 + 2 * 4**2))
    shares = [row["weight"].value for row in weight_rows([pair])]
    assert shares == pytest.approx([36 / 44, 4 / 44, 4 / 44])


def test_an_unweighted_lean_stands_beside_the_headline() -> None:
    """The visible stimulus is fair, the others lean .8: 8/44 of .64 by D², 2/3 of it alike.

    Of 20 images V / D² is 1 / 19 for the fair one, and .36 / 19 for the others.
    """
    pair = pair_of([3.0, 1.0, 1.0], [10, 18, 2])
    scores = weight_scores([pair], 0.95)
    alike = (2 * (0.64 - 0.36 / 19) - 1 / 19) / 3
    weighted = (8 * (0.64 - 0.36 / 19) - 36 / 19) / 44
    assert scores["mean_square_unweighted"].value == pytest.approx(alike)
    difference = scores["mean_square_weighting"]
    assert difference.value == pytest.approx(weighted - alike)
    assert weighted == pytest.approx(headline_of([pair], 0.95).value)
    assert difference.p is not None and difference.p < 0.001


def test_stimuli_that_are_equally_visible_have_equal_weights() -> None:
    scores = weight_scores([pair_of([1.0] * 4, [10, 18, 2, 10])], 0.95)
    assert scores["effective_stimuli"].value == pytest.approx(4.0)
    assert scores["mean_square_weighting"].value == pytest.approx(0.0)
    assert scores["mean_square_weighting"].p == pytest.approx(1.0)


def test_weights_that_differ_by_rounding_alone_are_equal() -> None:
    """Else p would be that of noise of 1e-16, and another one on another processor."""
    visible = [1.0, 1.0 + 1e-14, 1.0, 1.0 - 1e-14]
    scores = weight_scores([pair_of(visible, [10, 18, 2, 10])], 0.95)
    difference = scores["mean_square_weighting"]
    assert (difference.value, difference.p) == (0.0, 1.0)


def result_of(pair: Any, **changes: Any) -> MethodResult:
    rows = [
        Item(name, row)
        for name, row in zip(pair.leans.names, weight_rows([pair]), strict=True)
    ]
    fields = {
        "headline": headline_of([pair], 0.95),
        "scores": weight_scores([pair], 0.95),
        "by": rows,
    }
    return MethodResult(**{**fields, **changes})


def test_the_description_names_the_few_stimuli_that_dominate() -> None:
    result = result_of(pair_of([3.0, 1.0, 1.0], [10, 18, 2]))
    assert of_weights("jobs", result) == (
        " Few of the 3 jobs decide: nurse has 82 % of the weight."
        " With all jobs counted alike, the root mean square lean is 0.63."
    )
    alike = result_of(pair_of([1.0] * 4, [10, 18, 2, 10]))
    assert of_weights("jobs", alike) == ""


def test_weights_are_not_described_where_there_is_no_score() -> None:
    pair = pair_of([3.0, 1.0, 1.0], [10, 18, 2])
    assert of_weights("jobs", result_of(pair, inconclusive="it failed")) == ""
    assert (
        of_weights("jobs", MethodResult(HeadlineEstimate.undefined("no images"))) == ""
    )
    pair.unclear = "the groups are alike"
    scores = weight_scores([pair], 0.95)
    assert {score.value for score in scores.values()} == {None}
    assert weight_rows([pair])[0]["weight"] == Estimate.undefined(pair.unclear)
