"""Shares of images nearest to each anchor, corrected for images that are misplaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrc

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.influence import Influence
from t2ibench.stats.student import satterthwaite, t_interval, t_test

_SEPARATED = 2.0  # standard errors that sensitivity + specificity have to lie above 1
_UNUSUAL = 0.05  # of the anchor's own images lie as far from where they usually do
_FAR = 0.25  # of the way between the anchors that an image may lie off in any case
_CHANCE = 0.01  # that so many images lie off by chance
ELSEWHERE = (
    "not comparable: its images differ from both anchors' in more than what "
    "separates the anchors"
)
_PSEUDO = 4.0  # images added for a variance (Agresti and Coull 1998)


@dataclass(frozen=True, slots=True)
class Shares:
    """The share of images nearest to each anchor, after correction, with its interval."""

    # shape (k,), of sum 1; the correction may push one below 0 or above 1
    values: Float64Array
    # lower ends of their intervals, shape (k,), at least 0 unless the share itself is not
    low: Float64Array
    high: Float64Array  # upper ends, shape (k,), at most 1 likewise
    # of two anchors: first share less second, from -1 to 1 but for the correction
    lean: float | None = None
    influence: Influence | None = None  # on the lean
    p: float | None = None  # two-sided p-value that the lean is 0
    reason: str | None = None  # why there are no shares

    def side(self) -> int | None:
        """Return the index of the only anchor clearly above its chance share, or None."""
        if self.reason is not None:
            return None
        above = np.flatnonzero(self.low > 1.0 / len(self.values))
        return int(above[0]) if len(above) == 1 else None


@dataclass(frozen=True, slots=True)
class Sides:
    """The images of the anchors, with which other images are compared."""

    images: Float64Array  # shape (n, d)
    labels: IntArray  # the number of each image's anchor, shape (n,)
    # what the anchors' images are the images of, such as their prompts, shape (k,)
    strata: Sequence[str]
    units: IntArray  # the number of each image within its anchor, shape (n,)

    @property
    def k(self) -> int:
        """Number of anchors."""
        return len(self.strata)

    @property
    def centres(self) -> Float64Array:
        """Mean image of each anchor, shape (k, d)."""
        return np.stack(
            [self.images[self.labels == j].mean(axis=0) for j in range(self.k)]
        )


def nearest_anchor(sides: Sides, images: Float64Array) -> IntArray:
    """Return, for each image, the index of the anchor whose mean image is nearest."""
    nearest: IntArray = _distances(images, sides.centres).argmin(axis=1)
    return nearest


def _distances(images: Float64Array, centres: Float64Array) -> Float64Array:
    """Return squared distances to the centres, less each image's squared length, shape (m, k)."""
    distances: Float64Array = (centres**2).sum(axis=1) - 2.0 * images @ centres.T
    return distances


def left_out(sides: Sides) -> IntArray:
    """Return the index of the anchor nearest to each anchor image, excluded from its own mean."""
    centres = sides.centres
    distances = _distances(sides.images, centres)
    for j in range(sides.k):
        rows = np.flatnonzero(sides.labels == j)
        if len(rows) > 1:
            images = sides.images[rows]
            sums_without = len(rows) * centres[j] - images
            centres_without = sums_without / (len(rows) - 1)
            products = (images * centres_without).sum(axis=1)
            squared_lengths = (centres_without**2).sum(axis=1)
            distances[rows, j] = squared_lengths - 2.0 * products
    nearest: IntArray = distances.argmin(axis=1)
    return nearest


