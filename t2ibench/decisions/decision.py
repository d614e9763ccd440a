"""Decides about a run by a profile: every scenario, what must also hold, and the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from t2ibench.decisions.evidence import evidence
from t2ibench.decisions.held import Held
from t2ibench.decisions.holds import holds
from t2ibench.decisions.images_needed import (
    SOURCE_IMAGES_NEEDED,
    ImagesNeeded,
    images_needed,
)
from t2ibench.decisions.looks import level_of, of_no_look
from t2ibench.decisions.obstacles import obstacles, other_run_obstacles
from t2ibench.decisions.profile import Profile, Scenario
from t2ibench.decisions.quantity import ALPHA, Chances, Limits
from t2ibench.decisions.repeat import RepeatRate, joined, repeat_rate
from t2ibench.decisions.rules import Outcome, Ruling, ruling, together
from t2ibench.decisions.runs import MeasuredRun, ReferenceRuns
from t2ibench.methods.core.edit_report import edit_report
from t2ibench.results.fixed_before import RegisteredPlan
from t2ibench.results.schema import TaskResult
from t2ibench.stats import holm

EXIT_STATUS: dict[Outcome, int] = {"pass": 0, "fail": 4, "undecided": 3}


@dataclass(frozen=True, slots=True)
class ScenarioDecision:
    """What a run shows about one scenario.

    Attributes:
        scenario: The scenario.
        outcome: Whether the run passes it, fails it, or is undecided.
        rulings: What the rule says of each quantity, the least acceptable first.
        p_fail: p-value that none of them is beyond what is rejected, corrected for their number.
        p_fail_holm: The same, corrected for the scenarios of the profile.
        held: What had to hold beside the limit.
        reasons: Why it is undecided whatever the numbers, as clauses.
        repeat: The rule's A/A rate here; None without a quantity.
        needed: The images that would decide; None where it is decided or cannot be.
    """

    scenario: Scenario
    outcome: Outcome
    rulings: tuple[Ruling, ...] = ()
    p_fail: float = 1.0
    p_fail_holm: float = 1.0
    held: tuple[Held, ...] = ()
    reasons: tuple[str, ...] = ()
    repeat: RepeatRate | None = None
    needed: ImagesNeeded | None = None

    @property
    def outcomes(self) -> dict[Outcome, int]:
        """Return how many quantities have each outcome."""
        counts: dict[Outcome, int] = {"pass": 0, "fail": 0, "undecided": 0}
        for entry in self.rulings:
            counts[entry.outcome] += 1
        return counts


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about a run by a profile.

    Attributes:
        run: What reports call the run.
        model: Its model.
        profile: The profile.
        outcome: Whether every scenario passes, any fails, or neither.
        scenarios: What the run shows about each scenario.
        older: What reports call the older run; None if there is none.
        chances: The outcomes of another run of the model that was measured; None where not numbers
            alone decide, so that nothing is known of them.
        departures: In what the run departs from the plan, as clauses.
        plan: SHA-256 of the plan; None if there is none.
        remarks: What a reader must know besides.
        images: Number of images that the tasks of the profile rest on.
    """

    run: str
    model: str
    profile: Profile
    outcome: Outcome
    scenarios: tuple[ScenarioDecision, ...]
    older: str | None = None
    chances: Chances | None = None
    departures: tuple[str, ...] = ()
    plan: str | None = None
    remarks: tuple[str, ...] = field(default=())
    images: int = 0

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command: 0 for pass, 4 for fail, 3 for undecided."""
        return EXIT_STATUS[self.outcome]


def decide(
    profile: Profile,
    run: MeasuredRun,
    references: ReferenceRuns,
    older: MeasuredRun | None = None,
    *,
    alpha: float | None = None,
    departures: Sequence[str] = (),
    plan: str | None = None,
    remarks: Sequence[str] = (),
    today: date | None = None,
) -> Decision:
    """Return the decision about a run.

    Args:
        profile: The scenarios, fixed before the run.
        run: The run.
        references: Finds the runs that the profile refers to.
        older: The run that it is compared with, where a scenario compares.
        alpha: The level of the rule, of a wrong pass and of a wrong fail each; by default that of
            the look at which the run stopped, or .05.
        departures: In what the run departs from its plan; such a run never passes.
        plan: SHA-256 of the plan.
        remarks: What a reader must know about the plan.
        today: The day, which tells whether a review is due; None leaves that out.
    """
    if alpha is None:
        alpha, unplanned = _level_of_look(profile, run)
        departures = tuple(dict.fromkeys((*departures, *unplanned)))
    decided = [
        decide_scenario(scenario, run, references, older, alpha=alpha)
        for scenario in profile.scenarios
    ]
    scenarios = _corrected(decided)
    outcome = _whole(scenarios, alpha)
    if departures and outcome == "pass":
        outcome = "undecided"
    measured = run.results.tasks_named(profile.tasks)
    return Decision(
        run=run.name,
        model=run.results.title,
        profile=profile,
        outcome=outcome,
        scenarios=scenarios,
        older=None if older is None else older.name,
        chances=None if departures else _chances(scenarios),
        departures=tuple(departures),
        plan=plan,
        remarks=(
            *_remarks(profile, measured, today),
            *_looks_remark(run, alpha),
            *_plan_remark(run.results.registered_plan, plan),
            *remarks,
        ),
        images=sum(task.n_images for task in measured),
    )


def _level_of_look(profile: Profile, run: MeasuredRun) -> tuple[float, list[str]]:
    """Return the level at which a run is decided, and as a clause that it is of no planned look.

    Results of another size are one look more than those whose errors together stay below .05.
    """
    if run.looks is None:
        return ALPHA, []
    measured = [task.settings for task in run.results.tasks_named(profile.tasks)]
    level = level_of(run.looks, measured)
    if level is None:
        return run.looks.levels[0], [of_no_look(run.looks)]
    return level, []


def _corrected(decided: Sequence[ScenarioDecision]) -> tuple[ScenarioDecision, ...]:
    """Return the scenarios with p-values of a failure that are corrected for their number."""
    p_values = holm([part.p_fail for part in decided])
    return tuple(
        replace(part, p_fail_holm=1.0 if p is None else p)
        for part, p in zip(decided, p_values, strict=True)
    )


def _chances(scenarios: Sequence[ScenarioDecision]) -> Chances | None:
    """Return the chances of each outcome in another run; None if not only numbers decide."""
    chances = []
    for part in scenarios:
        holds_all = all(entry.outcome == "pass" for entry in part.held)
        if part.repeat is None or part.reasons or not holds_all:
            return None
        chances.append(part.repeat.chances)
    return joined(chances)


def _whole(scenarios: Sequence[ScenarioDecision], alpha: float) -> Outcome:
    """Return the outcome of a profile: all must pass, and any fails it after Holm's correction."""
    if all(part.outcome == "pass" for part in scenarios):
        return "pass"
    failing = [part for part in scenarios if part.outcome == "fail"]
    # What does not hold is decided without correction; where a scenario is undecided whatever
    # its numbers, it decides nothing either.
    fails_hold = any(entry.outcome == "fail" for part in failing for entry in part.held)
    fails_limit = any(part.p_fail_holm <= alpha for part in failing)
    return "fail" if fails_limit or fails_hold else "undecided"


