"""Stimuli that say nearly the same, and what they do to inference about stimuli like these.

"A nurse" and "a registered nurse" have like images, and lean alike. A test about other stimuli
takes each for a draw of its own, so that it rejects too often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from t2ibench.arrays import BoolArray, Float64Array, IntArray
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.headline import Control
from t2ibench.methods.core.leans import Leans
from t2ibench.stats.student import t_test

# The name of the control.
RELATED = "related_stimuli"
_ALPHA = 0.05
# Below this share of the stimuli there are few independent ones.
_FEW = 0.5
# The fewest stimuli of which related ones can be recognised among unrelated ones.
_FEWEST = 4
# Stimuli are related whose images are, in their means, less than half as far apart as others.
_NEAR = 0.25
# Quantile of squared distances that is one of unrelated stimuli also where half are related.
_OTHERS = 0.75


@dataclass(frozen=True, slots=True)
class RelatedTest:
    """A test about stimuli like these, repeated with related stimuli as clusters.

    Attributes:
        count: Number of stimuli.
        independent: Number of independent ones.
        p: p-value with related stimuli as clusters.
    """

    count: int
    independent: float
    p: float

    @property
    def reason(self) -> str:
        """Why a test that rejects without it is inconclusive, as a clause."""
        return (
            f"its {self.count} stimuli are related: they show no more than {self.independent:.1f} "
            "independent ones, which do not show how others would lean"
        )


def related_test(
    p: float | None, df: float | None, leans: Leans, groups: Sequence[IntArray]
) -> RelatedTest | None:
    """Return a test of mean leans about stimuli like these, with related stimuli as clusters.

    With R the matrix of which stimuli are related, e = 1 / mean of R is the number of independent
    ones. With w = N - m D about the mean lean m, the variance of the sum of w is e / (e - 1) w'Rw,
    at least n / (n - 1) w'w, where all are independent. The square of Student's t is divided by the
    ratio of both, and has e - 1 degrees of freedom for each set of stimuli.

    Args:
        p: Of the test without regard to that.
        df: Its degrees of freedom.
        leans: The leans, with the images that they come from.
        groups: Positions of the stimuli of each set.

    Returns:
        None where at least half of the stimuli of every set are independent, or the test does not
        reject.

    Source: White 1980 and Liang and Zeger 1986 for the variance of clusters.
    """
    if p is None or df is None or p >= _ALPHA:
        return None
    matrices = [related_stimuli(leans, at) for at in groups]
    independent = [float(1 / related.mean()) for related in matrices]
    if all(e >= _FEW * len(at) for e, at in zip(independent, groups, strict=True)):
        return None
    parts = [
        _variances(leans, at, related)
        for at, related in zip(groups, matrices, strict=True)
    ]
    of_clusters, of_stimuli = np.array(parts).sum(axis=0)
    t = float(stdtrit(df, p / 2))
    df_of_clusters = max(sum(independent) - len(groups), 1.0)
    allowed = t_test(t, of_clusters / of_stimuli, df_of_clusters)
    count = sum(map(len, groups))
    return RelatedTest(count, sum(independent), max(allowed, p))


def related_stimuli(leans: Leans, at: IntArray) -> BoolArray:
    """Return which of some stimuli have images of nearly the same thing, shape (n, n).

    The squared distance of the means of their images without an attribute, without its noise and
    across the direction of leans, is below a quarter of that of other pairs. Where those are no
    farther apart than noise alone would put them, it cannot be seen which are related: none is.
    """
    count = len(at)
    if count < _FEWEST:
        return np.eye(count, dtype=bool)
    direction = leans.directions[at].mean(axis=0)
    parts = [_mean_across(leans, number, direction) for number in at.tolist()]
    means = np.array([mean for mean, _ in parts])
    noise = np.array([variance for _, variance in parts])
    differences = means[:, None] - means
    noise_of_pairs = noise[:, None] + noise
    squares = (differences**2).sum(axis=-1) - noise_of_pairs
    pairs = np.triu_indices(count, 1)
    others = float(np.quantile(squares[pairs], _OTHERS))
    if others < float(noise_of_pairs[pairs].mean()):
        return np.eye(count, dtype=bool)
    related: BoolArray = squares < _NEAR * others
    np.fill_diagonal(related, val=True)
    return related


def _mean_across(
    leans: Leans, number: int, direction: Float64Array
) -> tuple[Float64Array, float]:
    """Return the mean of a stimulus's images across a direction, and the variance of that mean."""
    wordings = leans.images[number]
    unit = direction / np.linalg.norm(direction)
    means = []
    variance = 0.0
    for images in wordings:
        rows = images.neutral.embeddings
        across = rows - np.outer(rows @ unit, unit)
        means.append(across.mean(axis=0))
        if len(rows) > 1:
            variance += float(across.var(axis=0, ddof=1).sum()) / len(rows)
    mean: Float64Array = np.mean(means, axis=0)
    return mean, variance / len(wordings) ** 2


def _variances(leans: Leans, at: IntArray, related: BoolArray) -> tuple[float, float]:
    """Return the variance of a set's mean lean with related stimuli as clusters, and without."""
    top = leans.top[at]
    bottom = leans.bottom[at]
    total = float(bottom.sum())
    residuals = top - float(top.sum()) / total * bottom
    count = len(at)
    independent = float(1 / related.mean())
    of_stimuli = count / (count - 1) * float(residuals @ residuals)
    of_clusters = float(residuals @ related @ residuals)
    of_clusters *= independent / max(independent - 1, 1 / count)
    return max(of_clusters, of_stimuli) / total**2, of_stimuli / total**2


def related_control(test: RelatedTest | None) -> Control | None:
    """Return the control of whether related stimuli explain a headline; None without a test."""
    if test is None:
        return None
    says = (
        f"By their images the {test.count} stimuli are {test.independent:.1f} independent ones; "
        f"with related ones as clusters, p is {test.p:.2g}."
    )
    reason = test.reason if test.p >= _ALPHA else None
    return Control(says, test.independent, p=test.p, contradicts=reason)


def unless_related(estimate: Estimate, df: float | None, leans: Leans) -> Estimate:
    """Return an estimate about stimuli like these, without its value where related ones explain it.

    Args:
        estimate: A mean over stimuli, with its test.
        df: The degrees of freedom of the test.
        leans: The leans of the stimuli.
    """
    test = related_test(estimate.p, df, leans, [np.arange(len(leans.names))])
    if test is None or estimate.value is None:
        return estimate
    allowed = replace(estimate, p=test.p)
    return allowed.undecided(test.reason) if test.p >= _ALPHA else allowed