def positions(sides: Sides, images: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return positions of anchors' images, and of others: 1 at the first anchor, -1 at the second.

    1 at the first mean, -1 at the second; of the anchors' images, each left out of its mean,
    and of the others.
    """
    centres = sides.centres

    def along(
        rows: Float64Array, first: Float64Array, second: Float64Array
    ) -> Float64Array:
        axis = first - second
        twice_from_middle = 2.0 * rows - first - second
        place = (twice_from_middle * axis).sum(axis=-1)
        squared_length = (axis**2).sum(axis=-1)
        lean: Float64Array = place / squared_length
        return lean

    anchor_places = np.empty(len(sides.labels))
    for j in (0, 1):
        is_on_side = sides.labels == j
        rows = sides.images[is_on_side]
        sums_without = len(rows) * centres[j] - rows
        centres_without = sums_without / (len(rows) - 1)
        if j == 0:
            places = along(rows, centres_without, centres[1])
        else:
            places = along(rows, centres[0], centres_without)
        anchor_places[is_on_side] = places
    image_places = along(images, centres[0], centres[1])
    return anchor_places, image_places


def _elsewhere(sides: Sides, images: Float64Array, nearest: IntArray) -> bool:
    """Return whether too many images are further off than their nearest anchor's own.

    Sensitivity and specificity are those of the anchors' images; where a scene moves images along
    the line between the anchors, they say nothing about these.
    """
    sizes = np.bincount(sides.labels, minlength=2)
    if sizes.min() < 2:
        return False
    anchor_places, image_places = positions(sides, images)
    places_by_side = [anchor_places[sides.labels == j] for j in (0, 1)]
    middles = [float(np.median(places)) for places in places_by_side]
    gap = abs(middles[0] - middles[1])
    off = 0
    rate = 0.0
    for j in (0, 1):
        middle = middles[j]
        usual = np.sort(np.abs(places_by_side[j] - middle))
        far = np.abs(image_places[nearest == j] - middle)
        n_farther = len(usual) - np.searchsorted(usual, far)
        n_ranks = len(usual) + 1
        rank = (1 + n_farther) / n_ranks
        share = max(_UNUSUAL, 1 / n_ranks)
        is_far = far > _FAR * gap
        unusual = (rank <= share) & is_far
        off += int(unusual.sum())
        rate = max(rate, share)
    if not off:
        return False
    chance = float(bdtrc(off - 1, len(images), rate))
    return chance < _CHANCE


def corrected_shares(
    sides: Sides, images: Float64Array, stratum: str, units: IntArray, level: float
) -> Shares:
    """Return the share of images nearest to each anchor, corrected for misplaced images.

    With q_l the share of the images that are nearest anchor l, and C_jl = (x_jl + ½) / (n_j + k/2)
    that of anchor j's own images, each left out of its anchor's mean: the shares are s = C⁻ᵀ q
    (of two anchors, (q + specificity − 1) / (sensitivity + specificity − 1)). Variances are those
    of (x + 4/k) / (n + 4), by the delta method, with Student's t.

    There are none, with a reason, where the anchors' own images cannot be told apart, or these
    images lie elsewhere.

    Source: Rogan and Gladen 1978, "Estimating prevalence from the results of a screening test".
    """
    k = sides.k
    nearest_of_anchors = left_out(sides)
    nearest = nearest_anchor(sides, images)
    rows_of_counts = []
    for j in range(k):
        nearest_of_side = nearest_of_anchors[sides.labels == j]
        rows_of_counts.append(np.bincount(nearest_of_side, minlength=k))
    counts = np.stack(rows_of_counts)
    sizes = counts.sum(axis=1, keepdims=True)
    confusion = (counts + 0.5) / (sizes + 0.5 * k)
    reason = None
    if not _distinguished(counts, confusion):
        reason = "the encoder does not tell the anchors' own images apart"
    elif k == 2 and _elsewhere(sides, images, nearest):
        reason = ELSEWHERE
    if reason is not None:
        nothing = np.full(k, np.nan)
        return Shares(nothing, nothing, nothing, reason=reason)
    observed = np.bincount(nearest, minlength=k)
    inverse = np.linalg.inv(confusion.T)
    shares = inverse @ (observed / observed.sum())
    spread = _spread(shares, inverse, observed, counts)
    ends = [t_interval(float(shares[j]), *spread[j], level) for j in range(k)]
    lower_ends = [low for low, _ in ends]
    upper_ends = [high for _, high in ends]
    low = np.minimum(np.maximum(lower_ends, 0.0), shares)
    high = np.maximum(np.minimum(upper_ends, 1.0), shares)
    if k != 2:
        return Shares(shares, low, high)
    # What a change of q does to the lean, or of a row of C, times that row's share.
    moved = np.array([1.0, -1.0]) @ inverse
    influences = [(1.0, Influence.of_mean(stratum, units, moved[nearest]))]
    for j in range(k):
        rows = sides.labels == j
        values = moved[nearest_of_anchors[rows]]
        mean = Influence.of_mean(sides.strata[j], sides.units[rows], values)
        influences.append((-float(shares[j]), mean))
    lean = float(shares[0] - shares[1])
    variance_of_share, df = spread[0]
    variance = 4.0 * variance_of_share
    influence = Influence.combined(influences).with_floor(variance)
    p = t_test(lean, variance, df)
    return Shares(shares, low, high, lean, influence, p)


def _spread(
    shares: Float64Array, inverse: Float64Array, observed: IntArray, counts: IntArray
) -> list[tuple[float, float]]:
    """Return the variance and the degrees of freedom of each corrected share.

    Both the images' own counts, shape (k,), and those of the anchors' images, shape (k, k), vary.
    """
    k = len(counts)
    parts = [(1.0, observed)]
    for share, counts_of_side in zip(shares, counts, strict=True):
        parts.append((float(share) ** 2, counts_of_side))
    variances = []
    dfs = []
    for weight, row in parts:
        covariance = weight * inverse @ _covariance(row) @ inverse.T
        variances.append(np.diag(covariance))
        total = int(row.sum())
        dfs.append(max(total - 1, 1))
    spread = []
    for j in range(k):
        parts_of_share = [part[j] for part in variances]
        spread.append(satterthwaite(parts_of_share, dfs))
    return spread


def _covariance(counts: IntArray) -> Float64Array:
    """Return the covariance of the shares that `counts` show, smoothed towards 1 / k."""
    k, total = len(counts), counts.sum()
    shares = (counts + _PSEUDO / k) / (total + _PSEUDO)
    covariance: Float64Array = (np.diag(shares) - np.outer(shares, shares)) / total
    return covariance


def _distinguished(counts: IntArray, confusion: Float64Array) -> bool:
    """Return whether the own images of every two anchors differ by more than chance."""
    k = len(counts)
    for j in range(k):
        for i in range(j):
            above = (
                confusion[i, i] - confusion[j, i] + confusion[j, j] - confusion[i, j]
            )
            contrast = np.zeros(k)
            contrast[[i, j]] = 1.0, -1.0
            variance = sum(
                contrast @ _covariance(counts[row]) @ contrast for row in (i, j)
            )
            if not above > _SEPARATED * np.sqrt(variance):
                return False
    return True
