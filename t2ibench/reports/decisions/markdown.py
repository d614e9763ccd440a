"""Decisions as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from t2ibench.decisions.decision import Decision, ScenarioDecision
from t2ibench.reports.decisions.sentences import (
    SIGNS,
    WORDS,
    limits_text,
    measurement_text,
    next_step,
    reference_text,
    scenario_lines,
    verdict,
    whole_text,
)
from t2ibench.reports.markdown.markup import escape as escaped


def decision_markdown(decisions: Sequence[Decision]) -> str:
    """Return decisions as Markdown, a section for each run."""
    return "\n".join(line for decision in decisions for line in _of_run(decision))


def _of_run(decision: Decision) -> Iterator[str]:
    yield f"# {SIGNS[decision.outcome]} {escaped(verdict(decision))}"
    yield ""
    beside = f", compared with `{escaped(decision.older)}`" if decision.older else ""
    profile = decision.profile
    yield (
        f"`{escaped(decision.run)}`{beside}, by '{escaped(profile.title)}' (profile "
        f"`{profile.sha256[:12]}`{_plan(decision)})."
    )
    yield ""
    yield "| | scenario | measured | limit | outcome |"
    yield "|---|---|---|---|---|"
    for part in decision.scenarios:
        yield _row(part)
    yield ""
    for part in decision.scenarios:
        yield from _section(part)
    for text in decision.departures:
        yield f"- **departs from the plan**: {escaped(text)}"
    for text in decision.remarks:
        yield f"- {escaped(text)}"
    yield ""
    yield whole_text(decision)
    action = next_step(decision)
    if action:
        yield ""
        yield escaped(action)
    yield ""


def _plan(decision: Decision) -> str:
    return f", plan `{decision.plan[:12]}`" if decision.plan else ""


def _row(part: ScenarioDecision) -> str:
    scenario = part.scenario
    cells = [
        SIGNS[part.outcome],
        scenario.name,
        measurement_text(scenario),
        limits_text(scenario),
        WORDS[part.outcome],
    ]
    return f"| {' | '.join(escaped(cell) for cell in cells)} |"


def _section(part: ScenarioDecision) -> Iterator[str]:
    scenario = part.scenario
    yield f"## {escaped(scenario.name)}"
    yield ""
    yield f"- at risk: {escaped(scenario.at_risk)}; hazard: {escaped(scenario.hazard)}"
    yield f"- compared with {escaped(reference_text(scenario))}"
    yield f"- why this limit: {escaped(scenario.reason)}"
    for line in scenario_lines(part):
        yield f"- {escaped(line)}"
    if scenario.mitigation:
        yield f"- mitigation: {escaped(scenario.mitigation)}"
    if scenario.review:
        yield f"- review: {scenario.review.isoformat()}"
    yield ""
