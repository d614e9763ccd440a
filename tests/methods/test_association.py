"""Associations with two sets of images, beside sums over single images and all splits."""

from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.association import (
    SetDistance,
    adherence,
    association,
    association_draws,
    cycle_words,
    halves,
    left_out_warnings,
    mean_distance,
    row_distance,
    standardised,
    standardised_draws,
)
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.core.shuffled_distances import shuffled_distances
from t2ibench.stats import resample_weights


def unit_rows(n: int, seed: int, dimensions: int = 3) -> Float64Array:
    rows = np.random.default_rng(seed).normal(size=(n, dimensions))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def images(rows: Float64Array, sizes: list[int]) -> PromptImages:
    """Images of several prompts, numbered from 0 in each."""
    return PromptImages(
        embeddings=rows,
        clusters=np.repeat(np.arange(len(sizes)), sizes),
        prompts=[f"prompt {number}" for number in range(len(sizes))],
        indices=np.concatenate([np.arange(size) for size in sizes]),
    )


def test_words_are_taken_in_their_order_and_begin_anew() -> None:
    words = ["joy", "love", "peace", "calm", "hope"]
    assert cycle_words(words, 0, 3) == ["joy", "love", "peace"]
    assert cycle_words(words, 1, 3) == ["calm", "hope", "joy"]
    assert cycle_words(words, 2, 3) == ["love", "peace", "calm"]
    assert cycle_words(words, 7, None) == words


def test_an_association_is_the_mean_cosine_to_one_set_less_that_to_the_other() -> None:
    targets, a, b = unit_rows(4, 0), unit_rows(3, 1), unit_rows(5, 2)
    expected = [
        np.mean([w @ x for x in a]) - np.mean([w @ y for y in b]) for w in targets
    ]
    assert association(targets, a, b) == pytest.approx(expected)
    standard = [
        difference / np.std([w @ x for x in [*a, *b]], ddof=1)
        for w, difference in zip(targets, expected, strict=True)
    ]
    result = standardised(targets @ a.T, targets @ b.T)
    assert result == pytest.approx(standard)
    assert np.isnan(standardised(np.ones((1, 1)), np.ones((1, 0)))).all()
    assert np.isnan(standardised(np.ones((1, 1)), np.ones((1, 1)))).all()


def test_standardised_draws_are_those_of_the_drawn_images() -> None:
    """A draw with the images 0, 0, 2 of A and 1, 3, 3, 4, 0 of B, and one with each once."""
    cosines_a = unit_rows(4, 0) @ unit_rows(3, 1).T
    cosines_b = unit_rows(4, 0) @ unit_rows(5, 2).T
    draws_a = [[0, 0, 2], [0, 1, 2]]
    draws_b = [[1, 3, 3, 4, 0], [0, 1, 2, 3, 4]]
    weights_a = np.array([np.bincount(draw, minlength=3) / 3 for draw in draws_a])
    weights_b = np.array([np.bincount(draw, minlength=5) / 5 for draw in draws_b])
    result = standardised_draws(cosines_a, cosines_b, weights_a, weights_b)
    for row, of_a, of_b in zip(result, draws_a, draws_b, strict=True):
        expected = standardised(cosines_a[:, of_a], cosines_b[:, of_b])
        assert row == pytest.approx(expected)


