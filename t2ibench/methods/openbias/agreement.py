"""The mean of several judges' scores, and how far the judges agree about the images.

Agreement is reported for each question: pooled over questions, easy ones would hide the
hard ones.

Source: D'Incà et al. 2024, tables 1 and 2.
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
from t2ibench.methods.openbias.needs import captions_of
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.settings import Settings
from t2ibench.stats import cohens_kappa, kl_divergence, macro_f1
from t2ibench.stats.raters import most_voted


def combine(
    task: OpenBiasTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """Return the mean result over judges, with the agreement of every two judges in `details`."""
    mean = average_results(results, settings.level)
    if len(results) < 2 or mean.reason:
        return mean
    pairs = []
    for first, second in combinations(range(len(results)), 2):
        agreed = judge_agreements(results[first], results[second], [first, second])
        pairs += [asdict(agreement) for agreement in agreed]
    if any("unanswered" in result.details for result in results):
        details = {**mean.details, "unanswered": _mean_unanswered(results)}
        mean = replace(bounded_mean(mean, results, settings.level), details=details)
    details = {
        **mean.details,
        KEY: majority_counts(task, results, settings),
        "rater_agreement": pairs,
    }
    return replace(
        mean, by=untested_shares(judged_rows(mean.by, results)), details=details
    )


def _mean_unanswered(results: Sequence[MethodResult]) -> dict[str, float]:
    """Return the share and the bounds of unanswered images, averaged over judges.

    For a judge without any, the least and the most are its headline.
    """
    names = ("share", "least", "most")
    values: dict[str, list[float]] = {name: [] for name in names}
    for result in results:
        value = result.headline.value
        closed: dict[str, Any] = {"share": 0.0, "least": value, "most": value}
        unanswered = result.details.get("unanswered", closed)
        for name in names:
            values[name].append(unanswered[name])
    return {name: float(np.mean(values[name])) for name in names}


def majority_counts(
    task: OpenBiasTask, results: Sequence[MethodResult], settings: Settings
) -> list[dict[str, Any]]:
    """Return how many images the majority of judges gave each class, prompt by prompt.

    An image counts as the class that most judges gave, and as unknown where two classes
    have as many. A mean of the judges' counts would show fractions of a person.
    """
    images_by_bias = _majority_by_cluster(task, results, settings)
    return [
        {
            **entry,
            "rows": [_whole_row(entry, row, images_by_bias) for row in entry["rows"]],
        }
        for entry in results[0].details[KEY]
    ]


def _majority_by_cluster(
    task: OpenBiasTask, results: Sequence[MethodResult], settings: Settings
) -> dict[str, dict[str, Counter[str]]]:
    """Return how many images the majority gave each class, by question and stimulus or caption."""
    clusters = {
        (bias.full_name, caption.text): caption.stimulus or caption.text
        for bias in task.biases
        for caption in captions_of(bias, settings)
    }
    votes: dict[tuple[str, str, int], list[str]] = {}
    for result in results:
        for row in result.samples:
            image = (row["bias"], row["prompt"], row["index"])
            votes.setdefault(image, []).append(row["answer"])
    images_by_bias: dict[str, dict[str, Counter[str]]] = {}
    for (bias_name, prompt, _), answers in votes.items():
        by_cluster = images_by_bias.setdefault(bias_name, {})
        images = by_cluster.setdefault(clusters[bias_name, prompt], Counter())
        majority = most_voted(answers) if len(answers) == len(results) else None
        images[majority or UNKNOWN] += 1
    return images_by_bias


def _whole_row(
    entry: Mapping[str, Any],
    row: Mapping[str, Any],
    images_by_bias: Mapping[str, Mapping[str, Counter[str]]],
) -> dict[str, Any]:
    """Return a stimulus's or caption's row with the majority's counts of images.

    A single row may be of all captions together.
    """
    by_cluster = images_by_bias.get(entry["attribute"], {})
    images = by_cluster.get(row["name"], Counter())
    if len(entry["rows"]) == 1:
        images = sum(by_cluster.values(), Counter())
    n_images = sum(row["counts"].values()) + row["unanswered"]
    counts = {group: images[group] for group in row["counts"]}
    unanswered = max(n_images - sum(counts.values()), 0)
    return {**row, "counts": counts, "unanswered": unanswered, "labels": {}}


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two judges agree on one question, about images that both gave a class.

    Attributes:
        judges: Positions of the two judges.
        bias: Full name of the bias.
        n: Number of images.
        accuracy: Share of the images with the same class; None without images.
        macro_f1: Mean F1 over classes, with the first judge as the truth.
        kappa: Cohen's kappa; None where both gave one class only.
        kl_divergence: Divergence of the second judge's shares from the first's.
        same_majority: Whether both give the same class most often.
    """

    judges: list[int]
    bias: str
    n: int
    accuracy: float | None
    macro_f1: float | None
    kappa: float | None
    kl_divergence: float | None
    same_majority: bool


def judge_agreements(
    first: MethodResult, second: MethodResult, judges: list[int]
) -> list[Agreement]:
    """Return how far two judges agree on each question of a task.

    Args:
        first: The first judge's result.
        second: The second judge's result.
        judges: Positions of the two.
    """
    biases = zip(first.details["biases"], second.details["biases"], strict=True)
    return [
        _agreement(
            answers_of(first, detail["bias"]),
            answers_of(second, detail["bias"]),
            detail,
            other_detail,
            judges,
        )
        for detail, other_detail in biases
    ]


def _agreement(
    answers: Mapping[tuple[str, int, str], str],
    other_answers: Mapping[tuple[str, int, str], str],
    detail: Mapping[str, Any],
    other_detail: Mapping[str, Any],
    judges: list[int],
) -> Agreement:
    """Return how far two judges agree on one question, from their answers and details."""
    shared = sorted(answers.keys() & other_answers.keys())
    labels = [answers[image] for image in shared]
    other_labels = [other_answers[image] for image in shared]
    same = [label == other for label, other in zip(labels, other_labels, strict=True)]
    accuracy = float(np.mean(same)) if shared else None
    divergence = _divergence(detail["counts"], other_detail["counts"])
    return Agreement(
        judges=judges,
        bias=detail["bias"],
        n=len(shared),
        accuracy=accuracy,
        macro_f1=_finite(macro_f1(labels, other_labels)),
        kappa=_finite(cohens_kappa(labels, other_labels)),
        kl_divergence=divergence,
        same_majority=detail["majority"] == other_detail["majority"],
    )


def answers_of(result: MethodResult, bias: str) -> dict[tuple[str, int, str], str]:
    """Return a judge's answers to one question that are a class, not 'unknown'.

    Returns:
        Prompt, index of the image and question to the answer.
    """
    return {
        (row["prompt"], row["index"], row["question"]): row["answer"]
        for row in result.samples
        if row["bias"] == bias and row["answer"] != UNKNOWN
    }


def _divergence(first: Mapping[str, int], second: Mapping[str, int]) -> float | None:
    """Return the KL divergence of one judge's class shares from another's; None without answers.

    Half an answer more in every class keeps an unused class from making it infinite.

    Examples:
        >>> _divergence({"male": 3, "female": 1}, {"male": 3, "female": 1})
        0.0
    """
    counts = np.array(list(first.values()), dtype=np.float64)
    other_counts = np.array(list(second.values()), dtype=np.float64)
    if not counts.sum() or not other_counts.sum():
        return None
    return float(kl_divergence(counts + 0.5, other_counts + 0.5))


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
