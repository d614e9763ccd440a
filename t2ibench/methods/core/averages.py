"""Means of scores, rows and results over encoders or judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.headline import average_headlines
from t2ibench.methods.core.inference import Inference
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.row_test import reach_null
from t2ibench.methods.core.schema import BaseTask
from t2ibench.settings import Settings
from t2ibench.stats import p_value
from t2ibench.stats.error_rate import error_rate


def average(estimates: Sequence[Estimate], level: float = 0.95) -> Estimate:
    """Return the mean of one score over encoders, with an interval and a p-value.

    The draws of all encoders come from the same resamples, and their influences are
    those of the same images, so the interval and the p-value of the mean account for
    what the encoders share.
    """
    if len(estimates) == 1:
        return estimates[0]
    without_value = [estimate for estimate in estimates if estimate.value is None]
    if without_value:
        return Estimate.undefined(without_value[0].reason or "an encoder has no value")
    value = float(np.mean([estimate.value for estimate in estimates]))
    first = estimates[0]
    influences = [
        estimate.influence for estimate in estimates if estimate.influence is not None
    ]
    if len(influences) == len(estimates):
        shared = Influence.combined(
            [(1.0 / len(influences), part) for part in influences]
        )
        mean = Estimate.from_influence(value, shared, level)
        mean = _tested_at_null(mean, estimates, level)
        return replace(mean, as_published=first.as_published)
    boot = mean_draws([estimate.boot for estimate in estimates])
    null = mean_draws([estimate.null for estimate in estimates])
    p, test = None, None
    if null is not None and first.test in {"exact", "monte_carlo"}:
        p = p_value(null, value, first.alternative, exact=first.test == "exact")
        test = first.test
    return Estimate(
        value, boot, null, p, test, first.alternative, as_published=first.as_published
    )


def _tested_at_null(
    mean: Estimate, estimates: Sequence[Estimate], level: float
) -> Estimate:
    """Return `mean` with the larger of two p-values: from its variance, and from that at 0.

    The second is from the variance that the scores would have at 0, where every
    estimate says it.
    """
    influences = [
        estimate.null_influence
        for estimate in estimates
        if estimate.null_influence is not None
    ]
    if len(influences) < len(estimates) or mean.value is None:
        return mean
    at_null = Influence.combined(
        [(1.0 / len(influences), influence) for influence in influences]
    )
    tested = Estimate.from_influence(mean.value, at_null, level)
    if mean.p is None or tested.p is None or mean.interval is None:
        return mean
    p = max(mean.p, tested.p)
    low, high = reach_null(*mean.interval, p, level)
    return replace(
        mean, p=p, interval=(float(low), float(high)), null_influence=at_null
    )


def mean_draws(draws: Sequence[Float64Array | None]) -> Float64Array | None:
    """Return several scores' draws averaged draw by draw; None if any are missing or unequal."""
    arrays = [draw for draw in draws if draw is not None]
    if len(arrays) < len(draws) or len({len(array) for array in arrays}) != 1:
        return None
    mean: Float64Array = np.mean(arrays, axis=0)
    return mean


def average_results(
    results: Sequence[MethodResult], level: float = 0.95
) -> MethodResult:
    """Return one result with the mean of every score and row that all encoders have.

    An image counts as excluded where any of them excludes it: by reason, the largest number.
    """
    first = results[0]
    if len(results) == 1:
        return first
    failed = [result for result in results if result.reason]
    if failed:
        return failed[0]
    excluded = Counter(first.excluded)
    warnings: dict[str, None] = {}
    for result in results:
        excluded |= result.excluded
        warnings |= dict.fromkeys(result.warnings)
    reasons = [result.inconclusive for result in results if result.inconclusive]
    headline = average_headlines([result.headline for result in results], level)
    return replace(
        first,
        n_images=min(result.n_images for result in results),
        excluded=excluded,
        headline=headline,
        scores=_average_scores([result.scores for result in results], level),
        by=_average_rows([result.by for result in results], level),
        warnings=list(warnings),
        inconclusive=reasons[0] if reasons else None,
    )


