"""Schema of a paper's data file, with its preset and its exhibits."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from t2ibench.apps.papers.figures import Words
from t2ibench.methods.core.schema import Identifier, Line, Strict, Text

Value = float | str | None


class PresetTask(Strict):
    """A shipped task as the paper ran it, with the keys that it changes and the reason."""

    of: Identifier
    set: dict[str, Any] = Field(default_factory=dict)
    why: Line = "as shipped"

    @property
    def name(self) -> str:
        """Id of the task that the preset runs: the shipped task, or a changed copy."""
        return f"{self.of}_as_published" if self.set else self.of


class Preset(Strict):
    """The model, settings and tests that a paper's run uses.

    Arguments that a model does not take, or that its alias fixes, are left out.
    """

    model: Line
    settings: dict[str, Any] = Field(default_factory=dict)
    model_args: dict[str, str] = Field(default_factory=dict)
    tasks: tuple[PresetTask, ...] = Field(min_length=1)


class Column(Strict):
    """A column of an exhibit with one score of each row; by default the score of the same name.

    With `interval`, a row without the score has no line. `sides` are what the interval is called
    below and above 0, instead of the number.
    """

    name: str
    score: str | None = None
    digits: int = 3
    interval: bool = False
    sides: tuple[str, str] | None = None


class RowsOfTask(Strict):
    """How an exhibit shows the scores of every row of its task, in columns and in a figure.

    Where rows have two names, `of` is the first of those that are wanted. Of all images,
    `distribution` is the key of their number and that of their row.
    """

    columns: tuple[Column, ...]
    of: str = ""
    arrows_between: tuple[str, str] | None = None
    distribution: tuple[str, str] | None = None


class ExhibitFile(Strict):
    """The data of a paper's table or figure, with its published values.

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
    """The published data of a paper, and how runs here differ from it whatever the model.

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
