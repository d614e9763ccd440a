"""Embedding of image files and texts; the results are returned and stored elsewhere."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError, failing
from t2ibench.machine import cores
from t2ibench.models.protocols import Encoder, PreparesLikeAnother
from t2ibench.pipeline.generation import never
from t2ibench.pipeline.work_items import EmbeddingBatch, ImageToEmbed, UnreadableFile
from t2ibench.store.evidence import EvidenceStore, off_length, text_key
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.images import StoredImage
from t2ibench.worker_pool import computing_libraries

_T = TypeVar("_T")
_R = TypeVar("_R")
# Threads that decode images: three for four cores, and some where files are waited for. With more,
# they wait for Python's lock: on 16 cores, 12 threads decoded more images than 16 or 24, and the
# encoder waited for them, too. Beyond the largest number the lock would be all that counts.
_DECODERS = min(32, max(4, 3 * cores() // 4))
_LEAST_AHEAD = 32  # images that are decoded before the encoder asks for them
# failures in a row, after which it is the encoder that fails and not the images
ABORT_AFTER_ERRORS = 8
_LAST_ERRORS = 3  # the same at the end, where no later image shows that it still works
_NO_VECTOR = "the encoder gave NaN, which says that it has none"
# embeddings that are stored together: a kill loses at most these, and memory holds them
PART = 256


def missing_embeddings(
    images: Iterable[StoredImage], stores: Sequence[EvidenceStore]
) -> list[ImageToEmbed]:
    """Return each image that some encoder has not embedded, once, with these encoders."""
    seen: set[str] = set()
    missing: list[ImageToEmbed] = []
    for image in images:
        if image.sha256 not in seen:
            names = [
                store.name for store in stores if not store.has("images", image.sha256)
            ]
            if names:
                missing.append((image, names))
        seen.add(image.sha256)
    return missing


def missing_texts(texts: Iterable[str], store: EvidenceStore) -> list[str]:
    """Return the texts without a stored embedding, without duplicates."""
    by_key = {text_key(text): text for text in texts}
    return [by_key[key] for key in store.missing("texts", by_key)]


class _RaisedError(T2IBenchError):
    """An error that an encoder raised for some images, one of which may be the cause."""


@dataclass(slots=True)
class _Reading:
    """The progress of one encoder within a batch of images.

    Attributes:
        worked: Whether it has embedded images before.
        width: Numbers in an embedding, where that is known.
        embedded: Images that it gave an embedding.
        errors: Images in a row that raised an error, up to the last one.
        unread: Images without an embedding that are not stored yet, each with the reason.
        failed: Why it cannot go on.
    """

    worked: bool
    width: int | None
    embedded: int = 0
    errors: int = 0
    unread: dict[str, str] = field(default_factory=dict)
    failed: str | None = None

    def read(self, key: str) -> None:
        """Count an image as embedded, which ends a series of errors."""
        self.embedded += 1
        self.errors = 0

    def cannot_read(self, key: str, reason: str, *, raised: bool) -> None:
        """Record an image that could not be embedded; too many in a row make the encoder fail."""
        self.unread[key] = reason
        self.errors += raised
        if self.errors >= ABORT_AFTER_ERRORS:
            self.failed = reason

    def flush(self, name: str, part: EmbeddingBatch, *, last: bool) -> None:
        """Add images without embedding to `part` as NaN rows, once the encoder is known to work."""
        if self.failed is not None or not self.unread:
            return
        works = self.worked or self.embedded > 0
        if not last and (self.errors or not works):
            return  # whether it reads another image is not known yet
        if not works or self.width is None or self.errors > _LAST_ERRORS:
            reason = list(self.unread.values())[-1]
            self.failed = _no_numbers(name) if reason == _NO_VECTOR else reason
            return
        rows = np.full((len(self.unread), self.width), np.nan, np.float32)
        _add_rows(name, part, list(self.unread), rows)
        part.unread[name] = Counter(self.unread.values())
        self.unread.clear()


def embedded_images(
    wanted: Sequence[ImageToEmbed],
    encoders: Mapping[str, Encoder],
    widths: Mapping[str, int | None],
    stopping: Callable[[], bool] = never,
    worked: Collection[str] = (),
) -> Iterator[EmbeddingBatch]:
    """Yield batches of images embedded by all encoders; each file is decoded once.

    Threads decode and prepare images ahead of the encoders, once these are loaded. An image that
    an encoder cannot embed has a row of NaN; where that is so of every image, or of many in a row
    with an error, the encoder has failed. `worked` names those that have embedded others before.
    """
    readings = {name: _Reading(name in worked, widths.get(name)) for name in encoders}
    _load(wanted, encoders)
    ahead = 2 * max((encoder.batch_size for encoder in encoders.values()), default=1)
    compute_alone = partial(_compute_alone, computing_libraries())
    with ThreadPoolExecutor(_DECODERS, initializer=compute_alone) as pool:
        call = partial(_prepare, encoders, _preparers(encoders), readings)
        prepared = in_order(pool, call, wanted, max(ahead, _LEAST_AHEAD))
        for start in range(0, len(wanted), PART):
            if stopping():
                return
            part = EmbeddingBatch("images", len(wanted[start : start + PART]))
            waiting: dict[str, dict[str, Any]] = {name: {} for name in encoders}
            for image, _ in wanted[start : start + PART]:
                inputs = next(prepared)
                if isinstance(inputs, str):
                    part.damaged.append(UnreadableFile(image, inputs))
                    continue
                for name, value in inputs.items():
                    waiting[name][image.sha256] = value
                    if len(waiting[name]) >= encoders[name].batch_size:
                        _encode(encoders[name], waiting[name], part, readings[name])
            for name, encoder in encoders.items():
                _encode(encoder, waiting[name], part, readings[name])
                readings[name].flush(name, part, last=start + PART >= len(wanted))
            part.failures = {
                name: reading.failed
                for name, reading in readings.items()
                if reading.failed
            }
            yield part


def embedded_texts(
    texts: Sequence[str],
    encoder: Encoder,
    width: int | None,
    stopping: Callable[[], bool] = never,
) -> Iterator[EmbeddingBatch]:
    """Yield batches of embedded texts; if one fails, the last batch says why."""
    for start in range(0, len(texts), PART):
        part = texts[start : start + PART]
        try:
            with naming(encoder.name):
                rows = encoder.encode_texts(part)
            rows = checked_rows(encoder, rows, len(part), width)
        except T2IBenchError as error:
            yield EmbeddingBatch("texts", 0, failures={encoder.name: str(error)})
            return
        width = rows.shape[1]
        yield EmbeddingBatch(
            "texts", len(part), {encoder.name: (list(map(text_key, part)), rows)}
        )
        if stopping():
            return


def naming(name: str) -> AbstractContextManager[None]:
    """Return a context that raises an encoder's exceptions again as one line with its name."""
    return failing(f"The encoder '{name}' failed with")


