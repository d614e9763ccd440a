"""The trend of a headline over runs in order, such as checkpoints: its slope with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import JointInfluence
from t2ibench.results.contrast import Contrast, with_p_of_interval
from t2ibench.results.heterogeneity import SharedItems, shared_items
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import Headline
from t2ibench.results.square_contrast import (
    are_equal,
    mean_square_of,
    noise_of_items,
    shared_correlation,
    varies,
)
from t2ibench.stats.several import slope_weights, weighted_sum_interval
from t2ibench.stats.squares import SquareNoise

# A line through fewer runs is their difference.
LEAST_RUNS = 3
# Share of the noise that remains where mean squares are at their largest.
_LEAST_NOISE = 0.02
# The variance of a slope that is rounding, as where all runs are one.
_NOTHING = 1e-18


@dataclass(frozen=True, slots=True)
class Trend:
    """The regression line of a headline over runs in order.

    The line of a mean square is one of mean squares, which are unbiased.

    Attributes:
        slope: By how much the headline grows from one step to the next, with interval and p.
        at_first: The line at the first run.
        at_last: The line at the last run.
        is_square: Whether the line is one of mean squares, of which tables show the roots.
        positions: Where the runs of the line lie.
        p_holm: p of the slope after Holm's correction over tests.
    """

    slope: Contrast
    at_first: float
    at_last: float
    is_square: bool
    positions: tuple[float, ...]
    p_holm: float | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """Return the line at the first and the last run, on the scale that tables show."""
        if not self.is_square:
            return self.at_first, self.at_last
        return math.sqrt(max(self.at_first, 0.0)), math.sqrt(max(self.at_last, 0.0))


@dataclass(frozen=True, slots=True)
class _Line:
    """The weights of a regression line, before the headlines are known.

    Attributes:
        positions: Where each run lies.
        sizes: Number of images of each.
        weights: With which headlines add up to the slope.
    """

    positions: Float64Array
    sizes: Float64Array
    weights: Float64Array

    def fitted(self, values: Float64Array) -> Float64Array:
        """Return the value of the fitted line at each run."""
        total = float(self.sizes.sum())
        middle = float(self.sizes @ self.positions) / total
        height = float(self.sizes @ values) / total
        slope = float(self.weights @ values)
        heights: Float64Array = height + slope * (self.positions - middle)
        return heights


def trend_of(
    positions: Sequence[float],
    sizes: Sequence[int],
    headlines: Sequence[Headline],
    paired: Sequence[PairedTask] | None,
    level: float,
) -> Trend | None:
    """Return the slope of a headline over runs by weighted least squares; None without one.

    Weights are the numbers of images. The variance is that of the weighted sum, over images that
    runs share: of leans Student's t with Satterthwaite's degrees of freedom, of mean squares x with
    the noise of `stats.squares`, v(S) = 2 u s₀ + 4 S s₁ at the S of the line.

    Args:
        positions: Where each run lies, such as its number of training steps, in ascending order.
        sizes: Number of images of each run.
        headlines: The headline of each run, with a value.
        paired: The influences of each run; None where a run has none, which takes the runs as
            independent, by their intervals.
        level: Confidence level.
    """
    if len(positions) < LEAST_RUNS or min(sizes) < 1:
        return None
    steps = np.array(positions, dtype=np.float64)
    numbers = np.array(sizes, dtype=np.float64)
    line = _Line(steps, numbers, slope_weights(steps, numbers))
    values = np.array([headline.value for headline in headlines], dtype=np.float64)
    is_square = headlines[0].scale == "mean_square"
    if paired is None:
        slope = _unpaired_slope(line, headlines, level)
    elif is_square:
        items = shared_items(paired)
        if not items.count:
            return None
        if not items.complete:
            values = np.array([mean_square_of(parts) for parts in items.by_run])
        slope = _slope_of_squares(line, values, paired, items, level)
    else:
        values = np.array([task.headline[0].value for task in paired])
        slope = _slope_of_leans(line, values, paired, level)
    if slope is None:
        return None
    fitted = line.fitted(values)
    return Trend(
        slope=slope,
        at_first=float(fitted[0]),
        at_last=float(fitted[-1]),
        is_square=is_square,
        positions=tuple(positions),
    )


def _unpaired_slope(
    line: _Line, headlines: Sequence[Headline], level: float
) -> Contrast | None:
    """Return the slope over independent runs, from the intervals of their headlines."""
    if any(
        headline.ci_low is None or headline.ci_high is None for headline in headlines
    ):
        return None
    values = np.array([headline.value for headline in headlines], dtype=np.float64)
    lows = np.array([headline.ci_low for headline in headlines], dtype=np.float64)
    highs = np.array([headline.ci_high for headline in headlines], dtype=np.float64)
    value, low, high = weighted_sum_interval(line.weights, values, lows, highs)
    if not high > low:
        return None
    return with_p_of_interval(Contrast(value, low, high), level)


def _slope_of_leans(
    line: _Line, values: Float64Array, paired: Sequence[PairedTask], level: float
) -> Contrast | None:
    joint = JointInfluence([task.headline[0].influence for task in paired])
    variance, df = joint.variance(line.weights.tolist())
    return _tested(float(line.weights @ values), variance, df, level)


def _slope_of_squares(
    line: _Line,
    values: Float64Array,
    paired: Sequence[PairedTask],
    items: SharedItems,
    level: float,
) -> Contrast | None:
    """Return the slope of mean squares of the same items, whose noise images may share."""
    noises = _noises(paired, items)
    if not all(varies(noise) for noise in noises):
        return None
    # Of its own mean square, a run that happens to be small would have a small variance.
    linear, squared = _variances(noises, line.fitted(values))
    correlations = _correlations(items.by_run)
    scaled_linear = line.weights * np.sqrt(linear)
    scaled_squared = line.weights * np.sqrt(squared)
    variance = float(scaled_linear @ correlations[0] @ scaled_linear)
    variance += float(scaled_squared @ correlations[1] ** 2 @ scaled_squared)
    dfs = np.array([noise.df for noise in noises])
    parts_of_variance = line.weights**2 * (linear + squared)
    whole = float(parts_of_variance.sum())
    df = whole**2 / max(float((parts_of_variance**2 / dfs).sum()), 1e-300)
    return _tested(float(line.weights @ values), variance, df, level)


def _noises(paired: Sequence[PairedTask], items: SharedItems) -> list[SquareNoise]:
    """Return the noise of each run's mean square.

    Where it is read from influences, it adds up along the leans that the other runs show: where a
    run's own lean happens to be large, its images happen to vary little, so that in the direction
    of its own leans the noise is underestimated (by a quarter with 10 images).
    """
    leans = np.array([[part.value for part in parts] for parts in items.by_run])
    total = leans.sum(axis=0)
    noises = []
    for task, parts, leans_of_run in zip(paired, items.by_run, leans, strict=True):
        noise = task.noise if items.complete else None
        noises.append(noise or noise_of_items(parts, total - leans_of_run))
    return noises


def _variances(
    noises: Sequence[SquareNoise], values: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Return the variance of each mean square in two parts: linear, and of squared noise."""
    squares = np.maximum(values, 0.0)
    noise = np.array([run.noise for run in noises])
    least = np.array([run.slopes[0] for run in noises])
    along = np.array([run.slopes[1] for run in noises])
    top = np.array([run.top for run in noises])
    remaining = np.maximum(1 - squares / top, _LEAST_NOISE)
    linear: Float64Array = 4 * squares * along * remaining
    squared: Float64Array = 2 * noise * least * remaining**2
    return linear, squared


