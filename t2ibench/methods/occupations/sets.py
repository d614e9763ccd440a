"""Several sets of stimuli compared: do their mean leans differ, and which of them?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from t2ibench.methods.core.averages import mean_over_encoders
from t2ibench.methods.core.estimate import Estimate, MethodResult
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.lean_scores import noise
from t2ibench.methods.occupations.leans import PairLeans
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings
from t2ibench.stats import holm

_FEWEST = 2  # stimuli of a set: one does not show how others would differ


@dataclass(frozen=True, slots=True)
class _Set:
    """One set with its mean lean.

    Attributes:
        name: Of the set.
        count: Of its stimuli.
        lean: Mean of N over mean of D.
        influence: How each stimulus moves the mean lean.
    """

    name: str
    count: int
    lean: float
    influence: Influence


@dataclass(frozen=True, slots=True)
class Compared:
    """The sets of a task compared, for every pair of groups.

    Attributes:
        scores: Name to score.
        details: What results.json holds beside them: p-values after Holm.
    """

    scores: dict[str, Estimate]
    details: dict[str, Any]


def compare_sets(task: OccupationsTask, pairs: Sequence[PairLeans], level: float) -> Compared:
    """Compare the mean leans of the task's sets of stimuli.

    With N and D of a stimulus as in `leans`, the mean lean of a set s is m_s = Σ N / Σ D over its
    stimuli, with the variance v_s of N - m_s D between them. For each pair of groups

    between_sets = mean over pairs of sets of ((m_s - m_t)² - v_s - v_t) / 4,

    the mean square of half the difference of two sets without bias by its noise; its p-value is
    Welch's F test that all mean leans are equal. What all sets share cancels: words of a group that
    act on any image are no difference. For each two sets, (m_s - m_t) / 2 as in a T2IAT, with
    Student's t. All of it is about other stimuli like these.
    """
    scores: dict[str, Estimate] = {}
    for found in pairs if task.sets else ():
        suffix = found.pair.suffix
        sets = _sets(task, found)
        whole = f"between_sets{suffix}"
        if isinstance(sets, str):
            scores[whole] = Estimate.undefined(sets)
            continue
        scores[whole] = _between(sets, noise(found.leans))
        for one, other in combinations(sets, 2):
            scores[f"sets:{one.name}-{other.name}{suffix}"] = Estimate.from_influence(
                (one.lean - other.lean) / (2 * noise(found.leans)),
                Influence.combined([(0.5, one.influence), (-0.5, other.influence)]),
                level,
            )
    return Compared(scores, _adjusted(scores))


def combine(
    task: OccupationsTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """The mean of every score over encoders; what is said of sets follows from the means."""
    combined = mean_over_encoders(task, results, settings)
    if not task.sets or len(results) == 1:
        return combined
    return replace(combined, details={**combined.details, **_adjusted(combined.scores)})


def _adjusted(scores: Mapping[str, Estimate]) -> dict[str, Any]:
    """p-values after Holm: of the tests of all sets, and of every two."""
    return {
        key: dict(zip(names, holm([scores[name].p for name in names]), strict=True))
        for key, prefix in (("between_sets_holm", "between_sets"), ("sets_holm", "sets:"))
        if (names := [name for name in scores if name.startswith(prefix)])
    }


def _sets(task: OccupationsTask, found: PairLeans) -> list[_Set] | str:
    """The sets, or as a clause why they cannot be compared."""
    if found.gate.contradicts is not None:
        return found.gate.contradicts
    number = {name: k for k, name in enumerate(found.leans.names)}
    sets = []
    for concept in task.sets:
        at = np.array([number[word] for word in concept.stimuli if word in number], np.int64)
        if len(at) < _FEWEST:
            return f"the set '{concept.name}' has fewer than two stimuli with images"
        top, bottom = found.leans.top[at], found.leans.bottom[at]
        lean, scale = float(top.sum() / bottom.sum()), 1.0 / float(bottom.mean())
        moved = Influence.of_mean(f"stimuli of {concept.name}", at, top - lean * bottom)
        sets.append(_Set(concept.name, len(at), lean, Influence.combined([(scale, moved)])))
    if any(not one.influence.variance > 0 for one in sets):
        return "the stimuli of a set do not vary"
    return sets


def _between(sets: Sequence[_Set], enlarged: float) -> Estimate:
    from statsmodels.stats.oneway import anova_generic

    squares = [
        ((one.lean - other.lean) ** 2 - one.influence.variance - other.influence.variance) / 4
        for one, other in combinations(sets, 2)
    ]
    counts = np.array([one.count for one in sets], dtype=np.float64)
    tested = anova_generic(
        np.array([one.lean for one in sets]),
        counts * np.array([one.influence.variance for one in sets]),
        counts,
        use_var="unequal",
    )
    return Estimate(float(np.mean(squares)) / enlarged**2, p=float(tested.pvalue), test="f")
