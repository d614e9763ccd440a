"""The weights of stimuli in the headline, and the headline with equal weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.leans import TOP, Leans
from t2ibench.methods.occupations.leans import PairLeans

EFFECTIVE = "effective_stimuli"
UNWEIGHTED = "mean_square_unweighted"
WEIGHTING = "mean_square_weighting"
WEIGHT = "weight"
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class StimulusWeights:
    """The weights that stimuli and pairs of groups have in the headline.

    They are D², the squared distances of the groups' images. Each pair's D are shrunk
    to their mean as far as noise tells them apart, so that noise does not make stimuli
    look unequally visible, and divided by their root mean square.

    Attributes:
        names: Names of the stimuli.
        shares: Weight of each pair and stimulus, shape (pairs, stimuli); their sum is 1.
    """

    names: list[str]
    shares: Float64Array

    @classmethod
    def of(cls, pairs: Sequence[PairLeans]) -> StimulusWeights:
        """Compute the weights in the headline from the leans of all pairs of groups."""
        squares = np.array([_visible(pair.leans) ** 2 for pair in pairs])
        squares = squares / squares.sum(axis=1, keepdims=True)
        return cls(list(pairs[0].leans.names), squares / len(pairs))

    @property
    def by_stimulus(self) -> Float64Array:
        """Weight of each stimulus over all pairs, shape (stimuli,)."""
        total: Float64Array = self.shares.sum(axis=0)
        return total

    @property
    def effective_number(self) -> float:
        """Number of stimuli with equal weights that would be worth as much, (Σ w)² / Σ w².

        Examples:
            >>> weights = StimulusWeights(["nurse", "chef"], np.array([[0.9, 0.1]]))
            >>> round(weights.effective_number, 2)
            1.22
        """
        return float(1.0 / (self.by_stimulus**2).sum())


def weight_scores(pairs: Sequence[PairLeans], level: float) -> dict[str, Estimate]:
    """Return three scores on how unequally stimuli count in the headline.

    Returns:
        'effective_stimuli', as many as would share the weight as evenly; 'mean_square_unweighted',
        the mean of lean² - V / D² over all stimuli alike; 'mean_square_weighting', what the weights
        add to that: weighted less unweighted, with Student's t about these stimuli and other
        images.
    """
    names = (EFFECTIVE, UNWEIGHTED, WEIGHTING)
    reason = next((pair.unclear for pair in pairs if pair.unclear), None)
    if reason is not None:
        return dict.fromkeys(names, Estimate.undefined(reason))
    weights = StimulusWeights.of(pairs)
    effective = Estimate(weights.effective_number)
    if any((_visible(pair.leans) <= 0).any() for pair in pairs):
        unseen = Estimate.undefined("a stimulus does not show the groups at all")
        return dict(zip(names, (effective, unseen, unseen), strict=True))
    alike = np.full(weights.shares.shape, 1.0 / weights.shares.size)
    unweighted = Estimate(_mean_square(pairs, alike))
    extra = weights.shares - alike
    # Equal weights differ by rounding, by another amount on another processor, and have no p-value.
    extra[np.abs(extra) < _ROUNDING] = 0.0
    value = _mean_square(pairs, extra)
    influence = _influence(pairs, extra)
    difference = Estimate.from_influence(value, influence, level)
    return dict(zip(names, (effective, unweighted, difference), strict=True))


def weight_rows(pairs: Sequence[PairLeans]) -> list[dict[str, Estimate]]:
    """Return each stimulus's share of the headline's weight, as a score of its row."""
    reason = next((pair.unclear for pair in pairs if pair.unclear), None)
    if reason is not None:
        return [{WEIGHT: Estimate.undefined(reason)} for _ in pairs[0].leans.names]
    shares = StimulusWeights.of(pairs).by_stimulus
    return [{WEIGHT: Estimate(float(share))} for share in shares]


def _visible(leans: Leans) -> Float64Array:
    """Return the shrunk distance of the groups' images in each stimulus, at least 0."""
    visible: Float64Array = np.maximum(leans.denominators, 0.0)
    return visible


def _variance(leans: Leans) -> Float64Array:
    """Return the variance of each lean's numerator N, from the stimulus's own images."""
    if leans.wordings is not None:
        return leans.top_variance[0]
    variance: Float64Array = leans.variances @ TOP**2
    return variance


def _mean_square(pairs: Sequence[PairLeans], weights: Float64Array) -> float:
    """Return the weighted sum of unbiased squared leans over pairs and stimuli."""
    squares = []
    for pair in pairs:
        bottom = _visible(pair.leans)
        squares.append((pair.leans.top**2 - _variance(pair.leans)) / bottom**2)
    return float((weights * np.array(squares)).sum())


def _influence(pairs: Sequence[PairLeans], weights: Float64Array) -> Influence:
    """Return each image's influence on the weighted sum of squared leans.

    A square moves by twice its lean to first order. Of leans near 0 that is nothing, so its
    variance is at least 4 lean² V + 2 V², which has the second order, too.
    """
    parts = []
    floor = 0.0
    for pair, of_pair in zip(pairs, weights, strict=True):
        leans = pair.leans
        bottom = _visible(leans)
        lean = leans.top / bottom
        variance = _variance(leans) / bottom**2
        square = np.maximum(lean**2 - variance, 0.0)
        variance_of_square = 4 * square * variance + 2 * variance**2
        floor += float(of_pair**2 @ variance_of_square)
        for number, weight in enumerate(of_pair):
            slope = 2 * weight * lean[number] / bottom[number]
            parts.append((1.0, leans.influence(number, slope, 0.0)))
    influence = Influence.combined(parts)
    return influence.with_floor(floor) if np.isfinite(influence.variance) else influence
