"""A score before it is written down: its value, its bootstrap draws and its null draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.controls import Control
from t2ibench.methods.core.debias import (
    Debiased,
    debiased,
    debiased_part,
    excess,
    ranking,
    recentred,
)
from t2ibench.methods.core.evidence import ImageCollector
from t2ibench.methods.core.headline import Headline, average_headlines, t_inference
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.schema import BaseTask
from t2ibench.settings import Settings
from t2ibench.stats import PermutationResult, p_value

__all__ = [
    "Debiased",
    "Estimate",
    "Item",
    "MethodResult",
    "TestKind",
    "average",
    "average_results",
    "debiased",
    "debiased_part",
    "excess",
    "mean_debiased",
    "mean_over_encoders",
    "ranking",
    "recentred",
    "share_estimate",
]

TestKind = Literal["exact", "monte_carlo", "binomial", "t", "f", "rank"]
_NO_VARIATION = "the values do not vary, so the score is undefined"


@dataclass(frozen=True, slots=True)
class Estimate:
    """One score.

    A value that is not finite becomes None with a reason, and has no p-value.

    Attributes:
        value: The score, or None with a reason.
        boot: Bootstrap draws, shape (draws,).
        null: The statistic under the null, shape (draws,).
        p: p-value; None without a null.
        test: Kind of test behind the p-value.
        alternative: Which side it looks at.
        signed: For a headline: `value` is signed, and its magnitude is what counts.
        interval: Confidence interval that does not come from bootstrap draws; None takes their
            percentiles.
        influence: How the score moves with each image, for comparing it between runs.
        as_published: A convention of the paper whose uncertainty is not calibrated: shown
            beside ours, never as the headline.
        reason: Why the value is None.

    Examples:
        >>> Estimate(float("nan")).reason
        'the values do not vary, so the score is undefined'
    """

    value: float | None
    boot: Float64Array | None = None
    null: Float64Array | None = None
    p: float | None = None
    test: TestKind | None = None
    alternative: str = "two-sided"
    signed: bool = False
    reason: str | None = None
    interval: tuple[float, float] | None = None
    influence: Influence | None = None
    as_published: bool = False

    def __post_init__(self) -> None:
        undefined = self.value is not None and not np.isfinite(self.value)
        if undefined:
            object.__setattr__(self, "value", None)
            object.__setattr__(self, "reason", self.reason or _NO_VARIATION)
        if undefined or (self.p is not None and not np.isfinite(self.p)):
            object.__setattr__(self, "p", None)

    @classmethod
    def undefined(cls, reason: str) -> Estimate:
        """A score that could not be computed.

        Args:
            reason: Why, as a clause without a full stop.

        Returns:
            An estimate without a value.
        """
        return cls(None, reason=reason)

    @classmethod
    def from_influence(cls, value: float, influence: Influence, level: float) -> Estimate:
        """A score whose images are known to move it.

        Args:
            value: The score.
            influence: How each unit moves it.
            level: Confidence level, in (0, 1).

        Returns:
            The score with Student's t interval and p-value, without them where the variance is
            unknown.
        """
        found = t_inference(value, influence, level)
        interval = None if found.low is None or found.high is None else (found.low, found.high)
        return cls(value, p=found.p, test="t", interval=interval, influence=influence)

    @classmethod
    def from_permutation(
        cls,
        result: PermutationResult,
        boot: Float64Array | None,
        alternative: str = "two-sided",
        *,
        signed: bool = False,
    ) -> Estimate:
        """The statistic of a permutation test.

        Args:
            result: Its value, its null and its p-value.
            boot: Bootstrap draws of the statistic, shape (draws,).
            alternative: Which side the p-value looks at.
            signed: For a headline whose magnitude is what counts.

        Returns:
            The estimate, with the p-value of the test.
        """
        test: TestKind = "exact" if result.exact else "monte_carlo"
        return cls(result.observed, boot, result.null, result.p, test, alternative, signed)

    @classmethod
    def from_null(cls, value: float, boot: Float64Array | None, null: Float64Array) -> Estimate:
        """A score that is large where there is bias, beside Monte Carlo draws of its null.

        p = (1 + number of draws >= value) / (1 + draws).

        Args:
            value: The score.
            boot: Its bootstrap draws, shape (draws,).
            null: Draws of the score without bias, shape (draws,).

        Returns:
            The estimate with its one-sided p-value.

        Examples:
            >>> Estimate.from_null(0.5, None, np.array([0.1, 0.2, 0.6])).p
            0.5
        """
        p = p_value(null, value, "greater", exact=False)
        return cls(value, boot, null, p, "monte_carlo", "greater")


def share_estimate(hits: int, total: int) -> Estimate:
    """A share, with a parametric bootstrap.

    The seed of its draws is fixed because nothing is compared across draws.

    Args:
        hits: Number of hits.
        total: Out of how many, at least 1.

    Returns:
        hits / total with 10,000 binomial draws of it.

    Examples:
        >>> share_estimate(3, 4).value
        0.75
    """
    rng = np.random.default_rng(0)
    return Estimate(hits / total, boot=rng.binomial(total, hits / total, 10_000) / total)


def mean_debiased(parts: Sequence[Debiased]) -> Estimate:
    """The headline of several debiased scores.

    They are averaged first and cut at 0 then: a mean of scores that were each cut at 0 would be
    above 0 without any bias.

    Args:
        parts: One or more, with equally many draws.

    Returns:
        max(0, mean of the excesses), with its interval and its p-value.

    Examples:
        >>> draws = np.zeros(3)
        >>> parts = [Debiased(0.5, draws, draws), Debiased(-0.25, draws, draws)]
        >>> mean_debiased(parts).value
        0.125
    """
    value = max(0.0, float(np.mean([part.value for part in parts])))
    boot = np.clip(np.mean([part.boot for part in parts], axis=0), 0.0, 1.0)
    null = np.clip(np.mean([part.null for part in parts], axis=0), 0.0, 1.0)
    return Estimate.from_null(value, boot, null)


@dataclass(frozen=True, slots=True)
class Item:
    """A row of `by`: one stimulus, word or target.

    Attributes:
        name: The stimulus.
        scores: Its scores.
        group: The concept or side it belongs to.
        n_images: Number of images they are based on.
    """

    name: str
    scores: dict[str, Estimate]
    group: str | None = None
    n_images: int | None = None


@dataclass(frozen=True, slots=True)
class MethodResult:
    """The result of one task with one encoder (or the mean of several).

    Attributes:
        headline: One population quantity, unbiased at any number of images.
        scores: Name to estimate.
        by: One row for each stimulus.
        n_images: Images that count.
        n_prompts: Distinct prompts (texts, for text-only tasks).
        excluded: Number of images excluded, by reason.
        conventions: Choices that decide the numbers, in words.
        warnings: What a reader must know.
        details: Further JSON values.
        samples: Rows for samples/<task>.jsonl.
        reason: Why the whole task has no score.
        controls: Name to what a control shows; see `core.controls`.
        inconclusive: Why the test decides nothing, as a clause, although it was scored; None
            where it does.
    """

    headline: Headline
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
    controls: dict[str, Control] = field(default_factory=dict)
    inconclusive: str | None = None

    @classmethod
    def undefined(
        cls, reason: str, collected: ImageCollector | None = None, warnings: Sequence[str] = ()
    ) -> MethodResult:
        """The result of a task that could not be scored.

        Args:
            reason: Why, as a clause without a full stop.
            collected: The images that were looked at; they are counted all the same.
            warnings: What a reader must know.

        Returns:
            A result without any score.
        """
        return cls(
            Headline.undefined(reason),
            n_images=collected.n_images if collected else 0,
            n_prompts=collected.n_prompts if collected else 0,
            excluded=collected.excluded if collected else Counter(),
            warnings=list(warnings),
            reason=reason,
        )


def average(estimates: Sequence[Estimate], level: float = 0.95) -> Estimate:
    """The mean of one score over encoders, draw by draw.

    The draws of all encoders come from the same resamples, so the interval and the p-value of
    the mean account for what the encoders share.

    Args:
        estimates: One for each encoder, at least one.
        level: Level of intervals that come from influences, in (0, 1).

    Returns:
        The mean; undefined where one of them is. It has draws and a p-value where all encoders
        have equally many draws.

    Examples:
        >>> average([Estimate(0.25), Estimate(0.75)]).value
        0.5
        >>> average([Estimate(0.25), Estimate.undefined("no image")]).reason
        'no image'
    """
    if len(estimates) == 1:
        return estimates[0]
    lacking = [estimate for estimate in estimates if estimate.value is None]
    if lacking:
        return Estimate.undefined(lacking[0].reason or "an encoder has no value")
    value = float(np.mean([estimate.value for estimate in estimates]))
    first = estimates[0]
    influences = [estimate.influence for estimate in estimates if estimate.influence is not None]
    if len(influences) == len(estimates):
        shared = Influence.combined([(1.0 / len(influences), part) for part in influences])
        mean = Estimate.from_influence(value, shared, level)
        return replace(mean, as_published=first.as_published)
    boot = mean_draws([estimate.boot for estimate in estimates])
    null = mean_draws([estimate.null for estimate in estimates])
    p, test = None, None
    if null is not None and first.test in {"exact", "monte_carlo"}:
        p = p_value(null, value, first.alternative, exact=first.test == "exact")
        test = first.test
    return Estimate(
        value, boot, null, p, test, first.alternative, first.signed,
        as_published=first.as_published,
    )  # fmt: skip


def mean_draws(draws: Sequence[Float64Array | None]) -> Float64Array | None:
    """The mean of several scores' draws, draw by draw.

    Args:
        draws: Each score's, shape (draws,); None for a score without any.

    Returns:
        Shape (draws,); None where one has none, or their numbers differ.
    """
    arrays = [draw for draw in draws if draw is not None]
    if len(arrays) < len(draws) or len({len(array) for array in arrays}) != 1:
        return None
    mean: Float64Array = np.mean(arrays, axis=0)
    return mean


def average_results(results: Sequence[MethodResult], level: float = 0.95) -> MethodResult:
    """The mean of every score over encoders.

    Args:
        results: One for each encoder, at least one.
        level: Confidence level, in (0, 1).

    Returns:
        The means; counts, details and samples are the first encoder's. Scores and rows that an
        encoder lacks are dropped. If a result has a reason instead of scores, that result.
        Inconclusive with one encoder is inconclusive.
    """
    first = results[0]
    if len(results) == 1:
        return first
    failed = [result for result in results if result.reason]
    if failed:
        return failed[0]
    warnings = list(dict.fromkeys(text for result in results for text in result.warnings))
    return replace(
        first,
        headline=average_headlines([result.headline for result in results], level),
        scores=_average_scores([result.scores for result in results], level),
        by=_average_rows([result.by for result in results], level),
        warnings=warnings,
        inconclusive=next((r.inconclusive for r in results if r.inconclusive), None),
    )


def _average_rows(tables: Sequence[Sequence[Item]], level: float) -> list[Item]:
    """Rows by name and group: encoders may lack different words."""
    indexed = [{(item.name, item.group): item for item in table} for table in tables]
    return [
        replace(item, scores=_average_scores([rows[key].scores for rows in indexed], level))
        for key, item in indexed[0].items()
        if all(key in rows for rows in indexed)
    ]


def mean_over_encoders(
    task: BaseTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """The `combine` of most methods: every score's mean over encoders.

    Args:
        task: The task.
        results: One for each encoder.
        settings: How it is measured.

    Returns:
        The means.
    """
    return average_results(results, settings.level)


def _average_scores(scores: Sequence[dict[str, Estimate]], level: float) -> dict[str, Estimate]:
    return {
        name: average([by_name[name] for by_name in scores], level)
        for name in scores[0]
        if all(name in by_name for by_name in scores)
    }
