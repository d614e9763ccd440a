"""A run's folder, and its record in run.db."""

from __future__ import annotations

import functools
import json
import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import ValidationError

from t2ibench.errors import T2IBenchError, shown_path
from t2ibench.results.differences import differences_in_words, generator_differences
from t2ibench.results.record import RunRecord
from t2ibench.results.schema import GeneratorInfo
from t2ibench.store.connections import may_lack_log
from t2ibench.store.database import NAME, BrokenDatabaseError, Database
from t2ibench.store.evidence import slug
from t2ibench.store.images import ImageStore
from t2ibench.store.labels import COPY
from t2ibench.store.locks import locked
from t2ibench.store.repair import repair
from t2ibench.store.schema import of_text, to_text

_NO_RECORD = "no record of its run, as after a merge that was interrupted"


@dataclass(slots=True)
class RunFolder:
    """The folder of a run, with its record and its run.db; `damaged` names unreadable fields."""

    path: Path
    record: RunRecord = field(default_factory=RunRecord)
    database: Database = field(init=False)
    damaged: list[str] = field(default_factory=list, init=False)
    _stored: dict[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Set the database to the folder's run.db, without opening it."""
        self.database = Database(self.path)

    def update(self, **changes: object) -> None:
        """Change fields of the record, and store them in run.db."""
        self.record = self.record.model_copy(update=changes)
        self.save()

    def reload(self) -> None:
        """Read the record's fields from run.db again; those that are damaged do not change."""
        rows = self.database.read_checked("run")
        stored = {
            key: of_text(value) for key, value in rows if key in RunRecord.model_fields
        }
        is_incomplete = (
            self.database.damaged.pop("run", None) or "generator" not in stored
        )
        names = (
            RunRecord.model_fields if is_incomplete and self.database.exists() else ()
        )
        self.damaged = [name for name in names if name not in stored]
        earlier = self.record.model_dump(mode="json")
        try:
            fields = {key: json.loads(value) for key, value in stored.items()}
            self.record = RunRecord.model_validate(earlier | fields)
        except (ValueError, RecursionError) as error:
            where = "its record is not JSON"
            if isinstance(error, ValidationError):
                first = error.errors(include_url=False)[0]
                where = f"{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}"
            raise BrokenRecordError(
                f"{self.database.path} cannot be read ({where}).",
                "Use the t2ibench that made it, or choose another --output-dir.",
            ) from None
        self._stored = stored

    def save(self) -> None:
        """Write the record to run.db."""
        data = self.record.model_dump(mode="json")
        texts = {
            key: json.dumps(value, ensure_ascii=False) for key, value in data.items()
        }
        new = {
            key: text for key, text in texts.items() if self._stored.get(key) != text
        }
        if new:
            rows = [(key, to_text(text)) for key, text in new.items()]
            self.database.write("run", rows)
        self._stored, self.damaged = texts, []

    @property
    def lacks(self) -> str:
        """A message on which fields of the record are missing or unreadable."""
        path = self.database.path
        if may_lack_log(path):
            return (
                f"{path} lacks what was stored last: it was moved without {path.name}-wal, which "
                "was beside it"
            )
        if not self._stored:
            return f"{path} has {_NO_RECORD}"
        return f"{path} is damaged: its record lacks {', '.join(self.damaged)}"

    @property
    def lacks_briefly(self) -> str:
        """The same without the path, for a list of runs."""
        if not self._stored:
            return _NO_RECORD
        return f"its record lacks {', '.join(self.damaged)}"

    @property
    def knows_generator(self) -> bool:
        """Whether the stored record has a generator, or says that there is none."""
        return "generator" in self._stored

    @property
    def results(self) -> Path:
        """Path of the run's results.json."""
        return self.path / "results.json"


class BrokenRecordError(T2IBenchError):
    """Raised if the record of a run cannot be read."""


def folder_of(path: Path) -> Path:
    """Return the run folder, given its path or the path of its run.db or results.json."""
    named = path.name in {NAME, "results.json"} and not path.is_dir()
    return path.parent if named else path


def is_run(path: Path) -> bool:
    """Return whether a folder holds a run, which is whether it has a run.db."""
    return (path / NAME).exists()


def check_still_there(path: Path) -> None:
    """Raise an error if the folder of a run was moved or removed while a command worked on it.

    Whatever is written would otherwise make a stray folder in its place.
    """
    if not path.is_dir():
        raise T2IBenchError(
            f"{shown_path(path)} was moved or removed while it was in use.",
            "Its evidence is as it was: give its new place to `t2ibench score`.",
        )


def open_run(path: Path) -> RunFolder:
    """Return the run in a folder; raise an error if there is none or it is unreadable."""
    folder = RunFolder(folder_of(path))
    _refuse_older(folder.path)
    if not folder.database.exists():
        raise T2IBenchError(
            f"'{shown_path(folder.path)}' is not a run folder: it has no {NAME}.",
            "Give a folder that `t2ibench run` made, such as runs/toyland.",
        )
    folder.reload()
    if folder.damaged:
        hint = (
            "Bring that file, too, or run the original command again."
            if may_lack_log(folder.database.path)
            else "Run the original command again; images and evidence are kept."
        )
        raise BrokenRecordError(f"{folder.lacks}.", hint)
    return folder


def open_images(path: Path) -> tuple[RunFolder, ImageStore]:
    """Return a run and the store of its images; raise an error if it has no image model."""
    folder = open_run(path)
    generator = folder.record.generator
    if generator is None:
        raise T2IBenchError(f"{path} holds no images.", "Give a run of an image model.")
    return folder, ImageStore(folder.database, generator.fingerprint)


def _refuse_older(path: Path) -> None:
    if (path / "run.json").is_file() and not (path / NAME).exists():
        raise T2IBenchError(
            f"'{path}' was made by an earlier t2ibench, which kept a run in many files.",
            "Choose another --output-dir. Its results.json can still be given to report and "
            "compare, and --model folder: reads its images.",
        )


@contextmanager
def mending() -> Iterator[None]:
    """Context that repairs a run.db which proves to be damaged, and then raises an error.

    Readable rows are copied, and the damaged file is kept under another name.
    """
    try:
        yield
    except BrokenDatabaseError as error:
        aside = error.path.with_name(f"{error.path.name}.broken")
        with locked(error.path.parent):
            rows = sum(repair(error.path, aside).values())
        raise T2IBenchError(
            f"{error.message} {rows:,} rows of it are kept, and the damaged file is {aside.name}; "
            f"labels of people that neither it nor {COPY} holds have to be imported again.",
            "Run the same command again: it makes the rest again.",
        ) from error


def run_folder(
    output: Path,
    name: str,
    fingerprint: str | None,
    plain: bool,
    given: str | None = None,
    asked: GeneratorInfo | None = None,
) -> tuple[RunFolder, list[str]]:
    """Return the new or existing run folder for a generator, and warnings of damaged records.

    `asked` is the generator of this call: a folder of the given name that holds a run of another
    is refused, with the settings that differ.
    """
    warnings: list[str] = []
    path = output / slug(given or name)
    folder = open_or_new(path, warnings)
    generator = folder.record.generator
    if given is not None:
        if (
            folder.knows_generator
            and (generator.fingerprint if generator else None) != fingerprint
        ):
            what = "texts alone" if generator is None else generator.name
            if generator is not None and asked is not None and generator.name == name:
                clauses = differences_in_words(generator_differences(generator, asked))
                what = f"{generator.name} with other settings: {clauses}"
            raise T2IBenchError(
                f"--name {given}: '{path}' holds a run of {what}.",
                "Give another --name, such as a commit's or a date's, or another --output-dir.",
            )
        return folder, warnings
    other = folder.knows_generator and (
        generator is None or generator.fingerprint != fingerprint
    )
    if fingerprint is not None and (other or not plain):
        path = output / f"{slug(name)}-{fingerprint[:8]}"
        folder = open_or_new(path, warnings)
    return folder, warnings


def open_or_new(path: Path, warnings: list[str]) -> RunFolder:
    """Return the run in a folder, or a new one; what of it is damaged is added to `warnings`."""
    _refuse_older(path)
    folder = RunFolder(path)
    folder.reload()
    if folder.damaged:
        warnings.append(f"{folder.lacks}, and a new one is begun.")
        warnings += _missing_provenance(folder)
    return folder


def _missing_provenance(folder: RunFolder) -> Iterator[str]:
    """Yield a line on images whose settings nothing tells any more, with what still names them."""
    if "generator" not in folder.damaged or folder.results.is_file():
        return
    generators = folder.database.read(
        "SELECT models.fingerprint, count(*) FROM attempts JOIN models ON "
        "models.id = attempts.generator WHERE attempts.status = 'ok' GROUP BY models.id"
    )
    for fingerprint, count in generators:
        yield (
            f"With its record and results.json, {folder.path} has lost the settings and versions "
            f"of libraries that made {count} images. Their records give the model's fingerprint, "
            f"{fingerprint[:12]}, and the prompt, seed and outcome of each."
        )


_LIBRARIES = (
    "numpy",
    "scipy",
    "torch",
    "diffusers",
    "transformers",
    "open_clip_torch",
    "pillow",
)


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Return the installed version of each of these distributions, if it is installed."""
    installed = {}
    for name in distributions:
        # What is installed later, as in a notebook, is found then.
        with suppress(PackageNotFoundError):
            installed[name] = _installed_version(name)
    return installed


# What a process has imported stays, whatever is installed meanwhile. To find a version, the whole
# description of its package is read.
@functools.cache
def _installed_version(distribution: str) -> str:
    """Return the installed version of a distribution; raise an error if it is not installed."""
    return version(distribution)


def environment() -> dict[str, str]:
    """Return the versions of Python, the platform and the libraries that affect results."""
    system = {"python": platform.python_version(), "platform": platform.platform()}
    return system | versions(_LIBRARIES)
