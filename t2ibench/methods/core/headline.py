"""The headline of a result in memory, and the controls beside it.

`HeadlineEstimate` is the value with what carries its uncertainty; what is inferred from that is
its `HeadlineInference`. The record of both in results.json is `results.schema.Headline`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from pydantic import ConfigDict

from t2ibench.methods.core.inference import (
    HeadlineInference,
    Inference,
    Question,
    fair_band,
    t_inference,
)
from t2ibench.methods.core.influence import Influence
from t2ibench.stats.squares import SquareNoise, mean_square


@dataclass(frozen=True, slots=True)
class Part:
    """One of the leans that make up a headline, with its influence.

    Attributes:
        name: The row, or '' for the headline itself.
        value: The lean.
        influence: Its influence, for the default question.
    """

    name: str
    value: float
    influence: Influence


@dataclass(frozen=True, slots=True)
class HeadlineEstimate:
    """The headline of a result: a number that is 0 on average without bias, at any sample size.

    Attributes:
        value: The estimate; None with a reason.
        scale: 'lean' is signed, from -1 to 1, and 2 P - 1 for a mixture of shares P and 1 - P.
            'mean_square' is a mean of squared leans (for k classes, Cramer's V squared), which may
            be negative by chance; tables show its root. 'excess' is (V - W) / (V + W) of two
            variances. Packages add others; see `core.scales`.
        inference: Its intervals and tests, and the band of a fair model.
        parts: The leans it is made of: for 'mean_square' the mean of their squares is the
            headline, otherwise there is one. Empty where runs cannot be compared in pairs.
        items: What a mean square with a single part is made of, for comparing two runs item by
            item: the mean of value² - variance is the headline.
        noise: What it owes to noise, where its parts or items do not say so.
        other_influences: The influences for the questions that `parts` are not about, for the
            mean over several encoders.
        reason: Why there is no value.
    """

    value: float | None
    scale: str = "lean"
    inference: HeadlineInference = field(default_factory=HeadlineInference)
    parts: tuple[Part, ...] = ()
    items: tuple[Part, ...] = ()
    noise: SquareNoise | None = None
    other_influences: Mapping[Question, Influence] = field(default_factory=dict)
    reason: str | None = None

    @classmethod
    def undefined(cls, reason: str, scale: str = "lean") -> HeadlineEstimate:
        """Return a headline that has no value, for the given reason."""
        return cls(None, scale, reason=reason)

    @property
    def question(self) -> Question:
        """Question that pages answer: about exactly these prompts, or about prompts like them."""
        return self.inference.question

    @property
    def chosen(self) -> Inference:
        """Interval and test of the headline for the question that pages show."""
        return self.inference.chosen

    @property
    def p(self) -> float | None:
        """p-value of the headline for the question that pages show."""
        return self.chosen.p

    @property
    def fair(self) -> tuple[float, float] | None:
        """Fair band, in which the headline of a model without bias would lie; None if unknown."""
        return self.inference.fair

    @property
    def square(self) -> float | None:
        """Headline for means and ranks: a lean's unbiased square, others as they are."""
        if self.value is None or self.scale != "lean":
            return self.value
        variance = sum(part.influence.variance for part in self.parts[:1])
        return self.value**2 - variance


def lean_headline(
    value: float,
    fixed_prompts: Influence,
    level: float,
    prompt_population: Influence | None = None,
    question: Question = "fixed_prompts",
) -> HeadlineEstimate:
    """Return a lean as a headline, with Student's t intervals and its fair band."""
    influences: dict[Question, Influence] = {"fixed_prompts": fixed_prompts}
    if prompt_population is not None:
        influences["prompt_population"] = prompt_population
    return _lean_of_influences(value, influences, question, level)


def _lean_of_influences(
    value: float,
    influences: Mapping[Question, Influence],
    question: Question,
    level: float,
) -> HeadlineEstimate:
    by_question = {
        name: t_inference(value, influence, level)
        for name, influence in influences.items()
    }
    others = {
        name: influence for name, influence in influences.items() if name != question
    }
    return HeadlineEstimate(
        value=value,
        scale="lean",
        inference=HeadlineInference(
            by_question=by_question,
            question=question,
            fair=fair_band(by_question[question], value),
        ),
        parts=(Part("", value, influences[question]),),
        other_influences=others,
    )


def square_headline(parts: Sequence[Part], level: float) -> HeadlineEstimate:
    """Return the mean square of leans, which count equally, as a headline."""
    if any(not np.isfinite(part.influence.variance) for part in parts):
        return HeadlineEstimate.undefined("a row has a single image", "mean_square")
    square = mean_square(
        [part.value for part in parts],
        [part.influence.variance for part in parts],
        [part.influence.df for part in parts],
        level=level,
    )
    inference = Inference(square.low, square.high, square.p, square.df[1])
    return HeadlineEstimate(
        value=square.value,
        scale="mean_square",
        inference=HeadlineInference(
            by_question={"fixed_prompts": inference},
            fair=(square.fair_low, square.fair_high),
            test="f",
        ),
        parts=tuple(parts),
    )


_NO_INFLUENCES = "the headlines have no influences that could be averaged"
_NOTHING_SHARED = "the headlines of the encoders or judges have no row in common"


def average_headlines(
    headlines: Sequence[HeadlineEstimate], level: float
) -> HeadlineEstimate:
    """Return the headline averaged over encoders or judges.

    Leans are averaged, with the influences of the units that they share; a mean square is the mean
    square of the averaged leans.
    """
    first = headlines[0]
    if len(headlines) == 1:
        return first
    without_value = [headline for headline in headlines if headline.value is None]
    if without_value:
        reason = without_value[0].reason or "an encoder has no value"
        return HeadlineEstimate.undefined(reason, first.scale)
    if not all(headline.parts for headline in headlines):
        inference = replace(
            first.inference,
            by_question={"fixed_prompts": Inference(reason=_NO_INFLUENCES)},
            fair=None,
        )
        return replace(
            first, value=_mean_value(headlines), inference=inference, parts=()
        )
    parts = _averaged([headline.parts for headline in headlines])
    if not parts:
        return HeadlineEstimate.undefined(_NOTHING_SHARED, first.scale)
    if first.scale == "mean_square" and any(part.name for part in parts):
        return square_headline(parts, level)
    return _average_of_single_parts(headlines, parts, level)


def _mean_value(headlines: Sequence[HeadlineEstimate]) -> float:
    return float(np.mean([headline.value for headline in headlines]))


def _average_of_single_parts(
    headlines: Sequence[HeadlineEstimate], parts: Sequence[Part], level: float
) -> HeadlineEstimate:
    """Return the mean of headlines that each consist of a single lean."""
    first = headlines[0]
    weight = 1.0 / len(headlines)
    value = _mean_value(headlines)
    items = _averaged([headline.items for headline in headlines])
    other_influences: dict[Question, Influence] = {}
    for question in first.other_influences:
        if all(question in headline.other_influences for headline in headlines):
            shares = [
                (weight, headline.other_influences[question]) for headline in headlines
            ]
            other_influences[question] = Influence.combined(shares)
    influences = {first.question: parts[0].influence, **other_influences}
    by_question = {
        question: t_inference(value, influence, level)
        for question, influence in influences.items()
    }
    fair = fair_band(by_question[first.question], value)
    return replace(
        first,
        value=value,
        inference=HeadlineInference(
            by_question=by_question, question=first.question, fair=fair, test="t"
        ),
        parts=tuple(parts),
        items=tuple(items),
        noise=None,
        other_influences=other_influences,
    )


def _averaged(part_lists: Sequence[Sequence[Part]]) -> list[Part]:
    """Return the mean, over encoders or judges, of each lean that all of them have."""
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
    """The result of one control: what was tried, what came out, and whether it contradicts.

    Attributes:
        says: In a sentence, what was tried and what came out.
        value: Its number, on the scale of the headline unless `says` names another; None without.
        ci_low: Lower end of an interval.
        ci_high: Upper end.
        p: p-value.
        contradicts: Why the test is inconclusive, as a clause; None where the control agrees.
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
    """Return the control of shuffled labels; it contradicts if five or more show a bias."""
    return Control(says, value, contradicts=reason if rejected >= _TOO_MANY else None)


def of_halves(
    value: float,
    p: float,
    reason: str = "its two halves disagree",
    *,
    shown: float | None = None,
    interval: tuple[float, float] | tuple[None, None] = (None, None),
) -> Control:
    """Return the control of whether two halves of the images give the same headline.

    `value` is the difference of the halves, and `p` the p-value that it is 0.
    """
    differ = bool(p < _DISAGREE)
    p_text = f"p = {p:.2g}" if np.isfinite(p) else "no p-value"
    says = (
        f"Split halves {'disagree' if differ else 'agree'} "
        f"(difference {abs(value if shown is None else shown):.2f}, {p_text})."
    )
    low, high = interval
    return Control(says, value, low, high, p, reason if differ else None)


def contradiction(controls: Mapping[str, Control]) -> str | None:
    """Return the reasons of all controls that contradict a headline, joined; None if none does."""
    reasons = [
        control.contradicts for control in controls.values() if control.contradicts
    ]
    return "; ".join(reasons) or None
