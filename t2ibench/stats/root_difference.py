"""The difference of the roots of two mean squares: its test and its interval by simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import chdtri, ndtr

from t2ibench.arrays import Float64Array
from t2ibench.stats.rounding import settled
from t2ibench.stats.squares import SquareNoise

# and as many with the runs exchanged, so that the order of the runs is nothing
_DRAWS = 1000
_SOME = 4  # of so many draws one is enough for a power
_LARGEST = 2.0  # difference that is looked for
_STEPS = 8  # of Newton's method
_ROUNDS = 2  # of weights
_NOTHING = 1e-12  # variance of a mean square that is rounding
_LEAST = 0.02  # of the noise remains where squares are at their largest
_FARTHEST = 4.0
_PAST = 0.06  # a root at 0 makes the test uneven near it
_PRECISION = 4  # decimals of an end, which the Monte Carlo error does not reach
_STEP = 10.0**-_PRECISION
_POWER = 0.8

_TwoByDraws = Float64Array  # shape (2, draws), or (2, 1) of the data


@dataclass(frozen=True, slots=True)
class RootDifference:
    """How much larger the root of one mean square is than that of another."""

    value: float  # √max(x₁, 0) − √max(x₂, 0)
    low: float  # above 0 only where `p` is below 1 − level
    high: float
    p: float  # that both mean squares are equal
    # The difference that is told from 0 in 8 of 10 cases by a test at 1 − level, where the smaller
    # mean square is what both would be if they were equal, or the larger one is at its limit; None
    # where the runs are one.
    detectable: float | None


def root_difference(
    values: tuple[float, float],
    noises: tuple[SquareNoise, SquareNoise],
    correlations: tuple[float, float],
    rng: np.random.Generator,
    level: float = 0.95,
) -> RootDifference:
    """Compare two unbiased mean squares x₁ and x₂ of the same items in two runs.

    Each x is taken for what `square_interval` takes it for: with the true mean square S, noise u
    and slopes s₀ and s₁, squares s₀ χ² of u / s₀ degrees of freedom, plus a linear part of variance
    4 S s₁, less the noise, whose estimate is u χ²_f / f. Where squares cannot exceed T, noise is
    known and shrinks with 1 − S/T. For √S₁ − √S₂ = Δ,

        Z(Δ) = (x₁ − x₂ − S₁ + S₂) / √(v₁(S₁) + v₂(S₂) − 2 c),  v(S) = 2 u s₀ + 4 S s₁,

    at the S₁ and S₂ with that difference which minimise (x₁ − S₁)² / v₁ + (x₂ − S₂)² / v₂. Its
    distribution is simulated at these S₁ and S₂, with the variances estimated anew in each draw.
    p is the share of draws with as large a |Z| at Δ = 0; the interval is all Δ that this test does
    not reject at 1 − level.

    Args:
        values: x₁ and x₂.
        noises: Of each.
        correlations: Of the linear parts, and of the noise whose squares are summed: 0 and 0 where
            the runs share no images.
        rng: Source of the draws.
        level: Confidence level, in (0, 1).

    Returns:
        The difference of the first and the second.

    Source: a score test with a parametric bootstrap at its null (Davison and Hinkley 1997, §4.2),
        inverted for the interval; certified by `tools/calibration`.

    Example:
        >>> noise = SquareNoise(0.1, (0.01, 0.01), 100)
        >>> found = root_difference((0.5, 0.0), (noise, noise), (0, 0), np.random.default_rng(0))
        >>> round(found.value, 2), found.low > 0, found.p < 0.01
        (0.71, True, True)
    """
    model = _Model(values, noises, correlations, rng)
    value = float(model.roots[0] - model.roots[1])
    statistic, draws = model.at(0.0)
    reached = settled(np.abs(draws)) >= settled(abs(statistic))
    p = (1 + int(reached.sum())) / (1 + len(draws))

    def beyond(difference: float) -> float:
        found, drawn = model.at(difference)
        return abs(found) - float(np.quantile(np.abs(drawn), level))

    low, high = (_end(beyond, model.centre, sign) for sign in (-1.0, 1.0))
    low, high = min(low, value), max(high, value)
    if p >= 1 - level:  # the test decides where an end is 0 but for Monte Carlo
        low, high = min(low, 0.0), max(high, 0.0)
    elif low <= 0 <= high:
        low, high = (
            (_STEP, max(high, _STEP)) if statistic > 0 else (min(low, -_STEP), -_STEP)
        )
    return RootDifference(value, low, high, p, model.detectable(level))


def _end(beyond: Callable[[float], float], centre: float, sign: float) -> float:
    """Where a test rejects for good, going to one side from where it does not at all."""

    def at(distance: float) -> float:
        return beyond(centre + sign * distance)

    inside, width = 0.0, 0.25
    while inside + width < _FARTHEST:
        if at(inside + width) < 0:
            inside, width = inside + width, 2 * width
            continue
        end = (
            float(brentq(at, inside, inside + width, xtol=1e-3))
            if at(inside) < 0
            else inside
        )
        if at(end + _PAST) >= 0:
            return round(centre + sign * end, _PRECISION)
        inside, width = end + _PAST, 0.25
    return round(centre + sign * _FARTHEST, _PRECISION)


class _Model:
    """Two mean squares, and draws of what other images would have given."""

    def __init__(
        self,
        values: tuple[float, float],
        noises: tuple[SquareNoise, SquareNoise],
        correlations: tuple[float, float],
        rng: np.random.Generator,
    ) -> None:
        def both(numbers: Sequence[float]) -> Float64Array:
            return np.array(numbers, dtype=np.float64)[:, None]

        self.x = both(values)
        self.noise = both([one.noise for one in noises])
        self.least = both([one.slopes[0] for one in noises])
        self.along = both([one.slopes[1] for one in noises])
        self.top = both([one.top for one in noises])
        self.linear, self.squared = correlations
        normal = rng.standard_normal((3, 2, _DRAWS))
        normal = np.concatenate([normal, normal[:, ::-1]], axis=2)
        self.direction = _correlated(normal[0], self.linear)
        others, estimated = (_correlated(one, self.squared**2) for one in normal[1:])
        self.squares = np.stack(
            [_squares(*one) for one in zip(noises, self.direction, others, strict=True)]
        )
        self.scale = np.stack(
            [_relative(one, z) for one, z in zip(noises, estimated, strict=True)]
        )

    @property
    def roots(self) -> Float64Array:
        """√max(x, 0) of both runs."""
        found: Float64Array = np.sqrt(np.maximum(self.x[:, 0], 0.0))
        return found

    @property
    def centre(self) -> float:
        """The difference at which Z is 0: a mean square below 0 tells that of the other, too."""
        first, second = self.x[:, 0]
        if min(first, second) >= 0:
            return float(self.roots[0] - self.roots[1])
        return float(np.copysign(np.sqrt(abs(first - second)), first - second))

    def at(self, difference: float) -> tuple[float, Float64Array]:
        """Z of the data, and its draws where the roots differ by so much."""
        found, squares = self._studentised(self.x, np.ones((2, 1)), difference)
        return float(found[0]), self._drawn(squares, difference)

    def detectable(self, level: float) -> float:
        """The least difference, in hundredths, that is told from 0 in 8 of 10 cases."""
        equal = np.sqrt(self._studentised(self.x, np.ones((2, 1)), 0.0)[1])
        limit = float(np.quantile(np.abs(self._drawn(equal**2, 0.0)), level))
        few = copy(self)
        few.direction, few.squares, few.scale = (
            drawn[:, ::_SOME] for drawn in (self.direction, self.squares, self.scale)
        )

        def told(difference: float, run: int) -> bool:
            roots = equal.copy()
            roots[run] += difference
            beyond = roots[run] - np.sqrt(self.top[run])
            if beyond > 0:
                roots = np.maximum(roots - beyond, 0.0)
            return float((np.abs(few._drawn(roots**2, 0.0)) >= limit).mean()) >= _POWER

        least = 0
        for run in (0, 1):
            low, high = least, round(100 * _LARGEST)
            while low < high:
                middle = (low + high) // 2
                low, high = (
                    (low, middle) if told(middle / 100, run) else (middle + 1, high)
                )
            least = low
        return least / 100

    def _drawn(self, squares: _TwoByDraws, difference: float) -> Float64Array:
        """Z where the true mean squares are these, tested for a difference."""
        rest = self._rest(squares)
        x = squares + 2 * np.sqrt(squares * self.along * rest) * self.direction
        x = np.minimum(
            x + rest * self.squares - rest * self.noise * self.scale, self.top
        )
        return self._studentised(x, self.scale, difference)[0]

    def _rest(self, squares: _TwoByDraws) -> Float64Array:
        rest: Float64Array = np.maximum(1 - squares / self.top, _LEAST)
        return rest

    def _studentised(
        self, x: _TwoByDraws, scale: _TwoByDraws, difference: float
    ) -> tuple[Float64Array, _TwoByDraws]:
        """Z, and the mean squares whose roots differ by so much and that fit x best."""
        half = difference / 2
        squares = np.repeat(np.maximum(x.mean(axis=0, keepdims=True), 0.0), 2, axis=0)
        for _ in range(_ROUNDS):
            linear, squared = self._variances(squares, scale)
            middle = _middle(x, 1 / np.maximum(linear + squared, _NOTHING), half)
            squares = np.stack([middle + half, middle - half]) ** 2
        linear, squared = self._variances(squares, scale)
        both = self.linear * np.sqrt(linear[0] * linear[1])
        both = both + self.squared**2 * np.sqrt(squared[0] * squared[1])
        variance = (linear + squared).sum(axis=0) - 2 * both
        moved = x[0] - x[1] - squares[0] + squares[1]
        return moved / np.sqrt(np.maximum(variance, _NOTHING)), squares

    def _variances(
        self, squares: _TwoByDraws, scale: _TwoByDraws
    ) -> tuple[Float64Array, Float64Array]:
        """v(S): its linear part, and that of squared noise."""
        rest = self._rest(squares)
        linear = 4 * squares * self.along * rest * scale
        return linear, 2 * self.noise * self.least * (rest * scale) ** 2


def _middle(x: _TwoByDraws, weights: _TwoByDraws, half: float) -> Float64Array:
    """The m that minimises Σ w (x − (m ± half)²)², where neither root is below 0."""
    weights = weights / weights.sum(axis=0)
    m: Float64Array = abs(half) + np.sqrt(np.maximum(x, 0.0)).max(axis=0) + _NOTHING
    for _ in range(_STEPS):  # from above, where the derivative is convex
        roots = np.stack([m + half, m - half])
        value = (weights * roots * (roots**2 - x)).sum(axis=0)
        slope = (weights * (3 * roots**2 - x)).sum(axis=0)
        step = np.divide(value, slope, out=np.zeros_like(value), where=slope > 0)
        m = np.maximum(m - step, abs(half))
    return m


def _correlated(normal: npt.NDArray[np.float64], correlation: float) -> Float64Array:
    """Normal variables of two runs with a correlation, alike if the runs are exchanged."""
    more, less = np.sqrt(1 + correlation), np.sqrt(1 - correlation)
    own, other = (more + less) / 2, (more - less) / 2
    found: Float64Array = own * normal + other * normal[::-1]
    return found


def _squares(
    noise: SquareNoise, direction: Float64Array, others: Float64Array
) -> Float64Array:
    """The sum of squared noise, one square of which is that along the leans."""
    df = noise.noise / noise.slopes[0] if noise.slopes[0] > 0 else 0.0
    if df <= 1:
        return noise.noise * direction**2
    drawn: Float64Array = noise.slopes[0] * (
        direction**2 + chdtri(df - 1, ndtr(-others))
    )
    return drawn


def _relative(noise: SquareNoise, normal: Float64Array) -> Float64Array:
    """An estimate of the noise over the noise; 1 where it is known."""
    if not np.isfinite(noise.df) or np.isfinite(noise.top):
        return np.ones_like(normal)
    drawn: Float64Array = chdtri(noise.df, ndtr(-normal)) / noise.df
    return drawn
