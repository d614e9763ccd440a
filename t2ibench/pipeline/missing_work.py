"""The missing work of a run: images, embeddings and answers, as work items for workers.

A work item is made from what is missing when it is handed out, so it may be handed out again after
its worker has died.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from t2ibench.identity import ImageKey
from t2ibench.models.protocols import ImageRequest
from t2ibench.pipeline.embedding import missing_embeddings, missing_texts
from t2ibench.pipeline.judging import unanswered
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.work_items import (
    ImagesToEmbed,
    ImagesToGenerate,
    ImageToEmbed,
    Question,
    QuestionsToAsk,
    TextsToEmbed,
    WorkItem,
)
from t2ibench.pipeline.worker import Observers
from t2ibench.store.answers import AnswerStore
from t2ibench.store.database import Database
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import ImageStore, StoredImage

Stage = Literal["generate", "texts", "embed", "ask"]


@dataclass(frozen=True, slots=True)
class ObservationStores:
    """The stores of a run's embeddings and answers.

    Attributes:
        encoders: The embeddings of each encoder.
        controls: Those of untrained controls, by the encoder that they are compared with; a control
            embeds what that encoder is scored on.
        judges: The answers of each judge.
    """

    encoders: Sequence[EvidenceStore]
    controls: Mapping[str, EvidenceStore]
    judges: Sequence[AnswerStore]

    @classmethod
    def opened(cls, database: Database, observers: Observers) -> ObservationStores:
        """Return the stores of a run's encoders and judges."""
        encoders = [
            EvidenceStore(
                database, encoder.name, encoder.fingerprint, encoder.embeds_images
            )
            for encoder in observers.encoders
        ]
        controls = {
            name: EvidenceStore(
                database, control.name, control.fingerprint, control.embeds_images
            )
            for name, control in observers.controls.items()
        }
        judges = [
            AnswerStore(database, judge.name, judge.fingerprint)
            for judge in observers.judges
        ]
        return cls(encoders, controls, judges)

    @property
    def embeddings(self) -> list[EvidenceStore]:
        """The embedding stores of encoders and controls."""
        return [*self.encoders, *self.controls.values()]


