"""Putting results.json together and writing it, with the samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.results.build import adjusted_run
from t2ibench.results.environment import environment
from t2ibench.results.paired import FILE, PairedTask, read_paired, write_paired
from t2ibench.results.run import GeneratorRecord, RunFolder, RunRecord
from t2ibench.results.schema import (
    BrokenResultsError,
    GeneratorInfo,
    Results,
    TaskResult,
    TaskSettings,
    read_results,
)
from t2ibench.settings import Measurement, RunSettings
from t2ibench.store.files import set_aside, write_text
from t2ibench.store.jsonl import write_rows
from t2ibench.version import __version__


def generator_info(record: GeneratorRecord | None) -> GeneratorInfo:
    """The generator's entry in results.json.

    Args:
        record: The generator's record; None where only texts were scored.

    Returns:
        The entry for results.json.
    """
    if record is None:
        return GeneratorInfo(name=None)
    return GeneratorInfo(
        name=record.name,
        revision=record.revision,
        fingerprint=record.fingerprint,
        settings=record.settings,
        effective_settings=record.effective_settings,
    )


def assemble(
    generator: GeneratorInfo,
    new: Mapping[str, TaskResult],
    old: Results | None,
    command: Sequence[str],
) -> Results:
    """Merge new results with those that the folder already has; p-values are adjusted over all.

    Args:
        generator: The generator.
        new: What was scored now.
        old: The previous results.json of the same generator; its other tasks are kept.
        command: The command that gives these results.

    Returns:
        What results.json will hold.
    """
    kept = old.tasks if old else {}
    tasks = adjusted_run(dict(sorted({**kept, **new}.items())))
    return Results(
        t2ibench=__version__,
        model=generator,
        command=list(command),
        environment=environment(),
        limited=any(task.settings.limit is not None for task in tasks.values()),
        tasks=tasks,
    )


def stored_results(folder: RunFolder) -> tuple[Results | None, list[str]]:
    """Read results.json; a file that cannot be read is renamed.

    Args:
        folder: The run.

    Returns:
        The results, or None, and a line for a file that was set aside.

    Raises:
        T2IBenchError: a newer t2ibench wrote it, or a folder is in its place.
    """
    if folder.results.is_dir():  # before anything is done that could not be written down
        raise T2IBenchError(
            f"{folder.results} is a folder, where a file is expected.", "Move the folder away."
        )
    if not folder.results.is_file():
        return None, []
    try:
        return read_results(folder.results), []
    except BrokenResultsError as error:
        moved = set_aside(folder.results)
        return None, [f"{error.message} It is kept as {moved.name}, and a new one is written."]


def command_of(
    settings: RunSettings, record: RunRecord, new: Iterable[str], old: Results | None
) -> list[str]:
    """A command that repeats the latest results, and those before it that were measured alike.

    Args:
        settings: What the latest call asked for.
        record: What run.json says of it.
        new: Ids of the tasks that were scored now.
        old: What results.json said before.

    Returns:
        Words of a command line. Tasks are named as the user named them, unless the folder holds
        more tasks that were measured in the same way.
    """
    scored = set(new)
    before = {
        name
        for name, task in (old.tasks.items() if old else ())
        if name not in scored and _measured_alike(task.settings, record)
    }
    # Sorted, because the order in which tasks were named decides nothing.
    names = sorted(before | scored) if before else sorted(set(settings.tasks))
    update: dict[str, object] = {"tasks": tuple(names)}
    if before:
        named = {str(Path(path).resolve()) for path in settings.include_path}
        further = [path for path in record.include_path if path not in named]
        update["include_path"] = (*settings.include_path, *further)
    return settings.model_copy(update=update).command()


def _measured_alike(settings: TaskSettings, record: RunRecord) -> bool:
    """Whether the latest call would measure a task in the same way."""
    encoders = {name: encoder.fingerprint for name, encoder in record.encoders.items()}
    return (
        Measurement.of(settings) == record.measurement
        and settings.encoders.items() <= encoders.items()
        and settings.judges.items() <= record.judges.items()
    )


def _stored_paired(file: Path) -> dict[str, PairedTask]:
    try:
        return read_paired(file)
    except T2IBenchError:  # damaged: the tasks scored now are written all the same
        return {}


def write_results(
    folder: RunFolder,
    settings: RunSettings | None,
    new: Mapping[str, TaskResult],
    samples: Mapping[str, Sequence[Mapping[str, Any]]],
    paired: Mapping[str, PairedTask],
) -> Results:
    """Write results.json, the samples and the influences.

    Args:
        folder: Where.
        settings: What the call asked for; None where no command repeats it.
        new: Task id to result.
        samples: Task id to rows.
        paired: Task id to how each image moves its scores.

    Returns:
        What results.json holds now.
    """
    old, _ = stored_results(folder)
    generator = generator_info(folder.record.generator)
    if old and old.model.fingerprint != generator.fingerprint:
        old = None
    command = command_of(settings, folder.record, new, old) if settings is not None else []
    results = assemble(generator, new, old, command)
    write_text(folder.results, results.to_json())
    file = folder.path / FILE
    kept = {name: task for name, task in _stored_paired(file).items() if name in results.tasks}
    write_paired(file, {**kept, **paired})
    for task, rows in samples.items():
        if rows:
            write_rows(folder.path / "samples" / f"{task}.jsonl", rows)
    return results
