"""Shares of clustered answers, with unknown ones, and corrected by labels."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats as scipy_stats

from t2ibench.stats import Proportion, clustered_proportion
from t2ibench.stats.bounds import BoundedProportion
from t2ibench.stats.judged import corrected_mean_square, corrected_share, errors_differ


def test_wilsons_interval_and_its_test_agree() -> None:
    for hits in range(11):
        share = Proportion(hits / 10, 10.0, 1e9)
        low, high = share.interval()
        for expected in (0.1, 0.5, 0.72):
            assert (low <= expected <= high) == (share.p(expected) >= 0.05)
    low, high = Proportion(0.9, 10.0, 1e9).interval()
    published = scipy_stats.binomtest(9, 10).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((published.low, published.high), abs=1e-4)
    assert np.isnan(Proportion(0.5, 10.0, 9.0).p(0.0))


def test_unanimous_answers_count_once_each() -> None:
    assert clustered_proportion([10, 10], [10, 10]).size == 20
    # Each caption is unanimous, in opposite ways: precise, but not endlessly so.
    assert 20 < clustered_proportion([10, 0], [10, 10]).size < 200
    assert clustered_proportion([1, 0, 1], [1, 1, 1]).size == 3


def test_coverage_with_captions_that_differ() -> None:
    shares = np.random.default_rng(0).beta(4, 1, (400, 6))
    hits = np.random.default_rng(1).binomial(10, shares)
    ends = np.array(
        [clustered_proportion(row, np.full(6, 10)).interval() for row in hits]
    )
    assert (
        np.mean(
            (ends[:, 0] <= shares.mean(axis=1)) & (shares.mean(axis=1) <= ends[:, 1])
        )
        > 0.92
    )


def bounded(hits: int, known: int, unknown: int) -> BoundedProportion:
    n = known + unknown
    least, most = (
        clustered_proportion([count], [n]) for count in (hits, hits + unknown)
    )
    return BoundedProportion(hits / known, least, most)


def test_without_unknown_answers_bounds_equal_the_shares_interval() -> None:
    found, share = bounded(30, 80, 0), clustered_proportion([30], [80])
    assert found.interval() == pytest.approx(share.interval())
    assert found.p(0.5) == pytest.approx(share.p(0.5))


def test_with_many_unknown_answers_each_end_has_one_side() -> None:
    found = bounded(30, 60, 40)
    ends = found.least.interval(0.9)[0], found.most.interval(0.9)[1]
    assert found.interval() == pytest.approx(ends, abs=1e-4)
    assert found.p(0.5) == 1.0
    assert found.p(0.15) == pytest.approx(found.least.p(0.15) / 2, abs=1e-6)
    assert found.interval(0.4) == (0.3, 0.7)


def test_the_interval_and_the_test_agree() -> None:
    for unknown in (0, 1, 5, 30):
        found = bounded(30, 70, unknown)
        for end in found.interval():
            assert found.p(end) == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize("share", [0.5, 0.95])
@pytest.mark.parametrize("lost", [(0.02, 0.0), (0.0, 0.3)])
def test_the_interval_covers_whatever_is_lost(
    share: float, lost: tuple[float, float]
) -> None:
    rng, inside, runs = np.random.default_rng(0), 0, 600
    for _ in range(runs):
        hits = int(rng.binomial(120, share))
        gone = rng.binomial(hits, lost[0]), rng.binomial(120 - hits, lost[1])
        found = bounded(hits - int(gone[0]), 120 - int(sum(gone)), int(sum(gone)))
        low, high = found.interval()
        inside += low <= share <= high
    assert inside / runs >= 0.925


@pytest.mark.parametrize("labels", [5, 30])
def test_labels_of_the_unanswered_restore_a_share(labels: int) -> None:
    rng, found = np.random.default_rng(labels), []
    for _ in range(600):
        shown = rng.random(150) < 0.5
        silent = rng.random(150) < np.where(shown, 0.4, 0.05)
        judged, rest = shown[~silent], shown[silent]
        people = rng.permutation(rest)[:labels]
        found.append(corrected_share(judged, [], [], unanswered=len(rest),
                                     labels_of_unanswered=people))  # fmt: skip
    assert np.mean([one.value for one in found]) == pytest.approx(0.5, abs=0.01)
    assert (
        0.925
        <= np.mean(
            [low <= 0.5 <= high for low, high in (one.interval for one in found)]
        )
        <= 0.99
    )


@pytest.mark.parametrize(
    ("share", "right", "labels"), [(0.9, 0.8, 200), (0.5, 0.95, 50)]
)
def test_a_corrected_share_is_unbiased_and_covers(
    share: float, right: float, labels: int
) -> None:
    rng = np.random.default_rng(0)
    values, covered = [], 0
    for _ in range(400):
        truth = rng.random(2000) < share
        judged = np.where(rng.random(2000) < right, truth, ~truth).astype(float)
        chosen = rng.choice(2000, labels, replace=False)
        found = corrected_share(judged, judged[chosen], truth[chosen].astype(float))
        values.append(found.value)
        low, high = found.interval
        covered += low <= share <= high
    assert abs(np.mean(values) - share) < 0.006
    assert 0.93 <= covered / 400 <= 0.995


def test_labels_alone_where_the_judge_guesses() -> None:
    rng = np.random.default_rng(1)
    truth, guess = rng.random(5000) < 0.8, rng.random(5000) < 0.5
    found = corrected_share(guess[:], guess[:300], truth[:300].astype(float))
    assert found.weight < 0.15 and abs(found.value - truth[:300].mean()) < 0.02


@pytest.mark.parametrize(
    ("runs", "least"), [(50, 0.88), pytest.param(150, 0.93, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_a_corrected_mean_square_is_unbiased_and_covers(
    share: float, runs: int, least: float
) -> None:
    rng = np.random.default_rng(2)
    planted, values, covered, naive = (2 * share - 1) ** 2, [], 0, []
    for _ in range(runs):
        truth = (rng.random((30, 12)) < share).astype(int)
        judged = np.where(rng.random((30, 12)) < 0.85, truth, 1 - truth)
        counts = np.stack([judged.sum(1), 12 - judged.sum(1)], axis=1)
        c, i = np.divmod(rng.choice(360, 240, replace=False), 12)
        confusions = np.zeros((30, 2, 2))
        np.add.at(confusions, (c, 1 - truth[c, i], 1 - judged[c, i]), 1)
        found = corrected_mean_square(counts, confusions)
        naive.append(float(np.mean((2 * judged.mean(axis=1) - 1) ** 2)) - 1 / 12)
        if found.interval is None:
            assert "errs otherwise about some captions" in found.reason
            continue
        values.append(found.value)
        covered += found.interval[0] <= planted <= found.interval[1]
    assert abs(np.mean(values) - planted) < 0.02
    # The errors are those of every caption; the test that they are rejects in one of twenty.
    assert len(values) / runs > 0.9
    assert covered / len(values) >= least
    if planted:
        assert np.mean(naive) < planted - 0.1  # what the judge alone would say


def test_errors_that_follow_the_caption_correct_nothing() -> None:
    """The judge errs toward the first class of every second caption, and the other way there."""
    toward_first, toward_second = [[12, 0], [3, 10]], [[10, 3], [0, 12]]
    by_caption = [toward_first, toward_second] * 5
    assert errors_differ(by_caption) < 0.05
    alike = [[[11, 1], [2, 11]], [[11, 2], [1, 11]]] * 5
    assert errors_differ(alike) > 0.5
    assert errors_differ([[[12, 0], [0, 13]]] * 10) == 1.0
    square = corrected_mean_square([[24, 16], [16, 24]] * 5, by_caption)
    assert square.value is None
    assert square.reason is not None and "about some captions" in square.reason


def test_too_few_answers_are_reported_and_not_estimated() -> None:
    few = corrected_mean_square([[10, 0]] * 5, [[[10, 0], [0, 10]]] * 5)
    assert few.value is None and few.reason == "100 labels; at least 200 are needed"
    blind = corrected_mean_square([[10, 0]] * 5, [[[25, 25], [25, 25]]] * 5)
    assert blind.reason == "the judge tells the classes apart too badly"
    one = corrected_mean_square([[10, 0]] * 5, [[[60, 0], [0, 0]]] * 5)
    assert one.reason == "people never gave one of the classes"


def corrected_square(n: np.ndarray, confusion: np.ndarray) -> float:
    """The mean over captions of (Σ over pairs of images of e·e' / pairs − 1/k) / (1 − 1/k).

    The e of an image is its answer's row of the inverse of the judge's rates.
    """
    k = n.shape[1]
    rates = [[cell / sum(row) for cell in row] for row in confusion]
    vectors = np.linalg.inv(np.array(rates))
    squares = []
    for counts in n:
        images = [vectors[code] for code in range(k) for _ in range(int(counts[code]))]
        products = [float(a @ b) for a, b in combinations(images, 2)]
        squares.append((np.mean(products) - 1 / k) / (1 - 1 / k))
    return float(np.mean(squares))


def test_a_corrected_mean_square_is_the_jackknife_of_pairs_of_images() -> None:
    """Captions are left out one at a time, with their labels; one of them has a single answer."""
    rng = np.random.default_rng(4)
    n = np.array([[7, 0, 0], [3, 2, 2], [0, 6, 1], [1, 1, 5], [1, 0, 0], [6, 1, 0]])
    usable = np.arange(6) != 4
    labels = np.array([[[14, 1, 1], [0, 12, 1], [1, 0, 11]]] * 6)
    labels += rng.integers(0, 3, labels.shape)
    whole = corrected_square(n[usable], labels.sum(axis=0))
    without = []
    for caption in range(6):
        others = np.arange(6) != caption
        without.append(corrected_square(n[usable & others], labels[others].sum(axis=0)))
    value = 6 * whole - 5 * np.mean(without)
    error = np.sqrt(25 / 6 * np.var(without, ddof=1))
    result = corrected_mean_square(n, labels, level=0.9)
    assert result.value == pytest.approx(value)
    assert result.interval == pytest.approx(
        scipy_stats.t.interval(0.9, 5, value, error)
    )


@pytest.mark.parametrize("k", [2, 3])
def test_alike_captions_have_at_least_the_variance_of_uniform_answers(k: int) -> None:
    """Every outcome of four uniform answers, read by a judge that is right in 4 of 5 cases.

    The jackknife sees no variance in captions that are all alike.
    """
    labels = np.full((k, k), 20 // (k - 1)) + np.diag([80 - 20 // (k - 1)] * k)
    outcomes = [c for c in product(range(5), repeat=k) if sum(c) == 4]
    chances = scipy_stats.multinomial.pmf(outcomes, 4, [1 / k] * k)
    squares = [corrected_square(np.array([c]), labels) for c in outcomes]
    assert chances @ squares == pytest.approx(0.0, abs=1e-9)
    variance = float(chances @ np.square(squares)) / 5
    counts = np.array([[3, 1] + [0] * (k - 2)] * 5)
    result = corrected_mean_square(counts, [labels] * 5)
    assert result.value == pytest.approx(corrected_square(counts, labels))
    half = scipy_stats.t.ppf(0.975, 4) * np.sqrt(variance)
    assert result.interval == pytest.approx((result.value - half, result.value + half))


def test_what_is_needed_for_a_corrected_mean_square_is_needed_exactly() -> None:
    right = [[[25, 0], [0, 25]]]
    assert corrected_mean_square([[3, 1]] * 4, right * 4).value is not None
    fewer = corrected_mean_square([[3, 1]] * 4, [*right * 3, [[25, 0], [0, 24]]])
    assert fewer.reason == "199 labels; at least 200 are needed"
    assert corrected_mean_square([[1, 1]] * 3, [[[40, 0], [0, 40]]] * 3).value
    two = corrected_mean_square([[3, 1]] * 2 + [[1, 0]], [[[40, 0], [0, 40]]] * 3)
    assert two.reason == "fewer than 3 captions have two answers"
    # Rates of .66 and .66 have the determinant .32; of .64 and .64 it is .28.
    good = corrected_mean_square([[3, 1]] * 3, [[[66, 34], [34, 66]]] * 3)
    assert good.reason is None and good.value is not None
    bad = corrected_mean_square([[3, 1]] * 3, [[[64, 36], [36, 64]]] * 3)
    assert bad.reason == "the judge tells the classes apart too badly"
    only = corrected_mean_square(
        [[3, 1]] * 3, [[[90, 0], [0, 9]], [[90, 0], [0, 0]], [[90, 0], [0, 0]]]
    )
    assert only.reason == "without one caption's labels a class has none"


def test_the_share_of_given_prompts_by_hand() -> None:
    """4 of 5, 3 of 4 and 1 of 1: V = (.16 / 4 + .1875 / 3) / 2 / 3 over prompts with several.

    With half of one more answer in each, it is at least Σ p (1 − p) / n over 9.
    """
    result = clustered_proportion([4, 3, 1], [5, 4, 1])
    value = (0.8 + 0.75 + 1) / 3
    variance = (0.16 / 4 + 0.1875 / 3) / 2 / 3
    padded = [(4.5, 6), (3.5, 5), (1.5, 2)]
    floor = sum((x / n) * (1 - x / n) / (n - 1) for x, n in padded) / 9
    spread = value * (1 - value)
    assert result.value == pytest.approx(value)
    assert result.size == pytest.approx(min(spread / variance, max(10, spread / floor)))
    assert result.df == 7.0
    opposite = clustered_proportion([5, 0, 3], [5, 5, 5])
    floor = (2 * 5.5 * 0.5 / 36 + 3.5 * 2.5 / 36) / 5 / 9
    variance = 0.24 / 4 / 3 / 3
    spread = 8 / 15 * 7 / 15
    expected = min(spread / variance, max(15, spread / floor))
    assert opposite.size == pytest.approx(expected)


def test_prompts_of_one_answer_each_are_independent_answers() -> None:
    result = clustered_proportion([1, 0, 1, 1], [1, 1, 1, 1])
    assert (result.value, result.size, result.df) == (0.75, 4.0, 3.0)
    assert clustered_proportion([1], [1]).df == 1.0


def test_the_standard_error_of_a_share_has_four_more_answers() -> None:
    """12 of 20 and 2 of 4 more: .5833 of 24."""
    share = Proportion(0.6, 20.0, 30.0)
    p = 14 / 24
    assert share.error == pytest.approx((p * (1 - p) / 24) ** 0.5)
    t = (0.6 - 0.4) / (0.24 / 20) ** 0.5
    assert share.p(0.4) == pytest.approx(2 * scipy_stats.t.sf(t, 30))
    assert share.p(0.8) == pytest.approx(2 * scipy_stats.t.sf(0.2 / 0.008**0.5, 30))
    for end in share.interval(0.9):
        assert share.p(end) == pytest.approx(0.1)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_share_corrected_by_labels_by_hand(level: float) -> None:
    """w = (cov / var f) / (1 + n / K); V = var(y − w f) / (n + 2) + w² var(f over all) / K.

    The variance of errors has two more labels. Wilson's ends e are where (p − e)² is
    z² e (1 − e) V / (p (1 − p)).
    """
    judged = np.repeat([1.0, 0.0], [60, 40])
    f = np.repeat([1.0, 0.0], [12, 8])
    y = np.array([1.0] * 9 + [0.0] * 3 + [1.0] * 2 + [0.0] * 6)
    weight = np.cov(y, f)[0, 1] / f.var(ddof=1) / (1 + 20 / 100)
    errors = np.append(y, [1, 0]) - weight * np.append(f, [0, 1])
    variance = errors.var(ddof=1) / 22 + weight**2 * judged.var(ddof=1) / 100
    p = weight * 0.6 + (y - weight * f).mean()
    result = corrected_share(judged, f, y, level)
    assert 0.3 < weight < 0.7 and result.weight == pytest.approx(weight)
    assert result.value == pytest.approx(p)
    z = scipy_stats.norm.ppf((1 + level) / 2)
    for end in result.interval or ():
        expected = z**2 * end * (1 - end) * variance / (p * (1 - p))
        assert (p - end) ** 2 == pytest.approx(expected)
