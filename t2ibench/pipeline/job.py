"""The work of one run: what is missing of it, in pieces, and storing what comes back.

The process that leads a run holds the job; it alone writes. Workers, here or elsewhere, get pieces
and give back parts. A piece is cut from what is missing when it is handed out, so it may be handed
out again after its worker has died.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import Encoder, ImageRequest, LooksUp
from t2ibench.models.rewritten_generator import NOT_REWRITTEN
from t2ibench.pipeline.embedding import missing_embeddings, missing_texts
from t2ibench.pipeline.generation import ImageFile
from t2ibench.pipeline.generator_record import record_generator, settle
from t2ibench.pipeline.judging import unanswered
from t2ibench.pipeline.pieces import (
    AskReport,
    Damaged,
    ImageFiles,
    ImagesToEmbed,
    ImagesToGenerate,
    ImageToEmbed,
    Part,
    Piece,
    Question,
    QuestionsToAsk,
    TextsToEmbed,
)
from t2ibench.pipeline.preparation import Prepared
from t2ibench.pipeline.rewriting import open_rewritings
from t2ibench.pipeline.worker import Observers
from t2ibench.store.answers import AnswerStore
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import Attempt, ImageStore, StoredImage

Stage = Literal["generate", "texts", "embed", "ask"]
# This many failures at the start, without a success, are the set-up's fault, not the images'.
ABORT_AFTER_FAILURES = 8


class Job:
    """A run while it is worked on."""

    def __init__(self, prepared: Prepared, observers: Observers) -> None:
        """Open the stores of a run."""
        self.prepared, self.observers = prepared, observers
        self.plan, self.images = prepared.plan, prepared.images
        database = prepared.folder.database
        open_rewritings(prepared.generator, database)

        def embeddings(one: Encoder) -> EvidenceStore:
            return EvidenceStore(database, one.name, one.fingerprint, one.embeds_images)

        self.encoders = [embeddings(encoder) for encoder in observers.encoders]
        self.judges = [AnswerStore(database, one.name, one.fingerprint) for one in observers.judges]
        # By the encoder that they are held against; they embed what that one is scored on.
        self.controls = {name: embeddings(one) for name, one in observers.controls.items()}
        self.attempts = Counter[str]()  # by status
        self.embedded = 0  # images and texts, now
        self.damaged: list[Damaged] = []
        self.reports: dict[str, AskReport] = {}
        self.stopped: dict[str, str] = {}  # encoder or judge to the reason
        self.changed = 0  # images made again whose files differ from those before
        self.lost = Counter[tuple[str, str]]()  # by status and reason
        self._removed: set[str] = set()
        self._tried: set[tuple[str, int]] = set()

    def piece(self, stage: Stage, number: int) -> Piece | None:
        """What is missing of one piece; None where nothing is."""
        if stage == "texts":
            store, texts = self._texts()[number]
            missing = [] if store.name in self.stopped else missing_texts(texts, store)
            return TextsToEmbed(store.name, tuple(missing), store.width) if missing else None
        if self.images is None:
            return None
        if stage == "ask":
            return self._questions(number)
        if stage == "embed":
            images = self._images_to_embed(number)
            widths = {store.name: store.width for store in self._embeddings()}
            return ImagesToEmbed(tuple(images), widths) if images else None
        requests = self._to_generate(number)
        requests = [one for one in requests if _place(one) not in self._tried]
        return ImagesToGenerate(tuple(requests)) if requests else None

    def left(self, stage: Stage) -> dict[int, int]:
        """The pieces of which something is missing: number to images, texts or questions."""
        # Pieces are shards of the plan, one for each judge; or encoders.
        count = self.plan.n_shards * (max(len(self.judges), 1) if stage == "ask" else 1)
        if stage == "texts":
            count = len(self._texts())
        sizes = {number: _size(self.piece(stage, number)) for number in range(count)}
        return {number: size for number, size in sizes.items() if size}

    def pending(self, stage: Stage) -> int:
        """How many images, texts or questions a stage has left."""
        return sum(self.left(stage).values())

    def store(self, part: Part) -> int:
        """Store a part of a piece; how many items it is."""
        if isinstance(part, ImageFiles):
            return self._store_images(part)
        if isinstance(part, AskReport):
            next(store for store in self.judges if store.name == part.judge).add(part.answers)
            self.reports.setdefault(part.judge, AskReport()).add(part)
            if part.stopped is not None:
                self.stopped[part.judge] = part.stopped
            self._remove(part.damaged)
            return part.questions
        for store in self._embeddings():
            if store.name in part.rows:
                store.add(part.kind, *part.rows[store.name])
        self.embedded += part.embedded
        self._remove(part.damaged)
        self.stopped |= part.failures
        return part.tried

    def _remove(self, damaged: Sequence[Damaged]) -> None:
        """Remove files that cannot be used: the next run makes them anew."""
        for one in damaged:
            with suppress(OSError):
                one.image.path.unlink()
            self._removed.add(one.image.sha256)
        self.damaged += damaged

    def _store_images(self, part: ImageFiles) -> int:
        assert self.images is not None
        places = [_place(one.request) for one in part.files]
        known = [self.images.get(*place) for place in places]
        prepared, from_object = self.prepared, self.prepared.objects.generator is not None
        record_generator(
            prepared.folder, part.settings, part.libraries, from_object, len(self.images)
        )
        batch = store_images(part.files, self.images)
        self.settle()
        self._tried.update(places)
        hashes = [
            (before.sha256, now.sha256) for before, now in zip(known, batch, strict=True) if before
        ]
        self.changed += sum(None not in pair and len(set(pair)) > 1 for pair in hashes)
        self.attempts.update(one.status for one in batch)
        failures = [one for one in batch if one.status != "ok"]
        self.lost.update((one.status, one.reason or "unknown") for one in failures)
        failed = self._all_failed()
        if not failed:
            return len(batch)
        # Files fail one by one, whatever the set-up.
        gives_up = not (prepared.settings.allow_missing or prepared.from_folder)
        if failed >= ABORT_AFTER_FAILURES and gives_up:
            reason = (batch[-1].reason or "unknown").rstrip(".")
            raise T2IBenchError(
                f"The first {failed} images all failed; the last error: {reason}.",
                "Fix the cause and re-run the same command.",
            )
        return len(batch)

    def _all_failed(self) -> int:
        """How many images failed, where none of those that were tried did anything else; else 0.

        Prompts that were not rewritten were not tried.
        """
        untried = sum(
            count
            for (status, reason), count in self.lost.items()
            if status == "failed" and reason.startswith(NOT_REWRITTEN)
        )
        failed = self.attempts["failed"] - untried
        return failed if failed == self.attempts.total() - untried else 0

    @property
    def without_any_image(self) -> bool:
        """Whether images are needed, and not one of them is there."""
        images = self.images
        if images is None or not self.plan.requests:
            return False
        return not any(
            attempt is not None and attempt.status == "ok"
            for attempt in (
                images.get(request.prompt, request.index) for request in self.plan.requests
            )
        )

    def check_generated(self) -> None:
        """End a run of a few images as a longer one ends that begins with failures alone."""
        failed = self._all_failed()
        lenient = self.prepared.settings.allow_missing or self.prepared.from_folder
        if lenient or not failed or not self.without_any_image:
            return
        (_, reason), _ = self.lost.most_common(1)[0]
        what = f"All {failed} images" if failed > 1 else "The only image"
        raise T2IBenchError(
            f"{what} failed: {reason.rstrip('.')}.", "Fix the cause and re-run the same command."
        )

    def settle(self) -> None:
        """Write down costs, with all that is stored."""
        settle(self.prepared.folder, self.prepared.generator, self.prepared.settings.max_cost)

    def _embeddings(self) -> list[EvidenceStore]:
        return [*self.encoders, *self.controls.values()]

    def _texts(self) -> list[tuple[EvidenceStore, Sequence[str]]]:
        """What each encoder and each control has to embed of the plan's texts."""
        plan = self.plan
        pairs = [(store, plan.texts_for(store.embeds_images)) for store in self.encoders]
        return [*pairs, *((store, plan.controlled_texts) for store in self.controls.values())]

    def _working(self, stores: Iterable[EvidenceStore]) -> list[EvidenceStore]:
        return [one for one in stores if one.embeds_images and one.name not in self.stopped]

    def _stored(self, shard: int) -> Iterator[StoredImage]:
        assert self.images is not None
        for request in self.plan.shard(shard):
            attempt = self.images.get(request.prompt, request.index)
            if attempt is not None and attempt.sha256 and attempt.sha256 not in self._removed:
                # One file may belong to several prompts: each asks its own questions.
                yield self.images.image(attempt)

    def _to_generate(self, shard: int) -> list[ImageRequest]:
        """A shard's images without an outcome, and those whose removed file is needed."""
        # Scores need the hash of an image alone. Its pixels are needed by an encoder or a judge
        # that has not seen them yet, and by a run that only generates.
        assert self.images is not None
        images = self.images
        requests = [one for one in self.plan.shard(shard) if not images.is_done(*_place(one))]
        known = {_place(one): images.get(*_place(one)) for one in requests}
        removed = {place for place, one in known.items() if one and one.status == "ok"}
        if not removed or not (self.encoders or self.judges):
            return requests
        needed = {_place(image) for image, _ in self._images_to_embed(shard)}
        for judge in self.judges:
            needed |= {_place(image) for image, _ in unanswered(self.questions(shard), judge)}
        removed -= needed
        return [one for one in requests if _place(one) not in removed]

    def unfinished(self) -> bool:
        """Whether an image of the plan has no outcome, or no file any more."""
        images = self.images
        return images is not None and not all(
            images.is_done(*_place(one)) for one in self.plan.requests
        )

    def _images_to_embed(self, shard: int) -> list[ImageToEmbed]:
        """A shard's images with who has not embedded them; controls embed some of them."""
        encoders, controls = self._working(self.encoders), self._working(self.controls.values())
        parts: tuple[list[StoredImage], list[StoredImage]] = ([], [])
        for image in self._stored(shard) if encoders or controls else ():
            if image.index < self.plan.embedded.get(image.prompt, 0):
                alone = image.index >= self.plan.controlled.get(image.prompt, 0)
                parts[alone].append(image)
        both = missing_embeddings(parts[0], [*encoders, *controls])
        return [*both, *missing_embeddings(parts[1], encoders)]

    def questions(self, shard: int) -> Iterator[tuple[StoredImage, list[Question]]]:
        """What judges are asked about the images of a shard."""
        for image in self._stored(shard):
            asked = self.plan.questions.get(image.prompt, {})
            wanted = [question for question, count in asked.items() if image.index < count]
            if wanted:
                yield image, wanted

    def _questions(self, number: int) -> QuestionsToAsk | None:
        if not self.judges:
            return None
        shard, which = divmod(number, len(self.judges))
        name = self.judges[which].name
        stopped = name in self.stopped
        missing = [] if stopped else unanswered(self.questions(shard), self.judges[which])
        streak = self.reports[name].streak if name in self.reports else 0
        return QuestionsToAsk(name, tuple(missing), streak) if missing else None

    def check_looked_up(self, warn: Callable[[str], None]) -> None:
        """Warn of answers that judges look up and that are about no image of this run."""
        for judge in self.observers.judges:
            if isinstance(judge, LooksUp) and self.images is not None:
                shards = range(self.plan.n_shards)
                line = judge.check_images(one for k in shards for one in self.questions(k))
                if line is not None:
                    warn(line)

    def problems(self) -> list[str]:
        """What was not embedded or answered, one line each."""
        lines = []
        for name, report in self.reports.items():
            reasons = sorted(report.reasons.items(), key=lambda item: -item[1])[:3]
            lines += [f"{name}: {count} questions have no answer: {why}" for why, count in reasons]
        lines += [
            f"{name} was stopped: {reason.rstrip('.')}. Its work so far is kept; re-run the same "
            "command to continue."
            for name, reason in self.stopped.items()
        ]
        if self.changed:
            lines.append(
                f"{self.changed} images were generated again and differ from those before; they "
                "count now, and everything is observed anew on them."
            )
        return lines


