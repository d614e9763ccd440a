"""Generation of images from requests; the results are returned and stored elsewhere."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Generator as Yields
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import get_args

from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.machine import cores
from t2ibench.models.protocols import (
    ALL_BLACK,
    GeneratedImage,
    GeneratesInParts,
    Generator,
    ImageRequest,
    Status,
)
from t2ibench.pipeline.computed_edits import computed_image, is_computed
from t2ibench.redaction import redacted
from t2ibench.store.files import read_ordinary
from t2ibench.store.image_headers import UnreadableImageError, check_sides
from t2ibench.store.pixels import (
    file_suffix,
    is_black,
    perceptual_hash,
    read_image,
)

_THREADS = min(4, cores())
# Batches that wait to be written: a kill loses at most these, and memory holds them, encoded.
_BATCHES = 2
# Pixels of generated images that wait to be encoded before the next batch is generated: 32 images
# of 1,024 pixels a side, 8 of 2,048. That keeps the threads busy; where they are slower than the
# model, it waits for them sooner or later.
_MOST_DECODED = 2**25


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """The outcome of one request, with the bytes of the image's file.

    Attributes:
        request: What was asked for.
        status: 'ok', 'refused', 'filtered' or 'failed'.
        data: The bytes of the file, for status 'ok'.
        suffix: The ending of the file's name.
        reason: Why there is no image, for every other status.
        revised_prompt: The prompt that the model says it used instead.
        perceptual_hash: What the image looks like from afar, for status 'ok'.
    """

    request: ImageRequest
    status: str
    data: bytes | None = None
    suffix: str = ".png"
    reason: str = ""
    revised_prompt: str | None = None
    perceptual_hash: Float32Array | None = None


class _ContractError(Exception):
    """Raised if a generator does not return exactly one outcome for each request."""


def never() -> bool:
    """Return False: the default check for a stop request, for callers that never stop a run."""
    return False


def generated(
    requests: Sequence[ImageRequest],
    generator: Generator,
    *,
    batch_size: int | None = None,
    stopping: Callable[[], bool] = never,
) -> Yields[list[GeneratedFile], None, None]:
    """Yield batches of generated image files, encoded while the next batch is generated.

    What was generated before a failure or a request to stop still comes.
    """
    start = 0
    with ThreadPoolExecutor(_THREADS) as pool:
        encoding = _EncodingQueue(pool)
        try:
            while start < len(requests) and not stopping():
                # The generator may know it only once it has loaded its model.
                size = max(1, batch_size or generator.batch_size)
                batch = _of_one_kind(requests[start : start + size])
                start += len(batch)
                if is_computed(batch[0]):
                    encoding.add_computed(batch)
                    yield from encoding.finished(waiting=_BATCHES)
                    continue
                if isinstance(generator, GeneratesInParts):
                    # Images that were paid for are written at once.
                    for pairs in _in_parts(generator, batch):
                        encoding.add(pairs)
                        yield from encoding.finished(waiting=0)
                    continue
                outcomes = generate_batch(generator, batch)
                encoding.add(list(zip(batch, outcomes, strict=True)))
                # A generator may write its next images to the same paths.
                reads_paths = any(outcome.path for outcome in outcomes)
                del outcomes  # the next batch needs the memory
                yield from encoding.finished(waiting=0 if reads_paths else _BATCHES)
        except GeneratorExit:
            raise
        except BaseException:
            yield from encoding.remaining()
            raise
        yield from encoding.remaining()


def _of_one_kind(requests: Sequence[ImageRequest]) -> Sequence[ImageRequest]:
    """Return the first requests of a batch of one kind: prompts, a model's edits, or a run's."""
    first = _kind_of(requests[0])
    for number, request in enumerate(requests):
        if _kind_of(request) != first:
            return requests[:number]
    return requests


def _kind_of(request: ImageRequest) -> tuple[bool, bool]:
    """Return whether a request has a source image, and whether the run makes its image itself."""
    return request.source is not None, is_computed(request)


class _EncodingQueue:
    """A queue of image batches that threads encode, in the order of arrival."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._batches: deque[list[Future[GeneratedFile]]] = deque()
        # The files that are being encoded, each with the pixels that it is encoded from.
        self._decoded: deque[tuple[Future[GeneratedFile], int]] = deque()

    def add(self, pairs: Sequence[tuple[ImageRequest, GeneratedImage]]) -> None:
        """Start encoding the image files of a batch; return when few of them are decoded."""
        batch = [
            self._pool.submit(image_file, request, outcome)
            for request, outcome in pairs
        ]
        self._batches.append(batch)
        n_pixels = [_n_pixels(outcome) for _, outcome in pairs]
        self._decoded.extend(zip(batch, n_pixels, strict=True))
        while sum(n for _, n in self._decoded) > _MOST_DECODED:
            oldest, _ = self._decoded.popleft()
            wait([oldest])

    def add_computed(self, requests: Sequence[ImageRequest]) -> None:
        """Start making and encoding the images that a run makes itself."""
        self._batches.append(
            [self._pool.submit(_computed_file, request) for request in requests]
        )

    def finished(self, waiting: int) -> Iterator[list[GeneratedFile]]:
        """Yield encoded batches; wait for the oldest while more than `waiting` are pending."""
        while self._batches and (
            len(self._batches) > waiting or self._first_is_encoded()
        ):
            yield self._take_first()

    def remaining(self) -> Iterator[list[GeneratedFile]]:
        """Yield all pending batches of images, in order, as they are encoded."""
        while self._batches:
            yield self._take_first()

    def _first_is_encoded(self) -> bool:
        return all(file.done() for file in self._batches[0])

    def _take_first(self) -> list[GeneratedFile]:
        files = [file.result() for file in self._batches.popleft()]
        while self._decoded and self._decoded[0][0].done():
            self._decoded.popleft()
        return files