def checked_rows(
    encoder: Encoder, values: Any, count: int, width: int | None
) -> Float32Array:
    """Return an encoder's embeddings, after checking their shape and unit length."""
    rows = np.asarray(values)
    if (
        rows.ndim != 2
        or len(rows) != count
        or (width is not None and rows.shape[1] != width)
    ):
        raise T2IBenchError(
            f"The encoder '{encoder.name}' gave embeddings of shape {rows.shape}; expected "
            f"({count}, {width or 'd'}).",
            "`t2ibench check adapter` says what an encoder must do.",
        )
    # A row of NaN is a text or an image without a vector.
    off = off_length(rows, may_lack=True) & np.isfinite(rows).all(axis=1)
    if off.any():
        raise T2IBenchError(
            f"The encoder '{encoder.name}' gave {int(off.sum())} of {count} embeddings that are "
            "not of unit length.",
            "It has to divide each by its norm; `t2ibench check adapter` says what an encoder "
            "must do.",
        )
    return rows


def encode(
    encoder: Encoder, prepared: Sequence[Any], width: int | None = None
) -> Float32Array:
    """Return the embeddings of prepared images, in batches of the encoder's preferred size.

    The row of an image that it cannot embed is NaN throughout.
    """
    size = max(1, encoder.batch_size)
    parts = []
    for start in range(0, len(prepared), size):
        batch = prepared[start : start + size]
        try:
            with naming(encoder.name):
                rows = encoder.encode_images(batch)
        except T2IBenchError as error:
            raise _RaisedError(error.message, error.hint) from error
        parts.append(checked_rows(encoder, rows, len(batch), width))
        width = parts[-1].shape[1]
    embeddings: Float32Array = np.concatenate(parts)
    embeddings[np.flatnonzero(~np.isfinite(embeddings).all(axis=1))] = np.nan
    return embeddings


