"""What a paper is to `reproduce`: a preset of settings and tasks, and exhibits built of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.schema import BaseTask, Identifier, Line, Strict, Text
from t2ibench.reports.figures.figure import Figure as Drawn
from t2ibench.reproduction.pictures import Shelf, Strip
from t2ibench.reproduction.tables import Line as TableLine
from t2ibench.results.schema import TaskResult
from t2ibench.tasks.explain import explain
from t2ibench.tasks.source import read_yaml

Value = float | str | None
SUFFIX = "_as_published"


class PresetTask(Strict):
    """A task as the paper ran it.

    Attributes:
        of: The shipped task.
        set: Keys of its file that differ, with the paper's values; the task itself where empty.
        id: Id of the task that this makes; by default that of the shipped one and '_as_published'.
        why: What differs, and where the paper says so.
    """

    of: Identifier
    set: dict[str, Any] = Field(default_factory=dict)
    id: Identifier | None = None
    why: Line = "as shipped"

    @property
    def name(self) -> str:
        """The id of the task that is run."""
        return self.id or (f"{self.of}{SUFFIX}" if self.set else self.of)


class Preset(Strict):
    """The paper's settings.

    Attributes:
        model: The paper's model, for a command that names none.
        settings: Settings of a run by name, such as `encoder` and `n_permutations`.
        model_args: Arguments of the model. Those that a model does not take, or that its alias
            fixes, are left out.
        tasks: The paper's tests.
    """

    model: Line
    settings: dict[str, Any] = Field(default_factory=dict)
    model_args: dict[str, str] = Field(default_factory=dict)
    tasks: tuple[PresetTask, ...] = Field(min_length=1)


class ExhibitFile(Strict):
    """A table or a figure of the paper, as its data file describes it.

    Attributes:
        title: What it shows.
        source: Where it stands in the paper.
        tasks: Shipped ids of the preset's tasks that it is built of.
        pools: Further ones that wait for captions, used where these are given.
        read: Those whose files are enough: their words and prompts, without any measurement.
        models: Models with published values, in the order of the columns; none where the paper
            prints no number.
        published: Published values: model, then row, then score.
        notes: What a reader must know.
        label: How it is called where the paper gives it no number of its own.
    """

    title: Line
    source: Line
    label: Line | None = None
    tasks: tuple[Identifier, ...] = ()
    pools: tuple[Identifier, ...] = ()
    read: tuple[Identifier, ...] = ()
    models: tuple[Line, ...] = ()
    published: dict[str, dict[str, dict[str, Value]]] = Field(default_factory=dict)
    notes: tuple[Text, ...] = ()


class PaperFile(Strict):
    """The data of one paper.

    Attributes:
        title: Authors, year and short name.
        citation: The full reference.
        preset: How the paper measured.
        differs: What differs from the paper whatever the model.
        exhibits: Tables and figures, named 'table-1' or 'figure-3'.
    """

    title: Line
    citation: Text
    preset: Preset
    differs: tuple[Text, ...] = ()
    exhibits: dict[str, ExhibitFile]

    @field_validator("exhibits")
    @classmethod
    def _named(cls, exhibits: dict[str, ExhibitFile]) -> dict[str, ExhibitFile]:
        for name in exhibits:
            kind, dash, number = name.partition("-")
            if kind not in {"table", "figure"} or not dash or not number:
                raise ValueError(f"'{name}' is neither 'table-…' nor 'figure-…'")
        return exhibits


@dataclass(frozen=True, slots=True)
class Material:
    """What an exhibit is built of.

    Attributes:
        exhibit: Its entry in the data file.
        results: Shipped id to the result of the preset's task.
        specs: Shipped id to the preset's task, of those whose file is at hand.
        ran: Shipped id to the id that was run.
        read_samples: From the id that was run to its samples, one row an image or a prompt.
        options: Files of the user's, by name, such as people's ratings.
        exhibits: All entries of the data file, for figures of a table's published values.
        shelf: The images of the run.
    """

    exhibit: ExhibitFile
    results: Mapping[str, TaskResult]
    specs: Mapping[str, BaseTask]
    ran: Mapping[str, str]
    read_samples: Callable[[str], Sequence[Mapping[str, Any]]]
    options: Mapping[str, Path] = field(default_factory=dict)
    exhibits: Mapping[str, ExhibitFile] = field(default_factory=dict)
    shelf: Shelf = field(default_factory=lambda: Shelf(None))

    def samples(self, task: str) -> Sequence[Mapping[str, Any]]:
        """The samples of a task."""
        return self.read_samples(self.ran[task]) if task in self.results else ()

    def score(self, task: str, score: str) -> float | None:
        """A score of a task.

        Args:
            task: Its shipped id.
            score: Name of the score.

        Returns:
            Its value; None where there is none.
        """
        found = self.results[task].scores.get(score) if task in self.results else None
        return None if found is None else found.value

    def published(self, row: str, score: str) -> tuple[Value, ...]:
        """Published values of the data file."""
        table = self.exhibit.published
        return tuple(table.get(model, {}).get(row, {}).get(score) for model in self.exhibit.models)


@dataclass(frozen=True, slots=True)
class Built:
    """An exhibit with our numbers.

    Attributes:
        lines: The table, one number a line.
        figure: The figure; None where the exhibit has none, or there are too few numbers.
        notes: What a reader must know, beside the notes of the data file.
        strips: Rows of images.
    """

    lines: Sequence[TableLine] = ()
    figure: Drawn | None = None
    notes: Sequence[str] = ()
    strips: Sequence[Strip] = ()


Builder = Callable[[Material], Built]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper.

    Attributes:
        name: As the command line names it.
        file: Its data.
        builders: Name of an exhibit to the function that builds it.
        options: Names of files that its exhibits can read, with a line for `--help`.
    """

    name: str
    file: PaperFile
    builders: Mapping[str, Builder]
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """One line, for `t2ibench ls papers`."""
        return f"{self.file.title}: {', '.join(self.file.exhibits)}"


def read_paper(
    name: str,
    builders: Mapping[str, Builder],
    *,
    file: Path | None = None,
    options: Mapping[str, str] | None = None,
) -> Paper:
    """Read the data of a paper, and put it together with its code."""
    path = file or Path(__file__).parent / "papers" / f"{name}.yaml"
    document = read_yaml(path)
    if document.problems:
        raise T2IBenchError(str(document.problems[0]))
    try:
        data = PaperFile.model_validate(document.data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        problem = document.problem(first["loc"], explain(first, PaperFile))
        raise T2IBenchError(str(problem)) from None
    odd = sorted(data.exhibits.keys() ^ builders.keys())
    if odd:
        raise T2IBenchError(f"{path} and the code of '{name}' disagree about {', '.join(odd)}.")
    known = {task.of for task in data.preset.tasks}
    for key, exhibit in data.exhibits.items():
        lacking = sorted({*exhibit.tasks, *exhibit.pools, *exhibit.read} - known)
        if lacking:
            message = f"the preset has no task of {', '.join(lacking)}"
            raise T2IBenchError(str(document.problem(("exhibits", key, "tasks"), message)))
    return Paper(name, data, dict(builders), dict(options or {}))
