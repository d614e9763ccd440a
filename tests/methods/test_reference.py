"""Effects of texts beside reference texts, beside scipy and sums over pairs of anchors."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from t2ibench.methods.core.reference import (
    Nearness,
    beyond_words,
    effect_influence,
    effects,
    grouped,
    image_p,
    nearness,
    place,
    squares,
    squares_without_each,
)

LABELS = np.array([0, 1, 2, 0, 1, 2, 0, 1, 0, 2, 2, 0])


def similarities(k: int) -> Nearness:
    """Twelve images of two or three anchors, which five and more texts are near to."""
    values = np.random.default_rng(k).normal(size=(12, 6))
    labels = LABELS if k == 3 else LABELS % 2
    values[:, :2] += labels[:, None]
    return grouped(values, labels, k)


def squares_by_pairs(images: Nearness) -> list[float]:
    """The mean over pairs of anchors of (difference of means)² less its variance."""
    terms = []
    for first, second in combinations(range(images.k), 2):
        a = images.values[images.labels == first]
        b = images.values[images.labels == second]
        variance = a.var(axis=0, ddof=1) / len(a) + b.var(axis=0, ddof=1) / len(b)
        terms.append((a.mean(axis=0) - b.mean(axis=0)) ** 2 - variance)
    return list(np.mean(terms, axis=0))


@pytest.mark.parametrize("k", [2, 3])
def test_means_and_variances_are_those_of_each_anchors_images(k: int) -> None:
    result = similarities(k)
    for anchor in range(k):
        rows = result.values[result.labels == anchor]
        assert result.means[anchor] == pytest.approx(rows.mean(axis=0))
        error = stats.sem(rows, axis=0)
        assert result.variances[anchor] == pytest.approx(error**2)
        assert result.sizes[anchor] == len(rows)
    some = result.columns(slice(1, 3))
    assert some.means.tolist() == result.means[:, 1:3].tolist()
    single = grouped(result.values[:3], LABELS[:3], 3)
    assert np.isnan(single.variances).all()
    turned = result.relabelled(result.labels[::-1])
    assert turned.means[0] == pytest.approx(
        result.values[result.labels[::-1] == 0].mean(axis=0)
    )


@pytest.mark.parametrize("k", [2, 3])
def test_squared_effects_are_means_over_pairs_of_anchors(k: int) -> None:
    result = similarities(k)
    assert squares(result) == pytest.approx(squares_by_pairs(result))


@pytest.mark.parametrize("k", [2, 3])
def test_squared_effects_without_an_image_are_those_of_the_others(k: int) -> None:
    images = similarities(k)
    parts = [slice(0, 2), slice(2, 6)]
    result = squares_without_each(images, parts)
    for image in range(12):
        others = images.rows(np.arange(12) != image)
        expected = squares_by_pairs(others)
        for of_part, part in zip(result, parts, strict=True):
            assert of_part[image] == pytest.approx(np.mean(expected[part]))


def test_an_anchor_of_two_images_cannot_lose_one() -> None:
    labels = np.array([0, 0, 1, 1, 1])
    images = grouped(np.random.default_rng(0).normal(size=(5, 2)), labels, 2)
    (result,) = squares_without_each(images, [slice(0, 2)])
    assert np.isnan(result).tolist() == [True, True, False, False, False]


def test_effects_are_differences_of_two_anchors_and_the_range_of_more() -> None:
    two, three = similarities(2), similarities(3)
    assert effects(two) == pytest.approx(two.means[0] - two.means[1])
    expected = three.means.max(axis=0) - three.means.min(axis=0)
    assert effects(three) == pytest.approx(expected)


def test_the_p_of_two_anchors_is_welchs() -> None:
    images = similarities(2)
    of_first, of_second = (
        images.values[images.labels == 0],
        images.values[images.labels == 1],
    )
    welch = stats.ttest_ind(of_first, of_second, equal_var=False)
    assert image_p(images) == pytest.approx(welch.pvalue)


def test_the_p_of_more_anchors_is_that_of_the_farthest_times_the_pairs() -> None:
    images = similarities(3)
    for column, p in enumerate(image_p(images)):
        values = [images.values[images.labels == anchor, column] for anchor in range(3)]
        ordered = sorted(values, key=np.mean)
        welch = stats.ttest_ind(ordered[0], ordered[2], equal_var=False)
        assert p == pytest.approx(min(1.0, 3 * welch.pvalue))
    single = grouped(images.values[:3], LABELS[:3], 3)
    assert image_p(single).tolist() == [1.0] * 6


def test_images_beyond_words_are_least_squares_residuals() -> None:
    rng = np.random.default_rng(1)
    images, anchors = rng.normal(size=(7, 5)), rng.normal(size=(3, 5))
    differences = (anchors[1:] - anchors[0]).T
    fit = differences @ np.linalg.lstsq(differences, images.T, rcond=None)[0]
    assert beyond_words(images, anchors) == pytest.approx(images - fit.T)
    same = np.tile(anchors[0], (2, 1))
    assert beyond_words(images, same) == pytest.approx(images)
    # Anchors in one line have one direction, not two.
    line = np.array([anchors[0], anchors[1], 2 * anchors[1] - anchors[0]])
    assert beyond_words(images, line) == pytest.approx(
        beyond_words(images, anchors[:2])
    )


def test_nearness_is_a_cosine_less_the_mean_of_the_reference() -> None:
    rng = np.random.default_rng(2)
    images, texts, reference = (rng.normal(size=(n, 4)) for n in (4, 2, 3))
    labels = np.array([0, 1, 0, 1])
    result = nearness(images, labels, 2, texts, reference)
    for row, image in zip(result.values, images, strict=True):
        mean = np.mean([image @ text for text in reference])
        expected = [image @ text - mean for text in [*texts, *reference]]
        assert row == pytest.approx(expected)
    assert result.values[:, 2:].mean(axis=1) == pytest.approx(0.0, abs=1e-12)


def test_the_place_of_an_effect_counts_reference_texts_as_large() -> None:
    """Of .1, .2, .2 and −.3, |.2| is beyond one; as large are three and itself."""
    percentiles, p = place([0.2, 0.35, -0.05], np.array([0.1, 0.2, 0.2, -0.3]))
    assert percentiles.tolist() == [25.0, 100.0, 0.0]
    assert p.tolist() == [4 / 5, 1 / 5, 1.0]


@pytest.mark.parametrize("k", [2, 3])
def test_the_influence_of_images_gives_the_variance_of_an_effect(k: int) -> None:
    images = similarities(k)
    strata = [f"anchor {anchor}" for anchor in range(k)]
    influence = effect_influence(images, 1, strata, np.arange(12))
    means = images.means[:, 1]
    ends = (0, 1) if k == 2 else (int(means.argmax()), int(means.argmin()))
    expected = images.variances[list(ends), 1].sum()
    assert influence.variance == pytest.approx(expected)
    assert sorted(influence.unit) == sorted(
        np.flatnonzero(np.isin(images.labels, ends))
    )
