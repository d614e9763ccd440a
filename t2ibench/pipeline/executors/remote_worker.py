"""A worker in another process: it makes its own models, and talks in messages."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Callable, Iterator

from t2ibench.models.rewritten_generator import rewritten
from t2ibench.pipeline.executors.messages import Message, ModelInfo, Order, UserLine, WorkerModels
from t2ibench.pipeline.pieces import Piece
from t2ibench.pipeline.preparation import create_model
from t2ibench.pipeline.progress import Ticker
from t2ibench.pipeline.setup import load_observers
from t2ibench.pipeline.worker import Worker


class _Lines:
    """A reporter whose lines go to the leader, which counts what is done itself."""

    def __init__(self, tell: Callable[[UserLine], None]) -> None:
        self._tell = tell

    @contextlib.contextmanager
    def stage(self, name: str, total: int, unit: str) -> Iterator[Ticker]:
        raise NotImplementedError(f"{name}: a worker shows no progress of its own")
        yield

    def say(self, text: str) -> None:
        self._tell(UserLine(text))

    def warn(self, text: str) -> None:
        self._tell(UserLine(text, warning=True))


class RemoteWorker:
    """A worker made from an order.

    Args:
        order: The run.
        tell: Takes lines for the user.
        stopping: Whether it shall stop after the batch in hand.

    Raises:
        T2IBenchError: a model cannot be loaded.
    """

    def __init__(
        self, order: Order, tell: Callable[[UserLine], None], stopping: Callable[[], bool]
    ) -> None:
        with contextlib.suppress(OSError):
            os.chdir(order.cwd)
        sys.path += [item for item in order.path if item not in sys.path]
        settings = order.settings
        generator = create_model(settings, order.objects)
        if generator is not None and order.rewriter is not None:
            generator = rewritten(generator, order.rewriter)
        observers = load_observers(
            settings, order.objects, _Lines(tell), embeds=order.embeds, asks=order.asks
        )
        model = settings.model if order.objects.generator is None else None
        self._worker = Worker(generator, observers, model, settings.batch_size, stopping)

    def ready(self) -> WorkerModels:
        """What the leader has to know of the models."""
        generator, observers = self._worker.generator, self._worker.observers
        return WorkerModels(
            f"process {os.getpid()} on {socket.gethostname()}",
            generator.fingerprint if generator else None,
            tuple(map(ModelInfo.of, observers.encoders)),
            {name: ModelInfo.of(control) for name, control in observers.controls.items()},
            tuple(map(ModelInfo.of, observers.judges)),
        )

    def do(self, piece: Piece) -> Iterator[Message]:
        """Do a piece."""
        return self._worker.do(piece)
