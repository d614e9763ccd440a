"""An exhibit (a table or figure of a paper), with its inputs, numbers and notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.apps.papers.figures import Words, arrows, distributions
from t2ibench.apps.papers.schema import (
    Column,
    ExhibitFile,
    PaperFile,
    RowsOfTask,
    Value,
)
from t2ibench.apps.papers.tables import Line, comparison
from t2ibench.methods.core.schema import BaseTask
from t2ibench.reports.figures.figure import DrawnFigure
from t2ibench.reports.writers import Table
from t2ibench.results.samples import read_samples
from t2ibench.results.schema import Row, Score, TaskResult
from t2ibench.results.states import STATES

if TYPE_CHECKING:
    import pandas as pd


@dataclass(slots=True, repr=False, eq=False)
class Exhibit:
    """A table or figure of a paper with the numbers of our run.

    Attributes:
        name: Such as 'table-1'.
        file: Its entry in the paper's data.
        results: Shipped id to the result of the preset's task, of those that it is built of.
        specs: Shipped id to the preset's task, of those whose file is at hand.
        ran: Shipped id to the id that was run.
        lines: The table, one number a line.
        figure: The figure; None where the exhibit has none, or there are too few numbers.
        complete: Whether every task that it needs has a score, and it could be built.
        paths: Its files: CSV, and SVG, PNG and PDF of a figure.
        incomparable: Why ours and the published numbers are not on one scale, as a sentence; empty
            where they are. Then no difference is shown.
    """

    name: str
    file: ExhibitFile
    paper: PaperFile
    results: Mapping[str, TaskResult]
    specs: Mapping[str, BaseTask]
    ran: Mapping[str, str]
    folder: Path
    lines: list[Line] = field(default_factory=list)
    figure: DrawnFigure | None = None
    remarks: list[str] = field(default_factory=list)
    complete: bool = False
    paths: Sequence[Path] = ()
    incomparable: str = ""

    @property
    def label(self) -> str:
        """Label of the exhibit, such as 'Table 1'."""
        kind, _, number = self.name.partition("-")
        return f"{kind.capitalize()} {number}"

    @property
    def title(self) -> str:
        """Title of the table or figure."""
        return self.file.title

    @property
    def notes(self) -> list[str]:
        """Sentences that a reader needs to interpret the exhibit."""
        first = [self.incomparable] if self.incomparable and self.lines else []
        return [*first, *self.file.notes, *self.remarks]

    @property
    def table(self) -> Table:
        """The exhibit as a table of our numbers, the published ones and their differences."""
        return comparison(
            self.lines, self.file.models, comparable=not self.incomparable
        )

    @property
    def rows(self) -> list[dict[str, object]]:
        """The exhibit's numbers at full precision, as one record for each row.

        Of a table: 'row', 'score', 'published: MODEL' and 'ours - MODEL' of each published model,
        'ours', its interval 'ci_low' and 'ci_high', and 'note'. Of a figure alone: its points.
        """
        if self.lines:
            return [dict(record) for record in self.table.records]
        drawn = self.figure
        if drawn is None:
            return []
        return [dict(zip(drawn.head, row, strict=True)) for row in drawn.rows]

    def to_pandas(self) -> pd.DataFrame:
        """Return the exhibit's numbers as a data frame."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.rows)
        return frame

    def __repr__(self) -> str:
        """Return a one-line description for an interactive session."""
        note = "" if self.complete else ", lacks numbers"
        return f"<{self.label}: {self.title}, {len(self.rows)} rows{note}>"

    @property
    def published(self) -> Mapping[str, Mapping[str, Value]]:
        """Published values of the first model, keyed by row and then by score."""
        return self.file.published[self.file.models[0]]

    def samples(self, task: str) -> Sequence[Mapping[str, Any]]:
        """Return the stored samples of a task, one per image or prompt; empty if it did not run."""
        if task not in self.results:
            return []
        return read_samples(self.folder, self.ran[task])

    def words(self, **changes: str) -> Words:
        """Return the title, axis names and caption of the figure, with `changes` to them."""
        words = self.file.figure or Words(
            title=self.file.title, caption=self.file.source
        )
        return words.model_copy(update=changes)

    def draw(
        self,
        kind: Callable[..., DrawnFigure | None],
        data: object,
        words: Words | None = None,
    ) -> None:
        """Draw `data` as a figure, with the function `kind`, and attach it to the exhibit."""
        self.figure = kind(data, words or self.words())

    def line(
        self,
        row: str,
        score: str,
        ours: Value = None,
        digits: int = 3,
        note: str = "",
        ends: tuple[float | None, float | None] = (None, None),
    ) -> None:
        """Add our number to the exhibit, beside the published values of the same row and score."""
        table = self.file.published
        published = [
            table.get(model, {}).get(row, {}).get(score) for model in self.file.models
        ]
        self.lines.append(Line(row, score, ours, tuple(published), *ends, digits, note))

    def score(
        self, row: str, name: str, score: Score | None, digits: int = 3, note: str = ""
    ) -> None:
        """Add our score and its interval to the exhibit, beside the published values."""
        if score is None:
            self.line(row, name, None, digits, note or "not measured")
        else:
            ends = (score.ci_low, score.ci_high)
            self.line(row, name, score.value, digits, note or score.reason or "", ends)


