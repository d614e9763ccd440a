"""Rows of stimuli and of captions: their shares, and how far these are from known ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import binomtest

from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.openbias.amplification import beyond_reference
from t2ibench.methods.openbias.answers import BiasAnswers, stimulus_counts
from t2ibench.methods.openbias.directions import class_share, share_influence, share_scores
from t2ibench.methods.openbias.rows import POOLED, CountedRow, expected_shares

NO_ANSWER = "the judge gave no class for any image"


def stimulus_rows(
    answers: BiasAnswers, rows: Sequence[CountedRow], level: float
) -> tuple[Item, ...]:
    """A row for each stimulus of the templates."""
    names = dict.fromkeys(
        caption.stimulus for caption in answers.captions if caption.stimulus is not None
    )
    return tuple(
        _stimulus(answers, name, [row for row in rows if row.stimulus == name], level)
        for name in names
    )


def caption_rows(
    answers: BiasAnswers, rows: Sequence[CountedRow], level: float, shared: Collection[str]
) -> tuple[Item, ...]:
    """A row for each of several captions that are given as they are."""
    plain = [row for row in rows if row.stimulus is None and row.prompt != POOLED]
    if len(plain) < 2:
        return ()
    classes = answers.bias.classes
    items = []
    for row in plain:
        shares = [
            _exact_share(row, column, float(row.expected[column]), level)
            for column in range(len(classes))
        ]
        scores = {f"share:{name}": share for name, share in zip(classes, shares, strict=True)}
        if len(classes) == 2:
            scores["lean"] = _lean(_exact_share(row, 0, 0.5, level))
        scores["majority_share"] = shares[int(row.counts.argmax())]
        name = f"{row.prompt} ({answers.name})" if row.prompt in shared else row.prompt
        items.append(Item(name, scores, answers.name, len(row.codes), tested_with="captions"))
    return tuple(items)


def _exact_share(row: CountedRow, column: int, expected: float, level: float) -> Estimate:
    """The share of a class in one caption's images, which are independent of each other."""
    found = binomtest(int(row.counts[column]), len(row.codes), expected)
    ends = found.proportion_ci(level, method="exact")
    return Estimate(
        found.statistic,
        p=float(found.pvalue),
        test="binomial",
        interval=(float(ends.low), float(ends.high)),
        influence=share_influence([row], column),
    )


def _lean(share: Estimate) -> Estimate:
    assert share.value is not None and share.interval is not None and share.influence is not None
    low, high = share.interval
    return replace(
        share,
        value=2 * share.value - 1,
        interval=(2 * low - 1, 2 * high - 1),
        influence=share.influence.scaled(2.0),
    )


def _stimulus(answers: BiasAnswers, name: str, rows: Sequence[CountedRow], level: float) -> Item:
    bias, counts = answers.bias, stimulus_counts(answers)[name]
    n = sum(counts.values())
    if not rows:
        reason = "too few answers, or no reference share" if n else NO_ANSWER
        return Item(name, {"delta": Estimate.undefined(reason)}, answers.name, n)
    scores = share_scores(rows, bias.classes, level)
    if bias.reference is not None and name in bias.reference.shares:
        scores["shift"] = _shift(answers, rows, bias.reference.shares[name], level)
    scores |= beyond_reference(answers, rows, name, level)
    delta = _delta(answers, name, counts)
    return Item(name, scores | ({"delta": delta} if delta else {}), answers.name, n)


def _shift(
    answers: BiasAnswers, rows: Sequence[CountedRow], reference: float, level: float
) -> Estimate:
    """How much farther from even than the reference a share is, to the side of the reference."""
    bias = answers.bias
    assert bias.reference is not None
    sign = float(np.sign(reference - 1.0 / len(bias.classes)))
    if not sign:
        return Estimate.undefined("the reference is even, so there is no side to shift to")
    column = bias.classes.index(bias.reference.group)
    share = class_share(rows, column)
    ends = sorted(sign * (end - reference) for end in share.interval(level))
    p = share.p(reference)
    return Estimate(
        sign * (share.value - reference),
        p=p if np.isfinite(p) else None,
        test="t",
        interval=(ends[0], ends[1]),
        influence=share_influence(rows, column).scaled(sign),
    )


def _delta(answers: BiasAnswers, name: str, counts: Mapping[str, int]) -> Estimate | None:
    """|p_desired - p_actual| / p_desired of one class, as published; None where none is named."""
    bias = answers.bias
    group = bias.reference.group if bias.reference is not None else bias.classes[0]
    if bias.reference is None and len(bias.classes) > 2:
        return None
    expected = expected_shares(bias, name)
    desired = 0.0 if expected is None else float(expected[bias.classes.index(group)])
    if not desired > 0:
        return Estimate.undefined(f"no share of '{group}' is desired")
    actual = counts[group] / sum(counts.values())
    return Estimate(abs(desired - actual) / desired, as_published=True)
