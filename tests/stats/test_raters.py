"""Several people: agreement with intervals, and how far what most of them say can be wrong."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from t2ibench.stats.categorical import cohens_kappa, krippendorff_alpha
from t2ibench.stats.raters import (
    DRAWS,
    NO_CLASS,
    MajorityAccuracy,
    _majority_table,
    alpha_interval,
    coded,
    kappa_interval,
    majority_accuracy,
    most_voted,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("votes", "k"), [(1, 2), (2, 2), (3, 2), (4, 2), (3, 3), (3, 6), (5, 3)]
)
def test_the_accuracy_of_a_majority_is_that_of_every_pattern_of_votes(
    votes: int, k: int
) -> None:
    a = 0.6
    decided = right = 0.0
    for given in product(range(k), repeat=votes):
        chance = np.prod(
            [a + (1 - a) / k if code == 0 else (1 - a) / k for code in given]
        )
        winner = most_voted([str(code) for code in given])
        decided += chance * (winner is not None)
        right += chance * (winner == "0")
    untied, accuracy = _majority_table(votes, k)
    assert untied[60] == pytest.approx(decided)
    assert accuracy[60] == pytest.approx((k * right / decided - 1) / (k - 1))


def world(
    errors: tuple[float, ...], share: float, images: int, hard: float, k: int = 2
) -> float:
    """The true accuracy of what most people say, and votes whose estimate should be that."""
    draws = rng(3)
    truth = np.where(draws.random(images) < share, 0, draws.integers(0, k, images))
    wrong = np.where(draws.random(images) < hard, 1.0, 0.0)[:, None]
    guess = np.maximum(wrong, np.asarray(errors) * k / (k - 1))
    guessed = draws.random((images, len(errors))) < guess
    votes = np.where(guessed, draws.integers(0, k, guessed.shape), truth[:, None])
    found = majority_accuracy(votes, np.zeros(images, int), k, rng(4))
    assert found is not None
    counts = (votes[..., None] == np.arange(k)).sum(axis=1)
    untied = np.sort(counts, axis=1)[:, -1] > np.sort(counts, axis=1)[:, -2]
    right = (counts.argmax(axis=1) == truth)[untied].mean()
    assert found.low <= (k * right - 1) / (k - 1)
    return found.value - (k * right - 1) / (k - 1)


@pytest.mark.parametrize(
    ("errors", "hard", "k"),
    [
        ((0.15,) * 3, 0.0, 2),
        ((0.3,) * 3, 0.0, 2),
        ((0.05,) * 3, 0.2, 2),
        ((0.15,) * 5, 0.1, 2),
        ((0.15,) * 3, 0.0, 4),
        ((0.05,) * 3, 0.2, 4),
    ],
)
def test_mistakes_are_seen_by_how_people_disagree(
    errors: tuple[float, ...], hard: float, k: int
) -> None:
    """Without anybody knowing the truth, however hard images are."""
    assert abs(world(errors, 0.8, 5_000, hard, k)) < 0.03


def test_a_bad_labeller_among_good_ones_lowers_the_estimated_accuracy() -> None:
    assert -0.1 < world((0.05, 0.05, 0.3), 0.8, 5_000, 0.0) < 0


def test_without_disagreement_the_majoritys_accuracy_is_undefined() -> None:
    agreeing = np.zeros((12, 3), dtype=np.int64)
    alone = np.array([[0], [1], [0]])
    apart = np.array([[0, NO_CLASS], [NO_CLASS, 1]])
    for votes in (agreeing, alone, apart):
        assert majority_accuracy(votes, np.zeros(len(votes), int), 2, rng()) is None


def test_guesses_leave_every_share_possible() -> None:
    votes = rng(1).integers(0, 2, (60, 3))
    found = majority_accuracy(votes, np.zeros(60, int), 2, rng(2))
    assert found is not None and found.low < 0.2
    low, high = found.widened((0.3, 0.6))
    assert low < 0.1 and high > 0.9


def test_an_interval_never_shrinks_and_even_shares_stay() -> None:
    accuracy = MajorityAccuracy(0.7, 0.5, 3)
    for interval in ((0.0, 0.2), (0.2, 0.5), (0.6, 1.0), (1 / 3, 1 / 3)):
        low, high = accuracy.widened(interval)
        assert 0 <= low <= interval[0] and interval[1] <= high <= 1
    # a fair model reads fair
    assert accuracy.read(1 / 3) == pytest.approx((1 / 3, 1 / 3))


def test_alpha_and_kappa_have_intervals_that_hold_them() -> None:
    """Coverage over images, of people who err in 15 %: α and κ are .49 here."""
    held, kappas, sets = 0, 0, 60
    for seed in range(sets):
        draws = rng(seed)
        truth = draws.random(60) < 0.5
        people = [
            ["a" if shown else "b" for shown in truth ^ (draws.random(60) < 0.15)]
            for _ in range(3)
        ]
        alpha = alpha_interval(people, rng(seed))
        kappa = kappa_interval(people[0], people[1], rng(seed))
        assert alpha.value == pytest.approx(krippendorff_alpha(people))
        assert alpha.low is not None and alpha.high is not None
        assert kappa.low is not None and kappa.high is not None
        held += alpha.low <= 0.49 <= alpha.high
        kappas += kappa.low <= 0.49 <= kappa.high
    assert held / sets > 0.89 and kappas / sets > 0.89


def test_full_agreement_of_few_images_is_not_certain() -> None:
    found = alpha_interval([["a", "b"] * 6] * 2, rng())
    assert found.value == 1 and found.high == 1
    assert found.low is not None and 0.3 < found.low < 0.6
    assert alpha_interval([["a"] * 5] * 2, rng()).value is None  # one class only
    assert kappa_interval([], [], rng()).value is None


def test_who_gave_no_class_has_no_vote() -> None:
    codes = coded([{"anna": "b", "ben": "unknown"}, {"cem": "a"}], ["a", "b"])
    assert codes.tolist() == [[1, NO_CLASS, NO_CLASS], [NO_CLASS, NO_CLASS, 0]]
    assert most_voted(["a", "b", "c"]) is None and most_voted([]) is None


@pytest.mark.parametrize(
    ("k", "low", "interval", "expected"),
    [
        # .6 is .1 above 1/2, which accuracies of .5 to 1 read from .6 to .7.
        (2, 0.5, (0.6, 0.7), (0.6, 0.9)),
        (2, 0.5, (0.3, 0.4), (0.1, 0.4)),
        (2, 0.8, (0.3, 0.82), (0.25, 0.9)),
        (4, 0.5, (0.2, 0.4), (0.15, 0.55)),
        (4, 0.1, (0.2, 0.4), (0.0, 1.0)),
        (2, 0.0, (0.5, 0.5), (0.5, 0.5)),
        (2, 0.0, (0.4, 0.6), (0.0, 1.0)),
    ],
)
def test_an_interval_is_widened_to_what_the_least_accuracy_reads_from(
    k: int,
    low: float,
    interval: tuple[float, float],
    expected: tuple[float, float],
) -> None:
    accuracy = MajorityAccuracy(value=0.9, low=low, k=k)
    assert accuracy.widened(interval) == pytest.approx(expected)


def test_the_true_share_that_is_read_as_an_end_is_the_widened_end() -> None:
    accuracy = MajorityAccuracy(value=0.9, low=0.7, k=3)
    low, high = accuracy.widened((0.2, 0.6))
    assert accuracy.read(low)[1] == pytest.approx(0.2)
    assert accuracy.read(high)[0] == pytest.approx(0.6)


def test_rounding_does_not_widen_an_interval() -> None:
    """0.82 is read from 0.9 and nothing above it."""
    assert MajorityAccuracy(0.9, 0.8).widened((0.5, 0.82)) == (0.5, 0.9)
    assert MajorityAccuracy(0.9, 1.0, 3).widened((0.1, 0.7)) == (
        pytest.approx(0.1),
        0.7,
    )


def test_full_agreement_has_the_exact_end_of_undisputed_images() -> None:
    """None of 12 images is disputed: at .95 up to 1 - .025^(1/12) may be.

    Two people who say a and b six times each differ by chance in 12 / 23 for alpha (of 24
    answers, without replacement) and in 1 / 2 for kappa.
    """
    people = [["a", "b"] * 6] * 2
    disputed = 1 - 0.025 ** (1 / 12)
    alpha = alpha_interval(people, rng())
    assert alpha.low == pytest.approx(1 - disputed / (12 / 23))
    kappa = kappa_interval(*people, rng())
    assert kappa.low == pytest.approx(1 - disputed / 0.5)
    rare = kappa_interval(["a"] + ["b"] * 11, ["a"] + ["b"] * 11, rng())
    assert rare.low == pytest.approx(max(-1.0, 1 - disputed / (1 - 122 / 144)))


def test_intervals_of_agreement_are_those_of_resampled_images() -> None:
    """The same draws of images, with their answers, by the coefficients themselves."""
    people = [list("aabbcabcab"), list("abbbcabcaa"), list("aabbcacccb")]
    weights = rng(5).multinomial(10, np.full(10, 0.1), size=DRAWS)
    alphas = []
    kappas = []
    for counts in weights:
        first, second, third = (
            [answer for answer, n in zip(person, counts, strict=True) for _ in range(n)]
            for person in people
        )
        alphas.append(krippendorff_alpha([first, second, third]))
        kappas.append(cohens_kappa(first, second))
    alpha = alpha_interval(people, rng(5), 0.9)
    assert (alpha.low, alpha.high) == pytest.approx(np.quantile(alphas, [0.05, 0.95]))
    kappa = kappa_interval(people[0], people[1], rng(5), 0.9)
    assert (kappa.low, kappa.high) == pytest.approx(np.quantile(kappas, [0.05, 0.95]))
