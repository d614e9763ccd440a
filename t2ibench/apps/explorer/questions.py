"""Schemas of the requests that the explorer's page can send, with limits of their size."""

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
    """Base class of request bodies; unknown keys are rejected."""

    model_config = ConfigDict(extra="forbid")


class EvaluateAsk(Ask):
    """A request for the scores of every node of a prompting tree."""

    tree: Tree
    anchors: list[str] = Field(min_length=1, max_length=12)
    names: list[str] = Field(default_factory=list, max_length=12)


class SimilaritiesAsk(Ask):
    """A request for the similarity of each text to every image."""

    texts: list[str] = Field(min_length=1, max_length=12)


class CombineAsk(Ask):
    """A request for the prompt that several nodes of a prompting tree form together."""

    tree: Tree
    nodes: list[str] = Field(min_length=1, max_length=50)


class DiscoverAsk(Ask):
    """A request to test many words: the given ones, or the shipped lists of everyday words."""

    anchors: Annotated[list[Text], Field(min_length=2, max_length=12)]
    words: (
        Literal["everyday"]
        | Annotated[list[Word], Field(min_length=1, max_length=5000)]
    ) = "everyday"
    run: Run = 0


class PairsAsk(Ask):
    """A request for pairs of images of two runs, placed between two anchors if these are given."""

    runs: tuple[Run, Run]
    prompts: Prompts = Field(default_factory=list)
    anchors: tuple[Text, Text] | None = None


class CardAsk(Ask):
    """A request for an evidence card about `text`; `family` lists all texts tested with it."""

    run: Run = 0
    text: Text
    anchors: Annotated[list[Text], Field(min_length=2, max_length=12)]
    names: Annotated[list[Word], Field(max_length=12)] = Field(default_factory=list)
    family: Annotated[list[Text], Field(max_length=2000)] = Field(default_factory=list)


class WrongAsk(Ask):
    """A request to store that an image's answer is wrong; without an `answer`, to forget that.

    `image` is its number on the wall.
    """

    run: Run = 0
    image: Annotated[int, Field(ge=0, le=100_000_000)]
    question: Text
    classes: Annotated[list[Word], Field(min_length=1, max_length=200)]
    answer: Word | None
    labeller: Word