def _correlations(
    by_run: Sequence[Sequence[Part]],
) -> tuple[Float64Array, Float64Array]:
    """Return the correlations of runs' mean squares that shared images make.

    Returns:
        Those of the linear parts, and those of the noise whose squares are summed, shape (k, k).
    """
    count = len(by_run)
    parts = [part for items in by_run for part in items]
    rows = JointInfluence([part.influence for part in parts]).rows.toarray()
    moved = np.split(rows, count)
    leans = [np.array([part.value for part in items]) for items in by_run]
    linear = np.eye(count)
    squared = np.eye(count)
    for first, second in combinations(range(count), 2):
        of_linear = 1.0
        of_squared = 1.0
        if not are_equal(by_run[first], by_run[second]):
            along_first = leans[first] @ moved[first]
            along_second = leans[second] @ moved[second]
            of_linear = shared_correlation(along_first, along_second)
            of_squared = shared_correlation(moved[first], moved[second])
        linear[first, second] = of_linear
        linear[second, first] = of_linear
        squared[first, second] = of_squared
        squared[second, first] = of_squared
    return linear, squared


def _tested(value: float, variance: float, df: float, level: float) -> Contrast | None:
    """Return a slope with Student's t interval and test; None where nothing varies."""
    if variance <= _NOTHING and abs(value) <= math.sqrt(_NOTHING):
        return Contrast(0.0, 0.0, 0.0, 1.0)
    if not (math.isfinite(variance) and variance > 0 and df > 0):
        return None
    return Contrast.from_t(value, variance, df, level)
