"""Why a task's numbers decide nothing: a decision fails closed, each time with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from t2ibench.decisions.profile import MeasurementRule, RunReference, Scenario
from t2ibench.decisions.readers import readers, same_judges
from t2ibench.decisions.runs import MeasuredRun, ReferenceRuns
from t2ibench.errors import did_you_mean, shown
from t2ibench.results.display import state_of, text_only
from t2ibench.results.schema import Results, TaskResult


def obstacles(results: Results, rule: MeasurementRule) -> list[str]:
    """Return every reason, as a clause, for which a measurement cannot be decided in a run."""
    reasons: list[str] = []
    for name in rule.task:
        task = results.tasks.get(name)
        if task is None:
            reasons.append(_not_there(results, name))
            continue
        reasons += _of_task(name, task)
        reasons += _of_readers(name, task, rule)
        reasons += _of_controls(results, name, task)
    if results.missing_parts:
        reasons.append(f"part {', '.join(results.missing_parts)} of the run is missing")
    return list(dict.fromkeys(reasons))


def other_run_obstacles(
    scenario: Scenario, older: MeasuredRun | None, references: ReferenceRuns
) -> list[str]:
    """Return why the run that a scenario compares with decides nothing, as clauses.

    A number of the other run is as much a part of the difference as the run's own.
    """
    reference = scenario.reference
    if isinstance(reference, RunReference):
        reasons = obstacles(references.get(reference.run).results, scenario.measurement)
        return [f"in the reference, {reason}" for reason in reasons]
    if scenario.needs_older_run and older is not None:
        reasons = obstacles(older.results, scenario.measurement)
        return [f"in the older run, {reason}" for reason in reasons]
    return []


def _not_there(results: Results, name: str) -> str:
    if name in results.earlier:
        return (
            f"{name} was measured by an earlier command in this folder, with other tasks; name it "
            "in --tasks of the command that is decided about"
        )
    return f"{shown(name)} is not in the run.{did_you_mean(name, results.tasks)}"


def _of_task(name: str, task: TaskResult) -> Iterator[str]:
    if task.settings.limit is not None:
        yield f"{name} was measured with --limit, for a trial"
    if task.reason is not None:
        yield f"{name} has no score: {task.reason}"
    if task.inconclusive is not None:
        yield f"{name} is inconclusive: {task.inconclusive}"
    if task.missing_prompts:
        count = len(task.missing_prompts)
        prompts = "a prompt" if count == 1 else f"{count} prompts"
        yield f"{prompts} of {name} {'has' if count == 1 else 'have'} no image"
    missing = task.excluded.get("failed", 0) + task.excluded.get("missing", 0)
    if missing:
        yield f"{missing} images of {name} failed or are missing; run its command again"
    for question in task.questions:
        if question.incomplete:
            yield (
                f"people answered about {question.answered} of {question.images} images "
                f"({question.about}) of {name}"
            )


def _of_readers(name: str, task: TaskResult, rule: MeasurementRule) -> Iterator[str]:
    """Yield the readers of the images that are not those that the profile fixes."""
    encoders, judges = list(task.settings.encoders), list(task.settings.judges)
    if rule.encoder is not None and set(rule.encoder) != set(encoders):
        yield _other_readers(name, "encoder", encoders, rule.encoder)
    if rule.judge is not None and not same_judges(judges, rule.judge):
        yield _other_readers(name, "judge", judges, rule.judge)


def _other_readers(
    name: str, kind: str, used: Sequence[str], fixed: Sequence[str]
) -> str:
    return (
        f"{name} was measured with {readers(kind, used)}; the profile fixes "
        f"{readers(kind, fixed)}"
    )


def _of_controls(results: Results, name: str, task: TaskResult) -> Iterator[str]:
    """Yield the positive controls of the run that an encoder of the task did not pass."""
    for other_name, other in results.tasks.items():
        shares_encoder = task.settings.encoders.keys() & other.settings.encoders.keys()
        if (
            other.positive_control
            and other_name != name
            and shares_encoder
            and text_only(other) == text_only(task)
            and state_of(other) != "clear"
        ):
            yield f"the positive control {other_name} is not clear, so that nothing else decides"
