"""Protocols of the models that the pipeline uses; adapters need these members and no base class.

Those of language models, proposers and rewriters, are in `t2ibench.models.language`.
This module is imported by code that must start quickly, so it imports no model library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from t2ibench.identity import ImageKey

if TYPE_CHECKING:
    from PIL.Image import Image

    from t2ibench.arrays import Float32Array
    from t2ibench.store.images import ImageFile, StoredImage

Status = Literal["ok", "refused", "filtered", "failed"]
ALL_BLACK = "the image is all black"  # the reason of a status 'filtered'


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """One image to generate.

    Attributes:
        prompt: The text, exactly as it goes to the model; of an edit, the instruction.
        index: Which sample of this prompt, and of this source image, from 0.
        seed: Seed of this image alone; derived from the run's seed, prompt, index and source image.
        source: The image that is edited; None where the prompt is all that the model gets.
    """

    prompt: str
    index: int
    seed: int
    source: ImageFile | None = None

    @property
    def key(self) -> ImageKey:
        """The key that identifies the image within its run: prompt, index and source image."""
        source = None if self.source is None else self.source.sha256
        return ImageKey.of(self.prompt, self.index, source)


@dataclass(frozen=True, slots=True)
class TowerReading:
    """The part of a prompt that one text encoder of a model read.

    Attributes:
        tower: Its name, such as 'CLIP' or 'T5'.
        tokens: Tokens of the whole text that it was given, with those of templates.
        limit: How many of them it reads at most; None for any number.
        unread: The end of the prompt that it did not read; empty where it read all.
    """

    tower: str
    tokens: int
    limit: int | None
    unread: str


@dataclass(frozen=True, slots=True)
class GeneratedImage:
    """The result of one request: an image, a file with an image, or why there is none.

    Attributes:
        status: 'ok'; 'refused' (the model declined the prompt); 'filtered' (a safety filter, or an
            all-black image); 'failed' (an error, or an image with NaN).
        image: The image, RGB, for status 'ok', unless `path` or `data` is given.
        path: An existing image file, copied byte for byte.
        reason: Why there is no image; given whenever the status is not 'ok'.
        file: How messages name `path`, if its name alone would be ambiguous.
        revised_prompt: The prompt that the model says it used instead, where it says so.
        data: The bytes of an image file, whose pixels are stored in a new PNG. Until then it takes
            a fraction of the memory of a decoded image.
    """

    status: Status
    image: Image | None = None
    path: Path | None = None
    reason: str | None = None
    file: str | None = None
    revised_prompt: str | None = None
    data: bytes | None = None

    def decoded(self) -> GeneratedImage:
        """Return this result with its image decoded, where it has the bytes of a file."""
        if self.data is None:
            return self
        from t2ibench.store.pixels import read_image

        return replace(self, image=read_image(self.data), data=None)


@runtime_checkable
class Generator(Protocol):
    """A text-to-image model under test.

    Attributes:
        name: Its name for people; also the name of the run's folder.
        fingerprint: SHA-256 hex over everything that decides an image besides prompt, index and
            seed: weights or revision, settings, dtype, adapter version. Never device or batch size.
        settings: The settings as JSON values, for the record of a run.
        revision: The exact version of the weights, where there is one.
        batch_size: How many images to ask of `generate` at once.
    """

    name: str
    fingerprint: str
    settings: Mapping[str, Any]
    revision: str | None
    batch_size: int

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return an image for each request, or why there is none.

        An image depends on its own request only, never on the others in the batch. A request that
        fails alone comes back as 'refused', 'filtered' or 'failed' with a reason; an exception
        means that the batch as a whole failed (the pipeline then tries its requests one by one).

        Args:
            requests: What to generate.

        Returns:
            One result for each request, in their order.
        """

    def available(self, prompt: str) -> int | None:
        """Return how many images of a prompt the generator can give; None for any number."""


