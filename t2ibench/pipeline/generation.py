"""Generating images: requests in, bytes out. Nothing is stored here."""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Generator as Yields
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import get_args

from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.protocols import (
    ALL_BLACK,
    GeneratedImage,
    GeneratesInParts,
    Generator,
    ImageRequest,
    Status,
)
from t2ibench.redaction import redacted
from t2ibench.store.pixels import (
    UnreadableImageError,
    file_suffix,
    is_black,
    look,
    read_image,
)

_THREADS = min(4, os.cpu_count() or 1)
_BATCHES = 2  # that wait for their files: what a kill can cost, and what memory holds


@dataclass(frozen=True, slots=True)
class ImageFile:
    """What became of one request."""

    request: ImageRequest
    status: str  # 'ok', 'refused', 'filtered' or 'failed'
    data: bytes | None = None  # of its file, for status 'ok', as is its look
    suffix: str = ".png"
    reason: str = ""
    revised_prompt: str | None = None  # what the model says it used instead
    look: Float32Array | None = None


class _ContractError(Exception):
    """A generator gave something else than one outcome for each request."""


def never() -> bool:
    """Nobody asks to stop."""
    return False


def generated(
    requests: Sequence[ImageRequest],
    generator: Generator,
    *,
    batch_size: int | None = None,
    stopping: Callable[[], bool] = never,
) -> Yields[list[ImageFile], None, None]:
    """Generate images, batch by batch; files are encoded while the next batch is generated.

    What was generated before a failure or a request to stop still comes.
    """
    waiting: deque[list[Future[ImageFile]]] = deque()
    start = 0
    # what was paid for is not kept waiting
    at_once = isinstance(generator, GeneratesInParts)
    with ThreadPoolExecutor(_THREADS) as pool:
        try:
            while start < len(requests) and not stopping():
                size = max(1, batch_size or generator.batch_size)  # it may grow
                batch = requests[start : start + size]
                start += size
                parts: Iterable[list[tuple[ImageRequest, GeneratedImage]]]
                if at_once:
                    parts = _in_parts(generator, batch)
                else:
                    try:
                        drawn = _complete(generator.generate(batch), len(batch))
                    except T2IBenchError:
                        raise
                    except (Exception, SystemExit) as error:
                        drawn = _one_by_one(generator, batch, error)
                    parts = [list(zip(batch, drawn, strict=True))]
                for part in parts:
                    waiting.append([pool.submit(image_file, *pair) for pair in part])
                    # A generator may write its next images to the same paths.
                    most = (
                        0 if at_once or any(one.path for _, one in part) else _BATCHES
                    )
                    while waiting and (
                        len(waiting) > most or all(f.done() for f in waiting[0])
                    ):
                        yield [future.result() for future in waiting.popleft()]
        except GeneratorExit:
            raise
        except BaseException:
            yield from _rest(waiting)
            raise
        yield from _rest(waiting)


def _rest(waiting: deque[list[Future[ImageFile]]]) -> Iterator[list[ImageFile]]:
    while waiting:
        yield [future.result() for future in waiting.popleft()]


def generate_batch(
    generator: Generator, batch: Sequence[ImageRequest]
) -> list[GeneratedImage]:
    """Generate a batch; if it fails as a whole, generate its images one by one."""
    try:
        return _complete(generator.generate(batch), len(batch))
    except T2IBenchError:
        raise
    except (Exception, SystemExit) as error:
        return _one_by_one(generator, batch, error)


def _complete(drawn: Sequence[GeneratedImage], count: int) -> list[GeneratedImage]:
    if isinstance(drawn, str) or not isinstance(drawn, Sequence):
        kind = type(drawn).__name__
        raise _ContractError(
            f"the generator gave a {kind}, not a list of GeneratedImage"
        )
    if len(drawn) != count:
        plural = "" if count == 1 else "s"
        raise _ContractError(
            f"the generator gave {len(drawn)} images for {count} request{plural}"
        )
    return [_checked(one) for one in drawn]


def _one_by_one(
    generator: Generator, batch: Sequence[ImageRequest], error: BaseException
) -> list[GeneratedImage]:
    """What is left of a batch that failed: no failure of a model may lose the other images."""
    if len(batch) > 1:
        return [
            one for request in batch for one in generate_batch(generator, [request])
        ]
    kind = "" if isinstance(error, _ContractError) else f"{type(error).__name__}: "
    return [GeneratedImage("failed", reason=f"{kind}{first_line(error)}")]


def _in_parts(
    generator: Generator, batch: Sequence[ImageRequest]
) -> Iterator[list[tuple[ImageRequest, GeneratedImage]]]:
    """A batch as its parts come; what a failure leaves is generated one by one."""
    assert isinstance(generator, GeneratesInParts)
    waiting = dict(enumerate(batch))
    try:
        for part in generator.generate_in_parts(batch):
            new = [(number, outcome) for number, outcome in part if number in waiting]
            yield [(waiting.pop(number), _checked(outcome)) for number, outcome in new]
    except T2IBenchError:
        raise
    except (Exception, SystemExit):
        pass
    for request in waiting.values():
        yield [(request, one) for one in generate_batch(generator, [request])]


def _checked(outcome: GeneratedImage) -> GeneratedImage:
    if not isinstance(outcome, GeneratedImage):
        reason = f"the generator gave a {type(outcome).__name__}, not a GeneratedImage"
    elif outcome.status not in get_args(Status):
        reason = f"the generator gave the status '{outcome.status}'"
    elif outcome.status != "ok":
        return replace(outcome, reason=outcome.reason or "no reason was given")
    elif outcome.image is None and outcome.path is None:
        reason = "the generator gave no image"
    else:
        return outcome
    return GeneratedImage("failed", reason=reason)


def image_file(request: ImageRequest, outcome: GeneratedImage) -> ImageFile:
    """The file of an image: PNG, or what the generator wrote, byte for byte."""
    revised = outcome.revised_prompt
    name = outcome.file or (outcome.path.name if outcome.path else "the image")
    status, reason = outcome.status, redacted(str(outcome.reason))
    try:
        if status == "ok":
            if outcome.image is not None:
                pixels, suffix, buffer = outcome.image, ".png", io.BytesIO()
                pixels.save(buffer, format="PNG", compress_level=4)
                data = buffer.getvalue()
            else:
                assert outcome.path is not None
                data = outcome.path.read_bytes()
                pixels, suffix = read_image(data), file_suffix(data, name)
            if not is_black(pixels):
                return ImageFile(request, "ok", data, suffix, "", revised, look(pixels))
            status = "filtered"
            reason = f"{outcome.file}: it is all black" if outcome.file else ALL_BLACK
    except UnreadableImageError as error:
        status, reason = "failed", f"{name}: {error}"
    except (
        Exception
    ) as error:  # what goes wrong with one image is the failure of that image
        reason = f"it could not be stored: {type(error).__name__}: {first_line(error)}"
        status = "failed"
    return ImageFile(request, status, reason=reason, revised_prompt=revised)