def in_order(
    pool: ThreadPoolExecutor, call: Callable[[_T], _R], items: Iterable[_T], ahead: int
) -> Iterator[_R]:
    """Yield the result of a call for each item, in order, while threads work a little ahead."""
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
    """Prepare one image in this thread, so that libraries are not imported in several at once."""
    needed = {name for _, names in wanted for name in names}
    for image, _ in wanted:
        with suppress(UnreadableImageError):
            pixels = image.read()
            for name in needed:
                with suppress(T2IBenchError), naming(name):  # reported with its images
                    encoders[name].prepare(pixels)
            return


def _compute_alone(libraries: ThreadpoolController) -> None:
    """Have libraries compute in this thread alone; else each decoder starts one for each core."""
    torch = sys.modules.get("torch")
    if torch is not None:
        # torch takes its default for a thread when it first needs it, so it has to be asked first.
        torch.get_num_threads()
    libraries.limit(limits=1, user_api="openmp")


def _preparers(encoders: Mapping[str, Encoder]) -> dict[str, str]:
    """Return the name of the encoder that prepares images for each encoder, itself for most."""
    return {
        name: encoder.prepares_like
        if isinstance(encoder, PreparesLikeAnother)
        else name
        for name, encoder in encoders.items()
    }


def _prepare(
    encoders: Mapping[str, Encoder],
    preparers: Mapping[str, str],
    readings: Mapping[str, _Reading],
    wanted: ImageToEmbed,
) -> dict[str, Any] | str:
    """Return an image prepared for each of its encoders, or why it cannot be read."""
    image, names = wanted
    try:
        pixels = image.read()
    except UnreadableImageError as error:
        return str(error)
    inputs: dict[str, Any] = {}
    prepared: dict[str, Any] = {}
    for name in names:
        if readings[name].failed is not None:
            continue
        preparer = preparers[name]
        try:
            if preparer not in prepared:
                with naming(name):
                    prepared[preparer] = encoders[name].prepare(pixels)
            inputs[name] = prepared[preparer]
        except T2IBenchError as error:
            inputs[name] = error
    return inputs


def _encode(
    encoder: Encoder, waiting: dict[str, Any], part: EmbeddingBatch, reading: _Reading
) -> None:
    """Embed waiting images into `part`; where a batch fails, embed its images one by one."""
    batch = dict(waiting)
    waiting.clear()
    readable = {
        key: value
        for key, value in batch.items()
        if not isinstance(value, T2IBenchError)
    }
    results: dict[str, Float32Array | T2IBenchError] = {
        key: value for key, value in batch.items() if isinstance(value, T2IBenchError)
    }
    if reading.failed is not None:
        return
    try:
        results |= _by_key(encoder, readable, reading.width)
    except _RaisedError as error:
        # One image must not lose the others of its batch.
        for key, value in readable.items():
            results[key] = (
                error if len(readable) == 1 else _alone(encoder, value, reading.width)
            )
    except T2IBenchError as error:  # the rows break the encoder's contract
        reading.failed = str(error)
        return
    keys, rows = [], []
    for key in batch:
        result = results[key]
        if isinstance(result, T2IBenchError):
            reading.cannot_read(key, str(result), raised=True)
        elif not np.isfinite(result).all():
            reading.width = len(result)
            reading.cannot_read(key, _NO_VECTOR, raised=False)
        else:
            reading.width = len(result)
            reading.read(key)
            keys.append(key)
            rows.append(result)
    if keys:
        _add_rows(encoder.name, part, keys, np.stack(rows))


def _by_key(
    encoder: Encoder, prepared: Mapping[str, Any], width: int | None
) -> dict[str, Float32Array]:
    """Return the embeddings of prepared images, keyed by file hash."""
    if not prepared:
        return {}
    rows = encode(encoder, list(prepared.values()), width)
    return dict(zip(prepared, rows, strict=True))


def _alone(
    encoder: Encoder, prepared: Any, width: int | None
) -> Float32Array | T2IBenchError:
    """Return the embedding of one image, or the error that prevented it."""
    try:
        row: Float32Array = encode(encoder, [prepared], width)[0]
    except T2IBenchError as error:
        return error
    return row


def _no_numbers(name: str) -> str:
    return (
        f"The encoder '{name}' gave embeddings that are not numbers. In float16, --dtype "
        "float32 helps; else its weights are at fault, or the device."
    )


def _add_rows(
    name: str, part: EmbeddingBatch, keys: list[str], rows: Float32Array
) -> None:
    """Add one encoder's embeddings of images or texts to a batch."""
    keys_before, rows_before = part.rows.get(name, ([], rows[:0]))
    part.rows[name] = [*keys_before, *keys], np.concatenate([rows_before, rows])
