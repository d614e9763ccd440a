"""What the shares show where there is nothing to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.concepts import concept_counts, synonyms
from t2ibench.methods.core.controls import Control
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.tibet.image_sets import PromptSets
from t2ibench.methods.tibet.joint import joint_square
from t2ibench.methods.tibet.mixture import FeatureSet, contrast_basis, mixture
from t2ibench.methods.tibet.schema import Axis
from t2ibench.methods.tibet.shares import GATE, AxisShares
from t2ibench.stats.rounding import settled

_SHUFFLES = 20
_MANY = 5  # of 20 rejections at .05; that many by chance: 3 in 1,000
_ALPHA = 0.05
_SMALL = 0.005


@dataclass(frozen=True, slots=True)
class Adherence:
    """How often images of counterfactuals show what the counterfactual is named.

    Attributes:
        hits: Images whose answers name it.
        images: Images of counterfactuals whose name is among the axis's answers.
    """

    hits: int = 0
    images: int = 0


def controls_of(
    known: Sequence[AxisShares],
    adherences: Sequence[Adherence],
    rng: np.random.Generator,
    level: float,
) -> dict[str, Control]:
    """All controls of a task."""
    if not known:
        return {}
    controls = {"separation": _separation(known), "shuffled": _shuffled(known, rng, level)}
    decided = [axis for axis in known if axis.reason is None]
    if decided:
        controls["halves"] = _halves(decided, level)
    images = sum(one.images for one in adherences)
    if images:
        share = sum(one.hits for one in adherences) / images
        controls["adherence"] = Control(
            f"Of {images} images of counterfactuals, {share:.0%} get an answer that names the "
            "counterfactual.",
            share,
        )
    return controls


def _separation(known: Sequence[AxisShares]) -> Control:
    decided = sum(axis.reason is None for axis in known)
    weakest = min(known, key=lambda axis: axis.separation.ratio)
    ratio = max(weakest.separation.ratio, 0.0)
    return Control(
        f"The answers tell the counterfactuals apart on {decided} of {len(known)} prompts and axes "
        f"(a squared distance of at least {GATE:g} standard errors); on '{weakest.name}', the "
        f"weakest, it is {ratio:.1f}.",
        ratio,
        contradicts=None if decided else weakest.reason,
    )


def _shuffled(known: Sequence[AxisShares], rng: np.random.Generator, level: float) -> Control:
    """Shuffled labels of the counterfactuals' images: no prompt is then nearer to some of them."""
    rejected = sum(_shuffled_p(known, rng, level) < _ALPHA for _ in range(_SHUFFLES))
    return Control(
        f"With the labels of the counterfactuals' images shuffled, {rejected} of {_SHUFFLES} tests "
        f"have p < {_ALPHA:g}.",
        rejected / _SHUFFLES,
        contradicts=f"{rejected} of {_SHUFFLES} tests with shuffled labels reject"
        if rejected >= _MANY
        else None,
    )


def _shuffled_p(known: Sequence[AxisShares], rng: np.random.Generator, level: float) -> float:
    leans: list[float] = []
    influences: list[Influence] = []
    twice = 0.0
    for number, axis in enumerate(known):
        start, *changed = (one.features for one in axis.sets)
        pool = np.concatenate(changed)[rng.permutation(sum(map(len, changed)))]
        cuts = np.cumsum([len(rows) for rows in changed])[:-1]
        shuffled = np.split(pool, cuts)
        found = mixture(start, shuffled, invert=False)
        twice += found.twice
        basis = contrast_basis(len(changed))
        leans += ((found.shares - 1.0 / len(changed)) @ basis).tolist()
        strata = [axis.prompt, *(f"{number} {k}" for k in range(len(changed)))]
        units = [axis.sets[0].units, *(np.arange(len(rows)) for rows in shuffled)]
        influences += [
            _influence(strata, units, (found.start, *found.even), weights)
            for weights in np.ascontiguousarray(basis.T)
        ]
    return joint_square(leans, influences, len(known), level, twice=twice).p


def _influence(
    strata: Sequence[str],
    units: Sequence[IntArray],
    rows: Sequence[Float64Array],
    weights: Float64Array,
) -> Influence:
    return Influence.combined(
        (1.0, Influence((name,), np.zeros(len(numbers), np.int64), numbers, values @ weights))
        for name, numbers, values in zip(strata, units, rows, strict=True)
    )


def _halves(decided: Sequence[AxisShares], level: float) -> Control:
    """Leans of the images with an even index against those with an odd one."""
    leans: list[float] = []
    influences: list[Influence] = []
    for axis in decided:
        sets = (axis.mixture.start, *axis.mixture.changed)
        odd = [one.units % 2 == 1 for one in axis.sets]
        if not all(0 < half.sum() < len(half) for half in odd):
            continue
        for weights in np.ascontiguousarray(axis.scales.T):
            halves = [_half(rows @ weights, half) for rows, half in zip(sets, odd, strict=True)]
            leans.append(float(sum(values.sum() for values in halves)))
            strata = [one.prompt for one in axis.sets]
            units = [one.units for one in axis.sets]
            # Exchangeable images: the variance is that of all of them, not within the halves.
            scales = [np.sqrt(len(half) / (len(half) - 1)) for half in odd]
            rows = [(values * scale)[:, None] for values, scale in zip(halves, scales, strict=True)]
            influences.append(_influence(strata, units, rows, np.ones(1)))
    if not leans:
        return Control("There are too few images for two halves.")
    found = joint_square(leans, influences, len(decided), level)
    value = float(settled(found.value))
    differ = found.p < _SMALL
    return Control(
        "Leans of images with an even and with an odd index "
        f"{'differ' if differ else 'agree'} (mean squared difference {value:.2f}, "
        f"p = {found.p:.2g}).",
        value,
        found.low,
        found.high,
        found.p,
        contradicts="its two halves disagree" if differ else None,
    )


def _half(influence: Float64Array, odd: Float64Array) -> Float64Array:
    """Each image's part in the mean of the even images less that of the odd ones."""
    n, n_odd = len(odd), int(odd.sum())
    values = influence * np.sqrt(n * (n - 1))
    parts: Float64Array = np.where(odd, -values / n_odd, values / (n - n_odd))
    return parts


def adherence(axis: Axis, sets: PromptSets, changed: Sequence[FeatureSet]) -> Adherence:
    """How often images of an axis's counterfactuals are answered with the counterfactual's name."""
    merging = synonyms()
    everything = np.concatenate([one.features for one in changed])
    hits = images = 0
    for cf, one in zip(axis.counterfactuals, changed, strict=True):
        words = list(concept_counts([cf.name]))
        columns = [
            column
            for column, name in enumerate(sets.names)
            if any(len({*merging.merged({word: 1.0, name: 1.0}).values()}) == 1 for word in words)
        ]
        if everything[:, columns].any():
            hits += int(one.features[:, columns].any(axis=1).sum())
            images += len(one.features)
    return Adherence(hits, images)
