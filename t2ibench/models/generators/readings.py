"""Detect which prompts the text encoders of a pipeline truncate.

A pipeline cuts a prompt where it calls a tokenizer, or a processor that has one inside, and each
of its text encoders has a length of its own. So the calls of a loaded pipeline's tokenizers are
recorded: that needs no table of lengths, and settings such as call.max_sequence_length are
respected.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from t2ibench.models.protocols import TowerReading

# The class of a text encoder begins with its family; the first match counts.
_FAMILIES = (
    "CLIP",
    "UMT5",
    "T5",
    "Qwen",
    "Gemma",
    "Llama",
    "Mistral",
    "Bert",
    "LDMBert",
    "Glm",
    "ChatGLM",
)
_WORD = re.compile(r"\S+")
# A prompt that is cut in a text has at least this many characters in common with it.
_LEAST_CUT = 100
_LONGEST = 1_000_000  # tokens; tokenizers without a length of their own say more
# Attributes of pipelines that cut what a tokenizer gave: how many tokens of the prompt remain.
_CUT_LATER = {"LongCatImagePipeline": "tokenizer_max_length"}
# Those that drop the tokens of their template first, and keep so many after them.
_CUT_BEHIND_TEMPLATE = ("QwenImagePipeline", "QwenImageImg2ImgPipeline")
_LIBRARIES = ("diffusers", "transformers")
_LINES_ON_LENGTH = (
    "The following part of your input was truncated",
    "Token indices sequence length",
)


class PromptReader:
    """Records how much of each prompt every text encoder of a pipeline reads."""

    def __init__(self, pipeline: Any) -> None:
        """Start recording the calls of the tokenizers of a pipeline."""
        self._pipeline = pipeline
        self._now: Mapping[str, str] = {}
        self._options: Mapping[str, Any] = {}
        self._read: dict[str, dict[str, TowerReading]] = {}
        for name, title in _towers(pipeline).items():
            tokenizer = _tokenizer_of(getattr(pipeline, name))
            _note_calls(tokenizer, self._noting(title))

    @contextmanager
    def reading(
        self, prompts: Mapping[str, str], options: Mapping[str, Any]
    ) -> Iterator[None]:
        """Record, inside this context, how much of `prompts` each text encoder reads.

        Args:
            prompts: The prompt of each request, by the text that the pipeline gets.
            options: The arguments of its call.
        """
        self._now, self._options = prompts, options
        try:
            with _without_lines_on_length():
                yield
        finally:
            self._now, self._options = {}, {}

    def unread(self) -> dict[str, list[TowerReading]]:
        """Return what every text encoder read of each prompt that one of them truncated."""
        return {
            prompt: list(towers.values())
            for prompt, towers in self._read.items()
            if any(reading.unread for reading in towers.values())
        }

    def _noting(self, title: str) -> Callable[[Any, str, Mapping[str, Any]], None]:
        return lambda tokenizer, text, options: self._note(
            title, tokenizer, text, options
        )

    def _note(
        self, title: str, tokenizer: Any, text: str, options: Mapping[str, Any]
    ) -> None:
        places = {prompt: _find(text, prompt) for prompt in self._now}
        prompt = max(
            places, key=lambda candidate: places[candidate].length, default=None
        )
        if (
            prompt is None
            or not places[prompt].length
            or self._is_negative(text, prompt)
        ):
            return
        limit = self._limit(tokenizer, options)
        special = bool(options.get("add_special_tokens", True))
        reading = _reading(
            title, tokenizer, (text, prompt), places[prompt], limit, special
        )
        towers = self._read.setdefault(self._now[prompt], {})
        before = towers.get(title)
        # Some pipelines also count the tokens of the whole text, in a call of its own.
        if before is None or len(reading.unread) > len(before.unread):
            towers[title] = reading

    def _is_negative(self, text: str, prompt: str) -> bool:
        """Return whether a text belongs to a negative prompt that shares words with the prompt."""
        for name, value in self._options.items():
            texts = [value] if isinstance(value, str) else value
            if not name.startswith("negative_prompt") or not isinstance(texts, list):
                continue
            others = [
                negative
                for negative in texts
                if isinstance(negative, str) and negative.strip()
            ]
            if any(
                _find(text, negative).length and not _find(prompt, negative).length
                for negative in others
            ):
                return True
        return False

    def _limit(self, tokenizer: Any, options: Mapping[str, Any]) -> int | None:
        """Return how many tokens of a text reach a text encoder; None if all do."""
        limit: int | None = None
        if options.get("truncation"):
            limit = int(options.get("max_length") or tokenizer.model_max_length)
        name = type(self._pipeline).__name__
        if name in _CUT_LATER:
            limit = int(getattr(self._pipeline, _CUT_LATER[name]))
        if name in _CUT_BEHIND_TEMPLATE:
            prefix = int(self._pipeline.prompt_template_encode_start_idx)
            later = prefix + int(self._options.get("max_sequence_length") or 512)
            limit = later if limit is None else min(limit, later)
        return None if limit is None or limit > _LONGEST else limit


@contextmanager
def _without_lines_on_length() -> Iterator[None]:
    """Suppress the libraries' log lines about long prompts, which the results report."""

    def is_other(record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith(_LINES_ON_LENGTH)

    handlers = [
        handler for name in _LIBRARIES for handler in logging.getLogger(name).handlers
    ]
    for handler in handlers:
        handler.addFilter(is_other)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(is_other)


def _towers(pipeline: Any) -> dict[str, str]:
    """Return the name of the text encoder that each tokenizer or processor prepares texts for.

    They are keyed by the attribute of the pipeline that the tokenizer or processor is.
    """
    titles: dict[str, str] = {}
    title_by_encoder: dict[int, str] = {}
    for name, part in getattr(pipeline, "components", {}).items():
        encoder = _encoder_of(pipeline, name)
        if part is None or encoder is None:
            continue
        if id(encoder) not in title_by_encoder:
            title_by_encoder[id(encoder)] = _title(encoder, title_by_encoder.values())
        titles[name] = title_by_encoder[id(encoder)]
    return titles


def _encoder_of(pipeline: Any, name: str) -> Any:
    """Return the text encoder that reads what the part called `name` makes of a prompt, or None."""
    if "tokenizer" in name:
        candidates = [name.replace("tokenizer", "text_encoder"), "bert"]
    elif name == "processor":
        candidates = ["vision_language_encoder", "text_encoder"]
    else:
        return None
    encoders = (getattr(pipeline, candidate, None) for candidate in candidates)
    return next((encoder for encoder in encoders if encoder is not None), None)


def _title(encoder: Any, taken: Collection[str]) -> str:
    """Return the name under which an encoder is reported, numbered if its family is `taken`."""
    kind = type(encoder).__name__
    title = next((family for family in _FAMILIES if kind.startswith(family)), kind)
    same = sum(other.split(" ")[0] == title for other in taken)
    return f"{title} {same + 1}" if same else title


def _tokenizer_of(part: Any) -> Any:
    """Return a part that is a tokenizer as it is, and of a processor the tokenizer inside.

    Some tokenizers, such as Kolors', have a further one inside, which is not called.
    """
    if hasattr(part, "model_max_length"):
        return part
    return getattr(part, "tokenizer", part)


def _note_calls(
    tokenizer: Any, note: Callable[[Any, str, Mapping[str, Any]], None]
) -> None:
    """Make a tokenizer pass each text that it is called with to `note`, with the same results."""
    kind = type(tokenizer)
    if not callable(tokenizer) or not hasattr(tokenizer, "model_max_length"):
        return

    def call(self: Any, text: Any = None, *args: Any, **options: Any) -> Any:
        result = kind.__call__(self, text, *args, **options)
        if not args:
            for single in [text] if isinstance(text, str) else text or ():
                if isinstance(single, str):
                    note(self, single, options)
        return result

    # A call is looked up in the class; the name stays, for messages and configurations.
    members = {"__call__": call, "__module__": kind.__module__}
    tokenizer.__class__ = type(kind.__name__, (kind,), members)


@dataclass(frozen=True, slots=True)
class _Place:
    """The position and length of a prompt within the text that a pipeline made of it."""

    start: int
    length: int


def _find(text: str, prompt: str) -> _Place:
    """Return where a prompt is in the text that a pipeline made of it, lower-cased or cut."""
    whole, body = text.lower(), prompt.strip().lower()
    start = whole.rfind(body)
    if start >= 0:
        return _Place(start, len(body))
    start = whole.find(body[:_LEAST_CUT]) if len(body) > _LEAST_CUT else -1
    if start < 0:
        return _Place(0, 0)
    pairs = zip(whole[start:], body, strict=False)
    return _Place(
        start, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    )


def _reading(
    title: str,
    tokenizer: Any,
    text_and_prompt: tuple[str, str],
    place: _Place,
    limit: int | None,
    special: bool,
) -> TowerReading:
    """Return how much of a prompt a text encoder reads where it is part of a longer text."""
    text, prompt = text_and_prompt
    body = prompt.strip()
    kind = type(tokenizer).__mro__[1]

    def tokens(part: str) -> int:
        ids = kind.__call__(tokenizer, part, add_special_tokens=special, verbose=False)
        return len(ids["input_ids"])

    total = tokens(text)
    words = [match.span() for match in _WORD.finditer(body)]
    # The number of words that the tower reads is between these.
    low, high = 0, sum(end <= place.length for _, end in words)
    if limit is None or total <= limit:
        low = high
    while low < high:
        middle = (low + high + 1) // 2
        if tokens(text[: place.start + words[middle - 1][1]]) <= (limit or total):
            low = middle
        else:
            high = middle - 1
    unread = body[words[low][0] :] if low < len(words) else ""
    return TowerReading(title, total, limit, unread)
