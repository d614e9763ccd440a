"""What every adapter promises, tried out: `t2ibench check adapter` and the tests of adapters.

Each function makes a model twice, tries it, and returns a line for everything that breaks the
contract of `t2ibench.models.protocols` or `t2ibench.models.language`; an empty list means that it
keeps it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_origin, get_type_hints

import numpy as np

from t2ibench.errors import first_line
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.language import Rewriter, RewriteRequest, Rewriting
from t2ibench.models.protocols import (
    Answer,
    Encoder,
    GeneratedImage,
    Generator,
    HasUntrained,
    ImageRequest,
    Judge,
    Query,
    Releasable,
    ReportsSettings,
)
from t2ibench.models.resolution import lacking
from t2ibench.store.pixels import read_image

if TYPE_CHECKING:
    from PIL.Image import Image

PROMPTS = ("a photo of a nurse", "a photo of a rose", "a person", "a photo of an ant, war")
TEXTS = (
    *("a photo of a nurse", "a photo of a rose", "a person", "man", "woman", "flower"),
    *("a photo of an ant, war", "qzxv"),
)
REWRITTEN = (
    *("a photo of a nurse", "a photo of a chef", "a portrait of an engineer", "a tulip, joy"),
    *("a church", "an old man", "a photo of a {thing} for 100 %", "a guitar"),
)
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
_MOST = 8  # items that a model is tried with; batches are of 1, 3 and so many
_CLOSE, _UNIT = 1e-5, 1e-3  # between embeddings of one item; from the length 1
_HEX = re.compile(r"[0-9a-f]{64}")
# What members have to be, besides of their type.
_MEMBERS: dict[str, tuple[Callable[[Any], object], str]] = {
    "name": (bool, "a text"),
    "fingerprint": (_HEX.fullmatch, "64 lower-case hex digits (a SHA-256)"),
    "batch_size": (lambda size: size >= 1, "1 or more"),
    **dict.fromkeys(
        ("images_per_prompt", "guided_images_per_prompt"),
        (lambda number: number is None or number >= 1, "1 or more"),
    ),
}
# From items, and how they are given, to what becomes of each.
_Call = Callable[[list[Any], str], list[Any]]


class _BrokenError(Exception):
    """What comes next needs what is broken; that is noted."""


class _Promise(NamedTuple):
    """What results are called, why each is the same in any company, and how nearly."""

    given: str
    rule: str
    tolerance: float = 0


def check_generator(
    make: Callable[[], Generator],
    *,
    make_other: Callable[[], Generator] | None = None,
    prompts: Sequence[str] = PROMPTS,
    pixel_tolerance: int = 0,
) -> list[str]:
    """Try a generator against its contract.

    Args:
        make: Makes it; called twice.
        make_other: Makes one with other arguments that decide images; None where there are none.
        prompts: What to generate; for images that exist, prompts that have some.
        pixel_tolerance: Levels of 255 by which an image may differ between batch sizes. 0 compares
            to the byte; 1 allows for neural networks, whose matrix products round differently with
            the number of rows.

    Returns:
        A line for everything that is wrong.
    """
    trial = _Trial()
    with suppress(_BrokenError):
        generator, second = trial.made(Generator, make, make_other)
        trial.require_json("settings", lambda: generator.settings)
        requests = _requests(partial(trial.available, generator), prompts)
        trial.insist(
            bool(requests), "no image can be tried: it has none of the prompts (--prompt gives)"
        )
        rule = "an image must depend on its own request only, never on the others there"
        promise = _Promise("images", rule, pixel_tolerance)
        images = trial.in_batches(requests, partial(trial.images_of, generator), promise)
        trial.require(
            any(image is not None for image in images), "none of the prompts gives an image"
        )

        def odd(prompt: str, how: str) -> None:
            number = trial.available(generator, prompt)
            (image,) = trial.images_of(generator, [ImageRequest(prompt, 0, 7)], how)
            trial.require(
                number != 0 or image is None,
                f"available() says that no image exists {how}, but generate() returns one",
            )

        trial.with_odd_texts(odd)
        again: list[tuple[str, Any]] = []
        if second is not None:
            again.append(("by a second instance, made in the same way", second))
        if isinstance(generator, ReportsSettings):
            trial.require_json("effective_settings()", generator.effective_settings)
        if isinstance(generator, Releasable):
            trial.attempt("release()", generator.release)
            again.append(("after release()", generator))
        for where, one in again:
            found = trial.images_of(one, requests[:1], where)
            trial.compare(images[:1], found, where, promise._replace(tolerance=0))
    return trial.lines


def _requests(available: Callable[[str], int | None], prompts: Sequence[str]) -> list[ImageRequest]:
    """Eight at most, two samples of each prompt where there are as many."""
    requests = []
    for prompt in prompts:
        number = available(prompt)
        for index in range(2 if number is None else min(2, number)):
            digest = hashlib.sha256(f"{prompt}\0{index}".encode()).digest()
            requests.append(ImageRequest(prompt, index, int.from_bytes(digest[:6], "big")))
    return requests[:_MOST]


def check_encoder(
    make: Callable[[], Encoder],
    *,
    make_other: Callable[[], Encoder] | None = None,
    texts: Sequence[str] = TEXTS,
) -> list[str]:
    """Try an encoder against its contract. Embeddings are compared to within 1e-5.

    Args:
        make: Makes it; called twice.
        make_other: Makes one with other arguments that decide embeddings; None where there are
            none.
        texts: What to embed, eight at most.

    Returns:
        A line for everything that is wrong.
    """
    trial = _Trial()
    with suppress(_BrokenError):
        encoder, _ = trial.made(Encoder, make, make_other)
        promise = _Promise("embeddings", "an embedding must depend on its own item only", _CLOSE)
        encode = partial(trial.rows_of, encoder, "encode_texts")
        encoded = trial.in_batches(list(texts[:_MOST]), encode, promise)
        trial.with_odd_texts(lambda text, how: encode([text], how))
        if not encoder.embeds_images:
            return trial.lines
        prepared = trial.attempt(
            "prepare()", lambda: [encoder.prepare(image) for image in sample_images(_MOST)]
        )
        seen = trial.in_batches(prepared, partial(trial.rows_of, encoder, "encode_images"), promise)
        trial.require(
            not np.isnan(seen).any(),
            "encode_images() has rows of NaN; every image has an embedding",
        )
        trial.require(
            len(encoded[0]) == len(seen[0]),
            "images and texts have embeddings of different length; they must share one space",
        )
        if isinstance(encoder, HasUntrained):
            _check_untrained(trial, encoder, seen[0])
    return trial.lines


def _check_untrained(trial: _Trial, encoder: Any, seen: Any) -> None:
    """An encoder of random weights: another one, and the same one every time."""
    twins = [trial.attempt("untrained()", encoder.untrained) for _ in range(2)]
    for twin in twins:
        trial.check_members(twin, Encoder)
        trial.require(
            twin.name != encoder.name and twin.fingerprint != encoder.fingerprint,
            "untrained() gives an encoder of the same name or fingerprint; it needs its own",
        )
    (image,) = sample_images(1)
    blind, same = (
        trial.rows_of(one, "encode_images", [one.prepare(image)], "by untrained()")[0]
        for one in twins
    )
    trial.require(
        twins[0].fingerprint == twins[1].fingerprint and _apart(blind, same) <= _CLOSE,
        "untrained() gives another fingerprint or embeds otherwise every time; seed its weights",
    )
    trial.require(
        _apart(blind, seen) > _CLOSE,
        "untrained() embeds images as the encoder itself does; its weights must be random",
    )


def check_judge(
    make: Callable[[], Judge],
    *,
    make_other: Callable[[], Judge] | None = None,
    free_text: bool = True,
) -> list[str]:
    """Try a judge against its contract. Answers are compared exactly.

    Args:
        make: Makes it; called twice.
        make_other: Makes one with other arguments that decide answers; None where there are none.
        free_text: Whether it says that it answers questions without classes.

    Returns:
        A line for everything that is wrong.
    """
    trial = _Trial()
    queries = []
    for number, image in enumerate(sample_images(_MOST)):
        question, classes = _QUESTIONS[number % len(_QUESTIONS)]
        digest = hashlib.sha256(image.tobytes()).hexdigest()
        queries.append(Query(image, "a photo of a person", number, digest, question, classes))
    with suppress(_BrokenError):
        judge, _ = trial.made(Judge, make, make_other)

        def texts(part: list[Query], how: str) -> list[str | None]:
            answers = trial.results("answer", judge.answer, part, how, Answer)
            for query, one in zip(part, answers, strict=True):
                if one.answer is None:
                    trial.require(bool(one.reason), "there is neither an answer nor a reason")
                elif query.classes:
                    trial.require(
                        one.answer in (*query.classes, UNKNOWN),
                        f"the answer {one.answer!r} is none of the classes "
                        f"{', '.join(query.classes)} and not '{UNKNOWN}'",
                    )
                else:
                    fits = isinstance(one.answer, str) and bool(one.answer)
                    trial.require(fits, f"the answer {one.answer!r} is not a text")
            return [one.answer for one in answers]

        rule = "an answer must depend on its own query only"
        alone = trial.in_batches(queries, texts, _Promise("answers", rule))
        words = [one for one, query in zip(alone, queries, strict=True) if not query.classes]
        trial.require(
            free_text or all(one is None for one in words),
            "it answers in free text although its adapter says free_text=False",
        )
    return trial.lines


def check_rewriter(
    make: Callable[[], Rewriter],
    *,
    make_other: Callable[[], Rewriter] | None = None,
    prompts: Sequence[str] = REWRITTEN,
) -> list[str]:
    """Try a rewriter against its contract. Rewritings are compared exactly.

    Args:
        make: Makes it; called twice.
        make_other: Makes one with other arguments that decide rewritings; None where there are
            none.
        prompts: What it is tried with; from eight on, batches of 8 are full.

    Returns:
        A line for everything that is wrong.
    """
    trial = _Trial()
    with suppress(_BrokenError):
        rewriter, _ = trial.made(Rewriter, make, make_other)
        each = rewriter.per == "image"
        trial.require(
            each or rewriter.per == "prompt",
            f"per is {rewriter.per!r}; expected 'prompt' or 'image'",
        )
        trial.require_json("settings", lambda: rewriter.settings)

        def texts(part: list[RewriteRequest], how: str) -> list[str | None]:
            found = trial.results("rewrite", rewriter.rewrite, part, how, Rewriting)
            for one in found:
                trial.require_status(one, ("ok", "refused", "failed"))
                kept = one.status != "ok" or (isinstance(one.text, str) and bool(one.text.strip()))
                trial.require(kept, f"a rewriting with status 'ok' has the text {one.text!r}")
            return [one.text for one in found]

        requests = [
            RewriteRequest(prompt, number if each else None, 7919 * number)
            for number, prompt in enumerate(prompts)
        ]
        rule = (
            "a rewriting must depend on its own prompt, index and seed only (a server may not be "
            "able to promise that: what it said is stored and replayed)"
        )
        trial.in_batches(requests, texts, _Promise("rewritings", rule))
        trial.with_odd_texts(
            lambda text, how: texts([RewriteRequest(text, 0 if each else None, 1)], how)
        )
    return trial.lines


class _Trial:
    """A line for everything that is wrong with a model; what cannot go on raises `_BrokenError`."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def require(self, kept: bool, line: str) -> None:
        """Note a line, once, unless the promise is kept."""
        if not kept and line not in self.lines:
            self.lines.append(line)

    def insist(self, kept: bool, line: str) -> None:
        """The same, of what all that follows needs."""
        self.require(kept, line)
        if not kept:
            raise _BrokenError

    def attempt(self, what: str, call: Callable[[], Any]) -> Any:
        """What a call that must not raise returns."""
        try:
            return call()
        except Exception as error:
            self.insist(False, f"{what} raises {type(error).__name__}: {first_line(error)}")

    def made(
        self, protocol: type, make: Callable[[], Any], make_other: Callable[[], Any] | None
    ) -> tuple[Any, Any]:
        """A model, and a second one made in the same way; None where that fails."""
        model, second = self.attempt("making it", make), None
        self.check_members(model, protocol)
        with suppress(_BrokenError):
            second = self.attempt("making it again", make)
            self.require(
                second.fingerprint == model.fingerprint,
                "fingerprint differs between two instances made in the same way; derive it from "
                "settings and weights, not from the object, the time or the process",
            )
        with suppress(_BrokenError):
            if make_other is not None:
                other = self.attempt("making a model with other arguments", make_other)
                self.require(
                    other.fingerprint != model.fingerprint,
                    "fingerprint is the same with other arguments; hash every setting that "
                    "decides a result",
                )
        return model, second

    def check_members(self, model: Any, protocol: type) -> None:
        """Note what members are missing, and what they are else."""
        missing = lacking(model, protocol)
        for name, allowed in get_type_hints(protocol).items():
            value: Any = getattr(model, name, None)
            if name in missing or get_origin(allowed) in {Mapping, Literal}:
                continue
            fits = isinstance(value, allowed) and (allowed is bool or not isinstance(value, bool))
            expected = getattr(allowed, "__name__", str(allowed).replace(" | ", " or "))
            if fits and name in _MEMBERS:
                check, expected = _MEMBERS[name]
                fits = bool(check(value))
            self.require(fits, f"{name} is {value!r}; expected {expected}")
        for name in missing:
            where = f"see {protocol.__module__}.{protocol.__name__}"
            self.require(False, f"{name} is missing; {where}")
        if missing:
            raise _BrokenError

    def require_json(self, what: str, read: Callable[[], Any]) -> None:
        """Note what is no mapping of JSON values, which can be stored and read back."""
        value = self.attempt(what, lambda: dict(read()))
        try:
            fits = json.loads(json.dumps(value, allow_nan=False)) == value
        except (TypeError, ValueError):
            fits = False
        self.require(fits, f"{what} is {value!r}; expected a mapping of JSON values")

    def require_status(self, result: Any, statuses: Sequence[str]) -> None:
        """Note an unknown status, and one without a reason."""
        self.require(
            result.status in statuses,
            f"status is {result.status!r}; expected one of {', '.join(statuses)}",
        )
        self.require(
            result.status == "ok" or bool(result.reason),
            f"a result is '{result.status}' without a reason",
        )

    def results(
        self, name: str, call: Callable[[Any], Any], items: list[Any], how: str, kind: type
    ) -> list[Any]:
        """What a method gives: one thing of the right type for each item."""
        found = self.attempt(f"{name}() of {len(items)} requests {how}", lambda: call(items))
        typed = isinstance(found, list) and all(isinstance(one, kind) for one in found)
        self.insist(typed, f"{name}() must return a list of {kind.__name__}")
        count = f"{name}() returns {len(found)} results for {len(items)} requests"
        self.insist(len(found) == len(items), count)
        return list(found)

    def with_odd_texts(self, call: Callable[[str, str], object]) -> None:
        """Call it with each odd text."""
        for what, text in _ODD_TEXTS.items():
            with suppress(_BrokenError):
                call(text, f"for {what}")

    def in_batches(self, items: list[Any], call: _Call, promise: _Promise) -> list[Any]:
        """What each item gives alone, after comparing it with batches and another order."""

        def divided(size: int, how: str) -> list[Any]:
            parts = (items[at : at + size] for at in range(0, len(items), size))
            return [one for part in parts for one in call(part, how)]

        alone = divided(1, "alone")
        with suppress(_BrokenError):
            for size in (3, _MOST):
                where = f"in a batch of {size}"
                self.compare(alone, divided(size, where), where, promise)
            where = "in another order"
            self.compare(alone, call(items[::-1], where)[::-1], where, promise)
        return alone

    def compare(self, alone: list[Any], found: list[Any], where: str, promise: _Promise) -> None:
        """Note where things are not those that their items gave alone."""
        given, rule, tolerance = promise
        worst = max(_apart(one, other) for one, other in zip(alone, found, strict=True))
        if worst <= tolerance:
            return
        left = list(found)
        for one in alone:
            same = (n for n, other in enumerate(left) if _apart(one, other) <= tolerance)
            if (number := next(same, None)) is not None:
                del left[number]
        if not left:
            self.require(False, f"{given} {where} are not in the order of the requests")
            return
        levels = " of 255 levels" if given == "images" else ""
        much = "" if worst == np.inf else f" by up to {worst:.2g}{levels}"
        hint = "; of a neural network, name 'torch' in the adapter's libraries"
        self.require(
            False,
            f"{given} {where} differ{much} from those given alone: {rule}"
            f"{hint if levels and worst == 1 else ''}",
        )

    def available(self, generator: Generator, prompt: str) -> int | None:
        """How many images of a prompt there can be."""
        number = self.attempt(f"available({prompt[:40]!r})", lambda: generator.available(prompt))
        fits = number is None or (isinstance(number, int) and number >= 0)
        self.require(fits, f"available() is {number!r}; expected None or a number")
        return number if fits else 0

    def images_of(self, generator: Generator, requests: list[Any], how: str) -> list[Any]:
        """Pixels of the images of a call, shape (h, w, 3); None where there is no image."""
        results = self.results("generate", generator.generate, requests, how, GeneratedImage)
        for one in results:
            self.require_status(one, ("ok", "refused", "filtered", "failed"))
        return [self._pixels(one) if one.status == "ok" else None for one in results]

    def _pixels(self, result: GeneratedImage) -> Any:
        from PIL import Image

        image: Any = result.image
        if result.path is not None:
            path = Path(result.path)
            image = self.attempt(f"opening {path}", lambda: read_image(path))
        kind = type(image).__name__
        self.insist(
            isinstance(image, Image.Image),
            f"a result is 'ok' and its image is a {kind}; expected a PIL image or a path",
        )
        self.require(image.mode == "RGB", f"an image has the mode {image.mode}; expected RGB")
        return np.asarray(image.convert("RGB"), dtype=np.int16)

    def rows_of(self, encoder: Any, name: str, items: list[Any], how: str) -> list[Any]:
        """Rows of one call, where they are as promised."""
        rows = self.attempt(f"{name}() {how}", lambda: getattr(encoder, name)(items))
        is_array = isinstance(rows, np.ndarray)
        said = f"{rows.dtype} of shape {rows.shape}" if is_array else f"a {type(rows).__name__}"
        self.insist(
            is_array and rows.dtype == np.float32 and rows.ndim == 2 and len(rows) == len(items),
            f"{name}() gives {said}; expected a float32 array of shape ({len(items)}, d)",
        )
        known = rows[~np.isnan(rows).all(axis=1)].astype(np.float64)
        finite = bool(np.isfinite(known).all())
        self.require(finite, f"{name}() gives rows that are partly not finite ({how})")
        lengths = np.linalg.norm(known, axis=1)
        self.require(
            not finite or bool((np.abs(lengths - 1) <= _UNIT).all()),
            f"{name}() gives rows that are not of unit length ({how}); divide each by its "
            "norm, and return a row of NaN for a missing embedding",
        )
        return list(rows)


def _apart(one: Any, other: Any) -> float:
    """The largest difference of two results; infinite where they cannot be compared."""
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return 0.0 if type(one) is type(other) and one == other else np.inf
    unknown = np.isnan(one).any()
    if one.shape != other.shape or unknown != np.isnan(other).any():
        return np.inf
    return 0.0 if unknown else float(np.abs(one - other).max(initial=0))


def sample_images(count: int) -> list[Image]:
    """Different RGB images of several sizes: one of one colour, one of noise, smooth ones."""
    from PIL import Image

    rng = np.random.default_rng(0)
    images = [Image.new("RGB", (64, 64), (200, 40, 40))]
    images.append(Image.fromarray(rng.integers(0, 256, (48, 80, 3), dtype=np.uint8)))
    while len(images) < count:
        small = Image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8))
        side = 64 + 16 * (len(images) % 3)
        images.append(small.resize((side, 96), Image.Resampling.BICUBIC))
    return images[:count]
