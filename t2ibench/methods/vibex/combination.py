"""The result of a ViBEx task over several encoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.methods.core.averages import average_results, by_key
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.headline import HeadlineEstimate
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.reference import place
from t2ibench.methods.vibex.forward import EFFECTS
from t2ibench.methods.vibex.headline import headline_of_encoders
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.methods.vibex.squared_effects import ProbingResult
from t2ibench.methods.vibex.verdicts import with_verdicts
from t2ibench.settings import Settings
from t2ibench.stats.student import t_test


def combine(
    task: VibexTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """Return the result averaged over encoders, with a headline and verdicts for the mean."""
    mean = average_results(results, settings.level)
    if len(results) == 1 or any(result.reason for result in results):
        return mean
    headline = _mean_headline(task, mean, results, settings)
    tables = by_key([result.by for result in results])
    rows = []
    for item in mean.by:
        same_rows = [table[item.name, item.group].scores for table in tables]
        effects = {
            name: averaged_effect(
                [scores[name] for scores in same_rows],
                len(task.anchors),
                settings.level,
            )
            for name in EFFECTS
            if all(name in scores for scores in same_rows)
        }
        scores = item.scores | effects | _bounded_lean(task, item)
        rows.append(replace(item, scores=scores))
    return with_verdicts(task, replace(mean, headline=headline, by=rows))


def _mean_headline(
    task: VibexTask,
    mean: MethodResult,
    results: Sequence[MethodResult],
    settings: Settings,
) -> HeadlineEstimate:
    """Return the headline averaged over encoders; without a value if an encoder has none."""
    undefined = [part.headline for part in results if part.headline.value is None]
    if undefined:
        return undefined[0]
    rows_of_encoders = [
        {(item.name, item.group) for item in result.by} for result in results
    ]
    all_rows = set[tuple[str, str | None]]().union(*rows_of_encoders)
    if len(all_rows) > min(len(result.by) for result in results):
        reason = "the encoders have vectors of different texts"
        return HeadlineEstimate.undefined(reason, "excess")
    squares = [
        result.squares
        for result in results
        if isinstance(result, ProbingResult) and result.squares is not None
    ]
    if len(squares) < len(results):
        return mean.headline
    return headline_of_encoders(squares, task, settings)


def _bounded_lean(task: VibexTask, item: Item) -> dict[str, Estimate]:
    """Return a concept's lean and shares for two anchors, with intervals within ±1."""
    lean = item.scores.get("lean")
    if lean is None or lean.value is None or lean.interval is None:
        return {}
    lower_end, upper_end = lean.interval
    low = min(max(lower_end, -1.0), lean.value)
    high = max(min(upper_end, 1.0), lean.value)
    first, second = (f"share:{anchor.name}" for anchor in task.anchors)
    share_of_first = (1 + lean.value) / 2
    share_of_second = (1 - lean.value) / 2
    interval_of_first = ((1 + low) / 2, (1 + high) / 2)
    interval_of_second = ((1 - high) / 2, (1 - low) / 2)
    return {
        "lean": replace(lean, interval=(low, high)),
        first: Estimate(share_of_first, interval=interval_of_first),
        second: Estimate(share_of_second, interval=interval_of_second),
    }


def averaged_effect(
    estimates: Sequence[Estimate], n_anchors: int, level: float
) -> Estimate:
    """Return a concept's effect averaged over encoders, with its p-value among reference words.

    The value is the mean; its p compares the mean of each encoder's effect, in units of the spread
    of its reference, with that of each reference word.
    """
    values = [part.value for part in estimates if part.value is not None]
    nulls = [part.null for part in estimates if part.null is not None]
    influences = [part.influence for part in estimates if part.influence is not None]
    if min(len(values), len(nulls), len(influences)) < len(estimates):
        return Estimate.undefined("an encoder has no value")
    spreads = []
    in_spreads = []
    nulls_in_spreads = []
    for value, draws in zip(values, nulls, strict=True):
        spread = float(np.sqrt(np.mean(draws**2))) or 1.0
        spreads.append(spread)
        in_spreads.append(value / spread)
        nulls_in_spreads.append(draws / spread)
    null = np.mean(nulls_in_spreads, axis=0)
    mean_in_spreads = np.mean(in_spreads)
    _, p_among_words = place([mean_in_spreads], null)
    p_of_images = _p_of_images(in_spreads, spreads, influences, n_anchors)
    weight = 1.0 / len(estimates)
    influence = Influence.combined([(weight, part) for part in influences])
    mean = Estimate.from_influence(float(np.mean(values)), influence, level)
    p = float(max(p_among_words[0], p_of_images))
    return replace(mean, null=null, p=p, test="rank")


def _p_of_images(
    in_spreads: Sequence[float],
    spreads: Sequence[float],
    influences: Sequence[Influence],
    n_anchors: int,
) -> float:
    """Return the p-value of a mean effect, given how much an anchor's images vary.

    Student's p times the number of pairs of anchors; 1 where it is not known.
    """
    influence = Influence.combined(
        [
            (1.0 / spread / len(spreads), part)
            for spread, part in zip(spreads, influences, strict=True)
        ]
    )
    p = t_test(float(np.mean(in_spreads)), influence.variance, influence.df)
    corrected = p * n_anchors * (n_anchors - 1) / 2
    return min(1.0, float(np.nan_to_num(corrected, nan=1.0)))
