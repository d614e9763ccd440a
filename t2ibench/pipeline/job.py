"""A run in progress: hands out missing work and stores the results.

The process that leads a run holds the job; it alone writes. Workers, here or elsewhere, get work
items and give back results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import ALL_BLACK
from t2ibench.pipeline.generation import GeneratedFile
from t2ibench.pipeline.generation_failures import GenerationFailures
from t2ibench.pipeline.generator_record import record_generator, record_unread, settle
from t2ibench.pipeline.missing_work import (
    MissingWork,
    ObservationStores,
    Stage,
)
from t2ibench.pipeline.rewriting import open_rewritings
from t2ibench.pipeline.run_context import Models, RunContext
from t2ibench.pipeline.work_items import (
    AskReport,
    EmbeddingBatch,
    GeneratedBatch,
    UnreadableFile,
    WorkItem,
    WorkResult,
)
from t2ibench.pipeline.worker import Observers
from t2ibench.store.images import Attempt, ImageStore


class Job:
    """A run in progress, which hands out missing work and stores the results.

    Attributes:
        missing: What the run still lacks.
        attempts: Images that were tried now, by status.
        not_generated: Images that were tried now and are none, by status and reason.
        changed: Images that were generated again and whose files differ from those before.
        embedded: Images and texts that were embedded now.
        reports: What came of asking each judge.
        unread: By encoder, why images have no embedding, with their numbers.
        damaged: Image files that cannot be used; they were removed.
        edits_stopped: Why no more edits are made; None while they are.
    """

    def __init__(
        self, context: RunContext, models: Models, observers: Observers
    ) -> None:
        """Open the stores of a run."""
        self.context = context
        self.models = models
        self.observers = observers
        self.images = context.images
        database = context.folder.database
        open_rewritings(models.generator, database)
        self.stores = ObservationStores.opened(database, observers)
        self.missing = MissingWork(
            context.plan,
            self.images,
            self.stores,
            needed_files=context.needed_files,
        )
        self.attempts = Counter[str]()
        self.not_generated = Counter[tuple[str, str]]()
        self.changed = 0
        self.embedded = 0
        self.reports: dict[str, AskReport] = {}
        self.unread: dict[str, Counter[str]] = {}
        self.damaged: list[UnreadableFile] = []
        self.edits_stopped: str | None = None
        self._black_prompts: set[str] = set()

    @property
    def stopped(self) -> dict[str, str]:
        """Why each encoder or judge was stopped during this run, keyed by name."""
        return self.missing.stopped

    @property
    def failures(self) -> GenerationFailures:
        """How many images failed in this call, and why."""
        return GenerationFailures(
            self.attempts, self.not_generated, self._black_prompts
        )

    def item(self, stage: Stage, number: int) -> WorkItem | None:
        """Return the missing work of part `number` of a stage as a work item; None if complete."""
        return self.missing.item(stage, number)

    def store(self, result: WorkResult) -> int:
        """Store a work item's result; return how many images, texts or questions it covers."""
        if isinstance(result, GeneratedBatch):
            return self._store_images(result)
        if isinstance(result, AskReport):
            return self._store_answers(result)
        return self._store_embeddings(result)

    def _store_images(self, result: GeneratedBatch) -> int:
        assert self.images is not None
        folder = self.context.folder
        keys = [file.request.key for file in result.files]
        earlier = [self.images.get(key) for key in keys]
        record_generator(
            folder,
            result.settings,
            result.libraries,
            self.models.is_generator_an_object,
            len(self.images),
        )
        record_unread(folder, result.unread)
        batch = store_images(result.files, self.images)
        self.settle()
        self.missing.tried.update(keys)
        for before, now in zip(earlier, batch, strict=True):
            if before is not None and _differ(before, now):
                self.changed += 1
        for attempt in batch:
            self.attempts[attempt.status] += 1
            if attempt.status != "ok":
                self.not_generated[attempt.status, attempt.reason or "unknown"] += 1
                if attempt.reason == ALL_BLACK:
                    self._black_prompts.add(attempt.prompt)
        if not self._is_lenient():
            self._check_first_images(batch)
        return len(batch)

    def _check_first_images(self, batch: Sequence[Attempt]) -> None:
        """Raise an error if all first images failed; where they are edits, only stop editing.

        Tasks without edits then lose nothing.
        """
        try:
            self.failures.check_first_images(batch[-1].reason)
        except T2IBenchError as error:
            plan = self.context.plan
            is_edit = batch[-1].source is not None
            if not is_edit or all(needs.edits for needs in plan.needs.values()):
                raise
            self.edits_stopped = error.message
            self.missing.tried.update(request.key for request in plan.edits.requests)

    def _store_answers(self, result: AskReport) -> int:
        judge = next(
            store for store in self.stores.judges if store.name == result.judge
        )
        judge.add(result.answers)
        report = self.reports.setdefault(result.judge, AskReport())
        report.add(result)
        self.missing.streaks[result.judge] = report.streak
        self._record_judge_settings(result)
        if result.stopped is not None:
            self.stopped[result.judge] = result.stopped
        self._remove_files(result.damaged)
        return result.questions

    def _store_embeddings(self, result: EmbeddingBatch) -> int:
        for store in self.stores.embeddings:
            if store.name in result.rows:
                store.add(result.kind, *result.rows[store.name])
        self.embedded += result.embedded
        for name, reasons in result.unread.items():
            self.unread.setdefault(name, Counter()).update(reasons)
        self._remove_files(result.damaged)
        self.stopped.update(result.failures)
        return result.tried

    def _record_judge_settings(self, result: AskReport) -> None:
        """Record a judge's effective settings as soon as they change."""
        folder = self.context.folder
        settings = dict(result.settings)
        recorded = folder.record.judge_settings
        if settings and recorded.get(result.judge) != settings:
            folder.update(judge_settings={**recorded, result.judge: settings})

    def _remove_files(self, damaged: Sequence[UnreadableFile]) -> None:
        """Remove unusable image files, so that the next run regenerates the images."""
        for file in damaged:
            with suppress(OSError):
                file.image.path.unlink()
            self.missing.removed.add(file.image.sha256)
        self.damaged += damaged

    def settle(self) -> None:
        """Record what images cost since the last call, and limit the generator to what remains."""
        context = self.context
        settle(
            context.folder,
            self.models.generator,
            context.settings.max_cost,
            context.spent_elsewhere,
        )

    def check_generated(self) -> None:
        """Raise an error if every attempted image failed, unless the run tolerates failures."""
        if not self._is_lenient() and not self.has_images():
            self.failures.check_all_images()

    def _is_lenient(self) -> bool:
        """Return whether failures are tolerated: with --allow-missing, or for existing images."""
        settings = self.context.settings
        return settings.allow_missing or self.models.reads_existing_images(settings)

    def is_unfinished(self) -> bool:
        """Return whether any image of the plan has no outcome or no file."""
        images = self.images
        return images is not None and not all(
            images.is_done(request.key) for request in self.context.plan.requests
        )

    def lacks_images(self) -> bool:
        """Return whether any image of the plan failed or was never attempted."""
        requests = self.context.plan.requests
        return self.images is not None and self.images.lacks(
            request.key for request in requests
        )

    def has_images(self) -> bool:
        """Return whether any image of the plan exists, or the plan needs none."""
        requests = self.context.plan.requests
        if self.images is None or not requests:
            return True
        attempts = (self.images.get(request.key) for request in requests)
        return any(
            attempt is not None and attempt.status == "ok" for attempt in attempts
        )


def _differ(before: Attempt, now: Attempt) -> bool:
    """Return whether two attempts at one image produced different files."""
    if before.sha256 is None or now.sha256 is None:
        return False
    return before.sha256 != now.sha256


def store_images(files: Sequence[GeneratedFile], store: ImageStore) -> list[Attempt]:
    """Write image files, then their rows, and return these; no row is without its file."""
    attempts: list[Attempt] = []
    hashes: dict[str, Float32Array] = {}
    failure: T2IBenchError | None = None
    for file in files:
        request = file.request
        if file.data is None:
            attempt = Attempt(
                request.key, request.seed, file.status, reason=file.reason
            )
        else:
            try:
                attempt = store.add_image(
                    request.key, request.seed, file.data, file.suffix
                )
            # The disk failed; the other images of the batch are recorded.
            except T2IBenchError as error:
                failure = failure or error
                continue
            if file.perceptual_hash is not None:
                hashes[attempt.sha256 or ""] = file.perceptual_hash
        attempts.append(replace(attempt, revised_prompt=file.revised_prompt))
    store.record(attempts, hashes)
    if failure is not None:
        raise failure
    return attempts