@dataclass(slots=True)
class MissingWork:
    """The missing work of a run, recounted at each request.

    Attributes:
        plan: Everything that the tasks need.
        images: The images that are stored; None for a run on texts alone.
        stores: The embeddings and answers that are stored.
        stopped: Each encoder or judge that is no longer used, with the reason.
        tried: Images that were generated, or failed, in this call: they are not tried twice.
        removed: SHA-256 of image files that were removed because they are damaged.
        streaks: Questions without an answer, one after another, by judge.
        needed_files: Images whose files are needed although nothing is left to observe.
    """

    plan: Plan
    images: ImageStore | None
    stores: ObservationStores
    stopped: dict[str, str] = field(default_factory=dict)
    tried: set[ImageKey] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    streaks: dict[str, int] = field(default_factory=dict)
    needed_files: Collection[ImageKey] = ()

    def item(self, stage: Stage, number: int) -> WorkItem | None:
        """Return the missing work of part `number` of a stage; None if the part is complete.

        Parts are shards of the plan, one for each judge where judges are asked; or encoders, where
        texts are embedded.
        """
        if stage == "texts":
            return self._texts_to_embed(number)
        if self.images is None:
            return None
        if stage == "ask":
            return self._questions_to_ask(number)
        if stage == "embed":
            return self._images_to_embed(number)
        return self._images_to_generate(number)

    def left(self, stage: Stage) -> dict[int, int]:
        """Return how many items each incomplete part of a stage still needs, keyed by part."""
        if stage == "texts":
            count = len(self._texts_by_store())
        elif stage == "ask":
            count = self.plan.n_shards * max(len(self.stores.judges), 1)
        else:
            count = self.plan.n_shards
        sizes = {number: _size(self.item(stage, number)) for number in range(count)}
        return {number: size for number, size in sizes.items() if size}

    def pending(self, stage: Stage) -> int:
        """Return how many images, texts or questions are missing in a stage."""
        return sum(self.left(stage).values())

    def questions(self, shard: int) -> Iterator[tuple[StoredImage, list[Question]]]:
        """Yield each image of a shard with the questions that judges are asked about it."""
        for image in self._stored_images(shard):
            wanted = self.plan.questions_about(image.key)
            if wanted:
                yield image, wanted

    def all_questions(self) -> Iterator[tuple[StoredImage, list[Question]]]:
        """Yield each image with the questions that judges are asked about it."""
        for shard in range(self.plan.n_shards):
            yield from self.questions(shard)

    def _texts_to_embed(self, number: int) -> TextsToEmbed | None:
        store, texts = self._texts_by_store()[number]
        if store.name in self.stopped:
            return None
        missing = missing_texts(texts, store)
        return (
            TextsToEmbed(store.name, tuple(missing), store.width) if missing else None
        )

    def _texts_by_store(self) -> list[tuple[EvidenceStore, Sequence[str]]]:
        """Return the store of each encoder and each control with the texts that it embeds."""
        texts: list[tuple[EvidenceStore, Sequence[str]]] = []
        for store in self.stores.encoders:
            texts.append((store, self.plan.texts_for(store.embeds_images)))
        for store in self.stores.controls.values():
            texts.append((store, self.plan.controlled_texts))
        return texts

    def _questions_to_ask(self, number: int) -> QuestionsToAsk | None:
        judges = self.stores.judges
        if not judges:
            return None
        shard, judge_number = divmod(number, len(judges))
        judge = judges[judge_number]
        if judge.name in self.stopped:
            return None
        missing = unanswered(self.questions(shard), judge)
        streak = self.streaks.get(judge.name, 0)
        return QuestionsToAsk(judge.name, tuple(missing), streak) if missing else None

    def _images_to_embed(self, shard: int) -> ImagesToEmbed | None:
        images = self._not_embedded(shard)
        if not images:
            return None
        embeddings = self.stores.embeddings
        widths = {store.name: store.width for store in embeddings}
        worked = [store.name for store in embeddings if store.has_any("images")]
        return ImagesToEmbed(tuple(images), widths, frozenset(worked))

    def _not_embedded(self, shard: int) -> list[ImageToEmbed]:
        """Return a shard's images with the encoders that have not embedded them."""
        encoders = self._working(self.stores.encoders)
        controls = self._working(self.stores.controls.values())
        if not encoders and not controls:
            return []
        for_all: list[StoredImage] = []
        for_encoders: list[StoredImage] = []
        for image in self._stored_images(shard):
            if not self.plan.is_embedded(image.key):
                continue
            if self.plan.is_controlled(image.key):
                for_all.append(image)
            else:
                for_encoders.append(image)
        return [
            *missing_embeddings(for_all, [*encoders, *controls]),
            *missing_embeddings(for_encoders, encoders),
        ]

    def _working(self, stores: Iterable[EvidenceStore]) -> list[EvidenceStore]:
        """Return the stores of the encoders that embed images and have not been stopped."""
        return [
            store
            for store in stores
            if store.embeds_images and store.name not in self.stopped
        ]

    def _stored_images(self, shard: int) -> Iterator[StoredImage]:
        """Yield the images of a shard that exist and are readable.

        One file may belong to several prompts: each asks its own questions.
        """
        assert self.images is not None
        for request in self.plan.shard(shard):
            attempt = self.images.get(request.key)
            if attempt is None or not attempt.sha256:
                continue
            if attempt.sha256 not in self.removed:
                yield self.images.image(attempt)

    def _images_to_generate(self, shard: int) -> ImagesToGenerate | None:
        requests = [
            request
            for request in self._not_generated(shard)
            if request.key not in self.tried
        ]
        return ImagesToGenerate(tuple(requests)) if requests else None

    def _not_generated(self, shard: int) -> list[ImageRequest]:
        """Return a shard's requests for images without an outcome, or whose file is needed again.

        Scores need the hash of an image alone. Its pixels are needed by an encoder or a judge that
        has not seen them yet, and by a run that only generates.
        """
        assert self.images is not None
        requests = [
            request
            for request in self.plan.shard(shard)
            if not self.images.is_done(request.key)
        ]
        without_file: set[ImageKey] = set()
        for request in requests:
            attempt = self.images.get(request.key)
            if attempt is not None and attempt.status == "ok":
                without_file.add(request.key)
        if not without_file or not (self.stores.encoders or self.stores.judges):
            return requests
        needed = {image.key for image, _ in self._not_embedded(shard)}
        needed |= set(self.needed_files)
        for judge in self.stores.judges:
            missing = unanswered(self.questions(shard), judge)
            needed |= {image.key for image, _ in missing}
        unneeded = without_file - needed
        return [request for request in requests if request.key not in unneeded]


def _size(item: WorkItem | None) -> int:
    """Return how many images, texts or questions a work item has."""
    if isinstance(item, ImagesToGenerate):
        return len(item.requests)
    if isinstance(item, ImagesToEmbed):
        return len(item.images)
    if isinstance(item, TextsToEmbed):
        return len(item.texts)
    if isinstance(item, QuestionsToAsk):
        return sum(len(questions) for _, questions in item.questions)
    return 0
