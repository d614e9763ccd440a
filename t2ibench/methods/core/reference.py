"""How much nearer one anchor's images are to a text than the other's, beside reference words.

Images of two anchors differ, so nearly every text is nearer to one of them. Whether that says
anything about a text shows its place among everyday words, read by the same encoder on the same
images (a conformal test: Vovk, Gammerman and Shafer 2005, "Algorithmic learning in a random
world").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.influence import Influence
from t2ibench.stats.rounding import settled


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near the images of each anchor are to texts, and to reference texts."""

    # cosine of each image with each text, less its mean cosine with the reference texts, shape (n,
    # w)
    values: Float64Array
    labels: IntArray  # the number of each image's anchor, shape (n,)
    k: int  # number of anchors
    means: Float64Array  # mean of each anchor's images, shape (k, w)
    # variance of each mean, shape (k, w); nan for a single image
    variances: Float64Array

    @property
    def sizes(self) -> IntArray:
        """Number of images of each anchor, shape (k,)."""
        return np.bincount(self.labels, minlength=self.k)

    def columns(self, chosen: slice) -> Nearness:
        """Return the nearness of all images to the chosen texts only."""
        return Nearness(
            self.values[:, chosen],
            self.labels,
            self.k,
            self.means[:, chosen],
            self.variances[:, chosen],
        )

    def rows(self, chosen: npt.NDArray[np.bool_]) -> Nearness:
        """Return the nearness of the chosen images only, with at least one of every anchor."""
        return grouped(self.values[chosen], self.labels[chosen], self.k)

    def relabelled(self, labels: IntArray) -> Nearness:
        """Return the nearness of the same images, with `labels` as their anchors."""
        return grouped(self.values, labels, self.k)


def grouped(values: Float64Array, labels: IntArray, k: int) -> Nearness:
    """Return the nearness of images, with the mean and variance for each anchor and text.

    `values` has shape (images, texts), and `labels` the anchor of each image.
    """
    groups = [values[labels == j] for j in range(k)]
    means = np.stack([group.mean(axis=0) for group in groups])
    variances = np.stack(
        [
            group.var(axis=0, ddof=1) / len(group)
            if len(group) > 1
            else np.full(values.shape[1], np.nan)
            for group in groups
        ]
    )
    return Nearness(values, labels, k, means, variances)


def beyond_words(
    images: npt.NDArray[np.floating], anchors: Float64Array
) -> Float64Array:
    """Return images with the differences between the anchors' texts projected out.

    A text may be near one anchor's images for no other reason than that the encoder places it near
    that anchor's text: "doctor" near "man", whatever the images show. Such a text leans by
    a (v · u) / |u|, with a its cosine with the difference u of the anchors' texts and v the
    difference of their images: as the anchors' own texts do. The images without u lean beyond
    that.

    Examples:
        >>> beyond_words(np.array([[0.6, 0.8]]), np.array([[1.0, 0.0], [-1.0, 0.0]])).tolist()
        [[0.0, 0.8]]
    """
    rows = np.asarray(images, dtype=np.float64)
    differences = anchors[1:] - anchors[0]
    _, sizes, directions = np.linalg.svd(differences, full_matrices=False)
    spanned = directions[sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1.0)]
    residuals: Float64Array = rows - (rows @ spanned.T) @ spanned
    return residuals


def nearness(
    images: npt.NDArray[np.floating],
    labels: IntArray,
    k: int,
    texts: Float64Array,
    reference: Float64Array,
) -> Nearness:
    """Return how near each image is to the texts and, after them, to the reference texts.

    Shape (n, m + r), centred at the mean of the reference.
    """
    both = np.concatenate([texts, reference]).astype(np.float64) - reference.mean(
        axis=0
    )
    return grouped(np.asarray(images, dtype=np.float64) @ both.T, labels, k)


def effects(similarities: Nearness) -> Float64Array:
    """Return the difference of two anchors' mean nearness to each text; of more, the range.

    With two anchors, it is positive where the first is nearer.
    """
    if similarities.k == 2:
        difference: Float64Array = similarities.means[0] - similarities.means[1]
        return difference
    spread: Float64Array = np.ptp(similarities.means, axis=0)
    return spread


