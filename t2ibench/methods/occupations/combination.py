"""The result of an occupations task over several encoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from t2ibench.methods.core.averages import mean_over_encoders
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.occupations.forms import adjusted
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.methods.occupations.sets import adjusted_sets
from t2ibench.settings import Settings


def combine(
    task: OccupationsTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """Return the mean result over encoders, with p-values of sets and forms Holm-corrected."""
    combined = mean_over_encoders(task, results, settings)
    if len(results) == 1 or not (task.sets or task.concept.forms):
        return combined
    corrected = adjusted_sets(combined.scores) | adjusted(combined.scores)
    return replace(combined, details={**combined.details, **corrected})
