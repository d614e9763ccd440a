"""Work items for workers and their results, both of which can be sent between processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import ImageRequest, TowerReading
from t2ibench.models.rewritten_generator import FoundRewritings
from t2ibench.pipeline.generation import GeneratedFile
from t2ibench.store.answers import StoredAnswer
from t2ibench.store.evidence import Kind
from t2ibench.store.images import StoredImage

# what is asked, and what it can be answered with
Question = tuple[str, tuple[str, ...]]
ImageQuestions = tuple[StoredImage, Sequence[Question]]
# with the encoders that have not seen it
ImageToEmbed = tuple[StoredImage, Collection[str]]


@dataclass(frozen=True, slots=True)
class ImagesToGenerate:
    """Requests for missing images, with the rewritings of their prompts if there are any."""

    requests: tuple[ImageRequest, ...]
    rewritings: FoundRewritings | None = None


@dataclass(frozen=True, slots=True)
class ImagesToEmbed:
    """Images to embed, each with the encoders that have not embedded it yet."""

    images: tuple[ImageToEmbed, ...]
    widths: Mapping[str, int | None]  # of embeddings by each encoder, where known
    worked: frozenset[str] = frozenset()  # encoders that have embedded images before


@dataclass(frozen=True, slots=True)
class TextsToEmbed:
    """Texts that one encoder has not embedded yet."""

    encoder: str
    texts: tuple[str, ...]
    width: int | None


@dataclass(frozen=True, slots=True)
class QuestionsToAsk:
    """Questions that one judge has not answered yet."""

    judge: str
    questions: tuple[ImageQuestions, ...]
    streak: int = 0


WorkItem = ImagesToGenerate | ImagesToEmbed | TextsToEmbed | QuestionsToAsk


@dataclass(frozen=True, slots=True)
class GeneratedBatch:
    """A batch of generated images, with their generation settings."""

    files: list[GeneratedFile]
    settings: Mapping[str, Any] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, Sequence[TowerReading]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """An unusable image file, with the reason."""

    image: StoredImage
    reason: str

    def __str__(self) -> str:
        return f"{self.image.path} cannot be used: {self.reason}"


@dataclass(slots=True)
class EmbeddingBatch:
    """A batch of embedded images or texts, and those that failed."""

    kind: Kind
    tried: int
    rows: dict[str, tuple[list[str], Float32Array]] = field(default_factory=dict)
    damaged: list[UnreadableFile] = field(default_factory=list)
    # encoder to why it cannot go on
    failures: dict[str, str] = field(default_factory=dict)
    # encoder to why some images have no embedding, each reason with the number of images
    unread: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def embedded(self) -> int:
        """The number of images or texts in the batch, without those with damaged files."""
        return self.tried - len(self.damaged)

    def check(self) -> None:
        """Raise an error if an encoder failed."""
        for reason in self.failures.values():
            raise T2IBenchError(reason)


@dataclass(slots=True)
class AskReport:
    """The outcome of asking a judge questions."""

    judge: str = ""
    answers: list[StoredAnswer] = field(default_factory=list)
    questions: int = 0
    answered: int = 0
    reasons: dict[str, int] = field(default_factory=dict)  # why there is no answer
    damaged: list[UnreadableFile] = field(default_factory=list)
    streak: int = 0  # questions without an answer at the end, one after another
    stopped: str | None = None  # why it is no longer asked
    settings: Mapping[str, Any] = field(default_factory=dict)  # that it really used
    unread: dict[str, int] = field(default_factory=dict)  # words taken for 'unknown'

    @property
    def failed(self) -> int:
        """The number of questions that the judge did not answer."""
        return sum(self.reasons.values())

    def add(self, other: AskReport) -> None:
        """Add the outcome of further questions to the same judge."""
        self.questions += other.questions
        self.answered += len(other.answers)
        for reason, count in other.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + count
        for words, count in other.unread.items():
            self.unread[words] = self.unread.get(words, 0) + count
        self.damaged += other.damaged
        self.streak = other.streak
        self.stopped = self.stopped or other.stopped
        self.settings = other.settings or self.settings


WorkResult = GeneratedBatch | EmbeddingBatch | AskReport
