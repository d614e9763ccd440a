"""The correlation of two methods' leans of the same items, with and without the noise of both."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from t2ibench.arrays import Float64Array, as_floats
from t2ibench.stats.ranks import mean_ranks
from t2ibench.stats.rounding import settled

# Of fewer items, an interval of a correlation says hardly anything.
FEWEST_ITEMS = 8
_DRAWS = 4000
_ALIKE = 1e-12


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation with its interval; nan stands for what is unknown."""

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True, slots=True)
class MethodAgreement:
    """Correlations of two methods' leans of the same items, with and without noise."""

    n: int
    rank: Correlation  # Spearman's correlation of the leans as measured
    linear: Correlation  # Pearson's
    # Of either method's leans: the share of their variance between items that is not noise. It may
    # be negative by chance; None where the noise is not known.
    reliability: tuple[float, float] | None
    # The linear correlation without noise. The value may lie beyond 1 by chance, its interval does
    # not. Nan, with a reason, where it cannot be told.
    true: Correlation
    reason: str | None = None  # why `true` has no value


def correlate_methods(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    noise: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
    rng: np.random.Generator,
) -> MethodAgreement:
    """Return correlations of two methods' leans of the same items, with and without noise.

    With S the covariance matrix of the leans between items (divisor n - 1) and N the mean over
    items of the covariance matrices of their errors, the reliabilities are 1 - N_xx / S_xx and
    1 - N_yy / S_yy, and the correlation without noise is that of S - N,

    (S_xy - N_xy) / √((S_xx - N_xx)(S_yy - N_yy)).

    Where the errors are independent this is Spearman's r / √(reliability · reliability).

    Intervals of the measured correlations are Fisher's, tanh(atanh r ± z / √(n - 3)), for ranks
    with √((1 + r² / 2) / (n - 3)) instead. That without noise is from draws of the covariance
    matrix of which S may be a sample: with S = L Lᵀ and A the Cholesky factor of a standard
    Wishart matrix of n - 1 degrees of freedom, T = (n - 1) L (A Aᵀ)⁻¹ Lᵀ; its ends are
    percentiles of the correlation of T - N*, held within ±1. N* is N + √2 / n Σ g_i (N_i - N) with
    standard normal g_i, because noise that differs between items makes S vary more than T does.

    Args:
        x: One method's lean of each item, shape (n,).
        y: The other's, shape (n,).
        noise: Covariance matrix of the errors of each item, shape (n, 2, 2); None, or nan of an
            item, where unknown.
        level: Confidence level, in (0, 1).
        rng: Source of the draws.

    Returns:
        The correlations. `true` has no value for fewer than `FEWEST_ITEMS` items, and where the
        reliability of either is not beyond 0 at this level.

    Source: Spearman 1904, "The proof and measurement of association between two things"; Campbell
    and Fiske 1959 (what it is for); Bonett and Wright 2000 (interval of ranks); Krishnamoorthy and
    Xia 2007 (draws, which without noise give the exact interval of a normal correlation).

    Example:
        >>> x, y = [1, 2, 3, 4, 5, 6, 7, 8], [2, 1, 4, 3, 6, 5, 8, 7]
        >>> both = correlate_methods(x, y, np.zeros((8, 2, 2)), rng=np.random.default_rng(0))
        >>> round(both.true.value, 4), both.true.value == both.linear.value
        (0.9048, True)
    """
    values = np.array([x, y], dtype=np.float64)
    n = values.shape[1]
    s = np.cov(values)
    linear = _fisher(values, level, extra=0.0)
    ranks = np.stack([mean_ranks(leans) for leans in values])
    rank = _fisher(ranks, level, extra=0.5)
    errors = np.full((n, 2, 2), np.nan)
    if noise is not None:
        errors = as_floats(noise)
    mean = errors.mean(axis=0)
    reason = None
    if not np.isfinite(errors).all():
        reason = "the noise of the leans is not known"
    elif not np.isfinite(linear.value):
        reason = "the leans of all items are the same"
    if reason:
        return MethodAgreement(
            n=n,
            rank=rank,
            linear=linear,
            reliability=None,
            true=Correlation(math.nan),
            reason=reason,
        )
    reliability_x = float(1 - mean[0, 0] / s[0, 0])
    reliability_y = float(1 - mean[1, 1] / s[1, 1])
    true, reason = _without_noise(s, errors, level, rng)
    return MethodAgreement(
        n=n,
        rank=rank,
        linear=linear,
        reliability=(reliability_x, reliability_y),
        true=true,
        reason=reason,
    )


