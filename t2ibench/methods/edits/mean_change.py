"""The mean change of a group's source images over edits, and the difference of two groups.

The source image is the unit: its edits are a cluster, so that ten edits of one image are not ten
images. Edits are fixed; source images of the two groups are independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.influence import Influence
from t2ibench.stats.error_rate import error_rate

# Observations that are added to each group for the middle of an interval (Agresti and Caffo 2000).
_ADDED = 2
# Where an end of an interval lies that must not reach 0, because the test rejects it.
_BESIDE_ZERO = 1e-3
# Weight of edits of a source image that change together, before any are observed.
_TOGETHER = 0.5
# Source images of a group whose mean has a variance.
_FEWEST_SOURCES = 2
TOO_FEW = "fewer than two source images of a group have an answer before and after"


@dataclass(frozen=True, slots=True)
class Range:
    """What the change of one image can be: its mean and variance for one more source image.

    A group whose images all behave alike shows no variance, although it is compatible with some. So
    its variance is at least that with one more source image, which does each thing it could.

    Attributes:
        mean: Its mean.
        variance: Its variance about that mean.
        least: The least that a mean change can be.
        most: The most that it can be.
    """

    mean: float
    variance: float
    least: float = -1.0
    most: float = 1.0


# An image that showed its group may no longer do so.
LOSS = Range(mean=-0.5, variance=0.25)
# A class may be gained, lost, or, half of the time, neither.
BOTH_WAYS = Range(mean=0.0, variance=0.5)
# An outcome, such as a refusal, is there or not.
SHARE = Range(mean=0.5, variance=0.25, least=0.0)


@dataclass(frozen=True, slots=True)
class GroupChanges:
    """The changes of one group's source images.

    Attributes:
        group: Name of the group.
        numbers: Number of each source image, shape (n,).
        values: Change of each source image in each image of each edit, NaN where it is not known,
            shape (n, edits, images).
    """

    group: str
    numbers: IntArray
    values: Float64Array

    def of_edits(self, chosen: Sequence[int]) -> GroupChanges:
        """Return the changes by some of the edits."""
        return GroupChanges(self.group, self.numbers, self.values[:, list(chosen)])

    def of_sources(self, chosen: IntArray) -> GroupChanges:
        """Return the changes of some of the source images."""
        return GroupChanges(self.group, self.numbers[chosen], self.values[chosen])

    @property
    def pairs(self) -> int:
        """Number of edited images whose change is known."""
        return int(np.isfinite(self.values).sum())


@dataclass(frozen=True, slots=True)
class GroupMean:
    """The mean change of a group with its parts.

    Attributes:
        group: Name of the group.
        value: The mean over edits of the mean over images.
        numbers: Numbers of the source images that count, shape (n,).
        by_source: How far each source image moves the mean, times n, shape (n,).
        within: Sum over source images of squared deviations of single images from the mean of
            their edit, averaged over edits and images.
        cells: Images of each source image.
    """

    group: str
    value: float
    numbers: IntArray
    by_source: Float64Array
    within: float
    cells: int

    @property
    def squares(self) -> float:
        """Sum of squared deviations of the source images' means."""
        return float((self.by_source**2).sum())


def mean_changes(
    groups: Sequence[GroupChanges], possible: Range, level: float
) -> list[Estimate]:
    """Return the mean change of each group, with its interval and without a test."""
    return estimates_of_means(
        [_group_mean(changes) for changes in groups], possible, level
    )


def estimates_of_means(
    means: Sequence[GroupMean | None], possible: Range, level: float
) -> list[Estimate]:
    """Return an estimate of each group's mean, within the possible range; none of None."""
    together = _together(means)
    estimates = []
    for mean in means:
        if mean is None:
            estimates.append(Estimate.undefined(TOO_FEW))
            continue
        influence = _influence(mean, possible, together)
        estimate = Estimate.from_influence(mean.value, influence, level)
        shift = _shrunk(mean, possible, together) - mean.value
        low, high = _widened(estimate, shift) or (possible.least, possible.most)
        inside = (max(low, possible.least), min(high, possible.most))
        untested = Estimate(estimate.value, interval=inside, influence=influence)
        estimates.append(untested)
    return estimates


def difference_of_changes(
    first: GroupChanges,
    second: GroupChanges,
    possible: Range,
    level: float,
    *,
    sign: float = 1.0,
) -> Estimate:
    """Return the mean change of one group less that of another, with interval and test.

    D = mean over edits of (mean over source images of the first group − of the second)

    Each group's variance is that of its source images, where the changes of one source image under
    all edits are one value; it is at least the one with one more source image, which changes as
    `possible` says. How far that image's edits would change together is as observed over both
    groups. Student's t has Satterthwaite's degrees of freedom. The interval holds that about D and
    that about D with two more observations in each group, without reaching 0 where the test
    rejects 0.

    Args:
        first: Changes of the first group.
        second: Changes of the second group, by the same edits.
        possible: What the change of one image can be.
        level: Confidence level, in (0, 1).
        sign: -1 where a loss counts as positive.

    Source: Welch 1947; the additional image is Agresti and Caffo's (2000, "Simple and effective
        confidence intervals for proportions and differences of proportions"), who add two.
    """
    means = [_group_mean(first), _group_mean(second)]
    together = _together(means)
    mean, other = means
    if mean is None or other is None:
        return Estimate.undefined(TOO_FEW)
    influence = Influence.combined(
        [
            (sign, _influence(mean, possible, together)),
            (-sign, _influence(other, possible, together)),
        ]
    )
    value = sign * (mean.value - other.value)
    estimate = Estimate.from_influence(value, influence, level)
    at_null = _null_influence(influence, mean, other)
    shrunk = _shrunk(mean, possible, together) - _shrunk(other, possible, together)
    interval = _widened(estimate, sign * shrunk - value)
    is_clear = estimate.p is not None and estimate.p < error_rate(level)
    if interval is not None and is_clear:
        interval = beside_zero(interval, value)
    return Estimate(
        estimate.value,
        p=estimate.p,
        test="t",
        interval=interval,
        influence=influence,
        null_influence=at_null,
    )


