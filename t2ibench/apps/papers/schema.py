"""What the data file of a paper holds."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from t2ibench.apps.papers.figures import Words
from t2ibench.methods.core.schema import Identifier, Line, Strict, Text

Value = float | str | None


class PresetTask(Strict):
    """A task as the paper ran it.

    Attributes:
        of: The shipped task.
        set: Keys of its file that differ, with the paper's values; the task itself where empty.
        why: What differs, and where the paper says so.
    """

    of: Identifier
    set: dict[str, Any] = Field(default_factory=dict)
    why: Line = "as shipped"

    @property
    def name(self) -> str:
        """The id of the task that is run."""
        return f"{self.of}_as_published" if self.set else self.of


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
    """A table or a figure of the paper.

    Attributes:
        title: What it shows.
        source: Where it stands in the paper.
        label: How it is called where the paper gives it no number of its own.
        kind: The function that builds it; by default the one with its name, such as 'table_1'.
        arguments: Arguments of that function.
        tasks: Shipped ids of the preset's tasks that it is built of.
        read: Those whose files are enough: their words and prompts, without any measurement.
        models: Models with published values, in the order of the columns; none where the paper
            prints no number.
        published: Published values: model, then row, then score.
        figure: What its figure says.
        notes: What a reader must know.
    """

    title: Line
    source: Line
    label: Line | None = None
    kind: Identifier | None = None
    arguments: dict[str, Any] = Field(default_factory=dict)
    tasks: tuple[Identifier, ...] = ()
    read: tuple[Identifier, ...] = ()
    models: tuple[Line, ...] = ()
    published: dict[str, dict[str, dict[str, Value]]] = Field(default_factory=dict)
    figure: Words | None = None
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
