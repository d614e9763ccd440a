"""The correlation of two methods' leans of the same items, with and without the noise of both."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit
from scipy.stats import rankdata

from t2ibench.arrays import Float64Array
from t2ibench.stats.rounding import settled

FEWEST_ITEMS = 8  # of fewer, an interval of a correlation says hardly anything
_DRAWS = 4000
_ALIKE = 1e-12


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation with its interval; nan is what there is not."""

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True, slots=True)
class MethodAgreement:
    """How two methods agree on the same items."""

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
    """Correlate two methods' leans of the same items, and remove the noise of both.

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
        >>> found = correlate_methods(x, y, np.zeros((8, 2, 2)), rng=np.random.default_rng(0))
        >>> round(found.true.value, 4), found.true.value == found.linear.value
        (0.9048, True)
    """
    values = np.array([x, y], dtype=np.float64)
    n = values.shape[1]
    s = np.cov(values)
    linear, rank = (
        _fisher(values, level, 0.0),
        _fisher(rankdata(values, axis=1), level, 0.5),
    )
    errors = (
        np.full((n, 2, 2), np.nan)
        if noise is None
        else np.asarray(noise, dtype=np.float64)
    )
    mean, reason = errors.mean(axis=0), None
    if not np.isfinite(errors).all():
        reason = "the noise of the leans is not known"
    elif not np.isfinite(linear.value):
        reason = "the leans of all items are the same"
    if reason:
        return MethodAgreement(n, rank, linear, None, Correlation(math.nan), reason)
    reliability = (float(1 - mean[0, 0] / s[0, 0]), float(1 - mean[1, 1] / s[1, 1]))
    true, why = _without_noise(s, errors, level, rng)
    return MethodAgreement(n, rank, linear, reliability, true, why)


def _fisher(values: Float64Array, level: float, extra: float) -> Correlation:
    n = values.shape[1]
    a, b = values - values.mean(axis=1, keepdims=True)
    scale = math.sqrt(float(a @ a) * float(b @ b))
    if not scale > _ALIKE:
        return Correlation(math.nan)
    r = float(np.clip(settled(float(a @ b) / scale), -1.0, 1.0))
    if n < 4 or abs(r) == 1:
        return Correlation(r)
    half = -float(stdtrit(np.inf, (1 - level) / 2)) * math.sqrt(
        (1 + extra * r * r) / (n - 3)
    )
    return Correlation(
        r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
    )


def _without_noise(
    s: Float64Array, noise: Float64Array, level: float, rng: np.random.Generator
) -> tuple[Correlation, str | None]:
    """The correlation of S - N with its interval, or why there is none."""
    n = len(noise)
    if n < FEWEST_ITEMS:
        return Correlation(math.nan), f"{n} items; {FEWEST_ITEMS} are the fewest"
    mean = noise.mean(axis=0)
    weights = rng.standard_normal((2 * _DRAWS, n)) * (math.sqrt(2) / n)
    unequal = np.einsum("kn,nab->kab", weights, noise - mean)
    draws = _correlations(_covariances(s, n - 1, rng) - mean - unequal)
    value = float(_correlations((s - mean)[None])[0])
    tail = (1 - level) / 2
    if not np.isfinite(value) or np.isnan(draws).mean() > tail:
        reason = "too noisy, as the items may differ by no more than noise"
        return Correlation(math.nan), reason
    low, high = np.quantile(draws[np.isfinite(draws)], [tail, 1 - tail])
    low, high = (float(np.clip(settled(end), -1.0, 1.0)) for end in (low, high))
    return Correlation(float(settled(value)), low, high), None


def _correlations(matrices: Float64Array) -> Float64Array:
    """Of covariance matrices, shape (k, 2, 2); nan where a variance is not positive."""
    a, b = matrices[:, 0, 0], matrices[:, 1, 1]
    known = (a > 0) & (b > 0)
    scale = np.sqrt(np.where(known, a * b, 1.0))
    found: Float64Array = np.where(known, matrices[:, 0, 1] / scale, np.nan)
    return found


def _covariances(s: Float64Array, df: int, rng: np.random.Generator) -> Float64Array:
    """Covariance matrices of which S may be a sample, shape (draws, 2, 2); either order once."""
    found = []
    for order in ([0, 1], [1, 0]):
        first, second = (
            np.sqrt(rng.chisquare(df, _DRAWS)),
            np.sqrt(rng.chisquare(df - 1, _DRAWS)),
        )
        below = rng.standard_normal(_DRAWS)
        ends, turned = s[np.ix_(order, order)], np.empty((_DRAWS, 2, 2))
        l11 = math.sqrt(ends[0, 0])
        l21 = ends[1, 0] / l11
        l22 = math.sqrt(max(ends[1, 1] - l21**2, 0.0))
        # B = L A⁻¹ √df, lower triangular; T = B Bᵀ.
        b11, b22 = l11 / first, l22 / second
        b21 = l21 / first - l22 * below / (first * second)
        turned[:, 0, 0], turned[:, 1, 1] = df * b11**2, df * (b21**2 + b22**2)
        turned[:, 0, 1] = turned[:, 1, 0] = df * b11 * b21
        found.append(turned[:, order][:, :, order])
    return np.concatenate(found)
