"""What a worker is given to do, and what it gives back. Both can be sent to another process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from t2ibench.models.protocols import ImageRequest
from t2ibench.models.rewritten_generator import FoundRewritings
from t2ibench.pipeline.embedding import Embedded, ImageToEmbed
from t2ibench.pipeline.generation import ImageFile
from t2ibench.pipeline.judging import ImageQuestions
from t2ibench.pipeline.observers import AskReport


@dataclass(frozen=True, slots=True)
class ImagesToGenerate:
    """Images that are missing.

    Attributes:
        requests: Which.
        rewritings: What a rewriter made of their prompts; None where it is known already.
    """

    requests: tuple[ImageRequest, ...]
    rewritings: FoundRewritings | None = None


@dataclass(frozen=True, slots=True)
class ImagesToEmbed:
    """Images that an encoder has not seen.

    Attributes:
        images: Each with the names of the encoders that have not.
        widths: Encoder to the width of its embeddings, where that is known.
    """

    images: tuple[ImageToEmbed, ...]
    widths: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class TextsToEmbed:
    """Texts that one encoder has not read.

    Attributes:
        encoder: Its name.
        texts: The texts.
        width: The width of its embeddings, where that is known.
    """

    encoder: str
    texts: tuple[str, ...]
    width: int | None


@dataclass(frozen=True, slots=True)
class QuestionsToAsk:
    """Questions that one judge has not answered.

    Attributes:
        judge: Its name.
        questions: Each image with its questions.
        streak: Questions without an answer so far, one after another.
    """

    judge: str
    questions: tuple[ImageQuestions, ...]
    streak: int = 0


Piece = ImagesToGenerate | ImagesToEmbed | TextsToEmbed | QuestionsToAsk


@dataclass(frozen=True, slots=True)
class ImageFiles:
    """A batch of images.

    Attributes:
        files: What became of each request.
        settings: What the generator really used, where it says so.
        libraries: Versions of the libraries that decide its pixels.
    """

    files: list[ImageFile]
    settings: Mapping[str, Any] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)


Part = ImageFiles | Embedded | AskReport
