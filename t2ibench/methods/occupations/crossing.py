"""Two or three attributes of the same images: joint shares, and whether they go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.evidence import ImageCollector
from t2ibench.methods.occupations.design import crossed_prompts, neutral_prompts
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings
from t2ibench.stats import holm
from t2ibench.stats.student import t_interval, t_test

_FEWEST = 4  # stimuli
_SEPARATION = 4.0  # as of the leans: without the attribute it is passed by chance almost never
_ALIKE = "the images of the combinations are too alike to tell their shares"
_FEW = f"fewer than {_FEWEST} stimuli have all of their images"
JOIN = " x "


@dataclass(frozen=True, slots=True)
class CrossingScores:
    """What a crossing adds to a task's result.

    Attributes:
        scores: 'interaction:A x B', the mean excess of the first groups together.
        items: A row for each combination, and one for each stimulus.
        details: The tests with Holm's p-values, and the combinations that stand out.
    """

    scores: dict[str, Estimate]
    items: list[Item]
    details: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Images:
    """Embeddings of one stimulus: without a group, and of each combination."""

    name: str
    neutral: Float64Array
    cells: list[Float64Array]


@dataclass(frozen=True, slots=True)
class _Mixture:
    """Shares of the combinations in a stimulus's images, with their covariance."""

    name: str
    shares: Float64Array
    covariance: Float64Array
    contrast: float
    contrast_variance: float
    images: int


def crossing_scores(
    task: OccupationsTask, collector: ImageCollector, settings: Settings
) -> CrossingScores:
    """Shares of combinations of groups, stimulus by stimulus.

    The images without a group are taken for a mixture of those of the combinations ("an old female
    nurse"). With x_1, x_2 an image's places along the directions of two attributes, which the
    images of the other stimuli give, its features are 1, x_1, x_2 and x_1 x_2; the shares are those
    with which the combinations' mean features make up the images' own. What the directions share,
    and how noise along them does, is in the combinations' means as well and drops out.
    """
    if not task.crossing:
        return CrossingScores({}, [], {})
    names = list(task.crossing)
    title = JOIN.join(names)
    images = _collected(task, collector, settings)
    if len(images) < _FEWEST:
        return _nothing(title, _FEW)
    mixtures = _mixtures(images, len(names))
    total = sum(one.contrast for one in mixtures)
    noise = float(np.sqrt(2 * sum(one.contrast_variance for one in mixtures)))
    if not total > _SEPARATION * noise:
        return _nothing(title, _ALIKE)
    groups = [[group.name for group in groups] for groups in task.crossing.values()]
    labels = [JOIN.join(words) for words in product(*groups)]
    excesses = np.array([_excess(one, (2,) * len(names)) for one in mixtures])
    cells = _cells(labels, mixtures, excesses, title, settings.level)
    scores = {
        f"interaction:{JOIN.join(names[a] for a in chosen)}": _mean(
            np.array([_together(one, chosen, len(names)) for one in mixtures]), settings.level
        )
        for size in (2, 3)
        for chosen in combinations(range(len(names)), size)
    }
    adjusted = holm([estimate.p for estimate in scores.values()])
    tests = [
        {"name": name, "p": estimate.p, "p_holm": p}
        for (name, estimate), p in zip(scores.items(), adjusted, strict=True)
    ]
    details = {"crossing": title, "tests": tests, **_standing_out(cells)}
    rows = [_row(one, labels, title, settings.level) for one in mixtures]
    return CrossingScores(scores, [*cells, *rows], {"crossings": [details]})


def _nothing(title: str, reason: str) -> CrossingScores:
    undefined = {f"interaction:{title}": Estimate.undefined(reason)}
    return CrossingScores(undefined, [], {"crossings": [{"crossing": title, "reason": reason}]})


def _collected(
    task: OccupationsTask, collector: ImageCollector, settings: Settings
) -> list[_Images]:
    n_neutral, n_guided = task.image_counts(settings)
    found = []
    for name in settings.limited(task.concept.stimuli):
        neutral = collector.collect(neutral_prompts(task, name), n_neutral)
        cells = [
            collector.collect(crossed_prompts(task, name, words), n_guided)
            for words in task.combined_words
        ]
        if neutral.whole and all(cell.whole and len(cell) > 1 for cell in cells):
            own = [np.asarray(cell.embeddings, np.float64) for cell in cells]
            found.append(_Images(name, np.asarray(neutral.embeddings, np.float64), own))
    return found


def _mixtures(images: Sequence[_Images], axes: int) -> list[_Mixture]:
    # 1 for the first group of each axis, -1 for the second, shape (combinations, axes).
    signs = np.array(list(product((1.0, -1.0), repeat=axes)))
    means = np.array([[cell.mean(axis=0) for cell in one.cells] for one in images])
    contrasts: Float64Array = np.einsum("ca,scd->sad", signs, means) / len(signs)
    directions = contrasts.sum(axis=0) - contrasts  # without the stimulus's own images
    return [
        _mixture(one, direction, signs) for one, direction in zip(images, directions, strict=True)
    ]


