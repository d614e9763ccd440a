"""Storing generated images in threads, while the model generates the next ones."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType

from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import Drawn, ImageRequest
from t2ibench.store.images import Attempt, ImageStore
from t2ibench.store.pixels import UnreadableImageError, is_black, read_image

_THREADS = min(4, os.cpu_count() or 1)
_BATCHES = 2  # that wait to be recorded: what a kill can cost, and what memory holds


class Storing:
    """Stores batch after batch behind the model; a context that waits for what is left.

    Files are written by threads. Rows are written here, by the caller's thread, in the order of
    the batches and after the files of a batch, so that a row without its file never exists.

    Args:
        store: Where images go.
        on_batch: Told of every batch, once it is stored, in the caller's thread.
        behind: Whether batches may wait while the model goes on; not where a kill would lose what
            was paid for.

    Attributes:
        attempts: The outcome of each attempt that is recorded.
    """

    def __init__(
        self,
        store: ImageStore,
        on_batch: Callable[[Sequence[Attempt]], None],
        *,
        behind: bool = True,
    ) -> None:
        self._most = _BATCHES if behind else 0
        self._store = store
        self._on_batch = on_batch
        self._waiting: deque[list[Future[Attempt]]] = deque()
        self.attempts: list[Attempt] = []

    def __enter__(self) -> Storing:
        self._pool = ThreadPoolExecutor(_THREADS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Record what is left, after an error too: what was generated is kept."""
        failure = None
        try:
            while self._waiting:
                try:
                    self._record(_ignore if error or failure else self._on_batch)
                except Exception as found:
                    failure = failure or found
        finally:
            self._pool.shutdown()
        if error is None and failure is not None:
            raise failure

    def add(self, batch: Sequence[ImageRequest], outcomes: Sequence[Drawn]) -> None:
        """Store a batch."""
        pairs = zip(batch, outcomes, strict=True)
        self._waiting.append(
            [self._pool.submit(_stored, request, drawn, self._store) for request, drawn in pairs]
        )
        # The generator may write its next images to the same paths.
        most = 0 if any(drawn.path for drawn in outcomes) else self._most
        while self._waiting and (len(self._waiting) > most or _is_done(self._waiting[0])):
            self._record(self._on_batch)

    def _record(self, on_batch: Callable[[Sequence[Attempt]], None]) -> None:
        """Record the oldest batch: those of its images, too, beside which one could not be."""
        stored, failure = [], None
        for future in self._waiting.popleft():
            try:
                stored.append(future.result())
            except T2IBenchError as error:
                failure = failure or error
        self._store.record(stored)
        self.attempts += stored
        on_batch(stored)
        if failure is not None:
            raise failure


def _ignore(_: Sequence[Attempt]) -> None:
    pass


def _is_done(batch: Sequence[Future[Attempt]]) -> bool:
    return all(one.done() for one in batch)


def _stored(request: ImageRequest, outcome: Drawn, store: ImageStore) -> Attempt:
    """Store one image; what goes wrong with it alone is the failure of that image."""
    try:
        return replace(_store(request, outcome, store), revised_prompt=outcome.revised_prompt)
    except T2IBenchError:
        raise
    except Exception as error:
        reason = f"it could not be stored: {type(error).__name__}: {error}"[:500]
        return store.add_missing(request.prompt, request.index, request.seed, "failed", reason)


def _store(request: ImageRequest, outcome: Drawn, store: ImageStore) -> Attempt:
    at = (request.prompt, request.index, request.seed)
    if outcome.image is not None and outcome.status == "ok":
        return store.add_image(*at, outcome.image)
    if outcome.path is None or outcome.status != "ok":
        return store.add_missing(*at, outcome.status, outcome.reason or "no reason was given")
    try:
        image = read_image(outcome.path)
    except UnreadableImageError as error:
        return store.add_missing(*at, "failed", f"{outcome.file or outcome.path.name}: {error}")
    if is_black(image):
        reason = f"{outcome.file}: it is all black" if outcome.file else "the image is all black"
        return store.add_missing(*at, "filtered", reason)
    return store.add_file(*at, outcome.path)
