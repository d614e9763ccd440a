"""Captions from users, for tasks that ship without captions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.methods.core.pools import (
    CaptionPool,
    CaptionSource,
    same_but_for_captions,
)
from t2ibench.proposals.pools import Source, fill, task_text
from t2ibench.settings import RunSettings
from t2ibench.store.files import write_text
from t2ibench.tasks.loader import LoadedTask
from t2ibench.tasks.run_tasks import stored_file, stored_task


def with_captions(
    tasks: Sequence[LoadedTask], settings: RunSettings, run: Path
) -> tuple[list[LoadedTask], list[str]]:
    """Return tasks filled with given captions or those stored in the run, and lines for users."""
    given = {
        pool: Source(place, settings.columns)
        for pool, place in settings.captions.items()
    }
    _refuse_unused(tasks, given)
    lines: list[str] = []
    whole: list[LoadedTask] = []
    waiting: list[LoadedTask] = []
    for task in tasks:
        pool = task.spec.awaits
        if pool is None:
            whole.append(task)
            continue
        filled, line = _filled(task, pool, given.get(pool.name), run)
        if filled is None:
            waiting.append(task)
        else:
            whole.append(filled)
        if line:
            lines.append(line)
    named = [task for task in waiting if task.id in settings.tasks]
    if named or (waiting and not whole):
        raise _without(named or waiting)
    if waiting:
        lines.append(_left_out_line(waiting))
    return whole, lines


def _left_out_line(tasks: Sequence[LoadedTask]) -> str:
    """Return a line on tasks that are left out because they have no captions."""
    verb, needs = ("is", "it needs") if len(tasks) == 1 else ("are", "they need")
    names = ", ".join(task.id for task in tasks)
    flags = _flags(tasks)
    return (
        f"{names} {verb} left out: {needs} captions that cannot be shipped ({flags})."
    )


def _filled(
    task: LoadedTask, pool: CaptionPool, source: Source | None, run: Path
) -> tuple[LoadedTask | None, str | None]:
    """Return the task with captions (None if it has none), and a line if its captions changed."""
    stored = stored_task(task, run)
    if stored is not None and not same_but_for_captions(stored.spec, task.spec):
        stored = None  # it was made for another version of the task
    before = None
    if stored is not None and stored.spec.drawn_from:
        before = stored.spec.drawn_from.drawn
    if source is None:
        return stored, None
    if before is not None and _same(before, source, pool):
        return stored, None
    filled = fill(task, pool, source, stored_file(run, task.id))
    if before is None or stored is None or stored.hash == filled.hash:
        return filled, None
    return filled, f"{task.id} is measured again, with other captions."


def _same(before: CaptionSource, source: Source, pool: CaptionPool) -> bool:
    """Return whether a source of captions is the one from which the stored ones were drawn."""
    split = None if before.of == "file" else pool.split
    if (before.split, before.column) != (split, None):
        return False
    if source.path.exists():
        return before.sha256 == source.sha256()
    return before.source in {source.name, source.path.name}


def _without(tasks: Sequence[LoadedTask]) -> T2IBenchError:
    """Return the error for tasks without captions, which says where to get them."""
    task = tasks[0]
    pool = task.spec.awaits
    assert pool is not None
    others = len(tasks) - 1
    more = f" (and {others} more task{'' if others == 1 else 's'})" if others else ""
    return T2IBenchError(
        f"{task.id}{more} needs captions that cannot be shipped: {pool.title}.",
        f"Get {pool.file} ({pool.address}; {pool.licence}) and give {_flags(tasks)}, or a datasets "
        "id instead of the file.",
    )


def _flags(tasks: Iterable[LoadedTask]) -> str:
    pools = [pool for task in tasks if (pool := task.spec.awaits) is not None]
    return " ".join(dict.fromkeys(pool.flag for pool in pools))


def _refuse_unused(tasks: Sequence[LoadedTask], given: Collection[str]) -> None:
    """Raise an error for captions that no task uses."""
    wanted = {pool.name for task in tasks if (pool := task.spec.awaits) is not None}
    for name in given:
        if name not in wanted:
            raise T2IBenchError(
                f"--captions: no task of this run takes captions of '{shown(name)}'."
                f"{did_you_mean(name, wanted)}",
                f"Its tasks take those of: {', '.join(sorted(wanted)) or 'none'}.",
            )


def keep(tasks: Iterable[LoadedTask], run: Path) -> None:
    """Write tasks with their captions into the run folder, so that no other file is needed."""
    for task in tasks:
        if task.spec.drawn_from is not None:
            file, text = stored_file(run, task.id), task_text(task.spec)
            if not file.is_file() or file.read_text(encoding="utf-8") != text:
                write_text(file, text)
