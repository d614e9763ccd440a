"""Rows and headlines of few, or unequally many, images: variances by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats as scipy_stats

from t2ibench.methods.core.averages import average
from t2ibench.methods.core.lean_scores import row_scores
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.mixture_variance import MixtureVariance
from t2ibench.methods.core.pooled_variance import pooled_variance
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.core.row_test import null_variance
from t2ibench.methods.core.wording_images import (
    ImagesAlong,
    WordingImages,
    effective_number,
)
from t2ibench.methods.occupations.headline import headline_of


def images(places: npt.ArrayLike, beside: npt.ArrayLike = 0.0) -> PromptImages:
    """Images of one prompt at places along the first axis, and beside it along the second."""
    along = np.asarray(places, np.float64)
    rows = np.column_stack([along, np.broadcast_to(beside, along.shape)])
    return PromptImages(
        rows, np.zeros(len(rows), np.int64), ["p"], np.arange(len(rows))
    )


def at_poles(like_a: int, like_b: int) -> PromptImages:
    return images([1.0] * like_a + [-1.0] * like_b)


def leans_of(neutral: list[PromptImages], guided: int = 5) -> Leans:
    """Leans along the first axis, where all images of A are at 1 and all of B at -1."""
    wordings = [
        [WordingImages(of_stimulus, at_poles(guided, 0), at_poles(0, guided))]
        for of_stimulus in neutral
    ]
    directions = np.tile([1.0, 0.0], (len(neutral), 1))
    names = [f"job{number}" for number in range(len(neutral))]
    return Leans.along(names, wordings, directions)


def test_a_row_is_tested_with_the_variance_of_no_lean() -> None:
    """14 of 16 images are at A. By hand: y = .75, N = 1.5, D = 2, V = 1 / 16 at a lean of 0.

    So t = 1.5 / (2 · 1 / 4) = 3, with the degrees of freedom of the guided images: 2 · 2 · 4. The
    exact test of 14 of 16 has p = .004; with the variance at the estimate, .47 / 16, t is 4.4.
    """
    leans = leans_of([at_poles(14, 2), at_poles(8, 8)])
    ratios = leans.rows(0.95)
    assert ratios.value.tolist() == [0.75, 0.0]
    assert ratios.p[0] == pytest.approx(2 * scipy_stats.t.sf(3.0, 16))
    exact = scipy_stats.binomtest(14, 16).pvalue
    with_its_own_variance = 2 * scipy_stats.t.sf(1.5 / 2 / np.sqrt(7 / 15 / 16), 15)
    assert with_its_own_variance < exact / 5 < exact < ratios.p[0]
    assert ratios.p[1] == pytest.approx(1.0)


def test_a_row_is_tested_at_the_lean_that_is_asked_about() -> None:
    """The lean .75 is what 14 of 16 images show; -.75 is further away than 0."""
    leans = leans_of([at_poles(14, 2), at_poles(8, 8)])
    p_of = {lean: float(leans.rows(0.95, lean).p[0]) for lean in (-0.75, 0.0, 0.75)}
    assert p_of[0.75] == pytest.approx(1.0)
    assert p_of[-0.75] < p_of[0.0] < 0.01


def test_the_null_variance_of_noise_is_that_of_a_mixture() -> None:
    """Images that overlap: m is noise, and within + (1 - lean²) D² / 4 bounds what it adds."""
    mixture = MixtureVariance(within=4.0, df=80.0, square=1.0)
    row = [np.array([value]) for value in (3.0 / 10, 9.0, 10.0, 5.0)]
    variance, df = null_variance(*row, mixture)
    assert (10 * float(variance[0]), float(df[0])) == pytest.approx((4.25, 80.0))
    variance, _ = null_variance(*row, mixture, lean=1.0)
    assert 10 * float(variance[0]) == pytest.approx(4.0)


def test_a_variance_that_is_large_already_stays() -> None:
    mixture = MixtureVariance(within=1.0, df=80.0, square=1.0)
    row = [np.array([value]) for value in (3.0 / 10, 9.0, 10.0, 0.1)]
    variance, df = null_variance(*row, mixture)
    assert (10 * float(variance[0]), float(df[0])) == pytest.approx((3.0, 9.0))


def test_neutral_images_may_vary_more_in_everything() -> None:
    """Across the axis they vary four times as much as guided ones, so within groups too."""
    axis = np.array([2.0, 0.0])
    neutral = [ImagesAlong.of(images([0.0, 0.0], [2.0, -2.0]), axis)]
    guided = [ImagesAlong.of(images([0.5, -0.5], [1.0, -1.0]), axis)]
    mixture = MixtureVariance.of(neutral, guided, square=3.0)
    # Along (2, 0) the guided ones vary by 4 · .5.
    assert mixture.within == pytest.approx(4 * 2.0)
    assert (mixture.df, mixture.square) == (1.0, 3.0)


def test_a_prompt_of_two_images_has_the_variance_of_its_kind_too() -> None:
    """Eight, eight and two images; those of the two are alike by chance.

    By hand: s̄² = (7 · 8/7 + 7 · 8/7 + 0) / 15 = 16/15, and s² of the two is 4 s̄² / 5.
    """
    leans = leans_of([at_poles(4, 4), at_poles(4, 4), at_poles(2, 0)])
    assert leans.variances[:, 0] * [8, 8, 2] == pytest.approx([8 / 7, 8 / 7, 0.0])
    variance, df = leans.top_variance
    assert variance[2] == pytest.approx(4 * (4 * 16 / 15 / 5) / 2)
    assert df[2] == pytest.approx(5.0)
    # Its row keeps what its own images show.
    assert leans.variances[2, 0] == 0.0


def test_two_images_of_every_prompt_are_not_pooled() -> None:
    variances = np.array([[0.0], [1.0], [0.5]])
    ones = np.ones((3, 1))
    pooled, dfs = pooled_variance(variances, ones, 2 * ones)
    assert pooled.tolist() == variances.tolist() and dfs.tolist() == ones.tolist()


def test_prompts_of_about_as_many_images_are_not_pooled() -> None:
    """Six of ten is more than half; what is unknown stays unknown."""
    variances = np.array([[0.1, 0.3], [0.4, 0.2], [np.nan, 0.1]])
    numbers = np.array([[10.0, 10.0], [6.0, 10.0], [1.0, 10.0]])
    pooled, dfs = pooled_variance(variances, numbers - 1, numbers)
    assert np.array_equal(pooled, variances, equal_nan=True)
    assert dfs.tolist() == (numbers - 1).tolist()


def test_a_mean_over_unequal_prompts_counts_for_fewer_images() -> None:
    """Of 2 and of 6 images: the variance of the mean is (1/2 + 1/6) / 4 = 1/6 of an image's."""
    few = images([0.0, 1.0])
    many = images(np.arange(6.0))
    merged = PromptImages.merged([few, many])
    assert effective_number([merged]) == pytest.approx(6.0)
    assert effective_number([few, many]) == pytest.approx(6.0)


