"""Executors, which perform the work items of a run; only the main process stores results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from t2ibench.pipeline.work_items import WorkItem, WorkResult
from t2ibench.pipeline.worker import Observers, Worker

GetWorkItem = Callable[[int], WorkItem | None]  # returns what a work item still lacks


class Executor(Protocol):
    """Performs the work items of a run."""

    observers: Observers

    def run(
        self, numbers: Iterable[int], get_item: GetWorkItem
    ) -> Iterator[WorkResult]:
        """Perform the work items of these numbers in any order; yield results as they are ready."""
        ...

    def close(self) -> None:
        """Stop all started processes; further calls have no effect."""
        ...


class InProcess:
    """Performs work items in this process (see `Executor`)."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.observers = worker.observers

    def run(
        self, numbers: Iterable[int], get_item: GetWorkItem
    ) -> Iterator[WorkResult]:
        """Perform work items one after the other, and yield their results."""
        for number in numbers:
            item = get_item(number)
            if item is not None and not self._worker.stopping():
                yield from self._worker.do(item)

    def close(self) -> None:
        """Do nothing, because nothing was started."""
