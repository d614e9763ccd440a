"""A worker with its models, which performs work items and stores nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from t2ibench.errors import T2IBenchError, failing
from t2ibench.models.encoders import create_encoder
from t2ibench.models.generators import libraries_of
from t2ibench.models.hub import NotDownloadedError
from t2ibench.models.judges import create_judges
from t2ibench.models.library_messages import LibraryMessage, journal
from t2ibench.models.protocols import (
    Encoder,
    FixesBatchSize,
    Generator,
    HasUntrained,
    Judge,
    Releasable,
    ReportsSettings,
    ReportsUnread,
    ReportsWaits,
    TowerReading,
)
from t2ibench.models.resolution import checked
from t2ibench.models.rewriter_info import RewriterInfo
from t2ibench.models.rewritten_generator import Rewritten, rewritten
from t2ibench.models.servers import StopHeard, heed
from t2ibench.pipeline.embedding import embedded_images, embedded_texts
from t2ibench.pipeline.generation import GeneratedFile, generated, never
from t2ibench.pipeline.judging import answered
from t2ibench.pipeline.people_tables import judge_arguments
from t2ibench.pipeline.preparation import create_model
from t2ibench.pipeline.run_context import PythonAdapters, RunContext
from t2ibench.pipeline.work_items import (
    GeneratedBatch,
    ImagesToEmbed,
    ImagesToGenerate,
    QuestionsToAsk,
    TextsToEmbed,
    WorkItem,
    WorkResult,
)
from t2ibench.results.run import versions
from t2ibench.settings import RunSettings

_Model = TypeVar("_Model")
_JUDGES = "Without a download: --judge answers:FILE (human labels)."
_ENCODERS = (
    "Without a download: weights in a file, --encoder open_clip:ARCH/FILE.safetensors#TAG, or "
    "tasks that ask a judge, such as one that `t2ibench propose` writes."
)


@dataclass(frozen=True, slots=True)
class Observers:
    """The encoders and judges of a run."""

    encoders: Sequence[Encoder] = ()
    # encoder to its random weights
    controls: Mapping[str, Encoder] = field(default_factory=dict)
    judges: Sequence[Judge] = ()


@dataclass(slots=True)
class Worker:
    """Performs work items with its own models."""

    generator: Generator | None
    observers: Observers
    model: str | None = None  # as it was named; None for a Python object
    batch_size: int | None = None  # of the generator; None for its own choice
    stopping: Callable[[], bool] = never
    _generated: bool = False

    def do(self, item: WorkItem) -> Iterator[WorkResult]:
        """Perform a work item, and yield each result as soon as it is ready.

        Where the run is asked to stop while a server is waited for, the rest does not come.
        """
        with suppress(StopHeard):
            yield from self._do(item)

    def _do(self, item: WorkItem) -> Iterator[WorkResult]:
        if isinstance(item, ImagesToGenerate):
            self._generated = True
            generator = self.generator
            assert generator is not None
            if item.rewritings is not None and isinstance(generator, Rewritten):
                generator.rewritings = item.rewritings
            libraries = self._libraries()
            for files in generated(
                item.requests,
                generator,
                batch_size=self.batch_size,
                stopping=self.stopping,
            ):
                yield _batch_of(generator, files, libraries)
            return
        if self._generated and isinstance(self.generator, Releasable):
            self.generator.release()  # encoders need the memory
        self._generated = False
        if isinstance(item, ImagesToEmbed):
            yield from self._embed_images(item)
        elif isinstance(item, TextsToEmbed):
            encoder = self._encoders()[item.encoder]
            yield from embedded_texts(item.texts, encoder, item.width, self.stopping)
        elif isinstance(item, QuestionsToAsk):
            yield from self._ask(item)

    def _libraries(self) -> dict[str, str]:
        """Return the versions of libraries that affect pixels, keyed by library."""
        return {} if self.model is None else versions(libraries_of(self.model))

    def _embed_images(self, item: ImagesToEmbed) -> Iterator[WorkResult]:
        needed = {name for _, names in item.images for name in names}
        encoders = {
            name: encoder
            for name, encoder in self._encoders().items()
            if name in needed
        }
        yield from embedded_images(
            item.images, encoders, item.widths, self.stopping, item.worked
        )

    def _ask(self, item: QuestionsToAsk) -> Iterator[WorkResult]:
        judge = next(
            judge for judge in self.observers.judges if judge.name == item.judge
        )
        for report in answered(
            item.questions, judge, streak=item.streak, stopping=self.stopping
        ):
            report.judge = item.judge
            if isinstance(judge, ReportsSettings):
                report.settings = dict(judge.effective_settings())
            yield report

    def _encoders(self) -> dict[str, Encoder]:
        encoders = (*self.observers.encoders, *self.observers.controls.values())
        return {encoder.name: encoder for encoder in encoders}


def _batch_of(
    generator: Generator, files: list[GeneratedFile], libraries: Mapping[str, str]
) -> GeneratedBatch:
    """Return generated files with the generator's report on its settings."""
    settings: Mapping[str, Any] = {}
    if isinstance(generator, ReportsSettings):
        settings = dict(generator.effective_settings())
    unread: Mapping[str, Sequence[TowerReading]] = {}
    if isinstance(generator, ReportsUnread):
        unread = dict(generator.unread_prompts())
    return GeneratedBatch(files, settings, libraries, unread)


