"""From a run's results to a paper's tables and figures: pure, but for the reading of samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean, first_line, shown
from t2ibench.methods.core.schema import BaseTask
from t2ibench.reports.files import samples_of, task_files
from t2ibench.reproduce.differences import differences
from t2ibench.reproduce.paper import Built, ExhibitFile, Material, Paper
from t2ibench.results.schema import Results, TaskResult

_NUMBERS = ("table", "figure")


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A table or a figure with our numbers.

    Attributes:
        name: Such as 'table-1'.
        file: Its entry in the paper's data.
        built: Its lines and figure.
        complete: Whether every task that it needs has a score, and it could be built.
    """

    name: str
    file: ExhibitFile
    built: Built
    complete: bool

    @property
    def label(self) -> str:
        """Such as 'Table 1'."""
        kind, _, number = self.name.partition("-")
        return f"{kind.capitalize()} {number}"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A paper with our numbers.

    Attributes:
        paper: The paper.
        results: The run.
        exhibits: Its tables and figures, in the paper's order.
        differs: What differs from the paper, in sentences.
        differs_in_chosen: The same of the exhibits that were asked for alone.
        chosen: Names of the exhibits that were asked for.
        folder: Where its pages are; None where none were written.
    """

    paper: Paper
    results: Results
    exhibits: Sequence[Exhibit]
    differs: Sequence[str]
    differs_in_chosen: Sequence[str]
    chosen: Sequence[str]
    folder: Path | None = field(default=None, compare=False)

    @property
    def shown(self) -> list[Exhibit]:
        """The exhibits that were asked for."""
        return [exhibit for exhibit in self.exhibits if exhibit.name in self.chosen]

    @property
    def complete(self) -> bool:
        """Whether all exhibits that were asked for have their numbers."""
        return all(exhibit.complete for exhibit in self.shown)


def choose(paper: Paper, numbers: Mapping[str, Sequence[str]]) -> list[str] | None:
    """Exhibits by the numbers of a command line.

    Args:
        paper: The paper.
        numbers: 'table' and 'figure' to the numbers that were asked for.

    Returns:
        Names of exhibits, in the paper's order; None where nothing was asked for.

    Raises:
        T2IBenchError: the paper has no such table or figure here.
    """
    wanted = {f"{kind}-{number}" for kind in _NUMBERS for number in numbers.get(kind) or ()}
    if not wanted:
        return None
    known = list(paper.file.exhibits)
    for name in sorted(wanted):
        if name not in known:
            kind, _, number = name.partition("-")
            raise T2IBenchError(
                f"'{paper.name}' has no {kind} '{shown(number)}' here.{did_you_mean(name, known)}",
                f"It has: {', '.join(known)}.",
            )
    return [name for name in known if name in wanted]


def build(
    paper: Paper,
    results: Results,
    folder: Path | None,
    *,
    chosen: Sequence[str] | None = None,
    options: Mapping[str, Path] | None = None,
) -> Reproduction:
    """A paper's tables and figures from what a run has measured.

    Args:
        paper: The paper.
        results: The run.
        folder: Its folder, for samples; None where only results are at hand.
        chosen: Names of the exhibits that were asked for; None for all.
        options: Files of the user's, by name.

    Returns:
        The paper with our numbers.

    Raises:
        T2IBenchError: a file of the user's is wrong.
    """
    wanted = list(paper.file.exhibits) if chosen is None else list(chosen)
    ran = {task.of: task.name for task in paper.file.preset.tasks}
    there = {of: results.tasks[name] for of, name in ran.items() if name in results.tasks}
    specs = task_files(results, folder)
    exhibits = [
        _exhibit(paper, name, ran, there, specs, folder, options or {})
        for name in paper.file.exhibits
    ]
    return Reproduction(
        paper,
        results,
        exhibits,
        _differs(paper, list(paper.file.exhibits), ran, there, results),
        _differs(paper, wanted, ran, there, results),
        wanted,
    )


def _differs(
    paper: Paper,
    exhibits: Sequence[str],
    ran: Mapping[str, str],
    there: Mapping[str, TaskResult],
    results: Results,
) -> list[str]:
    """What differs, as far as some exhibits are concerned."""
    entries = [paper.file.exhibits[name] for name in exhibits]
    needed = {task for entry in entries for task in entry.tasks}
    needed |= {task for entry in entries for task in entry.pools if task in there}
    tasks = {name: there.get(of) for of, name in ran.items() if of in needed}
    return differences(paper, results, tasks)


def _exhibit(
    paper: Paper,
    name: str,
    ran: Mapping[str, str],
    there: Mapping[str, TaskResult],
    specs: Mapping[str, BaseTask],
    folder: Path | None,
    options: Mapping[str, Path],
) -> Exhibit:
    entry = paper.file.exhibits[name]
    material = Material(
        exhibit=entry,
        results={of: there[of] for of in (*entry.tasks, *entry.pools) if of in there},
        specs={of: specs[ran[of]] for of in (*entry.tasks, *entry.pools) if ran[of] in specs},
        ran=ran,
        read_samples=_reader(folder),
        options=options,
        exhibits=paper.file.exhibits,
    )
    complete = all(of in there and not there[of].reason for of in entry.tasks)
    try:
        return Exhibit(name, entry, paper.builders[name](material), complete)
    except T2IBenchError:
        raise
    except Exception as error:  # a defect of one exhibit must not lose the others
        why = f"It could not be built: {type(error).__name__}: {first_line(error)}."
        return Exhibit(name, entry, Built(notes=(why,)), False)


def _reader(folder: Path | None) -> Callable[[str], Sequence[Mapping[str, Any]]]:
    def read(task: str) -> Sequence[Mapping[str, Any]]:
        return [] if folder is None else samples_of(folder, task)

    return read
