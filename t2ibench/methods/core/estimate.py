"""A score in memory, before it is written: its value, bootstrap draws and null draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.headline import Control, HeadlineEstimate
from t2ibench.methods.core.image_collector import ImageCollector
from t2ibench.methods.core.inference import t_inference
from t2ibench.methods.core.influence import Influence
from t2ibench.stats import PermutationResult, p_value
from t2ibench.stats.rounding import settled
from t2ibench.stats.student import t_interval, t_test

TestKind = Literal["exact", "monte_carlo", "binomial", "t", "f", "rank"]
_NO_VARIATION = "the values do not vary, so the score is undefined"


@dataclass(frozen=True, slots=True)
class Estimate:
    """One score, with its interval and its test, or with the draws that give them.

    A value that is not finite becomes None with a reason, and has no p-value. Others are settled:
    what is chosen by them, and how they are written, is the same on every processor.

    Attributes:
        value: The score, or None with a reason.
        boot: Bootstrap draws, shape (draws,).
        null: The statistic under the null, shape (draws,).
        p: p-value; None without a null.
        test: Kind of test behind the p-value.
        alternative: Which side it looks at.
        interval: Confidence interval that does not come from bootstrap draws; None takes their
            percentiles.
        influence: How the score moves with each image, for comparing it between runs.
        null_influence: The same with the variance that it has where it is 0, for the p-value of a
            mean over encoders; None where that is no other.
        as_published: A convention of the paper whose uncertainty is not calibrated: shown
            beside ours, never as the headline.
        reason: Why the value is None.
    """

    value: float | None
    boot: Float64Array | None = None
    null: Float64Array | None = None
    p: float | None = None
    test: TestKind | None = None
    alternative: str = "two-sided"
    reason: str | None = None
    interval: tuple[float, float] | None = None
    influence: Influence | None = None
    null_influence: Influence | None = None
    as_published: bool = False

    def __post_init__(self) -> None:
        undefined = self.value is not None and not np.isfinite(self.value)
        if undefined:
            object.__setattr__(self, "value", None)
            object.__setattr__(self, "reason", self.reason or _NO_VARIATION)
        elif self.value is not None:
            object.__setattr__(self, "value", float(settled(self.value)))
        if undefined or (self.p is not None and not np.isfinite(self.p)):
            object.__setattr__(self, "p", None)

    @classmethod
    def undefined(cls, reason: str) -> Estimate:
        """Return a score that has no value, for the given reason."""
        return cls(None, reason=reason)

    def undecided(self, reason: str) -> Estimate:
        """Return the score with its p-value but without its value, for the given reason."""
        return Estimate(None, p=self.p, test=self.test, reason=reason)

    def scaled(self, factor: float, less: float = 0.0) -> Estimate:
        """Return the score with `less` subtracted and then times `factor`; its p-value stays."""
        if self.value is None:
            return self
        ends = sorted(factor * (end - less) for end in self.interval or ())
        return replace(
            self,
            value=factor * (self.value - less),
            interval=(ends[0], ends[1]) if ends else None,
            influence=self.influence and self.influence.scaled(factor),
            null_influence=self.null_influence and self.null_influence.scaled(factor),
        )

    @classmethod
    def from_t(cls, value: float, variance: float, df: float, level: float) -> Estimate:
        """Return a score with Student's t interval and test, from its variance and df."""
        p, interval = (
            t_test(value, variance, df),
            t_interval(value, variance, df, level),
        )
        return cls(value, p=p, test="t", interval=interval)

    @classmethod
    def from_influence(
        cls, value: float, influence: Influence, level: float
    ) -> Estimate:
        """Return a score whose t interval and test come from each image's influence on it."""
        inference = t_inference(value, influence, level)
        return cls(
            value,
            p=inference.p,
            test="t",
            interval=inference.interval,
            influence=influence,
        )

    @classmethod
    def from_permutation(
        cls,
        result: PermutationResult,
        boot: Float64Array | None,
        alternative: str = "two-sided",
    ) -> Estimate:
        """Return a permutation test's statistic as a score, with p-value and null draws."""
        test: TestKind = "exact" if result.exact else "monte_carlo"
        return cls(result.observed, boot, result.null, result.p, test, alternative)

    @classmethod
    def from_null(
        cls, value: float, boot: Float64Array | None, null: Float64Array
    ) -> Estimate:
        """Return a score whose p-value is how often null draws are at least as large.

        p = (1 + number of draws >= value) / (1 + draws).

        Examples:
            >>> Estimate.from_null(0.5, None, np.array([0.1, 0.2, 0.6])).p
            0.5
        """
        p = p_value(null, value, "greater", exact=False)
        return cls(value, boot, null, p, "monte_carlo", "greater")


def share_draws(
    hits: int, total: int, n_draws: int, rng: np.random.Generator
) -> Float64Array:
    """Return draws of a share of hits, whose quantiles are the ends of Jeffreys' interval.

    Draws of a binomial with the share that was found would all be equal where it is 0 or 1, and
    their interval one point: none of five images does not show that there never is one. These are
    of Beta(hits + 1/2, total - hits + 1/2). Half of them are 0 where there is no hit, 1 where all
    are hits, so that the interval holds the share itself.

    Source: Brown, Cai and DasGupta 2001, "Interval estimation for a binomial proportion".
    """
    draws = rng.beta(hits + 0.5, total - hits + 0.5, n_draws)
    if hits in {0, total}:
        end, middle = float(hits == total), np.median(draws)
        draws = np.where(draws > middle if end else draws < middle, end, draws)
    return draws


def share_estimate(hits: int, total: int) -> Estimate:
    """Return the share `hits` / `total` as a score with Jeffreys' interval.

    The seed of its draws is fixed because nothing is compared across draws.
    """
    return Estimate(hits / total, boot=_same_share_draws(hits, total))


# Every group of every task has its share of images that show what was asked for: mostly all.
@lru_cache(maxsize=64)
def _same_share_draws(hits: int, total: int) -> Float64Array:
    """Return 10,000 draws of a share, the same ones each time, which nothing may write into."""
    draws = share_draws(hits, total, 10_000, np.random.default_rng(0))
    draws.setflags(write=False)
    return draws


@dataclass(frozen=True, slots=True)
class Item:
    """A row of a result: one stimulus, word or target with its scores.

    Attributes:
        name: The stimulus.
        scores: Its scores.
        group: The concept or side it belongs to.
        n_images: Number of images they are based on.
        tested_with: Rows of the same text are corrected together for the number of their tests.
    """

    name: str
    scores: dict[str, Estimate]
    group: str | None = None
    n_images: int | None = None
    tested_with: str = ""


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
        conventions: Choices of the task or the machine that decide the numbers.
        warnings: What a reader must know.
        details: Further JSON values.
        samples: What it was computed from, a row an image or text.
        reason: Why the whole task has no score.
        controls: Name to what a control shows; see `core.headline`.
        inconclusive: Why the test is inconclusive, as a clause, although it was scored; None
            where it does.
    """

    headline: HeadlineEstimate
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
        cls,
        reason: str,
        collected: ImageCollector | None = None,
        warnings: Sequence[str] = (),
    ) -> MethodResult:
        """Return the result of a task that has no score, for the given reason."""
        return cls(
            HeadlineEstimate.undefined(reason),
            n_images=collected.n_images if collected else 0,
            n_prompts=collected.n_prompts if collected else 0,
            excluded=collected.excluded if collected else Counter(),
            warnings=list(warnings),
            reason=reason,
        )
