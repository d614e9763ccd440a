"""Looks at a growing run until it is decided (`run --until-decided accept.yaml`).

Deciding again and again by the plain rule is wrong more often than once: each look has a level of
its own, spent of alpha, and sizes and levels are in run.db before the first image. An image depends
on its prompt and index only: every look resumes the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from t2ibench.decisions.decision import Decision, decide
from t2ibench.decisions.looks import check_looks, check_same, planned_looks
from t2ibench.decisions.profile import Profile
from t2ibench.decisions.runs import MeasuredRun, ReferenceRuns
from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.outcome import Outcome
from t2ibench.pipeline.plan import images_at
from t2ibench.pipeline.preparation import prepare_round
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.rounds import joined
from t2ibench.pipeline.run import execute
from t2ibench.pipeline.run_context import Models, RunContext
from t2ibench.power.pilots import Size
from t2ibench.results.fixed_before import LooksRecord
from t2ibench.results.paired import read_paired
from t2ibench.settings import Measurement


@dataclass(slots=True)
class Looked:
    """The outcome of a run that was looked at until it was decided.

    Attributes:
        outcome: All looks as one.
        decision: What the last look decided; None where nothing was scored.
        images: Distinct images at the end.
        lines: A line a look.
    """

    outcome: Outcome
    decision: Decision | None = None
    images: int = 0
    lines: list[str] = field(default_factory=list)


def until_decided(
    context: RunContext,
    models: Models,
    profile: Profile,
    references: ReferenceRuns,
    reporter: Reporter,
    *,
    most_images: int,
) -> Looked:
    """Repeat a run with twice the images until it is decided, or has its largest number."""
    _check_tasks(context, profile)
    # With the model's own numbers of images, which the results have.
    measurement = Measurement.of(context.plan.settings)
    check_looks(
        (task.spec for task in context.plan.tasks if task.id in profile.tasks),
        measurement,
    )
    first = max(Size.of(context.plan.needs[name]).images for name in profile.tasks)
    looks = planned_looks(profile, first, most_images, measurement)
    check_same(context.record.looks, looks)
    context = replace(context, looks=context.record.looks or looks)
    looked = Looked(execute(context, models, reporter))
    size = first
    for number, images in enumerate(looks.images_per_prompt, start=1):
        if images != size:
            _grow(looked, context, models, images / first, reporter)
            size = images
        looks = _record(context, looks, number, reporter)
        decision = _decide(looked.outcome, profile, references, looks, number)
        if decision is None:
            break
        looked.decision = decision
        looked.lines.append(
            f"look {number} of {len(looks.levels)}, {images} images a prompt, level "
            f"{looks.levels[number - 1]:.2g}: {decision.outcome}"
        )
        if decision.outcome != "undecided" or looked.outcome.stopped:
            break
    times = context.settings.times * size / first
    names = [task.id for task in context.plan.tasks]
    looked.images = images_at(context.plan, dict.fromkeys(names, times))
    return looked


def _grow(
    looked: Looked,
    context: RunContext,
    models: Models,
    multiple: float,
    reporter: Reporter,
) -> None:
    """Run every task with a multiple of the first images."""
    names = tuple(task.id for task in context.plan.tasks)
    reporter.say(f"Undecided so far: {multiple:.3g} times the first images.")
    later, later_models = prepare_round(
        context,
        models.adapters,
        tasks=names,
        times=context.settings.times * multiple,
    )
    outcome = execute(later, later_models, reporter)
    looked.outcome = joined(looked.outcome, outcome)


def _check_tasks(context: RunContext, profile: Profile) -> None:
    """Check that the run measures every task of the profile."""
    planned = {task.id for task in context.plan.tasks}
    missing: Sequence[str] = [name for name in profile.tasks if name not in planned]
    if missing:
        raise T2IBenchError(
            f"--until-decided: {missing[0]} is not among the tasks of this run.",
            f"Give --tasks {','.join(profile.tasks)}.",
        )
    if profile.needs_older_run:
        raise T2IBenchError(
            "--until-decided: the profile compares with an older run, which cannot grow with this "
            "one.",
            "Leave comparisons to `t2ibench decide OLD NEW`.",
        )


def _record(
    context: RunContext, looks: LooksRecord, number: int, reporter: Reporter
) -> LooksRecord:
    """Write down that there was another look, and return the record."""
    with context.exclusive(reporter):
        before = context.record.looks
        taken = max(number, before.taken if before is not None else 0)
        updated = looks.model_copy(update={"taken": taken})
        context.folder.update(looks=updated)
    return updated


def _decide(
    outcome: Outcome,
    profile: Profile,
    references: ReferenceRuns,
    looks: LooksRecord,
    number: int,
) -> Decision | None:
    """Return what a look decides, at its level; None where nothing was scored."""
    if outcome.results is None:
        return None
    folder = outcome.folder
    run = MeasuredRun(folder, outcome.results, read_paired(folder), looks)
    return decide(profile, run, references, alpha=looks.levels[number - 1])
