"""What the data file of a paper holds."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from t2ibench.apps.papers.figures import Words
from t2ibench.methods.core.schema import Identifier, Line, Strict, Text

Value = float | str | None


class PresetTask(Strict):
    """A shipped task as the paper ran it: the keys of its file that differ, and why."""

    of: Identifier
    set: dict[str, Any] = Field(default_factory=dict)
    why: Line = "as shipped"

    @property
    def name(self) -> str:
        """The id of the task that is run."""
        return f"{self.of}_as_published" if self.set else self.of


class Preset(Strict):
    """The paper's model, tests and settings of a run.

    Arguments that a model does not take, or that its alias fixes, are left out.
    """

    model: Line
    settings: dict[str, Any] = Field(default_factory=dict)
    model_args: dict[str, str] = Field(default_factory=dict)
    tasks: tuple[PresetTask, ...] = Field(min_length=1)


class ExhibitFile(Strict):
    """A table or a figure of the paper.

    `kind` is the function that builds it, by default the one with its name, such as 'table_1', and
    `arguments` are that function's. `tasks` are shipped ids of the preset's tasks. Published values
    are by model, row and score; `models` orders their columns.
    """

    title: Line
    source: Line
    kind: Identifier | None = None
    arguments: dict[str, Any] = Field(default_factory=dict)
    tasks: tuple[Identifier, ...] = ()
    models: tuple[Line, ...] = ()
    published: dict[str, dict[str, dict[str, Value]]] = Field(default_factory=dict)
    figure: Words | None = None
    notes: tuple[Text, ...] = ()


class PaperFile(Strict):
    """The data of one paper, and what differs from it whatever the model.

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