@dataclass(frozen=True, slots=True)
class UserLine:
    """A message from a remote worker to the user."""

    text: str
    warning: bool = False
    message: LibraryMessage | None = None  # where it is a library's


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """The inputs from which a worker for a run is created.

    Attributes:
        settings: The settings of the run.
        embeds: Whether there is something to embed; else no encoder is loaded.
        asks: Whether there are questions; else no judge is loaded.
        rewriter: What stands before the generator.
        recorded_batch_size: How many images at a time the run's first images were generated; None
            where there are none, or do not depend on it.
        cwd: The folder that relative paths of models are read from.
        path: `sys.path`, for models of the user's own.
    """

    settings: RunSettings
    embeds: bool
    asks: bool
    rewriter: RewriterInfo | None
    recorded_batch_size: int | None
    cwd: str
    path: tuple[str, ...]

    @classmethod
    def for_run(
        cls, context: RunContext, generator: Generator | None, observing: bool
    ) -> WorkerSpec:
        """Return the inputs of workers; without `observing` they only generate."""
        plan = context.plan
        here = ""
        with suppress(FileNotFoundError):  # deleted; absolute paths still work
            here = os.getcwd()  # noqa: PTH109
        return cls(
            settings=context.settings,
            embeds=observing and plan.needs_encoder,
            asks=observing and plan.asks_judges,
            rewriter=generator.info if isinstance(generator, Rewritten) else None,
            recorded_batch_size=context.record.batch_size,
            cwd=here,
            path=tuple(item or here for item in sys.path),
        )

    def worker(
        self,
        generator: Generator | None,
        adapters: PythonAdapters,
        tell: Callable[[UserLine], None],
        stopping: Callable[[], bool],
    ) -> Worker:
        """Return a worker, created with its models."""
        settings = self.settings
        heed(stopping)
        judges = (
            _here(partial(_judges, settings, adapters), _JUDGES) if self.asks else []
        )
        create = partial(create_encoder, device=settings.device, dtype=settings.dtype)
        names = settings.encoder if self.embeds else ()
        encoders = _here(
            lambda: [adapters.encoders.get(n) or create(n) for n in names], _ENCODERS
        )
        for judge in judges:
            if isinstance(judge, ReportsWaits):
                judge.report_waits(lambda text: tell(UserLine(text)))
        controls = (
            {} if settings.control_encoder == "none" else _controls(encoders, tell)
        )
        observers = Observers(encoders, controls, judges)
        model = settings.model if adapters.generator is None else None
        batch_size = settings.batch_size
        if isinstance(generator, FixesBatchSize):
            recorded = self.recorded_batch_size
            generator.fix_batch_size(
                recorded or batch_size, recorded=recorded is not None
            )
            batch_size = None  # it is the generator's now
        return Worker(generator, observers, model, batch_size, stopping)

    def worker_elsewhere(
        self, tell: Callable[[UserLine], None], stopping: Callable[[], bool]
    ) -> Worker:
        """Return a worker, created in another process together with its generator."""
        # This process works for one run.
        journal().tell_by(lambda message: tell(UserLine(message.line, True, message)))
        with suppress(OSError):
            os.chdir(self.cwd)
        sys.path += [item for item in self.path if item not in sys.path]
        generator = create_model(self.settings, PythonAdapters())
        if generator is not None and self.rewriter is not None:
            generator = rewritten(generator, self.rewriter)
        return self.worker(generator, PythonAdapters(), tell, stopping)


def _here(load: Callable[[], list[_Model]], otherwise: str) -> list[_Model]:
    """Return loaded models; if a download is missing, raise an error that adds `otherwise`."""
    try:
        return load()
    except NotDownloadedError as error:
        raise T2IBenchError(error.message, f"{error.hint} {otherwise}") from error


def _controls(
    encoders: Sequence[Encoder], tell: Callable[[UserLine], None]
) -> dict[str, Encoder]:
    """Return an untrained copy of each encoder that offers one, keyed by encoder."""
    controls: dict[str, Encoder] = {}
    for encoder in encoders:
        if not isinstance(encoder, HasUntrained):
            continue
        try:
            with failing(f"The encoder '{encoder.name}' failed in untrained() with"):
                controls[encoder.name] = checked(
                    encoder.untrained(),
                    Encoder,
                    "encoder",
                    f"{encoder.name}, untrained",
                )
        except T2IBenchError as error:
            line = f"{str(error).rstrip('.')}. There is no control of random weights."
            tell(UserLine(line, warning=True))
    return controls


def _judges(settings: RunSettings, adapters: PythonAdapters) -> list[Judge]:
    named = [name for name in settings.judge if name not in adapters.judges]
    created = create_judges(
        named,
        judge_arguments(settings, named),
        device=settings.device,
        dtype=settings.dtype,
        encoders=[name for name in settings.encoder if name not in adapters.encoders],
    )
    by_name = dict(zip(named, created, strict=True)) | dict(adapters.judges)
    return [by_name[name] for name in settings.judge]
