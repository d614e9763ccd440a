"""From a run's results to a paper's tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.apps.papers.differences import differences
from t2ibench.apps.papers.exhibits import Draft
from t2ibench.apps.papers.paper import Paper
from t2ibench.apps.papers.run import Run
from t2ibench.apps.papers.schema import ExhibitFile
from t2ibench.apps.papers.tables import comparison
from t2ibench.errors import T2IBenchError, did_you_mean, first_line, shown
from t2ibench.reports.files import task_files
from t2ibench.results.schema import Results
from t2ibench.tasks.index import build_index

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "reproduce"  # of a run, for pages


@dataclass(frozen=True, slots=True, repr=False)
class Exhibit:
    """A table or a figure with our numbers.

    Attributes:
        name: Such as 'table-1'.
        file: Its entry in the paper's data.
        built: Its lines and figure.
        complete: Whether every task that it needs has a score, and it could be built.
        paths: Its files: CSV, and SVG and PNG of a figure; none where none were written.
    """

    name: str
    file: ExhibitFile
    built: Draft
    complete: bool
    paths: Sequence[Path] = field(default=(), compare=False)

    @property
    def label(self) -> str:
        """Such as 'Table 1'."""
        kind, _, number = self.name.partition("-")
        return self.file.label or f"{kind.capitalize()} {number}"

    @property
    def title(self) -> str:
        """What it shows."""
        return self.file.title

    @property
    def notes(self) -> list[str]:
        """What a reader must know of it."""
        return [*self.file.notes, *self.built.notes]

    @property
    def rows(self) -> list[dict[str, object]]:
        """Its numbers with all of their digits, one record a row, all with the same keys.

        Of a table: 'row', 'score', 'published: MODEL' and 'ours - MODEL' of each published model,
        'ours', its interval 'ci_low' and 'ci_high', and 'note'; None where there is none. Of a
        figure without a table: its points.
        """
        if self.built.lines:
            table = comparison(self.built.lines, self.file.models)
            return [dict(record) for record in table.records]
        drawn = self.built.figure
        if drawn is None:
            return []
        return [dict(zip(drawn.head, row, strict=True)) for row in drawn.rows]

    def to_pandas(self) -> pd.DataFrame:
        """Its numbers as a data frame.

        Returns:
            `rows`, one a row.
        """
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.rows)
        return frame

    def __repr__(self) -> str:
        """Short, for a prompt or a notebook."""
        lacking = "" if self.complete else ", lacks numbers"
        return f"<{self.label}: {self.title}, {len(self.rows)} rows{lacking}>"


@dataclass(frozen=True, slots=True, repr=False)
class Reproduction:
    """A paper with our numbers.

    Attributes:
        paper: The paper.
        results: The run.
        exhibits: Its tables and figures, in the paper's order.
        differs: What differs from the paper, in sentences.
        differs_in_chosen: The same of the exhibits that were asked for alone.
        chosen: Names of the exhibits that were asked for.
        folder: The run folder with its pages; None where none were written.
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

    @property
    def page(self) -> Path | None:
        """Its page in HTML; a page in Markdown is beside it. None where none were written."""
        return None if self.folder is None else self.folder / FOLDER / f"{self.paper.name}.html"

    def __iter__(self) -> Iterator[Exhibit]:
        """The exhibits that were asked for."""
        return iter(self.shown)

    def __getitem__(self, name: str) -> Exhibit:
        """An exhibit by its name, whether it was asked for or not.

        Args:
            name: Such as 'table-1' or 'Table 1'.

        Returns:
            The exhibit.

        Raises:
            T2IBenchError: the paper has none of that name here.
        """
        by_name = {exhibit.name: exhibit for exhibit in self.exhibits}
        wanted = name.lower().replace(" ", "-")
        if wanted not in by_name:
            raise T2IBenchError(
                f"'{self.paper.name}' has no '{shown(name)}' here.{did_you_mean(wanted, by_name)}",
                f"It has: {', '.join(by_name)}.",
            )
        return by_name[wanted]

    def __repr__(self) -> str:
        """Short, for a prompt or a notebook."""
        names = ", ".join(exhibit.label for exhibit in self.shown)
        return f"<{self.paper.file.title}, {self.results.model.name}: {names or 'nothing'}>"


def choose(
    paper: Paper, tables: Sequence[str | int], figures: Sequence[str | int]
) -> list[str] | None:
    """Exhibits by the numbers of a command line; None for all."""
    wanted = {f"table-{number}" for number in tables} | {f"figure-{number}" for number in figures}
    known = list(paper.file.exhibits)
    for name in sorted(wanted.difference(known)):
        kind, _, number = name.partition("-")
        raise T2IBenchError(
            f"'{paper.name}' has no {kind} '{shown(number)}' here.{did_you_mean(name, known)}",
            f"It has: {', '.join(known)}.",
        )
    return [name for name in known if name in wanted] or None


def build(
    paper: Paper,
    results: Results,
    folder: Path | None,
    chosen: Sequence[str] | None = None,
    files: Mapping[str, Path] | None = None,
) -> Reproduction:
    """A paper's tables and figures from what a run has measured."""
    entries = paper.file.exhibits
    wanted = list(entries) if chosen is None else list(chosen)
    ran = {task.of: task.name for task in paper.file.preset.tasks}
    there = {of: results.tasks[name] for of, name in ran.items() if name in results.tasks}
    specs = task_files(results, folder)
    index = build_index()[0] if any(entry.read for entry in entries.values()) else None
    own, exhibits = Run(results, folder), []
    for name, entry in entries.items():
        used = (*entry.tasks, *entry.pools)
        read = {} if index is None else {of: index.tasks[of].spec for of in entry.read}
        draft = Draft(
            entry,
            paper.file,
            own,
            {of: there[of] for of in used if of in there},
            read | {of: specs[ran[of]] for of in used if ran[of] in specs},
            ran,
            files or {},
        )
        built = _built(paper.builders[name], draft)
        complete = all(of in there and not there[of].reason for of in entry.tasks)
        exhibits.append(Exhibit(name, entry, draft, built and complete))

    def differs(names: Sequence[str]) -> list[str]:
        needed = {task for name in names for task in entries[name].tasks}
        needed |= {task for name in names for task in entries[name].pools if task in there}
        return differences(
            paper, results, {name: there.get(of) for of, name in ran.items() if of in needed}
        )

    return Reproduction(paper, results, exhibits, differs(list(entries)), differs(wanted), wanted)


def _built(builder: Callable[[Draft], None], draft: Draft) -> bool:
    """Build an exhibit; whether it could be."""
    try:
        builder(draft)
    except T2IBenchError:
        raise
    except Exception as error:  # a defect of one exhibit must not lose the others
        draft.lines, draft.figure, draft.strips = [], None, []
        draft.notes = [f"It could not be built: {type(error).__name__}: {first_line(error)}."]
        return False
    for file in (*draft.entry.files, *draft.entry.without):
        note = draft.entry.without.get(file) or draft.paper.files[file].without
        if note is not None and note not in draft.notes and not draft.has(file):
            draft.notes.append(note)
    return True
