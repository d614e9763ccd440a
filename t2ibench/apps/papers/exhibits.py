"""An exhibit while it is built: what it is built of, and its lines, figure, notes and images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from t2ibench.apps.papers.figures import Words, arrows, by_head, distributions
from t2ibench.apps.papers.people import Said, read_people
from t2ibench.apps.papers.run import SHOWN, Run, Strip
from t2ibench.apps.papers.schema import ExhibitFile, PaperFile, Value
from t2ibench.apps.papers.tables import Line
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.schema import BaseTask, Strict
from t2ibench.reports.figures.figure import Figure
from t2ibench.results.schema import Row, Score, TaskResult

_NAMED = 6  # words that a line names at most
_Spec = TypeVar("_Spec", bound=BaseTask)


@dataclass(slots=True)
class Draft:
    """An exhibit while it is built.

    Attributes:
        entry: Its entry in the data file.
        paper: The data file.
        own: The run that it is of.
        results: Shipped id to the result of the preset's task, of those that it is built of.
        specs: Shipped id to the preset's task, of those whose file is at hand.
        ran: Shipped id to the id that was run.
        files: Files of the user's, by name, such as people's ratings.
        lines: The table, one number a line.
        figure: The figure; None where the exhibit has none, or there are too few numbers.
        notes: What a reader must know, beside the notes of the data file.
        strips: Rows of images.
    """

    entry: ExhibitFile
    paper: PaperFile
    own: Run
    results: Mapping[str, TaskResult]
    specs: Mapping[str, BaseTask]
    ran: Mapping[str, str]
    files: Mapping[str, Path]
    lines: list[Line] = field(default_factory=list)
    figure: Figure | None = None
    notes: list[str] = field(default_factory=list)
    strips: list[Strip] = field(default_factory=list)

    @property
    def known(self) -> Mapping[str, Mapping[str, Value]]:
        """The published values of the first model: row, then score."""
        return self.entry.published[self.entry.models[0]]

    def spec(self, task: str, kind: type[_Spec]) -> _Spec | None:
        """A task of a kind, if its file is at hand."""
        found = self.specs.get(task)
        return found if isinstance(found, kind) else None

    def samples(self, task: str) -> Sequence[Mapping[str, Any]]:
        """The samples of a task, one row an image or a prompt."""
        return self.own.samples(self.ran[task]) if task in self.results else []

    def row(self, task: str, name: str, group: str | None = None) -> Row | None:
        """A row of a task that was measured."""
        return row_of(self.results.get(task), name, group)

    def has(self, file: str) -> bool:
        """Whether a file is given, or what stands in for it was measured."""
        return file in self.files or self.paper.files[file].task in self.results

    def answers(self, file: str) -> list[Said]:
        """The rows of a file of people's answers; none where it is not given."""
        entry = self.paper.files[file]
        given = self.files.get(file)
        return [] if given is None else read_people(given, entry.columns, entry.optional)

    def run(self, file: str) -> Run | None:
        """The run that a file names; None where it is not given."""
        return Run.read(self.files[file]) if file in self.files else None

    def beside(self, file: str, task: str) -> TaskResult | None:
        """A task of the preset in the run that a file names; a note says that it has none."""
        run = self.run(file)
        if run is None:
            return None
        tasks = run.results.tasks
        if not {*self.ran, *self.ran.values()} & tasks.keys():
            raise T2IBenchError(
                f"{self.files[file]} has no task of this preset.",
                f"Measure it with the same preset; its tasks: {', '.join(self.ran)}.",
            )
        found = tasks.get(self.ran[task], tasks.get(task))
        if found is None:
            self.notes.append(f"{self.files[file]} has no task '{self.ran[task]}'.")
        return found

    def words(self, **changes: str) -> Words:
        """What the figure says."""
        words = self.entry.figure or Words(title=self.entry.title, caption=self.entry.source)
        return words.model_copy(update=changes)

    def line(
        self,
        row: str,
        score: str,
        ours: Value = None,
        digits: int = 3,
        note: str = "",
        ends: tuple[float | None, float | None] = (None, None),
    ) -> None:
        """Add a number beside the published ones of its row and score."""
        table = self.entry.published
        known = [table.get(model, {}).get(row, {}).get(score) for model in self.entry.models]
        self.lines.append(Line(row, score, ours, tuple(known), *ends, digits, note))

    def score(
        self, row: str, name: str, score: Score | None, digits: int = 3, note: str = ""
    ) -> None:
        """Add a score with its interval."""
        if score is None:
            self.line(row, name, None, digits, note or "not measured")
        else:
            ends = (score.ci_low, score.ci_high)
            self.line(row, name, score.value, digits, note or score.reason or "", ends)

    def word_lists(self, ours: Mapping[str, Sequence[str]]) -> None:
        """Add the printed lists of words, and how ours differ."""
        for name, known in self.known.items():
            if name not in ours:
                self.line(name, "words", None, note="not measured")
            else:
                printed = str(known["words"]).split(", ")
                self.line(name, "words", difference(printed, ours[name]))

    def strip(
        self, title: str, prompts: Sequence[str], each: int = SHOWN, run: Run | None = None
    ) -> None:
        """Add the first images of some prompts, of this run or of another."""
        self.strips.append((run or self.own).strip(title, prompts, each))


