"""The work of one run: what is missing of it, in pieces, and storing what comes back.

The process that leads a run holds the job; it alone writes. Workers, here or elsewhere, get pieces
and give back parts. A piece is cut from what is missing when it is handed out, so it may be handed
out again after its worker has died.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import ALL_BLACK, Encoder, ImageRequest, LooksUp
from t2ibench.models.rewritten_generator import NOT_REWRITTEN
from t2ibench.pipeline.embedding import missing_embeddings, missing_texts
from t2ibench.pipeline.generation import ImageFile
from t2ibench.pipeline.generator_record import record_generator, record_unread, settle
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
from t2ibench.results.unread import unread_line, unread_prompts
from t2ibench.store.answers import AnswerStore, is_file_of_answers
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import Attempt, ImageStore, StoredImage

Stage = Literal["generate", "texts", "embed", "ask"]
# This many failures at the start, without a success, are the set-up's fault, not the images'.
ABORT_AFTER_FAILURES = 8
_EXAMPLES = 3  # of answers that a message shows


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
        self.judges = [
            AnswerStore(database, one.name, one.fingerprint) for one in observers.judges
        ]
        # By the encoder that they are held against; they embed what that one is scored on.
        self.controls = {
            name: embeddings(one) for name, one in observers.controls.items()
        }
        self.attempts = Counter[str]()  # by status
        self.embedded = 0  # images and texts, now
        self.damaged: list[Damaged] = []
        self.reports: dict[str, AskReport] = {}
        self.stopped: dict[str, str] = {}  # encoder or judge to the reason
        # encoder to why images have no embedding
        self.unread: dict[str, Counter[str]] = {}
        self.changed = 0  # images made again whose files differ from those before
        self.lost = Counter[tuple[str, str]]()  # by status and reason
        self._black_prompts: set[str] = set()
        self._removed: set[str] = set()
        self._tried: set[tuple[str, int]] = set()

    def piece(self, stage: Stage, number: int) -> Piece | None:
        """What is missing of one piece; None where nothing is."""
        if stage == "texts":
            store, texts = self._texts()[number]
            missing = [] if store.name in self.stopped else missing_texts(texts, store)
            return (
                TextsToEmbed(store.name, tuple(missing), store.width)
                if missing
                else None
            )
        if self.images is None:
            return None
        if stage == "ask":
            return self._questions(number)
        if stage == "embed":
            images = self._images_to_embed(number)
            widths = {store.name: store.width for store in self._embeddings()}
            worked = frozenset(
                store.name for store in self._embeddings() if store.has_any("images")
            )
            return ImagesToEmbed(tuple(images), widths, worked) if images else None
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
            next(store for store in self.judges if store.name == part.judge).add(
                part.answers
            )
            self.reports.setdefault(part.judge, AskReport()).add(part)
            self._note_settings(part)
            if part.stopped is not None:
                self.stopped[part.judge] = part.stopped
            self._remove(part.damaged)
            return part.questions
        for store in self._embeddings():
            if store.name in part.rows:
                store.add(part.kind, *part.rows[store.name])
        self.embedded += part.embedded
        for name, reasons in part.unread.items():
            self.unread.setdefault(name, Counter()).update(reasons)
        self._remove(part.damaged)
        self.stopped |= part.failures
        return part.tried

    def _note_settings(self, part: AskReport) -> None:
        """Write down what a judge was really asked with, as soon as it changes."""
        folder, settings = self.prepared.folder, dict(part.settings)
        if settings and folder.record.judge_settings.get(part.judge) != settings:
            folder.update(
                judge_settings={**folder.record.judge_settings, part.judge: settings}
            )

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
        prepared, from_object = (
            self.prepared,
            self.prepared.objects.generator is not None,
        )
        record_generator(
            prepared.folder,
            part.settings,
            part.libraries,
            from_object,
            len(self.images),
        )
        record_unread(prepared.folder, part.unread)
        batch = store_images(part.files, self.images)
        self.settle()
        self._tried.update(places)
        hashes = [
            (before.sha256, now.sha256)
            for before, now in zip(known, batch, strict=True)
            if before
        ]
        self.changed += sum(None not in pair and len(set(pair)) > 1 for pair in hashes)
        self.attempts.update(one.status for one in batch)
        failures = [one for one in batch if one.status != "ok"]
        self.lost.update((one.status, one.reason or "unknown") for one in failures)
        self._black_prompts |= {
            one.prompt for one in failures if one.reason == ALL_BLACK
        }
        self._check_set_up(batch)
        return len(batch)

    def _check_set_up(self, batch: Sequence[Attempt]) -> None:
        """Stop where the first images all failed, or are all black: no prompt does that.

        Files fail one by one, whatever the set-up; a prompt without a rewriting was never tried.
        """
        if self.prepared.settings.allow_missing or self.prepared.from_folder:
            return
        untried = self._untried()
        tried = self.attempts.total() - untried
        failed = self.attempts["failed"] - untried
        black = self.lost["filtered", ALL_BLACK]
        if failed + black < max(tried, ABORT_AFTER_FAILURES):
            return
        if not failed and len(self._black_prompts) == 1:
            return  # a safety checker without a word of its own may have taken them
        if not failed:
            raise T2IBenchError(
                f"The first {black} images are all black, whatever their prompt.",
                "Numbers overflow in float16: give --dtype float32 or bfloat16. A safety checker "
                "makes images black, too: --model-args safety_checker=false.",
            )
        reason = (batch[-1].reason or "unknown").rstrip(".")
        what = "all failed" if not black else "all failed or are black"
        raise T2IBenchError(
            f"The first {tried} images {what}; the last error: {reason}.",
            "Fix the cause and re-run the same command.",
        )

    def _untried(self) -> int:
        """How many images failed without being tried, because their prompt was not rewritten."""
        return sum(
            count
            for (status, reason), count in self.lost.items()
            if status == "failed" and reason.startswith(NOT_REWRITTEN)
        )

    def _all_failed(self) -> int:
        """How many images failed, where none of those that were tried did anything else; else 0."""
        untried = self._untried()
        failed = self.attempts["failed"] - untried
        return failed if failed == self.attempts.total() - untried else 0

    def check_generated(self) -> None:
        """End a run of a few images as a longer one ends that begins with failures alone."""
        failed = self._all_failed()
        lenient = self.prepared.settings.allow_missing or self.prepared.from_folder
        if lenient or not failed or self.has_images():
            return
        (_, reason), _ = self.lost.most_common(1)[0]
        what = f"All {failed} images" if failed > 1 else "The only image"
        raise T2IBenchError(
            f"{what} failed: {reason.rstrip('.')}.",
            "Fix the cause and re-run the same command.",
        )

    def settle(self) -> None:
        """Write down costs, with all that is stored."""
        settle(
            self.prepared.folder,
            self.prepared.generator,
            self.prepared.settings.max_cost,
        )

    def _embeddings(self) -> list[EvidenceStore]:
        return [*self.encoders, *self.controls.values()]

    def _texts(self) -> list[tuple[EvidenceStore, Sequence[str]]]:
        """What each encoder and each control has to embed of the plan's texts."""
        plan = self.plan
        pairs = [
            (store, plan.texts_for(store.embeds_images)) for store in self.encoders
        ]
        return [
            *pairs,
            *((store, plan.controlled_texts) for store in self.controls.values()),
        ]

    def _working(self, stores: Iterable[EvidenceStore]) -> list[EvidenceStore]:
        return [
            one for one in stores if one.embeds_images and one.name not in self.stopped
        ]

    def _stored(self, shard: int) -> Iterator[StoredImage]:
        assert self.images is not None
        for request in self.plan.shard(shard):
            attempt = self.images.get(request.prompt, request.index)
            if (
                attempt is not None
                and attempt.sha256
                and attempt.sha256 not in self._removed
            ):
                # One file may belong to several prompts: each asks its own questions.
                yield self.images.image(attempt)

    def _to_generate(self, shard: int) -> list[ImageRequest]:
        """A shard's images without an outcome, and those whose removed file is needed."""
        # Scores need the hash of an image alone. Its pixels are needed by an encoder or a judge
        # that has not seen them yet, and by a run that only generates.
        assert self.images is not None
        images = self.images
        requests = [
            one for one in self.plan.shard(shard) if not images.is_done(*_place(one))
        ]
        known = {_place(one): images.get(*_place(one)) for one in requests}
        removed = {place for place, one in known.items() if one and one.status == "ok"}
        if not removed or not (self.encoders or self.judges):
            return requests
        needed = {_place(image) for image, _ in self._images_to_embed(shard)}
        for judge in self.judges:
            needed |= {
                _place(image) for image, _ in unanswered(self.questions(shard), judge)
            }
        removed -= needed
        return [one for one in requests if _place(one) not in removed]

    def unfinished(self) -> bool:
        """Whether an image of the plan has no outcome, or no file any more."""
        images = self.images
        return images is not None and not all(
            images.is_done(*_place(one)) for one in self.plan.requests
        )

    def has_images(self) -> bool:
        """Whether there is any image of the plan; a plan without images lacks none."""
        if self.images is None or not self.plan.requests:
            return True
        attempts = (self.images.get(*_place(one)) for one in self.plan.requests)
        return any(
            attempt is not None and attempt.status == "ok" for attempt in attempts
        )

    def _images_to_embed(self, shard: int) -> list[ImageToEmbed]:
        """A shard's images with who has not embedded them; controls embed some of them."""
        encoders, controls = (
            self._working(self.encoders),
            self._working(self.controls.values()),
        )
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
            wanted = [
                question for question, count in asked.items() if image.index < count
            ]
            if wanted:
                yield image, wanted

    def _questions(self, number: int) -> QuestionsToAsk | None:
        if not self.judges:
            return None
        shard, which = divmod(number, len(self.judges))
        name = self.judges[which].name
        stopped = name in self.stopped
        missing = (
            [] if stopped else unanswered(self.questions(shard), self.judges[which])
        )
        streak = self.reports[name].streak if name in self.reports else 0
        return QuestionsToAsk(name, tuple(missing), streak) if missing else None

    def check_looked_up(self, warn: Callable[[str], None]) -> None:
        """Warn of answers that judges look up and that are about no image of this run."""
        for judge in self.observers.judges:
            if isinstance(judge, LooksUp) and self.images is not None:
                shards = range(self.plan.n_shards)
                line = judge.check_images(
                    one for k in shards for one in self.questions(k)
                )
                if line is not None:
                    warn(line)

    def _unread_line(self) -> str | None:
        """A line about prompts that the model did not read to their end."""
        images, record = self.images, self.prepared.folder.record.generator
        if images is None or record is None:
            return None

        def first(prompt: str, count: int) -> list[Attempt | None]:
            return [images.get(prompt, index) for index in range(count)]

        unread = unread_prompts(self.plan.prompts, first, record.unread_prompts)
        return unread_line(unread, len(self.plan.prompts))

    def problems(self) -> list[str]:
        """What was not embedded or answered, one line each."""
        lines = []
        for name, report in self.reports.items():
            # results say what it answers, question by question
            if is_file_of_answers(name):
                continue
            reasons = sorted(report.reasons.items(), key=lambda item: -item[1])[:3]
            lines += [
                f"{name}: {count} {'question has' if count == 1 else 'questions have'} "
                f"no answer: {why}"
                for why, count in reasons
            ]
            lines += _unread_lines(name, report.unread)
        controls = {store.name for store in self.controls.values()}
        for name, because in self.unread.items():
            if name in controls:
                continue
            count, (why, _) = because.total(), because.most_common(1)[0]
            images = "image has" if count == 1 else "images have"
            lines.append(
                f"{name}: {count} {images} no embedding and count as unknown; the most frequent "
                f"reason: {why.rstrip('.')}."
            )
        lines += [
            f"{name} was stopped: {reason.rstrip('.')}. Its work so far is kept; re-run the same "
            "command to continue."
            for name, reason in self.stopped.items()
        ]
        unread = self._unread_line()
        if unread is not None:
            lines.append(f"{unread}.")
        if self.changed:
            lines.append(
                f"{self.changed} images were generated again and differ from those before; they "
                "count now, and everything is observed anew on them."
            )
        return lines


def _unread_lines(judge: str, unread: Mapping[str, int]) -> list[str]:
    """Lines about answers in words that are no class, and count as unknown."""
    often = sorted(unread.items(), key=lambda item: (-item[1], item[0]))[:_EXAMPLES]
    return [
        f"{judge}: {count} {'answer counts' if count == 1 else 'answers count'} as unknown: {words}"
        for words, count in often
    ]


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
            except (
                T2IBenchError
            ) as error:  # of the disk; the others of the batch are recorded
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
