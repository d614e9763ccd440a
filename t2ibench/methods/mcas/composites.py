"""The composite scores of the papers: MCAS, delta and alpha, for each target and overall.

They are made of the mean association scores over encoders, not the means of each
encoder's composites.

Source: Mandal, Leavy and Little 2023 (MCAS) and 2024 (delta and alpha, eqs. 3 to 5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.averages import average, average_results
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.mcas.headline import headline_of_items
from t2ibench.methods.mcas.published import IT, ITP, TERMS, TT
from t2ibench.methods.mcas.schema import McasTask
from t2ibench.settings import Settings
from t2ibench.stats import share_slope

MCAS = "composite_association_score"
DELTA = "diffusion_bias"
ALPHA = "bias_amplification"
_SUMMARISED = (*TERMS, MCAS, DELTA, ALPHA)
# The fewest targets of a slope with a standard error.
_FEWEST_TARGETS = 6


def combine(
    task: McasTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """Return the result over encoders, with composite scores for each target and overall."""
    mean = average_results(results, settings.level)
    if mean.reason:
        return mean
    items = [_with_composites(item, settings.level) for item in mean.by]
    scores = dict(mean.scores)
    scores["bias_amplification_slope"] = bias_amplification_slope(items, settings.level)
    by_stereotype: dict[str, Any] = {}
    for name in _SUMMARISED:
        defined = [item for item in items if item.scores[name].value is not None]
        by_stereotype[name] = _summary(task, defined, name)
        estimates = [item.scores[name] for item in defined]
        scores[f"{name}_mean"] = _mean(estimates, settings.level)
    headline = mean.headline
    if len(results) > 1 and headline.value is not None:
        # The mean over encoders of a headline has one inference; both come from the mean leans.
        headline = headline_of_items(task, items, settings.level) or headline
    return replace(
        mean,
        headline=headline,
        by=items,
        scores=scores,
        details={"by_stereotype": by_stereotype},
    )


def composite(ii: float, itp: float, it: float, tt: float) -> dict[str, float]:
    """Return the composite scores MCAS, delta and alpha, computed from four associations.

    composite_association_score = II + ITP + IT + TT
    diffusion_bias = | |II| - |TT| |
    bias_amplification = | (ITP + IT) / (2 TT) |, nan where TT is 0

    Source: Mandal et al. 2024, eqs. 3, 4 and 5.

    Examples:
        >>> composite(0.5, -0.25, 0.75, -0.25)
        {'composite_association_score': 0.75, 'diffusion_bias': 0.25, 'bias_amplification': 1.0}
    """
    return {
        MCAS: ii + itp + it + tt,
        DELTA: abs(abs(ii) - abs(tt)),
        ALPHA: abs((itp + it) / (2.0 * tt)) if tt else math.nan,
    }


def _with_composites(item: Item, level: float) -> Item:
    """Return the row of a target with its composite scores added."""
    return replace(item, scores={**item.scores, **_composites(item.scores, level)})


def _composites(terms: Mapping[str, Estimate], level: float) -> dict[str, Estimate]:
    """Return the composite scores from a target's associations; a missing one counts as 0."""
    values = composite(*(terms[name].value or 0.0 for name in TERMS))
    parts = []
    for name in TERMS:
        influence = terms[name].influence
        if influence is not None:
            parts.append((1.0, influence))
    of_mcas = Influence.combined(parts)
    alpha = Estimate.undefined("TT is 0, so the ratio is not defined")
    if not math.isnan(values[ALPHA]):
        alpha = Estimate(values[ALPHA], as_published=True)
    return {
        MCAS: Estimate.from_influence(values[MCAS], of_mcas, level),
        DELTA: Estimate(values[DELTA], as_published=True),
        ALPHA: alpha,
    }


def bias_amplification_slope(items: Sequence[Item], level: float) -> Estimate:
    """Return the bias amplification over all targets, as the slope of a line.

    It is the slope of (ITP + IT) / 2 on TT.

    Least squares with an intercept, which takes up the distance between images and texts
    that all targets share; HC3 standard errors and Student's t with k - 2 degrees of
    freedom for k targets. Unlike a mean of ratios it does not explode where a TT is near
    0.

    Args:
        items: The rows of the targets.
        level: Confidence level, in (0, 1).
    """
    rows = []
    for item in items:
        values = [item.scores[name].value for name in (ITP, IT, TT)]
        if None not in values:
            rows.append(values)
    terms = np.array(rows, dtype=np.float64)
    if len(terms) < _FEWEST_TARGETS or not np.ptp(terms[:, 2]) > 0:
        reason = f"a slope needs {_FEWEST_TARGETS} targets of different TT"
        return Estimate.undefined(reason)
    itp, it, tt = terms.T
    slope = share_slope((itp + it) / 2.0, np.ones(len(tt)), tt)
    if not np.isfinite(slope.variance):
        return Estimate.undefined("one target alone decides the slope")
    return Estimate.from_t(slope.value, slope.variance, slope.df, level)


def _summary(task: McasTask, items: Sequence[Item], score: str) -> dict[str, Any]:
    """Return a score's minimum, maximum, mean and error, for each stereotype and all targets."""
    attributes = task.attributes
    names = {"A": attributes.A.name, "B": attributes.B.name, "all": "all"}
    stereotype_of = {target.name: target.stereotype for target in task.targets}
    values = [item.scores[score].value or 0.0 for item in items]
    stereotypes = [stereotype_of[item.name] for item in items]
    summary = summarise(values, stereotypes)
    return {names[side]: row for side, row in summary.items()}


def summarise(
    values: Sequence[float], stereotypes: Sequence[str | None]
) -> dict[str, Any]:
    """Return minimum, maximum, mean and standard error of values, by stereotype and overall.

    Source: Mandal et al. 2024, Table 4.

    Examples:
        >>> summary = summarise([1.0, 3.0, 8.0], ["A", "A", "B"])
        >>> summary["A"]["mean"], round(summary["A"]["standard_error"], 6), summary["all"]["mean"]
        (2.0, 1.0, 4.0)
    """
    table: dict[str, Any] = {}
    for side in ("A", "B", "all"):
        chosen = [
            value
            for value, stereotype in zip(values, stereotypes, strict=True)
            if side in {"all", stereotype}
        ]
        if chosen:
            table[side] = _statistics(np.array(chosen, dtype=np.float64))
    return table


def _statistics(values: Float64Array) -> dict[str, Any]:
    """Return minimum, maximum, mean, standard error and count of values.

    The standard error is None for a single value.
    """
    size = len(values)
    standard_error = None
    if size > 1:
        standard_error = float(values.std(ddof=1) / np.sqrt(size))
    return {
        "min": float(values.min()),
        "max": float(values.max()),
        "mean": float(values.mean()),
        "standard_error": standard_error,
        "n": size,
    }


def _mean(estimates: Sequence[Estimate], level: float) -> Estimate:
    """Return the mean of a score over targets, whose estimates share the attributes' prompts."""
    if not estimates:
        return Estimate.undefined("no target has a value")
    return average(estimates, level)
