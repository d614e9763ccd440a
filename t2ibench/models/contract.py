"""Test whether an adapter meets its contract: `t2ibench check adapter`, and tests of adapters.

Each function makes a model twice, tries it, and returns a line for everything that breaks the
contract of `t2ibench.models.protocols`; an empty list means that the adapter meets it.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from t2ibench.errors import T2IBenchError, first_line
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.protocols import (
    Answer,
    EditsImages,
    Encoder,
    GeneratedImage,
    Generator,
    ImageRequest,
    Judge,
    Query,
    Releasable,
    ReportsSettings,
)
from t2ibench.models.resolution import missing_members
from t2ibench.store.images import ImageFile, image_seed
from t2ibench.store.pixels import read_image

if TYPE_CHECKING:
    from PIL.Image import Image

PROMPTS = (
    "a photo of a nurse",
    "a photo of a rose",
    "a person",
    "a photo of an ant, war",
)
INSTRUCTIONS = ("make it snow", "add a hat")
TEXTS = (*PROMPTS, "man", "woman", "flower", "qzxv")
_QUESTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("What is the gender of the person in the image?", ("male", "female")),
    ("What is the weather in the image?", ("sunny", "rainy", "snowy")),
    ("What does the image show?", ()),
)
# An empty text, one that is longer than any model reads, and one of rare characters.
_ODD_TEXTS = {
    "the empty text": "",
    "a text of 4,000 characters": "a photo of a nurse " * 211,
    "emoji": "👩🏿‍⚕️ 🌷 🐜",
}
_MOST = 8  # items that a model is tried with, in batches of 1, 3 and this many
_CLOSE = 1e-5  # largest difference between embeddings of the same item
_UNIT = 1e-3  # largest difference of an embedding's length from 1
_HEX = re.compile(r"[0-9a-f]{64}")
_DIFFERS = (
    "fingerprint differs between two instances made in the same way; derive it from settings and "
    "weights, not from the object, the time or the process"
)
_THE_SAME = "fingerprint is the same with other arguments; hash every setting that decides a result"
_Make = Callable[[], Any]
# Takes items and words for how they are given, and returns a result for each item.
_Call = Callable[[list[Any], str], list[Any]]


class _BrokenError(Exception):
    """A recorded violation that makes the remaining checks pointless."""


def check_generator(
    make: _Make,
    *,
    make_other: _Make | None = None,
    prompts: Sequence[str] = PROMPTS,
    pixel_tolerance: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Return one line for each way in which a generator breaks its contract.

    A generator that edits is tried with source images, too. One that edits only refuses prompts
    without a source image with a T2IBenchError, and is tried with edits alone.

    Args:
        make: Creates the generator.
        make_other: Creates one that gives other images.
        prompts: What it is asked for.
        pixel_tolerance: Levels of 255 by which an image may differ between batch sizes: 1 allows
            for neural networks, whose matrix products round differently with the number of rows.
        tell: Gets a sentence about whether edits were tried.
    """
    trial = _Trial()
    with suppress(_BrokenError), source_images() as sources:
        generator, second = trial.made(Generator, make, make_other)
        trial.require_json("settings", lambda: generator.settings)
        edits = _edits_to_try(generator, sources, tell)
        requests: list[ImageRequest] = []
        images: list[Any] = []
        if not edits or not _edits_only(generator, prompts):
            requests = [
                ImageRequest(prompt, index, image_seed(0, prompt, index))
                for prompt in prompts
                for index in range(trial.available(generator, prompt, 2))
            ][:_MOST]
            images = _check_images(trial, generator, requests, pixel_tolerance)
        if edits:
            edited = trial.in_batches(
                edits, partial(trial.images_of, generator), "images", pixel_tolerance
            )
            some = any(image is not None for image in edited)
            trial.require(some, "none of the edits gives an image")
            requests = requests or edits
            images = images or edited
        other_models = {"by a second instance, made in the same way": second}
        if isinstance(generator, ReportsSettings):
            trial.require_json("effective_settings()", generator.effective_settings)
        if isinstance(generator, Releasable):
            trial.attempt("release()", generator.release)
            other_models["after release()"] = generator
        for where, model in other_models.items():
            if model is not None:
                repeated = trial.images_of(model, requests[:1], where)
                trial.compare(images[:1], repeated, where, "images")
    return trial.lines