def decide_scenario(
    scenario: Scenario,
    run: MeasuredRun,
    references: ReferenceRuns,
    older: MeasuredRun | None = None,
    *,
    alpha: float = ALPHA,
) -> ScenarioDecision:
    """Return what a run shows about one scenario."""
    reasons = obstacles(run.results, scenario.measurement)
    if any(name not in run.results.tasks for name in scenario.measurement.task):
        return ScenarioDecision(scenario, "undecided", reasons=tuple(reasons))
    reasons += other_run_obstacles(scenario, older, references)
    limits = Limits(scenario.accept, scenario.rejected_from)
    numbers = evidence(scenario, run, older, references)
    rulings = [ruling(quantity, limits, alpha) for quantity in numbers.quantities]
    reasons += numbers.reasons
    reasons += [
        f"{entry.quantity.name}: {entry.reason}" for entry in rulings if entry.reason
    ]
    held = holds(scenario, run, older)
    outcome, p_fail = together(rulings, alpha)
    if reasons:
        p_fail = 1.0
    outcome = _with_conditions(outcome, reasons, held)
    rulings.sort(key=_severity)
    needed = None
    if outcome == "undecided" and not reasons:
        if _has_edits(scenario, run):
            needed = SOURCE_IMAGES_NEEDED
        else:
            needed = _most_images(rulings, limits, _images_of(scenario, run))
    return ScenarioDecision(
        scenario=scenario,
        outcome=outcome,
        rulings=tuple(rulings),
        p_fail=p_fail,
        held=tuple(held),
        reasons=tuple(reasons),
        repeat=repeat_rate(numbers.quantities, limits) if numbers.quantities else None,
        needed=needed,
    )


