"""The schema of stimuli files: word lists and tables of known shares."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from t2ibench.methods.core.schema import Identifier, Strict, Text


class ReferenceTable(Strict):
    """A table of known shares in a stimuli file.

    Attributes:
        source: Its source.
        shares: Word to share, from 0 to 1.
    """

    source: Text
    shares: dict[str, Annotated[float, Field(ge=0, le=1)]]


class StimuliFile(Strict):
    """A file of tasks/stimuli/.

    Attributes:
        source: Where the lists come from.
        lists: Name to words.
        references: Name to table of shares.
    """

    source: Text
    lists: dict[Identifier, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    references: dict[Identifier, ReferenceTable] = Field(default_factory=dict)