def _check_images(
    trial: _Trial,
    generator: Generator,
    requests: list[ImageRequest],
    pixel_tolerance: int,
) -> list[Any]:
    """Return the images of prompts, after trying them in batches, and odd prompts alone."""
    trial.insist(
        bool(requests),
        "no image can be tried: it has none of the prompts (--prompt gives)",
    )
    images = trial.in_batches(
        requests, partial(trial.images_of, generator), "images", pixel_tolerance
    )
    trial.require(
        any(image is not None for image in images),
        "none of the prompts gives an image",
    )
    for what, text in _ODD_TEXTS.items():
        with suppress(_BrokenError):
            trial.images_of(generator, [ImageRequest(text, 0, 7)], f"for {what}")
    return images


def _edits_to_try(
    generator: Generator, sources: Sequence[ImageFile], tell: Callable[[str], None]
) -> list[ImageRequest]:
    """Return requests for edits; none where the generator makes no edits, as `tell` is told."""
    if not isinstance(generator, EditsImages):
        return []
    requests = [
        ImageRequest(text, 0, image_seed(0, text + source.sha256, 0), source=source)
        for text in INSTRUCTIONS
        for source in sources
    ]
    try:
        generator.check_edits()
    except T2IBenchError as error:
        tell(f"Edits were not tried: {first_line(error)}")
        return []
    refusal = _refusal_of(generator, requests[0])
    if refusal is not None:
        tell(f"Edits were not tried: {first_line(refusal)}")
        return []
    tell(f"Edits of {len(sources)} source images were tried, too.")
    return requests


def _edits_only(generator: Generator, prompts: Sequence[str]) -> bool:
    """Return whether a generator that edits refuses a prompt without a source image."""
    prompt = next(iter(prompts), "")
    request = ImageRequest(prompt, 0, image_seed(0, prompt, 0))
    return _refusal_of(generator, request) is not None


def _refusal_of(generator: Generator, request: ImageRequest) -> T2IBenchError | None:
    """Return the T2IBenchError with which a generator refuses a request; None if it does not."""
    try:
        generator.generate([request])
    except T2IBenchError as error:
        return error
    except Exception:  # that it is wrong is said where all requests are tried
        return None
    return None


