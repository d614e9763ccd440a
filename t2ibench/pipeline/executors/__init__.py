"""Executors: who does the pieces of a run. This process alone stores what they give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from t2ibench.pipeline.pieces import Part, Piece
from t2ibench.pipeline.worker import Observers, Worker

Cut = Callable[[int], Piece | None]  # what is missing of a piece now


class Executor(Protocol):
    """Does pieces of work."""

    observers: Observers

    def run(self, numbers: Iterable[int], cut: Cut) -> Iterator[Part]:
        """Do pieces, in any order; their parts come as they are made."""
        ...

    def close(self) -> None:
        """End what it has started; called again, it does nothing."""
        ...


class InProcess:
    """Works in this process (see `Executor`)."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.observers = worker.observers

    def run(self, numbers: Iterable[int], cut: Cut) -> Iterator[Part]:
        """Do pieces one after the other."""
        for number in numbers:
            piece = cut(number)
            if piece is not None and not self._worker.stopping():
                yield from self._worker.do(piece)

    def close(self) -> None:
        """Nothing was started."""
