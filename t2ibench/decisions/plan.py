"""Plans: a profile with tasks, sizes and readers of its run, fixed in one file with its hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from t2ibench.decisions.looks import check_looks
from t2ibench.decisions.profile import Profile
from t2ibench.errors import T2IBenchError, shown
from t2ibench.methods import needs
from t2ibench.methods.core.schema import Strict
from t2ibench.power.pilots import Size
from t2ibench.results.fixed_before import Looks
from t2ibench.results.schema import Results, TaskResult
from t2ibench.settings import Measurement, Settings
from t2ibench.store.file_errors import read_data
from t2ibench.store.files import write_text
from t2ibench.tasks.loader import LoadedTask
from t2ibench.version import __version__

SCHEMA = 1
_LARGEST = 8 * 2**20  # bytes
_HASH = "sha256"
# Settings of a measurement that a plan fixes.
_SIZES = ("images_per_prompt", "guided_images_per_prompt", "times")
_FIXED = ("limit", "seed", "level")


class PlannedTask(Strict):
    """A task of a plan.

    Attributes:
        version: Version of its file.
        hash: SHA-256 over everything in it that decides a score.
        prompts: Its number of prompts; of a task with edits, of its source images.
        images: Its number of images; of a task with edits, source images and edits.
        images_per_prompt: Images of the prompts that have the most.
    """

    version: int
    hash: str
    prompts: int
    images: int
    images_per_prompt: int


class Plan(Strict):
    """All that is fixed before a run.

    Attributes:
        schema_version: Version of this schema ('schema' in the file).
        t2ibench: Version of the program that wrote it.
        profile: The scenarios.
        tasks: Task id to what is fixed of it.
        measurement: Numbers of images, seed and level.
        encoders: The encoders; empty for those that the profile names, or the model's.
        judges: The judges.
        most_images_per_prompt: The largest number of images of a prompt, where the run may look
            several times; None for exactly the planned number.
        pilot: The run that the chances were forecast from; None for none.
        chances: The forecast chances, as printed.
    """

    schema_version: Annotated[int, Field(alias="schema")] = SCHEMA
    t2ibench: str
    profile: Profile
    tasks: dict[str, PlannedTask]
    measurement: Measurement
    encoders: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    most_images_per_prompt: int | None = None
    pilot: str | None = None
    chances: dict[str, Any] = Field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings of a run that keeps to the plan."""
        fixed: dict[str, Any] = {"tasks": tuple(self.tasks)}
        fixed |= {
            name: value
            for name, value in self.measurement.model_dump().items()
            if value is not None
        }
        encoders = self.encoders or self.profile.encoders
        if encoders:
            fixed["encoder"] = encoders
        judges = self.judges or self.profile.judges
        if judges:
            fixed["judge"] = judges
        return fixed

    @property
    def content(self) -> dict[str, Any]:
        """Return the content of its file without the hash."""
        return self.model_dump(mode="json", by_alias=True)

    @property
    def sha256(self) -> str:
        """Return the SHA-256 over everything in it."""
        text = json.dumps(self.content, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def make_plan(
    profile: Profile,
    tasks: Mapping[str, LoadedTask],
    measurement: Measurement,
    *,
    encoders: tuple[str, ...] = (),
    judges: tuple[str, ...] = (),
    most_images_per_prompt: int | None = None,
    pilot: str | None = None,
    chances: Mapping[str, Any] | None = None,
) -> Plan:
    """Return the plan of a run by a profile.

    Raises:
        T2IBenchError: a task edits images, and the run may look several times.
    """
    if most_images_per_prompt is not None:
        check_looks([task.spec for task in tasks.values()], measurement)
    planned = {
        name: _planned(task, measurement) for name, task in sorted(tasks.items())
    }
    return Plan(
        t2ibench=__version__,
        profile=profile,
        tasks=planned,
        measurement=measurement,
        encoders=encoders,
        judges=judges,
        most_images_per_prompt=most_images_per_prompt,
        pilot=pilot,
        chances=dict(chances or {}),
    )


def _planned(task: LoadedTask, measurement: Measurement) -> PlannedTask:
    size = Size.of(needs(task.spec, Settings.of(measurement)))
    return PlannedTask(
        version=task.spec.version,
        hash=task.hash,
        prompts=size.prompts,
        images=size.total,
        images_per_prompt=size.images,
    )


def write_plan(plan: Plan, path: Path) -> None:
    """Write a plan with its hash."""
    content = {**plan.content, _HASH: plan.sha256}
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_plan(path: Path) -> Plan:
    """Return the plan in a file.

    Raises:
        T2IBenchError: it is no plan, or it was changed after it was written.
    """
    step = "`t2ibench plan --accept accept.yaml --output plan.json` writes one."
    try:
        data = json.loads(read_data(path, _LARGEST, step).decode())
    except (ValueError, RecursionError):
        raise T2IBenchError(f"{path} is not JSON.", step) from None
    if not isinstance(data, dict) or _HASH not in data:
        raise T2IBenchError(f"{path} is no plan: it has no '{_HASH}'.", step)
    written_hash = data.pop(_HASH)
    try:
        plan = Plan.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise T2IBenchError(
            f"{path} is no plan of this t2ibench: {where}: {first['msg']}.", step
        ) from None
    if plan.schema_version != SCHEMA:
        raise T2IBenchError(
            f"{path} is a plan of schema {plan.schema_version}; this t2ibench reads {SCHEMA}.",
            step,
        )
    if plan.sha256 != written_hash:
        raise T2IBenchError(
            f"{path} was changed after it was written: its SHA-256 is not the one that it states.",
            "A plan is fixed; write a new one, and say that you did.",
        )
    return plan


def departures(
    plan: Plan,
    profile: Profile,
    results: Results,
    looks: Looks | None = None,
) -> list[str]:
    """Return clauses that say how a run departs from its plan; empty if it does not."""
    lines: list[str] = []
    if profile.sha256 != plan.profile.sha256:
        lines.append("the profile is another one than that of the plan")
    registered = results.registered_plan
    if registered is not None and registered.sha256 != plan.sha256:
        lines.append("the run was made by another plan")
    lines += _of_looks(plan, looks)
    for name, planned in plan.tasks.items():
        task = results.tasks.get(name)
        if task is None:
            lines.append(f"{shown(name)} is not in the run")
            continue
        lines += _of_task(name, planned, task, plan)
    return list(dict.fromkeys(lines))


def _of_looks(plan: Plan, looks: Looks | None) -> Iterator[str]:
    """Yield in what the looks of a run are not those of its plan."""
    most = plan.most_images_per_prompt
    if most is None:
        return
    if looks is None:
        yield (
            f"the plan has several looks, at most at {most} images a prompt, and the run was made "
            "without --until-decided"
        )
    elif looks.images_per_prompt[-1] != most:
        yield f"the last look is at {looks.images_per_prompt[-1]} images a prompt, not {most}"
    elif looks.profile_sha256 != plan.profile.sha256:
        yield "the looks were by another profile than that of the plan"


def _of_task(
    name: str, planned: PlannedTask, task: TaskResult, plan: Plan
) -> Iterator[str]:
    if task.task_hash != planned.hash:
        yield f"{name} is another version of the task (version {task.version})"
    settings = task.settings
    for setting in (*_FIXED, *_SIZES):
        if setting in _SIZES and plan.most_images_per_prompt is not None:
            continue
        wanted = getattr(plan.measurement, setting)
        used = getattr(settings, setting)
        if used != wanted:
            flag = f"--{setting.replace('_', '-')}"
            yield f"{name} was measured with {flag} {_shown(used)}, not {_shown(wanted)}"
    most = plan.most_images_per_prompt
    if most is not None:
        allowed = planned.images * most / max(planned.images_per_prompt, 1)
        used_images = task.n_images + sum(task.excluded.values())
        if used_images > allowed + planned.prompts:
            yield f"{name} has {used_images} images, more than the plan's largest number"
    for kind, wanted_names, names in (
        ("encoders", plan.encoders, settings.encoders),
        ("judges", plan.judges, settings.judges),
    ):
        if wanted_names and set(wanted_names) != set(names):
            used_text = ", ".join(sorted(names)) or "none"
            yield f"{name} has the {kind} {used_text}, not {', '.join(wanted_names)}"


def _shown(value: object) -> str:
    return "unset" if value is None else shown(value)
