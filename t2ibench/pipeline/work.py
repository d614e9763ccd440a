"""Two of the three kinds of work: generating images and embedding them; `asking` has the third.

Each is idempotent in the store: what is stored is not made again. A run, the explorer, the
leaderboard's verification and the caption command all work through these functions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, get_args

from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import (
    Drawn,
    ExpectsPrompts,
    GeneratesInParts,
    Generator,
    ImageRequest,
    Status,
)
from t2ibench.pipeline.encoding import Feed, checked_rows, in_order, naming
from t2ibench.pipeline.observers import Damaged, EmbedReport, EncoderRun
from t2ibench.pipeline.storing import Storing
from t2ibench.store.evidence import text_key
from t2ibench.store.images import Attempt, ImageStore, StoredImage
from t2ibench.store.pixels import UnreadableImageError, is_black

_THREADS = min(16, max(4, os.cpu_count() or 1))  # that decode images
_LEAST_AHEAD = 32  # images that are decoded before the encoder asks for them
_PART = 256  # embeddings in one part on disk: what a kill can cost, and what memory holds


def _ignore(_: Any) -> None:
    pass


def generate_batch(generator: Generator, batch: Sequence[ImageRequest]) -> list[Drawn]:
    """Generate a batch; if it fails as a whole, generate its images one by one."""
    try:
        outcomes = generator.generate(batch)
        if len(outcomes) != len(batch):
            raise ValueError(f"{len(outcomes)} images for {len(batch)} requests")
        return [_checked(outcome) for outcome in outcomes]
    except T2IBenchError:
        raise
    except (Exception, SystemExit) as error:  # no failure of a model may lose the other images
        if len(batch) == 1:
            return [Drawn("failed", reason=f"{type(error).__name__}: {error}"[:500])]
    return [generate_batch(generator, [request])[0] for request in batch]


def _generated(
    generator: Generator, batch: Sequence[ImageRequest]
) -> Iterator[list[tuple[ImageRequest, Drawn]]]:
    """A batch, as a whole or as its parts come; what a failure leaves is generated one by one."""
    if not isinstance(generator, GeneratesInParts):
        yield list(zip(batch, generate_batch(generator, batch), strict=True))
        return
    waiting = dict(enumerate(batch))
    try:
        for part in generator.generate_in_parts(batch):
            new = [(number, outcome) for number, outcome in part if number in waiting]
            yield [(waiting.pop(number), _checked(outcome)) for number, outcome in new]
    except T2IBenchError:
        raise
    except (Exception, SystemExit):  # no failure of a model may lose the other images
        pass
    for request in waiting.values():
        yield [(request, generate_batch(generator, [request])[0])]


def _checked(outcome: Drawn) -> Drawn:
    if not isinstance(outcome, Drawn):
        return Drawn("failed", reason=f"the generator gave a {type(outcome).__name__}, not a Drawn")
    if outcome.status not in get_args(Status):
        return Drawn("failed", reason=f"the generator gave the status '{outcome.status}'")
    if outcome.status != "ok":
        return outcome if outcome.reason else Drawn(outcome.status, reason="no reason was given")
    if outcome.image is None and outcome.path is None:
        return Drawn("failed", reason="the generator gave no image")
    if outcome.image is not None and is_black(outcome.image):
        return Drawn(
            "filtered", reason="the image is all black", revised_prompt=outcome.revised_prompt
        )
    return outcome


def generate(
    requests: Iterable[ImageRequest],
    generator: Generator,
    store: ImageStore,
    *,
    batch_size: int | None = None,
    again: Collection[tuple[str, int]] = (),
    before_storing: Callable[[], None] = lambda: None,
    on_batch: Callable[[Sequence[Attempt]], None] = _ignore,
) -> list[Attempt]:
    """Generate what is missing; a batch is stored while the next one is generated.

    Args:
        requests: The images that have to be there.
        generator: The model.
        store: Where images go.
        batch_size: Images at once; None for the generator's own choice.
        again: Prompt and index of images to generate although they are stored.
        before_storing: Called after a batch is generated, before it is stored.
        on_batch: Told of every batch, once it is stored.

    Returns:
        The outcome of each attempt.

    Raises:
        T2IBenchError: the generator cannot work at all, or the disk is full. What was generated
            before is kept.
    """
    todo = [
        request
        for request in requests
        if (request.prompt, request.index) in again
        or not store.is_done(request.prompt, request.index)
    ]
    if isinstance(generator, ExpectsPrompts):
        generator.expect(list(dict.fromkeys(request.prompt for request in todo)))
    in_parts = isinstance(generator, GeneratesInParts)
    with Storing(store, on_batch, behind=not in_parts) as storing:
        start = 0
        while start < len(todo):
            size = max(1, batch_size or generator.batch_size)  # it may grow
            for part in _generated(generator, todo[start : start + size]):
                before_storing()
                storing.add([request for request, _ in part], [outcome for _, outcome in part])
            start += size
    return storing.attempts


def embed_texts(
    texts: Iterable[str], run: EncoderRun, on_part: Callable[[int], None] = _ignore
) -> int:
    """Embed the texts that have no embedding yet."""
    by_key = {text_key(text): text for text in texts}
    missing = run.store.missing("texts", by_key)
    for start in range(0, len(missing), _PART):
        keys = missing[start : start + _PART]
        part = [by_key[key] for key in keys]
        with naming(run.encoder.name):
            rows = run.encoder.encode_texts(part)
        run.store.add("texts", keys, checked_rows(run.encoder, rows, len(part), run.store.width))
        on_part(len(keys))
    return len(missing)


def missing_embeddings(
    images: Iterable[StoredImage], runs: Sequence[EncoderRun]
) -> list[StoredImage]:
    """The images that any of the encoders has not embedded yet, each file once."""
    seen: set[str] = set()
    missing = []
    for image in images:
        if image.sha256 not in seen and any(
            not run.store.has("images", image.sha256) for run in runs
        ):
            missing.append(image)
        seen.add(image.sha256)
    return missing


def embed(
    images: Iterable[StoredImage],
    runs: Sequence[EncoderRun],
    on_part: Callable[[int], None] = _ignore,
) -> EmbedReport:
    """Embed the images that have no embedding yet; each file is decoded once for all encoders.

    Threads decode and prepare images ahead of the encoders, once these are loaded.
    """
    todo = missing_embeddings(images, runs)
    report = EmbedReport()
    _load([run for run in runs if missing_embeddings(todo, [run])], todo)
    ahead = 2 * max((run.encoder.batch_size for run in runs), default=1)
    with ThreadPoolExecutor(_THREADS) as pool:
        prepared = in_order(pool, partial(_prepare, runs, report), todo, max(ahead, _LEAST_AHEAD))
        for start in range(0, len(todo), _PART):
            part = todo[start : start + _PART]
            feeds = [Feed(run, report.failures) for run in runs]
            for image, found in zip(part, prepared, strict=False):
                if isinstance(found, str):
                    report.damaged.append(Damaged(image, found))
                    continue
                for feed in feeds:
                    if feed.run.encoder.name in found:
                        feed.take(image.sha256, found[feed.run.encoder.name])
            for feed in feeds:
                feed.store()
            on_part(len(part))
    report.embedded = len(todo) - len(report.damaged)
    return report


def _load(runs: Sequence[EncoderRun], images: Iterable[StoredImage]) -> None:
    """Load here what loads with a first image: threads that import a library at once break it."""
    for image in images:
        with suppress(UnreadableImageError):
            pixels = image.read()
            for run in runs:
                with suppress(T2IBenchError), naming(run.encoder.name):  # reported with its images
                    run.encoder.prepare(pixels)
            return


def _prepare(
    runs: Sequence[EncoderRun], report: EmbedReport, image: StoredImage
) -> dict[str, Any] | str:
    """An image as each encoder takes it; why it cannot be read."""
    try:
        pixels = image.read()
    except UnreadableImageError as error:
        return str(error)
    inputs: dict[str, Any] = {}
    for run in runs:
        name = run.encoder.name
        if name not in report.failures and not run.store.has("images", image.sha256):
            try:
                with naming(name):
                    inputs[name] = run.encoder.prepare(pixels)
            except T2IBenchError as error:
                inputs[name] = error
    return inputs
