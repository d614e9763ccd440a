"""Several judges: the mean of their scores, and how far they agree (D'Incà et al., tables 1, 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from t2ibench.methods.core.estimate import MethodResult, average_results
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.openbias.answers import AnswerRow, BiasDetail
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.settings import Settings
from t2ibench.stats import kl_divergence, macro_f1


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two judges agree, as an entry of `details`.

    Attributes:
        n: Pairs of answers to the same question, one of each judge, without 'unknown'.
        accuracy: Share of them that are the same.
        macro_f1: Mean F1 over the classes that either judge gave.
        kl_divergence: Mean over biases of the divergence of the second judge's class shares from
            the first's.
        mean_severity_difference: Mean over biases of the absolute difference of severities.
        same_majority: Share of biases with the same majority class.
        judges: Numbers of the two judges.
    """

    n: int
    accuracy: float | None
    macro_f1: float | None
    kl_divergence: float | None
    mean_severity_difference: float | None
    same_majority: float
    judges: list[int]


def combine(
    task: OpenBiasTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """The mean over judges, and how far every two of them agree.

    Args:
        task: The task.
        results: One for each judge.
        settings: How it is measured.

    Returns:
        The means. The first judge's `details`, and in them 'agreement' for each two judges.
    """
    mean = average_results(results)
    if len(results) < 2 or mean.reason:
        return mean
    pairs = [
        asdict(agreement(results[first], results[second], [first, second]))
        for first, second in combinations(range(len(results)), 2)
    ]
    return replace(mean, details={**mean.details, "agreement": pairs})


def agreement(first: MethodResult, second: MethodResult, judges: list[int]) -> Agreement:
    """Agreement of two judges on the images that both answered with a class.

    Args:
        first: One judge's scores of a task.
        second: The other judge's scores of the same task.
        judges: Their numbers.

    Returns:
        The measures of the paper's tables 1 and 2.
    """
    answers, others = _answers(first), _answers(second)
    both = sorted(answers.keys() & others.keys())
    pairs = [(answers[key], others[key]) for key in both]
    details = [
        (BiasDetail(**x), BiasDetail(**y))
        for x, y in zip(first.details["biases"], second.details["biases"], strict=True)
    ]
    divergences = [_divergence(x.counts, y.counts) for x, y in details]
    return Agreement(
        n=len(both),
        accuracy=_mean([x == y for x, y in pairs]),
        macro_f1=macro_f1([x for x, _ in pairs], [y for _, y in pairs]) if both else None,
        kl_divergence=_mean([value for value in divergences if value is not None]),
        mean_severity_difference=_mean(_severity_differences(first, second)),
        same_majority=float(np.mean([x.majority == y.majority for x, y in details])),
        judges=judges,
    )


def _answers(result: MethodResult) -> dict[tuple[str, int, str, str], str]:
    """Every answer but 'unknown', by prompt, image, bias and question."""
    rows = (AnswerRow(**row) for row in result.samples)
    return {
        (row.prompt, row.index, row.bias, row.question): row.answer
        for row in rows
        if row.answer != UNKNOWN
    }


def _divergence(first: Mapping[str, int], second: Mapping[str, int]) -> float | None:
    """KL divergence of two counts of the same classes; None where one of them is empty.

    Half an answer more in every class keeps an unused class from making it infinite.

    Returns:
        The divergence in nats, or None.

    Examples:
        >>> _divergence({"male": 3, "female": 1}, {"male": 3, "female": 1})
        0.0
    """
    p, q = (np.array(list(counts.values()), dtype=np.float64) for counts in (first, second))
    if not p.sum() or not q.sum():
        return None
    return float(kl_divergence(p + 0.5, q + 0.5))


def _severity_differences(first: MethodResult, second: MethodResult) -> list[float]:
    return [
        abs((x.scores["severity"].value or 0.0) - (y.scores["severity"].value or 0.0))
        for x, y in zip(first.by, second.by, strict=True)
        if "severity" in x.scores and "severity" in y.scores
    ]


def _mean(values: Sequence[Any]) -> float | None:
    return float(np.mean(values)) if values else None