@contextmanager
def source_images(count: int = 2) -> Iterator[list[ImageFile]]:
    """Give the files of `count` source images for trials, which exist inside this context."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, image in enumerate(sample_images(count + 2)[2:]):
            path = Path(folder, f"{number}.png")
            image.save(path)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            files.append(ImageFile(path, digest))
        yield files


def check_encoder(
    make: _Make, *, make_other: _Make | None = None, texts: Sequence[str] = TEXTS
) -> list[str]:
    """Return one line for each way in which an encoder breaks its contract.

    Embeddings of the same item may differ by 1e-5.
    """
    trial = _Trial()
    with suppress(_BrokenError):
        encoder, _ = trial.made(Encoder, make, make_other)
        encode = partial(trial.rows_of, encoder, "encode_texts")
        encoded = trial.in_batches(list(texts[:_MOST]), encode, "embeddings", _CLOSE)
        for what, text in _ODD_TEXTS.items():
            with suppress(_BrokenError):
                encode([text], f"for {what}")
        if not encoder.embeds_images:
            return trial.lines
        prepared = trial.attempt(
            "prepare()",
            lambda: [encoder.prepare(image) for image in sample_images(_MOST)],
        )
        look = partial(trial.rows_of, encoder, "encode_images")
        seen = trial.in_batches(prepared, look, "embeddings", _CLOSE)
        trial.require(
            not np.isnan(seen).all(),
            "encode_images() has rows of NaN alone; some image has an embedding",
        )
        trial.require(
            len(encoded[0]) == len(seen[0]),
            "images and texts have embeddings of different length; they must share one space",
        )
    return trial.lines


def check_judge(
    make: _Make, *, make_other: _Make | None = None, free_text: bool = True
) -> list[str]:
    """Return one line for each way in which a judge breaks its contract.

    `free_text` says whether the judge answers questions that have no classes.
    """
    trial = _Trial()
    queries = []
    for number, image in enumerate(sample_images(_MOST)):
        question, classes = _QUESTIONS[number % len(_QUESTIONS)]
        digest = hashlib.sha256(image.tobytes()).hexdigest()
        queries.append(
            Query(image, "a photo of a person", number, digest, question, classes)
        )
    with suppress(_BrokenError):
        judge, _ = trial.made(Judge, make, make_other)

        def texts(part: list[Query], how: str) -> list[str | None]:
            answers = trial.results("answer", judge.answer, part, how, Answer)
            for query, answer in zip(part, answers, strict=True):
                if answer.answer is None:
                    trial.require(
                        bool(answer.reason), "there is neither an answer nor a reason"
                    )
                elif query.classes:
                    trial.require(
                        answer.answer in (*query.classes, UNKNOWN),
                        f"the answer {answer.answer!r} is none of the classes "
                        f"{', '.join(query.classes)} and not '{UNKNOWN}'",
                    )
                else:
                    fits = (
                        free_text
                        and isinstance(answer.answer, str)
                        and bool(answer.answer)
                    )
                    trial.require(
                        fits,
                        f"the answer {answer.answer!r} in free text is no text, or its adapter "
                        "says free_text=False",
                    )
            return [answer.answer for answer in answers]

        trial.in_batches(queries, texts, "answers")
    return trial.lines


class _Trial:
    """Collects a line for each violation; raises `_BrokenError` if no further check makes sense."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def require(self, fulfilled: bool, line: str) -> None:
        """Record `line` as a violation, once, unless the condition is `fulfilled`."""
        if not fulfilled and line not in self.lines:
            self.lines.append(line)

    def insist(self, fulfilled: bool, line: str) -> None:
        """Record `line` as a violation and end the checks unless the condition is `fulfilled`."""
        self.require(fulfilled, line)
        if not fulfilled:
            raise _BrokenError

    def attempt(self, what: str, call: Callable[[], Any]) -> Any:
        """Return what `call` returns; record an exception as a violation and end the checks."""
        try:
            return call()
        except Exception as error:
            self.insist(
                False, f"{what} raises {type(error).__name__}: {first_line(error)}"
            )

    def made(
        self, protocol: type, make: _Make, make_other: _Make | None
    ) -> tuple[Any, Any]:
        """Return a checked model and a second made in the same way, None if making that failed."""
        model = self.attempt("making it", make)
        second = None
        self.check_members(model, protocol)
        with suppress(_BrokenError):
            second = self.attempt("making it again", make)
            self.require(second.fingerprint == model.fingerprint, _DIFFERS)
        if make_other is not None:
            with suppress(_BrokenError):
                other = self.attempt("making a model with other arguments", make_other)
                self.require(other.fingerprint != model.fingerprint, _THE_SAME)
        return model, second

    def check_members(self, model: Any, protocol: type) -> None:
        """Record missing members, and a name, fingerprint or batch size of the wrong kind."""
        missing = missing_members(model, protocol)
        for name in missing:
            where = f"see {protocol.__module__}.{protocol.__name__}"
            self.require(False, f"{name} is missing; {where}")
        if missing:
            raise _BrokenError
        name = model.name
        fingerprint = model.fingerprint
        size = getattr(model, "batch_size", 1)
        is_text = isinstance(name, str) and bool(name)
        self.require(is_text, f"name is {name!r}; expected a text")
        is_hex = isinstance(fingerprint, str) and bool(_HEX.fullmatch(fingerprint))
        digits = "64 lower-case hex digits (a SHA-256)"
        self.require(is_hex, f"fingerprint is {fingerprint!r}; expected {digits}")
        is_size = isinstance(size, int) and size >= 1
        self.require(is_size, f"batch_size is {size!r}; expected 1 or more")

    def require_json(self, what: str, read: Callable[[], Any]) -> None:
        """Record a violation unless `read` gives a mapping of JSON values that can be read back."""
        value = self.attempt(what, lambda: dict(read()))
        try:
            fits = json.loads(json.dumps(value, allow_nan=False)) == value
        except (TypeError, ValueError):
            fits = False
        self.require(fits, f"{what} is {value!r}; expected a mapping of JSON values")

    def results(
        self,
        name: str,
        call: Callable[[Any], Any],
        items: list[Any],
        how: str,
        kind: type,
    ) -> list[Any]:
        """Return a model's results for `items`, after checking their number and type."""
        results = self.attempt(
            f"{name}() of {len(items)} requests {how}", lambda: call(items)
        )
        typed = isinstance(results, list) and all(
            isinstance(result, kind) for result in results
        )
        self.insist(typed, f"{name}() must return a list of {kind.__name__}")
        count = f"{name}() returns {len(results)} results for {len(items)} requests"
        self.insist(len(results) == len(items), count)
        return list(results)

    def in_batches(
        self, items: list[Any], call: _Call, given: str, tolerance: float = 0
    ) -> list[Any]:
        """Return the result of each item alone, after comparing it with the results of batches."""

        def divided(size: int, how: str) -> list[Any]:
            parts = (items[at : at + size] for at in range(0, len(items), size))
            return [result for part in parts for result in call(part, how)]

        alone = divided(1, "alone")
        with suppress(_BrokenError):
            for size in (3, _MOST):
                where = f"in a batch of {size}"
                self.compare(alone, divided(size, where), where, given, tolerance)
        return alone

    def compare(
        self,
        alone: list[Any],
        together: list[Any],
        where: str,
        given: str,
        tolerance: float = 0,
    ) -> None:
        """Record a violation if results in a batch differ from those of the same items alone."""
        worst = max(
            _largest_difference(single, other)
            for single, other in zip(alone, together, strict=True)
        )
        if worst <= tolerance:
            return
        levels = " of 255 levels" if given == "images" else ""
        much = "" if worst == np.inf else f" by up to {worst:.2g}{levels}"
        hint = "; of a neural network, name 'torch' in the adapter's libraries"
        self.require(
            False,
            f"{given} {where} differ{much} from those given alone: each must depend on its own "
            f"request only, and be in its place{hint if levels and worst == 1 else ''}",
        )

    def available(self, generator: Generator, prompt: str, most: int) -> int:
        """Return how many images of a prompt a generator offers, but at most `most`."""
        number = self.attempt(
            f"available({prompt[:40]!r})", lambda: generator.available(prompt)
        )
        fits = number is None or (isinstance(number, int) and number >= 0)
        self.require(fits, f"available() is {number!r}; expected None or a number")
        return 0 if not fits else most if number is None else min(most, number)

    def images_of(
        self, generator: Generator, requests: list[Any], how: str
    ) -> list[Any]:
        """Return the pixels of generated images, shape (h, w, 3); None where there is no image."""
        results = self.results(
            "generate", generator.generate, requests, how, GeneratedImage
        )
        for result in results:
            self.require(
                result.status == "ok" or bool(result.reason),
                f"a result is '{result.status}' without a reason",
            )
        return [
            self._pixels(result) if result.status == "ok" else None
            for result in results
        ]

    def _pixels(self, result: GeneratedImage) -> Any:
        from PIL import Image

        image: Any = self.attempt("decoding data", result.decoded).image
        if (path := result.path) is not None:
            image = self.attempt(f"opening {path}", lambda: read_image(path))
        kind = type(image).__name__
        self.insist(
            isinstance(image, Image.Image),
            f"a result is 'ok' and its image is a {kind}; expected a PIL image, a path or data",
        )
        self.require(
            image.mode == "RGB", f"an image has the mode {image.mode}; expected RGB"
        )
        return np.asarray(image.convert("RGB"), dtype=np.int16)

    def rows_of(self, encoder: Any, name: str, items: list[Any], how: str) -> list[Any]:
        """Return an encoder's embeddings, after checking their type, shape and unit length."""
        rows = self.attempt(f"{name}() {how}", lambda: getattr(encoder, name)(items))
        is_array = isinstance(rows, np.ndarray)
        received = (
            f"{rows.dtype} of shape {rows.shape}"
            if is_array
            else f"a {type(rows).__name__}"
        )
        self.insist(
            is_array
            and rows.dtype == np.float32
            and rows.ndim == 2
            and len(rows) == len(items),
            f"{name}() gives {received}; expected a float32 array of shape ({len(items)}, d)",
        )
        embedded = rows[~np.isnan(rows).all(axis=1)].astype(np.float64)
        lengths = np.linalg.norm(embedded, axis=1)
        self.require(
            bool((np.abs(lengths - 1) <= _UNIT).all()),
            f"{name}() gives rows that are not of unit length, or partly not finite ({how}); "
            "divide each by its norm, and return a row of NaN for a missing embedding",
        )
        return list(rows)


def _largest_difference(first: Any, second: Any) -> float:
    """Return the largest difference of two results of a model; infinite if incomparable."""
    if not isinstance(first, np.ndarray) or not isinstance(second, np.ndarray):
        return 0.0 if type(first) is type(second) and first == second else np.inf
    unknown = np.isnan(first).any()
    if first.shape != second.shape or unknown != np.isnan(second).any():
        return np.inf
    return 0.0 if unknown else float(np.abs(first - second).max(initial=0))


def sample_images(count: int) -> list[Image]:
    """Return `count` RGB test images of several sizes: one plain, one of noise, the rest smooth."""
    from PIL import Image

    rng = np.random.default_rng(0)
    images = [Image.new("RGB", (64, 64), (200, 40, 40))]
    images.append(Image.fromarray(rng.integers(0, 256, (48, 80, 3), dtype=np.uint8)))
    while len(images) < count:
        small = Image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8))
        side = 64 + 16 * (len(images) % 3)
        images.append(small.resize((side, 96), Image.Resampling.BICUBIC))
    return images[:count]
