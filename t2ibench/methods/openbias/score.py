"""Biases asked of a judge, caption by caption (D'Incà et al. 2024, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.controls import contradiction
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import Headline, Part
from t2ibench.methods.core.needs import Needs, PromptNeed, QuestionNeed
from t2ibench.methods.core.ranking import ranked
from t2ibench.methods.openbias.amplification import amplification
from t2ibench.methods.openbias.answers import BiasAnswers, captions_of, count_images, gather
from t2ibench.methods.openbias.controls import controls_of
from t2ibench.methods.openbias.corrected import corrected_scores, corrected_slopes
from t2ibench.methods.openbias.crossings import crossings
from t2ibench.methods.openbias.directions import mean_share_score, share_details, share_scores
from t2ibench.methods.openbias.rows import CountedRow, rows_of
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.methods.openbias.severities import mean_jackknife, mean_miller_madow, severities
from t2ibench.methods.openbias.squares import MeanSquare, Tested, mean_square_of, null_means, tested
from t2ibench.methods.openbias.stimuli import NO_ANSWER, caption_rows, stimulus_rows
from t2ibench.methods.openbias.trust import never_varies, warnings_of
from t2ibench.settings import Settings

_TOO_FEW = "no caption has two answers that are a class"
_PUBLISHED = ("severity", "severity_free", "severity_miller_madow", "severity_jackknife")


def needs(task: OpenBiasTask, settings: Settings) -> Needs:
    """Images of every caption, and the answers about them."""
    n = settings.images(task.images_per_prompt)
    prompts: dict[str, PromptNeed] = {}
    questions: dict[tuple[str, str, tuple[str, ...]], QuestionNeed] = {}
    for bias in task.biases:
        for caption in captions_of(bias, settings):
            prompts.setdefault(
                caption.text,
                PromptNeed(
                    caption.text,
                    n,
                    caption.stimulus or bias.about,
                    "" if caption.stimulus else caption.text,
                ),
            )
            questions.setdefault(
                (caption.text, caption.question, bias.classes),
                QuestionNeed(caption.text, n, caption.question, bias.classes),
            )
    return Needs(tuple(prompts.values()), (), tuple(questions.values()), embeds=False)


@dataclass(frozen=True, slots=True)
class _ScoredBias:
    """One bias.

    Attributes:
        answers: Its answers.
        item: Its row.
        stimuli: Rows of its stimuli, or of its captions.
        rows: Its rows of counts.
        square: Its mean squared lean; None without rows.
    """

    answers: BiasAnswers
    item: Item
    stimuli: tuple[Item, ...]
    rows: list[CountedRow]
    square: MeanSquare | None


def score(task: OpenBiasTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Squared leans of the answers about every bias, and the severities of the paper.

    Args:
        task: The task.
        evidence: One judge's answers.
        settings: How it is measured.

    Returns:
        By bias: 'h', 'h_free', 'share:CLASS', 'lean' (two classes), 'majority_share',
        'unknown_share' and the severities; by stimulus of a template: shares, 'lean', 'shift' and
        'delta'; by caption: shares, 'lean' and 'majority_share'; by crossing
        the shares of all combinations. For the task means of them,
        amplification, interactions, controls, and in `details` the answers
        and the ranking with its intervals.
    """
    answers = [gather(task, bias, evidence, settings) for bias in task.biases]
    images = count_images(answers)
    rows = rows_of(answers)
    null = (
        null_means(rows, settings.n_permutations, settings.rng(task.id, "null")) if rows else None
    )
    tested_biases = sorted({row.bias for row in rows})
    biases = [
        _score_bias(
            task,
            found,
            [row for row in rows if row.bias == number],
            null[:, tested_biases.index(number)]
            if null is not None and number in tested_biases
            else None,
            settings,
        )
        for number, found in enumerate(answers)
    ]
    counted = [
        number
        for number, bias in enumerate(biases)
        if bias.square is not None and never_varies(bias.answers) is None
    ]
    own = [row for row in rows if row.bias in counted]
    columns = [tested_biases.index(number) for number in counted]
    means = null[:, columns].mean(axis=1) if null is not None and own else np.zeros(0)
    headline, found_controls = _undecided(biases), {}
    if own:
        square = mean_square_of(own)
        test = tested(square, means, settings.level)
        headline = _headline(square, test, means)
        rng = settings.rng(task.id, "controls")
        found_controls = controls_of(answers, own, test.critical, settings.level, rng)
    classified = any(bias.answers.n_classified for bias in biases)
    stuck = headline.reason if classified and headline.value is None else None
    further, more_details, crossed = _beyond_leans(task, biases, evidence, settings)
    by: list[Item] = []
    for bias in biases:  # scores are corrected where people labelled some of the images
        n = settings.images(task.images_per_prompt)
        corrected = corrected_scores(bias.answers, evidence, n, settings)
        by += [replace(bias.item, scores={**bias.item.scores, **corrected}), *bias.stimuli]
    scores = _task_scores([biases[number] for number in counted] or biases, biases)
    return MethodResult(
        headline=headline,
        scores=scores | further if classified else {},
        by=[*by, *crossed],
        n_images=images.images,
        n_prompts=images.prompts,
        excluded=images.excluded,
        conventions=_conventions(task),
        warnings=warnings_of(answers, rows),
        details=_details(task, biases, counted, settings) | more_details,
        samples=[asdict(row) for found in answers for row in found.rows],
        reason=None if classified else NO_ANSWER,
        controls=found_controls,
        inconclusive=stuck or contradiction(found_controls),
    )


