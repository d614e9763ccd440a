"""The runs under a folder, each in a few words; nothing in them is changed, and none stops it.

A folder may hold anything: files of other programs, runs of other versions, broken or hostile ones.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from t2ibench.errors import T2IBenchError, first_line, visible
from t2ibench.results.files import read_results
from t2ibench.results.record import RunRecord
from t2ibench.results.run import RunFolder
from t2ibench.results.schema import Results
from t2ibench.store.database import NAME, Database
from t2ibench.store.file_errors import read_data

_RESULTS = "results.json"
# A run of a version that kept it in many files.
_OLDER = "run.json"
_SUBMISSION = "submission.json"
_LARGEST_SUBMISSION = 2**20  # bytes
_DEPTH = 4  # folders below the first in which runs are looked for
_MOST_FOLDERS = 20_000
_COUNT_IMAGES = (
    "SELECT count(*) FROM (SELECT 1 FROM attempts WHERE status = 'ok' "
    "GROUP BY generator, text, number)"
)


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run as a list shows it.

    Attributes:
        folder: Its folder.
        record: Its record; None where it has none, such as a results.json alone.
        results: Its results; None where it has none.
        images: How many images it has; None where that is not known.
        problem: Why it cannot be read, in one line; empty if it can.
    """

    folder: Path
    record: RunRecord | None = None
    results: Results | None = None
    images: int | None = None
    problem: str = ""

    @property
    def name(self) -> str | None:
        """Return what the user calls the run; None if it has no name but the model's."""
        if self.results is not None and self.results.name is not None:
            return self.results.name
        return None if self.record is None else self.record.settings.name

    @property
    def model(self) -> str | None:
        """Return the name of the generator; None where texts alone were scored."""
        if self.record is not None and self.record.generator is not None:
            return self.record.generator.name
        return None if self.results is None else self.results.model.name

    @property
    def tasks(self) -> int | None:
        """Return the number of tasks of its latest command; None where that is not known."""
        if self.record is not None and self.record.tasks:
            return len(self.record.tasks)
        return None if self.results is None else len(self.results.tasks)

    @property
    def status(self) -> str:
        """Return 'finished', or what is missing or broken, in a few words."""
        if self.problem:
            return self.problem
        parts = []
        if self.record is not None and self.record.status == "running":
            parts.append("running, or stopped before its end")
        if self.record is not None and self.record.status == "incomplete":
            parts.append("some evidence is missing")
        if self.results is None:
            parts.append("not scored")
        elif self.results.partial:
            why = self.results.what_is_missing
            parts.append(f"{why[0].lower()}{why[1:]}")
        if self.results is not None and self.results.limited:
            parts.append("made with --limit")
        return "; ".join(parts) or "finished"

    @property
    def date(self) -> str | None:
        """Return the day of its last command, or of its submission; None if unknown."""
        if self.record is not None and self.record.history:
            return self.record.history[-1].finished.date().isoformat()
        return _submitted(self.folder)


def listed_runs(folders: Sequence[Path]) -> Iterator[ListedRun]:
    """Yield the runs in some folders and below them, sorted by path within each folder.

    Links to folders are not followed, but for one that is a run itself.

    Args:
        folders: Folders of runs, or runs.

    Raises:
        T2IBenchError: one of the folders does not exist.
    """
    for folder in folders:
        if not folder.is_dir():
            raise T2IBenchError(
                f"'{folder}' is not a folder.",
                "Give a folder of runs, such as the --output-dir of `t2ibench run`.",
            )
    seen: set[Path] = set()
    for folder in folders:
        yield from _below(folder, _DEPTH, seen)


def _below(folder: Path, depth: int, seen: set[Path]) -> Iterator[ListedRun]:
    """Yield a run, or the runs below a folder."""
    place = folder.resolve()
    if place in seen or len(seen) > _MOST_FOLDERS:
        return
    seen.add(place)
    if _is_run(folder):
        yield _read(folder)
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield ListedRun(folder, problem=f"cannot be listed: {error.strerror}")
        return
    for entry in entries:
        path = folder / entry.name
        if entry.name.startswith(".") or not _is_folder(entry):
            continue
        if _is_run(path) or (depth > 0 and not entry.is_symlink()):
            yield from _below(path, depth - 1, seen)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):
        return entry.is_dir()
    return False


def _is_run(path: Path) -> bool:
    """Return whether a folder holds a run, judging by the names of its files."""
    with suppress(OSError):
        return any((path / name).exists() for name in (NAME, _RESULTS, _OLDER))
    return False


def _read(folder: Path) -> ListedRun:
    """Return a run; if it cannot be read, the reason in one line."""
    try:
        return _read_or_raise(folder)
    except T2IBenchError as error:
        return ListedRun(folder, problem=_without_folder(error.message, folder))
    except Exception as error:  # whatever a file holds, the list goes on
        kind = type(error).__name__
        return ListedRun(folder, problem=f"cannot be read: {kind}: {first_line(error)}")


def _read_or_raise(folder: Path) -> ListedRun:
    database = folder / NAME
    file = folder / _RESULTS
    for path in (database, file):
        if path.exists() and not path.is_file():
            raise T2IBenchError(f"{path.name} is no ordinary file")
    record = None
    images = None
    if database.is_file():
        record, images = _record_and_images(folder)
    elif not file.is_file():
        raise T2IBenchError("made by an earlier t2ibench, and not scored")
    results = read_results(file) if file.is_file() else None
    if images is None and results is not None:
        images = _images_of(results)
    return ListedRun(folder, record, results, images)


def _record_and_images(folder: Path) -> tuple[RunRecord, int]:
    """Return the record in a run.db and its number of images, without writing to it.

    While another process writes the run, its newest rows are in the log beside it, which only an
    ordinary connection reads.
    """
    run = RunFolder(folder)
    is_written = (folder / f"{NAME}-wal").is_file()
    if not is_written:
        run.database = Database(folder, trusted=False)
    try:
        run.reload()
        if run.damaged:
            raise T2IBenchError(run.lacks_briefly)
        ((images,),) = run.database.read(_COUNT_IMAGES)
        return run.record, int(images)
    finally:
        run.database.close()


def _images_of(results: Results) -> int | None:
    """Return the number of images by the results alone: that of the only task; None if several.

    Tasks may share images, so that their numbers do not add up.
    """
    counts = [task.n_images for task in results.tasks.values()]
    return counts[0] if len(counts) == 1 else None


def _submitted(folder: Path) -> str | None:
    """Return the date on which a folder says that it was submitted; None if it does not."""
    file = folder / _SUBMISSION
    unreadable = (OSError, ValueError, LookupError, TypeError, AttributeError)
    with suppress(T2IBenchError, RecursionError, *unreadable):
        if file.is_file():
            data = json.loads(read_data(file, _LARGEST_SUBMISSION))
            return date.fromisoformat(data["card"]["submitted"]).isoformat()
    return None


def _without_folder(message: str, folder: Path) -> str:
    """Return a message without the path of the folder, which stands beside it in a list."""
    for path in (str(folder), visible(str(folder))):
        message = message.replace(f"{path}{os.sep}", "").replace(f"'{path}' ", "")
    return message
