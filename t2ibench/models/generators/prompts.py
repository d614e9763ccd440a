"""Encoding each prompt once: a pipeline's own `encode_prompt`, with a memory.

A pipeline calls `encode_prompt` for every batch, with every prompt as often as it has images in
it. Here each prompt is encoded alone, once, and the rows are put together: so what a prompt is
encoded to does not depend on the batch either, not even by the rounding of a matrix product.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_LIMIT = 64  # encodings that stay on the device; one of FLUX.1 has 4 MB
_TEXTS = ("prompt", "negative_prompt")  # arguments that begin so are one text a row
# distance, relative to the length, that half precision may make; another row is 1
_ALIKE = 0.05


class _UnlikeError(Exception):
    """Encodings cannot be put together."""


class EncodedPrompts:
    """Takes the place of a pipeline's `encode_prompt`; what it returns is the same.

    On the first batch of more than one row, what is put together is compared with what the
    pipeline itself makes of two of them. Where they do not agree, everything goes to the
    pipeline's own method from then on, and `works` is False. `calls` counts calls of that method.
    """

    def __init__(self, own: Callable[..., Any], limit: int = _LIMIT) -> None:
        self._own = own
        self._signature = inspect.signature(own)
        self._limit = limit
        self._known: OrderedDict[str, Any] = OrderedDict()
        self._compared: set[str] = set()
        self.calls = 0
        self.works = True

    def __call__(self, *args: Any, **options: Any) -> Any:
        """What the pipeline's own method returns for these arguments."""
        bound = self._signature.bind(*args, **options)
        texts = {
            name: value
            for name, value in bound.arguments.items()
            if name.startswith(_TEXTS) and _is_text(value)
        }
        rest = {
            name: value for name, value in bound.arguments.items() if name not in texts
        }
        prompt = texts.get("prompt")
        count = len(prompt) if isinstance(prompt, list) else 1
        if (
            not self.works
            or prompt is None
            or not _is_plain(rest)
            or any(
                isinstance(value, list) and len(value) != count
                for value in texts.values()
            )
        ):
            return self._plain(bound, {})
        encoded = [
            self._encoded(bound, _part(texts, number, number + 1), repr(rest))
            for number in range(count)
        ]
        if count == 1:
            return encoded[0]
        try:
            if repr(rest) not in self._compared:
                if not _alike(
                    _joined(encoded[:2]), self._plain(bound, _part(texts, 0, 2))
                ):
                    raise _UnlikeError
                self._compared.add(repr(rest))
            return _joined(encoded)
        except _UnlikeError:
            self.works = False
            self._known.clear()
            return self._plain(bound, {})

    def _plain(self, bound: inspect.BoundArguments, texts: Mapping[str, Any]) -> Any:
        given = inspect.BoundArguments(
            self._signature, OrderedDict({**bound.arguments, **texts})
        )
        self.calls += 1
        return self._own(*given.args, **given.kwargs)

    def _encoded(
        self, bound: inspect.BoundArguments, row: Mapping[str, Any], rest: str
    ) -> Any:
        key = f"{sorted(row.items())!r} {rest}"
        if key not in self._known:
            self._known[key] = self._plain(bound, row)
            if len(self._known) > self._limit:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]


def encode_once(pipeline: Any) -> EncodedPrompts | None:
    """Have a pipeline encode each prompt once; None where it does not encode prompts apart."""
    own = getattr(pipeline, "encode_prompt", None)
    if not inspect.ismethod(own) or "prompt" not in inspect.signature(own).parameters:
        return None
    pipeline.encode_prompt = EncodedPrompts(own)
    encoded: EncodedPrompts = pipeline.encode_prompt
    return encoded


def _part(texts: Mapping[str, Any], start: int, end: int) -> dict[str, Any]:
    """The texts of some rows; one that is not a list goes with all of them."""
    return {
        name: value[start:end] if isinstance(value, list) else value
        for name, value in texts.items()
    }


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, str) for one in value)
    )


def _is_plain(value: Any) -> bool:
    """Whether the `repr` of a value says all about it."""
    import torch

    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return value is None or isinstance(
        value, (str, bool, int, float, torch.device, torch.dtype)
    )


def _joined(encoded: Sequence[Any]) -> Any:
    """The encoding of several rows from that of each, which has an axis of length 1 for it."""
    import torch

    first = encoded[0]
    if isinstance(first, tuple):
        return tuple(_joined(parts) for parts in zip(*encoded, strict=True))
    if isinstance(first, list):
        return [item for one in encoded for item in one]
    if not isinstance(first, torch.Tensor):
        alike = all(one == first for one in encoded)
    elif 1 in first.shape and all(one.shape == first.shape for one in encoded):
        return torch.cat(list(encoded), dim=first.shape.index(1))
    else:
        # such as FLUX.1's places of tokens
        alike = all(torch.equal(one, first) for one in encoded)
    if not alike:
        raise _UnlikeError
    return first


def _alike(one: Any, two: Any) -> bool:
    """Whether two encodings are the same, but for the rounding of matrix products."""
    import torch

    if isinstance(one, (list, tuple)):
        same = isinstance(two, (list, tuple)) and len(one) == len(two)
        return same and all(map(_alike, one, two))
    if not isinstance(one, torch.Tensor):
        return bool(one == two)
    if one.shape != two.shape or one.dtype != two.dtype:
        return False
    if not one.is_floating_point():
        return torch.equal(one, two)
    mine, theirs = one.double().flatten(), two.double().flatten()
    return bool((mine - theirs).norm() <= _ALIKE * theirs.norm())
