"""Shares of classes, corrected for a judge's errors by people's labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from t2ibench.arrays import Float64Array


@dataclass(frozen=True, slots=True)
class Corrected:
    """A share as people's answers would give it."""

    value: float
    interval: tuple[float, float]
    weight: float  # of the judge's answers, in [0, 1]


def corrected_share(
    judged: npt.ArrayLike,
    labelled: npt.ArrayLike,
    labels: npt.ArrayLike,
    level: float = 0.95,
    *,
    unanswered: float = 0.0,
    labels_of_unanswered: npt.ArrayLike = (),
) -> Corrected:
    """A share from many answers of a judge and a few of people (PPI++, double sampling).

    Among the K images that the judge answered for

    p = w mean(f over all) + mean(y - w f over the labelled), with f and y the indicators of the
    class among the judge's and among people's answers, and w in [0, 1] chosen for the smallest
    variance. It is unbiased whatever errors the judge makes. Without labels p is the judge's share.
    Two labels are added to the variance that the judge got wrong, one each way. Among the U images
    that it did not answer for, for whatever reason, q is the share of the s labels:

    (K p + U q) / M, M = K + U, with the variance
    (K / M)² V_p + (U / M)² q' (1 - q') / s + K U (p - q)² / M³, q' with one more label each way

    The interval is Wilson's, with the effective number of answers.

    Args:
        judged: The judge's indicator of every image that it answered for, shape (K,), 0 or 1.
        labelled: The judge's indicator of the labelled ones of them, a random sample, shape (n,).
        labels: People's indicator of those, shape (n,), n 0 or at least 2.
        level: Confidence level, in (0, 1).
        unanswered: Number of further images, U; estimated, where some show none of the classes.
        labels_of_unanswered: People's indicator of a random sample of them, shape (s,).

    Returns:
        The corrected share.

    Source: Angelopoulos, Duchi & Zrnic 2023, "PPI++: Efficient prediction-powered inference";
    Neyman 1938 for double sampling; Wilson 1927.

    Example:
        >>> found = corrected_share([1] * 60 + [0] * 40, [1] * 12 + [0] * 8, [1] * 12 + [0] * 8)
        >>> round(found.value, 2), found.weight > 0.8
        (0.6, True)
        >>> round(corrected_share([1] * 60 + [0] * 40, [], [], unanswered=50,
        ...                       labels_of_unanswered=[1] * 10).value, 3)
        0.733
    """
    value, variance, weight = _answered_share(
        *(np.asarray(array, dtype=np.float64) for array in (judged, labelled, labels))
    )
    rest = np.asarray(labels_of_unanswered, dtype=np.float64)
    if unanswered and len(rest):
        known = len(np.asarray(judged))
        m, q, s = known + unanswered, float(rest.mean()), len(rest)
        padded = (float(rest.sum()) + 1) / (s + 2)
        variance = (
            (known / m) ** 2 * variance
            + (unanswered / m) ** 2 * padded * (1 - padded) / s
            + known * unanswered * (value - q) ** 2 / m**3
        )
        value = (known * value + unanswered * q) / m
    return Corrected(value, _wilson(float(np.clip(value, 0, 1)), variance, level), weight)


def _answered_share(
    everything: Float64Array, f: Float64Array, y: Float64Array
) -> tuple[float, float, float]:
    """The share among images that the judge answered for, its variance and its weight."""
    n, many = len(y), len(everything)
    if not n:
        padded = (float(everything.sum()) + 2) / (many + 4)
        return float(everything.mean()), padded * (1 - padded) / (many + 4), 1.0
    variance_f = float(f.var(ddof=1))
    weight = 0.0
    if variance_f > 0:
        covariance = float(np.cov(y, f)[0, 1])
        weight = float(np.clip(covariance / variance_f / (1 + n / many), 0.0, 1.0))
    padded_f, padded_y = np.append(f, [0.0, 1.0]), np.append(y, [1.0, 0.0])
    variance = float((padded_y - weight * padded_f).var(ddof=1)) / (n + 2)
    variance += weight**2 * float(everything.var(ddof=1) if many > 1 else 0.0) / many
    return float(weight * everything.mean() + (y - weight * f).mean()), variance, weight


def _wilson(p: float, variance: float, level: float) -> tuple[float, float]:
    """Wilson's interval of a share whose variance is known."""
    if variance == 0:
        return p, p
    z = float(ndtri((1 + level) / 2))
    smoothed = max(p * (1 - p), 0.25 * variance)
    size = smoothed / variance
    centre = (p + z**2 / (2 * size)) / (1 + z**2 / size)
    half = z / (1 + z**2 / size) * np.sqrt(p * (1 - p) / size + z**2 / (4 * size**2))
    return float(max(0.0, centre - half)), float(min(1.0, centre + half))