def by_key(
    tables: Sequence[Sequence[Item]],
) -> list[dict[tuple[str, str | None], Item]]:
    """Return, for each result's rows, a dictionary of the rows keyed by name and group."""
    return [{(item.name, item.group): item for item in table} for table in tables]


def _average_rows(tables: Sequence[Sequence[Item]], level: float) -> list[Item]:
    """Return the rows that all encoders have, each with the mean of every score."""
    indexed = by_key(tables)
    return [
        replace(
            item, scores=_average_scores([rows[key].scores for rows in indexed], level)
        )
        for key, item in indexed[0].items()
        if all(key in rows for rows in indexed)
    ]


def bounded_mean(
    mean: MethodResult, results: Sequence[MethodResult], level: float
) -> MethodResult:
    """Return a mean over judges whose intervals allow for images without an answer.

    Such images have no influence, so intervals from influences would ignore them.
    Instead it has the mean of the judges' intervals, and the largest of their p-values. Where that
    p-value rejects nothing, the interval is widened until it holds 0.
    """
    headline = mean.headline
    inferences = [
        result.headline.inference.get(headline.question, Inference())
        for result in results
    ]
    p, interval = _least_sure(
        [inference.p for inference in inferences],
        [inference.interval for inference in inferences],
    )
    low, high = interval or (None, None)
    rejects_nothing = p is not None and p >= error_rate(level)
    if interval is not None and rejects_nothing:
        # A signed mean may lie on either side of 0.
        low = min(interval[0], 0.0)
        high = max(interval[1], 0.0)
    bounded = replace(headline.chosen, ci_low=low, ci_high=high, p=p)
    by = judged_rows(mean.by, results, bound=True)
    by_question = {**headline.inference, headline.question: bounded}
    inference = replace(headline.inference, by_question=by_question)
    return replace(mean, headline=replace(headline, inference=inference), by=by)


def judged_rows(
    rows: Sequence[Item], results: Sequence[MethodResult], *, bound: bool = False
) -> list[Item]:
    """Return rows in which the judges' mean interval replaces an interval without width.

    Their p-value is the judges' largest. With `bound`, every interval is replaced.
    """
    tables = by_key([result.by for result in results])

    def judged(item: Item, name: str, estimate: Estimate) -> Estimate:
        ends = estimate.interval
        if ends is None or not (bound or ends[0] == ends[1]):
            return estimate
        estimates = [table[item.name, item.group].scores[name] for table in tables]
        p, interval = _least_sure(
            [estimate.p for estimate in estimates],
            [estimate.interval for estimate in estimates],
        )
        return replace(estimate, p=p, interval=interval)

    return [
        replace(
            item,
            scores={name: judged(item, name, e) for name, e in item.scores.items()},
        )
        for item in rows
    ]


def untested_shares(rows: Sequence[Item]) -> list[Item]:
    """Return rows without the p-values of shares, whose mean would be tested against 0."""

    def untested(name: str, estimate: Estimate) -> Estimate:
        share = name.startswith("share:") or name == "majority_share"
        return replace(estimate, p=None, test=None) if share else estimate

    return [
        replace(
            item, scores={name: untested(name, e) for name, e in item.scores.items()}
        )
        for item in rows
    ]


def _least_sure(
    p_values: Sequence[float | None], intervals: Sequence[tuple[float, float] | None]
) -> tuple[float | None, tuple[float, float] | None]:
    """Return the judges' largest p-value and mean interval, or None where a judge has none."""
    present = [p for p in p_values if p is not None]
    largest = max(present) if len(present) == len(p_values) else None
    ends = [interval for interval in intervals if interval is not None]
    if len(ends) < len(intervals):
        return largest, None
    low = float(np.mean([low for low, _ in ends]))
    high = float(np.mean([high for _, high in ends]))
    return largest, (low, high)


def mean_over_encoders(
    task: BaseTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """Return the mean of the encoders' results; most methods combine results like this."""
    return average_results(results, settings.level)


def _average_scores(
    scores: Sequence[dict[str, Estimate]], level: float
) -> dict[str, Estimate]:
    return {
        name: average([by_name[name] for by_name in scores], level)
        for name in scores[0]
        if all(name in by_name for by_name in scores)
    }
