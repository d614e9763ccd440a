"""Influences against a loop over pairs of units, whatever the strata, units and floors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from t2ibench.methods.core.influence import FLOOR, Influence, JointInfluence

STRATA = ("a nurse", "a chef", "a judge")
VALUES = st.floats(-3, 3, allow_subnormal=False).map(lambda value: round(value, 6))
Unit = tuple[str, int, float]


@st.composite
def influences(draw: st.DrawFn) -> Influence:
    """Some units of some strata, in any order, and perhaps a floor."""
    names = draw(st.permutations(STRATA))[: draw(st.integers(1, 3))]
    keys = st.tuples(st.integers(0, len(names) - 1), st.integers(0, 4))
    units = draw(
        st.lists(st.tuples(keys, VALUES), max_size=8, unique_by=lambda u: u[0])
    )
    influence = Influence(
        tuple(names),
        np.array([stratum for (stratum, _), _ in units], np.int64),
        np.array([unit for (_, unit), _ in units], np.int64),
        np.array([value for _, value in units], np.float64),
    )
    if draw(st.booleans()):
        return influence.with_floor(influence.variance + draw(st.floats(0.01, 1)))
    return influence


def units_of(influence: Influence) -> list[Unit]:
    return [
        (influence.strata[stratum], int(unit), float(value))
        for stratum, unit, value in zip(
            influence.stratum, influence.unit, influence.value, strict=True
        )
    ]


def covariance_by_loop(first: Influence, second: Influence) -> float:
    """Every unit of the first beside every unit of the second."""
    equal = first.same(second)
    total = 0.0
    for stratum, unit, value in units_of(first):
        for other_stratum, other_unit, other_value in units_of(second):
            is_shared = unit != FLOOR or equal
            if is_shared and (stratum, unit) == (other_stratum, other_unit):
                total += value * other_value
    return total


def variance_by_loop(weights: Sequence[float], parts: Sequence[Influence]) -> float:
    return sum(
        weight * other_weight * covariance_by_loop(part, other)
        for weight, part in zip(weights, parts, strict=True)
        for other_weight, other in zip(weights, parts, strict=True)
    )


@given(influences(), influences())
def test_covariance_is_the_sum_over_shared_units(
    first: Influence, second: Influence
) -> None:
    expected = covariance_by_loop(first, second)
    assert first.covariance(second) == pytest.approx(expected, abs=1e-12)
    assert second.covariance(first) == pytest.approx(expected, abs=1e-12)


@given(influences())
def test_covariance_with_itself_is_exactly_the_variance(influence: Influence) -> None:
    assert influence.covariance(influence) == influence.variance
    assert JointInfluence([influence] * 2).variance([1.0, -1.0])[0] == 0.0


@given(st.lists(influences(), min_size=1, max_size=4), st.lists(VALUES, min_size=4))
def test_variance_of_a_combination_is_bilinear(
    parts: list[Influence], weights: list[float]
) -> None:
    chosen = weights[: len(parts)]
    joint = JointInfluence(parts)
    expected = variance_by_loop(chosen, parts)
    assert joint.variance(chosen)[0] == pytest.approx(expected, abs=1e-9)
    covariance = np.array(
        [[covariance_by_loop(part, other) for other in parts] for part in parts]
    )
    np.testing.assert_allclose(joint.covariance, covariance, atol=1e-12)


@given(st.lists(influences(), min_size=1, max_size=3), st.lists(VALUES, min_size=3))
def test_spread_holds_the_covariance_of_combinations(
    parts: list[Influence], weights: list[float]
) -> None:
    rows = [weights[: len(parts)], [1.0] * len(parts)]
    matrix = JointInfluence(parts).spread(rows).matrix
    for number, row in enumerate(rows):
        assert matrix[number, number] == pytest.approx(
            variance_by_loop(row, parts), abs=1e-9
        )


@given(influences(), influences(), VALUES)
def test_a_combined_influence_is_the_weighted_sum_of_its_parts(
    first: Influence, second: Influence, weight: float
) -> None:
    combined = Influence.combined([(1.0, first), (weight, second)])
    sums: dict[tuple[str, int], float] = {}
    for factor, part in ((1.0, first), (weight, second)):
        for stratum, unit, value in units_of(part):
            sums[stratum, unit] = sums.get((stratum, unit), 0.0) + factor * value
    assert {(stratum, unit) for stratum, unit, _ in units_of(combined)} == set(sums)
    for stratum, unit, value in units_of(combined):
        assert value == pytest.approx(sums[stratum, unit], abs=1e-12)


@given(influences())
def test_degrees_of_freedom_are_those_of_the_joint_influence(
    influence: Influence,
) -> None:
    variance, df = JointInfluence([influence]).variance([1.0])
    assert variance == pytest.approx(influence.variance, abs=1e-12)
    assert df == pytest.approx(influence.df, nan_ok=True)


def test_only_equal_influences_share_their_variance_floor() -> None:
    plain = Influence.of_mean("a nurse", [0, 1], [1.0, 1.0])
    low = plain.with_floor(0.01)
    high = plain.with_floor(0.04)
    assert low.covariance(high) == 0.0
    assert high.covariance(high) == pytest.approx(0.04)
    variance, _ = JointInfluence([low, high, low]).variance([1.0, 1.0, -1.0])
    assert variance == pytest.approx(0.04)


def test_without_units_there_is_no_variance() -> None:
    constant = Influence.none()
    nurse = Influence.of_mean("a nurse", [0, 1], [1.0, 3.0])
    assert constant.covariance(nurse) == 0.0
    covariance = JointInfluence([constant, nurse]).covariance
    np.testing.assert_allclose(covariance, [[0, 0], [0, 1]])
    variance, df = JointInfluence([constant]).variance([1.0])
    assert variance == 0.0 and math.isnan(df)
