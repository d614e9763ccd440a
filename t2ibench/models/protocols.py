"""What the pipeline asks of a model. Adapters inherit nothing; they only have these members.

This module is imported by code that must start quickly, so it imports no model library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from PIL.Image import Image

FloatArray = npt.NDArray[np.float32]
Status = Literal["ok", "refused", "filtered", "failed"]


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """One image to draw.

    Attributes:
        prompt: The text, exactly as it goes to the model.
        index: Which sample of this prompt, from 0.
        seed: Seed of this image alone; derived from the run's seed, prompt and index.
    """

    prompt: str
    index: int
    seed: int


@dataclass(frozen=True, slots=True)
class Drawn:
    """What came of one request: an image, or a file that holds one, or why there is none.

    Attributes:
        status: 'ok'; 'refused' (the model declined the prompt); 'filtered' (a safety filter, a
            black or a NaN image); 'failed' (an error).
        image: The picture, for status 'ok', unless `path` is given.
        path: An existing picture file, copied byte for byte.
        reason: Why there is no image.
    """

    status: Status
    image: Image | None = None
    path: Path | None = None
    reason: str | None = None


@runtime_checkable
class Generator(Protocol):
    """A text-to-image model under test.

    Attributes:
        name: What a person calls it; also the run folder's name.
        fingerprint: SHA-256 hex over everything that decides an image besides prompt, index and
            seed: weights or revision, settings, dtype, adapter version. Never device or batch size.
        settings: The settings in words (JSON values), for run.json.
        revision: The exact version of the weights, where there is one.
        images_per_prompt: How many images this model draws of a prompt by default; None leaves
            it to the task.
        guided_images_per_prompt: The same for guided prompts; None is as many as of the others.
        batch_size: How many requests `generate` likes to get at once ('auto' resolves to it).
    """

    name: str
    fingerprint: str
    settings: Mapping[str, Any]
    revision: str | None
    images_per_prompt: int | None
    guided_images_per_prompt: int | None
    batch_size: int

    def generate(self, requests: Sequence[ImageRequest]) -> list[Drawn]:
        """Draw the requests; the result has their order and number.

        An image depends on its own request only. A request that fails alone comes back as
        'failed' or 'filtered'; an exception means that the batch as a whole failed (the pipeline
        then tries its requests one by one).
        """
        ...

    def available(self, prompt: str) -> int | None:
        """How many images of this prompt there can be; None where the model draws any number."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """Embeds images and texts into one vector space.

    Attributes:
        name: As the user wrote it, for example 'open_clip:ViT-B-32/laion2b_s34b_b79k'.
        fingerprint: SHA-256 hex over everything that decides an embedding.
        embeds_images: False for word vectors.
        batch_size: How many images `encode_images` likes to get at once.
    """

    name: str
    fingerprint: str
    embeds_images: bool
    batch_size: int

    def prepare(self, image: Image) -> Any:
        """Preprocess one decoded RGB image; called in threads."""
        ...

    def encode_images(self, prepared: Sequence[Any]) -> FloatArray:
        """Embed prepared images: float32, shape (n, d), rows of unit length."""
        ...

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Embed texts: float32, shape (n, d), rows of unit length.

        A text the encoder has no vector for (a word missing from a vocabulary) is a row of NaN.
        """
        ...


@dataclass(frozen=True, slots=True)
class Query:
    """One question about one image.

    Attributes:
        image: The picture, RGB.
        prompt: The prompt it was drawn for. A judge that looks at it is no judge; it is here for
            answers that people gave outside and filed under the prompt.
        index: Which sample of the prompt.
        sha256: Of the image file.
        question: What is asked.
        classes: What it can be answered with, besides 'unknown'; empty for free text.
    """

    image: Image
    prompt: str
    index: int
    sha256: str
    question: str
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one query.

    Attributes:
        answer: A class, 'unknown', or free text; None where there is no answer.
        raw: What the judge said, word for word, or its scores.
        reason: Why there is no answer.
    """

    answer: str | None
    raw: str = ""
    reason: str | None = None


@runtime_checkable
class Judge(Protocol):
    """Answers questions about images.

    Attributes:
        name: As the user wrote it, for example 'vlm:llava-hf/llava-1.5-7b-hf'.
        fingerprint: SHA-256 hex over everything that decides an answer.
        batch_size: How many queries `answer` likes to get at once.
    """

    name: str
    fingerprint: str
    batch_size: int

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """Answer the queries; the result has their order and number.

        An answer depends on its own query only. A query that fails alone comes back without an
        answer; an exception means that the judge cannot go on.
        """
        ...


@runtime_checkable
class Releasable(Protocol):
    def release(self) -> None: ...


@runtime_checkable
class ReportsSettings(Protocol):
    def effective_settings(self) -> Mapping[str, Any]: ...
