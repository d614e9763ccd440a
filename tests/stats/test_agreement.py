"""Agreement of judges, against hand cases and published ones."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats import cohens_kappa, krippendorff_alpha


def test_kappa_of_cohens_kind_of_table() -> None:
    """20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: A = .7, E = .5 * .6 + .5 * .4 = .5."""
    first = ["y"] * 25 + ["n"] * 25
    second = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    assert cohens_kappa(first, second) == pytest.approx(0.4)
    assert cohens_kappa(first, first) == 1.0
    assert cohens_kappa(["a", "b"], ["b", "a"]) == -1.0
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


def test_alpha_of_two_judges_without_missing_answers() -> None:
    """Krippendorff 2011, section A: two observers, ten binary units; .095."""
    first, second = list("0100000010"), list("1110010000")
    assert krippendorff_alpha([first, second]) == pytest.approx(0.095, abs=5e-4)


def test_alpha_needs_two_answers_and_two_classes() -> None:
    assert np.isnan(krippendorff_alpha([["a", None], [None, "b"]]))
    assert np.isnan(krippendorff_alpha([["a", "a"], ["a", "a"]]))