def _n_pixels(outcome: GeneratedImage) -> int:
    """Return how many pixels a result holds decoded."""
    return 0 if outcome.image is None else outcome.image.width * outcome.image.height


def _computed_file(request: ImageRequest) -> GeneratedFile:
    """Return the file of an image that the run makes itself."""
    return image_file(request, computed_image(request))


def generate_batch(
    generator: Generator, batch: Sequence[ImageRequest]
) -> list[GeneratedImage]:
    """Return the images of a batch; if it fails as a whole, generate them one by one."""
    try:
        return _complete(generator.generate(batch), len(batch))
    except T2IBenchError:
        raise
    except (Exception, SystemExit) as error:
        return _one_by_one(generator, batch, error)


def _complete(drawn: Sequence[GeneratedImage], count: int) -> list[GeneratedImage]:
    """Return the images of a batch; raise an error unless each request has one outcome."""
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
    return [_checked(outcome) for outcome in drawn]


def _one_by_one(
    generator: Generator, batch: Sequence[ImageRequest], error: BaseException
) -> list[GeneratedImage]:
    """Return the images of a failed batch, generated one by one; of one image, the failure."""
    if len(batch) > 1:
        return [
            outcome
            for request in batch
            for outcome in generate_batch(generator, [request])
        ]
    kind = "" if isinstance(error, _ContractError) else f"{type(error).__name__}: "
    return [GeneratedImage("failed", reason=f"{kind}{first_line(error)}")]


def _in_parts(
    generator: Generator, batch: Sequence[ImageRequest]
) -> Iterator[list[tuple[ImageRequest, GeneratedImage]]]:
    """Yield images in parts as the generator yields them, and after a failure one by one."""
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
        outcomes = generate_batch(generator, [request])
        yield [(request, outcome) for outcome in outcomes]


def _checked(outcome: GeneratedImage) -> GeneratedImage:
    from PIL.Image import Image

    if not isinstance(outcome, GeneratedImage):
        reason = f"the generator gave a {type(outcome).__name__}, not a GeneratedImage"
    elif outcome.status not in get_args(Status):
        reason = f"the generator gave the status '{outcome.status}'"
    elif outcome.status != "ok":
        return replace(outcome, reason=outcome.reason or "no reason was given")
    elif outcome.image is not None and not isinstance(outcome.image, Image):
        kind = type(outcome.image).__name__
        reason = f"the generator gave a {kind} as the image, not a PIL image"
    elif outcome.image is None and outcome.path is None and outcome.data is None:
        reason = "the generator gave no image"
    else:
        return outcome
    return GeneratedImage("failed", reason=reason)


def image_file(request: ImageRequest, outcome: GeneratedImage) -> GeneratedFile:
    """Return the file of an image: encoded as PNG, or the bytes that the generator wrote."""
    try:
        if outcome.status == "ok":
            return _encoded(request, outcome)
        status: str = outcome.status
        reason = redacted(str(outcome.reason))
    except UnreadableImageError as error:
        status = "failed"
        reason = f"{_name_of(outcome)}: {error}"
    # What goes wrong with one image is the failure of that image alone.
    except Exception as error:
        status = "failed"
        reason = f"it could not be stored: {type(error).__name__}: {first_line(error)}"
    return GeneratedFile(
        request, status, reason=reason, revised_prompt=outcome.revised_prompt
    )


def _encoded(request: ImageRequest, outcome: GeneratedImage) -> GeneratedFile:
    """Return the file of a generated image; an all-black image counts as filtered."""
    outcome = outcome.decoded()
    if outcome.image is not None:
        pixels = outcome.image
        check_sides(pixels.size)
        suffix = ".png"
        buffer = io.BytesIO()
        pixels.save(buffer, format="PNG", compress_level=4)
        data = buffer.getvalue()
    else:
        assert outcome.path is not None
        data = read_ordinary(outcome.path)
        pixels = read_image(data)
        suffix = file_suffix(data, _name_of(outcome))
    revised = outcome.revised_prompt
    if is_black(pixels):
        reason = f"{outcome.file}: it is all black" if outcome.file else ALL_BLACK
        return GeneratedFile(request, "filtered", reason=reason, revised_prompt=revised)
    return GeneratedFile(
        request=request,
        status="ok",
        data=data,
        suffix=suffix,
        revised_prompt=revised,
        perceptual_hash=perceptual_hash(pixels),
    )


def _name_of(outcome: GeneratedImage) -> str:
    """Return the name of a generated image's file for messages, or 'the image'."""
    return outcome.file or (outcome.path.name if outcome.path else "the image")
