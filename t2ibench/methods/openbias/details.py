"""The `details` of an OpenBias result: the answers from which scores were computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from t2ibench.arrays import IntArray
from t2ibench.methods.core.answer_counts import KEY, CountedAttribute, CountedPrompt
from t2ibench.methods.core.judge_check import CHECKED
from t2ibench.methods.openbias.answers import BiasAnswers, CaptionAnswers
from t2ibench.methods.openbias.compared_rows import POOLED, is_pooled
from t2ibench.methods.openbias.crossings import Crossings
from t2ibench.methods.openbias.published import fair_severity
from t2ibench.methods.openbias.rows import ScoredBias
from t2ibench.methods.openbias.squared_lean_test import SquaredLeanTest


def details_of(
    biases: Sequence[ScoredBias], crossings: Crossings, test: SquaredLeanTest | None
) -> dict[str, Any]:
    """Return the `details` of an OpenBias result: answers, combinations and judge checks.

    Args:
        biases: The scored biases.
        crossings: What their crossings show.
        test: The test of the headline; None without one.
    """
    details: dict[str, Any] = {
        "biases": [bias_detail(bias.answers, bias.counted) for bias in biases],
        KEY: [asdict(counted_answers(bias)) for bias in biases],
    }
    if crossings.details:
        details["crossings"] = crossings.details
    if test is not None and test.unanswered:
        details["unanswered"] = test.unanswered
    checks = [_check_detail(bias) for bias in biases if bias.check is not None]
    if checks:
        details[CHECKED] = checks
    return details


def bias_detail(answers: BiasAnswers, counted: bool) -> dict[str, Any]:
    """Return one bias's entry in `details`, with its question, counts and majority.

    Of equally frequent classes the first is the majority.

    Args:
        answers: The answers to the bias.
        counted: Whether it counts in the headline.
    """
    counts = answers.by_class
    majority = None
    if any(counts.values()):
        majority = max(counts, key=lambda name: counts[name])
    return {
        "bias": answers.name,
        "about": answers.bias.about,
        "question": answers.bias.question,
        "counts": counts,
        "unknown": answers.n_unknown,
        "majority": majority,
        "compared_with": answers.bias.compared_with,
        "counted": counted,
        "severity_fair": fair_severity(answers),
    }


def counted_answers(bias: ScoredBias) -> CountedAttribute:
    """Return how often each answer to one bias was given, by stimulus or caption."""
    answers = bias.answers
    classes = answers.bias.classes
    noun = "prompt" if answers.bias.captions is not None else "stimulus"
    groups: dict[str, list[CaptionAnswers]] = {}
    for caption in answers.captions:
        name = caption.cluster
        if is_pooled(bias.rows):
            name = f"{POOLED}, {len(answers.captions)} captions"
        groups.setdefault(name, []).append(caption)
    return CountedAttribute(
        attribute=answers.name,
        classes=classes,
        rows=tuple(
            _counted_prompt(name, captions, answers)
            for name, captions in groups.items()
        ),
        references={
            reference.group: reference.name for reference in answers.bias.all_references
        },
        noun=noun,
    )


def _counted_prompt(
    name: str, captions: Sequence[CaptionAnswers], answers: BiasAnswers
) -> CountedPrompt:
    """Return the counts of answers and human labels, summed over the given captions."""
    classes = answers.bias.classes
    n_classes = len(classes)
    counts = np.zeros(n_classes, dtype=np.int64)
    labels = np.zeros(n_classes, dtype=np.int64)
    for caption in captions:
        counts += np.bincount(caption.codes, minlength=n_classes)
        labels += _label_counts(caption, n_classes)
    known_shares = {
        reference.group: reference.shares[name]
        for reference in answers.bias.all_references
        if name in reference.shares
    }
    return CountedPrompt(
        name=name,
        counts=dict(zip(classes, counts.tolist(), strict=True)),
        unanswered=sum(len(caption.unanswered) for caption in captions),
        known=known_shares,
        labels=dict(zip(classes, labels.tolist(), strict=True)) if labels.any() else {},
    )


def _label_counts(caption: CaptionAnswers, n_classes: int) -> IntArray:
    """Return how many of a caption's images people labelled as each class."""
    return np.bincount([*caption.people.values()], minlength=n_classes)


def _check_detail(bias: ScoredBias) -> dict[str, Any]:
    """Return the verdict on the judge for one bias, from the check against people."""
    assert bias.check is not None
    return {
        "bias": bias.answers.name,
        "verdict": bias.check.verdict,
        "reason": bias.check.reason,
        "images": bias.check.images,
    }
