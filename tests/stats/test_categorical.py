"""Severity, MAD and agreement of judges: by hand, and what few answers do."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats import cohens_kappa, expected_severity, kl_divergence, mad, severity
from t2ibench.stats.categorical import krippendorff_alpha


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
