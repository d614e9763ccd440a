"""Effect sizes, adjusted p-values and agreement, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from t2ibench.stats import (
    auc,
    benjamini_hochberg,
    cliffs_delta,
    cohens_d,
    glass_delta,
    hedges_g,
    holm,
    kendall_tau,
    ks_distance,
    t2iat_code_effect_size,
    two_p_minus_one,
    weat_effect_size,
)

X, Y = [2.0, 4.0, 6.0], [1.0, 2.0, 3.0]  # means 4 and 2; variances 4 and 1


def test_conventions_of_the_standardised_difference() -> None:
    assert cohens_d(X, Y) == pytest.approx(2 / math.sqrt(2.5))
    assert glass_delta(X, Y) == pytest.approx(2.0)
    union = np.array(X + Y)
    assert weat_effect_size(X, Y) == pytest.approx(2 / union.std(ddof=1))
    assert t2iat_code_effect_size(X, Y) == pytest.approx(2 / union.std(ddof=0))
    assert hedges_g(X, Y) == pytest.approx(cohens_d(X, Y) * 0.7978845608)  # J(4) = sqrt(2 / pi)


def test_no_spread_is_no_effect_size() -> None:
    for effect in (cohens_d, weat_effect_size, t2iat_code_effect_size, glass_delta):
        assert math.isnan(effect([1.0, 1.0], [1.0, 1.0]))
    assert math.isnan(cohens_d([1.0], [2.0]))


def test_ranks() -> None:
    # Pairs: 2 beats 1, ties 2, loses to 3; 4 and 6 beat all.
    assert auc(X, Y) == pytest.approx((1.5 + 3 + 3) / 9)
    assert cliffs_delta(X, Y) == pytest.approx(6 / 9)
    assert cliffs_delta(Y, X) == pytest.approx(-6 / 9)
    assert two_p_minus_one([1, 2, -1, 0]) == pytest.approx(0.25)
    assert ks_distance(X, Y) == pytest.approx(scipy_stats.ks_2samp(X, Y).statistic)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert holm([0.04, None, 0.01]) == pytest.approx([0.04, None, 0.02])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_benjamini_hochberg_by_hand() -> None:
    assert benjamini_hochberg([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04] * 4)
    assert benjamini_hochberg([0.01, 0.5, None, 0.03]) == pytest.approx([0.03, 0.5, None, 0.045])
    assert benjamini_hochberg([None]) == [None]


def test_agreement_with_people() -> None:
    found = kendall_tau([1, 2, 3, 4], [1, 3, 2, 4])
    assert found.tau == pytest.approx(4 / 6)
    assert found.n == 4
    assert kendall_tau([1, 2, np.nan, 4], [1, 3, 2, 4]).n == 3
    with pytest.raises(ValueError, match="two pairs"):
        kendall_tau([1, np.nan], [1, 2])
    with pytest.raises(ValueError, match="one length"):
        kendall_tau([1, 2], [1, 2, 3])