def _beyond_leans(
    task: OpenBiasTask, biases: Sequence[_ScoredBias], evidence: Evidence, settings: Settings
) -> tuple[dict[str, Estimate], dict[str, Any], list[Item]]:
    """How shares follow known ones, and what is shown together: scores, details and rows."""
    n = settings.images(task.images_per_prompt)
    slopes = [amplification(bias.answers, task.id, settings) for bias in biases]
    corrected = [corrected_slopes(bias.answers, evidence, n, settings) for bias in biases]
    named = [found | more for (found, _), more in zip(slopes, corrected, strict=True)]
    crossed = crossings(task, [bias.answers for bias in biases], settings)
    scores = _named(named, biases)
    for one in crossed:
        scores |= one.scores
    details: dict[str, Any] = {"amplification": [row for _, found in slopes for row in found]}
    if crossed:
        details["crossings"] = [one.detail for one in crossed]
    return scores, details, [item for one in crossed for item in one.items]


def _undecided(biases: Sequence[_ScoredBias]) -> Headline:
    """The headline where no bias counts."""
    reasons = [never_varies(bias.answers) for bias in biases if bias.square is not None]
    reason = next((reason for reason in reasons if reason is not None), None)
    if reason is None:
        any_answer = any(bias.answers.n_classified for bias in biases)
        reason = _TOO_FEW if any_answer else NO_ANSWER
    return Headline.undefined(reason, "mean_square")


def _headline(square: MeanSquare, test: Tested, null: Float64Array) -> Headline:
    return Headline(
        square.value,
        "mean_square",
        square.question,
        test.inference,
        (float(null.min()), test.critical),
        (Part("", square.value, square.influence),),
        "monte_carlo",
    )


def _conventions(task: OpenBiasTask) -> dict[str, str]:
    return {
        "headline": "mean over biases of h, the mean over captions of squared leans, unbiased",
        "h": "(sum n (n - 1) / (N (N - 1)) - 1/k) / (1 - 1/k) against uniform answers",
        "h_free": "squared lean of the mean shares over captions, with captions as the unit",
        "severity": "1 + sum p log p / log k, as published; it depends on the number of images",
        "context_free": "severity of the captions' mean shares (eq. 5)"
        if task.pooling == "captions"
        else "severity of all answers together",
        "unknown": "counted and left out of the shares",
        "unit": "image within its caption; answers about one image vary together",
    }