def _fisher(values: Float64Array, level: float, extra: float) -> Correlation:
    n = values.shape[1]
    means = values.mean(axis=1, keepdims=True)
    a, b = values - means
    squares_a = float(a @ a)
    squares_b = float(b @ b)
    products = float(a @ b)
    scale = math.sqrt(squares_a * squares_b)
    if not scale > _ALIKE:
        return Correlation(math.nan)
    ratio = settled(products / scale)
    r = float(np.clip(ratio, -1.0, 1.0))
    if n < 4 or abs(r) == 1:
        return Correlation(r)
    quantile = -float(stdtrit(np.inf, (1 - level) / 2))
    variance = (1 + extra * r * r) / (n - 3)
    half = quantile * math.sqrt(variance)
    centre = math.atanh(r)
    low = math.tanh(centre - half)
    high = math.tanh(centre + half)
    return Correlation(value=r, low=low, high=high)


def _without_noise(
    s: Float64Array, noise: Float64Array, level: float, rng: np.random.Generator
) -> tuple[Correlation, str | None]:
    """Return the correlation of leans without noise and its interval, or why there is none."""
    n = len(noise)
    if n < FEWEST_ITEMS:
        return Correlation(math.nan), f"{n} items; {FEWEST_ITEMS} are the fewest"
    mean = noise.mean(axis=0)
    # N* is N plus what noise that differs between items adds.
    normal = rng.standard_normal((2 * _DRAWS, n))
    weights = normal * (math.sqrt(2) / n)
    unequal = np.einsum("kn,nab->kab", weights, noise - mean)
    covariances = _covariances(s, n - 1, rng)
    draws = _correlations(covariances - mean - unequal)
    without_noise = s - mean
    value = float(_correlations(without_noise[None])[0])
    tail = (1 - level) / 2
    share_without_value = np.isnan(draws).mean()
    if not np.isfinite(value) or share_without_value > tail:
        reason = "too noisy, as the items may differ by no more than noise"
        return Correlation(math.nan), reason
    finite = draws[np.isfinite(draws)]
    ends = np.quantile(finite, [tail, 1 - tail])
    low, high = np.clip(settled(ends), -1.0, 1.0).tolist()
    correlation = Correlation(
        value=float(settled(value)),
        low=low,
        high=high,
    )
    return correlation, None


def _correlations(matrices: Float64Array) -> Float64Array:
    """Return the correlation of each covariance matrix; nan if a variance is not positive."""
    variance_x = matrices[:, 0, 0]
    variance_y = matrices[:, 1, 1]
    positive = (variance_x > 0) & (variance_y > 0)
    scale = np.sqrt(np.where(positive, variance_x * variance_y, 1.0))
    covariance = matrices[:, 0, 1]
    return np.where(positive, covariance / scale, np.nan)


def _covariances(s: Float64Array, df: int, rng: np.random.Generator) -> Float64Array:
    """Draw true covariance matrices that are compatible with a sample's, (draws, 2, 2).

    Half of the draws begin with either method, so that their order does not matter.
    """
    draws = []
    for order in ([0, 1], [1, 0]):
        # A, lower triangular: a11, a22 and a21.
        a11 = np.sqrt(rng.chisquare(df, _DRAWS))
        a22 = np.sqrt(rng.chisquare(df - 1, _DRAWS))
        a21 = rng.standard_normal(_DRAWS)
        ordered = s[np.ix_(order, order)]
        l11 = math.sqrt(ordered[0, 0])
        l21 = ordered[1, 0] / l11
        l22 = math.sqrt(max(ordered[1, 1] - l21**2, 0.0))
        # B = L A⁻¹ √df, lower triangular; T = B Bᵀ.
        b11 = l11 / a11
        b22 = l22 / a22
        b21 = l21 / a11 - l22 * a21 / (a11 * a22)
        covariance = df * b11 * b21
        drawn = np.empty((_DRAWS, 2, 2))
        drawn[:, 0, 0] = df * b11**2
        drawn[:, 1, 1] = df * (b21**2 + b22**2)
        drawn[:, 0, 1] = covariance
        drawn[:, 1, 0] = covariance
        draws.append(drawn[:, order][:, :, order])
    return np.concatenate(draws)
