"""Relabelled answers: their distribution is that of no bias, what images share is kept."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats as scipy_stats

from t2ibench.stats import Answers, relabelled_counts
from t2ibench.stats.permutation import relabelled_codes


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.8, 0.2], [0.5, 0.0, 0.3, 0.2]])
def test_one_answer_an_image_is_multinomial(shares: list[float]) -> None:
    zeros = np.zeros(4, np.int64)
    answers = Answers(
        np.arange(4), zeros, zeros, np.array([shares]), np.array([len(shares)])
    )
    blocks = relabelled_counts(answers, 20_000, np.random.default_rng(0))
    counts = np.concatenate(list(blocks))[:, 0]
    assert counts.sum(axis=1).tolist() == [4] * 20_000
    outcomes, seen = np.unique(counts, axis=0, return_counts=True)
    expected = 20_000 * scipy_stats.multinomial.pmf(outcomes, 4, shares)
    assert expected.sum() == pytest.approx(20_000, rel=1e-3)
    assert (
        scipy_stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue
        > 1e-3
    )


def test_answers_that_go_together_still_do() -> None:
    """The second question has the opposite answer, and opposite expected shares."""
    code = np.array([0, 0, 1, 0, 1])
    image, row, shares = (
        np.tile(np.arange(5), 2),
        np.repeat([0, 1], 5),
        [[0.8, 0.2], [0.2, 0.8]],
    )
    both = np.concatenate([code, 1 - code])
    answers = Answers(image, row, both, np.array(shares), np.array([2, 2]))
    codes = relabelled_codes(answers, 500, np.random.default_rng(1))
    assert (codes[:, :5] == 1 - codes[:, 5:]).all()
    assert codes[:, :5].mean() == pytest.approx(0.2, abs=0.03)


class Unturned:
    """Random places within the classes, and angles of 0."""

    def __init__(self) -> None:
        self.drawn = False

    def random(self, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
        if self.drawn:
            return np.zeros(shape)
        self.drawn = True
        return np.random.default_rng(3).random(shape)


def test_answers_that_are_not_turned_are_the_given_ones() -> None:
    """Each lies within its own class, wherever the image is in it."""
    shares = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.2, 0.3, 0.4]])
    code = np.array([0, 1, 2, 0, 3, 2, 1, 0])
    answers = Answers(
        np.tile(np.arange(4), 2), np.repeat([0, 1], 4), code, shares, np.array([3, 4])
    )
    codes = relabelled_codes(answers, 200, Unturned())  # type: ignore[arg-type]
    assert (codes == code).all()


def test_questions_with_other_numbers_of_classes() -> None:
    answers = Answers(
        np.array([0, 1, 0, 1]),
        np.array([0, 0, 1, 1]),
        np.array([0, 1, 4, 2]),
        np.array([[0.5, 0.5, 0, 0, 0], [0.2] * 5]),
        np.array([2, 5]),
    )
    codes = relabelled_codes(answers, 4000, np.random.default_rng(2))
    assert codes[:, :2].max() == 1 and codes[:, 2:].max() == 4
    shares = np.bincount(codes[:, 2:].ravel(), minlength=5) / 8000
    assert shares == pytest.approx([0.2] * 5, abs=0.02)
