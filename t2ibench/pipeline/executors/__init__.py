"""Executors: who does the work items of a run. This process alone stores what they give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from t2ibench.pipeline.work_items import WorkItem, WorkResult
from t2ibench.pipeline.worker import Observers, Worker

GetWorkItem = Callable[[int], WorkItem | None]  # what is missing of a work item now


class Executor(Protocol):
    """Does work items of work."""

    observers: Observers

    def run(
        self, numbers: Iterable[int], get_item: GetWorkItem
    ) -> Iterator[WorkResult]:
        """Do work items, in any order; their results come as they are made."""
        ...

    def close(self) -> None:
        """End what it has started; called again, it does nothing."""
        ...


class InProcess:
    """Works in this process (see `Executor`)."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.observers = worker.observers

    def run(
        self, numbers: Iterable[int], get_item: GetWorkItem
    ) -> Iterator[WorkResult]:
        """Do work items one after the other."""
        for number in numbers:
            item = get_item(number)
            if item is not None and not self._worker.stopping():
                yield from self._worker.do(item)

    def close(self) -> None:
        """Nothing was started."""
