"""The rows of a result: one for each question, each stimulus and each caption."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from t2ibench.arrays import IntArray
from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.judge_check import AttributeCheck
from t2ibench.methods.core.score_names import join_score_name
from t2ibench.methods.openbias.answers import BiasAnswers, CountedRow
from t2ibench.methods.openbias.caption_share import caption_share
from t2ibench.methods.openbias.compared_rows import POOLED
from t2ibench.methods.openbias.corrected import (
    check_of,
    scores_from_labels,
    with_corrected_shares,
)
from t2ibench.methods.openbias.judge_warnings import never_varies
from t2ibench.methods.openbias.null_draws import NullDraws
from t2ibench.methods.openbias.published import (
    NO_ANSWER,
    published_scores,
    relative_deviation,
)
from t2ibench.methods.openbias.schema import OpenBiasTask
from t2ibench.methods.openbias.shares import mean_share, share_scores
from t2ibench.methods.openbias.squared_lean_test import squared_lean_test

TOO_FEW = "no caption has two answers that are a class"


@dataclass(frozen=True, slots=True)
class ScoredBias:
    """A bias with its answers, its scored rows, and why it may not count.

    Attributes:
        answers: The answers to the bias.
        items: Its row, then those of its stimuli or of its captions.
        rows: The compared rows of counts; empty where there are too few answers.
        left_out: Why it does not count in the headline, although it has compared rows;
            see `never_varies`.
        check: What people said of the judge elsewhere; None where they labelled images
            of the run.
    """

    answers: BiasAnswers
    items: list[Item]
    rows: list[CountedRow]
    left_out: str | None
    check: AttributeCheck | None

    @property
    def counted(self) -> bool:
        """Whether the bias counts in the headline."""
        return bool(self.rows) and self.left_out is None


def score_bias(
    task: OpenBiasTask,
    answers: BiasAnswers,
    rows: list[CountedRow],
    null_draws: NullDraws | None,
    evidence: Evidence,
    level: float,
) -> ScoredBias:
    """Return a bias with its scores: a row for it, and for each stimulus or caption.

    Args:
        task: The task.
        answers: The answers to the bias.
        rows: Its compared rows of counts.
        null_draws: Draws of mean squared leans; None where no bias has compared rows.
        evidence: The evidence, which may contain a check of the judge.
        level: Confidence level, in (0, 1).
    """
    from_labels = scores_from_labels(answers, level)
    scores = _bias_scores(answers, rows, null_draws, level)
    scores |= published_scores(answers, task.pooling)
    scores |= from_labels
    items = [Item(answers.name, scores, answers.bias.about, answers.n_answers)]
    for stimulus, counts in answers.by_stimulus.items():
        of_stimulus = [row for row in rows if row.stimulus == stimulus]
        items.append(stimulus_row(answers, stimulus, counts, of_stimulus, level))
    items += caption_rows(answers, rows, level, _captions_of_others(task, answers))
    check = None if from_labels else check_of(evidence, answers.bias)
    return ScoredBias(
        answers=answers,
        items=with_corrected_shares(items, check),
        rows=rows,
        left_out=never_varies(answers) if rows else None,
        check=check,
    )


def _bias_scores(
    answers: BiasAnswers,
    rows: Sequence[CountedRow],
    null_draws: NullDraws | None,
    level: float,
) -> dict[str, Estimate]:
    """Return a bias's scores: squared lean, mean class shares, share of unknown answers."""
    scores: dict[str, Estimate] = {}
    if answers.n_answers:
        scores["unknown_share"] = Estimate(answers.n_unknown / answers.n_answers)
    if not rows or null_draws is None:
        reason = TOO_FEW if answers.n_classified else NO_ANSWER
        scores["squared_lean"] = Estimate.undefined(reason)
        return scores
    test = squared_lean_test(rows, null_draws, level)
    scores["squared_lean"] = Estimate(
        test.square.value,
        p=test.p,
        test="monte_carlo",
        interval=test.inference[test.square.question].interval,
        influence=test.square.influence,
    )
    scores |= test.bounds
    shares = share_scores(rows, answers.bias.classes, level)
    scores |= shares
    majority = answers.bias.classes[int(answers.counts.sum(axis=0).argmax())]
    scores["majority_share"] = shares[join_score_name("share", majority)]
    return scores


def stimulus_row(
    answers: BiasAnswers,
    stimulus: str,
    counts: IntArray,
    rows: Sequence[CountedRow],
    level: float,
) -> Item:
    """Return a stimulus's row in the result, with class shares averaged over its captions.

    Args:
        answers: The answers to a bias.
        stimulus: The word in the templates.
        counts: Answers of each class about the stimulus, shape (classes,).
        rows: The compared rows of the stimulus; empty where there are none.
        level: Confidence level, in (0, 1).
    """
    bias = answers.bias
    n_answers = int(counts.sum())
    if not rows:
        reason = "too few answers, or no reference share" if n_answers else NO_ANSWER
        scores = {"relative_deviation": Estimate.undefined(reason)}
        return Item(stimulus, scores, answers.name, n_answers)
    scores = share_scores(rows, bias.classes, level)
    for reference in bias.all_references:
        share = reference.shares.get(stimulus)
        if share is not None:
            column = bias.classes.index(reference.group)
            name = join_score_name("share_minus_reference", reference.group)
            scores[name] = mean_share(rows, column, share, level, origin=share)
    if bias.reference is not None:
        group = bias.reference.group
        scores["relative_deviation"] = relative_deviation(bias, stimulus, group, counts)
    elif len(bias.classes) == 2:
        group = bias.classes[0]
        scores["relative_deviation"] = relative_deviation(bias, stimulus, group, counts)
    return Item(stimulus, scores, answers.name, n_answers)


def caption_rows(
    answers: BiasAnswers,
    rows: Sequence[CountedRow],
    level: float,
    shared_captions: Collection[str],
) -> list[Item]:
    """Return a row for each caption that no template made; none if there is only one.

    Args:
        answers: The answers to a bias.
        rows: Its compared rows of counts.
        level: Confidence level, in (0, 1).
        shared_captions: Captions that other biases are asked about too; the names of
            their rows contain the bias.
    """
    plain = [row for row in rows if row.stimulus is None and row.prompt != POOLED]
    if len(plain) < 2:
        return []
    items = []
    for row in plain:
        scores = _caption_scores(row, answers.bias.classes, level)
        name = row.prompt
        if row.prompt in shared_captions:
            name = f"{row.prompt} ({answers.name})"
        item = Item(name, scores, answers.name, len(row.codes), tested_with="captions")
        items.append(item)
    return items


def _caption_scores(
    row: CountedRow, classes: Sequence[str], level: float
) -> dict[str, Estimate]:
    """Return each class's share of one caption's answers and, for two classes, the lean."""
    shares = [
        caption_share(row, column, float(row.expected[column]), level)
        for column in range(len(classes))
    ]
    scores = {
        join_score_name("share", name): share
        for name, share in zip(classes, shares, strict=True)
    }
    if len(classes) == 2:
        scores["lean"] = caption_share(row, 0, 0.5, level).scaled(2.0, 0.5)
    scores["majority_share"] = shares[int(row.counts.argmax())]
    return scores


def _captions_of_others(task: OpenBiasTask, answers: BiasAnswers) -> set[str]:
    """Return the captions of all biases of a task but the one answered here."""
    captions: set[str] = set()
    for bias in task.biases:
        if bias.full_name != answers.name:
            captions |= set(bias.captions or ())
    return captions
