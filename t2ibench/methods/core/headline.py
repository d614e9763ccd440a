"""The headline of a task, one population quantity, and the controls beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from pydantic import ConfigDict

from t2ibench.methods.core.influence import Influence
from t2ibench.stats.squares import SquareNoise, mean_square
from t2ibench.stats.student import t_interval, t_test

Question = Literal["fixed_prompts", "prompt_population"]
QUESTIONS: tuple[Question, ...] = ("fixed_prompts", "prompt_population")


@dataclass(frozen=True, slots=True)
class Inference:
    """The uncertainty of a headline with respect to one question.

    Attributes:
        ci_low: Lower end of the confidence interval; None where there is none.
        ci_high: Upper end.
        p: p-value that the headline is 0.
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
                object.__setattr__(
                    self, name, float(value) if np.isfinite(value) else None
                )

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends; None where there are none."""
        return (
            None
            if self.ci_low is None or self.ci_high is None
            else (self.ci_low, self.ci_high)
        )

    def up_to(self, most: Inference, value: float) -> Inference:
        """The inference where this one is of the least that a mean square may be.

        It gets the upper end of the most's, and holds the value shown where it reaches 0.
        """
        if self.ci_low is None or most.ci_high is None:
            return self
        low = min(self.ci_low, value) if self.ci_low <= 0 else self.ci_low
        return replace(self, ci_low=low, ci_high=max(most.ci_high, value))


@dataclass(frozen=True, slots=True)
class Part:
    """A lean that the headline is made of, for comparing two runs."""

    name: str  # the row, or '' for the headline itself
    value: float
    influence: Influence  # its influence, for the default question


@dataclass(frozen=True, slots=True)
class Headline:
    """One population quantity, 0 on average without bias at any number of images."""

    value: float | None  # the estimate; None with a reason
    # 'lean': from -1 to 1, signed, 2 P - 1 for a mixture of shares P and 1 - P. 'mean_square':
    # mean of squared leans (for k classes, Cramer's V squared), which may be negative by chance;
    # tables show its root. 'excess': (V - W) / (V + W) of two variances. Packages add others; see
    # `core.scales`
    scale: str = "lean"
    # which inference is the default: about these prompts with other images ('fixed_prompts'), or
    # about prompts like them, too ('prompt_population')
    question: Question = "fixed_prompts"
    # question to inference
    inference: Mapping[Question, Inference] = field(default_factory=dict)
    # the band in which a fair model's headline lies with probability `level`
    fair: tuple[float, float] | None = None
    # the leans it is made of: for 'mean_square' the mean of their squares is the headline,
    # otherwise there is one. Empty where runs cannot be compared in pairs
    parts: tuple[Part, ...] = ()
    # kind of test behind the p-values
    test: Literal["exact", "monte_carlo", "t", "f", "rank"] = "t"
    # what a mean square with a single part is made of, for comparing two runs item by item: the
    # mean of value² - variance is the headline
    items: tuple[Part, ...] = ()
    # what it owes to noise, where its parts or items do not say so
    noise: SquareNoise | None = None
    # influences for the questions that `parts` are not about, for the mean over several encoders
    others: Mapping[Question, Influence] = field(default_factory=dict)
    reason: str | None = None  # why there is no value

    @classmethod
    def undefined(cls, reason: str, scale: str = "lean") -> Headline:
        """A headline that could not be computed."""
        return cls(None, scale, reason=reason)

    @property
    def chosen(self) -> Inference:
        """The default inference."""
        return self.inference.get(self.question, Inference())

    @property
    def p(self) -> float | None:
        """p-value of the default inference."""
        return self.chosen.p

    @property
    def square(self) -> float | None:
        """Unbiased squared magnitude, which may be averaged and ranked; None without a value."""
        if self.value is None or self.scale != "lean":
            return self.value
        variance = sum(part.influence.variance for part in self.parts[:1])
        return self.value**2 - variance


def t_inference(value: float, influence: Influence, level: float) -> Inference:
    """Student's t interval and test from an influence."""
    variance, df = influence.variance, influence.df
    if not np.isfinite(variance):
        return Inference(reason="one unit has no variance")
    low, high = t_interval(value, variance, df, level)
    return Inference(low, high, t_test(value, variance, df), df)


def lean_headline(
    value: float,
    fixed_prompts: Influence,
    level: float,
    prompt_population: Influence | None = None,
    question: Question = "fixed_prompts",
) -> Headline:
    """A signed headline with Student's t intervals; the band of a fair model is ± t √variance."""
    influences: dict[Question, Influence] = {"fixed_prompts": fixed_prompts}
    if prompt_population is not None:
        influences["prompt_population"] = prompt_population
    inference = {
        name: t_inference(value, influence, level)
        for name, influence in influences.items()
    }
    return Headline(
        value,
        "lean",
        question,
        inference,
        fair_band(inference[question], value),
        (Part("", value, influences[question]),),
        others={
            name: influence
            for name, influence in influences.items()
            if name != question
        },
    )


