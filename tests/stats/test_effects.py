"""Effect sizes and adjusted p-values, by hand."""

from __future__ import annotations

import pytest

from t2ibench.stats import (
    benjamini_hochberg,
    cliffs_delta,
    holm,
)

X, Y = [2.0, 4.0, 6.0], [1.0, 2.0, 3.0]  # means 4 and 2; variances 4 and 1


def test_ranks() -> None:
    # Of 9 pairs: 2 beats 1, ties 2, loses to 3; 4 and 6 beat all.
    assert cliffs_delta(X, Y) == pytest.approx(6 / 9)
    assert cliffs_delta(Y, X) == pytest.approx(-6 / 9)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert holm([0.04, None, 0.01]) == pytest.approx([0.04, None, 0.02])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_benjamini_hochberg_by_hand() -> None:
    assert benjamini_hochberg([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04] * 4)
    assert benjamini_hochberg([0.01, 0.5, None, 0.03]) == pytest.approx([0.03, 0.5, None, 0.045])
    assert benjamini_hochberg([None]) == [None]
