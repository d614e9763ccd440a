"""A second run beside the one that a paper's exhibits are built of: photographs, other captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.reports.files import samples_of
from t2ibench.reproduction.paper import Material
from t2ibench.results.reading import read_results
from t2ibench.results.run import folder_of
from t2ibench.results.schema import Results, TaskResult


@dataclass(frozen=True, slots=True)
class SecondRun:
    """A run that was named with `--with NAME=RUN`.

    Attributes:
        folder: Its folder.
        results: What it measured.
    """

    folder: Path
    results: Results

    def task(self, *names: str) -> TaskResult | None:
        """A task of it."""
        return next(
            (self.results.tasks[name] for name in names if name in self.results.tasks), None
        )

    def samples(self, *names: str) -> Sequence[Mapping[str, Any]]:
        """The samples of a task of it."""
        return next((rows for name in names if (rows := samples_of(self.folder, name))), [])


def second_run(material: Material, option: str) -> SecondRun | None:
    """The run that an option names."""
    given = material.options.get(option)
    if given is None:
        return None
    folder = folder_of(given)
    return SecondRun(folder, read_results(folder).with_earlier())


def task_of(material: Material, option: str, task: str) -> TaskResult | None:
    """A task of the preset in the run that an option names."""
    run = second_run(material, option)
    if run is None:
        return None
    names = set(material.ran) | set(material.ran.values())
    if not names & set(run.results.tasks):
        raise T2IBenchError(
            f"{material.options[option]} has no task of this preset.",
            f"Measure it with the same preset; its tasks: {', '.join(material.ran)}.",
        )
    return run.task(material.ran[task], task)
