"""The work of one run, cut into shards that do not depend on who does them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import libraries_of
from t2ibench.models.protocols import Generator, Releasable, ReportsSettings
from t2ibench.pipeline.observers import AskReport, Damaged, EncoderRun, JudgeRun, Question
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.work import (
    MAX_CONSECUTIVE_FAILURES,
    ask,
    embed,
    embed_texts,
    generate,
    missing_embeddings,
    unanswered,
)
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
        batch_size: Images in one call of the generator; None for its own choice.
        again: Prompt and index of images to generate although they are stored.
        attempts: Attempts by status.
        embedded: Images and texts embedded now.
        damaged: Image files that could not be read.
        reports: Judge to the outcome of asking it.
        stopped: Judges that were stopped, with the reason.
    """

    plan: Plan
    folder: RunFolder
    images: ImageStore | None
    generator: Generator | None = None
    encoders: Sequence[EncoderRun] = ()
    judges: Sequence[JudgeRun] = ()
    batch_size: int | None = None
    again: frozenset[tuple[str, int]] = frozenset()
    attempts: Counter[str] = field(default_factory=Counter)
    embedded: int = 0
    damaged: list[Damaged] = field(default_factory=list)
    reports: dict[str, AskReport] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)

    @property
    def n_shards(self) -> int:
        """Shards of every stage."""
        return self.plan.n_shards

    def pending(self, stage: Stage) -> int:
        """How many images or questions a stage has left.

        Args:
            stage: 'generate', 'embed' or 'ask'.

        Returns:
            Images for 'generate' and 'embed'; for 'ask' questions about images, over all judges.
        """
        if self.images is None:
            return 0
        if stage == "generate":
            return len(pending_images(self.plan, self.images)) if self.generator else 0
        if stage == "embed":
            images = self._to_embed(range(self.n_shards))
            return (
                len(missing_embeddings(images, self._image_encoders()))
                if self._image_encoders()
                else 0
            )
        questions = list(self._to_ask(range(self.n_shards)))
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
        if self.images is None:
            return
        if stage == "generate":
            self._generate(number, advance)
        elif stage == "embed" and self._image_encoders():
            count, damaged = embed(self._to_embed([number]), self._image_encoders(), advance)
            self.embedded += count
            self.damaged += damaged
        elif stage == "ask":
            for judge in self.judges:
                self._ask(judge, number, advance)

    def embed_texts(self, run: EncoderRun, advance: Callable[[int], None]) -> None:
        """Embed the texts of the plan that one encoder has not seen.

        Args:
            run: The encoder with its embeddings.
            advance: Called with the number of texts after each batch.
        """
        self.embedded += embed_texts(self.plan.texts, run, advance)

    def _generate(self, number: int, advance: Callable[[int], None]) -> None:
        if self.generator is None or self.images is None:
            return

        def note(batch: Sequence[Attempt]) -> None:
            self.attempts.update(attempt.status for attempt in batch)
            advance(len(batch))
            failed = self.attempts["failed"]
            if failed >= ABORT_AFTER_FAILURES and failed == self.attempts.total():
                reason = (batch[-1].reason or "unknown").rstrip(".")
                raise T2IBenchError(
                    f"The first {failed} images all failed; the last error: {reason}.",
                    "Fix the cause and re-run the same command.",
                )

        generate(
            self.plan.shard(number),
            self.generator,
            self.images,
            batch_size=self.batch_size,
            again=self.again,
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
        if not record.libraries:
            update["libraries"] = versions(libraries_of(record.model))
        new = record.model_copy(update=update)
        if new != record:
            self.folder.record = self.folder.record.model_copy(update={"generator": new})
            self.folder.save()

    def release(self) -> None:
        """Let a generator that can free its memory do so, before encoders load."""
        if isinstance(self.generator, Releasable):
            self.generator.release()

    def _image_encoders(self) -> list[EncoderRun]:
        return [run for run in self.encoders if run.encoder.embeds_images]

    def _stored(self, numbers: Sequence[int]) -> Iterator[StoredImage]:
        assert self.images is not None
        for number in numbers:
            for request in self.plan.shard(number):
                attempt = self.images.get(request.prompt, request.index)
                if attempt is not None and attempt.sha256 is not None:
                    # One file may belong to several prompts: each asks its own questions.
                    yield StoredImage(
                        self.images.path(attempt), attempt.sha256, request.prompt, request.index
                    )

    def _to_embed(self, numbers: Sequence[int]) -> Iterator[StoredImage]:
        for image in self._stored(numbers):
            if image.index < self.plan.embedded.get(image.prompt, 0):
                yield image

    def _to_ask(self, numbers: Sequence[int]) -> Iterator[tuple[StoredImage, list[Question]]]:
        for image in self._stored(numbers):
            asked = self.plan.questions.get(image.prompt, {})
            wanted = [question for question, count in asked.items() if image.index < count]
            if wanted:
                yield image, wanted

    def _ask(self, run: JudgeRun, number: int, advance: Callable[[int], None]) -> None:
        name = run.judge.name
        if name in self.stopped:
            return
        report = self.reports.setdefault(name, AskReport())
        try:
            report.add(ask(self._to_ask([number]), run, streak=report.streak, on_batch=advance))
        except T2IBenchError as error:
            self.stopped[name] = str(error)
            return
        if report.streak >= MAX_CONSECUTIVE_FAILURES:
            self.stopped[name] = f"{report.streak} questions in a row failed."

    def problems(self) -> list[str]:
        """What the judges did not answer, one line each.

        Returns:
            The most frequent reasons, with the number of questions; empty if all were answered.
        """
        lines = []
        for name, report in self.reports.items():
            reasons = sorted(report.reasons.items(), key=lambda item: -item[1])[:3]
            lines += [f"{name}: {count} questions have no answer: {why}" for why, count in reasons]
            if name in self.stopped:
                lines.append(
                    f"{name} was stopped: {self.stopped[name]} Its answers so far are kept; "
                    "re-run the same command to continue."
                )
        return lines


def pending_images(plan: Plan, store: ImageStore) -> list[Any]:
    """The requests of the plan that still need an attempt.

    Args:
        plan: The plan.
        store: The stored images.

    Returns:
        The requests, in the order of the plan.
    """
    return [
        request for request in plan.requests if not store.is_done(request.prompt, request.index)
    ]
