"""The evidence that methods ask for: images, texts and answers of one encoder or judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:  # task files are checked without loading numpy
    from t2ibench.arrays import Float64Array, IntArray
    from t2ibench.methods.core.edit_evidence import EditNeed, PairQuestion

UNKNOWN = "unknown"  # what a judge answers where the image does not show it
SOURCE = "source"  # why there is no edit of a source image that does not exist
# Reasons for an image without an answer that may depend on what it shows, or would have shown.
UNSEEN = ("refused", "filtered", "failed")


@dataclass(frozen=True, slots=True)
class ImageEvidence:
    """The embeddings of one prompt's images by one encoder, and how many are excluded.

    Attributes:
        embeddings: Shape (n, d), rows of unit length; only images that count.
        indices: Shape (n,), which sample of the prompt each row is.
        excluded: Number of images without an embedding, by reason ('refused', 'filtered',
            'failed', 'missing', or 'unknown' where the encoder has none for an image).
    """

    embeddings: Float64Array
    indices: IntArray
    excluded: Counter[str]


@dataclass(frozen=True, slots=True)
class AnswerEvidence:
    """A judge's answers about the images of one prompt.

    Attributes:
        answers: One for each image that counts; 'unknown' if the judge could not tell.
        indices: Shape (n,), which sample of the prompt each answer is about.
        excluded: Number of images without an answer, by reason; 'failed' if the judge gave none.
    """

    answers: tuple[str, ...]
    indices: IntArray
    excluded: Counter[str]


class Evidence(Protocol):
    """Everything that one encoder, or one judge, observed in one run.

    Methods ask for nothing but what their `needs` list. An image that could not be generated,
    embedded or judged is not an error: it is counted in `excluded`, with its reason.

    Raises:
        MissingEvidence: from any of the three functions, where a text or an image was never
            observed at all, so that the task cannot be scored until the run is completed.
    """

    def images(self, prompt: str, n: int) -> ImageEvidence:
        """Return the embeddings of the first n images of a prompt.

        Args:
            prompt: The prompt.
            n: Images with an index of n or more are excluded.

        Returns:
            Embeddings of shape (m, d) with m <= n, and how many are excluded, by reason.
        """
        ...

    def texts(self, texts: Sequence[str]) -> Float64Array:
        """Return the embeddings of texts.

        Args:
            texts: The texts.

        Returns:
            Shape (len(texts), d), rows of unit length; a row of NaN for a text that the encoder
            has no vector for (a word outside a vocabulary).
        """
        ...

    def answers(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        """Return a judge's answers about the first n images of a prompt.

        Args:
            prompt: Whose images.
            n: Images with an index of n or more are excluded.
            question: What was asked.
            classes: The possible answers; empty for free text.

        Returns:
            The answers, and how many are excluded, by reason.
        """
        ...


@dataclass(frozen=True, slots=True)
class PromptNeed:
    """A prompt of which a task needs images, and how many it needs.

    Attributes:
        prompt: The text.
        images: How many, indices 0 to images - 1.
        group: What the prompt stands for in the task, such as a concept or a group of people;
            pages show by group what a model refused.
        unit: What the prompt shares with others of the task, such as its stimulus, or the prompt
            itself, where it is a caption; empty where it stands alone. Means over prompts vary with
            units.
        word: What it shares across units, such as the word of an attribute; empty where nothing.
    """

    prompt: str
    images: int
    group: str = field(default="", compare=False)
    unit: str = field(default="", compare=False)
    word: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class QuestionNeed:
    """A question that a judge has to answer about each image of one prompt.

    Attributes:
        prompt: Whose images.
        images: How many of them, indices 0 to images - 1.
        question: What is asked.
        classes: What it can be answered with ('unknown' always can); empty for free text.
        about: What reports call it, such as 'person gender'; empty for the question's own words.
    """

    prompt: str
    images: int
    question: str
    classes: tuple[str, ...] = ()
    about: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Needs:
    """All evidence that one task asks for.

    Attributes:
        prompts: Images to generate; if a prompt is listed twice, its largest count holds.
        texts: Texts to embed.
        questions: Questions for a judge.
        embeds: Whether the images are embedded.
        checks: Questions about images that an encoder measures, for a judge or for people.
        concepts: Concepts that are looked for in every image: more of them need no images.
        sources: Source images, which are generated first or read from a folder, to be edited.
        edits: Edits of source images.
        pair_questions: Questions for a judge about source images and their edits.
        guided_groups: Groups that guided prompts ask for, as the scores 'obedience:GROUP' name
            them. The Vendi score is measured of the images of such prompts alone.
    """

    prompts: tuple[PromptNeed, ...] = ()
    texts: tuple[str, ...] = ()
    questions: tuple[QuestionNeed, ...] = ()
    embeds: bool = True
    checks: tuple[QuestionNeed, ...] = ()
    concepts: int = 0
    sources: tuple[PromptNeed, ...] = ()
    edits: tuple[EditNeed, ...] = ()
    pair_questions: tuple[PairQuestion, ...] = ()
    guided_groups: tuple[str, ...] = ()

    @property
    def shows_images(self) -> bool:
        """Whether the task is about images, made from prompts or from source images."""
        return bool(self.prompts or self.edits)

    @property
    def is_judged(self) -> bool:
        """Whether a judge's answers decide the score, rather than embeddings."""
        return bool(self.questions or self.pair_questions)

    @property
    def images_by_prompt(self) -> dict[str, int]:
        """Number of images that are needed of each distinct prompt."""
        counts: dict[str, int] = {}
        for need in self.prompts:
            counts[need.prompt] = max(need.images, counts.get(need.prompt, 0))
        return counts

    def named(self, what: Literal["group", "unit", "word"]) -> dict[str, str]:
        """Return the first non-empty group, unit or word (`what`) of each distinct prompt."""
        names: dict[str, str] = {}
        for need in self.prompts:
            names[need.prompt] = names.get(need.prompt) or getattr(need, what)
        return names

    @property
    def groups(self) -> dict[str, str]:
        """Group that each distinct prompt stands for, such as a concept."""
        return self.named("group")

    @property
    def units(self) -> dict[str, str]:
        """What each distinct prompt shares with other prompts, such as its stimulus."""
        return self.named("unit")

    @property
    def n_images(self) -> int:
        """Number of distinct images that are needed."""
        return sum(self.images_by_prompt.values())

    @property
    def n_prompts(self) -> int:
        """Number of distinct prompts of which images are needed."""
        return len(self.images_by_prompt)
