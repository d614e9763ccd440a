"""What the process that leads a run and its workers say to each other."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from dataclasses import dataclass, replace

from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.protocols import Encoder, Judge
from t2ibench.models.rewritten_generator import RewriterInfo, Rewritten
from t2ibench.pipeline.pieces import Part
from t2ibench.pipeline.preparation import Objects, Prepared
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
    def of(cls, model: Encoder | Judge) -> ModelInfo:
        """What the stores have to know of a model."""
        embeds = bool(getattr(model, "embeds_images", False))
        return cls(model.name, model.fingerprint, embeds)


@dataclass(frozen=True, slots=True)
class WorkerModels:
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
    encoders: tuple[ModelInfo, ...]
    controls: dict[str, ModelInfo]
    judges: tuple[ModelInfo, ...]


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
