"""How a run departs from its plan: each number, task and reader that was fixed is compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from t2ibench.arguments import format_args
from t2ibench.decisions.looks import are_same, level_of, of_no_look
from t2ibench.decisions.plan import Plan, PlannedTask, looks_of
from t2ibench.decisions.profile import Profile
from t2ibench.decisions.readers import (
    fingerprint_key,
    other_encoders,
    other_judges,
    readers,
)
from t2ibench.decisions.runs import ReferenceRuns, reference_folders
from t2ibench.errors import T2IBenchError, shown, shown_path
from t2ibench.results.fixed_before import Looks
from t2ibench.results.further_settings import FurtherSettings
from t2ibench.results.schema import Results, TaskResult, TaskSettings
from t2ibench.settings import Measurement, flag_name
from t2ibench.store.answers import who_judged
from t2ibench.tasks.loader import LoadedTask

_LETTERS = 8  # of a SHA-256
# Settings that grow from look to look.
_SIZES = ("images_per_prompt", "guided_images_per_prompt", "times")


def departures(
    plan: Plan,
    profile: Profile,
    results: Results,
    looks: Looks | None = None,
    references: ReferenceRuns | None = None,
) -> list[str]:
    """Return clauses that say how a run departs from its plan; empty if it does not.

    Nothing departs from what a plan says about itself: the version of its writer, its pilot and
    its chances.

    Args:
        plan: The plan.
        profile: What is decided by.
        results: The results of the run.
        looks: The looks that the run was made with; None for none.
        references: Finds the runs that the profile refers to; None where they are not here.
    """
    lines: list[str] = []
    if profile.sha256 != plan.profile.sha256:
        lines.append("the profile is another one than that of the plan")
    registered = results.registered_plan
    if registered is not None and registered.sha256 != plan.sha256:
        lines.append("the run was made by another plan")
    lines += _of_looks(plan, results, looks)
    lines += _of_further_tasks(plan, results)
    lines += _of_further_settings(plan, results.further_settings)
    if references is not None:
        lines += _of_references(plan, references)
    for name, planned in plan.tasks.items():
        task = results.tasks.get(name)
        if task is None:
            lines.append(f"{shown(name)} is not in the run")
            continue
        lines += _of_task(shown(name), planned, task, plan)
    return list(dict.fromkeys(lines))


def departures_of_older_run(plan: Plan, results: Results) -> list[str]:
    """Return clauses that say how the older run of a comparison was read in another way.

    It may have another size and seed, and may have been made by another plan.
    """
    lines = [*_of_further_settings(plan, results.further_settings)]
    for name in plan.tasks:
        if name in results.tasks:
            lines += _of_fingerprints(shown(name), results.tasks[name], plan)
    return [f"in the older run, {line}" for line in dict.fromkeys(lines)]


def check_before_run(
    plan: Plan,
    path: Path,
    tasks: Sequence[LoadedTask],
    measurement: Measurement,
    further: FurtherSettings,
    *,
    skipped: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Check that a run by a plan would not depart from it, before its first image.

    Args:
        plan: The plan.
        path: Its file.
        tasks: The tasks of the run.
        measurement: How the run would measure, with its model's own numbers of images.
        further: Its settings beside the measurement.
        skipped: Task id to the reason why the run leaves the task out.

    Raises:
        T2IBenchError: a task is left out or has another version here, the model or a preset has
            other numbers of images, or other checks of judges would be used.
    """
    where = shown_path(path)
    for name in sorted(plan.tasks.keys() - {task.id for task in tasks}):
        reason = skipped.get(name, "a preset measures others").rstrip(".")
        raise T2IBenchError(
            f"{where} fixes {shown(name)}, and this run cannot have it: {reason}.",
            "Write a plan without it, or leave --plan out.",
        )
    for task in tasks:
        planned = plan.tasks.get(task.id)
        if planned is not None and planned.hash != task.hash:
            raise T2IBenchError(
                f"{where} fixes another version of {task.id} (version {planned.version}, of "
                f"t2ibench {shown(plan.t2ibench)}) than the one here (version "
                f"{task.spec.version}).",
                "Use the task file that it was written for, or write a new plan.",
            )
    for setting in _SIZES:
        number = getattr(measurement, setting)
        if number != getattr(plan.measurement, setting):
            flag = f"{flag_name(setting)} {number}"
            raise T2IBenchError(
                f"{where} leaves the number of images to the tasks, and this model or preset has "
                f"a number of its own ({flag}).",
                f"Write a plan with a number: t2ibench plan {flag} …",
            )
    for clause in _of_further_settings(plan, further):
        raise T2IBenchError(
            f"The run would depart from {where}: {clause}.",
            "Give what the plan fixes, or write a new plan.",
        )


def left_open(plan: Plan, results: Results) -> list[str]:
    """Return sentences about what decides in a run, and the plan does not fix."""
    measured = _measured(plan, results)
    remarks = []
    if plan.further_settings is None:
        remarks.append(
            f"a plan of schema {plan.schema_version} does not fix the untrained control, the "
            "arguments and checks of judges, the columns of their tables, the model of source "
            "images, the runs that limits refer to, or weights"
        )
    else:
        remarks += [
            f"the plan does not fix the results of the run {shown(folder)}, to which a limit "
            "refers: there was none when it was written"
            for folder in reference_folders(plan.profile)
            if folder not in plan.references
        ]
    for kind, fixed, used in (
        ("encoder", plan.fixed_encoders, [settings.encoders for settings in measured]),
        ("judge", plan.fixed_judges, [settings.judges for settings in measured]),
    ):
        names = sorted({name for of_task in used for name in of_task})
        if names and not fixed:
            remarks.append(
                f"the plan fixes no {kind}s; the run has {readers(kind, names)}"
            )
    return remarks


