"""Shares of combinations of groups, such as old women, in the images of stimuli."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.image_collector import ImageCollector
from t2ibench.methods.occupations.design import group_prompts, neutral_prompts
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings
from t2ibench.stats import holm

JOIN = " x "
# Stimuli that a crossing takes.
_FEWEST = 4
# As of the leans: without the attribute it is passed by chance almost never.
_SEPARATION = 4.0
_ALIKE = "the images of the combinations are too alike to tell their shares"
_FEW = f"fewer than {_FEWEST} stimuli have all of their images"


@dataclass(frozen=True, slots=True)
class Crossing:
    """The scores, rows and tests of combinations of groups, such as old women.

    Attributes:
        scores: 'interaction:A x B' for every two and every three attributes.
        rows: A row for each combination of groups.
        details: The tests of the interactions, or why there are none.
    """

    scores: dict[str, Estimate] = field(default_factory=dict)
    rows: list[Item] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def undefined(cls, title: str, reason: str) -> Crossing:
        """Return the result for combinations that could not be measured, with the reason."""
        scores = {f"interaction:{title}": Estimate.undefined(reason)}
        return cls(scores, [], {"crossings": [{"crossing": title, "reason": reason}]})


@dataclass(frozen=True, slots=True)
class _CrossedImages:
    """Embeddings of one stimulus's images, without a group and with each combination.

    Attributes:
        neutral: Without a group, shape (images, d).
        cells: Of each combination of groups.
    """

    neutral: Float64Array
    cells: list[Float64Array]


@dataclass(frozen=True, slots=True)
class _Mixture:
    """The estimated shares of combinations of groups in one stimulus's images.

    Attributes:
        shares: Share of each combination, shape (combinations,).
        covariance: Their covariance.
        contrast: Size of the contrast of all attributes together, which tells combinations apart.
        contrast_variance: Its variance.
        images: Number of images without a group.
    """

    shares: Float64Array
    covariance: Float64Array
    contrast: float
    contrast_variance: float
    images: int


def crossing_scores(
    task: OccupationsTask, collector: ImageCollector, settings: Settings
) -> Crossing:
    """Return the shares of combinations of groups in images without a group.

    The images without a group are taken for a mixture of those of the combinations ("an old female
    nurse"). With x_1, x_2 an image's places along the directions of two attributes, which the
    images of the other stimuli give, its features are 1, x_1, x_2 and x_1 x_2; the shares are those
    with which the combinations' mean features make up the images' own. What the directions share,
    and how noise along them does, is in the combinations' means as well and drops out.
    """
    if not task.crossing:
        return Crossing()
    attributes = list(task.crossing)
    title = JOIN.join(attributes)
    images = _collected(task, collector, settings)
    if len(images) < _FEWEST:
        return Crossing.undefined(title, _FEW)
    directions = _directions(images, len(attributes))
    mixtures = [
        _mixture(stimulus, of_stimulus)
        for stimulus, of_stimulus in zip(images, directions, strict=True)
    ]
    contrast = sum(mixture.contrast for mixture in mixtures)
    variance = sum(mixture.contrast_variance for mixture in mixtures)
    if not contrast > _SEPARATION * float(np.sqrt(2 * variance)):
        return Crossing.undefined(title, _ALIKE)
    scores = _interactions(attributes, mixtures, settings.level)
    labels = [combined.name for combined in task.combinations]
    rows = _rows(labels, mixtures, title, settings.level)
    return Crossing(scores, rows, _details(title, scores))


def _collected(
    task: OccupationsTask, collector: ImageCollector, settings: Settings
) -> list[_CrossedImages]:
    """Return the embeddings of each stimulus that has images of every combination."""
    n_neutral, n_guided = task.image_counts(settings)
    collected = []
    for name in settings.limited(task.concept.names):
        neutral = collector.collect(neutral_prompts(task, name), n_neutral)
        cells = [
            collector.collect(group_prompts(task, name, combined), n_guided)
            for combined in task.combinations
        ]
        if neutral.whole and all(cell.whole and len(cell) > 1 for cell in cells):
            embeddings = [cell.embeddings for cell in cells]
            collected.append(_CrossedImages(neutral.embeddings, embeddings))
    return collected


def _signs(axes: int) -> Float64Array:
    """Return, for each combination and attribute, 1 for its first group and -1 for its second."""
    return np.array(list(product((1.0, -1.0), repeat=axes)))


def _directions(images: Sequence[_CrossedImages], axes: int) -> Float64Array:
    """Return, for each stimulus, the attributes' directions as all other stimuli show them.

    Shape (stimuli, axes, d).
    """
    signs = _signs(axes)
    means = np.array([[cell.mean(axis=0) for cell in each.cells] for each in images])
    contrasts: Float64Array = np.einsum("ca,scd->sad", signs, means) / len(signs)
    others: Float64Array = contrasts.sum(axis=0) - contrasts
    return others


def _mixture(images: _CrossedImages, directions: Float64Array) -> _Mixture:
    """Estimate the shares of combinations that a stimulus's images without a group show."""
    signs = _signs(len(directions))
    places = [cell @ directions.T for cell in images.cells]
    middle = np.mean([place.mean(axis=0) for place in places], axis=0)
    scale = _half_distances(places, signs)
    neutral_places = images.neutral @ directions.T
    neutral = _features((neutral_places - middle) / scale)
    cells = [_features((place - middle) / scale) for place in places]
    means_of_cells = [cell.mean(axis=0) for cell in cells]
    system = np.stack(means_of_cells, axis=1)
    inverse = np.linalg.pinv(system)
    shares = inverse @ neutral.mean(axis=0)
    covariance = _covariance_of_mean(neutral @ inverse.T)
    for share, cell in zip(shares, cells, strict=True):
        of_cell = _covariance_of_mean(cell @ inverse.T)
        covariance = covariance + share**2 * of_cell
    product_of_signs = signs.prod(axis=1)
    contrast = float(product_of_signs @ system[-1]) / len(signs)
    variances = [float(_covariance_of_mean(cell)[-1, -1]) for cell in cells]
    return _Mixture(
        shares=shares,
        covariance=covariance,
        contrast=contrast,
        contrast_variance=sum(variances) / len(signs) ** 2,
        images=len(images.neutral),
    )


def _half_distances(
    places: Sequence[Float64Array], signs: Float64Array
) -> Float64Array:
    """Return half the distance between the two groups of each attribute; 1 where it is 0.

    Shares do not depend on it: it keeps products of places within the range of numbers.
    """
    distances = []
    for axis in range(signs.shape[1]):
        signed_means = [
            sign[axis] * place[:, axis].mean()
            for sign, place in zip(signs, places, strict=True)
        ]
        distances.append(abs(np.mean(signed_means)))
    halves = np.array(distances)
    return np.where(halves > 0, halves, 1.0)


def _features(places: Float64Array) -> Float64Array:
    """Return each image's features: 1, its places along the axes, and their products."""
    axes = range(places.shape[1])
    columns = [np.ones(len(places))]
    for size in range(1, len(axes) + 1):
        columns += [
            places[:, list(chosen)].prod(axis=1) for chosen in combinations(axes, size)
        ]
    return np.stack(columns, axis=1)


def _covariance_of_mean(rows: Float64Array) -> Float64Array:
    return np.cov(rows, rowvar=False) / len(rows)


def _interactions(
    attributes: Sequence[str], mixtures: Sequence[_Mixture], level: float
) -> dict[str, Estimate]:
    """Return, for every two and three attributes, how much their first groups coincide.

    It is the mean excess over stimuli over what independent attributes would give.
    """
    scores = {}
    for size in (2, 3):
        for axes in combinations(range(len(attributes)), size):
            name = JOIN.join(attributes[axis] for axis in axes)
            excesses = np.array(
                [_excess_of_first(mixture, axes) for mixture in mixtures]
            )
            scores[f"interaction:{name}"] = _mean(excesses, level)
    return scores


def _excess_of_first(mixture: _Mixture, axes: tuple[int, ...]) -> float:
    """Return how much more often the first groups of attributes coincide than by chance."""
    n_axes = len(mixture.shares).bit_length() - 1
    signs_of_cells = _signs(n_axes)[:, axes]
    signs_of_crossing = _signs(len(axes))[:, None]
    is_in_cell = (signs_of_cells == signs_of_crossing).all(axis=2)
    weights = is_in_cell.astype(np.float64)
    shares = weights @ mixture.shares
    covariance = weights @ mixture.covariance @ weights.T
    excesses = _excess(shares, covariance)
    return float(excesses[0])


def _excess(shares: Float64Array, covariance: Float64Array) -> Float64Array:
    """Return each combination's share less the product of its groups' shares, unbiased."""
    signs = _signs(len(shares).bit_length() - 1)
    excess: Float64Array = shares.copy()
    for cell, signs_of_cell in enumerate(signs):
        parts = (signs == signs_of_cell).T.astype(np.float64)
        covariance_of_parts = parts @ covariance @ parts.T
        excess[cell] -= _unbiased_product(parts @ shares, covariance_of_parts)
    return excess


def _unbiased_product(values: Float64Array, covariance: Float64Array) -> float:
    """Return the product of noisy values, without the bias that their covariances add."""
    whole = float(values.prod())
    numbers = range(len(values))
    for first, second in combinations(numbers, 2):
        others = [values[k] for k in numbers if k not in (first, second)]
        whole -= float(covariance[first, second]) * float(np.prod(others))
    return whole


def _mean(values: Float64Array, level: float) -> Estimate:
    """Return the mean over stimuli, with Student's t for other stimuli like these."""
    variance = float(values.var(ddof=1)) / len(values)
    return Estimate.from_t(float(values.mean()), variance, len(values) - 1.0, level)


def _rows(
    labels: Sequence[str], mixtures: Sequence[_Mixture], title: str, level: float
) -> list[Item]:
    """Return a row for each combination of groups: its share, and how far that exceeds chance."""
    n_images = sum(mixture.images for mixture in mixtures)
    shares = np.array([mixture.shares for mixture in mixtures])
    excesses = np.array(
        [_excess(mixture.shares, mixture.covariance) for mixture in mixtures]
    )
    independent = shares - excesses
    items = []
    for number, label in enumerate(labels):
        share = _mean(shares[:, number], level)
        scores = {
            "joint_share": Estimate(share.value, interval=share.interval),
            "independent_share": Estimate(float(independent[:, number].mean())),
            "excess": _mean(excesses[:, number], level),
        }
        items.append(Item(label, scores, title, n_images))
    return items


def _details(title: str, scores: dict[str, Estimate]) -> dict[str, Any]:
    """Return the tests of all interactions with Holm's correction, as an entry of `details`."""
    adjusted = holm([estimate.p for estimate in scores.values()])
    tests = [
        {"name": name, "p": estimate.p, "p_holm": p}
        for (name, estimate), p in zip(scores.items(), adjusted, strict=True)
    ]
    return {"crossings": [{"crossing": title, "tests": tests}]}
