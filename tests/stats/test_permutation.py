"""Permutation tests against enumeration, scipy and theory; adjusted p-values by hand."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

from t2ibench.stats import (
    correlation_permutation,
    sign_flip_permutation,
    two_sample_permutation,
)
from t2ibench.stats.moments import STATISTICS
from t2ibench.stats.permutation import benjamini_hochberg, holm, p_value
from tests.stats.formulas import two_sample_statistic


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("sizes", [[1] * 9, [1, 2, 3, 4, 4, 3, 2, 1]])
def test_every_partition_has_the_statistic_computed_directly(sizes: list[int]) -> None:
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    values = np.round(rng().normal(size=len(clusters)), 1)  # rounding makes ties
    everything = two_sample_permutation(
        values, clusters < 4, clusters, statistics=tuple(STATISTICS), rng=rng()
    )
    for name, found in everything.items():
        direct = []
        for chosen in combinations(range(len(sizes)), 4):
            inside = np.isin(clusters, chosen)
            direct.append(two_sample_statistic(values[inside], values[~inside], name))
        assert found.exact and np.allclose(found.null, direct), name
        assert found.observed == pytest.approx(direct[0])
        assert found.p == pytest.approx(
            (np.abs(direct) >= abs(direct[0]) - 1e-9).mean()
        )


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_equals_scipys_exact_test(alternative: str) -> None:
    x, y = rng(1).normal(0.8, 1, 7), rng(2).normal(size=6)
    ours = two_sample_permutation(
        np.concatenate([x, y]), np.arange(13) < 7, alternative=alternative, rng=rng()
    )["mean_difference"]
    theirs = scipy_stats.permutation_test(
        (x, y),
        lambda a, b: a.mean() - b.mean(),
        n_resamples=np.inf,
        alternative=alternative,
    )
    assert ours.p == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize(
    ("observed", "alternative", "exact", "drawn"),
    [
        # The observed arrangement is one of all five, and one more than five draws.
        *((9.0, "greater", 1 / 5, 2 / 6), (-4.0, "less", 1 / 5, 2 / 6)),
        *((-4.0, "two-sided", 2 / 5, 3 / 6), (2.0, "greater", 3 / 5, 4 / 6)),
        # A draw without a value counts as extreme; a value beyond all draws, once.
        (30.0, "greater", 1 / 5, 1 / 6),
    ],
)
def test_draws_as_extreme_are_counted_on_the_side_that_is_asked(
    observed: float, alternative: str, exact: float, drawn: float
) -> None:
    null = np.array([-4.0, 0.0, 2.0, 2.0 - 1e-14, 9.0])
    assert p_value(null, observed, alternative, exact=True) == pytest.approx(exact)
    assert p_value(null, observed, alternative, exact=False) == pytest.approx(drawn)
    null[1] = np.nan
    more = 0.2 if observed < 20 else 0.0
    found = p_value(null, observed, alternative, exact=True)
    assert found == pytest.approx(exact + more)


def test_monte_carlo_keeps_the_sizes_and_is_never_zero() -> None:
    values = np.concatenate([np.full(30, 5.0), np.zeros(30)])
    values += rng(3).normal(size=60) * 0.01
    found = two_sample_permutation(values, np.arange(60) < 30, n_draws=999, rng=rng())
    result = found["mean_difference"]
    assert not result.exact and len(result.null) == 999
    assert result.p == pytest.approx(1 / 1000)
    # Labels are shuffled, not drawn with replacement: the spread is that of sampling without.
    assert result.null.std() == pytest.approx(
        values.std(ddof=1) * np.sqrt(2 / 30), rel=0.1
    )


def test_constant_values_have_no_effect_size() -> None:
    found = two_sample_permutation(
        np.full(12, 0.3), np.arange(12) < 6, statistics=tuple(STATISTICS), rng=rng()
    )
    assert found["mean_difference"].p == 1.0
    for name in ("cohens_d", "union_d", "union_d_ddof0"):
        assert np.isnan(found[name].observed) and np.isnan(found[name].p)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"in_x": [True, True]}, "at least one"),
        ({"clusters": [0, 0]}, "both sides"),
        ({"alternative": "x"}, "alternative"),
    ],
)
def test_bad_input(changes: dict[str, Any], message: str) -> None:
    parts: dict[str, Any] = {"values": [1.0, 2.0], "in_x": [True, False], **changes}
    with pytest.raises(ValueError, match=message):
        two_sample_permutation(**parts, rng=rng())


def test_sign_flips() -> None:
    values = np.array([0.5, 1.0, -0.2, 0.7])
    found = sign_flip_permutation(values, rng=rng())
    signs = np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1).T
    direct = (signs * values).mean(axis=1)
    assert len(found.null) == 16
    assert found.p == pytest.approx(
        (np.abs(direct) >= abs(values.mean()) - 1e-12).mean()
    )
    pairs = sign_flip_permutation(values, [0, 0, 1, 1], rng=rng())
    assert len(pairs.null) == 4 and pairs.p == pytest.approx(0.5)
    many = sign_flip_permutation(np.full(40, 1.0), n_draws=999, rng=rng())
    assert many.p == pytest.approx(1 / 1000)


def test_correlation() -> None:
    x, y = np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 4, 3, 5])
    found = correlation_permutation(x, y, rng=rng())
    assert found.exact and len(found.null) == 120
    assert found.observed == pytest.approx(scipy_stats.spearmanr(x, y).statistic)
    assert found.p == pytest.approx(
        scipy_stats.permutation_test(
            (x,), lambda a: scipy_stats.spearmanr(a, y).statistic,
            permutation_type="pairings", n_resamples=np.inf,
        ).pvalue
    )  # fmt: skip
    drawn = correlation_permutation(
        *rng(9).normal(size=(2, 30)), n_draws=2000, rng=rng()
    )
    assert not drawn.exact and drawn.null.std() == pytest.approx(
        1 / np.sqrt(29), rel=0.1
    )


def test_holms_p_values_by_hand() -> None:
    """Of four, .01 counts four times, .02 three times, .03 twice and no less, .9 once."""
    result = holm([0.03, None, 0.9, 0.01, float("nan"), 0.02])
    assert result == [
        pytest.approx(0.06),
        None,
        0.9,
        pytest.approx(0.04),
        None,
        pytest.approx(0.06),
    ]
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([0.0, 0.0]) == [0.0, 0.0]


def test_benjamini_and_hochbergs_p_values_are_scipys() -> None:
    p = rng(3).random(20) ** 2
    expected = scipy_stats.false_discovery_control(p)
    assert benjamini_hochberg(p.tolist()) == pytest.approx(expected.tolist())
    assert benjamini_hochberg([None, 0.04, 0.03]) == [None, 0.04, 0.04]
    for outside in (-0.1, 1.1):
        with pytest.raises(ValueError, match=r"in \[0, 1\]"):
            benjamini_hochberg([outside, None, 0.2])


def test_sign_flips_are_all_signs_of_clusters() -> None:
    """Clusters of two, one, two and three values: 16 patterns of signs."""
    values = np.array([0.5, 1.2, -0.3, 2.0, 0.9, 0.4, 1.1, -0.2])
    clusters = np.array([0, 0, 1, 2, 2, 3, 3, 3])
    sums = np.bincount(clusters, weights=values)
    means = np.array(list(product([1, -1], repeat=4))) @ sums / 8
    observed = values.mean()
    result = sign_flip_permutation(values, clusters, max_exact=16, rng=rng())
    assert result.exact and result.observed == pytest.approx(observed)
    assert sorted(result.null) == pytest.approx(sorted(means))
    p = (np.abs(means) >= abs(observed) - 1e-9).mean()
    assert result.p == pytest.approx(p)
    drawn = sign_flip_permutation(
        values, clusters, max_exact=15, n_draws=20_000, rng=rng()
    )
    assert not drawn.exact and len(drawn.null) == 20_000
    assert drawn.p == pytest.approx(p, abs=0.015)
