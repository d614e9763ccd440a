"""What the page may ask, with the sizes that are answered."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_IDS = 200_000
MOST_RUNS = 64
Text = Annotated[str, Field(min_length=1, max_length=2000)]
Word = Annotated[str, Field(min_length=1, max_length=200)]
Number = Annotated[int, Field(ge=0, le=2**31)]
Run = Annotated[int, Field(ge=0, le=MOST_RUNS)]
Ids = Annotated[list[Number], Field(max_length=MOST_IDS)]
Prompts = Annotated[list[Text], Field(max_length=1000)]


class Ask(BaseModel):
    """A request's body; unknown keys are wrong."""

    model_config = ConfigDict(extra="forbid")


class RankAsk(Ask):
    """Images by nearness to a text, or to an image.

    Attributes:
        text: The text.
        image: The number of the image.
        run: The run whose images are ranked.
        prompts: Only images of these.
    """

    text: Text | None = None
    image: Number | None = None
    run: Run = 0
    prompts: Prompts = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_of_two(self) -> RankAsk:
        if (self.text is None) == (self.image is None):
            raise ValueError("give either a text or an image")
        return self


Anchor = Text | Annotated[list[Number | Text], Field(min_length=1, max_length=MOST_IDS)]


class DiscoverAsk(Ask):
    """A sweep over words.

    Attributes:
        anchors: Two or more: a prompt each, or a list of prompts and numbers of images.
        template: How a word is put; by default as the reference of the anchors is.
        words: Words to test; 'everyday' for those of the shipped lists.
        fdr: The false discovery rate.
        run: The run.
    """

    anchors: Annotated[list[Anchor], Field(min_length=2, max_length=12)]
    template: Word | None = None
    words: Literal["everyday"] | Annotated[list[Word], Field(min_length=1, max_length=5000)] = (
        "everyday"
    )
    fdr: Annotated[float, Field(gt=0, le=0.5)] = 0.05
    run: Run = 0

    def members(self) -> list[list[int | str]]:
        """The anchors, each as a list."""
        return [[one] if isinstance(one, str) else list(one) for one in self.anchors]


class SuggestAsk(Ask):
    """What a selection has in common.

    Attributes:
        ids: The images.
        run: Their run.
    """

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
        if self.anchors is not None and self.text is not None:
            raise ValueError("give anchors or a text, not both")
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
        ids_low: Images of the upper row, chosen by hand.
        ids_high: Images of the lower row, chosen by hand.
    """

    run: Run = 0
    text: Text | None = None
    anchors: Annotated[list[Text], Field(max_length=12)] = Field(default_factory=list)
    names: Annotated[list[Word], Field(max_length=12)] = Field(default_factory=list)
    family: Annotated[list[Text], Field(max_length=2000)] = Field(default_factory=list)
    task: Word | None = None
    row: Annotated[str, Field(max_length=2000)] = ""
    title: Annotated[str, Field(max_length=300)] = ""
    ids_low: Annotated[list[Number], Field(max_length=20)] = Field(default_factory=list)
    ids_high: Annotated[list[Number], Field(max_length=20)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_of_two(self) -> CardAsk:
        if (self.text is None) == (self.task is None):
            raise ValueError("give either a text or a task")
        if self.text is not None and len(set(self.anchors)) < 2:
            raise ValueError("a text needs two anchors")
        return self
