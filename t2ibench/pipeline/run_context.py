"""The planned work of a run, known before generation, and its models."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from t2ibench.identity import ImageKey
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.models.generators import can_regenerate
from t2ibench.models.language import Rewriter
from t2ibench.models.library_messages import Journal
from t2ibench.models.protocols import Encoder, Generator, HasNotes, Judge
from t2ibench.pipeline.feasibility import Feasibility, exclusions
from t2ibench.pipeline.plan import Plan
from t2ibench.results.fixed_before import LooksRecord
from t2ibench.results.record import RunRecord
from t2ibench.results.run import RunFolder
from t2ibench.settings import RunSettings
from t2ibench.store.images import ImageStore
from t2ibench.store.locks import Notices, locked


@dataclass(slots=True)
class RunContext:
    """The planned work of a run, and the folder that stores it.

    Attributes:
        settings: What the user asked for, with the defaults of encoders and judges.
        folder: The run folder.
        plan: Every image, text and question that the tasks need.
        images: The images that are stored; None for a run on texts alone.
        feasibility: Which tasks can be done, and which prompts are short of images.
        warnings: What the user must know of tasks and folder before the run starts.
        call: The command line or the function that asked.
        judge_checks: What checks by people say of the judges.
        tasks_of_this_command: Ids of tasks that the same command measures in other rounds.
        stored_images_only: Whether nothing is generated: stored images are observed and scored.
        looks: Looks that are written down before anything is generated; None for none.
        plan_sha256: SHA-256 of the plan that the run keeps to; None for none.
        sources: The run that makes the source images; None for a run without edits.
        makes_sources: Whether this is such a run.
        needed_files: Images whose files are needed although everything is observed on them, because
            edits are still to be made from them.
        spent_elsewhere: What --max-cost has to cover besides: source images, or their edits.
        earlier: A run whose embeddings and answers about the same images and texts are reused;
            None for none.
    """

    settings: RunSettings
    folder: RunFolder
    plan: Plan
    images: ImageStore | None
    feasibility: Feasibility
    warnings: Sequence[str] = ()
    call: str = ""
    judge_checks: Sequence[JudgeCheck] = ()
    tasks_of_this_command: Collection[str] = ()
    stored_images_only: bool = False
    looks: LooksRecord | None = None
    plan_sha256: str | None = None
    sources: SourceRun | None = None
    makes_sources: bool = False
    needed_files: Collection[ImageKey] = ()
    spent_elsewhere: float = 0.0
    earlier: RunFolder | None = None

    @property
    def record(self) -> RunRecord:
        """The current record in the run folder."""
        return self.folder.record

    @property
    def short_of_images(self) -> Mapping[str, tuple[int, int]]:
        """How many images are available and needed, for each prompt that has too few."""
        return self.feasibility.short_of_images

    @property
    def notices(self) -> list[str]:
        """Warnings before the run starts, and lines on tasks that are not run."""
        return [*self.warnings, *exclusions(self.plan, self.feasibility.skipped)]

    @contextmanager
    def exclusive(self, notices: Notices) -> Iterator[None]:
        """Lock the run folder against other commands inside this context, waiting if necessary."""
        with locked(self.folder.path, notices=notices):
            self.folder.database.begin_run()
            try:
                self.folder.reload()
                if self.images is not None:
                    self.images.refresh()
                yield
            finally:
                self.folder.database.end_run()


@dataclass(frozen=True, slots=True)
class SourceRun:
    """The run, inside another run's folder, that makes the source images of its edits."""

    context: RunContext
    models: Models


@dataclass(frozen=True, slots=True)
class PythonAdapters:
    """Adapters that were given as Python objects; encoders and judges are keyed by name."""

    generator: Generator | None = None
    encoders: Mapping[str, Encoder] = field(default_factory=dict)
    judges: Mapping[str, Judge] = field(default_factory=dict)
    rewriter: Rewriter | None = None

    def __bool__(self) -> bool:
        return bool(self.generator or self.encoders or self.judges or self.rewriter)


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a run before their weights are loaded.

    Encoders and judges that the settings name are created by the workers.

    Attributes:
        generator: What makes the images, behind its rewriter; None for a run on texts alone.
        rewriter: What rewrites prompts before the generator reads them.
        adapters: The models that were given as Python objects.
        library_messages: What libraries warned of while these models were created and loaded.
    """

    generator: Generator | None
    rewriter: Rewriter | None = None
    adapters: PythonAdapters = field(default_factory=PythonAdapters)
    library_messages: Journal = field(default_factory=Journal)

    @property
    def notes(self) -> Sequence[str]:
        """Notes on how the generator's files were read."""
        return self.generator.notes if isinstance(self.generator, HasNotes) else ()

    @property
    def is_generator_an_object(self) -> bool:
        """Whether the generator was given as a Python object."""
        return self.adapters.generator is not None

    def reads_existing_images(self, settings: RunSettings) -> bool:
        """Return whether the model is a folder of existing images."""
        if self.is_generator_an_object or settings.model is None:
            return False
        return not can_regenerate(settings.model)
