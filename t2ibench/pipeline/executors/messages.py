"""What the process that leads a run and its workers say to each other."""

from __future__ import annotations

import pickle
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import Encoder, Judge
from t2ibench.models.rewritten import RewriterInfo
from t2ibench.pipeline.job import Job
from t2ibench.pipeline.observers import AskReport, Damaged
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.prepare import Objects
from t2ibench.settings import RunSettings
from t2ibench.store.images import StoredImage

Kind = Literal["generate", "embed", "ask", "texts", "again"]


@dataclass(frozen=True, slots=True)
class Order:
    """All that a worker has to know of a run.

    Attributes:
        settings: What was asked for, with encoders and judges by name.
        plan: What has to be there.
        folder: The run folder, absolute.
        cwd: The folder that relative paths of models are read from.
        path: `sys.path`, for models of the user's own.
        objects: Adapters that were given as Python objects.
        observing: Whether encoders and judges are needed.
        gives_up: Whether failures from the start on stop the run.
        token: A file that lies in the run folder while its leader lives; '' for none.
        rewriter: What rewrites prompts, for the fingerprint; a worker finds the rewritings in the
            run folder and asks for none.
    """

    settings: RunSettings
    plan: Plan
    folder: str
    cwd: str
    path: tuple[str, ...]
    objects: Objects
    observing: bool
    gives_up: bool
    token: str = ""
    rewriter: RewriterInfo | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """An encoder or judge that is loaded elsewhere: what the stores have to know of it.

    Attributes:
        name: Its name.
        fingerprint: Its fingerprint.
        batch_size: Its preferred batch.
        embeds_images: Whether it does, for an encoder.
    """

    name: str
    fingerprint: str
    batch_size: int
    embeds_images: bool = False

    @classmethod
    def of(cls, model: Encoder | Judge) -> Model:
        """What the stores have to know of a model."""
        embeds = bool(getattr(model, "embeds_images", False))
        return cls(model.name, model.fingerprint, model.batch_size, embeds)


@dataclass(frozen=True, slots=True)
class Ready:
    """A worker has its models.

    Attributes:
        where: The process and its machine, in words.
        generator: The generator's fingerprint.
        encoders: Encoders, in the order of the settings.
        controls: Encoder to its control.
        judges: Judges, in the order of the settings.
    """

    where: str
    generator: str | None
    encoders: tuple[Model, ...]
    controls: dict[str, Model]
    judges: tuple[Model, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of the work that one worker does.

    Attributes:
        kind: Which kind of work.
        number: Which shard, or which encoder's texts.
        stopped: Encoders and judges that are not asked any more.
        damaged: Images to generate again.
        finish: Instead of a shard: wait for the shards that other runs hold, and do what they
            leave undone.
    """

    kind: Kind
    number: int = 0
    stopped: dict[str, str] = field(default_factory=dict)
    damaged: Sequence[StoredImage] = ()
    finish: bool = False


@dataclass(slots=True)
class Report:
    """What became of a unit: what a job has counted since the last one.

    Attributes:
        held: Whether the process of another run is at it.
        others: Items that other runs did meanwhile, by kind.
        attempts: See `Job`; so are all others.
    """

    held: bool = False
    others: Counter[str] = field(default_factory=Counter)
    attempts: Counter[str] = field(default_factory=Counter)
    lost: Counter[tuple[str, str]] = field(default_factory=Counter)
    changed: int = 0
    embedded: int = 0
    damaged: list[Damaged] = field(default_factory=list)
    reports: dict[str, AskReport] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)

    @classmethod
    def taken(cls, job: Job) -> Report:
        """Take what a job has counted; it keeps what decides whether it goes on."""
        found = cls(
            bool(job.sharing.held),
            job.sharing.others,
            job.attempts,
            job.lost,
            job.changed,
            job.embedded,
            job.damaged,
            job.reports,
            dict(job.stopped),
        )
        job.sharing.others, job.attempts, job.lost = Counter(), Counter(), Counter()
        job.changed, job.embedded, job.damaged = 0, 0, []
        job.reports = {
            name: AskReport(streak=report.streak) for name, report in found.reports.items()
        }
        return found

    def given_to(self, job: Job) -> None:
        """Add it to what the leader's job has counted."""
        job.sharing.others += self.others
        job.attempts += self.attempts
        job.lost += self.lost
        job.changed += self.changed
        job.embedded += self.embedded
        job.damaged += self.damaged
        job.stopped |= self.stopped
        for name, report in self.reports.items():
            job.reports.setdefault(name, AskReport()).add(report)


@dataclass(frozen=True, slots=True)
class Advanced:
    """Items that a worker has stored.

    Attributes:
        count: How many.
    """

    count: int


@dataclass(frozen=True, slots=True)
class Said:
    """A line for the user.

    Attributes:
        text: The line.
        warning: Whether the user must see it.
    """

    text: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """A worker cannot go on, and neither can another.

    Attributes:
        error: What was raised.
        trace: Where, as text.
    """

    error: BaseException
    trace: str

    @classmethod
    def because(cls, error: BaseException) -> Failed:
        """What can be sent of an error."""
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        try:
            error.__traceback__ = None
            pickle.loads(pickle.dumps(error))
        except Exception:  # whatever an exception of other people's code does when it is copied
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return cls(error, trace)

    def reraise(self) -> None:
        """Raise it where the run is led."""
        if isinstance(self.error, T2IBenchError):
            raise self.error
        raise self.error from RuntimeError(f"in a worker:\n{self.trace}")


@dataclass(frozen=True, slots=True)
class Gone:
    """A worker has died.

    Attributes:
        why: How, in words.
        back: Whether it comes back by itself.
    """

    why: str
    back: bool = False


Message = Ready | Advanced | Said | Report | Failed | Gone
