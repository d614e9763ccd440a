"""The test of TIBET's rows: exact where answers are counts, and never too sure in the tail."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from t2ibench.methods.tibet.axis_shares import AxisShares, axis_shares
from t2ibench.methods.tibet.even_shares_test import counts_of_two, even_shares_test
from t2ibench.methods.tibet.image_sets import FeatureSet
from t2ibench.methods.tibet.share_estimates import share_estimates

NAMES = ["male", "female"]


def row(n_male: int, n_images: int, *, n_other: int = 0) -> AxisShares:
    """A prompt's images of men and women beside as many of either counterfactual.

    Args:
        n_male: Images of the prompt that show a man.
        n_images: Images of each prompt.
        n_other: Images of 'male' that are answered with a third word, as a judge's noise.
    """
    male, female, other = np.eye(3)
    kinds = {
        "a chef": [male] * n_male + [female] * (n_images - n_male),
        "a male chef": [male] * (n_images - n_other) + [other] * n_other,
        "a female chef": [female] * n_images,
    }
    sets = [
        FeatureSet(prompt, np.arange(n_images), np.array(features))
        for prompt, features in kinds.items()
    ]
    axis = axis_shares("a chef | gender", NAMES, sets)
    assert isinstance(axis, AxisShares)
    return axis


@pytest.mark.parametrize(
    ("n_male", "n_images"), [(12, 12), (11, 12), (14, 16), (34, 48)]
)
def test_counts_have_the_exact_test(n_male: int, n_images: int) -> None:
    scores = share_estimates(row(n_male, n_images), NAMES, 0.95)
    exact = binomtest(n_male, n_images).pvalue
    for name in ("lean", "squared_lean"):
        assert scores[name].p == pytest.approx(exact)
        assert scores[name].test == "binomial"


def test_intervals_agree_with_the_test() -> None:
    for n_images in (5, 6, 10, 12, 16):
        for n_male in range(n_images + 1):
            axis = row(n_male, n_images)
            scores = share_estimates(axis, NAMES, 0.95)
            rejects = (scores["lean"].p or 0.0) < 0.05
            low, high = scores["lean"].interval or (np.nan, np.nan)
            assert (low > 0 or high < 0) == rejects
            assert ((scores["squared_lean"].interval or (0.0, 0.0))[0] > 0) == rejects
            value = (axis.leans**2).sum() - 1e-9
            assert (value > even_shares_test([axis], 0.0, 0.95).critical) == rejects


def test_a_single_deviating_answer_changes_a_p_value_little() -> None:
    """An answer that is unlike the others ends the exact test; the F test is near it."""
    for n_male in (16, 15, 14, 12):
        noisy = row(n_male, 16, n_other=1)
        assert counts_of_two(noisy) is None
        p = share_estimates(noisy, NAMES, 0.95)["squared_lean"].p or 0.0
        exact = binomtest(n_male, 16).pvalue
        assert exact / 3 < p < 20 * exact


@pytest.mark.parametrize("n_rows", [11, 38])
@pytest.mark.parametrize("n_images", [10, 12, 16, 20, 48])
def test_a_fair_model_has_a_clear_row_in_at_most_five_percent_of_runs(
    n_images: int, n_rows: int
) -> None:
    """Holm's first step rejects none of the rows of a fair model with .95."""
    numbers = np.arange(n_images + 1)
    p_values = np.array(
        [
            even_shares_test([row(int(number), n_images)], 0.0, 0.95).p
            for number in numbers
        ]
    )
    chances = binom.pmf(numbers, n_images, 0.5)
    of_a_row = chances[p_values < 0.05 / n_rows].sum()
    assert 1 - (1 - of_a_row) ** n_rows <= 0.05


def test_rows_that_share_images_are_tested_together() -> None:
    """Two axes with the same answers are as sure as one, by the F test of both."""
    noisy = row(15, 20, n_other=1)
    single = even_shares_test([noisy], 0.0, 0.95)
    double = even_shares_test([noisy, noisy], 0.0, 0.95)
    assert double.p == pytest.approx(single.p) and double.critical == pytest.approx(
        single.critical
    )