@runtime_checkable
class EditsImages(Protocol):
    """A generator that makes an image from a source image and an instruction (optional).

    Requests with a source image are given to no other generator, and never in one batch with
    requests without. The file of a source image may be on another machine: `ImageFile.read` and
    `ImageFile.data` give what it holds wherever the generator works.
    """

    def check_edits(self) -> None:
        """Raise an error, before anything is generated, if the model takes no source image.

        Raises:
            T2IBenchError: this model cannot edit, as far as is known without loading weights.
        """


@runtime_checkable
class ChecksPrompts(Protocol):
    """A generator that may make no images of prompts alone, such as an editor (optional)."""

    def check_prompts(self) -> None:
        """Raise an error, before anything is generated, if the model needs a source image.

        Raises:
            T2IBenchError: this model makes no image of a prompt alone, as far as is known without
                loading weights.
        """


@runtime_checkable
class GeneratesInParts(Protocol):
    """A generator that yields each image as soon as it is ready (optional).

    For images that cost time or money: each is stored when it is ready, and never requested again,
    whatever happens to the others.
    """

    def generate_in_parts(
        self, requests: Sequence[ImageRequest]
    ) -> Iterator[list[tuple[int, GeneratedImage]]]:
        """Yield images, each with its request's index, as soon as they are ready.

        Args:
            requests: What to generate.

        Yields:
            Results, each with the number of its request: every request once, in any order.
        """


@runtime_checkable
class FixesBatchSize(Protocol):
    """A generator whose images depend on how many one call generates (optional).

    A run calls it before the first image. The size is then part of its effective settings, as
    'batch_size', and a batch that is not full is filled up with repeats, which are thrown away.
    """

    def fix_batch_size(self, size: int | None, *, recorded: bool = False) -> None:
        """Generate the same number of images in every call from now on.

        Args:
            size: The number; None for one that suits the model and its device.
            recorded: Whether images of the run were generated so. It then never changes; else it is
                halved as long as the first batch does not fit into memory.
        """


@runtime_checkable
class Charges(Protocol):
    """A generator whose images may cost money (optional).

    Attributes:
        cost: What its images have cost so far, in the currency of its prices; None where no price
            is known.
    """

    cost: float | None

    def limit_cost(self, most: float, before: float = 0.0) -> None:
        """Send no request that would raise the total cost above `most`.

        Args:
            most: The limit.
            before: The cost of earlier images of the same run.

        Raises:
            T2IBenchError: no price is known, so no limit can be kept.
        """

    def forecast(self, requests: Sequence[ImageRequest]) -> str:
        """Return a sentence that says how many requests there are and what they will cost.

        Args:
            requests: The images.

        Returns:
            A sentence.
        """


@runtime_checkable
class HasPrice(Protocol):
    """A generator with a known price for each image (optional).

    With it, `--dry-run --max-cost` says whether the limit suffices, and what fits into it.
    """

    def price_per_image(self) -> float | None:
        """Return the highest price of an image in the currency of `Charges`; None if unknown."""


@runtime_checkable
class MakesTrials(Protocol):
    """A generator that makes images to try something out, which cost as others do (optional).

    With it, `--dry-run` counts them.
    """

    def trials(self, requests: Sequence[ImageRequest]) -> int:
        """Return how many images it will make besides those of the requests."""


@runtime_checkable
class Encoder(Protocol):
    """Embeds images and texts into one vector space.

    Attributes:
        name: As the user wrote it, for example 'open_clip:ViT-B-32/laion2b_s34b_b79k'.
        fingerprint: SHA-256 hex over everything that decides an embedding.
        embeds_images: False for word vectors.
        batch_size: Preferred batch size of `encode_images`.
    """

    name: str
    fingerprint: str
    embeds_images: bool
    batch_size: int

    def prepare(self, image: Image) -> Any:
        """Return one decoded RGB image, preprocessed for `encode_images`.

        Once it has prepared a first image, which has to load whatever loads lazily, it is called
        from several threads at once.
        """

    def encode_images(self, prepared: Sequence[Any]) -> Float32Array:
        """Return the embeddings of prepared images, as rows of unit length.

        Args:
            prepared: What `prepare` returned, one for each image.

        Returns:
            float32, shape (n, d), rows of unit length, in the order of the images. The row of an
            image that the encoder cannot embed (in which a network for faces sees none) is all NaN.
        """

    def encode_texts(self, texts: Sequence[str]) -> Float32Array:
        """Return the embeddings of texts, as rows of unit length.

        Args:
            texts: Any texts.

        Returns:
            float32, shape (n, d), rows of unit length. The row of a text that the encoder has no
            vector for (a word missing from a vocabulary) is all NaN.
        """


