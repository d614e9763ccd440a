"""Differences between the mean leans of sets of stimuli."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.lean_scores import noise
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.schema import Concept
from t2ibench.methods.occupations.leans import PairLeans
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.stats import holm

# Stimuli of a set: a single one does not show how others would differ.
_FEWEST = 2
_TOO_FEW = "a set has fewer than two stimuli with images that vary"


def compare_sets(
    task: OccupationsTask, pairs: Sequence[PairLeans], level: float
) -> tuple[dict[str, Estimate], dict[str, Any]]:
    """Return scores that compare the mean leans of every two sets of stimuli, and `details`.

    With N and D of a stimulus as in `leans`, the mean lean of a set s is m_s = Σ N / Σ D over its
    stimuli, with the variance of N - m_s D between them. For each two sets it is (m_s - m_t) / 2 as
    in a T2IAT, with Student's t. What all sets share cancels: words of a group that act on any
    image are no difference. All of it is about other stimuli like these.
    """
    scores: dict[str, Estimate] = {}
    for pair in pairs:
        for first, second in combinations(task.sets, 2):
            name = f"sets:{first.name}-{second.name}{pair.pair.suffix}"
            scores[name] = _half_difference(pair, first, second, level)
    return scores, adjusted_sets(scores)


def adjusted_sets(scores: Mapping[str, Estimate]) -> dict[str, Any]:
    """Return the p-values of every two sets after Holm's correction, for `details`."""
    names = [name for name in scores if name.startswith("sets:")]
    if not names:
        return {}
    adjusted = holm([scores[name].p for name in names])
    return {"sets_holm": dict(zip(names, adjusted, strict=True))}


def _half_difference(
    pair: PairLeans, first: Concept, second: Concept, level: float
) -> Estimate:
    if pair.unclear is not None:
        return Estimate.undefined(pair.unclear)
    lean = _mean_lean(pair.leans, first)
    other = _mean_lean(pair.leans, second)
    if lean is None or other is None:
        return Estimate.undefined(_TOO_FEW)
    influence = Influence.combined([(0.5, lean.influence), (-0.5, other.influence)])
    half = (lean.value - other.value) / (2 * noise(pair.leans))
    return Estimate.from_influence(half, influence, level)


def _mean_lean(leans: Leans, concept: Concept) -> Part | None:
    """Return the mean lean of a set of stimuli; None with fewer than two that vary."""
    at = np.flatnonzero([name in concept.stimuli for name in leans.names])
    if len(at) < _FEWEST:
        return None
    top = leans.top[at]
    bottom = leans.bottom[at]
    lean = float(top.sum() / bottom.sum())
    of_mean = Influence.of_mean(f"stimuli of {concept.name}", at, top - lean * bottom)
    influence = Influence.combined([(1.0 / float(bottom.mean()), of_mean)])
    if not influence.variance > 0:
        return None
    return Part(concept.name, lean, influence)
