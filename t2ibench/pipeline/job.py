"""The work of one run, cut into shards that do not depend on who does them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import Generator, ImageRequest, LooksUp, Releasable
from t2ibench.pipeline.asking import ask, unanswered
from t2ibench.pipeline.losses import all_failed
from t2ibench.pipeline.made_with import record_generator
from t2ibench.pipeline.observers import (
    AskReport,
    Damaged,
    EncoderRun,
    JudgeRun,
    Question,
    problem_lines,
)
from t2ibench.pipeline.pending import unfinished
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.sharing import Piece, Sharing, claim_name
from t2ibench.pipeline.work import embed, generate, missing_embeddings
from t2ibench.results.run import RunFolder
from t2ibench.store.answers import AnswerStore
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import Attempt, ImageStore, StoredImage, image_key
from t2ibench.store.locks import SILENT, Claims, Notices

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
        changed: Images generated again now whose files have other hashes than before.
        notices: Told for whom the run waits.
        news: How often other processes were seen to have added to the stores.
        sharing: What this process and others do.
        gives_up: Whether failures from the start on, without a success, stop the run.
        lost: Images that were tried now and not got, by status and reason.
        pieces: What every shard of a stage lacked when the stage began.
        settle: Writes down what images have cost; called with everything that is stored.
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
    changed: int = 0
    gives_up: bool = True
    lost: Counter[tuple[str, str]] = field(default_factory=Counter)
    notices: Notices = SILENT
    news: int = 0
    sharing: Sharing = field(init=False)
    pieces: dict[Stage, list[Piece]] = field(default_factory=dict)
    settle: Callable[[], None] = lambda: None
    _failed: set[str] = field(default_factory=set)  # keys of images that others failed to make

    def __post_init__(self) -> None:
        self.sharing = Sharing(Claims(self.folder.path, self.notices), self.notices.say)

    @property
    def n_shards(self) -> int:
        """Shards of every stage."""
        return self.plan.n_shards

    def order(self) -> list[int]:
        """The shards in the order in which this process had best try them."""
        start = int(self.sharing.claims.start() * self.n_shards)
        return [*range(start, self.n_shards), *range(start)]

    def pending(self, stage: Stage) -> int:
        """How many images or questions a stage has left; `run` then skips finished shards."""
        self.refresh()
        self.pieces[stage] = [self._piece(stage, number) for number in range(self.n_shards)]
        return sum(piece.known for piece in self.pieces[stage])

    def refresh(self, stage: Stage | None = None) -> None:
        """Read what other processes have stored since."""
        found = False
        if self.images is not None and stage in {None, "generate"}:
            new = self.images.reload()
            self._failed |= {attempt.key for attempt in new if attempt.status == "failed"}
            found = bool(new)
        if stage in {None, "embed"}:
            for run in (*self.encoders, *self.controls.values()):
                found |= run.store.refresh()
        if stage in {None, "ask"}:
            for judge in self.judges:
                found |= judge.store.refresh()
        self.news += found

    def _piece(self, stage: Stage, number: int) -> Piece:
        known, news = self._pending_in(stage, number), self.news

        def left() -> int:
            nonlocal known, news
            self.refresh(stage)
            if news != self.news:  # else it would be counted for nothing
                known, news = self._pending_in(stage, number), self.news
            return known

        def work(advance: Callable[[int], None]) -> None:
            self._work(stage, number, advance)

        return Piece(self._claim(stage, number), stage, left, work, known)

    def _claim(self, stage: Stage, number: int) -> str:
        requests = self.plan.shard(number)
        wanted = [(one.prompt, one.index) for one in requests]
        if stage == "embed":
            runs = (*self._working(self.encoders), *self._working(self.controls.values()))
            return claim_name(stage, number, wanted, sorted(r.encoder.fingerprint for r in runs))
        if stage == "ask":
            asked = {one.prompt: self.plan.questions.get(one.prompt) for one in requests}
            judges = sorted(run.judge.fingerprint for run in self.judges)
            return claim_name(stage, number, wanted, judges, asked)
        return claim_name(stage, number, wanted)

    def _pending_in(self, stage: Stage, number: int) -> int:
        if self.images is None:
            return 0
        if stage == "generate":
            return len(self._unfinished(number)) if self.generator else 0
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
        """Do what is missing of one shard, unless another process is at it."""
        if self.images is None:
            return
        pieces = self.pieces.get(stage)
        piece = pieces[number] if pieces else self._piece(stage, number)
        if piece.known:
            self.sharing.do(piece, advance)

    def _work(self, stage: Stage, number: int, advance: Callable[[int], None]) -> None:
        if stage == "generate":
            self.generate(self._unfinished(number), advance)
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

    def _unfinished(self, number: int) -> list[ImageRequest]:
        """What a shard lacks, without what another process has just failed to make."""
        assert self.images is not None
        missing = self._to_generate(number)
        if not self._failed:
            return missing
        keys = [image_key(self.images.fingerprint, one.prompt, one.index) for one in missing]
        return [one for one, key in zip(missing, keys, strict=True) if key not in self._failed]

    def texts(self) -> list[tuple[EncoderRun, Sequence[str]]]:
        """What each encoder and each control has to embed of the plan's texts."""
        plan = self.plan
        pairs = [(run, plan.texts_for(run.encoder.embeds_images)) for run in self.encoders]
        return [*pairs, *((run, plan.controlled_texts) for run in self.controls.values())]

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
        before = {
            attempt.key: attempt.sha256
            for request in requests
            if (attempt := self.images.get(request.prompt, request.index)) and attempt.sha256
        }

        def note(batch: Sequence[Attempt]) -> None:
            self.settle()
            self.changed += sum(
                one.sha256 is not None and before.get(one.key, one.sha256) != one.sha256
                for one in batch
            )
            self.attempts.update(one.status for one in batch)
            self.lost.update(
                (one.status, one.reason or "unknown") for one in batch if one.status != "ok"
            )
            advance(len(batch))
            failed = all_failed(self.attempts, self.lost)
            if failed >= ABORT_AFTER_FAILURES and self.gives_up and not again:
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
        record_generator(self.folder, self.generator, self.from_object, len(self.images or ()))

    def stores(self) -> list[EvidenceStore | AnswerStore]:
        """What its encoders, controls and judges have observed."""
        encoders = [run.store for run in (*self.encoders, *self.controls.values())]
        return [*encoders, *(run.store for run in self.judges)]

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
                yield self.images.image(attempt)

    def _to_generate(self, number: int) -> list[ImageRequest]:
        """A shard's images without an outcome, and those whose removed file is needed."""
        # Scores need the hash of an image alone. Its pixels are needed by an encoder or a judge
        # that has not seen them yet, and by a run that only generates.
        assert self.images is not None
        requests = unfinished(self.plan.shard(number), self.images)
        removed = {
            (request.prompt, request.index)
            for request in requests
            if (attempt := self.images.get(request.prompt, request.index))
            and attempt.status == "ok"
        }
        if not removed or not (self.encoders or self.judges):
            return requests
        for images, encoders in self._to_embed(number):
            removed -= {
                (image.prompt, image.index) for image in missing_embeddings(images, encoders)
            }
        questions = list(self._to_ask(number)) if removed and self.judges else []
        for judge in self.judges:
            removed -= {
                (image.prompt, image.index) for image, _ in unanswered(questions, judge.store)
            }
        return [one for one in requests if (one.prompt, one.index) not in removed]

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

    def check_looked_up(self) -> None:
        """Warn of answers that judges look up and that are about no image of this run."""
        for run in self.judges:
            if isinstance(run.judge, LooksUp) and self.images is not None:
                shards = range(self.plan.n_shards)
                line = run.judge.check_images(one for k in shards for one in self._to_ask(k))
                if line is not None:
                    self.notices.warn(line)

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
        damaged, self.damaged = self.damaged, []
        for report in self.reports.values():
            damaged, report.damaged = damaged + report.damaged, []
        return damaged

    def problems(self) -> list[str]:
        """What was not embedded or answered, one line each."""
        return problem_lines(self.reports, self.stopped, self.changed)
