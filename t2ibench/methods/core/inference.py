"""Intervals and tests of a quantity, one for each question that is asked about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from pydantic import ConfigDict

from t2ibench.methods.core.influence import Influence
from t2ibench.stats.student import t_interval, t_test

Question = Literal["fixed_prompts", "prompt_population"]
QUESTIONS: tuple[Question, ...] = ("fixed_prompts", "prompt_population")


@dataclass(frozen=True, slots=True)
class Inference:
    """The interval and the test of a quantity with respect to one question.

    Attributes:
        ci_low: Lower end of the confidence interval; None where there is none.
        ci_high: Upper end.
        p: p-value that the quantity is 0.
        df: Degrees of freedom, where Student's t or F is behind it.
        reason: Why there is no interval.
    """

    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    df: float | None = None
    reason: str | None = None

    __pydantic_config__ = ConfigDict(extra="forbid")

    def __post_init__(self) -> None:
        for name in ("p", "df"):
            value = getattr(self, name)
            if value is not None:
                finite = float(value) if np.isfinite(value) else None
                object.__setattr__(self, name, finite)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the confidence interval; None where there is none."""
        if self.ci_low is None or self.ci_high is None:
            return None
        return self.ci_low, self.ci_high

    def up_to(self, most: Inference, value: float) -> Inference:
        """Return this inference with its interval extended to the upper end of another one's.

        The other, `most`, is about the largest mean square that is possible. Where this
        interval reaches 0, it is extended to `value`, too, which is the value shown.
        """
        if self.ci_low is None or most.ci_high is None:
            return self
        low = min(self.ci_low, value) if self.ci_low <= 0 else self.ci_low
        return replace(self, ci_low=low, ci_high=max(most.ci_high, value))


@dataclass(frozen=True, slots=True)
class HeadlineInference(Mapping[Question, Inference]):
    """The intervals and tests of a headline, by question.

    Attributes:
        by_question: The interval and the test for each question that has an answer.
        question: The question that is shown: 'fixed_prompts' is about these prompts with other
            images, 'prompt_population' about other prompts like them, too.
        fair: The band in which a fair model's headline lies with probability `level`.
        test: The kind of test behind the p-values.
    """

    by_question: Mapping[Question, Inference] = field(default_factory=dict)
    question: Question = "fixed_prompts"
    fair: tuple[float, float] | None = None
    test: Literal["exact", "monte_carlo", "t", "f", "rank"] = "t"

    def __getitem__(self, question: Question) -> Inference:
        return self.by_question[question]

    def __iter__(self) -> Iterator[Question]:
        return iter(self.by_question)

    def __len__(self) -> int:
        return len(self.by_question)

    @property
    def chosen(self) -> Inference:
        """Interval and test for the question that pages show; empty if it was not answered."""
        return self.by_question.get(self.question, Inference())


def t_inference(value: float, influence: Influence, level: float) -> Inference:
    """Return the Student's t interval and test of an estimate, from its `influence`."""
    variance = influence.variance
    df = influence.df
    if not np.isfinite(variance):
        return Inference(reason="one unit has no variance")
    low, high = t_interval(value, variance, df, level)
    return Inference(low, high, t_test(value, variance, df), df)


def fair_band(inference: Inference, value: float) -> tuple[float, float] | None:
    """Return the fair band of a headline: its interval, shifted to lie about 0.

    The interval must be symmetric about the value; None if there is no interval.
    """
    if inference.interval is None:
        return None
    low, high = inference.interval
    return low - value, high - value
