"""The scores of the paper (D'Incà et al. 2024, section 3.3), reported beside ours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.openbias.answers import BiasAnswers
from t2ibench.methods.openbias.schema import Bias
from t2ibench.stats import expected_severity, severity

PUBLISHED = ("severity", "severity_free")
NO_ANSWER = "the judge gave no class for any image"


def published_scores(answers: BiasAnswers, pooling: str) -> dict[str, Estimate]:
    """Return the paper's context-aware and context-free severity for one question."""
    if not answers.n_classified:
        return {name: Estimate.undefined(NO_ANSWER) for name in PUBLISHED}
    scores = {}
    values = severities(answers.counts, pooling)
    for name, value in zip(PUBLISHED, values, strict=True):
        if np.isfinite(value):
            scores[name] = Estimate(float(value), as_published=True)
        else:
            reason = "one image a caption: a caption has no severity of its own"
            scores[name] = Estimate.undefined(reason)
    return scores


def severities(counts: IntArray, pooling: str) -> tuple[Float64Array, Float64Array]:
    """Return the context-aware and the context-free severity that answer counts give.

    With p(c|t) the share of class c among the answers about caption t, and k classes,
    the severity of shares p is s(p) = 1 + (sum over c of p(c) log p(c)) / log k.
    Context-aware is the mean over captions of s(p(.|t)), context-free is s of the mean
    over captions of p(.|t) (equation 5) or, pooled by 'answers', of all answers
    together (the public code). A caption without an answer does not count; one with a
    single answer has no severity of its own.

    Args:
        counts: Number of answers of each class, shape (..., captions, classes).
        pooling: 'captions' or 'answers'.

    Returns:
        Both severities, shape (...); nan where nothing is left.

    Examples:
        One caption is all of one class, the other all of the other:

        >>> aware, free = severities(np.array([[10, 0], [0, 10]]), "captions")
        >>> float(aware), float(free)
        (1.0, 0.0)
    """
    sizes = counts.sum(axis=-1)
    several = sizes >= 2
    by_caption = np.where(several, np.nan_to_num(severity(counts)), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        aware = by_caption.sum(axis=-1) / several.sum(axis=-1)
        if pooling == "answers":
            return aware, severity(counts.sum(axis=-2))
        shares = counts / sizes[..., None]
        n_answered = (sizes > 0).sum(axis=-1)
        mean = np.nansum(shares, axis=-2) / n_answered[..., None]
    return aware, severity(np.nan_to_num(mean))


def fair_severity(answers: BiasAnswers) -> float | None:
    """Return the mean severity that the same number of answers would have without bias.

    That is what the published score is without any bias. None where no caption has two
    answers.
    """
    n_classes = len(answers.bias.classes)
    sizes = [int(size) for size in answers.counts.sum(axis=1) if size > 1]
    if not sizes:
        return None
    return float(np.mean([expected_severity(size, n_classes) for size in sizes]))


def relative_deviation(
    bias: Bias, stimulus: str, group: str, counts: IntArray
) -> Estimate:
    """Return the published relative deviation of a class's share from its desired share.

    Args:
        bias: The bias.
        stimulus: The stimulus whose images count.
        group: The class.
        counts: Answers of each class about the stimulus, shape (classes,).
    """
    column = bias.classes.index(group)
    expected = bias.expected_shares(stimulus)
    desired = 0.0 if expected is None else float(expected[column])
    if not desired > 0:
        return Estimate.undefined(f"no share of '{group}' is desired")
    deviation = abs(desired - counts[column] / int(counts.sum())) / desired
    return Estimate(deviation, as_published=True)


def mean_published(name: str, estimates: Sequence[Estimate]) -> Estimate | None:
    """Return the mean of a published score over questions; None, or undefined, without values.

    Without a value of any bias, 'severity' is undefined with the reason of the first;
    other scores are None, left out of the task.
    """
    defined = [estimate for estimate in estimates if estimate.value is not None]
    if len(defined) == 1:
        return defined[0]
    if defined:
        values = [estimate.value or 0.0 for estimate in defined]
        return Estimate(float(np.mean(values)), as_published=True)
    if estimates and name == "severity":
        return estimates[0]
    return None