def place(
    values: npt.ArrayLike, reference: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Return the percentile and two-sided p-value of each effect among reference texts' effects.

    p = (1 + #{|reference| >= |value|}) / (R + 1) for R reference texts: exact where a
    text is exchangeable with them, whatever the images are. The percentile is the share
    of them with a smaller effect.

    Examples:
        >>> percentile, p = place([-3.0, 0.5], np.array([1.0, -2.0, 0.1]))
        >>> percentile.round(1).tolist(), p.tolist()
        ([100.0, 33.3], [0.25, 0.75])
    """
    ordered = np.sort(settled(np.abs(reference)))
    below = np.searchsorted(ordered, settled(np.abs(values)), side="left")
    r = len(ordered)
    beyond = below.astype(np.float64)
    return 100.0 * beyond / r, (1.0 + r - beyond) / (r + 1.0)


def extremes(similarities: Nearness) -> tuple[IntArray, IntArray]:
    """Return, for each text, the indices of the two anchors whose means its effect compares."""
    if similarities.k == 2:
        zeros = np.zeros(similarities.means.shape[1], np.int64)
        return zeros, zeros + 1
    return similarities.means.argmax(axis=0), similarities.means.argmin(axis=0)


def image_p(similarities: Nearness) -> Float64Array:
    """Return the p-value of each text's effect, given how much an anchor's images vary.

    Welch's p of the two anchors that an effect compares, times the number of pairs of anchors;
    1 where an anchor has a single image. Shape (w,).
    """
    high, low = extremes(similarities)
    columns = np.arange(similarities.means.shape[1])
    means = similarities.means
    difference = np.abs(means[high, columns] - means[low, columns])
    variance_of_high = similarities.variances[high, columns]
    variance_of_low = similarities.variances[low, columns]
    variance = variance_of_high + variance_of_low
    sizes = similarities.sizes.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        square_of_high = variance_of_high**2 / (sizes[high] - 1)
        square_of_low = variance_of_low**2 / (sizes[low] - 1)
        df = variance**2 / (square_of_high + square_of_low)
        t = difference / np.sqrt(variance)
        p = 2.0 * stdtr(df, -t)
    n_pairs = similarities.k * (similarities.k - 1) / 2
    defined_p = np.nan_to_num(p, nan=1.0)
    bounded: Float64Array = np.minimum(1.0, defined_p * n_pairs)
    return bounded


def squares(similarities: Nearness) -> Float64Array:
    """Return an unbiased estimate of the squared effect of each text; it may be negative.

    The mean over pairs of anchors of (difference of their means)² less its variance, shape
    (w,); negative about half of the time where the anchors do not differ.
    """
    k = similarities.k
    centred = similarities.means - similarities.means.mean(axis=0)
    raw: Float64Array = 2.0 / (k - 1) * (centred**2).sum(axis=0)
    unbiased: Float64Array = raw - 2.0 / k * similarities.variances.sum(axis=0)
    return unbiased


def squares_without_each(
    similarities: Nearness, parts: Sequence[slice]
) -> list[Float64Array]:
    """Return the mean squared effect of each set of texts, leaving out each image in turn."""
    k = similarities.k
    out = [np.full(len(similarities.labels), np.nan) for _ in parts]
    total = similarities.means.sum(axis=0)
    total_square = (similarities.means**2).sum(axis=0)
    noise = similarities.variances.sum(axis=0)
    for j in range(k):
        rows = np.flatnonzero(similarities.labels == j)
        size = len(rows)
        if size < 3:
            continue
        x = similarities.values[rows]
        mean = similarities.means[j]
        variance = similarities.variances[j]
        # The mean of the anchor's other images, and the variance of that mean.
        mean_left = (size * mean - x) / (size - 1)
        sum_of_squares = variance * size * (size - 1)
        part_of_image = size / (size - 1) * (x - mean) ** 2
        sums_left = sum_of_squares - part_of_image
        variance_left = sums_left / ((size - 1) * (size - 2))
        total_left = total - mean + mean_left
        square_left = total_square - mean**2 + mean_left**2
        centred = square_left - total_left**2 / k
        noise_left = noise - variance + variance_left
        values = 2.0 / (k - 1) * centred - 2.0 / k * noise_left
        for part, chosen in zip(out, parts, strict=True):
            part[rows] = values[:, chosen].mean(axis=1)
    return out


def effect_influence(
    similarities: Nearness, column: int, strata: Sequence[str], units: IntArray
) -> Influence:
    """Return each image's influence on the effect of one text, given as its column.

    Of more than two anchors that of the two that lie farthest apart.
    """
    parts = []
    for sign, anchors in zip((1.0, -1.0), extremes(similarities), strict=True):
        j = int(anchors[column])
        rows = similarities.labels == j
        values = similarities.values[rows, column]
        parts.append((sign, Influence.of_mean(strata[j], units[rows], values)))
    return Influence.combined(parts)
