"""What images of a task's other groups do to the leans between a pair of groups.

With three groups or more, images that name no group show the others, too. They lie somewhere
between images of the pair: where that is not half way, a model that draws all groups equally often
would lean by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.decimals import readable
from t2ibench.methods.core.describe import GROUP, listed, people
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.headline import Control
from t2ibench.methods.core.lean_scores import contrast_score
from t2ibench.methods.core.leans import BOTTOM, TOP, Leans
from t2ibench.methods.core.stimulus_images import StimulusImages
from t2ibench.methods.core.wording_images import WordingImages
from t2ibench.methods.occupations.design import GroupPair
from t2ibench.stats.error_rate import error_rate

# The name of the control.
OTHER_GROUPS = "other_groups"
_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class OtherGroups:
    """Where images of the other groups lie between those of a pair, as leans.

    Images of which a share q shows another group, and the remainder the pair's groups equally
    often, lean by q times the lean of that group's images: anywhere from 0 to there.

    Attributes:
        low: The least lean of such images: the least of the other groups' leans, or 0.
        high: The largest, at least 0.
        even: The lean of images that show all groups of the task equally often.
        even_variance: The variance of that estimate.
        names: The groups whose images do not lie half way, beyond chance.
    """

    low: float = 0.0
    high: float = 0.0
    even: float = 0.0
    even_variance: float = 0.0
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, pair: GroupPair, images: Sequence[StimulusImages]) -> OtherGroups:
        """Return where the images of all groups of a task but those of a pair lie."""
        groups = list(images[0].guided)
        leans = {
            name: _lean_of_group(name, pair, images)
            for name in groups
            if name not in pair.names
        }
        values = [lean.value or 0.0 for lean in leans.values()]
        variances = [
            lean.influence.variance
            for lean in leans.values()
            if lean.influence is not None
        ]
        names = [
            name
            for name, lean in leans.items()
            if lean.p is not None and lean.p < _ALPHA
        ]
        return cls(
            low=min(0.0, *values),
            high=max(0.0, *values),
            even=sum(values) / len(groups),
            # They share the pair's images, so that their errors may add up.
            even_variance=(sum(np.sqrt(variances)) / len(groups)) ** 2,
            names=tuple(names),
        )

    @property
    def size(self) -> float:
        """The largest lean that other groups explain, without its sign."""
        return max(-self.low, self.high)

    @property
    def farthest(self) -> float:
        """The largest lean that other groups explain, with its sign."""
        return self.high if self.high >= -self.low else self.low

    @property
    def listed_names(self) -> str:
        """The groups whose images do not lie midway between the pair's, as text."""
        names = [people(name, GROUP) for name in self.names]
        return listed(names) if names else "other groups"

    def nearest(self, leans: Float64Array) -> Float64Array:
        """Return for each lean the nearest one that other groups would explain."""
        return np.clip(leans, self.low, self.high)

    def reason(self, pair: GroupPair) -> str:
        """Return why a lean between the pair is inconclusive, as a clause."""
        first, second = (people(name, GROUP) for name in pair.names)
        return (
            f"images of {self.listed_names} do not lie half way between those of {first} and of "
            f"{second}, and such images among those that name no group would explain it"
        )


def _lean_of_group(
    name: str, pair: GroupPair, images: Sequence[StimulusImages]
) -> Estimate:
    """Return the mean lean of one group's guided images between those of a pair."""
    by_stimulus = []
    for stimulus in images:
        sides = zip(
            stimulus.guided[name],
            stimulus.guided[pair.first.name],
            stimulus.guided[pair.second.name],
            strict=True,
        )
        by_stimulus.append([WordingImages(*parts) for parts in sides])
    leans = Leans.of([stimulus.name for stimulus in images], by_stimulus)
    each = np.full(len(images), 1.0 / len(images))
    return contrast_score(leans, each, each, 1 - _ALPHA)


def explained_rows(
    rows: Sequence[Estimate],
    leans: Leans,
    others: OtherGroups,
    pair: GroupPair,
    level: float,
) -> list[Estimate]:
    """Return leans of stimuli with the p-value that other groups explain them.

    One that is significant, and not with that, has no value.
    """
    leans_of_rows = np.array([row.value or 0.0 for row in rows])
    tested = leans.rows(level, others.nearest(leans_of_rows))
    reason = others.reason(pair)
    return [
        _allowing(row, float(p), level, reason)
        for row, p in zip(rows, tested.p, strict=True)
    ]


def explained_mean(
    mean: Estimate, leans: Leans, others: OtherGroups, pair: GroupPair, level: float
) -> Estimate:
    """Return the mean lean with the p-value that other groups explain it, as for rows."""
    if mean.value is None:
        return mean
    nearest = float(others.nearest(np.array([mean.value]))[0])
    count = len(leans.names)
    each = np.full(count, 1.0 / count)
    tested = contrast_score(leans, each, each, level, less=nearest * each)
    p = 1.0 if nearest == mean.value else tested.p
    return _allowing(mean, p, level, others.reason(pair))


def _allowing(
    estimate: Estimate, p: float | None, level: float, reason: str
) -> Estimate:
    if estimate.p is None or p is None or not np.isfinite(p) or p <= estimate.p:
        return estimate
    allowed = replace(estimate, p=p)
    is_explained = estimate.p < error_rate(level) <= p
    return allowed.undecided(reason) if is_explained else allowed


def other_groups_control(
    pair: GroupPair, others: OtherGroups, p: float | None, allowed: float
) -> Control:
    """Return the control of whether images of other groups explain the leans of all pairs.

    Args:
        pair: The pair between which other groups' images lie farthest from half way.
        others: Where they lie.
        p: Of the headline.
        allowed: That images without a group show all groups equally often. Where it is not below
            .05 and the headline's p is, the control contradicts.
    """
    says = "Images of the other groups lie half way between those of each pair, within chance."
    if others.names:
        first, second = (people(name, GROUP) for name in pair.names)
        farthest = readable(others.farthest, 2, sign=True)
        says = (
            f"Images of {others.listed_names} lean by up to {farthest} between those "
            f"of {first} and of {second}. That images without a group show all groups equally "
            f"often has p = {allowed:.2g}."
        )
    reason = None
    if p is not None and p < _ALPHA <= allowed:
        reason = others.reason(pair)
    return Control(says, others.farthest, p=allowed, contradicts=reason)


def leans_beyond_even(leans: Leans, others: OtherGroups) -> Float64Array:
    """Return numerators less those expected of images that show all groups equally often.

    With its variance and degrees of freedom, shape (3, stimuli), in units of a D of mean square 1.
    """
    d = leans.bottom
    u = leans.bottom_variance
    v, f = leans.top_variance
    covariance = np.nan_to_num(leans.pooled[0] @ (TOP * BOTTOM))
    # The variance of N - even D, and of the estimate of `even`.
    of_images = v - 2 * others.even * covariance + others.even**2 * u
    variance = np.maximum(of_images, 0.0) + d**2 * others.even_variance
    square = float((d**2 - u).mean())
    scale = np.sqrt(max(square, np.finfo(float).tiny))
    return np.array([(leans.top - others.even * d) / scale, variance / scale**2, f])