def fair_band(inference: Inference, value: float) -> tuple[float, float] | None:
    """The band of a fair model, from an interval that is symmetric about the value."""
    if inference.interval is None:
        return None
    low, high = inference.interval
    return low - value, high - value


def square_headline(parts: Sequence[Part], level: float) -> Headline:
    """The mean square of leans with known influences, each of the same weight."""
    if any(not np.isfinite(part.influence.variance) for part in parts):
        return Headline.undefined("a row has a single image", "mean_square")
    test = mean_square(
        [part.value for part in parts],
        [part.influence.variance for part in parts],
        [part.influence.df for part in parts],
        level=level,
    )
    inference = Inference(test.low, test.high, test.p, test.df[1])
    fair = (test.fair_low, test.fair_high)
    return Headline(
        test.value,
        "mean_square",
        "fixed_prompts",
        {"fixed_prompts": inference},
        fair,
        tuple(parts),
        "f",
    )


def average_headlines(headlines: Sequence[Headline], level: float) -> Headline:
    """The headline over several encoders or judges, from those of each.

    Leans are averaged, with the influences of the units that they share; a mean square is the mean
    square of the averaged leans.
    """
    first = headlines[0]
    if len(headlines) == 1:
        return first
    lacking = [headline for headline in headlines if headline.value is None]
    if lacking:
        return Headline.undefined(
            lacking[0].reason or "an encoder has no value", first.scale
        )
    if all(headline.parts for headline in headlines):
        return _average_parts(headlines, level)
    value = float(np.mean([headline.value for headline in headlines]))
    reason = "the headlines have no influences that could be averaged"
    return replace(
        first,
        value=value,
        inference={"fixed_prompts": Inference(reason=reason)},
        fair=None,
        parts=(),
    )


def _average_parts(headlines: Sequence[Headline], level: float) -> Headline:
    first = headlines[0]
    weight = 1.0 / len(headlines)
    parts = _averaged([headline.parts for headline in headlines])
    items = _averaged([headline.items for headline in headlines])
    if first.scale == "mean_square" and len(parts) > 1:
        return square_headline(parts, level)
    value = float(np.mean([headline.value for headline in headlines]))
    inference = {first.question: t_inference(value, parts[0].influence, level)}
    others = {}
    for name in first.others:
        if all(name in headline.others for headline in headlines):
            shares = [(weight, headline.others[name]) for headline in headlines]
            others[name] = Influence.combined(shares)
            inference[name] = t_inference(value, others[name], level)
    return replace(
        first,
        value=value,
        inference=inference,
        fair=fair_band(inference[first.question], value),
        parts=tuple(parts),
        test="t",
        items=tuple(items),
        noise=None,
        others=others,
    )


def _averaged(part_lists: Sequence[Sequence[Part]]) -> list[Part]:
    """The means of the leans that all of them have."""
    tables = [{part.name: part for part in parts} for parts in part_lists]
    weight = 1.0 / len(tables)
    averaged = []
    for name in tables[0]:
        if all(name in table for table in tables):
            parts = [table[name] for table in tables]
            value = float(np.mean([part.value for part in parts]))
            influence = Influence.combined([(weight, part.influence) for part in parts])
            averaged.append(Part(name, value, influence))
    return averaged


@dataclass(frozen=True, slots=True)
class Control:
    """The result of one control.

    Attributes:
        says: In a sentence, what was tried and what came out.
        value: Its number, on the scale of the headline unless `says` names another; None without.
        ci_low: Lower end of an interval.
        ci_high: Upper end.
        p: p-value.
        contradicts: Why the test decides nothing, as a clause; None where the control agrees.
    """

    says: str
    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    contradicts: str | None = None

    __pydantic_config__ = ConfigDict(extra="forbid")

    def __post_init__(self) -> None:
        if self.p is not None and not np.isfinite(self.p):
            object.__setattr__(self, "p", None)


SHUFFLES = 20  # of labels, after which they mean nothing
_TOO_MANY = 5  # of them: a sound test rejects so many with probability .003
_DISAGREE = 0.005  # p-value below which two halves do


def of_shuffles(says: str, value: float | None, rejected: int, reason: str) -> Control:
    """What the test shows with shuffled labels; it contradicts where too many of them reject."""
    return Control(says, value, contradicts=reason if rejected >= _TOO_MANY else None)


def of_halves(
    value: float,
    p: float,
    reason: str = "its two halves disagree",
    *,
    shown: float | None = None,
    interval: tuple[float, float] | tuple[None, None] = (None, None),
) -> Control:
    """Whether two halves of the images agree: their difference, or what is `shown` of it."""
    differ = bool(p < _DISAGREE)
    p_text = f"p = {p:.2g}" if np.isfinite(p) else "no p-value"
    says = (
        f"Split halves {'disagree' if differ else 'agree'} "
        f"(difference {abs(value if shown is None else shown):.2f}, {p_text})."
    )
    low, high = interval
    return Control(says, value, low, high, p, reason if differ else None)


def contradiction(controls: Mapping[str, Control]) -> str | None:
    """Why a test is inconclusive."""
    reasons = [
        control.contradicts for control in controls.values() if control.contradicts
    ]
    return "; ".join(reasons) or None
