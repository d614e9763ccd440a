"""How the shares of stimuli follow known shares: slopes over stimuli, and rows apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import logit

from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.schema import Reference
from t2ibench.methods.openbias.answers import BiasAnswers, stimulus_counts
from t2ibench.methods.openbias.directions import class_share, share_influence
from t2ibench.methods.openbias.rows import CountedRow
from t2ibench.settings import Settings
from t2ibench.stats import Slope, correlation_permutation, logit_slope, share_slope

FEWEST = 4  # stimuli of a slope
_EXTREME = "a share of 0 or 1 has no odds"


def beyond_reference(
    answers: BiasAnswers, rows: Sequence[CountedRow], name: str, level: float
) -> dict[str, Estimate]:
    """How far the shares of a stimulus are from the known ones."""
    scores: dict[str, Estimate] = {}
    for reference in answers.bias.known:
        if name in reference.shares:
            scores |= _beyond(answers, rows, reference, reference.shares[name], level)
    return scores


def _beyond(
    answers: BiasAnswers,
    rows: Sequence[CountedRow],
    reference: Reference,
    known: float,
    level: float,
) -> dict[str, Estimate]:
    column = answers.bias.classes.index(reference.group)
    share, influence = class_share(rows, column), share_influence(rows, column)
    low, high = share.interval(level)
    p = share.p(known)
    difference = Estimate(
        share.value - known,
        p=p if np.isfinite(p) else None,
        test="t",
        interval=(low - known, high - known),
        influence=influence,
    )
    odds = Estimate.undefined(_EXTREME)
    if 0 < known < 1 and low > 0 and high < 1 and 0 < share.value < 1:
        odds = Estimate(
            float(logit(share.value) - logit(known)),
            p=difference.p,
            test="t",
            interval=(float(logit(low) - logit(known)), float(logit(high) - logit(known))),
            influence=influence.scaled(1.0 / (share.value * (1.0 - share.value))),
        )
    return {
        f"share_minus_reference:{reference.group}": difference,
        f"log_odds_minus_reference:{reference.group}": odds,
    }


def amplification(
    answers: BiasAnswers, task_id: str, settings: Settings
) -> tuple[dict[str, Estimate], list[dict[str, Any]]]:
    """How steeply the shares of the stimuli follow their known shares, class by class."""
    scores: dict[str, Estimate] = {}
    details = []
    counts = stimulus_counts(answers)
    for reference in answers.bias.known:
        found, detail = _slopes(answers, reference, counts, task_id, settings)
        suffix = f":{reference.group}" if len(answers.bias.known) > 1 else ""
        scores |= {f"{name}{suffix}": estimate for name, estimate in found.items()}
        details += [detail] if detail is not None else []
    return scores, details


def _slopes(
    answers: BiasAnswers,
    reference: Reference,
    counts: Mapping[str, Mapping[str, int]],
    task_id: str,
    settings: Settings,
) -> tuple[dict[str, Estimate], dict[str, Any] | None]:
    found = {
        name: (own[reference.group], total)
        for name, own in counts.items()
        if name in reference.shares and (total := sum(own.values())) > 0
    }
    shares = np.array([reference.shares[name] for name in found])
    if len(found) < FEWEST or not np.ptp(shares) > 0:
        lacking = Estimate.undefined("fewer than four stimuli have different reference shares")
        return {"amplification_slope": lacking}, None
    hits, totals = (np.array(column) for column in zip(*found.values(), strict=True))
    order = list(dict.fromkeys(caption.stimulus for caption in answers.captions))
    units = [order.index(name) for name in found]
    slope, line = logit_slope(hits, totals, shares), share_slope(hits, totals, shares)
    stratum = f"stimuli of {answers.name}"
    # The draws of further classes differ from those of the first.
    own = "" if reference is answers.bias.known[0] else f": {reference.group}"
    rank = correlation_permutation(
        hits / totals, shares, method="spearman", n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task_id, f"correlation of {answers.name}{own}"),
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
