"""The slope of true shares on reference shares, from a judge's answers and a few of people's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array
from t2ibench.stats.student import t_interval

FEWEST_LABELS = 100
FEWEST_UNITS = 10  # labelled stimuli


@dataclass(frozen=True, slots=True)
class CorrectedSlope:
    """A slope as people's answers would give it.

    Attributes:
        value: The slope; None with a reason.
        low: Lower end of its interval.
        high: Upper end.
        weight: How far the judge's answers are used, from 0 (labels alone) to 1.
        reason: Why there is none.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    weight: float = 0.0
    reason: str | None = None


def corrected_slope(
    reference: npt.ArrayLike,
    judged: npt.ArrayLike,
    labels: npt.ArrayLike,
    level: float = 0.95,
) -> CorrectedSlope:
    """Least-squares slope of true shares, from many answers of a judge and a few of people.

    b = w b(f over all) + b(y over the labelled) - w b(f over the labelled)

    with b(z) the slope of z on the reference over images, f and y the indicators of the class
    among the judge's and among people's answers, and w in [0, 1] chosen for the smallest variance.
    Whatever errors the judge makes, and however they differ between stimuli, b is unbiased where
    the labelled images are a random sample. Variance and w come from leaving out one stimulus at a
    time, with all its images and labels; Student's t has the labelled stimuli less 2 degrees of
    freedom.

    Args:
        reference: Reference share of each stimulus, shape (units,).
        judged: Images of each stimulus and how many of them the judge gave the class: shape
            (units, 2).
        labels: Of the labelled images of each stimulus their number, how many people gave the
            class, and how many the judge did: shape (units, 3).
        level: Confidence level, in (0, 1).

    Returns:
        The slope; without a value where there are fewer than 100 labels or 10 labelled stimuli.

    Source: Angelopoulos, Duchi & Zrnic 2023, "PPI++"; Efron & Stein 1981 for the jackknife.

    Example:
        A judge that sees every second woman only: half the slope, and all of it after correction.

        >>> r = np.linspace(0.1, 0.9, 20)
        >>> judged = np.column_stack([np.full(20, 100.0), 50 * r])
        >>> labels = np.column_stack([np.full(20, 10.0), 10 * r, 5 * r])
        >>> round(corrected_slope(r, judged, labels).value, 3)
        1.0
    """
    r = np.asarray(reference, dtype=np.float64)
    many, few = np.asarray(judged, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    units = int((few[:, 0] > 0).sum())
    if few[:, 0].sum() < FEWEST_LABELS:
        count = int(few[:, 0].sum())
        return CorrectedSlope(None, reason=f"{count} labels; at least {FEWEST_LABELS} are needed")
    if units < FEWEST_UNITS:
        return CorrectedSlope(
            None, reason=f"{units} labelled stimuli; at least {FEWEST_UNITS} are needed"
        )
    parts = np.array(
        [
            _slopes(r, many[:, 0], many[:, 1]),
            _slopes(r, few[:, 0], few[:, 1]),
            _slopes(r, few[:, 0], few[:, 2]),
        ]
    )
    if not np.isfinite(parts).all():
        return CorrectedSlope(None, reason="the labelled stimuli have one reference share")
    whole, without = parts[:, 0], parts[:, 1:]
    gain, people = without[0] - without[2], without[1]
    covariance = np.cov(people, gain)
    weight = float(np.clip(-covariance[0, 1] / covariance[1, 1], 0, 1)) if gain.std() > 0 else 0.0
    value = float(whole[1] + weight * (whole[0] - whole[2]))
    left = people + weight * gain
    count = len(r)
    variance = (count - 1) / count * float(((left - left.mean()) ** 2).sum())
    low, high = t_interval(value, variance, units - 2, level)
    return CorrectedSlope(value, low, high, weight)


def _slopes(reference: Float64Array, images: Float64Array, hits: Float64Array) -> Float64Array:
    """The slope over images of all units, and without each of them, shape (1 + units,)."""
    sums = np.stack([images, images * reference, images * reference**2, hits, hits * reference])
    total = sums.sum(axis=1, keepdims=True)
    n, x, xx, y, xy = np.concatenate([total, total - sums], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes: Float64Array = (xy - x * y / n) / (xx - x**2 / n)
    return slopes
