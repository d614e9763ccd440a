"""Plans: a profile with tasks, sizes and readers of its run, fixed in one file with its hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, ValidationError, model_validator

from t2ibench.decisions.looks import check_looks, planned_looks
from t2ibench.decisions.profile import Profile
from t2ibench.errors import T2IBenchError, first_line, shown, shown_path
from t2ibench.methods import needs
from t2ibench.methods.core.schema import Strict
from t2ibench.power.pilots import Size
from t2ibench.results.fixed_before import LooksRecord
from t2ibench.results.further_settings import FurtherSettings
from t2ibench.settings import Measurement, Settings
from t2ibench.store.file_errors import read_text
from t2ibench.store.files import write_text
from t2ibench.store.json_text import read_json_text
from t2ibench.tasks.loader import LoadedTask
from t2ibench.version import __version__

if TYPE_CHECKING:
    from typing_extensions import Self

SCHEMA = 2
_OLDEST = 1
_LARGEST = 8 * 2**20  # bytes
_HASH = "sha256"
_STEP = "`t2ibench plan --accept accept.yaml --output plan.json` writes one."
# A file may come from elsewhere; larger numbers are none of images, and overflow a float.
Count = Annotated[int, Field(ge=0, le=10**15)]
# Fields that plans of schema 1 do not have.
_SINCE_2 = frozenset({"further_settings", "references", "fingerprints"})
_ANSWERS = "answers:"


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
    prompts: Count
    images: Count
    images_per_prompt: Count


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
        further_settings: What else can change a score: the untrained control, arguments and checks
            of judges, columns of tables, the model of source images; None in plans of schema 1.
        references: Runs that limits refer to, by their folder, and the SHA-256 of their results;
            those that existed when the plan was written.
        fingerprints: Encoders and judges of the pilot, such as 'encoder toyland', and what
            identifies their weights and settings; empty without a pilot.
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
    further_settings: FurtherSettings | None = None
    references: dict[str, str] = Field(default_factory=dict)
    fingerprints: dict[str, str] = Field(default_factory=dict)
    most_images_per_prompt: Count | None = None
    pilot: str | None = None
    chances: dict[str, dict[str, str | int | float]] = Field(default_factory=dict)

    @property
    def fixed_encoders(self) -> tuple[str, ...]:
        """Return the encoders of its runs; empty where it leaves them open."""
        return self.encoders or self.profile.encoders

    @property
    def fixed_judges(self) -> tuple[str, ...]:
        """Return the judges of its runs; empty where it leaves them open."""
        return self.judges or self.profile.judges

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings of a run that keeps to the plan; None for what is not set."""
        fixed: dict[str, Any] = {
            "tasks": tuple(self.tasks),
            **self.measurement.model_dump(),
        }
        if self.fixed_encoders:
            fixed["encoder"] = self.fixed_encoders
        if self.fixed_judges:
            fixed["judge"] = self.fixed_judges
        for name in self.fixed_further_settings:
            # A check is a file, which another machine has elsewhere: its content is compared.
            if name != "judge_checks":
                fixed[name] = getattr(self.further_settings, name)
        return fixed

    @property
    def fixed_further_settings(self) -> tuple[str, ...]:
        """Return the names of the further settings that it fixes.

        Where it leaves judges open, it leaves their arguments open, too. Columns are fixed where
        a judge is a table of answers; elsewhere they say how a folder of images is read, which
        is a part of the model.
        """
        if self.further_settings is None:
            return ()
        names = set(FurtherSettings.model_fields)
        if not self.fixed_judges:
            names.remove("judge_args")
        if not any(judge.startswith(_ANSWERS) for judge in self.fixed_judges):
            names.remove("columns")
        return tuple(sorted(names))

    @property
    def content(self) -> dict[str, Any]:
        """Return the content of its file without the hash."""
        later = _SINCE_2 if self.schema_version < SCHEMA else frozenset()
        return self.model_dump(mode="json", by_alias=True, exclude=set(later))

    @property
    def sha256(self) -> str:
        """Return the SHA-256 over everything in it."""
        text = json.dumps(self.content, sort_keys=True, ensure_ascii=False)
        # A file made by hand may hold half of a surrogate pair.
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    @model_validator(mode="after")
    def _has_what_its_schema_has(self) -> Self:
        """Check that a plan of schema 1 has no fields of schema 2, which its hash is not over."""
        if self.schema_version < SCHEMA:
            if later := sorted(_SINCE_2 & self.model_fields_set):
                raise ValueError(f"{later[0]} is not of schema {self.schema_version}")
        elif self.further_settings is None:
            raise ValueError("further_settings is missing")
        return self