def drawn_leans(rng: np.random.Generator, share: float) -> Leans:
    """Eight stimuli of four images with a share of images like A, and four of each group."""
    wordings = []
    for _ in range(8):
        sides = [np.where(rng.random(4) < share, 1.0, -1.0), np.ones(4), -np.ones(4)]
        noisy = [images(side + 0.2 * rng.normal(size=4)) for side in sides]
        wordings.append([WordingImages(*noisy)])
    return Leans.along(list("abcdefgh"), wordings, np.tile([1.0, 0.0], (8, 1)))


def test_intervals_of_strong_leans_of_few_images_cover(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With 4 images, of which 3.8 are like A, the sample variance is often nearly 0."""
    rng = np.random.default_rng(0)
    sets = [drawn_leans(rng, 0.95) for _ in range(80)]

    def coverage() -> float:
        intervals = []
        for leans in sets:
            headline = headline_of([pair_of(leans)], 0.95)
            intervals.append(headline.inference.by_question["fixed_prompts"].interval)
        hits = [low <= 0.81 <= high for low, high in filter(None, intervals)]
        return float(np.mean(hits))

    with_half_an_image_more = coverage()
    monkeypatch.setattr(
        Leans, "top_variance_along", property(lambda leans: leans.top_variance[0])
    )
    assert coverage() < 0.9 < 0.95 <= with_half_an_image_more


def pair_of(leans: Leans) -> Any:
    return SimpleNamespace(leans=leans, unclear=None, pair=SimpleNamespace(suffix=""))


def test_a_mean_over_encoders_is_tested_with_the_variance_of_no_lean() -> None:
    """Both encoders see the same 14 of 16, so their mean has the variance of either: 1 / 4."""
    leans = leans_of([at_poles(14, 2), at_poles(8, 8)])
    row, _ = row_scores(leans, 0.95)
    mean = average([row, row])
    # N / D = .75 with the standard error √(1/4) / 2, and the degrees of freedom of 16 images.
    assert mean.p == pytest.approx(2 * scipy_stats.t.sf(3.0, 15))
    without = average([replace(row, null_influence=None)] * 2)
    assert without.p is not None and mean.p is not None and without.p < mean.p / 5
    assert without.interval == mean.interval


def test_an_interval_holds_no_lean_where_the_test_does_not_reject_it() -> None:
    """Of 20 images 15 are like A: t is 1 / (2 √.05) = 2.2, with 6 degrees of freedom.

    With its own variance it is 2.5, with 19 degrees of freedom.
    """
    leans = leans_of([at_poles(15, 5), at_poles(5, 15), at_poles(10, 10)], guided=2)
    ratios = leans.rows(0.95)
    assert ratios.p[0] == pytest.approx(2 * scipy_stats.t.sf(0.5 / 0.05**0.5, 6))
    assert ratios.low[0] == 0.0 < ratios.value[0] < ratios.high[0]
    assert ratios.high[1] == 0.0 > ratios.value[1] > ratios.low[1]
    wider = leans.rows(0.99)
    assert wider.low[0] < 0.0 and wider.p.tolist() == ratios.p.tolist()
