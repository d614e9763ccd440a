"""The run folder and its run.json."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.store.evidence import slug
from t2ibench.store.files import write_text


@dataclass(slots=True)
class RunFolder:
    """One generator's folder.

    Attributes:
        path: The folder.
        generator: Name, revision, settings and fingerprint; None for text-only runs.
        encoders: Name to fingerprint of the encoders of the latest run.
        judges: Name to fingerprint of its judges.
        judge_args: Their arguments.
        tasks: Task ids of the latest run.
        include_paths: Folders of further tasks.
        settings: Settings of the latest run.
        history: One entry a run: when, how, what it drew.
    """

    path: Path
    generator: dict[str, Any] | None = None
    encoders: dict[str, str] = field(default_factory=dict)
    judges: dict[str, str] = field(default_factory=dict)
    judge_args: dict[str, str] = field(default_factory=dict)
    tasks: list[str] = field(default_factory=list)
    include_paths: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)

    def save(self) -> None:
        """Write run.json."""
        record = {
            "schema": 1,
            "generator": self.generator,
            "encoders": self.encoders,
            "judges": self.judges,
            "judge_args": self.judge_args,
            "tasks": self.tasks,
            "include_paths": self.include_paths,
            "settings": self.settings,
            "history": self.history,
        }
        text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
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


def open_run(path: Path) -> RunFolder:
    """Read a run folder.

    Raises:
        T2IBenchError: it is no run folder, or run.json is broken.
    """
    file = path / "run.json"
    if not file.is_file():
        raise T2IBenchError(
            f"'{path}' is not a run folder: it has no run.json.",
            "Give a folder that `t2ibench run` made, such as runs/toyland.",
        )
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        return RunFolder(
            path,
            record["generator"],
            dict(record["encoders"]),
            dict(record.get("judges", {})),
            dict(record.get("judge_args", {})),
            list(record["tasks"]),
            list(record["include_paths"]),
            dict(record["settings"]),
            list(record["history"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise T2IBenchError(
            f"{file} cannot be read ({type(error).__name__}: {error}).",
            "Run the original command again; images and evidence are kept.",
        ) from None


def run_folder(output: Path, name: str, fingerprint: str | None, plain: bool) -> RunFolder:
    """The folder of a generator: an existing one, or a new one that is not written yet.

    Args:
        output: The folder of all runs.
        name: The generator's name.
        fingerprint: The generator's; None for text-only runs.
        plain: Whether the generator has its default settings. Others get their fingerprint's
            first eight digits in the folder's name, so that settings never share a folder.
    """
    path = output / slug(name)
    if fingerprint is not None and (not plain or _is_other(path, fingerprint)):
        path = output / f"{slug(name)}-{fingerprint[:8]}"
    return open_run(path) if (path / "run.json").is_file() else RunFolder(path)


def _is_other(path: Path, fingerprint: str) -> bool:
    if not (path / "run.json").is_file():
        return False
    generator = open_run(path).generator
    return generator is None or generator.get("fingerprint") != fingerprint
