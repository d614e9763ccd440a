"""Building of a paper's tables and figures from the results of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from t2ibench.apps.papers.differences import differences, incomparable
from t2ibench.apps.papers.exhibits import Exhibit
from t2ibench.apps.papers.paper import Paper
from t2ibench.errors import T2IBenchError, did_you_mean, first_line, shown
from t2ibench.reports.files import task_files
from t2ibench.results.schema import Results

FOLDER = "reproduce"  # of a run, for pages


@dataclass(frozen=True, slots=True, repr=False)
class Reproduction:
    """The tables and figures of a paper with our numbers.

    Attributes:
        paper: The paper.
        results: The run.
        exhibits: Its tables and figures, in the paper's order.
        differs: What differs from the paper, in sentences.
        chosen: Names of the exhibits that were asked for.
        folder: The run folder with its pages.
    """

    paper: Paper
    results: Results
    exhibits: Sequence[Exhibit]
    differs: Sequence[str]
    chosen: Sequence[str]
    folder: Path

    @property
    def complete(self) -> bool:
        """Whether all requested tables and figures have their numbers."""
        return all(exhibit.complete for exhibit in self)

    @property
    def page(self) -> Path:
        """Path of the HTML page; the Markdown page lies beside it."""
        return self.folder / FOLDER / f"{self.paper.name}.html"

    def __iter__(self) -> Iterator[Exhibit]:
        """Return an iterator over the requested exhibits."""
        return (exhibit for exhibit in self.exhibits if exhibit.name in self.chosen)

    def __getitem__(self, name: str) -> Exhibit:
        """Return the exhibit with a name such as 'Table 1', whether or not it was requested."""
        by_name = {exhibit.name: exhibit for exhibit in self.exhibits}
        wanted = name.lower().replace(" ", "-")
        if wanted not in by_name:
            raise T2IBenchError(
                f"'{self.paper.name}' has no '{shown(name)}' here.{did_you_mean(wanted, by_name)}",
                f"It has: {', '.join(by_name)}.",
            )
        return by_name[wanted]

    def __repr__(self) -> str:
        """Return a one-line description for an interactive session."""
        names = ", ".join(exhibit.label for exhibit in self)
        return f"<{self.paper.file.title}, {self.results.model.name}: {names or 'nothing'}>"


def choose(
    paper: Paper, tables: Sequence[str | int], figures: Sequence[str | int]
) -> list[str] | None:
    """Return the names of exhibits with these table and figure numbers; None if none is given."""
    wanted = {f"table-{number}" for number in tables} | {
        f"figure-{number}" for number in figures
    }
    available = list(paper.file.exhibits)
    for name in sorted(wanted.difference(available)):
        kind, _, number = name.partition("-")
        raise T2IBenchError(
            f"'{paper.name}' has no {kind} '{shown(number)}' here.{did_you_mean(name, available)}",
            f"It has: {', '.join(available)}.",
        )
    return [name for name in available if name in wanted] or None


def build(
    paper: Paper, results: Results, folder: Path, chosen: Sequence[str] | None = None
) -> Reproduction:
    """Return a paper's tables and figures, built from the results of a run."""
    entries = paper.file.exhibits
    wanted = list(entries) if chosen is None else list(chosen)
    ran = {task.of: task.name for task in paper.file.preset.tasks}
    there = {
        of: results.tasks[name] for of, name in ran.items() if name in results.tasks
    }
    specs = task_files(results, folder)
    exhibits = []
    for name, entry in entries.items():
        exhibit = Exhibit(
            name,
            entry,
            paper.file,
            {of: there[of] for of in entry.tasks if of in there},
            {of: specs[ran[of]] for of in entry.tasks if ran[of] in specs},
            ran,
            folder,
        )
        exhibit.incomparable = incomparable(paper, exhibit.results.values())
        built = _built(paper.builders[name], exhibit)
        exhibit.complete = built and all(
            of in there and not there[of].reason for of in entry.tasks
        )
        exhibits.append(exhibit)
    differs = differences(
        paper, results, {name: there.get(of) for of, name in ran.items()}
    )
    return Reproduction(paper, results, exhibits, differs, wanted, folder)


def _built(builder: Callable[[Exhibit], None], exhibit: Exhibit) -> bool:
    """Build an exhibit and return whether that worked; if not, the error becomes its note."""
    try:
        builder(exhibit)
    except T2IBenchError:
        raise
    except Exception as error:  # a bug in one exhibit must not lose the others
        exhibit.lines, exhibit.figure = [], None
        exhibit.remarks = [
            f"It could not be built: {type(error).__name__}: {first_line(error)}."
        ]
        return False
    return True
