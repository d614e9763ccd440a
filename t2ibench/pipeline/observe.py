"""Embedding what the plan needs: one pass over each image, for all encoders."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import Encoder, FloatArray
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.images import Attempt, ImageStore

if TYPE_CHECKING:
    from PIL.Image import Image

_THREADS = 4
_PART = 256  # embeddings in one part on disk: what a kill can cost, and what memory holds


@dataclass(frozen=True, slots=True)
class Observer:
    """An encoder and where its evidence goes."""

    encoder: Encoder
    store: EvidenceStore


def open_observers(encoders: Sequence[Encoder], root: Path) -> list[Observer]:
    """The evidence stores of the encoders."""
    return [
        Observer(encoder, EvidenceStore(root, encoder.name, encoder.fingerprint))
        for encoder in encoders
    ]


def observe_texts(plan: Plan, observers: Sequence[Observer], reporter: Reporter) -> int:
    """Embed the texts that have no embedding yet; returns how many there were."""
    done = 0
    texts = {text_key(text): text for text in plan.texts}
    for observer in observers:
        missing = observer.store.missing("texts", texts)
        if not missing:
            continue
        done += len(missing)
        with reporter.stage(f"Reading texts ({observer.encoder.name})", len(missing), "texts") as t:
            for start in range(0, len(missing), _PART):
                keys = missing[start : start + _PART]
                rows = observer.encoder.encode_texts([texts[key] for key in keys])
                observer.store.add("texts", keys, rows)
                t.advance(len(keys))
    return done


def observe_images(
    plan: Plan, images: ImageStore, observers: Sequence[Observer], reporter: Reporter
) -> tuple[int, list[str]]:
    """Embed the images that have no embedding yet.

    Returns:
        How many were embedded, and a line for every file that could not be read. Such an image
        is removed from the store, so that the next run draws it again.
    """
    seeing = [observer for observer in observers if observer.encoder.embeds_images]
    wanted: dict[str, Attempt] = {}
    for request in plan.requests:
        if request.index >= plan.embedded.get(request.prompt, 0):
            continue
        attempt = images.get(request.prompt, request.index)
        if attempt is None or attempt.sha256 is None or attempt.sha256 in wanted:
            continue
        if any(not one.store.has("images", attempt.sha256) for one in seeing):
            wanted[attempt.sha256] = attempt
    if not wanted:
        return 0, []
    broken: list[str] = []
    with (
        ThreadPoolExecutor(_THREADS) as pool,
        reporter.stage("Reading images", len(wanted), "images") as ticker,
    ):
        attempts = list(wanted.values())
        for start in range(0, len(attempts), _PART):
            part = attempts[start : start + _PART]
            _observe_part(part, images, seeing, pool, broken)
            ticker.advance(len(part))
    return len(wanted) - len(broken), broken


def _observe_part(
    attempts: Sequence[Attempt],
    images: ImageStore,
    observers: Sequence[Observer],
    pool: ThreadPoolExecutor,
    broken: list[str],
) -> None:
    """Decode each image once and embed it with every encoder that has not seen it."""

    def read(attempt: Attempt) -> tuple[dict[int, Any], str]:
        picture, why = open_image(attempt, images)
        if picture is None:
            return {}, why
        return {
            number: one.encoder.prepare(picture)
            for number, one in enumerate(observers)
            if not one.store.has("images", attempt.sha256 or "")
        }, ""

    prepared: list[dict[str, Any]] = [{} for _ in observers]
    for attempt, (inputs, why) in zip(attempts, pool.map(read, attempts), strict=True):
        if why:
            broken.append(f"{images.path(attempt)} {why}")
            images.forget(attempt)
        for number, one in inputs.items():
            prepared[number][attempt.sha256 or ""] = one
    for observer, inputs_by_key in zip(observers, prepared, strict=True):
        if inputs_by_key:
            observer.store.add("images", list(inputs_by_key), _embed(observer, inputs_by_key))


def open_image(attempt: Attempt, images: ImageStore) -> tuple[Image | None, str]:
    """Decode one image and check that it is the one that was stored."""
    from PIL import Image

    try:
        data = images.path(attempt).read_bytes()
        if hashlib.sha256(data).hexdigest() != attempt.sha256:
            return None, "has changed since it was drawn"
        with Image.open(io.BytesIO(data)) as picture:
            return picture.convert("RGB"), ""
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        return None, f"cannot be read as a picture ({type(error).__name__})"


def _embed(observer: Observer, prepared: Mapping[str, Any]) -> FloatArray:
    encoder, inputs = observer.encoder, list(prepared.values())
    rows = np.concatenate(
        [
            encoder.encode_images(inputs[start : start + encoder.batch_size])
            for start in range(0, len(inputs), encoder.batch_size)
        ]
    )
    if not np.isfinite(rows).all():
        raise T2IBenchError(
            f"The encoder '{encoder.name}' gave embeddings that are not numbers.",
            "Try --dtype float32, or another device.",
        )
    return rows
