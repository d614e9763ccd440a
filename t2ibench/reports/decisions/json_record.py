"""Decisions as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from t2ibench.decisions.decision import Decision, ScenarioDecision
from t2ibench.decisions.quantity import Chances
from t2ibench.decisions.rules import Ruling
from t2ibench.reports.decisions.sentences import verdict, worst
from t2ibench.version import __version__

SCHEMA = 1


def decision_json(decisions: Sequence[Decision]) -> str:
    """Return decisions as JSON, with the worst outcome of all runs."""
    content = {
        "schema": SCHEMA,
        "t2ibench": __version__,
        "outcome": worst(decisions),
        "decisions": [decision_record(decision) for decision in decisions],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def decision_record(decision: Decision) -> dict[str, Any]:
    """Return a decision as JSON values."""
    return {
        "run": decision.run,
        "model": decision.model,
        "older": decision.older,
        "outcome": decision.outcome,
        "exit_status": decision.exit_status,
        "says": verdict(decision),
        "profile": decision.profile.title,
        "profile_sha256": decision.profile.sha256,
        "plan_sha256": decision.plan,
        "departures": list(decision.departures),
        "remarks": list(decision.remarks),
        "images": decision.images,
        "another_run": _another_run(decision.chances),
        "scenarios": [_scenario(part) for part in decision.scenarios],
    }


def _another_run(chances: Chances | None) -> dict[str, float | None] | None:
    if chances is None:
        return None
    return {
        "passes": _rounded(chances.passes),
        "fails": _rounded(chances.fails),
        "two_runs_differ": _rounded(chances.differ),
    }


def _scenario(part: ScenarioDecision) -> dict[str, Any]:
    repeat = part.repeat
    needed = part.needed
    return {
        "scenario": part.scenario.model_dump(mode="json"),
        "outcome": part.outcome,
        "p_fail": _rounded(part.p_fail),
        "p_fail_holm": _rounded(part.p_fail_holm),
        "reasons": list(part.reasons),
        "quantities": [_quantity(entry) for entry in part.rulings],
        "holds": [
            {
                "name": entry.name,
                "wanted": entry.wanted,
                "outcome": entry.outcome,
                "shows": entry.shows,
            }
            for entry in part.held
        ],
        "two_runs_differ": None if repeat is None else _rounded(repeat.at_estimate),
        "two_runs_differ_at_worst": None if repeat is None else _rounded(repeat.worst),
        "images_that_would_decide": None if needed is None else needed.images,
        "images_times": None if needed is None else _rounded(needed.times),
    }


def _quantity(entry: Ruling) -> dict[str, Any]:
    return {
        "name": entry.quantity.name,
        "value": _rounded(entry.quantity.value),
        "low": _rounded(entry.interval.low),
        "high": _rounded(entry.interval.high),
        "rule": entry.quantity.rule,
        "outcome": entry.outcome,
        "p_fail": _rounded(entry.p_fail),
    }


def _rounded(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.6g}")