def test_association_draws_resample_the_images_of_both_sets() -> None:
    """More draws than one block; each is the association of the weighted images."""
    targets = unit_rows(2, 0)
    a, b = images(unit_rows(4, 1), [2, 2]), images(unit_rows(6, 2), [3, 3])
    result = association_draws(targets, a, b, 1003, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    expected = []
    for n_draws in (1000, 3):
        weights_a = resample_weights(a.clusters, n_draws, rng)
        weights_b = resample_weights(b.clusters, n_draws, rng)
        means = weights_a @ a.embeddings - weights_b @ b.embeddings
        expected.append(means @ targets.T)
    assert result == pytest.approx(np.concatenate(expected))


def test_images_nearer_to_their_own_text_are_counted() -> None:
    """Of A two of three are nearer to A's text; of B one of two; one lies between."""
    texts = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    of_a = np.array([[0.9, 0.1], [0.8, 0.6], [0.1, 0.9]])
    of_b = np.array([[0.2, 0.8], [0.7, 0.7]])
    a_seen, b_seen = adherence(of_a, of_b, *texts)
    assert (a_seen.shown, a_seen.asked) == (2, 3)
    assert (b_seen.shown, b_seen.asked) == (1, 2)
    a_seen, b_seen = adherence(of_a, of_b, texts[0], np.full((1, 2), np.nan))
    assert (a_seen.unknown, b_seen.unknown, a_seen.asked) == (3, 2, 0)


def distances(a: Float64Array, b: Float64Array) -> tuple[float, float]:
    """H_ab − (H_a + H_b) / 2 and H_ab, with the distance 1 − cosine, pair by pair."""
    between = np.mean([1 - x @ y for x in a for y in b])
    within_a = np.mean([1 - x @ y for x, y in combinations(a, 2)])
    within_b = np.mean([1 - x @ y for x, y in combinations(b, 2)])
    return float(between - (within_a + within_b) / 2), float(between)


def test_the_distance_of_two_sets_is_a_ratio_of_means_over_wordings() -> None:
    pairs = [(unit_rows(4, 0), unit_rows(3, 1)), (unit_rows(2, 2), unit_rows(5, 3))]
    beyond, between = np.mean([distances(*pair) for pair in pairs], axis=0)
    result = SetDistance.of(pairs)
    assert result is not None
    assert (result.beyond, result.between) == pytest.approx((beyond, between))
    assert result.value == pytest.approx(beyond / between)
    assert SetDistance.of([*pairs, (unit_rows(1, 4), unit_rows(5, 5))]) is None
    assert np.isnan(SetDistance(beyond=0.0, between=0.0).value)


def test_shuffled_labels_have_the_distances_of_all_splits() -> None:
    a, b = unit_rows(3, 0), unit_rows(2, 1)
    rows = np.concatenate([a, b])
    splits = []
    for chosen in combinations(range(5), 3):
        others = [row for row in range(5) if row not in chosen]
        splits.append(distances(rows[list(chosen)], rows[others])[0])
    drawn = shuffled_distances(a, b, 4000, np.random.default_rng(0))
    assert sorted(set(drawn.round(9))) == pytest.approx(sorted(splits))
    for split in splits:
        assert np.mean(np.abs(drawn - split) < 1e-9) == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("cells", [10, 10**6])
def test_many_images_have_the_same_shuffled_distances_as_pair_by_pair(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers that are 0 in every embedding change no product, but how products are summed."""
    monkeypatch.setattr("t2ibench.methods.core.shuffled_distances._CELLS", cells)
    a, b = unit_rows(6, 0), unit_rows(5, 1)
    wide = [np.pad(rows, ((0, 0), (0, 20))) for rows in (a, b)]
    assert len(a) + len(b) > a.shape[1]
    by_sums = shuffled_distances(a, b, 50, np.random.default_rng(0))
    by_pairs = shuffled_distances(*wide, 50, np.random.default_rng(0))
    assert by_sums == pytest.approx(by_pairs, abs=1e-12)


def test_shuffles_of_many_images_need_no_pairs_of_them() -> None:
    a, b = unit_rows(2_000, 0), unit_rows(2_000, 1)
    tracemalloc.start()
    try:
        shuffled_distances(a, b, 3_000, np.random.default_rng(0))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 4_000**2


def test_the_test_of_a_distance_is_that_of_all_splits() -> None:
    a, b = unit_rows(4, 0), unit_rows(4, 1)
    b[:, 0] += 0.6
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    rows = np.concatenate([a, b])
    splits = []
    for chosen in combinations(range(8), 4):
        others = [row for row in range(8) if row not in chosen]
        splits.append(distances(rows[list(chosen)], rows[others])[0])
    observed, between = distances(a, b)
    result = row_distance([(a, b)], 9999, np.random.default_rng(0))
    assert result.value == pytest.approx(observed / between)
    p = np.mean(np.array(splits) >= observed - 1e-9)
    assert result.p == pytest.approx(p, abs=0.02)
    alone = row_distance([(a, b[:1])], 99, np.random.default_rng(0))
    assert alone.value is None and alone.reason == "a set has a single image"


def test_the_mean_distance_over_stimuli_is_a_ratio_of_means() -> None:
    stimuli = [[(unit_rows(4, 2 * s), unit_rows(3, 2 * s + 1))] for s in range(4)]
    measured = np.array([distances(*pairs[0]) for pairs in stimuli])
    single = [(unit_rows(1, 20), unit_rows(3, 21))]
    result = mean_distance([*stimuli, single], 0.95)
    assert result.value == pytest.approx(measured[:, 0].sum() / measured[:, 1].sum())
    assert mean_distance([single], 0.95).value is None


def test_halves_are_images_with_even_and_with_odd_numbers() -> None:
    rows = unit_rows(5, 0)
    even, odd = halves(images(rows, [3, 2]))
    assert even.tolist() == rows[[0, 2, 3]].tolist()
    assert odd.tolist() == rows[[1, 4]].tolist()


def test_stimuli_that_are_left_out_are_named() -> None:
    assert left_out_warnings([]) == []
    assert left_out_warnings(["cat", "dog"]) == [
        "Left out, because a prompt of theirs has no image: cat, dog."
    ]
