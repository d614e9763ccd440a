"""What a run was made with, and how far it came; run.db holds it field by field."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime, Field

from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.methods.core.pools import CaptionPool
from t2ibench.results.rates import Record
from t2ibench.results.schema import GeneratorInfo
from t2ibench.settings import Measurement, RunSettings
from t2ibench.store.answers import LABELS_BY
from t2ibench.version import __version__

_ENOUGH_IMAGES = 50  # of one call, to tell its speed
Status = Literal["running", "complete", "incomplete"]


class GeneratorRecord(GeneratorInfo):
    """The generator of a run.

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
    cost: float | None = None


class EncoderRecord(Record):
    """An encoder of a run.

    Attributes:
        fingerprint: SHA-256 over everything that decides an embedding.
        embeds_images: False for word vectors.
    """

    fingerprint: str
    embeds_images: bool = True


class ControlRecord(Record):
    """An encoder that only serves as a control; no result names it as an encoder.

    Attributes:
        name: Its name, such as 'random:toy-clip'.
        fingerprint: SHA-256 over everything that decides an embedding.
    """

    name: str
    fingerprint: str


class HistoryEntry(Record):
    """One call that worked on the run.

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


class RunRecord(Record):
    """What a run was made with, and how far it came.

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
        from_objects: Whether Python objects took part, which no command can name.
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
    from_objects: bool = False
    history: list[HistoryEntry] = Field(default_factory=list)

    def speed(self) -> float | None:
        """Images a second of the latest call that generated enough to tell, scoring included."""
        for entry in reversed(self.history):
            generated = sum(entry.generated.values())
            seconds = (entry.finished - entry.started).total_seconds()
            if generated >= _ENOUGH_IMAGES and seconds > 0:
                return generated / seconds
        return None

    def repeatable(self) -> RunSettings | None:
        """The settings of a command that repeats the run; None where no command can."""
        by_people = all(name.startswith(LABELS_BY) for name in self.judges)
        if self.from_objects or (self.judges and by_people):
            return None
        # Adapters as the user named them; what nothing needed is no part of the command.
        update: dict[str, object] = {}
        if not self.encoders:
            update["encoder"] = ()
        if not self.judges:
            update |= {"judge": (), "judge_args": {}}
        return self.settings.model_copy(update=update)
