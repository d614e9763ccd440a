"""What the page may ask, with the sizes that are answered."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from t2ibench.methods.core.prompting_tree import Tree

MOST_IDS = 200_000
MOST_RUNS = 64
Text = Annotated[str, Field(min_length=1, max_length=2000)]
Word = Annotated[str, Field(min_length=1, max_length=200)]
Number = Annotated[int, Field(ge=0, le=2**31)]
Run = Annotated[int, Field(ge=0, le=MOST_RUNS)]
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


class GenerateAsk(Ask):
    """Further images of a text."""

    source: int = Field(ge=0)
    text: Text
    count: int = Field(ge=1, le=64)


class RankAsk(Ask):
    """The images of a run by their likeness to one of all images."""

    image: Number
    run: Run = 0


class DiscoverAsk(Ask):
    """A sweep over words: those given, or those of the shipped lists."""

    anchors: Annotated[list[Text], Field(min_length=2, max_length=12)]
    words: Literal["everyday"] | Annotated[list[Word], Field(min_length=1, max_length=5000)] = (
        "everyday"
    )
    run: Run = 0


class SuggestAsk(Ask):
    """What images of a run have in common."""

    ids: Annotated[list[Number], Field(min_length=1, max_length=MOST_IDS)]
    run: Run = 0


class PairsAsk(Ask):
    """Two runs side by side.

    Attributes:
        runs: Their numbers.
        prompts: The prompts; all that both have, if none is given.
        anchors: Two prompts between whose images each image is placed.
        text: A text, for the similarity of each image with it.
    """

    runs: tuple[Run, Run]
    prompts: Prompts = Field(default_factory=list)
    anchors: tuple[Text, Text] | None = None
    text: Text | None = None

    @model_validator(mode="after")
    def _fits(self) -> PairsAsk:
        if self.runs[0] == self.runs[1]:
            raise ValueError("give two different runs")
        if self.anchors is not None and self.anchors[0] == self.anchors[1]:
            raise ValueError("give two different anchors")
        return self


class CardAsk(Ask):
    """An evidence card, of a text between anchors or of a task.

    Attributes:
        run: The run.
        text: The text.
        anchors: Prompts of the anchors.
        names: What they are called; by default their prompts.
        family: Texts that were tested together with this one, such as those of a tree.
        task: The id of a task.
        row: A row of the task.
        title: The heading; by default the text, or the task's title.
    """

    run: Run = 0
    text: Text | None = None
    anchors: Annotated[list[Text], Field(max_length=12)] = Field(default_factory=list)
    names: Annotated[list[Word], Field(max_length=12)] = Field(default_factory=list)
    family: Annotated[list[Text], Field(max_length=2000)] = Field(default_factory=list)
    task: Word | None = None
    row: Annotated[str, Field(max_length=2000)] = ""
    title: Annotated[str, Field(max_length=300)] = ""

    @model_validator(mode="after")
    def _one_of_two(self) -> CardAsk:
        if (self.text is None) == (self.task is None):
            raise ValueError("give either a text or a task")
        if self.text is not None and len(set(self.anchors)) < 2:
            raise ValueError("a text needs two anchors")
        return self
