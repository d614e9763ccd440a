"""The difference of two runs' root mean square leans: its test and interval by simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy
from scipy.special import chdtri, ndtr

from t2ibench.arrays import Float64Array
from t2ibench.stats.error_rate import error_rate
from t2ibench.stats.rounding import settled
from t2ibench.stats.squares import SquareNoise

# And as many with the runs exchanged, so that the order of the runs is nothing.
_DRAWS = 1000
# Draws where p is small, so that it can be corrected for many tests.
_MANY_DRAWS = 25_000
# Draws as far out as the data, below which p is estimated again from many draws.
_FEW_BEYOND = 40
# Every fourth draw is enough for a power.
_POWER_STRIDE = 4
# The largest difference that `detectable` considers.
_LARGEST = 2.0
# Of Newton's method.
_STEPS = 8
# Of weights.
_ROUNDS = 2
# The variance of a mean square that is rounding.
_NOTHING = 1e-12
# The share of the noise that remains where squares are at their largest.
_LEAST = 0.02
_FARTHEST = 4.0
_FIRST_WIDTH = 0.25
# A root at 0 makes the test uneven near it.
_PAST = 0.06
# Decimals of an end, which the Monte Carlo error does not reach.
_PRECISION = 4
_STEP = 10.0**-_PRECISION
_POWER = 0.8

_TwoByDraws = Float64Array  # shape (2, draws), or (2, 1) of the data


@dataclass(frozen=True, slots=True)
class RootDifference:
    """The difference of two root mean squares, with its test and interval.

    Attributes:
        value: √max(x₁, 0) − √max(x₂, 0).
        low: Lower end, above 0 only where `p` is below 1 − level.
        high: Upper end.
        p: p-value that both mean squares are equal.
        detectable: The difference that a test at 1 − level detects in 8 of 10 cases, where the
            smaller mean square is what both would be if they were equal, or the larger one is at
            its limit; None where the runs are one.
    """

    value: float
    low: float
    high: float
    p: float
    detectable: float | None


def root_difference(
    values: tuple[float, float],
    noises: tuple[SquareNoise, SquareNoise],
    correlations: tuple[float, float],
    rng: np.random.Generator,
    level: float = 0.95,
) -> RootDifference:
    """Return the difference of two runs' root mean squares of the same items, with its test.

    The unbiased mean squares x₁ and x₂ are compared by their roots.

    Each x is taken for what `square_interval` takes it for: with the true mean square S, noise u
    and slopes s₀ and s₁, squares s₀ χ² of u / s₀ degrees of freedom, plus a linear part of variance
    4 S s₁, less the noise, whose estimate is u χ²_f / f. Where squares cannot exceed T, noise is
    known and shrinks with 1 − S/T. For √S₁ − √S₂ = Δ,

        Z(Δ) = (x₁ − x₂ − S₁ + S₂) / √(v₁(S₁) + v₂(S₂) − 2 c),  v(S) = 2 u s₀ + 4 S s₁,

    at the S₁ and S₂ with that difference which minimise (x₁ − S₁)² / v₁ + (x₂ − S₂)² / v₂. Its
    distribution is simulated at these S₁ and S₂, with the variances estimated again in each draw.
    p is the share of draws with as large a |Z| at Δ = 0, of 50,000 where it is below .02; the
    interval is all Δ that this test does not reject at 1 − level.

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
        >>> gap = root_difference((0.5, 0.0), (noise, noise), (0, 0), np.random.default_rng(0))
        >>> round(gap.value, 2), gap.low > 0, gap.p < 0.01
        (0.71, True, True)
    """
    model = _Model(values, noises, correlations, rng, _DRAWS)
    value = float(model.roots[0] - model.roots[1])
    statistic, draws = model.at(0.0)
    n_beyond = _n_beyond(draws, statistic)
    if n_beyond < _FEW_BEYOND:
        larger = _Model(values, noises, correlations, rng, _MANY_DRAWS)
        _, draws = larger.at(0.0)
        n_beyond = _n_beyond(draws, statistic)
    # The data are one more draw.
    p = (1 + n_beyond) / (1 + len(draws))

    def beyond(difference: float) -> float:
        """Return how far |Z| lies above its critical value if the true difference is this one."""
        z, drawn = model.at(difference)
        critical = float(np.quantile(np.abs(drawn), level))
        return abs(z) - critical

    lower_end = _end(beyond, model.centre, sign=-1.0)
    upper_end = _end(beyond, model.centre, sign=1.0)
    low = min(lower_end, value)
    high = max(upper_end, value)
    # The test decides where an end is 0 but for Monte Carlo.
    if p >= error_rate(level):
        low = min(low, 0.0)
        high = max(high, 0.0)
    elif low <= 0 <= high and statistic > 0:
        low = _STEP
        high = max(high, _STEP)
    elif low <= 0 <= high:
        low = min(low, -_STEP)
        high = -_STEP
    return RootDifference(
        value=value,
        low=low,
        high=high,
        p=p,
        detectable=model.detectable(level),
    )


def _n_beyond(draws: Float64Array, statistic: float) -> int:
    """Return the number of draws that lie at least as far from 0 as the statistic."""
    sizes = settled(np.abs(draws))
    observed_size = settled(abs(statistic))
    reached = sizes >= observed_size
    return int(reached.sum())


def _end(beyond: Callable[[float], float], centre: float, sign: float) -> float:
    """Return an end of an interval: the difference beyond which its test always rejects.

    The search goes to one side (`sign`) from a difference that the test does not reject.
    """

    def at(distance: float) -> float:
        return beyond(centre + sign * distance)

    inside = 0.0
    width = _FIRST_WIDTH
    while inside + width < _FARTHEST:
        outside = inside + width
        if at(outside) < 0:
            inside = outside
            width *= 2
            continue
        end = inside
        if at(inside) < 0:
            end = float(scipy.optimize.brentq(at, inside, outside, xtol=1e-3))
        if at(end + _PAST) >= 0:
            return round(centre + sign * end, _PRECISION)
        inside = end + _PAST
        width = _FIRST_WIDTH
    return round(centre + sign * _FARTHEST, _PRECISION)


class _Model:
    """A model of two runs' mean squares, with random draws of their noise."""

    def __init__(
        self,
        values: tuple[float, float],
        noises: tuple[SquareNoise, SquareNoise],
        correlations: tuple[float, float],
        rng: np.random.Generator,
        n_draws: int,
    ) -> None:
        def both(numbers: Sequence[float]) -> Float64Array:
            return np.array(numbers, dtype=np.float64)[:, None]

        self.x = both(values)
        self.noise = both([run.noise for run in noises])
        self.least = both([run.slopes[0] for run in noises])
        self.along = both([run.slopes[1] for run in noises])
        self.top = both([run.top for run in noises])
        self.linear, self.squared = correlations
        drawn = rng.standard_normal((3, 2, n_draws))
        normal = np.concatenate([drawn, drawn[:, ::-1]], axis=2)
        self.direction = _correlated(normal[0], self.linear)
        # Squares of variables with a correlation c correlate by c².
        correlation_of_squares = self.squared**2
        others = _correlated(normal[1], correlation_of_squares)
        estimated = _correlated(normal[2], correlation_of_squares)
        squares = []
        scales = []
        for run, noise in enumerate(noises):
            squares.append(_squares(noise, self.direction[run], others[run]))
            scales.append(_relative(noise, estimated[run]))
        self.squares = np.stack(squares)
        self.scale = np.stack(scales)

    @property
    def roots(self) -> Float64Array:
        """Root mean squares of both runs; 0 for a negative estimate."""
        roots: Float64Array = np.sqrt(np.maximum(self.x[:, 0], 0.0))
        return roots

    @property
    def centre(self) -> float:
        """The difference of the roots at which the test statistic Z is 0.

        A mean square below 0 says something of that of the other run, too.
        """
        first, second = self.x[:, 0]
        if min(first, second) >= 0:
            return float(self.roots[0] - self.roots[1])
        gap = first - second
        size = np.sqrt(abs(gap))
        return float(np.copysign(size, gap))

    def at(self, difference: float) -> tuple[float, Float64Array]:
        """Return the statistic Z of the data, and draws of Z for this true difference."""
        known_noise = np.ones((2, 1))
        z, squares = self._studentised(self.x, known_noise, difference)
        draws = self._drawn(squares, difference)
        return float(z[0]), draws

    def detectable(self, level: float) -> float:
        """Return the least difference of roots that the test detects in 8 of 10 cases.

        It is a multiple of 0.01.
        """
        known_noise = np.ones((2, 1))
        _, equal_squares = self._studentised(self.x, known_noise, 0.0)
        equal = np.sqrt(equal_squares)
        null = self._drawn(equal**2, 0.0)
        critical = float(np.quantile(np.abs(null), level))
        fewer = copy(self)
        fewer.direction = self.direction[:, ::_POWER_STRIDE]
        fewer.squares = self.squares[:, ::_POWER_STRIDE]
        fewer.scale = self.scale[:, ::_POWER_STRIDE]

        def detects(difference: float, run: int) -> bool:
            """Return whether a true difference in favour of one run is detected often enough."""
            roots = equal.copy()
            roots[run] += difference
            beyond = roots[run] - np.sqrt(self.top[run])
            if beyond > 0:
                roots = np.maximum(roots - beyond, 0.0)
            draws = fewer._drawn(roots**2, 0.0)
            detected = np.abs(draws) >= critical
            power = float(detected.mean())
            return power >= _POWER

        least = 0
        for run in (0, 1):
            low = least
            high = round(100 * _LARGEST)
            while low < high:
                middle = (low + high) // 2
                if detects(middle / 100, run):
                    high = middle
                else:
                    low = middle + 1
            least = low
        return least / 100

    def _drawn(self, squares: _TwoByDraws, difference: float) -> Float64Array:
        """Return draws of the test statistic Z for a difference, given true mean squares."""
        remaining = self._remaining_noise(squares)
        spread = 2 * np.sqrt(squares * self.along * remaining)
        linear = squares + spread * self.direction
        squared_noise = remaining * self.squares
        estimated_noise = remaining * self.noise * self.scale
        unbiased = linear + squared_noise - estimated_noise
        x = np.minimum(unbiased, self.top)
        z, _ = self._studentised(x, self.scale, difference)
        return z

    def _remaining_noise(self, squares: _TwoByDraws) -> Float64Array:
        """Return the share of the noise that remains if the true mean squares are these."""
        remaining: Float64Array = np.maximum(1 - squares / self.top, _LEAST)
        return remaining

    def _studentised(
        self, x: _TwoByDraws, scale: _TwoByDraws, difference: float
    ) -> tuple[Float64Array, _TwoByDraws]:
        """Return Z for a difference of roots, and the mean squares with it closest to `x`."""
        half = difference / 2
        mean = np.maximum(x.mean(axis=0, keepdims=True), 0.0)
        squares = np.repeat(mean, 2, axis=0)
        for _ in range(_ROUNDS):
            linear, squared = self._variances(squares, scale)
            variances = np.maximum(linear + squared, _NOTHING)
            weights = 1 / variances
            middle = _middle(x, weights, half)
            roots = np.stack([middle + half, middle - half])
            squares = roots**2
        linear, squared = self._variances(squares, scale)
        linear_errors = np.sqrt(linear[0] * linear[1])
        squared_errors = np.sqrt(squared[0] * squared[1])
        shared_linear = self.linear * linear_errors
        shared_squared = self.squared**2 * squared_errors
        covariance = shared_linear + shared_squared
        sum_of_variances = (linear + squared).sum(axis=0)
        variance = sum_of_variances - 2 * covariance
        moved = x[0] - x[1] - squares[0] + squares[1]
        error = np.sqrt(np.maximum(variance, _NOTHING))
        z = moved / error
        return z, squares

    def _variances(
        self, squares: _TwoByDraws, scale: _TwoByDraws
    ) -> tuple[Float64Array, Float64Array]:
        """Return each mean square's variance in two parts: from linear and from squared noise."""
        remaining = self._remaining_noise(squares)
        linear = 4 * squares * self.along * remaining * scale
        factor = remaining * scale
        squared = 2 * self.noise * self.least * factor**2
        return linear, squared


