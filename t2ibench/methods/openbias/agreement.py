"""Several judges: the mean of their scores, and how far they agree (D'Incà et al., tables 1, 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from t2ibench.methods.core.estimate import MethodResult, average_results
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.settings import Settings
from t2ibench.stats import kl_divergence, macro_f1


def combine(
    task: OpenBiasTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """The mean over judges, and how far every two of them agree."""
    mean = average_results(results)
    if len(results) < 2 or mean.reason:
        return mean
    pairs = [
        _agreement(results[a], results[b]) | {"judges": [a, b]}
        for a, b in combinations(range(len(results)), 2)
    ]
    return replace(mean, details={**mean.details, "agreement": pairs})


def _agreement(first: MethodResult, second: MethodResult) -> dict[str, Any]:
    """Agreement of two judges on the images that both answered with a class."""

    def answers(result: MethodResult) -> dict[tuple[Any, ...], str]:
        keys = ("prompt", "index", "bias", "question")
        return {
            tuple(row[key] for key in keys): row["answer"]
            for row in result.samples
            if row["answer"] != UNKNOWN
        }

    one, other = answers(first), answers(second)
    both = sorted(one.keys() & other.keys())
    a, b = [one[key] for key in both], [other[key] for key in both]
    details = list(zip(first.details["biases"], second.details["biases"], strict=True))
    severities_ = [
        abs((x.scores["severity"].value or 0.0) - (y.scores["severity"].value or 0.0))
        for x, y in zip(first.by, second.by, strict=True)
        if "severity" in x.scores and "severity" in y.scores
    ]
    divergences = []
    for x, y in details:
        p, q = (np.array(list(each["counts"].values()), dtype=np.float64) for each in (x, y))
        if p.sum() and q.sum():
            # Half an answer more in every class, so that an unused class is no infinity.
            divergences.append(kl_divergence(p + 0.5, q + 0.5))
    return {
        "n": len(both),
        "accuracy": float(np.mean([x == y for x, y in zip(a, b, strict=True)])) if both else None,
        "macro_f1": macro_f1(a, b) if both else None,
        "kl_divergence": float(np.mean(divergences)) if divergences else None,
        "mean_severity_difference": float(np.mean(severities_)) if severities_ else None,
        "same_majority": float(np.mean([x["majority"] == y["majority"] for x, y in details])),
    }
