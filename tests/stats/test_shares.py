"""Squared leans of answers: hand cases, unbiasedness, variances."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats as scipy_stats

from t2ibench.stats import (
    critical_value,
    p_value,
    pseudo_variance,
    squared_lean,
    squared_lean_without,
)


def expectation(p: list[float], n: int, expected: list[float] | None = None) -> float:
    """The exact mean over all outcomes of n answers."""
    k = len(p)
    outcomes = [c for c in product(range(n + 1), repeat=k) if sum(c) == n]
    weights = scipy_stats.multinomial.pmf(outcomes, n, p)
    return float(weights @ squared_lean(outcomes, expected))


@pytest.mark.parametrize("n", [2, 3, 10])
@pytest.mark.parametrize("p", [[0.5, 0.5], [0.9, 0.1], [0.6, 0.3, 0.1]])
def test_the_mean_over_all_outcomes_is_the_squared_lean(n: int, p: list[float]) -> None:
    k = len(p)
    true = sum((x - 1 / k) ** 2 for x in p) / (1 - 1 / k)
    assert expectation(p, n) == pytest.approx(true)
    r = [0.2] * (k - 1) + [1 - 0.2 * (k - 1)]
    true = sum((x - y) ** 2 for x, y in zip(p, r, strict=True)) / (1 - 1 / k)
    assert expectation(p, n, r) == pytest.approx(true)


def test_too_few_answers_have_no_square_and_padding_changes_nothing() -> None:
    assert np.isnan(squared_lean([[1, 0], [0, 0]])).all()
    expected = np.array([[0.5, 0.5, 0.0], [1 / 3] * 3])
    padded = squared_lean([[7, 3, 0], [4, 3, 3]], expected, classes=[2, 3])
    assert padded == pytest.approx(
        [float(squared_lean(n)) for n in ([7, 3], [4, 3, 3])]
    )


def test_without_one_answer() -> None:
    found = squared_lean_without([7, 3, 0])
    assert found[:2].tolist() == [
        float(squared_lean([6, 3, 0])),
        float(squared_lean([7, 2, 0])),
    ]
    assert np.isnan(found[2])
    # The mean over the answers is the square itself, as for every U-statistic.
    assert (7 * found[0] + 3 * found[1]) / 10 == pytest.approx(
        float(squared_lean([7, 3, 0]))
    )


def test_the_pseudo_variance_counts_shared_images_once() -> None:
    codes = np.array([[0, 0]] * 7 + [[1, 1]] * 3)
    even, both = np.full((2, 2), 0.5), (np.array([2, 2]), np.full(2, 0.5))
    one = pseudo_variance(codes[:, :1], even[:1], np.array([2]), np.ones(1))
    mixed = codes.copy()
    mixed[:, 1] = np.random.default_rng(0).permutation(codes[:, 1])
    assert pseudo_variance(codes, even, *both) == pytest.approx(one, rel=0.1)
    assert pseudo_variance(mixed, even, *both) < 0.8 * one
    codes[5:, 1] = -1  # without an answer to the second question
    assert np.isfinite(pseudo_variance(codes, even, *both))


def variance_by_enumeration(
    codes: list[list[int]],
    expected: list[list[float]],
    weights: list[float],
) -> float:
    """V = 4 θ'S θ + 2 tr S², over all answers that one more image may have.

    Every image is a vector of indicators less the expected shares, scaled; S is the mean over
    the additional image's answers of the squares about the mean of all, over (n + 1) (n − 1).
    """

    def vector(answers: tuple[int, ...]) -> list[float]:
        coordinates = []
        for answer, shares, weight in zip(answers, expected, weights, strict=True):
            k = len(shares)
            scale = (weight / (1 - 1 / k)) ** 0.5
            coordinates += [
                scale * ((answer == number) - share)
                for number, share in enumerate(shares)
            ]
        return coordinates

    images = [vector(tuple(row)) for row in codes]
    n = len(images)
    # The expectation of the additional image is 0 in every coordinate.
    theta = np.sum(images, axis=0) / (n + 1)
    s = np.zeros((len(theta), len(theta)))
    for answers in product(*[range(len(shares)) for shares in expected]):
        chance = np.prod([r[a] for r, a in zip(expected, answers, strict=True)])
        squares = np.zeros_like(s)
        for image in images:
            squares += np.outer(image - theta, image - theta)
        more = np.array(vector(answers))
        squares += np.outer(more - theta, more - theta)
        s += chance * squares / ((n + 1) * (n - 1))
    return float(4 * theta @ s @ theta + 2 * np.trace(s @ s))


@pytest.mark.parametrize(
    ("expected", "weights"),
    [
        ([[0.5, 0.5]], [1.0]),
        ([[0.3, 0.7]], [2.0]),
        ([[0.5, 0.3, 0.2]], [0.7]),
        ([[0.4, 0.6], [0.25, 0.75]], [0.5, 1.5]),
    ],
)
def test_the_pseudo_variance_is_that_of_all_answers_of_one_more_image(
    expected: list[list[float]], weights: list[float]
) -> None:
    rng = np.random.default_rng(1)
    codes = [[int(rng.integers(0, len(r))) for r in expected] for _ in range(7)]
    result = pseudo_variance(
        np.array(codes),
        np.array(expected),
        np.array([len(shares) for shares in expected]),
        np.array(weights),
    )
    assert result == pytest.approx(variance_by_enumeration(codes, expected, weights))


def test_the_pseudo_variance_pads_classes_that_a_question_does_not_have() -> None:
    codes = np.array([[0, 2], [1, 1], [0, 0], [0, 2]])
    padded = np.array([[0.4, 0.6, 0.0], [0.5, 0.2, 0.3]])
    result = pseudo_variance(codes, padded, np.array([2, 3]), np.array([1.0, 0.5]))
    lists = [[0.4, 0.6], [0.5, 0.2, 0.3]]
    expected = variance_by_enumeration(codes.tolist(), lists, [1.0, 0.5])
    assert result == pytest.approx(expected)


def test_images_without_an_answer_do_not_count_for_their_question() -> None:
    """With all weight on one question, only the images with an answer to it are left."""
    codes = np.array([[0, 0], [0, -1], [1, 1], [0, -1], [-1, 0]])
    expected = np.array([[0.3, 0.7], [0.6, 0.4]])
    classes = np.array([2, 2])
    for question, weights in enumerate(([1.0, 0.0], [0.0, 1.0])):
        answers = codes[:, question]
        alone = pseudo_variance(
            answers[answers >= 0][:, None],
            expected[question : question + 1],
            classes[:1],
            np.ones(1),
        )
        both = pseudo_variance(codes, expected, classes, np.array(weights))
        assert both == pytest.approx(alone)


def test_critical_values_by_hand() -> None:
    """Of 19 draws the largest has p = 2 / 20; at .95 only what is above all draws is rejected."""
    draws = np.random.default_rng(2).permutation(19).astype(float)
    assert critical_value(draws, 0.95) == 18.0
    assert critical_value(draws, 0.9) == 18.0
    assert critical_value(draws, 0.89) == 17.0
    assert critical_value(draws, 0.5) == 10.0
    assert critical_value(draws, 0.001) == 0.0
    assert critical_value(draws[:1], 0.5) == draws[0]


def test_the_critical_value_is_the_largest_that_is_not_rejected() -> None:
    null = np.random.default_rng(0).integers(0, 50, 1999).astype(float)
    critical = critical_value(null, 0.95)
    assert p_value(null, critical, "greater", exact=False) >= 0.05
    assert p_value(null, critical + 1, "greater", exact=False) < 0.05


def test_the_only_answer_of_a_class_can_be_removed() -> None:
    result = squared_lean_without([7, 1, 0])
    assert result[1] == squared_lean([7, 0, 0]) == 1.0
    expected = [0.5, 0.3, 0.2]
    against = squared_lean_without([7, 1, 0], expected)
    assert against[1] == squared_lean([7, 0, 0], expected)
