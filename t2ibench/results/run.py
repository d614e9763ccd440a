"""A run is a record: the folder, and the typed, versioned run.json in it."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import ValidationError

from t2ibench.errors import T2IBenchError
from t2ibench.results.record import MIGRATIONS, RUN_SCHEMA, RunRecord
from t2ibench.store.checksums import sealed, unsealed
from t2ibench.store.evidence import slug
from t2ibench.store.file_errors import reading
from t2ibench.store.files import set_aside, write_text
from t2ibench.store.locks import locked


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
        """Change fields of the record, and write run.json."""
        self.record = self.record.model_copy(update=changes)
        self.save()

    def reread(self) -> None:
        """Take over what other commands have written into run.json."""
        if (self.path / "run.json").is_file():
            with suppress(BrokenRecordError):  # what is in memory is written anew
                self.record = open_run(self.path).record

    def save(self) -> None:
        """Write run.json, with its checksum."""
        data = self.record.model_dump(mode="json", by_alias=True)
        text = json.dumps(sealed(data), indent=1, ensure_ascii=False) + "\n"
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
    """run.json exists but is damaged: not JSON, not of its own schema, or changed since."""


def folder_of(path: Path) -> Path:
    """The folder that a path means."""
    named = path.name in {"run.json", "results.json"} and not path.is_dir()
    return path.parent if named else path


def open_run(path: Path) -> RunFolder:
    """Read a run folder."""
    path = folder_of(path)
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
    if not unsealed(data):
        raise _broken(file, "its content does not match its checksum")
    if data["schema"] > RUN_SCHEMA or data["schema"] < 1:
        raise T2IBenchError(
            f"{file} is of schema {data['schema']}; this t2ibench reads 1 to {RUN_SCHEMA}.",
            "Upgrade t2ibench, or choose another --output-dir.",
        )
    try:
        while data["schema"] < RUN_SCHEMA:
            data = MIGRATIONS[data["schema"]](data)
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


def run_folder(
    output: Path, name: str, fingerprint: str | None, plain: bool, given: str | None = None
) -> tuple[RunFolder, list[str]]:
    """The folder of a generator: an existing one, or a new one that is not written yet.

    A run.json that cannot be read is renamed and a new one started: nothing else needs it.
    """
    warnings: list[str] = []
    path = output / slug(given or name)
    folder = _open_or_new(path, warnings)
    if given is not None:
        generator = folder.record.generator
        if (path / "run.json").is_file() and (
            generator.fingerprint if generator else None
        ) != fingerprint:
            made = f"{generator.name}, with other settings" if generator else "texts alone"
            what = made if generator is None or generator.name == name else generator.name
            raise T2IBenchError(
                f"--name {given}: '{path}' holds a run of {what}.",
                "Give another --name, or another --output-dir.",
            )
        return folder, warnings
    if fingerprint is not None and (not plain or _is_other(folder, fingerprint)):
        path = output / f"{slug(name)}-{fingerprint[:8]}"
        folder = _open_or_new(path, warnings)
    return folder, warnings


def _open_or_new(path: Path, warnings: list[str]) -> RunFolder:
    if not (path / "run.json").is_file():
        return RunFolder(path)
    try:
        return open_run(path)
    except BrokenRecordError:
        pass
    with locked(path):
        if not (path / "run.json").is_file():
            return RunFolder(path)
        try:
            return open_run(path)  # another process may have mended it
        except BrokenRecordError as error:
            moved = set_aside(path / "run.json")
            warnings.append(f"{error.message} It is kept as {moved.name}, and a new one is begun.")
            return RunFolder(path)


def _is_other(folder: RunFolder, fingerprint: str) -> bool:
    if not (folder.path / "run.json").is_file():
        return False
    generator = folder.record.generator
    return generator is None or generator.fingerprint != fingerprint


_LIBRARIES = (
    "numpy",
    "scipy",
    "statsmodels",
    "torch",
    "diffusers",
    "transformers",
    "open_clip_torch",
    "pillow",
)


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Installed versions of distributions."""
    installed = {}
    for name in distributions:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


def environment() -> dict[str, str]:
    """Versions of Python, the platform and the libraries that decide numbers."""
    system = {"python": platform.python_version(), "platform": platform.platform()}
    return system | versions(_LIBRARIES)
