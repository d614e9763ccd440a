"""Decisions as JUnit XML, which continuous integration shows beside other tests."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from t2ibench.decisions.decision import Decision, ScenarioDecision
from t2ibench.decisions.rules import Outcome
from t2ibench.errors import visible
from t2ibench.reports.decisions.sentences import (
    limits_text,
    measurement_text,
    scenario_lines,
    verdict,
)

_PLAN = "plan"


def printable(text: str) -> str:
    r"""Return a text that XML 1.0 may contain, with every other character escaped.

    Examples:
        >>> print(printable("a\x00b\ufffe"))
        a\x00b\ufffe
    """
    return visible(text).replace("\ufffe", r"\ufffe").replace("\uffff", r"\uffff")


def decision_junit(decisions: Sequence[Decision]) -> str:
    """Return decisions as JUnit XML: a suite for each run, a test case for each scenario.

    A scenario that fails the run is a `failure`; what is undecided is an `error`, which is no pass
    anywhere. So is a scenario that fails by itself, but not after the correction for their number.
    """
    root = ElementTree.Element("testsuites", name="t2ibench decide")
    for decision in decisions:
        root.append(_suite(decision))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suite(decision: Decision) -> ElementTree.Element:
    outcomes = [_outcome(decision, part) for part in decision.scenarios]
    departs = bool(decision.departures)
    suite = ElementTree.Element(
        "testsuite",
        name=printable(f"{decision.profile.title}: {decision.run}"),
        tests=str(len(outcomes) + departs),
        failures=str(outcomes.count("fail")),
        errors=str(outcomes.count("undecided") + departs),
        skipped="0",
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (
        ("outcome", decision.outcome),
        ("model", decision.model),
        ("profile_sha256", decision.profile.sha256),
        ("plan_sha256", decision.plan or ""),
    ):
        ElementTree.SubElement(
            properties, "property", name=name, value=printable(value)
        )
    for part in decision.scenarios:
        suite.append(_case(decision, part))
    if departs:
        case = ElementTree.SubElement(
            suite, "testcase", classname=printable(decision.run), name=_PLAN
        )
        _add(case, "error", "the run departs from its plan", decision.departures)
    system_out = ElementTree.SubElement(suite, "system-out")
    system_out.text = printable(verdict(decision))
    return suite


def _outcome(decision: Decision, part: ScenarioDecision) -> Outcome:
    """Return what a scenario shows as a part of the decision about its run."""
    if part.outcome == "fail" and decision.outcome != "fail":
        return "undecided"
    return part.outcome


def _case(decision: Decision, part: ScenarioDecision) -> ElementTree.Element:
    scenario = part.scenario
    case = ElementTree.Element(
        "testcase", classname=printable(decision.run), name=printable(scenario.name)
    )
    lines = [
        f"{measurement_text(scenario)} ({limits_text(scenario)})",
        f"reason: {scenario.reason}",
        *scenario_lines(part),
    ]
    outcome = _outcome(decision, part)
    if outcome == "fail":
        _add(case, "failure", "beyond the limit", lines)
    elif outcome == "undecided":
        why = "the interval reaches over the limit"
        if part.reasons:
            why = part.reasons[0]
        elif part.outcome == "fail":
            why = (
                "beyond the limit by itself, not after the correction for all scenarios"
            )
        _add(case, "error", f"undecided: {why}", lines)
    else:
        ElementTree.SubElement(case, "system-out").text = _joined(lines)
    return case


def _add(
    case: ElementTree.Element, kind: str, message: str, lines: Sequence[str]
) -> None:
    element = ElementTree.SubElement(case, kind, message=printable(message), type=kind)
    element.text = _joined(lines)


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(printable(line) for line in lines)
