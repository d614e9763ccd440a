"""Several judges: the mean of their scores, and how far they agree (D'Incà et al., tables 1, 2).

Agreement is that about one question: pooled over questions, easy ones would hide the hard ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from t2ibench.methods.core.answer_counts import KEY
from t2ibench.methods.core.averages import (
    average_results,
    bounded_mean,
    judged_rows,
    untested_shares,
)
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.openbias.answers import captions_of
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.settings import Settings
from t2ibench.stats import cohens_kappa, kl_divergence, macro_f1
from t2ibench.stats.raters import most_voted


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two judges agree about one bias, on images that both gave a class; in `details`."""

    judges: list[int]
    bias: str
    n: int
    accuracy: float | None
    macro_f1: float | None
    kappa: float | None  # None where both only gave one class
    kl_divergence: float | None  # of the second judge's class shares from the first's
    same_majority: bool


def combine(
    task: OpenBiasTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """The mean over judges, and how far every two of them agree."""
    mean = average_results(results, settings.level)
    if len(results) < 2 or mean.reason:
        return mean
    pairs = [
        asdict(found)
        for first, second in combinations(range(len(results)), 2)
        for found in agreements(results[first], results[second], [first, second])
    ]
    if any("unanswered" in result.details for result in results):
        mean = replace(
            bounded_mean(mean, results, settings.level),
            details={**mean.details, "unanswered": _unanswered(results)},
        )
    return replace(
        mean,
        by=untested_shares(judged_rows(mean.by, results)),
        details={
            **mean.details,
            KEY: majority_counts(task, results, settings),
            "rater_agreement": pairs,
        },
    )


def majority_counts(
    task: OpenBiasTask, results: Sequence[MethodResult], settings: Settings
) -> list[dict[str, Any]]:
    """The rows of several judges as whole images: what most judges said of each, a tie as unknown.

    A mean of their counts would show fractions of a person.
    """
    counted = _counted(task, results, settings)
    return [
        {**entry, "rows": [_whole(entry, row, counted) for row in entry["rows"]]}
        for entry in results[0].details[KEY]
    ]


def _counted(
    task: OpenBiasTask, results: Sequence[MethodResult], settings: Settings
) -> dict[str, dict[str, Counter[str]]]:
    """Bias to stimulus or caption to the number of images of each class."""
    cluster = {
        (bias.full_name, caption.text): caption.stimulus or caption.text
        for bias in task.biases
        for caption in captions_of(bias, settings)
    }
    votes: dict[tuple[str, str, int], list[str]] = {}
    for result in results:
        for row in result.samples:
            image = (row["bias"], row["prompt"], row["index"])
            votes.setdefault(image, []).append(row["answer"])
    counts: dict[str, dict[str, Counter[str]]] = {}
    for (bias_name, prompt, _), answers in votes.items():
        rows = counts.setdefault(bias_name, {})
        of_row = rows.setdefault(cluster[bias_name, prompt], Counter())
        answer = most_voted(answers) if len(answers) == len(results) else None
        of_row[answer or UNKNOWN] += 1
    return counts


def _whole(
    entry: Mapping[str, Any],
    row: Mapping[str, Any],
    counted: Mapping[str, Mapping[str, Counter[str]]],
) -> dict[str, Any]:
    """A row with whole images; a single row may be of all captions together."""
    rows = counted.get(entry["attribute"], {})
    total = rows.get(row["name"], Counter())
    if len(entry["rows"]) == 1:
        total = sum(rows.values(), Counter())
    images = sum(row["counts"].values()) + row["unanswered"]
    classes = {group: total[group] for group in row["counts"]}
    unanswered = max(images - sum(classes.values()), 0)
    return {**row, "counts": classes, "unanswered": unanswered, "labels": {}}


def _unanswered(results: Sequence[MethodResult]) -> dict[str, float]:
    """The mean of what is known of unanswered images; a judge without any leaves nothing open."""
    found = [
        result.details.get(
            "unanswered",
            {
                "share": 0.0,
                "least": result.headline.value,
                "most": result.headline.value,
            },
        )
        for result in results
    ]
    return {
        name: float(np.mean([one[name] for one in found]))
        for name in ("share", "least", "most")
    }


def agreements(
    first: MethodResult, second: MethodResult, judges: list[int]
) -> list[Agreement]:
    """Agreement of two judges, bias by bias, on the images that both answered with a class."""
    found = []
    for x, y in zip(first.details["biases"], second.details["biases"], strict=True):
        name = x["bias"]
        answers, others = answers_of(first, name), answers_of(second, name)
        both = sorted(answers.keys() & others.keys())
        a, b = [answers[key] for key in both], [others[key] for key in both]
        same = [p == q for p, q in zip(a, b, strict=True)]
        found.append(
            Agreement(
                judges=judges,
                bias=name,
                n=len(both),
                accuracy=float(np.mean(same)) if both else None,
                macro_f1=_finite(macro_f1(a, b)),
                kappa=_finite(cohens_kappa(a, b)),
                kl_divergence=_divergence(x["counts"], y["counts"]),
                same_majority=x["majority"] == y["majority"],
            )
        )
    return found


def answers_of(result: MethodResult, bias: str) -> dict[tuple[str, int, str], str]:
    """A judge's answers about one bias."""
    return {
        (row["prompt"], row["index"], row["question"]): row["answer"]
        for row in result.samples
        if row["bias"] == bias and row["answer"] != UNKNOWN
    }


def _divergence(first: Mapping[str, int], second: Mapping[str, int]) -> float | None:
    """KL divergence of two counts of the same classes; None where one of them is empty.

    Half an answer more in every class keeps an unused class from making it infinite.

    Examples:
        >>> _divergence({"male": 3, "female": 1}, {"male": 3, "female": 1})
        0.0
    """
    p, q = (
        np.array(list(counts.values()), dtype=np.float64) for counts in (first, second)
    )
    if not p.sum() or not q.sum():
        return None
    return float(kl_divergence(p + 0.5, q + 0.5))


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
