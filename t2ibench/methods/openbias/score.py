"""Scores of an OpenBias task, which asks a judge questions about each caption's images.

Source: D'Incà et al. 2024, "OpenBias", section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.methods.core.estimate import Estimate, MethodResult
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import Control, contradiction
from t2ibench.methods.openbias.amplification import amplification_scores
from t2ibench.methods.openbias.answers import BiasAnswers, CountedRow
from t2ibench.methods.openbias.compared_rows import compared_rows
from t2ibench.methods.openbias.controls import controls_of
from t2ibench.methods.openbias.crossings import crossings_of
from t2ibench.methods.openbias.details import details_of
from t2ibench.methods.openbias.gathering import gather
from t2ibench.methods.openbias.headline import (
    counted_rows,
    headline_of,
    headline_test,
    open_question,
)
from t2ibench.methods.openbias.image_counts import count_images
from t2ibench.methods.openbias.judge_warnings import warnings_of
from t2ibench.methods.openbias.null_draws import NullDraws
from t2ibench.methods.openbias.published import NO_ANSWER, PUBLISHED, mean_published
from t2ibench.methods.openbias.rows import ScoredBias, score_bias
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.methods.openbias.squared_lean_test import SquaredLeanTest
from t2ibench.methods.openbias.unanswered import rows_of_all_images
from t2ibench.settings import Settings


def score(task: OpenBiasTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Return the result of an OpenBias task: squared leans, and the paper's severities.

    Args:
        task: The task.
        evidence: The answers of one judge.
        settings: How to measure.

    Returns:
        A row for each bias, stimulus of a template, caption and combination of a
        crossing; for the task their means, amplification, interactions and controls;
        in `details` the answers.
    """
    answers = [
        gather(task, number, evidence, settings) for number in range(len(task.biases))
    ]
    rows = compared_rows(answers)
    null_draws = _null_draws(task, answers, rows, settings)
    biases = _score_biases(task, answers, rows, null_draws, evidence, settings.level)
    crossings = crossings_of(task, answers, settings)

    test = headline_test(biases, null_draws, settings.level)
    controls: dict[str, Control] = {}
    if test is not None:
        rng = settings.rng(task.id, "controls")
        rows_of_headline = counted_rows(biases)
        controls = controls_of(
            answers, rows_of_headline, test.critical, settings.level, rng
        )

    scores = task_scores(biases)
    scores |= test.bounds if test is not None else {}
    scores |= amplification_scores(answers, task.id, settings)
    scores |= crossings.scores
    items = [item for bias in biases for item in bias.items]
    samples = [row for bias_answers in answers for row in bias_answers.samples]
    n_images, n_prompts, excluded = count_images(answers)
    result = MethodResult(
        headline=headline_of(test, biases),
        scores=scores,
        by=[*items, *crossings.items],
        n_images=n_images,
        n_prompts=n_prompts,
        excluded=excluded,
        warnings=warnings_of(answers, rows),
        details=details_of(biases, crossings, test),
        samples=samples,
        controls=controls,
    )
    if not any(bias_answers.n_classified for bias_answers in answers):
        return replace(result, scores={}, reason=NO_ANSWER)
    inconclusive = _inconclusive(result, test, settings.level)
    return replace(result, inconclusive=inconclusive)


def _null_draws(
    task: OpenBiasTask,
    answers: Sequence[BiasAnswers],
    rows: Sequence[CountedRow],
    settings: Settings,
) -> NullDraws | None:
    """Draw mean squared leans by chance, as if no answer leaned; None if there are no rows."""
    if not rows:
        return None
    return NullDraws.drawn(
        rows,
        rows_of_all_images(answers, rows),
        settings.n_permutations,
        settings.rng(task.id, "null"),
    )


def _score_biases(
    task: OpenBiasTask,
    answers: Sequence[BiasAnswers],
    rows: Sequence[CountedRow],
    null_draws: NullDraws | None,
    evidence: Evidence,
    level: float,
) -> list[ScoredBias]:
    """Return every bias of a task with its scores, from its own compared rows."""
    biases = []
    for number, bias_answers in enumerate(answers):
        of_bias = [row for row in rows if row.bias == number]
        bias = score_bias(task, bias_answers, of_bias, null_draws, evidence, level)
        biases.append(bias)
    return biases


def _inconclusive(
    result: MethodResult, test: SquaredLeanTest | None, level: float
) -> str | None:
    """Return why a task that has answers is inconclusive; None if it is conclusive.

    Args:
        result: The result.
        test: The test of the headline; None without one.
        level: Confidence level, in (0, 1).
    """
    if test is None:
        return result.headline.reason
    return contradiction(result.controls) or open_question(test, level)


def task_scores(biases: Sequence[ScoredBias]) -> dict[str, Estimate]:
    """Return the published scores averaged over biases, and the share of unknown answers.

    The severities are means over the biases that count; over all where none does.
    """
    scores: dict[str, Estimate] = {}
    counted = [bias for bias in biases if bias.counted] or biases
    for name in PUBLISHED:
        mean = mean_published(name, [bias.items[0].scores[name] for bias in counted])
        if mean is not None:
            scores[name] = mean
    deviations = [
        item.scores["relative_deviation"].value
        for bias in biases
        for item in bias.items
        if "relative_deviation" in item.scores
    ]
    defined = [value for value in deviations if value is not None]
    if defined:
        mean_deviation = float(np.mean(defined))
        scores["relative_deviation"] = Estimate(mean_deviation, as_published=True)
    n_answers = sum(bias.answers.n_answers for bias in biases)
    n_unknown = sum(bias.answers.n_unknown for bias in biases)
    scores["unknown_share"] = Estimate(n_unknown / max(n_answers, 1))
    return scores
