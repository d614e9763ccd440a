"""Rows of stimuli, and how their shares follow reference shares: amplification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.openbias.answers import BiasAnswers
from t2ibench.methods.openbias.directions import class_share, share_influence, share_scores
from t2ibench.methods.openbias.rows import CountedRow, expected_shares
from t2ibench.settings import Settings
from t2ibench.stats import Slope, correlation_permutation, logit_slope, share_slope

NO_ANSWER = "the judge gave no class for any image"
_FEWEST = 4  # stimuli of a slope


def stimulus_rows(
    answers: BiasAnswers, rows: Sequence[CountedRow], level: float
) -> tuple[Item, ...]:
    """A row for each stimulus of the templates.

    Args:
        answers: The answers to one bias.
        rows: Its rows of counts.
        level: Confidence level, in (0, 1).

    Returns:
        Shares, lean, 'shift' from the reference, and 'delta' as published.
    """
    names = dict.fromkeys(
        caption.stimulus for caption in answers.captions if caption.stimulus is not None
    )
    return tuple(
        _stimulus(answers, name, [row for row in rows if row.stimulus == name], level)
        for name in names
    )


def _stimulus(answers: BiasAnswers, name: str, rows: Sequence[CountedRow], level: float) -> Item:
    bias, counts = answers.bias, _counts(answers)[name]
    n = sum(counts.values())
    if not rows:
        reason = "too few answers, or no reference share" if n else NO_ANSWER
        return Item(name, {"delta": Estimate.undefined(reason)}, answers.name, n)
    scores = share_scores(rows, bias.classes, level)
    if bias.reference is not None and name in bias.reference.shares:
        scores["shift"] = _shift(answers, rows, bias.reference.shares[name], level)
    delta = _delta(answers, name, counts)
    return Item(name, scores | ({"delta": delta} if delta else {}), answers.name, n)


def _shift(
    answers: BiasAnswers, rows: Sequence[CountedRow], reference: float, level: float
) -> Estimate:
    """How much farther from even than the reference a share is, to the side of the reference.

    Returns:
        share - reference, with the sign turned where the reference is below 1/k; its p-value tests
        the share against the reference.
    """
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


def _counts(answers: BiasAnswers) -> dict[str, dict[str, int]]:
    """Stimulus to class to number of answers."""
    found: dict[str, dict[str, int]] = {}
    for caption, row in zip(answers.captions, answers.counts.tolist(), strict=True):
        if caption.stimulus is not None:
            sums = found.setdefault(caption.stimulus, dict.fromkeys(answers.bias.classes, 0))
            for name, count in zip(answers.bias.classes, row, strict=True):
                sums[name] += count
    return found


def amplification(
    answers: BiasAnswers, task_id: str, settings: Settings
) -> tuple[dict[str, Estimate], dict[str, Any] | None]:
    """How steeply the shares of the stimuli follow their reference shares.

    Args:
        answers: The answers to one bias.
        task_id: Id of the task, for the draws of the rank correlation.
        settings: Level and draws.

    Returns:
        'amplification_slope', 'share_slope' and 'reference_spearman', and for `details` the tests
        against a slope of 1; nothing without a reference.
    """
    reference = answers.bias.reference
    if reference is None:
        return {}, None
    found = {
        name: (counts[reference.group], total)
        for name, counts in _counts(answers).items()
        if name in reference.shares and (total := sum(counts.values())) > 0
    }
    shares = np.array([reference.shares[name] for name in found])
    if len(found) < _FEWEST or not np.ptp(shares) > 0:
        lacking = Estimate.undefined("fewer than four stimuli have different reference shares")
        return {"amplification_slope": lacking}, None
    hits, totals = (np.array(column) for column in zip(*found.values(), strict=True))
    order = list(dict.fromkeys(caption.stimulus for caption in answers.captions))
    units = [order.index(name) for name in found]
    slope, line = logit_slope(hits, totals, shares), share_slope(hits, totals, shares)
    stratum = f"stimuli of {answers.name}"
    rank = correlation_permutation(
        hits / totals, shares, method="spearman", n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task_id, f"correlation of {answers.name}"),
    )  # fmt: skip
    scores = {
        "amplification_slope": _slope_estimate(slope, stratum, units, settings.level),
        "share_slope": _slope_estimate(line, stratum, units, settings.level),
        "reference_spearman": Estimate(
            rank.observed, null=rank.null, p=rank.p, test="exact" if rank.exact else "monte_carlo"
        ),
    }
    detail = {
        "bias": answers.name,
        "reference": reference.name,
        "class": reference.group,
        "stimuli": len(found),
        "p_mirrors": slope.p(1.0),
        "intercept": slope.intercept,
    }
    return scores, detail


def _slope_estimate(slope: Slope, stratum: str, units: Sequence[int], level: float) -> Estimate:
    if not (np.isfinite(slope.variance) and slope.variance > 0):
        return Estimate(slope.value)
    zeros = np.zeros(len(units), dtype=np.int64)
    influence = Influence((stratum,), zeros, np.array(units, dtype=np.int64), slope.influence)
    return Estimate(
        slope.value,
        p=slope.p(0.0),
        test="t",
        interval=slope.interval(level),
        influence=influence,
    )