def row_of(task: TaskResult | None, name: str, group: str | None = None) -> Row | None:
    """Return the row of a task's results with this name, and this group if given; else None."""
    rows = () if task is None else task.by
    return next(
        (row for row in rows if row.name == name and group in {None, row.group}), None
    )


def value_of(record: Row | TaskResult | None, score: str) -> float | None:
    """Return the value of one score of a row or task; None if it was not measured."""
    estimate = None if record is None else record.scores.get(score)
    return None if estimate is None else estimate.value


def which_side(low: float | None, high: float | None, below: str, above: str) -> str:
    """Return `above` if an interval lies above 0, `below` if below 0; else that it is not clear.

    Examples:
        >>> which_side(0.1, 0.4, "female", "male"), which_side(-0.1, 0.2, "men", "women")
        ('male', 'not clear')
    """
    if low is None or high is None:
        return STATES["cannot_tell"].word
    return above if low > 0 else below if high < 0 else "not clear"


def _add_score(draft: Exhibit, name: str, column: Column, score: Score | None) -> None:
    """Add a row's score to an exhibit as its column asks: a number, an interval, or a side of 0."""
    if column.sides is not None:
        if score is not None:
            side = which_side(score.ci_low, score.ci_high, *column.sides)
            draft.line(name, column.name, side)
    elif column.interval:
        if score is not None:
            draft.score(name, column.name, score, column.digits)
    else:
        ours = None if score is None else score.value
        draft.line(name, column.name, ours, column.digits)


def _arrow_rows(
    result: TaskResult, tail: str, head: str
) -> list[tuple[str, float, float]]:
    """Return name, tail and head of each row's arrow, for rows that have both scores."""
    arrow_rows = []
    for row in result.by:
        begin = value_of(row, tail)
        end = value_of(row, head)
        if begin is not None and end is not None:
            arrow_rows.append((row.name, begin, end))
    return arrow_rows


def rows(draft: Exhibit, wanted: RowsOfTask) -> None:
    """Add the scores of every row of the exhibit's task, and the figure that is asked for."""
    (task,) = draft.file.tasks
    result = draft.results.get(task)
    if result is None:
        return
    for row in result.by:
        name = row.name.removeprefix(f"{wanted.of} | ")
        if wanted.of and name == row.name:
            continue
        for column in wanted.columns:
            _add_score(draft, name, column, row.scores.get(column.score or column.name))
    if wanted.arrows_between is not None:
        tail, head = wanted.arrows_between
        draft.draw(arrows, _arrow_rows(result, tail, head))
    if wanted.distribution is not None:
        value, grouping = wanted.distribution
        groups: dict[str, list[float]] = {row.name: [] for row in result.by}
        for sample in draft.samples(task):
            groups.setdefault(str(sample[grouping]), []).append(float(sample[value]))
        draft.draw(distributions, groups)
