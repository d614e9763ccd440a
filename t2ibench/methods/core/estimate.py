"""A score before it is written down: its value, its bootstrap draws and its null draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from t2ibench.methods.core.evidence import FloatArray
from t2ibench.methods.core.schema import BaseTask
from t2ibench.settings import Settings
from t2ibench.stats import PermutationResult, p_value, percentile_interval

TestKind = Literal["exact", "monte_carlo", "binomial"]


@dataclass(slots=True)
class Estimate:
    """One score.

    Attributes:
        value: The score, or None with a reason.
        boot: Bootstrap draws, shape (draws,).
        null: The statistic under the null, shape (draws,).
        p: p-value, where there is a null.
        test: Where the p-value comes from.
        alternative: Which side it looks at.
        signed: For a headline: `value` is signed, and its magnitude is what counts.
        reason: Why there is no value.
    """

    value: float | None
    boot: FloatArray | None = None
    null: FloatArray | None = None
    p: float | None = None
    test: TestKind | None = None
    alternative: str = "two-sided"
    signed: bool = False
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.value is not None and not np.isfinite(self.value):
            self.value, self.p = None, None
            self.reason = self.reason or "the values do not vary, so the score is undefined"
        if self.p is not None and not np.isfinite(self.p):
            self.p = None


def missing(reason: str) -> Estimate:
    """A score that could not be computed."""
    return Estimate(None, reason=reason)


def tested(
    result: PermutationResult, boot: FloatArray | None, alternative: str = "two-sided"
) -> Estimate:
    """An estimate from a permutation test and bootstrap draws."""
    return Estimate(
        result.observed,
        boot=boot,
        null=result.null,
        p=result.p,
        test="exact" if result.exact else "monte_carlo",
        alternative=alternative,
    )


def above_null(value: float, boot: FloatArray | None, null: FloatArray) -> Estimate:
    """A score that is large where there is bias, beside Monte Carlo draws of its null."""
    p = p_value(null, value, "greater", exact=False)
    return Estimate(value, boot, null, p, "monte_carlo", "greater")


def share_estimate(hits: int, total: int) -> Estimate:
    """A share, with a parametric bootstrap.

    The seed of its draws is fixed because nothing is compared across draws.
    """
    rng = np.random.default_rng(0)
    return Estimate(hits / total, boot=rng.binomial(total, hits / total, 10_000) / total)


def recentred(boot: FloatArray, value: float) -> FloatArray:
    """Draws of a score within [0, 1], moved so that their median is the estimate.

    Resampling inflates magnitudes, entropies and deviations; without this their intervals would
    lie above their estimates.
    """
    found: FloatArray = np.clip(boot - np.nanmedian(boot) + value, 0.0, 1.0)
    return found


def excess(values: FloatArray | float, null: float) -> FloatArray:
    """Scores above what chance alone gives, as a part of what there could be; below it negative."""
    found: FloatArray = (np.asarray(values, dtype=np.float64) - null) / max(1.0 - null, 1e-12)
    return found


def debiased(values: FloatArray | float, null: float) -> FloatArray:
    """`excess`, at least 0: the debiased score max(0, (score - null) / (1 - null))."""
    found: FloatArray = np.maximum(0.0, excess(values, null))
    return found


@dataclass(slots=True)
class Debiased:
    """One score of several that are averaged into a headline.

    Attributes:
        value: Its excess over its null.
        boot: Bootstrap draws of that, about the estimate.
        null: Null draws of that.
    """

    value: float
    boot: FloatArray
    null: FloatArray


def mean_debiased(parts: Sequence[Debiased]) -> Estimate:
    """The headline of several debiased scores.

    They are averaged first and cut at 0 then: a mean of scores that were each cut at 0 would be
    above 0 without any bias.
    """
    value = max(0.0, float(np.mean([one.value for one in parts])))
    boot = np.clip(np.mean([one.boot for one in parts], axis=0), 0.0, 1.0)
    null = np.clip(np.mean([one.null for one in parts], axis=0), 0.0, 1.0)
    return above_null(value, boot, null)


def debiased_part(value: float, boot: FloatArray, null: FloatArray, floor: float) -> Debiased:
    """A score as a part of a headline; resampling's inflation is taken out of its draws."""
    centred = np.nan_to_num(boot - np.nanmedian(boot)) + value
    return Debiased(float(excess(value, floor)), excess(centred, floor), excess(null, floor))


