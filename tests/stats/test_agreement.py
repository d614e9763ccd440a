"""Agreement of judges, against published cases."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats import cohens_kappa, krippendorff_alpha


def test_kappa_at_its_ends() -> None:
    assert cohens_kappa(["a", "b"], ["a", "b"]) == 1.0 == -cohens_kappa(["a", "b"], ["b", "a"])
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