@runtime_checkable
class HasUntrained(Protocol):
    """An encoder that is also available with random weights, as a control (optional)."""

    def untrained(self) -> Encoder:
        """Return an encoder of the same architecture and preprocessing with random weights.

        It may load lazily: a run asks for it even where its embeddings are stored already.

        Returns:
            An encoder with a name and a fingerprint of its own and the same random weights
            every time.
        """


@runtime_checkable
class PreparesLikeAnother(Protocol):
    """An encoder that takes images as another encoder prepares them (optional).

    Each image is then prepared once for both.

    Attributes:
        prepares_like: Name of the other encoder.
    """

    prepares_like: str


@runtime_checkable
class DescribesNetwork(Protocol):
    """An encoder that describes its network, for records and pages (optional).

    Attributes:
        network: JSON values, such as architecture, weights, activation function and preprocessing.
    """

    network: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Query:
    """One question about one image, for a judge.

    Attributes:
        image: The image, RGB.
        prompt: The prompt it was generated for. Judges must not use the prompt; it is only for
            looking up recorded human answers.
        index: Which sample of the prompt.
        sha256: SHA-256 of the image file.
        question: What is asked.
        classes: The possible answers, besides 'unknown'; empty for free text.
    """

    image: Image
    prompt: str
    index: int
    sha256: str
    question: str
    classes: tuple[str, ...] = ()

    def with_classes(self, classes: tuple[str, ...]) -> Query:
        """Return the same question with other classes as its possible answers."""
        return replace(self, classes=classes)


