"""Embedding images and texts: files and texts in, rows out. Nothing is stored here."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any, TypeVar

import numpy as np

from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError, failing
from t2ibench.models.protocols import Encoder
from t2ibench.pipeline.generation import never
from t2ibench.pipeline.pieces import Damaged, Embedded, ImageToEmbed
from t2ibench.store.evidence import EvidenceStore, off_length, text_key
from t2ibench.store.images import StoredImage
from t2ibench.store.pixels import UnreadableImageError

_T = TypeVar("_T")
_R = TypeVar("_R")
_THREADS = min(16, max(4, os.cpu_count() or 1))  # that decode images
_LEAST_AHEAD = 32  # images that are decoded before the encoder asks for them
PART = 256  # embeddings that are stored together: what a kill can cost, and what memory holds


def missing_embeddings(
    images: Iterable[StoredImage], stores: Sequence[EvidenceStore]
) -> list[ImageToEmbed]:
    """The images that an encoder has not embedded yet, each file once, with who has not."""
    seen: set[str] = set()
    missing: list[ImageToEmbed] = []
    for image in images:
        if image.sha256 not in seen:
            names = [store.name for store in stores if not store.has("images", image.sha256)]
            if names:
                missing.append((image, names))
        seen.add(image.sha256)
    return missing


def missing_texts(texts: Iterable[str], store: EvidenceStore) -> list[str]:
    """The texts that have no embedding yet, each once."""
    by_key = {text_key(text): text for text in texts}
    return [by_key[key] for key in store.missing("texts", by_key)]


def embedded_images(
    wanted: Sequence[ImageToEmbed],
    encoders: Mapping[str, Encoder],
    widths: Mapping[str, int | None],
    stopping: Callable[[], bool] = never,
) -> Iterator[Embedded]:
    """Embed images; each file is decoded once for all encoders.

    Threads decode and prepare images ahead of the encoders, once these are loaded.
    """
    failed: dict[str, str] = {}
    known = dict(widths)
    _load(wanted, encoders)
    ahead = 2 * max((encoder.batch_size for encoder in encoders.values()), default=1)
    with ThreadPoolExecutor(_THREADS) as pool:
        call = partial(_prepare, encoders, failed)
        prepared = in_order(pool, call, wanted, max(ahead, _LEAST_AHEAD))
        for start in range(0, len(wanted), PART):
            if stopping():
                return
            part = Embedded("images", len(wanted[start : start + PART]))
            waiting: dict[str, dict[str, Any]] = {name: {} for name in encoders}
            for image, _ in wanted[start : start + PART]:
                found = next(prepared)
                if isinstance(found, str):
                    part.damaged.append(Damaged(image, found))
                    continue
                for name, value in found.items():
                    waiting[name][image.sha256] = value
                    if len(waiting[name]) >= encoders[name].batch_size:
                        _encode(encoders[name], waiting[name], part, failed, known)
            for name, encoder in encoders.items():
                _encode(encoder, waiting[name], part, failed, known)
            part.failures = dict(failed)
            yield part


def embedded_texts(
    texts: Sequence[str],
    encoder: Encoder,
    width: int | None,
    stopping: Callable[[], bool] = never,
) -> Iterator[Embedded]:
    """Embed texts, part by part; what was embedded before a failure is kept."""
    for start in range(0, len(texts), PART):
        part = texts[start : start + PART]
        try:
            with naming(encoder.name):
                rows = encoder.encode_texts(part)
            rows = checked_rows(encoder, rows, len(part), width)
        except T2IBenchError as error:
            yield Embedded("texts", 0, failures={encoder.name: str(error)})
            return
        width = rows.shape[1]
        yield Embedded("texts", len(part), {encoder.name: (list(map(text_key, part)), rows)})
        if stopping():
            return


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
            "`t2ibench check adapter` says what an encoder must do.",
        )
    # A row of NaN is a text without a vector; `encode` refuses such images.
    off = off_length(rows, may_lack=True) & np.isfinite(rows).all(axis=1)
    if off.any():
        raise T2IBenchError(
            f"The encoder '{encoder.name}' gave {int(off.sum())} of {count} embeddings that are "
            "not of unit length.",
            "It has to divide each by its norm; `t2ibench check adapter` says what an encoder "
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
    pool: ThreadPoolExecutor, call: Callable[[_T], _R], items: Iterable[_T], ahead: int
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


def _load(wanted: Sequence[ImageToEmbed], encoders: Mapping[str, Encoder]) -> None:
    """Load here what loads with a first image: threads that import a library at once break it."""
    needed = {name for _, names in wanted for name in names}
    for image, _ in wanted:
        with suppress(UnreadableImageError):
            pixels = image.read()
            for name in needed:
                with suppress(T2IBenchError), naming(name):  # reported with its images
                    encoders[name].prepare(pixels)
            return


def _prepare(
    encoders: Mapping[str, Encoder], failed: Mapping[str, str], wanted: ImageToEmbed
) -> dict[str, Any] | str:
    """An image as each encoder takes it; why it cannot be read."""
    image, names = wanted
    try:
        pixels = image.read()
    except UnreadableImageError as error:
        return str(error)
    inputs: dict[str, Any] = {}
    for name in names:
        if name not in failed:
            try:
                with naming(name):
                    inputs[name] = encoders[name].prepare(pixels)
            except T2IBenchError as error:
                inputs[name] = error
    return inputs


def _encode(
    encoder: Encoder,
    waiting: dict[str, Any],
    part: Embedded,
    failed: dict[str, str],
    widths: dict[str, int | None],
) -> None:
    """Embed a batch, by the hashes of its images; what came before a failure is kept."""
    keys, batch, name = list(waiting), list(waiting.values()), encoder.name
    waiting.clear()
    if not batch or name in failed:
        return
    try:
        for one in batch:
            if isinstance(one, T2IBenchError):
                raise one
        rows = encode(encoder, batch, widths.get(name))
    except T2IBenchError as error:
        failed[name] = str(error)
        return
    widths[name] = rows.shape[1]
    before, known = part.rows.get(name, ([], rows[:0]))
    part.rows[name] = [*before, *keys], np.concatenate([known, rows])