def _with_conditions(
    outcome: Outcome, reasons: Sequence[str], held: Sequence[Held]
) -> Outcome:
    """Return the outcome of a scenario's numbers, given what else must hold."""
    if reasons:
        return "undecided"
    conditions = {entry.outcome for entry in held}
    if "fail" in conditions:
        return "fail"
    if outcome == "pass" and "undecided" in conditions:
        return "undecided"
    return outcome


def _most_images(
    rulings: Sequence[Ruling], limits: Limits, of_task: int | None
) -> ImagesNeeded | None:
    """Return the largest need among undecided quantities; None if all are decided."""
    every = [
        images_needed(entry.quantity, limits, entry.quantity.images or of_task)
        for entry in rulings
        if entry.outcome == "undecided"
    ]
    return max(every, key=_how_many, default=None)


def _severity(entry: Ruling) -> tuple[int, float]:
    """Return the place of a quantity among others: failures first, then the largest."""
    order = {"fail": 0, "undecided": 1, "pass": 2}
    return order[entry.outcome], -abs(entry.quantity.value)


def _how_many(needed: ImagesNeeded) -> float:
    return float("inf") if needed.times is None else needed.times


def _has_edits(scenario: Scenario, run: MeasuredRun) -> bool:
    """Return whether any task of a scenario edits images."""
    details = [run.results.tasks[name].details for name in scenario.measurement.task]
    return any(edit_report(each) is not None for each in details)


def _images_of(scenario: Scenario, run: MeasuredRun) -> int | None:
    """Return how many images per prompt the first task has; None if it has no images."""
    task = run.results.tasks[scenario.measurement.task[0]]
    if task.n_images and task.n_prompts:
        rows = [
            row.n_images for row in task.by if row.n_images and "lean" in row.scores
        ]
        return max(rows) if rows else round(task.n_images / task.n_prompts)
    return None


def _looks_remark(run: MeasuredRun, alpha: float) -> list[str]:
    """Return a remark on a run that was decided at several interim looks; empty for one look."""
    looks = run.looks
    if looks is None or len(looks.levels) < 2:
        return []
    return [
        f"the run may be looked at {len(looks.levels)} times; these results have the level "
        f"{alpha:.2g}, so that all looks together are wrong in at most 0.05"
    ]


def _plan_remark(registered: RegisteredPlan | None, plan: str | None) -> list[str]:
    """Return remarks on when the plan of a run was fixed.

    Args:
        registered: The plan that the run was made by; None for none.
        plan: SHA-256 of the plan that the decision names; None for none.
    """
    if registered is None:
        if plan is None:
            return []
        return [
            "the run does not record by which plan it was made (`t2ibench run --plan`), so when "
            "the plan was fixed is unknown"
        ]
    if plan is None:
        return [
            "the run was made by a plan; `--plan` lists how it departs from the plan"
        ]
    if registered.images_before:
        return [
            f"the run folder had {registered.images_before} images before it was first run by "
            "the plan"
        ]
    return []


def _remarks(
    profile: Profile, measured: Sequence[TaskResult], today: date | None
) -> list[str]:
    """Return further remarks: reviews that are due, and answers that are unchecked."""
    remarks = []
    for scenario in profile.scenarios:
        if (
            today is not None
            and scenario.review is not None
            and scenario.review < today
        ):
            remarks.append(
                f"the review of '{scenario.name}' was due on {scenario.review.isoformat()}"
            )
    judges = sorted({name for task in measured for name in task.settings.judges})
    if judges:
        remarks.append(
            f"answers are those of {', '.join(judges)}; `t2ibench check judge` measures its "
            "errors, which no interval here includes"
        )
    return remarks
