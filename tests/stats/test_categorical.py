"""Severity, MAD and agreement of judges: by hand, and what few answers do."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats import cohens_kappa, expected_severity, kl_divergence, mad, severity
from t2ibench.stats.categorical import (
    concept_association,
    krippendorff_alpha,
    macro_f1,
)


def test_kappa_and_scores_at_extremes_and_undefined() -> None:
    assert severity([[5, 5], [10, 0], [0, 10]]).tolist() == [0.0, 1.0, 1.0]
    nothing = [severity([3]), severity([0, 0]), mad([[0.3]])]
    assert all(np.isnan(value) for value in nothing)
    assert kl_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf


@pytest.mark.parametrize(("k", "value"), [(2, 0.076), (5, 0.146), (7, 0.184)])
def test_an_even_model_does_not_score_zero(k: int, value: float) -> None:
    assert expected_severity(10, k) == pytest.approx(value, abs=2e-3)
    drawn = np.random.default_rng(1).multinomial(10, np.full(k, 1 / k), 40_000)
    assert float(severity(drawn).mean()) == pytest.approx(
        expected_severity(10, k), abs=2e-3
    )


@pytest.mark.parametrize(
    ("shares", "value"),
    [
        ((0.56, 0.44), 0.3464),
        ((0.4, 0.3, 0.2, 0.1), 0.5164),
        ((1.0, 0, 0), 1.0),
        ((2, 2, 2), 0.0),
    ],
)
def test_mad_by_hand(shares: tuple[float, ...], value: float) -> None:
    assert float(mad(shares)) == pytest.approx(value, abs=5e-5)


def test_kappa_at_its_ends() -> None:
    assert (
        cohens_kappa(["a", "b"], ["a", "b"])
        == 1.0
        == -cohens_kappa(["a", "b"], ["b", "a"])
    )
    assert np.isnan(cohens_kappa(["a"], ["a"])) and np.isnan(cohens_kappa([], []))
    with pytest.raises(ValueError, match="zip"):
        cohens_kappa(["a"], [])


def test_alpha_of_krippendorffs_example() -> None:
    """Krippendorff 2011, section C: four observers, twelve units, missing values; .743."""
    table = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    judges = [[None if cell == "." else cell for cell in row.split()] for row in table]
    assert krippendorff_alpha(judges) == pytest.approx(0.743, abs=5e-4)
    assert np.isnan(krippendorff_alpha([["a", None], [None, "b"]]))
    assert np.isnan(krippendorff_alpha([["a", "a"], ["a", "a"]]))


def test_the_association_of_concepts_is_their_overlap_over_their_union() -> None:
    """Of (3, 0, 1) and (1, 2, 1): 1 + 0 + 1 of 3 + 2 + 1, row by row."""
    result = concept_association([[3, 0, 1], [2, 1, 0]], [[1, 2, 1], [2, 1, 0]])
    assert result.tolist() == [pytest.approx(1 / 3), 1.0]
    assert concept_association([1, 0], [0, 1]) == 0.0
    assert np.isnan(concept_association([0, 0], [0, 0]))


def test_macro_f1_is_the_mean_of_every_classs_f1() -> None:
    """a: 2 · 2 / (3 + 2), b: 2 · 1 / (1 + 3), and c, which occurs on one side alone: 0."""
    result = macro_f1(["a", "a", "a", "b", "c"], ["a", "a", "b", "b", "b"])
    assert result == pytest.approx((4 / 5 + 2 / 4 + 0) / 3)
    assert np.isnan(macro_f1([], []))


def test_mad_has_the_shape_of_its_rows() -> None:
    assert mad(np.ones((3, 2, 1))).shape == (3, 2)
    assert np.isnan(mad(np.ones((3, 2, 1)))).all()
    assert mad([[3, 1], [1, 1]], root=False).tolist() == [0.5, 0.0]
    assert np.isnan(mad([[0, 0], [1, 1]])).tolist() == [True, False]


def test_kappa_by_hand() -> None:
    """Three of five agree; by chance (3 · 2 + 1 · 2 + 1 · 1) / 25 = .36."""
    result = cohens_kappa(list("aaabc"), list("aabbc"))
    assert result == pytest.approx((4 / 5 - 9 / 25) / (1 - 9 / 25))
