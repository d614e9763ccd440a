"""Encode each prompt once: a cache around the `encode_prompt` of a pipeline.

A pipeline calls `encode_prompt` for every batch, with every prompt as often as the batch has images
of it. Here each prompt is encoded once, on its own, and the rows are joined. A prompt's encoding
therefore does not depend on the batch, not even by the rounding of a matrix product.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

# How many encodings stay on the device; each has 4 MB in FLUX.1.
_LIMIT = 64
# Arguments whose names begin like this have a text for each row.
_TEXTS = ("prompt", "negative_prompt")
# An argument of some classes: how many rows these have.
_ROWS = "batch_size"
# Largest relative distance that half precision causes; between two prompts it is about 1.
_ALIKE = 0.05


class _UnlikeError(Exception):
    """Raised where joined encodings of single rows differ from the encoding of a batch."""


class EncodedPrompts:
    """Replaces the `encode_prompt` of a pipeline by one that encodes every prompt only once.

    On the first batch of more than one row, the joined encoding of two rows is compared with the
    pipeline's own. If they differ, every call from then on goes to the pipeline's own method.

    Attributes:
        calls: Number of calls of the pipeline's own method.
        works: False once encodings turned out not to be joinable.
    """

    def __init__(self, encode_prompt: Callable[..., Any], limit: int = _LIMIT) -> None:
        self._own = encode_prompt
        self._signature = inspect.signature(encode_prompt)
        self._limit = limit
        self._known: OrderedDict[str, Any] = OrderedDict()
        self._compared: set[str] = set()
        self.calls = 0
        self.works = True

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Return what the pipeline's own `encode_prompt` returns for these arguments."""
        bound = self._signature.bind(*args, **options)
        texts = {
            name: value
            for name, value in bound.arguments.items()
            if name.startswith(_TEXTS) and _is_text(value)
        }
        others = {
            name: value
            for name, value in bound.arguments.items()
            if name not in {*texts, _ROWS}
        }
        rows = _row_count(texts)
        if not self.works or rows is None or not _is_plain(others):
            return self._plain(bound, {})
        described = repr(others)
        encoded = [
            self._encoded(bound, _part(texts, number, number + 1), described)
            for number in range(rows)
        ]
        if rows == 1:
            return encoded[0]
        try:
            if described not in self._compared:
                expected = self._plain(bound, _part(texts, 0, 2))
                if not _alike(_joined(encoded[:2]), expected):
                    raise _UnlikeError
                self._compared.add(described)
            return _joined(encoded)
        except _UnlikeError:
            self.works = False
            self._known.clear()
            return self._plain(bound, {})

    def _plain(self, bound: inspect.BoundArguments, texts: Mapping[str, Any]) -> Any:
        arguments = {**bound.arguments, **texts}
        if texts and _ROWS in arguments:
            arguments[_ROWS] = _row_count(texts)
        given = inspect.BoundArguments(self._signature, OrderedDict(arguments))
        self.calls += 1
        return self._own(*given.args, **given.kwargs)

    def _encoded(
        self, bound: inspect.BoundArguments, row: Mapping[str, Any], options: str
    ) -> Any:
        key = f"{sorted(row.items())!r} {options}"
        if key not in self._known:
            self._known[key] = self._plain(bound, row)
            if len(self._known) > self._limit:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]


def encode_once(pipeline: Any) -> EncodedPrompts | None:
    """Replace a pipeline's `encode_prompt` by a caching one and return it; None if it has none."""
    encode_prompt = getattr(pipeline, "encode_prompt", None)
    if not inspect.ismethod(encode_prompt):
        return None
    if "prompt" not in inspect.signature(encode_prompt).parameters:
        return None
    pipeline.encode_prompt = EncodedPrompts(encode_prompt)
    encoded: EncodedPrompts = pipeline.encode_prompt
    return encoded


def _row_count(texts: Mapping[str, Any]) -> int | None:
    """Return how many rows a batch of texts has; None without a prompt or if lengths differ."""
    prompt = texts.get("prompt")
    if prompt is None:
        return None
    rows = len(prompt) if isinstance(prompt, list) else 1
    lengths = {len(value) for value in texts.values() if isinstance(value, list)}
    return rows if lengths <= {rows} else None


def _part(texts: Mapping[str, Any], start: int, end: int) -> dict[str, Any]:
    """Return the texts of rows `start` to `end`; a text outside of lists belongs to every row."""
    return {
        name: value[start:end] if isinstance(value, list) else value
        for name, value in texts.items()
    }


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(text, str) for text in value)
    )


def _is_plain(value: Any) -> bool:
    """Return whether the `repr` of a value describes it completely."""
    import torch

    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return value is None or isinstance(
        value, (str, bool, int, float, torch.device, torch.dtype)
    )


def _joined(encoded: Sequence[Any]) -> Any:
    """Return encodings of single rows, joined along their axis of length 1 as in a batch."""
    import torch

    first = encoded[0]
    if isinstance(first, tuple):
        return tuple(_joined(parts) for parts in zip(*encoded, strict=True))
    if isinstance(first, list):
        return [item for encoding in encoded for item in encoding]
    if not isinstance(first, torch.Tensor):
        alike = all(encoding == first for encoding in encoded)
    elif 1 in first.shape and all(
        encoding.shape == first.shape for encoding in encoded
    ):
        return torch.cat(list(encoded), dim=first.shape.index(1))
    else:
        # Such as the positions of tokens in FLUX.1, which all rows share.
        alike = all(torch.equal(encoding, first) for encoding in encoded)
    if not alike:
        raise _UnlikeError
    return first


def _alike(first: Any, second: Any) -> bool:
    """Return whether two encodings of prompts agree up to the rounding of matrix products."""
    import torch

    if isinstance(first, (list, tuple)):
        same = isinstance(second, (list, tuple)) and len(first) == len(second)
        return same and all(map(_alike, first, second))
    if not isinstance(first, torch.Tensor):
        return bool(first == second)
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    if not first.is_floating_point():
        return torch.equal(first, second)
    values = first.double().flatten()
    expected = second.double().flatten()
    return bool((values - expected).norm() <= _ALIKE * expected.norm())
