"""Decisions as a page of one file, without scripts and without a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.decisions.changed import Changed
from t2ibench.decisions.decision import Decision, ScenarioDecision
from t2ibench.decisions.rules import Outcome, Ruling
from t2ibench.reports.decisions.sentences import (
    SIGNS,
    WORDS,
    limits_text,
    measurement_text,
    next_step,
    number,
    reference_text,
    scenario_lines,
    verdict,
    whole_text,
    worst,
)
from t2ibench.reports.html.templating import fragment, static, style
from t2ibench.version import __version__

_SHOWN = 40  # quantities of a scenario that are drawn


@dataclass(frozen=True, slots=True)
class BarView:
    """A quantity on an axis from 0, where the reference is, to 1, in percent of its length.

    Attributes:
        name: The task or the row.
        value: Where the estimate is.
        low: Where its interval begins.
        high: Where it ends.
        text: The numbers.
        outcome: What the rule says.
        sign: The outcome's mark.
        word: The outcome in words.
    """

    name: str
    value: float
    low: float
    high: float
    text: str
    outcome: Outcome
    sign: str
    word: str


@dataclass(frozen=True, slots=True)
class ScenarioView:
    """What the page shows of a scenario.

    Attributes:
        name: Its name.
        outcome: Its outcome.
        sign: The outcome's mark.
        word: The outcome in words.
        limits: Its limits in words.
        accept: Where the accepted sizes end, in percent of the axis.
        reject: Where the rejected sizes begin.
        bars: Its quantities.
        more: How many quantities are not drawn.
        lines: What was measured, line by line.
        facts: Names and values of what the profile says about it.
    """

    name: str
    outcome: Outcome
    sign: str
    word: str
    limits: str
    accept: float
    reject: float
    bars: list[BarView]
    more: int
    lines: list[str]
    facts: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class DecisionView:
    """What the page shows of the decision about a run.

    Attributes:
        decision: The decision.
        sign: The outcome's mark.
        verdict: It in a sentence.
        scenarios: Its scenarios.
        whole: How reliable it is, in sentences.
        action: What to do with it; empty for nothing.
    """

    decision: Decision
    sign: str
    verdict: str
    scenarios: list[ScenarioView]
    whole: str
    action: str


def decision_page(decisions: Sequence[Decision]) -> str:
    """Return decisions as HTML."""
    outcome = worst(decisions)
    return fragment(
        "decision.html",
        style=Markup("\n").join([style(), Markup(static("decision.css"))]),
        title=decisions[0].profile.title,
        sign=SIGNS[outcome],
        decisions=[_view(decision) for decision in decisions],
        origin=f"t2ibench {__version__}",
    )


def _view(decision: Decision) -> DecisionView:
    return DecisionView(
        decision=decision,
        sign=SIGNS[decision.outcome],
        verdict=verdict(decision),
        scenarios=[_scenario(part) for part in decision.scenarios],
        whole=whole_text(decision),
        action=next_step(decision),
    )


def _scenario(part: ScenarioDecision) -> ScenarioView:
    scenario = part.scenario
    facts = [
        ("At risk", scenario.at_risk),
        ("Hazard", scenario.hazard),
        ("Measured", measurement_text(scenario)),
        ("Compared with", reference_text(scenario)),
        ("Why this limit", scenario.reason),
        ("Mitigation", scenario.mitigation or ""),
        ("Review", scenario.review.isoformat() if scenario.review else ""),
    ]
    return ScenarioView(
        name=scenario.name,
        outcome=part.outcome,
        sign=SIGNS[part.outcome],
        word=WORDS[part.outcome],
        limits=limits_text(scenario),
        accept=100 * scenario.accept,
        reject=100 * scenario.rejected_from,
        bars=[_bar(entry) for entry in part.rulings[:_SHOWN]],
        more=max(0, len(part.rulings) - _SHOWN),
        lines=scenario_lines(part, with_quantities=False),
        facts=[(name, text) for name, text in facts if text],
    )


def _bar(entry: Ruling) -> BarView:
    """Return a quantity by its size: an interval that contains 0 begins there."""
    low, high = entry.interval
    value = entry.quantity.value
    size = abs(value)
    if isinstance(entry.quantity, Changed) and entry.quantity.one_sided:
        # Less one-sided than the older run is drawn at 0, as good as can be.
        size = max(value, 0.0)
        near = max(low, 0.0)
        far = max(high, 0.0)
    elif low <= 0 <= high:
        near, far = 0.0, max(-low, high)
    else:
        near, far = sorted((abs(low), abs(high)))
    return BarView(
        name=entry.quantity.name,
        value=_percent(size),
        low=_percent(near),
        high=_percent(far),
        text=f"{number(value)} ({number(low)} to {number(high)})",
        outcome=entry.outcome,
        sign=SIGNS[entry.outcome],
        word=WORDS[entry.outcome],
    )


def _percent(size: float) -> float:
    return round(100 * min(max(size, 0.0), 1.0), 2)