def _middle(x: _TwoByDraws, weights: _TwoByDraws, half: float) -> Float64Array:
    """Return the mean of the two roots that fit the mean squares best, given their distance.

    It is the m that minimises Σ w (x − (m ± half)²)², where neither root is below 0.
    """
    weights = weights / weights.sum(axis=0)
    roots_of_x = np.sqrt(np.maximum(x, 0.0))
    largest_root = roots_of_x.max(axis=0)
    least = abs(half)
    # Newton's method from above, where the derivative is convex.
    m: Float64Array = least + largest_root + _NOTHING
    for _ in range(_STEPS):
        roots = np.stack([m + half, m - half])
        # A quarter of the first derivative, and of the second.
        values = weights * roots * (roots**2 - x)
        slopes = weights * (3 * roots**2 - x)
        value = values.sum(axis=0)
        slope = slopes.sum(axis=0)
        step = np.divide(value, slope, out=np.zeros_like(value), where=slope > 0)
        m = np.maximum(m - step, least)
    return m


def _correlated(normal: npt.NDArray[np.float64], correlation: float) -> Float64Array:
    """Return normal variables of two runs with the given correlation.

    If the runs are exchanged, so are the variables.
    """
    more = np.sqrt(1 + correlation)
    less = np.sqrt(1 - correlation)
    weight_of_same = (more + less) / 2
    weight_of_other = (more - less) / 2
    correlated: Float64Array = weight_of_same * normal + weight_of_other * normal[::-1]
    return correlated


def _squares(
    noise: SquareNoise, direction: Float64Array, others: Float64Array
) -> Float64Array:
    """Return draws of the sum of squared noise, given its part in the direction of the leans."""
    slope, _ = noise.slopes
    df = noise.noise / slope if slope > 0 else 0.0
    if df <= 1:
        return noise.noise * direction**2
    chi_squares = chdtri(df - 1, ndtr(-others))
    drawn: Float64Array = slope * (direction**2 + chi_squares)
    return drawn


def _relative(noise: SquareNoise, normal: Float64Array) -> Float64Array:
    """Return draws of the estimated noise over the true noise; 1 if the noise is known."""
    if not np.isfinite(noise.df) or np.isfinite(noise.top):
        return np.ones_like(normal)
    chi_squares = chdtri(noise.df, ndtr(-normal))
    drawn: Float64Array = chi_squares / noise.df
    return drawn
