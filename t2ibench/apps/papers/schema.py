"""Schema of a paper's data file."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from t2ibench.apps.papers.figures import Words
from t2ibench.methods.core.schema import Identifier, Line, Strict, Text

Value = float | str | None


class PresetTask(Strict):
    """A shipped task as the paper ran it: the changed keys of its file, and why they differ."""

    of: Identifier
    set: dict[str, Any] = Field(default_factory=dict)
    why: Line = "as shipped"

    @property
    def name(self) -> str:
        """Return the id of the task that the preset runs: the shipped task or a changed one."""
        return f"{self.of}_as_published" if self.set else self.of


class Preset(Strict):
    """A paper's model, tests and run settings.

    Arguments that a model does not take, or that its alias fixes, are left out.
    """

    model: Line
    settings: dict[str, Any] = Field(default_factory=dict)
    model_args: dict[str, str] = Field(default_factory=dict)
    tasks: tuple[PresetTask, ...] = Field(min_length=1)


class Column(Strict):
    """A column with a number for every row of a task; by default the score with the column's name.

    With `interval`, a row without the score has no line. `sides` are what the interval is called
    below and above 0, instead of the number.
    """

    name: str
    score: str | None = None
    digits: int = 3
    interval: bool = False
    sides: tuple[str, str] | None = None


class RowsOfTask(Strict):
    """Scores of every row of a task; in a figure, arrows between two scores, or all images.

    Where rows have two names, `of` is the first of those that are wanted. Of all images,
    `distribution` is the key of their number and that of their row.
    """

    columns: tuple[Column, ...]
    of: str = ""
    arrows_between: tuple[str, str] | None = None
    distribution: tuple[str, str] | None = None


class ExhibitFile(Strict):
    """A table or a figure of the paper.

    The function with its name builds it, such as 'table_1', but where it has `rows`: of its one
    task. `tasks` are shipped ids of the preset's tasks. Published values are by model, row and
    score; `models` orders their columns.
    """

    title: Line
    source: Line
    rows: RowsOfTask | None = None
    tasks: tuple[Identifier, ...] = ()
    models: tuple[Line, ...] = ()
    published: dict[str, dict[str, dict[str, Value]]] = Field(default_factory=dict)
    figure: Words | None = None
    notes: tuple[Text, ...] = ()


class PaperFile(Strict):
    """The published data of a paper, and differences from it that hold for any model.

    Exhibits are named 'table-1' or 'figure-3'.
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
