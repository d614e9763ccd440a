"""What the process that leads a run and its workers say to each other."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.rewritten_generator import RewriterInfo, Rewritten, rewritten
from t2ibench.pipeline.pieces import Part
from t2ibench.pipeline.preparation import Objects, Prepared, create_model
from t2ibench.pipeline.setup import make_worker
from t2ibench.pipeline.worker import Observers, Worker
from t2ibench.settings import RunSettings


@dataclass(frozen=True, slots=True)
class Order:
    """All that a worker has to know of a run.

    Attributes:
        settings: What was asked for, with encoders and judges by name.
        objects: Adapters that were given as Python objects.
        embeds: Whether encoders are needed.
        asks: Whether judges are needed.
        rewriter: What rewrites prompts, for the fingerprint; rewritings come with the pieces.
        cwd: The folder that relative paths of models are read from.
        path: `sys.path`, for models of the user's own.
    """

    settings: RunSettings
    objects: Objects
    embeds: bool
    asks: bool
    rewriter: RewriterInfo | None
    cwd: str
    path: tuple[str, ...]

    def worker(self, tell: Callable[[UserLine], None], stopping: Callable[[], bool]) -> Worker:
        """In the other process: a worker that makes its own models.

        Args:
            tell: Takes lines for the user.
            stopping: Whether it shall stop after the batch in hand.

        Raises:
            T2IBenchError: a model cannot be loaded.
        """
        with contextlib.suppress(OSError):
            os.chdir(self.cwd)
        sys.path += [item for item in self.path if item not in sys.path]
        generator = create_model(self.settings, self.objects)
        if generator is not None and self.rewriter is not None:
            generator = rewritten(generator, self.rewriter)
        needed = {"embeds": self.embeds, "asks": self.asks}
        lines = _Lines(tell)
        return make_worker(self.settings, self.objects, generator, lines, stopping, **needed)

    @classmethod
    def of(cls, prepared: Prepared, observing: bool) -> Order:
        """What a prepared run is to its workers.

        Raises:
            T2IBenchError: a Python object cannot be sent to another process.
        """
        _check_sendable(prepared.objects)
        here, generator = os.getcwd(), prepared.generator  # noqa: PTH109
        return cls(
            prepared.settings,
            # Prompts are rewritten before workers begin, by this process alone.
            replace(prepared.objects, rewriter=None),
            observing and prepared.plan.needs_encoder,
            observing and bool(prepared.plan.questions),
            generator.info if isinstance(generator, Rewritten) else None,
            here,
            tuple(item or here for item in sys.path),
        )


class _Lines:
    """What a worker says goes to the leader."""

    def __init__(self, tell: Callable[[UserLine], None]) -> None:
        self._tell = tell

    def say(self, text: str) -> None:
        self._tell(UserLine(text))

    def warn(self, text: str) -> None:
        self._tell(UserLine(text, warning=True))


def _check_sendable(objects: Objects) -> None:
    named: list[tuple[str, object]] = []
    if objects.generator is not None:
        named.append(("generator", objects.generator))
    named += [("encoder", one) for one in objects.encoders.values()]
    named += [("judge", one) for one in objects.judges.values()]
    for kind, one in named:
        name = getattr(one, "name", type(one).__name__)
        try:
            if type(one).__module__ == "__main__":
                raise TypeError("its class is defined in the script itself, not in a module")
            pickle.loads(pickle.dumps(one))
        except Exception as error:  # whatever an object's own code does when it is copied
            raise T2IBenchError(
                f"The {kind} '{name}' is a Python object that cannot be sent to another process: "
                f"{first_line(error).rstrip('.')}.",
                "Name it as package.module:factory, or leave workers and engine out.",
            ) from error


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """An encoder or judge that is loaded elsewhere: what the stores have to know of it.

    Attributes:
        name: Its name.
        fingerprint: Its fingerprint.
        embeds_images: Whether it does, for an encoder.
    """

    name: str
    fingerprint: str
    embeds_images: bool = False

    @classmethod
    def of(cls, model: Any) -> Any:
        """What stands for an encoder or a judge."""
        return cls(model.name, model.fingerprint, bool(getattr(model, "embeds_images", False)))


@dataclass(frozen=True, slots=True)
class WorkerModels:
    """A worker has its models.

    Attributes:
        where: The process and its machine, in words.
        generator: The generator's fingerprint.
        observers: What stands for its encoders, controls and judges.
    """

    where: str
    generator: str | None
    observers: Observers

    @classmethod
    def of(cls, worker: Worker) -> WorkerModels:
        """What the leader has to know of a worker."""
        known = worker.observers
        return cls(
            f"process {os.getpid()} on {socket.gethostname()}",
            worker.generator.fingerprint if worker.generator else None,
            Observers(
                [ModelInfo.of(one) for one in known.encoders],
                {name: ModelInfo.of(one) for name, one in known.controls.items()},
                [ModelInfo.of(one) for one in known.judges],
            ),
        )


@dataclass(frozen=True, slots=True)
class UserLine:
    """A line for the user.

    Attributes:
        text: The line.
        warning: Whether the user must see it.
    """

    text: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class PieceEnd:
    """A worker has given all parts of its piece."""


@dataclass(frozen=True, slots=True)
class WorkerError:
    """A worker cannot go on, and neither can another.

    Attributes:
        error: What was raised.
        trace: Where, as text.
    """

    error: BaseException
    trace: str

    @classmethod
    def because(cls, error: BaseException) -> WorkerError:
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
class WorkerDeath:
    """A worker has died.

    Attributes:
        why: How, in words.
        restarted: Whether it comes back by itself.
    """

    why: str
    restarted: bool = False


Message = WorkerModels | UserLine | Part | PieceEnd | WorkerError | WorkerDeath