def row_of(task: TaskResult | None, name: str, group: str | None = None) -> Row | None:
    """A row of a task, by its name, and its group where several have that name."""
    rows = () if task is None else task.by
    return next((row for row in rows if row.name == name and group in {None, row.group}), None)


def score_of(found: Row | TaskResult | None, score: str) -> Score | None:
    """A score of a row or a task, where there are both."""
    return None if found is None else found.scores.get(score)


def value_of(found: Row | TaskResult | None, score: str) -> float | None:
    """The value of a score."""
    known = score_of(found, score)
    return None if known is None else known.value


def which_side(
    low: float | None, high: float | None, below: str, above: str, middle: float = 0.0
) -> str:
    """On which side of a number an interval lies.

    Examples:
        >>> which_side(0.1, 0.4, "female", "male"), which_side(0.4, 0.7, "men", "women", 0.5)
        ('male', 'not clear')
    """
    if low is None or high is None:
        return "cannot tell"
    return above if low > middle else below if high < middle else "not clear"


def difference(printed: Sequence[str], ours: Sequence[str]) -> str:
    """What two lists of words do not share; case and order do not matter.

    Examples:
        >>> difference(["rose", "Tulip"], ["tulip", "rose"])
        'as printed'
        >>> difference(["rose", "tulip"], ["tulip", "iris"])
        'without rose; with iris'
    """
    parts = []
    for kind, words, others in (("without", printed, ours), ("with", ours, printed)):
        there = {one.casefold() for one in others}
        found = [word for word in words if word.casefold() not in there]
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        parts += [f"{kind} {', '.join(found[:_NAMED])}{more}"] if found else []
    return "; ".join(parts) or "as printed"


class Column(Strict):
    """A number of every row of a task.

    Attributes:
        name: What the table calls it.
        score: The score; by default that of its name.
        digits: Digits after the point.
        interval: Whether its interval stands beside it; a row without the score has no line then.
        sides: What its interval is called below and above 0, instead of the number.
    """

    name: str
    score: str | None = None
    digits: int = 3
    interval: bool = False
    sides: tuple[str, str] | None = None


class Distribution(Strict):
    """A number of every image, in groups, from the samples of a task.

    Attributes:
        value: Key of the number.
        by: Key of the group, a row of the task.
    """

    value: str
    by: str


def rows(
    draft: Draft,
    task: str,
    columns: tuple[Column, ...],
    arrows_between: tuple[str, str] | None = None,
    distribution: Distribution | None = None,
) -> None:
    """Scores of every row of a task; as a figure, arrows between two of them or all images."""
    found = draft.results.get(task)
    if found is None:
        return
    for row in found.by:
        for column in columns:
            score = row.scores.get(column.score or column.name)
            if column.sides is not None and score is not None:
                side = which_side(score.ci_low, score.ci_high, *column.sides)
                draft.line(row.name, column.name, side)
            elif column.interval and score is not None:
                draft.score(row.name, column.name, score, column.digits)
            elif not column.interval and column.sides is None:
                value = None if score is None else score.value
                draft.line(row.name, column.name, value, column.digits)
    if arrows_between is not None:
        tail, head = arrows_between
        known = [
            (row.name, a, b)
            for row in found.by
            if (a := value_of(row, tail)) is not None and (b := value_of(row, head)) is not None
        ]
        draft.figure = arrows(by_head(known), draft.words())
    if distribution is not None:
        groups: dict[str, list[float]] = {row.name: [] for row in found.by}
        for sample in draft.samples(task):
            group = groups.setdefault(str(sample[distribution.by]), [])
            group.append(float(sample[distribution.value]))
        draft.figure = distributions(groups, draft.words())


def pictures(draft: Draft) -> None:
    """Images of the prompts that the paper prints."""
    for prompt in draft.known:
        draft.strip(prompt, [prompt])