class QueryOfFile(Query):
    """A query whose image is decoded whenever it is used, so that many queries may wait."""

    __slots__ = ("_image",)
    _image: Image | Callable[[], Image]

    def __init__(
        self,
        image: Image | Callable[[], Image],
        prompt: str,
        index: int,
        sha256: str,
        question: str,
        classes: tuple[str, ...] = (),
    ) -> None:
        """Prepare a query.

        Args:
            image: Returns the image. `dataclasses.replace` gives an image that is decoded.
            prompt: As in `Query`.
            index: As in `Query`.
            sha256: As in `Query`.
            question: As in `Query`.
            classes: As in `Query`.
        """
        values = {
            "_image": image,
            "prompt": prompt,
            "index": index,
            "sha256": sha256,
            "question": question,
            "classes": classes,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def image(self) -> Image:
        """The image, RGB, decoded now."""
        image: Image | Callable[[], Image] = self._image
        return image() if callable(image) else image

    def with_classes(self, classes: tuple[str, ...]) -> Query:
        """Return the same question with other classes as its possible answers."""
        return QueryOfFile(
            self._image, self.prompt, self.index, self.sha256, self.question, classes
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes a `Query` of the decoded image, as in another process."""
        return Query, tuple(getattr(self, field.name) for field in fields(Query))


@dataclass(frozen=True, slots=True)
class Answer:
    """A judge's answer to one query, or why there is none.

    Attributes:
        answer: A class, 'unknown', or free text; None where there is no answer.
        raw: The judge's own words, or its scores.
        reason: Why there is no answer, or why the judge's words count as 'unknown'.
    """

    answer: str | None
    raw: str = ""
    reason: str | None = None


@runtime_checkable
class Judge(Protocol):
    """Answers questions about images.

    Attributes:
        name: As the user wrote it, for example 'vlm:Qwen/Qwen3-VL-4B-Instruct'.
        fingerprint: SHA-256 hex over everything that decides an answer.
        batch_size: Preferred batch size of `answer`.
    """

    name: str
    fingerprint: str
    batch_size: int

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """Return an answer to each query, or why there is none.

        An answer depends on its own query only. A query that fails alone comes back without an
        answer and with a reason; an exception means that the judge cannot go on.

        Args:
            queries: What to answer.

        Returns:
            One answer for each query, in their order.
        """


@runtime_checkable
class AnswersInParts(Protocol):
    """A judge that yields each answer as soon as it is ready (optional).

    For answers that cost time or money: each is stored when it is ready, and never requested again,
    whatever happens to the others.
    """

    def answer_in_parts(
        self, queries: Sequence[Query]
    ) -> Iterator[list[tuple[int, Answer]]]:
        """Yield answers, each with its query's index, as soon as they are ready.

        Args:
            queries: What to answer.

        Yields:
            Answers, each with the number of its query: every query once, in any order.
        """


@runtime_checkable
class ReportsWaits(Protocol):
    """A model that reports when it waits, as for a server, or works more slowly (optional)."""

    def report_waits(self, tell: Callable[[str], None]) -> None:
        """Set the function that is called with messages about waits and slower work.

        Args:
            tell: Gets a sentence each time; called from any thread.
        """


@runtime_checkable
class ChecksAccess(Protocol):
    """A judge that can check its access before it is asked (optional)."""

    def check_access(self) -> None:
        """Raise an error, before images are generated, if access such as a key is missing.

        Raises:
            T2IBenchError: it cannot be asked.
        """


@runtime_checkable
class LooksUp(Protocol):
    """A judge that looks up recorded answers (optional); missing answers never stop it."""

    def check_images(
        self, asked: Iterable[tuple[StoredImage, Sequence[tuple[str, tuple[str, ...]]]]]
    ) -> str | None:
        """Check recorded answers against a run's images; return a note if some match none.

        Args:
            asked: Every image with its questions and their classes.

        Returns:
            One line about answers that are about no image of the run; None without such.

        Raises:
            T2IBenchError: none of its answers is about an image of the run.
        """


@runtime_checkable
class HasFurtherAnswers(Protocol):
    """A judge that looks answers up and may have more of them than a run asks for (optional)."""

    def further_answers(
        self, questions: Sequence[tuple[str, tuple[str, ...]]]
    ) -> FurtherAnswers:
        """Return what it could answer besides the questions of a run.

        Args:
            questions: Every question of the run, with its classes.

        Returns:
            The file that the answers are in, and what they are about.
        """


@dataclass(frozen=True, slots=True)
class FurtherAnswers:
    """Answers that a judge has and no question of a run asks for.

    Attributes:
        file: The file that they are in, as the user named it.
        answered: The headings or questions that the run does ask about.
        unasked: Those that it does not.
    """

    file: str
    answered: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()


@runtime_checkable
class HasNotes(Protocol):
    """A generator that reads the user's files, with notes on how it read them (optional).

    Attributes:
        notes: Lines for the user: a choice between files, what was left out.
    """

    notes: Sequence[str]


@runtime_checkable
class Releasable(Protocol):
    """A model that can give its device memory back (optional)."""

    def release(self) -> None:
        """Free the device's memory; the next use loads the model again."""


@runtime_checkable
class ReportsSettings(Protocol):
    """A model that reports the settings that were effective (optional)."""

    def effective_settings(self) -> Mapping[str, Any]:
        """Return the settings that were in effect, including the library's defaults.

        Returns:
            JSON values; empty where the model is not loaded yet.
        """


@runtime_checkable
class ReportsUnread(Protocol):
    """A generator that knows which words of a prompt its text encoders do not read (optional)."""

    def unread_prompts(self) -> Mapping[str, Sequence[TowerReading]]:
        """Return what the text encoders read of each prompt that one of them truncated so far.

        Returns:
            Keyed by prompt, as the generator got it: what every text encoder read of it.
        """
