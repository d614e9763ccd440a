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
Apart = Callable[[Any, Any], float]


class _Promise(NamedTuple):
    """How far results may be apart from those given alone, what they are, and the promise."""

    apart: Apart
    tolerance: float
    given: str
    rule: str


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
    trial = _Trial(make, make_other, Generator)
    generator = trial.model
    if generator is None:
        return trial.lines
    trial.require_json("settings", lambda: generator.settings)
    for name in ("images_per_prompt", "guided_images_per_prompt"):
        value = getattr(generator, name)
        trial.require(value is None or value >= 1, f"{name} is {value}; expected 1 or more")
    requests = _requests(trial, prompts)
    if not requests:
        return [*trial.lines, "no image can be tried: it has none of the prompts (--prompt gives)"]

    def generate(one: Generator) -> Callable[[list[Any], str], list[Any] | None]:
        return lambda part, how: trial.images_of(one, part, how)

    rule = "an image must depend on its own request only, never on the others there"
    promise = _Promise(_levels, pixel_tolerance, "images", rule)
    images = trial.in_batches(requests, generate(generator), promise)
    trial.require(
        any(image is not None for image in images or [None]), "none of the prompts gives an image"
    )
    for what, prompt in _ODD_TEXTS.items():
        number = trial.available(prompt)
        for image in generate(generator)([ImageRequest(prompt, 0, 7)], f"for {what}") or ():
            trial.require(
                number != 0 or image is None,
                f"available() says that no image exists for {what}, but generate() returns one",
            )
    again: list[tuple[str, Any]] = []
    if trial.second is not None:
        again.append(("by a second instance, made in the same way", trial.second))
    if isinstance(generator, ReportsSettings):
        trial.require_json("effective_settings()", generator.effective_settings)
    if isinstance(generator, Releasable):
        trial.attempt("release()", generator.release)
        again.append(("after release()", generator))
    for where, one in again:
        found = generate(one)(requests[:1], where)
        if images and found:
            trial.compare(images[:1], found, where, promise._replace(tolerance=0))
    return trial.lines


def _requests(trial: _Trial, prompts: Sequence[str]) -> list[ImageRequest]:
    """Eight at most, two samples of each prompt where there are as many."""
    requests = []
    for prompt in prompts:
        number = trial.available(prompt)
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
    trial = _Trial(make, make_other, Encoder)
    encoder: Any = trial.model
    if encoder is None:
        return trial.lines

    def rows(name: str, one: Any = encoder) -> Callable[[list[Any], str], list[Any] | None]:
        return lambda part, how: trial.rows_of(one, name, part, how)

    rule = "an embedding must depend on its own item only"
    promise = _Promise(_distance, _CLOSE, "embeddings", rule)
    encoded = trial.in_batches(list(texts[:_MOST]), rows("encode_texts"), promise)
    for what, text in _ODD_TEXTS.items():
        rows("encode_texts")([text], f"for {what}")
    if not encoder.embeds_images:
        return trial.lines
    prepared = trial.attempt(
        "prepare()", lambda: [encoder.prepare(image) for image in sample_images(_MOST)]
    )
    if prepared is None:
        return trial.lines
    seen = trial.in_batches(prepared, rows("encode_images"), promise)
    if seen is None:
        return trial.lines
    trial.require(
        not np.isnan(seen).any(), "encode_images() has rows of NaN; every image has an embedding"
    )
    trial.require(
        encoded is None or len(encoded[0]) == len(seen[0]),
        "images and texts have embeddings of different length; they must share one space",
    )
    if isinstance(encoder, HasUntrained):
        _check_untrained(trial, encoder, seen[0])
    return trial.lines