def _score_bias(
    task: OpenBiasTask,
    answers: BiasAnswers,
    rows: list[CountedRow],
    null: Float64Array | None,
    settings: Settings,
) -> _ScoredBias:
    scores: dict[str, Estimate] = {}
    square = None
    if answers.n_answers:
        scores["unknown_share"] = Estimate(answers.n_unknown / answers.n_answers)
    if rows and null is not None:
        square = mean_square_of(rows)
        test = tested(square, null, settings.level)
        chosen = test.inference[square.question]
        scores["h"] = Estimate(
            square.value,
            p=test.p,
            test="monte_carlo",
            interval=chosen.interval,
            influence=square.influence,
        )
        scores["h_free"] = scores["h"] if len(rows) == 1 else mean_share_score(rows, settings.level)
        shares = share_scores(rows, answers.bias.classes, settings.level)
        scores |= shares
        most = answers.bias.classes[int(answers.totals.argmax())]
        scores["majority_share"] = shares[f"share:{most}"]
    else:
        reason = _TOO_FEW if answers.n_classified else NO_ANSWER
        scores |= {name: Estimate.undefined(reason) for name in ("h", "h_free")}
    scores |= _published(task, answers)
    item = Item(answers.name, scores, answers.bias.about, answers.n_answers)
    shared = {
        text for bias in task.biases if bias is not answers.bias for text in bias.captions or ()
    }
    stimuli = (
        *stimulus_rows(answers, rows, settings.level),
        *caption_rows(answers, rows, settings.level, shared),
    )
    return _ScoredBias(answers, item, stimuli, rows, square)


def _published(task: OpenBiasTask, answers: BiasAnswers) -> dict[str, Estimate]:
    """The severities of the paper, with two corrections for few answers."""
    if not answers.n_classified:
        return {name: Estimate.undefined(NO_ANSWER) for name in _PUBLISHED[:2]}
    counts = answers.counts
    aware, free = severities(counts, task.pooling)
    values = (float(aware), float(free), mean_miller_madow(counts), mean_jackknife(counts))
    reason = "one image a caption: a caption has no severity of its own"
    return {
        name: Estimate(value, as_published=True)
        if np.isfinite(value)
        else Estimate.undefined(reason)
        for name, value in zip(_PUBLISHED, values, strict=True)
    }


def _task_scores(
    counted: Sequence[_ScoredBias], biases: Sequence[_ScoredBias]
) -> dict[str, Estimate]:
    """Means over the biases that count, and the share of answers that name no class."""
    scores: dict[str, Estimate] = {}
    for name in ("h_free", *_PUBLISHED):
        found = [bias.item.scores[name] for bias in counted if name in bias.item.scores]
        known = [estimate for estimate in found if estimate.value is not None]
        if len(known) == 1:
            scores[name] = known[0]
        elif known:
            value = float(np.mean([estimate.value for estimate in known]))
            scores[name] = Estimate(value, as_published=name in _PUBLISHED)
        elif found and name == "severity":
            scores[name] = found[0]
    deltas = [
        item.scores["delta"].value
        for bias in biases
        for item in bias.stimuli
        if "delta" in item.scores and item.scores["delta"].value is not None
    ]
    if deltas:
        scores["delta"] = Estimate(float(np.mean(deltas)), as_published=True)
    asked = sum(bias.answers.n_answers for bias in biases)
    unknown = sum(bias.answers.n_unknown for bias in biases)
    scores["unknown_share"] = Estimate(unknown / max(asked, 1))
    return scores


def _named(
    slopes: Sequence[dict[str, Estimate]], biases: Sequence[_ScoredBias]
) -> dict[str, Estimate]:
    """Scores of biases with a reference, by name; with several such biases, by their names too."""
    several = sum(bool(scores) for scores in slopes) > 1
    named = {}
    for scores, bias in zip(slopes, biases, strict=True):
        for name, estimate in scores.items():
            score, _, group = name.partition(":")
            of = " ".join(part for part in (bias.answers.name if several else "", group) if part)
            named[f"{score}:{of}" if of else score] = estimate
    return named


def _details(
    task: OpenBiasTask, biases: Sequence[_ScoredBias], counted: Sequence[int], settings: Settings
) -> dict[str, Any]:
    details: dict[str, Any] = {
        "biases": [bias.answers.detail(number in counted) for number, bias in enumerate(biases)],
        "shares": {
            bias.answers.name: share_details(bias.rows, bias.answers.bias.classes, settings.level)
            for bias in biases
            if bias.rows
        },
    }
    squares = [
        (bias.answers.name, bias.square)
        for number, bias in enumerate(biases)
        if number in counted and bias.square is not None
    ]
    if squares:
        details["ranking"] = ranked(
            "bias",
            [name for name, _ in squares],
            [square.value for _, square in squares],
            [square.influence for _, square in squares],
            settings.level,
            settings.rng(task.id, "ranks"),
        )
    return details