def looks_of(plan: Plan) -> LooksRecord | None:
    """Return the looks that a run by a plan is decided at; None where the plan has no several."""
    if plan.most_images_per_prompt is None:
        return None
    first = max(task.images_per_prompt for task in plan.tasks.values())
    return planned_looks(
        plan.profile, first, plan.most_images_per_prompt, plan.measurement
    )


def make_plan(
    profile: Profile,
    tasks: Mapping[str, LoadedTask],
    measurement: Measurement,
    *,
    encoders: tuple[str, ...] = (),
    judges: tuple[str, ...] = (),
    further_settings: FurtherSettings | None = None,
    references: Mapping[str, str] | None = None,
    fingerprints: Mapping[str, str] | None = None,
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
        further_settings=further_settings or FurtherSettings(),
        references=dict(references or {}),
        fingerprints=dict(fingerprints or {}),
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
    where = shown_path(path)
    data = _content_of(path, where)
    written_hash = data.pop(_HASH)
    # Before everything else: a plan of another schema has other keys.
    schema = data.get("schema", SCHEMA)
    if type(schema) is not int or not _OLDEST <= schema <= SCHEMA:
        writer = shown(data.get("t2ibench"))
        raise T2IBenchError(
            f"{where} is a plan of schema {shown(schema)}, written by t2ibench {writer}; this "
            f"t2ibench, {__version__}, reads schemas {_OLDEST} to {SCHEMA}.",
            f"Use the t2ibench that wrote it, or write a new plan: {_STEP}",
        )
    try:
        plan = Plan.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = shown(".".join(str(part) for part in first["loc"])) or "the plan"
        message = first["msg"].removeprefix("Value error, ")
        by = data.get("t2ibench", __version__)
        writer = "" if by == __version__ else f", and t2ibench {shown(by)} wrote it"
        raise T2IBenchError(
            f"{where} is no plan of this t2ibench, {__version__}{writer}: {key}: {message}.",
            _STEP,
        ) from None
    if plan.sha256 != written_hash:
        raise T2IBenchError(
            f"{where} was changed after it was written: its SHA-256 is not the one that it states.",
            "A plan is fixed; write a new one, and say that you did.",
        )
    _check_tasks(plan, where)
    return plan


def _content_of(path: Path, where: str) -> dict[str, Any]:
    """Return the JSON object in the file of a plan, which states its hash."""
    text = read_text(path, _LARGEST, _STEP)
    try:
        data = read_json_text(text)
    except json.JSONDecodeError:
        raise T2IBenchError(f"{where} is not JSON.", _STEP) from None
    except RecursionError:
        raise T2IBenchError(f"{where} is nested too deeply.", _STEP) from None
    except ValueError as error:
        raise T2IBenchError(f"{where}: {first_line(error)}.", _STEP) from None
    if not isinstance(data, dict) or _HASH not in data:
        raise T2IBenchError(f"{where} is no plan: it has no '{_HASH}'.", _STEP)
    return data


def _check_tasks(plan: Plan, where: str) -> None:
    """Check that a plan fixes the tasks that its profile measures, and looks that can be taken.

    `make_plan` writes no other, but a file may come from elsewhere.
    """
    for name in sorted(set(plan.profile.tasks) ^ set(plan.tasks)):
        lacks = "fixes nothing of" if name in plan.profile.tasks else "has no limit for"
        raise T2IBenchError(f"{where} is no plan: it {lacks} {shown(name)}.", _STEP)
    if plan.most_images_per_prompt is not None:
        looks_of(plan)