def _of_looks(plan: Plan, results: Results, looks: Looks | None) -> Iterator[str]:
    """Yield in what the looks of a run are not those of its plan."""
    planned = looks_of(plan)
    if planned is None:
        if looks is not None:
            yield "the run was made with --until-decided, and the plan has one look"
        return
    most = planned.images_per_prompt[-1]
    if looks is None:
        yield (
            f"the plan has several looks, at most at {most} images a prompt, and the run was made "
            "without --until-decided"
        )
        return
    if looks.images_per_prompt[-1] != most:
        yield f"the last look is at {looks.images_per_prompt[-1]} images a prompt, not {most}"
    elif looks.profile_sha256 != plan.profile.sha256:
        yield "the looks were by another profile than that of the plan"
    elif not are_same(planned, looks):
        yield "the looks have other sizes or levels than those of the plan"
    elif level_of(planned, _measured(plan, results)) is None:
        yield of_no_look(planned)


def _measured(plan: Plan, results: Results) -> list[TaskSettings]:
    """Return how each task of a plan was measured."""
    return [task.settings for task in results.tasks_named(plan.tasks)]


def _of_further_tasks(plan: Plan, results: Results) -> Iterator[str]:
    """Yield the tasks that the plan does not have, where they count for a limit of its profile."""
    scenarios = plan.profile.scenarios
    if any(scenario.holds.spill_over is not None for scenario in scenarios):
        for name in sorted(results.tasks.keys() - plan.tasks.keys()):
            yield (
                f"{shown(name)} counts for the spill-over, and the plan does not have it"
            )


def _of_further_settings(plan: Plan, used: FurtherSettings | None) -> Iterator[str]:
    """Yield in what the settings beside the measurement are not those of the plan."""
    planned = plan.further_settings
    if planned is None:
        return
    if used is None:
        yield (
            "the results do not state the control, judges' arguments and further settings: an "
            "older t2ibench wrote them (`t2ibench score RUN` writes them again)"
        )
        return
    for name in plan.fixed_further_settings:
        wanted, actual = getattr(planned, name), getattr(used, name)
        if actual == wanted:
            continue
        if name == "judge_checks":
            yield (
                f"shares are corrected by {_checks(actual)}, and the plan fixes {_checks(wanted)} "
                "(--judge-check)"
            )
        else:
            yield f"it was made with {flag_name(name)} {_shown(actual)}, not {_shown(wanted)}"


def _checks(hashes: Sequence[str]) -> str:
    """Return checks of judges as words, with the beginnings of their SHA-256.

    Examples:
        >>> _checks([]), _checks(["3f2a19c077e1"])
        ('no check of a judge', 'the check 3f2a19c0')
    """
    if not hashes:
        return "no check of a judge"
    plural = "" if len(hashes) == 1 else "s"
    return f"the check{plural} {', '.join(shown(each)[:_LETTERS] for each in hashes)}"


def _of_references(plan: Plan, references: ReferenceRuns) -> Iterator[str]:
    """Yield the runs that limits refer to and that have other results than when it was written."""
    if not plan.references:
        return
    digests = references.digests(plan.profile)
    for folder, digest in plan.references.items():
        if digests.get(folder) != digest:
            yield (
                f"the run {shown(folder)}, to which a limit refers, has other results than when "
                "the plan was written"
            )


def _of_task(
    name: str, planned: PlannedTask, task: TaskResult, plan: Plan
) -> Iterator[str]:
    if task.task_hash != planned.hash:
        yield f"{name} is another version of the task (version {task.version})"
    settings = task.settings
    for setting in Measurement.model_fields:
        if setting in _SIZES and plan.most_images_per_prompt is not None:
            continue
        wanted = getattr(plan.measurement, setting)
        used = getattr(settings, setting)
        if used != wanted:
            yield (
                f"{name} was measured with {flag_name(setting)} {_shown(used)}, not "
                f"{_shown(wanted)}"
            )
    most = plan.most_images_per_prompt
    if most is not None:
        allowed = planned.images * most / max(planned.images_per_prompt, 1)
        used_images = task.n_images + sum(task.excluded.values())
        if used_images > allowed + planned.prompts:
            yield f"{name} has {used_images} images, more than the plan's largest number"
    yield from _of_readers(name, task, plan)
    yield from _of_fingerprints(name, task, plan)


def _of_fingerprints(name: str, task: TaskResult, plan: Plan) -> Iterator[str]:
    """Yield the encoders and judges whose weights or settings are not those of the pilot."""
    for kind, used in (
        ("encoder", task.settings.encoders),
        ("judge", task.settings.judges),
    ):
        for reader, fingerprint in who_judged(used).items():
            planned = plan.fingerprints.get(fingerprint_key(kind, reader))
            if fingerprint and planned is not None and fingerprint != planned:
                yield (
                    f"the {kind} {shown(reader)} of {name} has other weights or settings than in "
                    "the pilot of the plan"
                )


def _of_readers(name: str, task: TaskResult, plan: Plan) -> Iterator[str]:
    encoders, judges = plan.fixed_encoders, plan.fixed_judges
    if encoders and other_encoders(task, encoders):
        yield _other_readers(name, "encoder", task.settings.encoders, encoders)
    if judges and other_judges(task, judges):
        yield _other_readers(name, "judge", task.settings.judges, judges)


def _other_readers(
    name: str, kind: str, used: Iterable[str], fixed: Iterable[str]
) -> str:
    return (
        f"{name} has {readers(kind, [*used])}; the plan fixes {readers(kind, [*fixed])}"
    )


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return shown(format_args(value)) or "unset"
    return "unset" if value is None else shown(value)
