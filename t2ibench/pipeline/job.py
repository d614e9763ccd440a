"""The work of one run, cut into shards that do not depend on who does them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import libraries_of
from t2ibench.models.protocols import Generator, ImageRequest, Releasable, ReportsSettings
from t2ibench.pipeline.asking import ask, unanswered
from t2ibench.pipeline.observers import AskReport, Damaged, EncoderRun, JudgeRun, Question
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.work import embed, embed_texts, generate, missing_embeddings
from t2ibench.results.environment import versions
from t2ibench.results.run import RunFolder
from t2ibench.store.images import Attempt, ImageStore, StoredImage

Stage = Literal["generate", "embed", "ask"]
# This many failures at the start, without a success, are the set-up's fault, not the images'.
ABORT_AFTER_FAILURES = 8


@dataclass(slots=True)
class Job:
    """A run while it is worked on.

    `run(stage, number)` is idempotent: it does what is missing of one shard. Shards depend on the
    plan alone, so any number of workers, in any order, give the same store.

    Attributes:
        plan: What has to be there.
        folder: The run.
        images: Its images; None without a generator.
        generator: The model; None if nothing is generated.
        encoders: Encoders with their embeddings.
        judges: Judges with their answers.
        controls: Encoders of random weights, by the name of the encoder that they are held
            against; they embed what that one is scored on.
        batch_size: Images in one call of the generator; None for its own choice.
        attempts: Attempts by status.
        embedded: Images and texts embedded now.
        damaged: Image files that could not be read.
        reports: Judge to the outcome of asking it.
        stopped: Encoders and judges that were stopped, with the reason.
        from_object: Whether the generator was given as a Python object.
    """

    plan: Plan
    folder: RunFolder
    images: ImageStore | None
    generator: Generator | None = None
    encoders: Sequence[EncoderRun] = ()
    judges: Sequence[JudgeRun] = ()
    batch_size: int | None = None
    attempts: Counter[str] = field(default_factory=Counter)
    embedded: int = 0
    damaged: list[Damaged] = field(default_factory=list)
    reports: dict[str, AskReport] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)
    from_object: bool = False
    controls: Mapping[str, EncoderRun] = field(default_factory=dict)
    _shards: dict[Stage, set[int]] = field(default_factory=dict)

    @property
    def n_shards(self) -> int:
        """Shards of every stage."""
        return self.plan.n_shards

    def pending(self, stage: Stage) -> int:
        """How many images or questions a stage has left; `run` then skips finished shards.

        Args:
            stage: 'generate', 'embed' or 'ask'.

        Returns:
            Images for 'generate' and 'embed'; for 'ask' questions about images, over all judges.
        """
        counts = [self._pending_in(stage, number) for number in range(self.n_shards)]
        self._shards[stage] = {number for number, count in enumerate(counts) if count}
        return sum(counts)

    def _pending_in(self, stage: Stage, number: int) -> int:
        if self.images is None:
            return 0
        if stage == "generate":
            return len(unfinished(self.plan.shard(number), self.images)) if self.generator else 0
        if stage == "embed":
            return sum(
                len(missing_embeddings(images, encoders))
                for images, encoders in self._to_embed(number)
            )
        questions = list(self._to_ask(number)) if self.judges else []
        return sum(
            len(missing)
            for judge in self.judges
            for _, missing in unanswered(questions, judge.store)
        )

    def run(self, stage: Stage, number: int, advance: Callable[[int], None]) -> None:
        """Do what is missing of one shard.

        Args:
            stage: Which kind of work.
            number: Which shard.
            advance: Told how many items are done.

        Raises:
            T2IBenchError: it cannot go on; what was done is kept.
        """
        if self.images is None or number not in self._shards.get(stage, {number}):
            return
        if stage == "generate":
            self.generate(self.plan.shard(number), advance)
        elif stage == "embed":
            for images, encoders in self._to_embed(number):
                report = embed(images, encoders, advance)
                self.embedded += report.embedded
                self.damaged += report.damaged
                self.stopped |= report.failures
        elif stage == "ask":
            questions = list(self._to_ask(number))
            for judge in self.judges:
                self._ask(judge, questions, advance)

    def texts(self) -> list[tuple[EncoderRun, Sequence[str]]]:
        """What each encoder and each control has to embed of the plan's texts."""
        pairs = [(run, self.plan.texts) for run in self.encoders]
        return [*pairs, *((run, self.plan.controlled_texts) for run in self.controls.values())]

    def embed_texts(
        self, run: EncoderRun, texts: Sequence[str], advance: Callable[[int], None]
    ) -> None:
        """Embed the texts that one encoder has not seen.

        Args:
            run: The encoder with its embeddings.
            texts: The texts.
            advance: Called with the number of texts after each batch.
        """
        try:
            self.embedded += embed_texts(texts, run, advance)
        except T2IBenchError as error:
            self.stopped[run.encoder.name] = str(error)

    def generate(
        self,
        requests: Sequence[ImageRequest],
        advance: Callable[[int], None],
        again: frozenset[tuple[str, int]] = frozenset(),
    ) -> None:
        """Generate what is missing of some images.

        Args:
            requests: The images.
            advance: Told how many are done.
            again: Prompt and index of those to generate although they are stored.

        Raises:
            T2IBenchError: the generator cannot go on; what was generated is kept.
        """
        if self.generator is None or self.images is None:
            return

        def note(batch: Sequence[Attempt]) -> None:
            self.attempts.update(attempt.status for attempt in batch)
            advance(len(batch))
            failed = self.attempts["failed"]
            if failed >= ABORT_AFTER_FAILURES and failed == self.attempts.total() and not again:
                reason = (batch[-1].reason or "unknown").rstrip(".")
                raise T2IBenchError(
                    f"The first {failed} images all failed; the last error: {reason}.",
                    "Fix the cause and re-run the same command.",
                )

        generate(
            requests,
            self.generator,
            self.images,
            batch_size=self.batch_size,
            again=again,
            before_storing=self._record_generator,
            on_batch=note,
        )

    def _record_generator(self) -> None:
        """Note what the generator really used, before its first image is stored."""
        record = self.folder.record.generator
        if record is None or self.generator is None:
            return
        update: dict[str, Any] = {}
        if isinstance(self.generator, ReportsSettings):
            update["effective_settings"] = dict(self.generator.effective_settings())
        if not record.libraries and not self.from_object and not len(self.images or ()):
            # Of images that are there already it is not known what made them.
            update["libraries"] = versions(libraries_of(record.model))
        new = record.model_copy(update=update)
        if new != record:
            self.folder.update(generator=new)

    def names(self) -> list[str]:
        """Names of the encoders."""
        return [run.encoder.name for run in self.encoders]

    def release(self) -> None:
        """Let a generator that can free its memory do so, before encoders load."""
        if isinstance(self.generator, Releasable):
            self.generator.release()

    def _working(self, runs: Iterable[EncoderRun]) -> list[EncoderRun]:
        return [
            run
            for run in runs
            if run.encoder.embeds_images and run.encoder.name not in self.stopped
        ]

    def _stored(self, number: int) -> Iterator[StoredImage]:
        assert self.images is not None
        for request in self.plan.shard(number):
            attempt = self.images.get(request.prompt, request.index)
            if attempt is not None and attempt.sha256 is not None:
                # One file may belong to several prompts: each asks its own questions.
                yield StoredImage(
                    self.images.path(attempt), attempt.sha256, request.prompt, request.index
                )

    def _to_embed(self, number: int) -> Iterator[tuple[list[StoredImage], list[EncoderRun]]]:
        """A shard's images with who embeds them; those that controls embed too come apart."""
        encoders, controls = self._working(self.encoders), self._working(self.controls.values())
        parts: tuple[list[StoredImage], list[StoredImage]] = ([], [])
        for image in self._stored(number) if encoders or controls else ():
            if image.index < self.plan.embedded.get(image.prompt, 0):
                alone = image.index >= self.plan.controlled.get(image.prompt, 0)
                parts[alone].append(image)
        for images, runs in zip(parts, ([*encoders, *controls], encoders), strict=True):
            if images and runs:
                yield images, runs

    def _to_ask(self, number: int) -> Iterator[tuple[StoredImage, list[Question]]]:
        for image in self._stored(number):
            asked = self.plan.questions.get(image.prompt, {})
            wanted = [question for question, count in asked.items() if image.index < count]
            if wanted:
                yield image, wanted

    def _ask(
        self,
        run: JudgeRun,
        questions: Sequence[tuple[StoredImage, Sequence[Question]]],
        advance: Callable[[int], None],
    ) -> None:
        name = run.judge.name
        if name in self.stopped:
            return
        report = self.reports.setdefault(name, AskReport())
        report.add(ask(questions, run, streak=report.streak, on_batch=advance))
        if report.stopped is not None:
            self.stopped[name] = report.stopped

    def take_damaged(self) -> list[Damaged]:
        """The images that could not be read, and forget that they could not."""
        damaged = self.damaged + [one for report in self.reports.values() for one in report.damaged]
        self.damaged = []
        for report in self.reports.values():
            report.damaged = []
        return damaged

    def problems(self) -> list[str]:
        """What was not embedded or answered, one line each.

        Returns:
            The most frequent reasons, with the number of questions; empty if all were answered.
        """
        lines = []
        for name, report in self.reports.items():
            reasons = sorted(report.reasons.items(), key=lambda item: -item[1])[:3]
            lines += [f"{name}: {count} questions have no answer: {why}" for why, count in reasons]
        lines += [
            f"{name} was stopped: {reason.rstrip('.')}. Its work so far is kept; re-run the same "
            "command to continue."
            for name, reason in self.stopped.items()
        ]
        return lines


def unfinished(requests: Sequence[ImageRequest], store: ImageStore) -> list[ImageRequest]:
    """The requests that still need an attempt.

    Args:
        requests: Images that have to be there.
        store: The stored images.

    Returns:
        The requests, in their order.
    """
    return [request for request in requests if not store.is_done(request.prompt, request.index)]


def pending_images(plan: Plan, store: ImageStore) -> list[ImageRequest]:
    """The requests of the plan that still need an attempt.

    Args:
        plan: The plan.
        store: The stored images.

    Returns:
        The requests, in the order of the plan.
    """
    return unfinished(plan.requests, store)