def ranking(
    what: str, names: Sequence[str], boots: FloatArray, level: float
) -> list[dict[str, Any]]:
    """Biases or concepts from the strongest down, each with the interval of its rank.

    Args:
        what: Key of the names in the rows.
        names: Shape (m,).
        boots: Draws of each one's magnitude, shape (m, draws).
        level: Of the intervals.
    """
    ranks = 1.0 + (boots[None, :, :] > boots[:, None, :]).sum(axis=1)
    rows = []
    for place in np.argsort(-np.median(boots, axis=1), kind="stable"):
        low, high = percentile_interval(ranks[place], level)
        rows.append({what: names[place], "rank_low": round(low), "rank_high": round(high)})
    return rows


@dataclass(slots=True)
class Item:
    """A row of `by`: one stimulus, word or target.

    Attributes:
        name: The stimulus.
        group: The concept or side it belongs to.
        scores: Its scores.
        n_images: Images behind them.
    """

    name: str
    scores: dict[str, Estimate]
    group: str | None = None
    n_images: int | None = None


@dataclass(slots=True)
class MethodResult:
    """What a method says of one task with one encoder (or the mean of several).

    Attributes:
        headline: Magnitude in [0, 1]; see `Estimate.signed`.
        scores: Name to estimate.
        by: One row a stimulus.
        n_images: Images that count.
        n_prompts: Distinct prompts (texts, for text-only tasks).
        excluded: Images left out, by reason.
        conventions: Choices that decide the numbers, in words.
        warnings: What a reader must know.
        details: Further JSON values.
        samples: Rows for samples/<task>.jsonl.
        reason: Why the whole task has no score.
    """

    headline: Estimate
    scores: dict[str, Estimate] = field(default_factory=dict)
    by: list[Item] = field(default_factory=list)
    n_images: int = 0
    n_prompts: int = 0
    excluded: Counter[str] = field(default_factory=Counter)
    conventions: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    samples: list[dict[str, Any]] = field(default_factory=list)
    reason: str | None = None


def average(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of one score over encoders, draw by draw.

    The draws of all encoders come from the same resamples, so the interval and the p-value of
    the mean account for what the encoders share.
    """
    if len(estimates) == 1:
        return estimates[0]
    lacking = [item for item in estimates if item.value is None]
    if lacking:
        return missing(lacking[0].reason or "an encoder has no value")
    value = float(np.mean([item.value for item in estimates]))
    boot = _mean_draws([item.boot for item in estimates])
    null = _mean_draws([item.null for item in estimates])
    first = estimates[0]
    p, test = None, None
    if null is not None and first.test in {"exact", "monte_carlo"}:
        p = p_value(null, value, first.alternative, exact=first.test == "exact")
        test = first.test
    return Estimate(value, boot, null, p, test, first.alternative, first.signed)


def _mean_draws(draws: Sequence[FloatArray | None]) -> FloatArray | None:
    arrays = [draw for draw in draws if draw is not None]
    if len(arrays) < len(draws) or len({len(array) for array in arrays}) != 1:
        return None
    mean: FloatArray = np.mean(arrays, axis=0)
    return mean


def average_results(results: Sequence[MethodResult]) -> MethodResult:
    """The mean of every score over encoders; counts and samples are the first encoder's."""
    first = results[0]
    if len(results) == 1:
        return first
    failed = [result for result in results if result.reason]
    if failed:
        return failed[0]
    by = [
        Item(
            item.name,
            _average_scores([result.by[row].scores for result in results]),
            item.group,
            item.n_images,
        )
        for row, item in enumerate(first.by)
    ]
    warnings = list(dict.fromkeys(text for result in results for text in result.warnings))
    return MethodResult(
        average([result.headline for result in results]),
        _average_scores([result.scores for result in results]),
        by,
        first.n_images,
        first.n_prompts,
        first.excluded,
        first.conventions,
        warnings,
        first.details,
        first.samples,
    )


def mean_over_encoders(
    task: BaseTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """The `combine` of most methods: every score's mean over encoders.

    Args:
        task: The task.
        results: One an encoder.
        settings: How it is measured.

    Returns:
        The means.
    """
    return average_results(results)


def _average_scores(scores: Sequence[dict[str, Estimate]]) -> dict[str, Estimate]:
    return {
        name: average([one[name] for one in scores])
        for name in scores[0]
        if all(name in one for one in scores)
    }
