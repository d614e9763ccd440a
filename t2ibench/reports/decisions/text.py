"""Decisions as plain text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from t2ibench.decisions.decision import Decision
from t2ibench.errors import visible_lines
from t2ibench.reports.decisions.sentences import (
    SIGNS,
    WORDS,
    limits_text,
    next_step,
    scenario_lines,
    verdict,
    whole_text,
)

_WIDTH = 88


def decision_text(decisions: Sequence[Decision]) -> str:
    """Return decisions as text, one after the other."""
    return "\n".join(_of_run(decision) for decision in decisions)


def decision_lines(names: Sequence[str], decisions: Sequence[Decision]) -> str:
    """Return the decisions about several runs as Markdown, an item a run."""
    items = []
    for name, decision in zip(names, decisions, strict=True):
        text = f"{name}: {SIGNS[decision.outcome]} {verdict(decision)}"
        items += textwrap.wrap(
            text, _WIDTH, initial_indent="- ", subsequent_indent="  "
        )
    return visible_lines("\n".join(items)) + "\n"


def _of_run(decision: Decision) -> str:
    beside = f", compared with {decision.older}" if decision.older else ""
    lines = [
        f"{SIGNS[decision.outcome]} {verdict(decision)}",
        f"  {decision.run}{beside}, by '{decision.profile.title}'",
        "",
    ]
    for part in decision.scenarios:
        scenario = part.scenario
        lines.append(
            f"{SIGNS[part.outcome]} {scenario.name}: {WORDS[part.outcome]} "
            f"({limits_text(scenario)})"
        )
        lines += _wrapped(f"because {scenario.reason}")
        for line in scenario_lines(part):
            lines += _wrapped(line)
    notes = [f"departs from the plan: {text}" for text in decision.departures]
    for note in [*notes, *decision.remarks]:
        lines += textwrap.wrap(f"! {note}", _WIDTH, subsequent_indent="  ")
    lines += ["", *textwrap.wrap(whole_text(decision), _WIDTH)]
    action = next_step(decision)
    if action:
        lines += textwrap.wrap(action, _WIDTH)
    return visible_lines("\n".join(lines)) + "\n"


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(
        line, _WIDTH, initial_indent="    ", subsequent_indent="      "
    )
