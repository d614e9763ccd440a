"""The record that run.db stores of a run: its settings, software and progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field

from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.methods.core.pools import CaptionPool
from t2ibench.results.fixed_before import LooksRecord, RegisteredPlan
from t2ibench.results.json_record import Record
from t2ibench.results.schema import GeneratorInfo, LibraryWarning
from t2ibench.settings import Measurement, RunSettings
from t2ibench.store.answers import LABELS_BY
from t2ibench.version import __version__

# Images of one call that are enough to tell its speed.
_ENOUGH_IMAGES = 50
# Settings that a call which only generates leaves as they were.
_OBSERVER_SETTINGS = (
    "encoder",
    "judge",
    "judge_args",
    "judge_check",
    "control_encoder",
    "columns",
)
Cost = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Status = Literal["running", "complete", "incomplete"]


class GeneratorRecord(GeneratorInfo):
    """What a run's record says of its generator.

    Attributes:
        name: Its name for people.
        fingerprint: SHA-256 over everything that decides an image besides prompt and index.
        model: As given to --model.
        model_args: As given to --model-args.
        cost: What its images have cost, in the currency of its prices; None where that is unknown.
    """

    name: str
    fingerprint: str
    model: str
    model_args: dict[str, str] = Field(default_factory=dict)
    cost: Cost | None = None

    def updated_by(self, call: GeneratorRecord) -> GeneratorRecord:
        """Return this record with what a later call says of the same generator.

        What its images were really made with, and what they have cost, stays.
        """
        return self.model_copy(
            update={
                "name": call.name,
                "model": call.model,
                "model_args": call.model_args,
                "revision": call.revision,
                "fingerprint": call.fingerprint,
                "settings": call.settings,
                "rewriter": call.rewriter,
            }
        )


class EncoderRecord(Record):
    """What a run's record says of an encoder.

    Attributes:
        fingerprint: SHA-256 over everything that decides an embedding.
        embeds_images: False for word vectors.
        network: What its network is, as JSON values, where the encoder says it.
    """

    fingerprint: str
    embeds_images: bool = True
    network: dict[str, Any] = Field(default_factory=dict)


class ControlRecord(Record):
    """What a run's record says of an encoder that serves only as a control.

    Attributes:
        name: Its name, such as 'random:toy-clip'.
        fingerprint: SHA-256 over everything that decides an embedding.
    """

    name: str
    fingerprint: str


class HistoryEntry(Record):
    """What a run's record says of one call that worked on it.

    Attributes:
        command: The command line, or the name of the Python function.
        started: When, UTC.
        finished: When, UTC.
        generated: Attempts by status.
    """

    command: str
    started: AwareDatetime
    finished: AwareDatetime
    generated: dict[str, int] = Field(default_factory=dict)


class MergedParts(Record):
    """The parts (`--shard I/N`) that were merged into a run, and those that are missing.

    Attributes:
        count: N, the number of parts that the run was split into.
        costs: What the images of each part have cost, by I; None where that is unknown.
        missing: The parts that images are missing of, because they were not there at the merge.
    """

    count: int
    costs: dict[int, Cost | None] = Field(default_factory=dict)
    missing: list[int] = Field(default_factory=list)

    def missing_names(self) -> list[str]:
        """Return the names of the missing parts, such as '3 of 4'.

        Examples:
            >>> MergedParts(count=4, missing=[3]).missing_names()
            ['3 of 4']
        """
        return [f"{number} of {self.count}" for number in self.missing]


class UnaskedAnswers(Record):
    """Answers in a file of human labels that no question of the run asks for.

    Attributes:
        judge: The judge that reads the file.
        file: The file, as the user named it.
        answered: The headings or questions of the file that the run does ask about.
        unasked: Those that it does not.
    """

    judge: str
    file: str
    answered: list[str] = Field(default_factory=list)
    unasked: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ObserverRecords:
    """The encoders and judges that a call uses, with what identifies them.

    Attributes:
        encoders: Encoders by name.
        controls: Encoders of random weights, by the name of the encoder that they are held
            against.
        judges: Fingerprints of judges, by name.
        judge_checks: What checks by people say of the judges.
    """

    encoders: Mapping[str, EncoderRecord]
    controls: Mapping[str, ControlRecord]
    judges: Mapping[str, str]
    judge_checks: Sequence[JudgeCheck]


@dataclass(frozen=True, slots=True)
class CallRecord:
    """What one call on a run is going to do: its settings, tasks and models.

    Attributes:
        settings: What it asks for.
        measurement: How it measures, defaults of the generator filled in.
        tasks: Ids of its tasks.
        pools: Task id to the captions that it was given.
        include_path: Absolute folders of further tasks.
        generator: The generator; None where only texts are scored.
        observers: Its encoders and judges; None where it only generates.
        from_objects: Whether Python objects take part.
        stored_images_only: Whether it generates nothing.
        looks: The looks that it fixes; None for none.
        registered_plan: The plan that it keeps to; None for none.
        makes_sources: Whether its images are the source images of another run.
    """

    settings: RunSettings
    measurement: Measurement
    tasks: Sequence[str]
    pools: Mapping[str, CaptionPool]
    include_path: Sequence[str]
    generator: GeneratorRecord | None
    observers: ObserverRecords | None
    from_objects: bool
    stored_images_only: bool
    looks: LooksRecord | None = None
    registered_plan: RegisteredPlan | None = None
    makes_sources: bool = False


class RunRecord(Record):
    """The settings, software and progress of a run.

    Attributes:
        t2ibench: Version of the program that wrote it last.
        status: 'running' (or killed), 'complete', or 'incomplete' if evidence is missing.
        generator: The generator; None where only texts are scored.
        settings: What the latest call asked for.
        measurement: How it measured, defaults of the generator filled in.
        tasks: Ids of the tasks of the latest call.
        include_path: Absolute folders of further tasks.
        pools: Task id to the captions that it was given; the tasks with them are in tasks/.
        encoders: Encoders of the latest call, by name.
        controls: Encoders of random weights, by the name of the encoder that they are held
            against.
        judges: Fingerprints of its judges, by name.
        judge_settings: What judges on servers were really asked with, by name: fields that a server
            declines are left out or renamed.
        rewriter_settings: The same of the rewriter.
        judge_checks: What checks by people said of them.
        unasked_answers: What files of human labels answer and no question asks, by the latest call.
        library_warnings: What model libraries warned of while models were loaded, over all calls.
        from_objects: Whether Python objects took part, which no command can name.
        merged: The parts that `t2ibench merge` put together; None where it put none.
        looks: The looks of `run --until-decided`, fixed before the first; None without any.
        registered_plan: The plan of `run --plan`; None without one.
        makes_sources: Whether the images are the source images of the run that it lies in.
        history: One entry a call, the latest last.
    """

    t2ibench: str = __version__
    status: Status = "running"
    generator: GeneratorRecord | None = None
    settings: RunSettings = RunSettings()
    measurement: Measurement = Measurement()
    tasks: list[str] = Field(default_factory=list)
    include_path: list[str] = Field(default_factory=list)
    pools: dict[str, CaptionPool] = Field(default_factory=dict)
    encoders: dict[str, EncoderRecord] = Field(default_factory=dict)
    controls: dict[str, ControlRecord] = Field(default_factory=dict)
    judges: dict[str, str] = Field(default_factory=dict)
    judge_settings: dict[str, dict[str, Any]] = Field(default_factory=dict)
    rewriter_settings: dict[str, Any] = Field(default_factory=dict)
    judge_checks: list[JudgeCheck] = Field(default_factory=list)
    unasked_answers: list[UnaskedAnswers] = Field(default_factory=list)
    library_warnings: list[LibraryWarning] = Field(default_factory=list)
    from_objects: bool = False
    merged: MergedParts | None = None
    looks: LooksRecord | None = None
    registered_plan: RegisteredPlan | None = None
    makes_sources: bool = False
    history: list[HistoryEntry] = Field(default_factory=list)

    @property
    def part(self) -> tuple[int, int] | None:
        """The number of this part and of all parts, if the run is one of several; else None."""
        if self.settings.shard is None:
            return None
        number, _, count = self.settings.shard.partition("/")
        return int(number), int(count)

    def updated_by(self, call: CallRecord) -> RunRecord:
        """Return this record as it is when a further call begins to work on the run.

        What the call does not say stays: captions of other pools, folders of further tasks that
        still exist, and, where it only generates, who looks at the images.
        """
        settings = self._joined_settings(call)
        generator = call.generator
        if generator is not None and self.generator is not None:
            generator = self.generator.updated_by(generator)
        existing = [path for path in self.include_path if Path(path).is_dir()]
        merged = self.merged
        if merged is not None and not call.stored_images_only:
            # The call makes the images that the parts lacked.
            merged = merged.model_copy(update={"missing": []})
        changes: dict[str, object] = {
            "status": "running",
            "from_objects": self._joined_from_objects(call),
            "merged": merged,
            "generator": generator,
            "settings": settings,
            "measurement": call.measurement,
            "tasks": list(call.tasks),
            "makes_sources": call.makes_sources,
            "pools": {**self.pools, **call.pools},
            "include_path": list(dict.fromkeys([*call.include_path, *existing])),
        }
        if call.looks is not None:
            changes["looks"] = call.looks
        if self._is_by_new_plan(call):
            changes["registered_plan"] = call.registered_plan
        observers = call.observers
        if observers is not None:
            changes["encoders"] = dict(observers.encoders)
            changes["controls"] = dict(observers.controls)
            changes["judges"] = dict(observers.judges)
            changes["judge_checks"] = list(observers.judge_checks)
        return self.model_copy(update=changes)

    def _is_by_new_plan(self, call: CallRecord) -> bool:
        """Return whether a call keeps to a plan that no call of this run kept to before it."""
        if call.registered_plan is None:
            return False
        before = self.registered_plan
        return before is None or before.sha256 != call.registered_plan.sha256

    def _joined_settings(self, call: CallRecord) -> RunSettings:
        """Return a call's settings, with the run's captions and observers where it names none."""
        settings = call.settings
        if call.observers is None and self._was_observed:
            update = {name: getattr(self.settings, name) for name in _OBSERVER_SETTINGS}
            settings = settings.model_copy(update=update)
        # A run keeps its captions, so that later calls need not name them; the command that
        # repeats the run has to.
        captions = {**self.settings.captions, **settings.captions}
        return settings.model_copy(update={"captions": dict(sorted(captions.items()))})

    def _joined_from_objects(self, call: CallRecord) -> bool:
        """Return whether Python objects made any of what the run has or this call uses."""
        if call.stored_images_only:
            return self.from_objects
        if call.observers is None and self._was_observed:
            return call.from_objects or self.from_objects
        return call.from_objects

    @property
    def _was_observed(self) -> bool:
        return bool(self.encoders or self.judges)

    def speed(self) -> float | None:
        """Return images per second of the latest call with 50 images or more; None without one.

        The time includes scoring.
        """
        for entry in reversed(self.history):
            generated = sum(entry.generated.values())
            seconds = (entry.finished - entry.started).total_seconds()
            if generated >= _ENOUGH_IMAGES and seconds > 0:
                return generated / seconds
        return None

    @property
    def batch_size(self) -> int | None:
        """How many images were generated at a time; None where images do not depend on it."""
        return None if self.generator is None else self.generator.batch_size

    @property
    def settings_of_command(self) -> RunSettings:
        """The settings of the latest call as a command states them, with a derived seed as such."""
        if self.generator is None:
            return self.settings
        return self.settings.of_model(self.generator.fingerprint)

    def repeatable(self) -> RunSettings | None:
        """Return the settings of a command that repeats the run; None if no command can."""
        by_people = all(name.startswith(LABELS_BY) for name in self.judges)
        lacks_parts = self.merged is not None and bool(self.merged.missing)
        if self.from_objects or (self.judges and by_people) or lacks_parts:
            return None
        # Adapters as the user named them; what nothing needed is no part of the command.
        update: dict[str, object] = {"batch_size": self.batch_size}
        if not self.encoders:
            update["encoder"] = ()
        if not self.judges:
            update |= {"judge": (), "judge_args": {}}
        return self.settings_of_command.model_copy(update=update)


def joined_warnings(*lists: Sequence[LibraryWarning]) -> list[LibraryWarning]:
    """Return the library warnings of several lists, sorted and each once."""
    joined: list[LibraryWarning] = []
    for warnings in lists:
        joined += [warning for warning in warnings if warning not in joined]
    return sorted(
        joined, key=lambda warning: (warning.library, warning.about, warning.text)
    )
