"""What the page may ask, with the sizes that are answered."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from t2ibench.methods.core.prompting_tree import Tree

_MOST_RUNS = 64
Text = Annotated[str, Field(min_length=1, max_length=2000)]
Word = Annotated[str, Field(min_length=1, max_length=200)]
Run = Annotated[int, Field(ge=0, le=_MOST_RUNS)]
Prompts = Annotated[list[Text], Field(max_length=1000)]


class Ask(BaseModel):
    """A request's body; unknown keys are wrong."""

    model_config = ConfigDict(extra="forbid")


class EvaluateAsk(Ask):
    """The scores of every node of a tree."""

    tree: Tree
    anchors: list[str] = Field(min_length=1, max_length=12)
    names: list[str] = Field(default_factory=list, max_length=12)


class SimilaritiesAsk(Ask):
    """The similarities of texts with all images."""

    texts: list[str] = Field(min_length=1, max_length=12)


class CombineAsk(Ask):
    """The text of several branches of a tree together."""

    tree: Tree
    nodes: list[str] = Field(min_length=1, max_length=50)


class DiscoverAsk(Ask):
    """A sweep over words: those given, or those of the shipped lists."""

    anchors: Annotated[list[Text], Field(min_length=2, max_length=12)]
    words: (
        Literal["everyday"]
        | Annotated[list[Word], Field(min_length=1, max_length=5000)]
    ) = "everyday"
    run: Run = 0


class PairsAsk(Ask):
    """Two runs side by side: the images of some prompts, or of all, placed between two anchors."""

    runs: tuple[Run, Run]
    prompts: Prompts = Field(default_factory=list)
    anchors: tuple[Text, Text] | None = None


class CardAsk(Ask):
    """An evidence card of a text between anchors; `family` is what was tested together with it."""

    run: Run = 0
    text: Text
    anchors: Annotated[list[Text], Field(min_length=2, max_length=12)]
    names: Annotated[list[Word], Field(max_length=12)] = Field(default_factory=list)
    family: Annotated[list[Text], Field(max_length=2000)] = Field(default_factory=list)