def _mixture(images: _Images, directions: Float64Array, signs: Float64Array) -> _Mixture:
    places = [cell @ directions.T for cell in images.cells]
    middle = np.mean([place.mean(axis=0) for place in places], axis=0)
    halves = np.array(
        [abs(np.mean([s[a] * p[:, a].mean() for s, p in zip(signs, places, strict=True)]))
         for a in range(signs.shape[1])]
    )  # fmt: skip
    scale = np.where(halves > 0, halves, 1.0)  # shares do not depend on middle and scale

    def features(rows: Float64Array) -> Float64Array:
        x = (rows @ directions.T - middle) / scale
        columns = [np.ones(len(x))]
        for size in range(1, x.shape[1] + 1):
            columns += [x[:, list(a)].prod(axis=1) for a in combinations(range(x.shape[1]), size)]
        return np.stack(columns, axis=1)

    own, cells = features(images.neutral), [features(cell) for cell in images.cells]
    system = np.stack([cell.mean(axis=0) for cell in cells], axis=1)
    inverse = np.linalg.pinv(system)
    shares = inverse @ own.mean(axis=0)
    covariance = _of_mean(own @ inverse.T)
    for share, cell in zip(shares, cells, strict=True):
        covariance = covariance + share**2 * _of_mean(cell @ inverse.T)
    sign = signs.prod(axis=1)
    contrast = float(sign @ system[-1]) / len(sign)
    variance = sum(float(_of_mean(cell)[-1, -1]) for cell in cells) / len(sign) ** 2
    return _Mixture(images.name, shares, covariance, contrast, variance, len(images.neutral))


def _of_mean(rows: Float64Array) -> Float64Array:
    """Covariance of the mean of rows."""
    covariance: Float64Array = np.cov(rows, rowvar=False) / len(rows)
    return covariance


def _excess(found: _Mixture, shape: tuple[int, ...]) -> Float64Array:
    """Shares less the products of their parts', without the bias of noisy products."""
    axes = len(shape)
    number = np.arange(len(found.shares)).reshape(shape)
    excess: Float64Array = found.shares.copy()
    for cell, places in enumerate(product(*(range(k) for k in shape))):
        parts = np.zeros((axes, len(found.shares)))
        for axis, place in enumerate(places):
            parts[axis, np.take(number, place, axis=axis).ravel()] = 1.0
        excess[cell] -= _product(parts @ found.shares, parts @ found.covariance @ parts.T)
    return excess


def _product(values: Float64Array, covariance: Float64Array) -> float:
    """The product of two or three means, less what their covariances add to it."""
    whole = float(values.prod())
    for a, b in combinations(range(len(values)), 2):
        rest = [values[c] for c in range(len(values)) if c not in (a, b)]
        whole -= float(covariance[a, b]) * float(np.prod(rest))
    return whole


def _together(found: _Mixture, chosen: tuple[int, ...], axes: int) -> float:
    """The excess of the first groups of some axes, whatever the others are."""
    shape = (2,) * axes
    others = tuple(axis for axis in range(axes) if axis not in chosen)
    size = len(found.shares)
    number = np.arange(size).reshape(shape)
    kept = np.moveaxis(number, chosen, range(len(chosen))).reshape(2 ** len(chosen), -1)
    weights = np.zeros((2 ** len(chosen), size))
    for row, members in enumerate(kept):
        weights[row, members] = 1.0
    covariance = weights @ found.covariance @ weights.T if others else found.covariance
    shares = weights @ found.shares if others else found.shares
    part = _Mixture(found.name, shares, covariance, found.contrast, 0.0, found.images)
    return float(_excess(part, (2,) * len(chosen))[0])


def _mean(values: Float64Array, level: float) -> Estimate:
    """The mean over stimuli, with Student's t over them: for stimuli like these."""
    variance, df = float(values.var(ddof=1)) / len(values), len(values) - 1.0
    interval = t_interval(float(values.mean()), variance, df, level)
    return Estimate(
        float(values.mean()), p=t_test(float(values.mean()), variance, df), test="t",
        interval=interval,
    )  # fmt: skip


def _cells(
    labels: Sequence[str],
    mixtures: Sequence[_Mixture],
    excesses: Float64Array,
    title: str,
    level: float,
) -> list[Item]:
    images = sum(one.images for one in mixtures)
    shares = np.array([one.shares for one in mixtures])
    items = []
    for number, label in enumerate(labels):
        share, excess = _mean(shares[:, number], level), _mean(excesses[:, number], level)
        alone = Estimate(float((shares - excesses)[:, number].mean()))
        scores = {
            "joint_share": Estimate(share.value, interval=share.interval),
            "independent_share": alone,
            "excess": excess,
        }
        items.append(Item(label, scores, title, images))
    return items


def _row(found: _Mixture, labels: Sequence[str], title: str, level: float) -> Item:
    """A stimulus's shares, with the intervals of its own images."""
    scores = {}
    for number, label in enumerate(labels):
        variance, df = float(found.covariance[number, number]), found.images - 1.0
        share = float(found.shares[number])
        scores[f"joint:{label}"] = Estimate(share, interval=t_interval(share, variance, df, level))
    return Item(found.name, scores, title, found.images)


def _standing_out(cells: Sequence[Item]) -> dict[str, Any]:
    adjusted = holm([item.scores["excess"].p for item in cells])
    rows = []
    for item, p in zip(cells, adjusted, strict=True):
        excess = item.scores["excess"]
        low, high = excess.interval or (None, None)
        share = item.scores["joint_share"].value
        rows.append(
            {"cell": item.name, "share": share, "excess": excess.value, "low": low, "high": high,
             "p_holm": p}
        )  # fmt: skip
    ordered = sorted(rows, key=lambda row: float(row["excess"] or 0.0))
    return {"most_over": ordered[-1], "most_under": ordered[0]}