def _group_mean(changes: GroupChanges) -> GroupMean | None:
    """Return a group's mean change; None with fewer than two source images, or without an edit."""
    n_sources = len(changes.values)
    if n_sources < _FEWEST_SOURCES:
        return None
    cells = changes.values.reshape(n_sources, -1)
    is_present = np.isfinite(cells)
    counts_once = is_present.any(axis=1)
    values = changes.values[counts_once]
    n = len(values)
    present = np.isfinite(values)
    of_edit = present.sum(axis=(0, 2))
    if n < 2 or not len(of_edit) or not of_edit.all():
        return None
    sums = np.where(present, values, 0.0).sum(axis=(0, 2))
    means = sums / of_edit
    residuals = np.where(present, values - means[:, None], 0.0)
    n_edits = len(of_edit)
    weights = n / (n_edits * of_edit)
    by_edit = residuals.sum(axis=2)
    squares = (residuals**2).sum()
    return GroupMean(
        group=changes.group,
        value=float(means.mean()),
        numbers=changes.numbers[counts_once],
        by_source=by_edit @ weights,
        within=float(n * squares / of_edit.sum()),
        cells=values.shape[1] * values.shape[2],
    )


def _together(means: Sequence[GroupMean | None]) -> float:
    """Return the variance of a source image's mean as a share of that of a single image.

    It is 1 where all edits of a source image change together, 1 / cells where each changes by
    itself. Groups that show no change at all say nothing, and 1 is the cautious answer.
    """
    present = [mean for mean in means if mean is not None]
    if not present:
        return 1.0
    squares = sum(mean.squares for mean in present)
    within = sum(mean.within for mean in present)
    share = (squares + _TOGETHER) / (within + _TOGETHER)
    return min(1.0, max(share, 1.0 / present[0].cells))


def edits_together(groups: Sequence[GroupChanges]) -> float:
    """Return how far the edits of a source image change together: 0 each by itself, 1 all.

    It is the correlation of two edits of a source image.
    """
    means = [_group_mean(changes) for changes in groups]
    present = [mean for mean in means if mean is not None]
    if not present or present[0].cells < 2:
        return 1.0
    alone = 1 / present[0].cells
    return (_together(means) - alone) / (1 - alone)


def _influence(mean: GroupMean, possible: Range, together: float) -> Influence:
    """Return the influence of each source image on the mean change of its group."""
    n = len(mean.numbers)
    influence = Influence.of_mean(mean.group, mean.numbers, mean.by_source)
    distance = mean.value - possible.mean
    added = possible.variance + n / (n + 1) * distance**2
    floor = (mean.squares + together * added) / (n * (n + 1))
    return influence.with_floor(floor)


def _shrunk(mean: GroupMean, possible: Range, together: float) -> float:
    """Return a group's mean with two more observations that do each thing that is possible.

    Observations are single images: where edits of a source image change each by itself, there are
    more of them than source images.
    """
    n = len(mean.numbers)
    added = _ADDED * together
    return (n * mean.value + added * possible.mean) / (n + added)


def _widened(estimate: Estimate, shift: float) -> tuple[float, float] | None:
    """Return an interval that also holds itself, moved by `shift`; None without one."""
    if estimate.interval is None:
        return None
    low, high = estimate.interval
    return min(low, low + shift), max(high, high + shift)


def beside_zero(interval: tuple[float, float], value: float) -> tuple[float, float]:
    """Return an interval that ends beside 0 at the latest, on the side of the value."""
    low, high = interval
    if value > 0:
        return max(low, min(_BESIDE_ZERO, value)), high
    return low, min(high, max(-_BESIDE_ZERO, value))


def _null_influence(
    influence: Influence, first: GroupMean, second: GroupMean
) -> Influence:
    """Return the influence on a difference, scaled to the variance if the groups did not differ.

    It is the variance of all source images about their common mean, where that is larger. A test
    of ten against ten images that takes the variance at the difference rejects too often in its
    tail, which Holm's correction reads.
    """
    n = len(first.numbers)
    m = len(second.numbers)
    distance = first.value - second.value
    between = n * m / (n + m) * distance**2
    total = first.squares + second.squares + between
    variance = total / (n + m - 1) * (1 / n + 1 / m)
    if not variance > influence.variance > 0:
        return influence
    return influence.scaled(float(np.sqrt(variance / influence.variance)))
