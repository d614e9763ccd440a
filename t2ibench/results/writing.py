"""Writing of the results.json in a run folder, beside the results that it holds already."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from t2ibench.errors import T2IBenchError
from t2ibench.results.builder import adjusted_run, is_complete
from t2ibench.results.files import BrokenResultsError, read_results
from t2ibench.results.further_settings import FurtherSettings
from t2ibench.results.record import GeneratorRecord, RunRecord
from t2ibench.results.run import RunFolder, check_still_there, environment
from t2ibench.results.schema import GeneratorInfo, Results, TaskResult
from t2ibench.settings import RunSettings
from t2ibench.store.files import set_aside, write_text
from t2ibench.store.locks import locked
from t2ibench.store.scores import ScoreStore
from t2ibench.version import __version__


def generator_info(record: GeneratorRecord | None) -> GeneratorInfo:
    """Return the entry of results.json that describes a run's generator."""
    if record is None:
        return GeneratorInfo(name=None)
    return GeneratorInfo(
        **{name: getattr(record, name) for name in GeneratorInfo.model_fields}
    )


def assemble(
    generator: GeneratorInfo,
    tasks: Mapping[str, TaskResult],
    settings: RunSettings | None,
    name: str | None = None,
    earlier: Mapping[str, TaskResult] | None = None,
    record: RunRecord | None = None,
) -> Results:
    """Return the results of one command, with p-values corrected over its tasks.

    The record says what its encoders are, what libraries warned of, which parts are missing, and
    what was fixed before the run.
    """
    encoders = {} if record is None else record.encoders
    merged = None if record is None else record.merged
    networks = {
        encoder_name: encoder.network
        for encoder_name, encoder in sorted(encoders.items())
        if encoder.network
    }
    command = [] if settings is None else _command(settings, tasks)
    is_limited = any(task.settings.limit is not None for task in tasks.values())
    missing_parts = [] if merged is None else merged.missing_names()
    library_warnings = [] if record is None else record.library_warnings
    looks = None if record is None or record.looks is None else record.looks.fixed
    registered_plan = None if record is None else record.registered_plan
    return Results(
        t2ibench=__version__,
        model=generator,
        name=name,
        command=command,
        environment=environment(),
        limited=is_limited,
        missing_parts=missing_parts,
        tasks=adjusted_run(dict(sorted(tasks.items()))),
        earlier=dict(sorted((earlier or {}).items())),
        networks=networks,
        library_warnings=library_warnings,
        looks=looks,
        registered_plan=registered_plan,
        further_settings=None if record is None else _further_settings(record),
    )


def _further_settings(record: RunRecord) -> FurtherSettings:
    """Return the settings beside the measurement that the latest call of a run scored with."""
    return FurtherSettings.of(record.settings, record.judge_checks)


def _command(settings: RunSettings, tasks: Mapping[str, TaskResult]) -> list[str]:
    """Return the command that repeats the tasks, as a list of words."""
    pools = {task.pool.name for task in tasks.values() if task.pool is not None}
    captions = {
        pool: source
        for pool, source in settings.captions.items()
        if pool.partition(".")[0] in pools
    }
    update = {"tasks": tuple(sorted(set(settings.tasks))), "captions": captions}
    return settings.model_copy(update=update).command()


def stored_results(folder: RunFolder) -> tuple[Results | None, list[str]]:
    """Return the stored results, or None, with a message if results.json was unreadable.

    An unreadable file is renamed.
    """
    # before anything is done that could not be written down
    if folder.results.is_dir():
        raise T2IBenchError(
            f"{folder.results} is a folder, where a file is expected.",
            "Move the folder away.",
        )
    with suppress(BrokenResultsError):
        return _read_if_there(folder), []
    with locked(folder.path):
        try:  # another process may have mended it
            return _read_if_there(folder), []
        except BrokenResultsError as error:
            moved = set_aside(folder.results)
            return None, [
                f"{error.message} It is kept as {moved.name}, and a new one is written."
            ]


def _read_if_there(folder: RunFolder) -> Results | None:
    return read_results(folder.results) if folder.results.is_file() else None


def write_results(
    folder: RunFolder,
    settings: RunSettings | None,
    new: Mapping[str, TaskResult],
    inputs: Mapping[str, str],
    incomplete: Collection[str] = (),
    tasks_of_this_command: Collection[str] = (),
) -> tuple[Results, str | None]:
    """Write results.json and record its scores in run.db; return its content and a note.

    The caller must hold the lock.

    Of a task that two calls scored, what is written last stays, unless evidence is missing now
    that a result measured alike had; all other tasks are kept, as those of earlier commands.

    Args:
        folder: The run folder.
        settings: The settings of a command that repeats the run; None where no command can.
        new: The tasks that were scored now.
        inputs: What their scores were computed from, which names them in run.db.
        incomplete: Those of them that lack evidence.
        tasks_of_this_command: Tasks that the same command has scored before, in other rounds.

    Returns:
        What results.json holds now, and a line about earlier results that stay.
    """
    generator = generator_info(folder.record.generator)
    before, _ = stored_results(folder)
    further_before = None if before is None else before.further_settings
    stored = _tasks_of(before, generator)
    has_other_settings = (
        further_before is not None
        and further_before != _further_settings(folder.record)
    )
    staying = [] if has_other_settings else _better_before(new, stored, incomplete)
    written = {name: result for name, result in new.items() if name not in staying}
    current = {
        name: result
        for name, result in stored.items()
        if name in staying or name in tasks_of_this_command
    }
    current |= written
    earlier = {name: result for name, result in stored.items() if name not in current}
    record = folder.record
    results = assemble(
        generator, current, settings, record.settings.name, earlier, record
    )
    if staying and further_before is None:
        # An earlier version wrote the results that stay, perhaps with other settings than these.
        results.further_settings = None
    content = results.to_json(checked=True)
    check_still_there(folder.path)
    write_text(folder.results, content)
    written_inputs = {name: inputs[name] for name in written if name in inputs}
    ScoreStore(folder.database).publish(written_inputs, {*current, *earlier})
    return results, _staying_line(staying)


def _tasks_of(
    results: Results | None, generator: GeneratorInfo
) -> dict[str, TaskResult]:
    """Return the results of this generator's tasks, those of earlier commands included."""
    if results is None or results.model.fingerprint != generator.fingerprint:
        return {}
    return {**results.earlier, **results.tasks}


def _better_before(
    new: Mapping[str, TaskResult],
    stored: Mapping[str, TaskResult],
    incomplete: Collection[str],
) -> list[str]:
    """Return the names of tasks that lack evidence now, and whose stored result is complete.

    Both results have equal settings.
    """
    return [
        name
        for name, result in new.items()
        if name in incomplete
        and name in stored
        and is_complete([stored[name]])
        and _measured_alike(result, stored[name])
    ]


def _measured_alike(new: TaskResult, old: TaskResult) -> bool:
    return new.task_hash == old.task_hash and new.settings == old.settings


def _staying_line(names: Sequence[str]) -> str | None:
    """Return a note on earlier results that stay in place of new ones; None if there are none."""
    if not names:
        return None
    listed = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    subject, verb, pronoun = "result", "is", "its"
    if len(names) > 1:
        subject, verb, pronoun = "results", "are", "their"
    return (
        f"The earlier {subject} of {listed} {verb} kept: some of {pronoun} evidence is "
        "missing now. Run the original command again to regenerate it."
    )
