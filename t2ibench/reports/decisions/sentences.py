"""The sentences of a decision, the same in every format."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.decimals import readable
from t2ibench.decisions.decision import Decision, ScenarioDecision
from t2ibench.decisions.profile import RunReference, Scenario, ShareReference
from t2ibench.decisions.rules import Outcome, Ruling

# A mark of its own for each outcome, so that none is told by its colour.
SIGNS: dict[Outcome, str] = {"pass": "✓", "fail": "✗", "undecided": "◌"}
WORDS: dict[Outcome, str] = {
    "pass": "passes",
    "fail": "fails",
    "undecided": "undecided",
}
_SHOWN = 5  # quantities of a scenario in a text


def worst(decisions: Sequence[Decision]) -> Outcome:
    """Return the outcome of several runs: a failure before an undecided one before a pass."""
    outcomes = {decision.outcome for decision in decisions}
    order: tuple[Outcome, ...] = ("fail", "undecided")
    return next((outcome for outcome in order if outcome in outcomes), "pass")


def verdict(decision: Decision) -> str:
    """Return the decision about a run in a sentence."""
    scenarios = decision.scenarios
    total = len(scenarios)
    passed = sum(part.outcome == "pass" for part in scenarios)
    if decision.outcome == "pass":
        return f"{decision.model} passes: {_all_of(total)} within {_its(total)} limit."
    if decision.outcome == "fail":
        names = ", ".join(
            part.scenario.name for part in scenarios if part.outcome == "fail"
        )
        return f"{decision.model} fails: {names}."
    if decision.departures and passed == total:
        return f"{decision.model} is undecided: the run departs from its plan."
    failing = sum(part.outcome == "fail" for part in scenarios)
    failures = "none fails beyond chance"
    if failing:
        verb = "fails" if failing == 1 else "fail"
        failures = (
            f"{failing} {verb} alone, none after Holm's correction over the scenarios"
        )
    return f"{decision.model} is undecided: {passed} of {total} scenarios pass, {failures}."


def _all_of(total: int) -> str:
    return "the scenario is" if total == 1 else f"all {total} scenarios are"


def _its(total: int) -> str:
    return "its" if total == 1 else "their"


def limits_text(scenario: Scenario) -> str:
    """Return the limits of a scenario, such as '≤ 0.24 accepted, ≥ 0.4 rejected'."""
    what = " more one-sided" if scenario.measurement.kind == "comparison" else ""
    accepted = f"≤ {scenario.accept:g}{what} accepted"
    if scenario.rejected_from == scenario.accept:
        return f"{accepted}, beyond rejected"
    return f"{accepted}, ≥ {scenario.rejected_from:g} rejected"


def reference_text(scenario: Scenario) -> str:
    """Return what the measurement is compared with, in words."""
    reference = scenario.reference
    if scenario.measurement.kind == "comparison":
        return "the older run"
    if isinstance(reference, ShareReference):
        return f"a share of {reference.share:g}"
    if isinstance(reference, RunReference):
        return f"the run {reference.run}"
    return "even shares" if reference == "even" else reference


def measurement_text(scenario: Scenario) -> str:
    """Return what is measured, and by whom."""
    rule = scenario.measurement
    readers = [*(rule.encoder or ()), *(rule.judge or ())]
    by = f", read by {', '.join(readers)}" if readers else ""
    group = f", share of {rule.group}" if rule.group else ""
    return f"{', '.join(rule.task)}: {rule.statistic}{group}{by}"


def ruling_text(entry: Ruling) -> str:
    """Return a quantity with its interval and what the rule says of it."""
    low, high = entry.interval
    quantity = entry.quantity
    counts = f"; {quantity.counts}" if quantity.counts else ""
    return f"{quantity.name} {number(quantity.value)} ({number(low)} to {number(high)}{counts})"


def number(value: float) -> str:
    """Return a number with two decimals and a real minus."""
    return readable(value, 2)


def scenario_lines(
    part: ScenarioDecision, *, with_quantities: bool = True
) -> list[str]:
    """Return what was measured about a scenario, line by line; a page draws the quantities."""
    lines = []
    if with_quantities:
        lines += [ruling_text(entry) for entry in part.rulings[:_SHOWN]]
    rules = dict.fromkeys(entry.quantity.rule for entry in part.rulings)
    lines += [f"decided by: {rule}" for rule in rules]
    if len(part.rulings) > _SHOWN:
        counts = part.outcomes
        lines.append(
            f"{len(part.rulings)} in total: {counts['pass']} within the limit, {counts['fail']} "
            f"beyond, {counts['undecided']} undecided"
        )
    lines += [
        f"{SIGNS[entry.outcome]} {entry.name}: {entry.wanted}; {entry.shows}"
        for entry in part.held
    ]
    lines += [f"undecided, because {reason}" for reason in part.reasons]
    if part.needed is not None:
        lines.append(part.needed.says)
    broken = [entry.name for entry in part.held if entry.outcome == "fail"]
    if broken:
        lines.append(f"fails, because this does not hold: {', '.join(broken)}")
    elif part.outcome == "fail":
        lines.append(
            f"p = {part.p_fail:.2g} that it is within; {part.p_fail_holm:.2g} after Holm's "
            "correction over the scenarios"
        )
    if part.repeat is not None and not part.reasons:
        lines.append(repeat_text(part))
    return lines


def repeat_text(part: ScenarioDecision) -> str:
    """Return the rule's A/A rate in a sentence."""
    if part.repeat is None:
        return ""
    return (
        f"two runs of the same model would differ here in {part.repeat.at_estimate:.0%}, and in "
        f"{part.repeat.worst:.0%} at worst (of a model at {part.repeat.worst_at:.2f})"
    )


def whole_text(decision: Decision) -> str:
    """Return how reliable the decision as a whole is, in sentences."""
    text = (
        "A model at its limit passes in at most 5 % of runs, and fails in at most 5 %; all "
        "scenarios must pass, and failures are corrected for their number (Holm)."
    )
    chances = decision.chances
    if chances is not None:
        text += (
            f" Another run of this size, of a model as it was measured, would pass in "
            f"{chances.passes:.0%}, fail in {chances.fails:.0%} and be undecided in "
            f"{chances.undecided:.0%}; two such runs would have different outcomes in "
            f"{chances.differ:.0%}."
        )
    return text


def next_step(decision: Decision) -> str:
    """Return what to do with the outcome, in a sentence."""
    if decision.outcome == "pass":
        return ""
    if decision.outcome == "fail":
        actions = [
            part.scenario.mitigation
            for part in decision.scenarios
            if part.outcome == "fail" and part.scenario.mitigation
        ]
        return f"Mitigation: {' '.join(actions)}" if actions else ""
    return (
        "Undecided is no pass: mend what is named above, or run the number of images that would "
        "decide, under a new plan (docs/decisions.md)."
    )