def store_images(files: Sequence[ImageFile], store: ImageStore) -> list[Attempt]:
    """Write the files of images, then their rows: a row without its file never exists."""
    attempts: list[Attempt] = []
    looks: dict[str, Float32Array] = {}
    failure: T2IBenchError | None = None
    for one in files:
        at = one.request.prompt, one.request.index, one.request.seed
        if one.data is None:
            attempt = Attempt(*at, one.status, reason=one.reason)
        else:
            try:
                attempt = store.add_image(*at, one.data, one.suffix)
            except T2IBenchError as error:  # of the disk; the others of the batch are recorded
                failure = failure or error
                continue
            if one.look is not None:
                looks[attempt.sha256 or ""] = one.look
        attempts.append(replace(attempt, revised_prompt=one.revised_prompt))
    store.record(attempts, looks)
    if failure is not None:
        raise failure
    return attempts


def _place(one: ImageRequest | StoredImage) -> tuple[str, int]:
    return one.prompt, one.index


def _size(piece: Piece | None) -> int:
    """Items of a piece."""
    if isinstance(piece, ImagesToGenerate):
        return len(piece.requests)
    if isinstance(piece, ImagesToEmbed):
        return len(piece.images)
    if isinstance(piece, TextsToEmbed):
        return len(piece.texts)
    if isinstance(piece, QuestionsToAsk):
        return sum(len(asked) for _, asked in piece.questions)
    return 0
