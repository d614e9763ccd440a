"""The runs that a decision is about, and their comparison with an older one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from t2ibench.decisions.profile import Profile, RunReference
from t2ibench.errors import T2IBenchError
from t2ibench.identity import sha256_of_json
from t2ibench.results.comparison import compare
from t2ibench.results.files import read_results
from t2ibench.results.fixed_before import Looks
from t2ibench.results.paired import PairedTask, read_paired
from t2ibench.results.run import RunFolder, folder_of
from t2ibench.results.schema import Results
from t2ibench.results.score_difference import Difference
from t2ibench.results.text_image_alignment import AgreementChange, compare_agreement


@dataclass(slots=True)
class MeasuredRun:
    """The results of a run, with the influences that paired comparisons require.

    Attributes:
        path: Its folder as it was given; None for results in memory.
        results: Its results.
        paired: Its influences by task; empty without a run.db.
        looks: The looks at which it was decided about while it grew; None without any.
    """

    path: Path | None
    results: Results
    paired: Mapping[str, PairedTask] = field(default_factory=dict)
    looks: Looks | None = None

    @property
    def name(self) -> str:
        """Return what reports call the run."""
        return str(self.path) if self.path is not None else self.results.title


def read_run(path: Path) -> MeasuredRun:
    """Return a run from its folder or its results.json."""
    results = read_results(path)
    folder = RunFolder(folder_of(path))
    looks = results.looks
    if looks is None and folder.database.exists():
        # The results are older than the looks, as where the first of them was killed.
        folder.reload()
        looks = folder.record.looks
    return MeasuredRun(path, results, read_paired(path), looks)


@dataclass
class RunPair:
    """Two runs, of which the second is decided about.

    Attributes:
        first: The older run, or the reference.
        second: The run that is decided about.
    """

    first: MeasuredRun
    second: MeasuredRun

    @cached_property
    def differences(self) -> Sequence[Difference]:
        """Return every difference of headlines and rows."""
        return compare(
            self.first.results,
            self.second.results,
            self.first.paired,
            self.second.paired,
        )

    @cached_property
    def agreement(self) -> Sequence[AgreementChange]:
        """Return the changes in agreement of images with prompts."""
        return compare_agreement(
            self.first.results,
            self.second.results,
            self.first.paired,
            self.second.paired,
        )

    def difference(self, task: str, row: str = "") -> Difference | None:
        """Return the difference of a headline, or of a row's lean; None where there is none."""
        score = "lean" if row else "headline"
        for difference in self.differences:
            if (difference.task, difference.row, difference.name) == (task, row, score):
                return difference
        return None


class ReferenceRuns:
    """The runs that a profile names as references, each read once.

    Attributes:
        base: The folder that relative paths start from.
    """

    def __init__(self, base: Path) -> None:
        self.base = base
        self._runs: dict[str, MeasuredRun] = {}

    def get(self, folder: str) -> MeasuredRun:
        """Return the run in a folder; raise an error of one line if there is none."""
        if folder not in self._runs:
            path = Path(folder) if Path(folder).exists() else self.base / folder
            if not path.exists():
                raise T2IBenchError(
                    f"reference: there is no run in '{folder}', neither here nor beside the "
                    "profile.",
                    "Give the folder of a finished run.",
                )
            self._runs[folder] = read_run(path)
        return self._runs[folder]

    def digests(self, profile: Profile) -> dict[str, str]:
        """Return the SHA-256 of the results of every run that a profile refers to, by its folder.

        It is over the tasks of the profile alone. A folder without a run is left out.
        """
        digests = {}
        for folder in reference_folders(profile):
            try:
                results = self.get(folder).results
            except T2IBenchError:
                continue
            digests[folder] = _digest(results, profile.tasks)
        return digests


def reference_folders(profile: Profile) -> list[str]:
    """Return the folders of the runs that a profile refers to."""
    references = [scenario.reference for scenario in profile.scenarios]
    return sorted({each.run for each in references if isinstance(each, RunReference)})


def _digest(results: Results, tasks: Iterable[str]) -> str:
    """Return the SHA-256 over these tasks of results.

    A later t2ibench may know further fields, which the file of a run does not have: it reads them
    as their defaults, which are left out.
    """
    content = [
        task.model_dump(mode="json", exclude_defaults=True)
        for task in results.tasks_named(tasks)
    ]
    return sha256_of_json(content)
