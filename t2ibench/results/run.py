"""A run is a record: the folder, and the typed, versioned run.json in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from t2ibench.errors import T2IBenchError
from t2ibench.results.schema import Record
from t2ibench.settings import Measurement, RunSettings
from t2ibench.store.evidence import slug
from t2ibench.store.files import set_aside, write_text
from t2ibench.store.problems import reading
from t2ibench.version import __version__

RUN_SCHEMA = 2
_ENOUGH_IMAGES = 50  # of one call, to tell its speed
Status = Literal["running", "complete", "incomplete"]


class GeneratorRecord(Record):
    """The generator of a run.

    Attributes:
        name: Its name for people.
        model: As given to --model.
        model_args: As given to --model-args.
        revision: Version of the weights.
        fingerprint: SHA-256 over everything that decides an image besides prompt and index.
        settings: Generation settings as asked for.
        effective_settings: Settings as the model really used them, with its own defaults (steps,
            guidance, scheduler, size); empty before the first image.
        libraries: Versions of the libraries that decide pixels, when the images were generated.
    """

    name: str
    model: str
    model_args: dict[str, str] = Field(default_factory=dict)
    revision: str | None = None
    fingerprint: str
    settings: dict[str, Any] = Field(default_factory=dict)
    effective_settings: dict[str, Any] = Field(default_factory=dict)
    libraries: dict[str, str] = Field(default_factory=dict)


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
    started: str
    finished: str
    generated: dict[str, int] = Field(default_factory=dict)


class RunRecord(Record):
    """run.json: what a run was made with, and how far it came.

    Attributes:
        schema_version: Version of this schema ('schema' in the file).
        t2ibench: Version of the program that wrote it last.
        status: 'running' (or killed), 'complete', or 'incomplete' if evidence is missing.
        generator: The generator; None where only texts are scored.
        settings: What the latest call asked for.
        measurement: How it measured, defaults of the generator filled in.
        tasks: Ids of the tasks of the latest call.
        include_path: Absolute folders of further tasks.
        encoders: Encoders of the latest call, by name.
        controls: Encoders of random weights, by the name of the encoder that they are held
            against.
        judges: Fingerprints of its judges, by name.
        from_objects: Whether Python objects took part, which no command can name.
        history: One entry a call, the latest last.
    """

    schema_version: int = Field(default=RUN_SCHEMA, alias="schema")
    t2ibench: str = __version__
    status: Status = "running"
    generator: GeneratorRecord | None = None
    settings: RunSettings = RunSettings()
    measurement: Measurement = Measurement()
    tasks: list[str] = Field(default_factory=list)
    include_path: list[str] = Field(default_factory=list)
    encoders: dict[str, EncoderRecord] = Field(default_factory=dict)
    controls: dict[str, ControlRecord] = Field(default_factory=dict)
    judges: dict[str, str] = Field(default_factory=dict)
    from_objects: bool = False
    history: list[HistoryEntry] = Field(default_factory=list)

    def speed(self) -> float | None:
        """Images a second of the latest call that generated enough to tell, scoring included.

        Returns:
            Images a second; None where no call did.
        """
        for entry in reversed(self.history):
            generated = sum(entry.generated.values())
            started, finished = map(datetime.fromisoformat, (entry.started, entry.finished))
            seconds = (finished - started).total_seconds()
            if generated >= _ENOUGH_IMAGES and seconds > 0:
                return generated / seconds
        return None

    def repeatable(self) -> RunSettings | None:
        """The settings of a command that repeats the run; None where no command can.

        Returns:
            The settings, with encoders and judges by name; None after a run of Python objects.
        """
        if self.from_objects:
            return None
        # Adapters as the user named them; what nothing needed is no part of the command.
        update: dict[str, object] = {}
        if not self.encoders:
            update["encoder"] = ()
        if not self.judges:
            update |= {"judge": (), "judge_args": {}}
        return self.settings.model_copy(update=update)


@dataclass(slots=True)
class RunFolder:
    """One generator's folder.

    Attributes:
        path: The folder.
        record: The content of run.json.
    """

    path: Path
    record: RunRecord = field(default_factory=RunRecord)

    def update(self, **changes: object) -> None:
        """Change fields of the record, and write run.json.

        Args:
            **changes: Field to value.
        """
        self.record = self.record.model_copy(update=changes)
        self.save()

    def save(self) -> None:
        """Write run.json."""
        data = self.record.model_dump(mode="json", by_alias=True)
        text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
        write_text(self.path / "run.json", text)

    @property
    def images(self) -> Path:
        """Folder of the images."""
        return self.path / "images"

    @property
    def evidence(self) -> Path:
        """Folder of the evidence."""
        return self.path / "evidence"

    @property
    def results(self) -> Path:
        """results.json."""
        return self.path / "results.json"


class BrokenRecordError(T2IBenchError):
    """run.json exists but cannot be read: not JSON, or not of its own schema."""


def open_run(path: Path) -> RunFolder:
    """Read a run folder.

    Args:
        path: The folder.

    Returns:
        The folder with its record; records of older schemas are migrated.

    Raises:
        BrokenRecordError: run.json is broken.
        T2IBenchError: it is not a run folder, its disk does not answer, or a newer t2ibench wrote
            it.
    """
    file = path / "run.json"
    if not file.is_file():
        raise T2IBenchError(
            f"'{path}' is not a run folder: it has no run.json.",
            "Give a folder that `t2ibench run` made, such as runs/toyland.",
        )
    with reading(file):  # a disk that does not answer leaves the record as it is
        content = file.read_bytes()
    try:
        data = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _broken(file, type(error).__name__) from None
    if not isinstance(data, dict) or type(data.get("schema")) is not int:
        raise _broken(file, "it names no schema")
    if data["schema"] > RUN_SCHEMA or data["schema"] < 1:
        raise T2IBenchError(
            f"{file} is of schema {data['schema']}; this t2ibench reads 1 to {RUN_SCHEMA}.",
            "Upgrade t2ibench, or choose another --output-dir.",
        )
    try:
        while data["schema"] < RUN_SCHEMA:
            data = _MIGRATIONS[data["schema"]](data)
        return RunFolder(path, RunRecord.model_validate(data))
    except ValidationError as error:
        item = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            raise T2IBenchError(
                f"{file} has a key that this t2ibench does not know: {key}.",
                "Upgrade t2ibench, take the key out, or choose another --output-dir.",
            ) from None
        raise _broken(file, f"{key}: {item['msg'].lower()}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _broken(file, f"{type(error).__name__}: {error}") from None


def _broken(file: Path, why: str) -> BrokenRecordError:
    return BrokenRecordError(
        f"{file} cannot be read ({why}).",
        "Run the original command again; images and evidence are kept.",
    )


def _from_schema_1(data: dict[str, Any]) -> dict[str, Any]:
    """Settings were those in force, without what was asked for; encoders had no capabilities."""
    generator = data["generator"]
    measurement = data["settings"]
    settings = {
        "tasks": data["tasks"],
        "encoder": list(data["encoders"]),
        "judge": list(data.get("judges", {})),
        "judge_args": data.get("judge_args", {}),
        "include_path": data["include_paths"],
        **measurement,
    }
    if generator is not None:
        settings |= {"model": generator["model"], "model_args": generator["model_args"]}
    return {
        "schema": 2,
        "t2ibench": "0.1.0",
        "status": "complete" if data["history"] else "running",
        "generator": generator,
        "settings": settings,
        "measurement": measurement,
        "tasks": data["tasks"],
        "include_path": data["include_paths"],
        "encoders": {
            name: {"fingerprint": print_, "embeds_images": not name.startswith("vectors:")}
            for name, print_ in data["encoders"].items()
        },
        "judges": data.get("judges", {}),
        "history": [
            {**{k: v for k, v in entry.items() if k != "drawn"}, "generated": entry["drawn"]}
            for entry in data["history"]
        ],
    }


_MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _from_schema_1}


def run_folder(
    output: Path, name: str, fingerprint: str | None, plain: bool
) -> tuple[RunFolder, list[str]]:
    """The folder of a generator: an existing one, or a new one that is not written yet.

    A run.json that cannot be read is renamed and a new one started: nothing else needs it.

    Args:
        output: The folder of all runs.
        name: The generator's name.
        fingerprint: The generator's; None for text-only runs.
        plain: Whether the generator has its default settings. Others get their fingerprint's
            first eight digits in the folder's name, so that settings never share a folder.

    Returns:
        The folder, and a line for each record that was set aside.

    Raises:
        T2IBenchError: a newer t2ibench wrote the record.
    """
    warnings: list[str] = []
    path = output / slug(name)
    folder = _open_or_new(path, warnings)
    if fingerprint is not None and (not plain or _is_other(folder, fingerprint)):
        path = output / f"{slug(name)}-{fingerprint[:8]}"
        folder = _open_or_new(path, warnings)
    return folder, warnings


def _open_or_new(path: Path, warnings: list[str]) -> RunFolder:
    if not (path / "run.json").is_file():
        return RunFolder(path)
    try:
        return open_run(path)
    except BrokenRecordError as error:
        moved = set_aside(path / "run.json")
        warnings.append(f"{error.message} It is kept as {moved.name}, and a new one is begun.")
        return RunFolder(path)


def _is_other(folder: RunFolder, fingerprint: str) -> bool:
    if not (folder.path / "run.json").is_file():
        return False
    generator = folder.record.generator
    return generator is None or generator.fingerprint != fingerprint
