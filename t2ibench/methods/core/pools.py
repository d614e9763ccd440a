"""Captions that may not be shipped: which a task needs, and which it was given."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from t2ibench.methods.core.schema import Count, Identifier, Line, Strict, Text

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Setting = (
    Annotated[int, Field(strict=True)] | Annotated[float, Field(strict=True)] | Line
)


class CaptionSource(Strict):
    """The captions that a task was given, after which it needs no file any more.

    Attributes:
        source: Name of the file or folder, without the way to it, or a `datasets` id.
        split: Split of it that was asked for.
        column: Column of it that was asked for.
        sha256: What identifies the source.
        of: Whether that is the SHA-256 of the file, or of the texts that were read, a line each.
        captions: Number of different captions that were read.
        dropped: Why proposals for captions were dropped, and how many.
    """

    source: Text
    split: Text | None = None
    column: Text | None = None
    sha256: Sha256
    of: Literal["file", "texts"]
    captions: Count
    dropped: dict[Text, Count] = Field(default_factory=dict)

    @property
    def summary(self) -> str:
        """Name, split and SHA-256 of the file that was read, in one line."""
        split = f" ({self.split})" if self.split else ""
        return f"{self.source}{split}, SHA-256 {self.sha256[:12]}"


class CaptionPool(Strict):
    """A pool of captions that a task is filled from, which the user has to get.

    Attributes:
        name: What `--captions NAME=FILE` calls it.
        title: What it is.
        file: The usual name of its file.
        address: Where it comes from.
        licence: Under which terms.
        split: The split of a `datasets` id that has several.
        people: Keep captions of one person only.
        proposer: Who says which biases a caption leaves open. A proposal of a language model is
            made and pinned by `t2ibench propose` instead.
        settings: The method's own settings of a proposal.
        drawn: The captions that were given; None in a task file, which waits for them.
    """

    name: Identifier
    title: Line
    file: Line
    address: Text
    licence: Text
    split: Line | None = None
    people: Annotated[bool, Field(strict=True)] = False
    proposer: Literal["word-lists"] = "word-lists"
    settings: dict[Identifier, Setting] = Field(default_factory=dict)
    drawn: CaptionSource | None = None

    @property
    def flag(self) -> str:
        """Command-line option that gives the captions."""
        return f"--captions {self.name}={self.file}"

    def given(self, drawn: CaptionSource) -> CaptionPool:
        """Return a copy of this pool that records where its captions were drawn from."""
        return self.model_copy(update={"drawn": drawn})


def same_but_for_captions(filled: Any, template: Any) -> bool:
    """Return whether a filled task equals its template except for what captions decide."""
    if type(filled) is not type(template) or filled.drawn_from is None:
        return False
    opened = filled.drawn_from.model_copy(update={"drawn": None})
    same = all(
        getattr(filled, name) == getattr(template, name)
        for name in type(template).model_fields
        if name != "pool" and name not in template.filled
    )
    return same and opened == template.drawn_from
