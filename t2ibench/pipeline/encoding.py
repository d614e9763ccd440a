"""Calling an encoder, and checking what it gives before anything is stored."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import numpy as np

from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError, failing
from t2ibench.models.protocols import Encoder
from t2ibench.pipeline.observers import EncoderRun
from t2ibench.store.parts import off_length

_T = TypeVar("_T")
_R = TypeVar("_R")


def naming(name: str) -> AbstractContextManager[None]:
    """Turn an encoder's own exceptions into one line that names it."""
    return failing(f"The encoder '{name}' failed with")


def checked_rows(encoder: Encoder, values: Any, count: int, width: int | None) -> Float32Array:
    """Embeddings of the shape that they must have."""
    rows = np.asarray(values)
    if rows.ndim != 2 or len(rows) != count or (width is not None and rows.shape[1] != width):
        raise T2IBenchError(
            f"The encoder '{encoder.name}' gave embeddings of shape {rows.shape}; expected "
            f"({count}, {width or 'd'}).",
            "`t2ibench check-adapter` says what an encoder must do.",
        )
    # A row of NaN is a text without a vector; `encode` refuses such images.
    off = off_length(rows, may_lack=True) & np.isfinite(rows).all(axis=1)
    if off.any():
        raise T2IBenchError(
            f"The encoder '{encoder.name}' gave {int(off.sum())} of {count} embeddings that are "
            "not of unit length.",
            "It has to divide each by its norm; `t2ibench check-adapter` says what an encoder "
            "must do.",
        )
    return rows


def encode(encoder: Encoder, prepared: Sequence[Any], width: int | None = None) -> Float32Array:
    """Embeddings of prepared images, in batches of the encoder's own size."""
    size = max(1, encoder.batch_size)
    parts = []
    for start in range(0, len(prepared), size):
        batch = prepared[start : start + size]
        with naming(encoder.name):
            rows = encoder.encode_images(batch)
        parts.append(checked_rows(encoder, rows, len(batch), width))
        width = parts[-1].shape[1]
    embeddings: Float32Array = np.concatenate(parts)
    if not np.isfinite(embeddings).all():
        raise T2IBenchError(
            f"The encoder '{encoder.name}' gave embeddings that are not numbers.",
            "Try --dtype float32, or another device.",
        )
    return embeddings


def in_order(
    pool: Executor, call: Callable[[_T], _R], items: Iterable[_T], ahead: int
) -> Iterator[_R]:
    """What a call gives for each item, in their order; the pool works a little ahead."""
    waiting: deque[Future[_R]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(call, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


class Feed:
    """One encoder while it embeds a part: it gets a batch as soon as that is full.

    Args:
        run: The encoder.
        failures: Encoder to why it cannot go on; one that fails is added.
    """

    def __init__(self, run: EncoderRun, failures: dict[str, str]) -> None:
        self.run = run
        self._failures = failures
        self._waiting: dict[str, Any] = {}
        self._rows: dict[str, Float32Array] = {}

    def take(self, key: str, prepared: Any) -> None:
        """Embed one image, with the next ones."""
        if isinstance(prepared, T2IBenchError):
            self._failures.setdefault(self.run.encoder.name, str(prepared))
        self._waiting[key] = prepared
        if len(self._waiting) >= self.run.encoder.batch_size:
            self._encode()

    def store(self) -> None:
        """Embed what waits, and store the part; what was embedded before a failure is kept."""
        self._encode()
        if self._rows:
            self.run.store.add("images", list(self._rows), np.stack(list(self._rows.values())))
        self._rows = {}

    def _encode(self) -> None:
        batch, self._waiting = self._waiting, {}
        encoder, store = self.run.encoder, self.run.store
        if not batch or encoder.name in self._failures:
            return
        width = store.width or next((len(row) for row in self._rows.values()), None)
        try:
            rows = encode(encoder, list(batch.values()), width)
        except T2IBenchError as error:
            self._failures[encoder.name] = str(error)
        else:
            self._rows.update(zip(batch, rows, strict=True))