def _check_untrained(trial: _Trial, encoder: Any, seen: Any) -> None:
    """An encoder of random weights: another one, and the same one every time."""
    twins = [trial.attempt("untrained()", encoder.untrained) for _ in range(2)]
    if not all(one is not None and trial.has_members(one, Encoder) for one in twins):
        return
    twin, again = twins
    trial.require(
        twin.name != encoder.name and twin.fingerprint != encoder.fingerprint,
        "untrained() gives an encoder of the same name or fingerprint; it needs its own",
    )
    (image,) = sample_images(1)
    found = [
        trial.rows_of(one, "encode_images", [one.prepare(image)], "by untrained()") for one in twins
    ]
    blind, same = (rows[0] if rows else None for rows in found)
    if blind is None or same is None:
        return
    trial.require(
        twin.fingerprint == again.fingerprint and _distance(blind, same) <= _CLOSE,
        "untrained() gives another fingerprint or embeds otherwise every time; seed its weights",
    )
    trial.require(
        _distance(blind, seen) > _CLOSE,
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
    trial = _Trial(make, make_other, Judge)
    judge = trial.model
    if judge is None:
        return trial.lines
    queries = []
    for number, image in enumerate(sample_images(_MOST)):
        question, classes = _QUESTIONS[number % len(_QUESTIONS)]
        digest = hashlib.sha256(image.tobytes()).hexdigest()
        queries.append(Query(image, "a photo of a person", number, digest, question, classes))

    def texts(part: list[Query], how: str) -> list[str | None] | None:
        answers = trial.results("answer", judge.answer, part, how, Answer)
        for query, one in zip(part, answers or (), strict=bool(answers)):
            if one.answer is None:
                trial.require(bool(one.reason), "there is neither an answer nor a reason")
            elif query.classes:
                trial.require(
                    one.answer in (*query.classes, UNKNOWN),
                    f"the answer {one.answer!r} is none of the classes {', '.join(query.classes)} "
                    f"and not '{UNKNOWN}'",
                )
            else:
                fits = isinstance(one.answer, str) and bool(one.answer)
                trial.require(fits, f"the answer {one.answer!r} is not a text")
        return None if answers is None else [one.answer for one in answers]

    rule = "an answer must depend on its own query only"
    alone = trial.in_batches(queries, texts, _Promise(_unequal, 0, "answers", rule))
    words = [one for one, query in zip(alone or (), queries, strict=False) if not query.classes]
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
    trial = _Trial(make, make_other, Rewriter)
    rewriter = trial.model
    if rewriter is None:
        return trial.lines
    each = {"prompt": False, "image": True}.get(rewriter.per)
    trial.require(each is not None, f"per is {rewriter.per!r}; expected 'prompt' or 'image'")
    trial.require_json("settings", lambda: rewriter.settings)

    def texts(part: list[RewriteRequest], how: str) -> list[str | None] | None:
        found = trial.results("rewrite", rewriter.rewrite, part, how, Rewriting)
        for one in found or ():
            trial.require_status(one, ("ok", "refused", "failed"))
            kept = one.status != "ok" or (isinstance(one.text, str) and bool(one.text.strip()))
            trial.require(kept, f"a rewriting with status 'ok' has the text {one.text!r}")
        return None if found is None else [one.text for one in found]

    requests = [
        RewriteRequest(prompt, number if each else None, 7919 * number)
        for number, prompt in enumerate(prompts)
    ]
    rule = (
        "a rewriting must depend on its own prompt, index and seed only (a server may not be able "
        "to promise that: what it said is stored and replayed)"
    )
    trial.in_batches(requests, texts, _Promise(_unequal, 0, "rewritings", rule))
    for what, text in _ODD_TEXTS.items():
        texts([RewriteRequest(text, 0 if each else None, 1)], f"for {what}")
    return trial.lines


class _Trial:
    """Two models made in the same way, and a line for everything that is wrong with them."""

    def __init__(
        self, make: Callable[[], Any], make_other: Callable[[], Any] | None, protocol: type
    ) -> None:
        self.lines: list[str] = []
        self.second: Any = None
        self.model: Any = self.attempt("making it", make)
        if self.model is None or not self.has_members(self.model, protocol):
            self.model = None
            return
        self.second = self.attempt("making it again", make)
        self.require(
            self.second is None or self.second.fingerprint == self.model.fingerprint,
            "fingerprint differs between two instances made in the same way; derive it from "
            "settings and weights, not from the object, the time or the process",
        )
        other = make_other and self.attempt("making a model with other arguments", make_other)
        self.require(
            other is None or other.fingerprint != self.model.fingerprint,
            "fingerprint is the same with other arguments; hash every setting that decides a "
            "result",
        )

    def require(self, kept: bool, line: str) -> bool:
        """Note a line, once, unless the promise is kept."""
        if not kept and line not in self.lines:
            self.lines.append(line)
        return kept

    def attempt(self, what: str, call: Callable[[], Any]) -> Any:
        """What a call that must not raise returns; None after an exception, which is noted."""
        try:
            return call()
        except Exception as error:
            self.require(False, f"{what} raises {type(error).__name__}: {first_line(error)}")
            return None

    def has_members(self, model: Any, protocol: type) -> bool:
        """Whether all members exist; what they are is noted."""
        missing = lacking(model, protocol)
        where = f"see {protocol.__module__}.{protocol.__name__}"
        for name in missing:
            self.require(False, f"{name} is missing; {where}")
        for name, allowed in get_type_hints(protocol).items():
            value: Any = getattr(model, name, None)
            if name in missing or get_origin(allowed) in {Mapping, Literal}:
                continue
            fits = isinstance(value, allowed) and (allowed is bool or not isinstance(value, bool))
            words = getattr(allowed, "__name__", str(allowed).replace(" | ", " or "))
            self.require(fits, f"{name} is {value!r}; expected {words}")
            if name == "batch_size" and fits:
                self.require(value >= 1, f"batch_size is {value!r}; expected 1 or more")
            if name == "name" and fits:
                self.require(bool(value), "name is empty")
            if name == "fingerprint" and fits:
                self.require(
                    _HEX.fullmatch(value) is not None,
                    f"fingerprint is {value!r}; expected 64 lower-case hex digits (a SHA-256)",
                )
        return not missing

    def require_json(self, what: str, read: Callable[[], Any]) -> None:
        """Note what is no mapping of JSON values, which can be stored and read back."""
        value = self.attempt(what, lambda: dict(read()))
        try:
            fits = value is None or json.loads(json.dumps(value, allow_nan=False)) == value
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
    ) -> list[Any] | None:
        """What a method gives; None where that is not one thing of the right type for each item."""
        found = self.attempt(f"{name}() of {len(items)} requests {how}", lambda: call(items))
        typed = isinstance(found, list) and all(isinstance(one, kind) for one in found)
        if found is None or not self.require(
            typed, f"{name}() must return a list of {kind.__name__}"
        ):
            return None
        count = f"{name}() returns {len(found)} results for {len(items)} requests"
        return found if self.require(len(found) == len(items), count) else None

    def in_batches(
        self, items: list[Any], call: Callable[[list[Any], str], list[Any] | None], kept: _Promise
    ) -> list[Any] | None:
        """What each item gives alone, after comparing it with batches and another order."""

        def divided(size: int, how: str) -> list[Any] | None:
            parts = [call(items[at : at + size], how) for at in range(0, len(items), size)]
            return None if None in parts else [one for part in parts for one in part or ()]

        alone = divided(1, "alone")
        if alone is None:
            return None
        for size in (3, _MOST):
            where = f"a batch of {size}"
            found = divided(size, f"in {where}")
            if found is None:
                return alone
            self.compare(alone, found, f"in {where}", kept)
        found = call(items[::-1], "in another order")
        if found is not None:
            self.compare(alone, found[::-1], "in another order", kept)
        return alone

    def compare(self, alone: list[Any], found: list[Any], where: str, kept: _Promise) -> None:
        """Note where things are not those that their items gave alone."""
        apart, tolerance, given, rule = kept
        worst = max(apart(one, other) for one, other in zip(alone, found, strict=True))
        if worst <= tolerance:
            return
        left = list(found)
        for one in alone:
            same = next((n for n, other in enumerate(left) if apart(one, other) <= tolerance), None)
            if same is None:
                break
            del left[same]
        if not left:
            self.require(False, f"{given} {where} are not in the order of the requests")
            return
        much = "" if worst == np.inf else f" by up to {worst:.2g}"
        levels = f"{much} of 255 levels" if much and apart is _levels else much
        hint = "; of a neural network, name 'torch' in the adapter's libraries"
        self.require(
            False,
            f"{given} {where} differ{levels} from those given alone: {rule}"
            f"{hint if apart is _levels and worst == 1 else ''}",
        )

    def available(self, prompt: str) -> int | None:
        """How many images of a prompt there can be."""
        number = self.attempt(f"available({prompt[:40]!r})", lambda: self.model.available(prompt))
        fits = number is None or (isinstance(number, int) and number >= 0)
        self.require(fits, f"available() is {number!r}; expected None or a number")
        return number if fits else 0

    def images_of(self, generator: Generator, requests: list[Any], how: str) -> list[Any] | None:
        """Pixels of the images of a call, shape (h, w, 3); None where there is no image."""
        results = self.results("generate", generator.generate, requests, how, GeneratedImage)
        for one in results or ():
            self.require_status(one, ("ok", "refused", "filtered", "failed"))
        return None if results is None else [self._pixels(one) for one in results]

    def _pixels(self, result: GeneratedImage) -> Any:
        from PIL import Image

        image = result.image
        if result.status != "ok":
            return None
        if result.path is not None:
            path = Path(result.path)
            image = self.attempt(f"opening {path}", lambda: read_image(path))
            return None if image is None else np.asarray(image, dtype=np.int16)
        if not isinstance(image, Image.Image):
            kind = type(image).__name__
            line = f"a result is 'ok' and its image is a {kind}; expected a PIL image or a path"
            self.require(False, line)
            return None
        self.require(image.mode == "RGB", f"an image has the mode {image.mode}; expected RGB")
        return np.asarray(image.convert("RGB"), dtype=np.int16)

    def rows_of(self, encoder: Any, name: str, items: list[Any], how: str) -> list[Any] | None:
        """Rows of one call, where they are as promised."""
        rows = self.attempt(f"{name}() {how}", lambda: getattr(encoder, name)(items))
        if rows is None:
            return None
        is_array = isinstance(rows, np.ndarray)
        said = f"{rows.dtype} of shape {rows.shape}" if is_array else f"a {type(rows).__name__}"
        if not self.require(
            is_array and rows.dtype == np.float32 and rows.ndim == 2 and len(rows) == len(items),
            f"{name}() gives {said}; expected a float32 array of shape ({len(items)}, d)",
        ):
            return None
        known = rows[~np.isnan(rows).all(axis=1)].astype(np.float64)
        if self.require(
            bool(np.isfinite(known).all()),
            f"{name}() gives rows that are partly not finite ({how})",
        ):
            lengths = np.linalg.norm(known, axis=1)
            self.require(
                bool((np.abs(lengths - 1) <= _UNIT).all()),
                f"{name}() gives rows that are not of unit length ({how}); divide each by its "
                "norm, and return a row of NaN for a missing embedding",
            )
        return list(rows)


def _levels(one: Any, other: Any) -> float:
    """Levels of 255 between two images; infinite where one is none, or of another size."""
    if one is None or other is None:
        return 0.0 if one is other else np.inf
    return float(np.abs(one - other).max(initial=0)) if one.shape == other.shape else np.inf


def _distance(one: Any, other: Any) -> float:
    """The largest difference of two embeddings, which may both be unknown."""
    if one.shape != other.shape or np.isnan(one).any() != np.isnan(other).any():
        return np.inf
    return 0.0 if np.isnan(one).any() else float(np.abs(one - other).max())


def _unequal(one: Any, other: Any) -> float:
    return 0.0 if one == other else np.inf


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
