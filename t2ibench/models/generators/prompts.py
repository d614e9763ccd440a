"""Encoding each prompt once: a pipeline's own `encode_prompt`, with a memory.

A pipeline calls `encode_prompt` for every batch, with every prompt as often as it has images in
it. Here each prompt is encoded alone, once, and the rows are put together: so what a prompt is
encoded to does not depend on the batch either, not even by the rounding of a matrix product.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

from t2ibench.errors import T2IBenchError

_LIMIT = 2 * 1024**3  # bytes of main memory for what is encoded; 500 prompts of FLUX.1
_TEXTS = ("prompt", "negative_prompt")  # arguments that begin so are one text a row
_ALIKE = 0.05  # distance, relative to the length, that half precision may make; another row is 1
# A number is the axis along which rows follow each other.
Layout = Literal["shared", "items", "lengths"] | int | tuple["Layout", ...]
_Row = Mapping[str, Any]


class _UnlikeError(Exception):
    """A pipeline's encodings of several prompts are not those of each, one after the other."""


class EncodedPrompts:
    """Takes the place of a pipeline's `encode_prompt`; what it returns is the same.

    How the encodings of several prompts follow from those of each is found on the first batch
    that has more than one row, and compared with what the pipeline itself makes of two of them.
    Where they do not agree, everything goes to the pipeline's own method from then on.

    Args:
        own: The pipeline's method.
        loaded: Brings the text encoders to where they run.
        ahead: Whether prompts that are expected are encoded at once, because `loaded` takes time.
        limit: Bytes of main memory for what is encoded.

    Attributes:
        calls: How often the pipeline's own method was called.
        works: Whether prompts are encoded once.
    """

    def __init__(
        self,
        own: Callable[..., Any],
        *,
        loaded: Callable[[], AbstractContextManager[object]] = nullcontext,
        ahead: bool = False,
        limit: int = _LIMIT,
    ) -> None:
        self._own = own
        self._signature = inspect.signature(own)
        self._loaded = loaded
        self._ahead = ahead
        self._limit = limit
        self._expected: Sequence[str] = ()
        self._known: OrderedDict[str, Any] = OrderedDict()
        self._bytes = 0
        self._layouts: dict[str, Layout] = {}
        self._mixed: set[str] = set()
        self.calls = 0
        self.works = True

    def expect(self, prompts: Sequence[str]) -> None:
        """Say which prompts come next, each once."""
        self._expected = prompts

    def __call__(self, *args: Any, **options: Any) -> Any:
        """What the pipeline's own method returns for these arguments."""
        bound = self._signature.bind(*args, **options)
        rows = self._rows(bound.arguments) if self.works else None
        if rows is None:
            return self._plain(bound, {})
        common = repr([item for item in bound.arguments.items() if item[0] not in rows[0]])
        encoded = [self._encoded(bound, row, common) for row in rows]
        if len(rows) == 1:
            return encoded[0]
        try:
            self._compare(bound, rows, encoded, common)
            return _joined(encoded, self._layouts[common])
        except _UnlikeError:
            self.works = False
            self._known.clear()
            return self._plain(bound, {})

    def _plain(self, bound: inspect.BoundArguments, texts: _Row) -> Any:
        given = inspect.BoundArguments(self._signature, OrderedDict({**bound.arguments, **texts}))
        self.calls += 1
        with self._loaded():
            return self._own(*given.args, **given.kwargs)

    def _rows(self, given: Mapping[str, Any]) -> list[_Row] | None:
        """The texts of each row; None where an argument is none that can be told apart."""
        texts = {
            name: value
            for name, value in given.items()
            if name.startswith(_TEXTS) and _is_text(value)
        }
        if "prompt" not in texts or not all(
            _is_plain(value) for name, value in given.items() if name not in texts
        ):
            return None
        count = len(texts["prompt"]) if isinstance(texts["prompt"], list) else 1
        if any(isinstance(value, list) and len(value) != count for value in texts.values()):
            return None
        return [
            {
                name: [value[number]] if isinstance(value, list) else value
                for name, value in texts.items()
            }
            for number in range(count)
        ]

    def _encoded(self, bound: inspect.BoundArguments, row: _Row, common: str) -> Any:
        key = _key(row, common)
        if key not in self._known:
            with self._loaded():
                for other in (row, *self._due(row)):
                    if _key(other, common) not in self._known:
                        self._add(_key(other, common), self._plain(bound, other))
        self._known.move_to_end(key)
        return _each(self._known[key], _Stored, lambda one: one.tensor.to(one.device))

    def _due(self, row: _Row) -> list[_Row]:
        """The expected prompts, while the text encoders are there."""
        text = row["prompt"][0] if isinstance(row["prompt"], list) else row["prompt"]
        if not self._ahead or text not in self._expected:
            return []
        expected, self._expected = self._expected, ()
        return [
            {
                name: [prompt] if value == [text] else prompt if value == text else value
                for name, value in row.items()
            }
            for prompt in expected
        ]

    def _add(self, key: str, encoded: Any) -> None:
        """Keep tensors in main memory, each with the device it belongs to."""
        import torch

        stored = _each(encoded, torch.Tensor, lambda one: _Stored(one.device, one.cpu()))
        self._known[key] = stored
        self._bytes += _size(stored)
        while self._bytes > self._limit and len(self._known) > 1:
            self._bytes -= _size(self._known.popitem(last=False)[1])

    def _compare(
        self,
        bound: inspect.BoundArguments,
        rows: Sequence[_Row],
        encoded: Sequence[Any],
        common: str,
    ) -> None:
        """Find how rows are put together, and that the pipeline does the same."""
        other = next((number for number, row in enumerate(rows) if row != rows[0]), 0)
        if common in self._layouts and (not other or common in self._mixed):
            return
        pair = [rows[0], rows[other or 1]]
        texts = {
            name: [row[name][0] for row in pair] if isinstance(value, list) else value
            for name, value in rows[0].items()
        }
        both = self._plain(bound, texts)
        layout = _layout(encoded[0], both)
        if not _alike(_joined([encoded[0], encoded[other or 1]], layout), both):
            raise _UnlikeError
        self._layouts[common] = layout
        if other:
            self._mixed.add(common)


def encode_once(pipeline: Any, offload: str) -> EncodedPrompts | None:
    """Have a pipeline encode each prompt once."""
    own = getattr(pipeline, "encode_prompt", None)
    if not inspect.ismethod(own) or "prompt" not in inspect.signature(own).parameters:
        if offload == "text":
            raise T2IBenchError(
                f"--model-args: {type(pipeline).__name__} takes no offload=text: it does not "
                "encode prompts apart.",
                "It takes none, model or sequential.",
            )
        return None
    loaded = _only_when_needed(pipeline) if offload == "text" else nullcontext
    encoded = EncodedPrompts(own, loaded=loaded, ahead=offload != "none")
    pipeline.encode_prompt = encoded
    return encoded


@contextmanager
def without_text_encoders(pipeline: Any) -> Iterator[dict[str, Any]]:
    """Take the text encoders out of a pipeline for a while."""
    encoders = _text_encoders(pipeline)
    try:
        for name in encoders:
            setattr(pipeline, name, None)
        yield encoders
    finally:
        for name, part in encoders.items():
            setattr(pipeline, name, part)


def _text_encoders(pipeline: Any) -> dict[str, Any]:
    import torch

    return {
        name: part
        for name, part in pipeline.components.items()
        if name.startswith("text_encoder") and isinstance(part, torch.nn.Module)
    }


def _only_when_needed(pipeline: Any) -> Callable[[], AbstractContextManager[object]]:
    """Take the text encoders out of a pipeline; they are in main memory until they are needed."""
    import torch

    encoders = _text_encoders(pipeline)

    def put(device: Any) -> None:
        for name, part in encoders.items():
            part.to(device or "cpu")
            setattr(pipeline, name, part if device else None)

    @contextmanager
    def there() -> Iterator[None]:
        if any(getattr(pipeline, name) is not None for name in encoders):
            yield
            return
        try:
            put(pipeline.device)
            yield
        finally:
            put(None)
            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    put(None)
    return there


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)
    )


def _is_plain(value: Any) -> bool:
    """Whether the `repr` of a value says all about it."""
    import torch

    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return value is None or isinstance(value, (str, bool, int, float, torch.device, torch.dtype))


def _key(row: _Row, common: str) -> str:
    return f"{sorted(row.items())!r} {common}"


@dataclass(frozen=True, slots=True)
class _Stored:
    device: Any
    tensor: Any


def _each(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """A value with everything of a kind in it changed."""
    if isinstance(value, (list, tuple)):
        return type(value)(_each(one, kind, change) for one in value)
    return change(value) if isinstance(value, kind) else value


def _size(value: Any) -> int:
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value))
    return value.tensor.nbytes if isinstance(value, _Stored) else 0


def _layout(one: Any, two: Any) -> Layout:
    """How the encoding of two rows follows from that of one."""
    import torch

    if isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor):
        if one.shape == two.shape:
            return "shared"
        if _lengths(one, two):
            return "lengths"
        for axis in range(one.ndim):
            if two.shape == (*one.shape[:axis], 2 * one.shape[axis], *one.shape[axis + 1 :]):
                return axis
    elif isinstance(one, (list, tuple)) and type(one) is type(two):
        if len(one) == len(two):
            return tuple(_layout(*pair) for pair in zip(one, two, strict=True))
        if len(two) == 2 * len(one):
            return "items"
    elif type(one) is type(two) and one == two:
        return "shared"
    raise _UnlikeError


def _lengths(one: Any, two: Any) -> bool:
    """Whether these are where each row ends, counted from 0 over all rows: (0, n), (0, n, 2 n)."""
    counts = one.ndim == two.ndim == 1 and not one.is_floating_point()
    return bool(counts and len(one) == 2 and len(two) == 3 and one[0] == two[0] == 0)


def _joined(encoded: Sequence[Any], layout: Layout) -> Any:
    """The encoding of several rows, from that of each; they may not fit together."""
    import torch

    first = encoded[0]
    if layout == "shared":
        return first
    if layout == "lengths":
        return torch.cat([first, *(one[1:] for one in encoded[1:])]).cumsum(0).to(first.dtype)
    if isinstance(layout, int):
        if any(one.shape != first.shape for one in encoded):
            raise _UnlikeError
        return torch.cat(list(encoded), dim=layout)
    if layout == "items":
        return type(first)(item for one in encoded for item in one)
    parts = [_joined([one[number] for one in encoded], part) for number, part in enumerate(layout)]
    return type(first)(parts)


def _alike(one: Any, two: Any) -> bool:
    """Whether two encodings are the same, but for the rounding of matrix products."""
    import torch

    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(_alike, one, two))
    if not isinstance(one, torch.Tensor):
        return bool(one == two)
    if one.shape != two.shape or one.dtype != two.dtype:
        return False
    if not one.is_floating_point():
        return torch.equal(one, two)
    mine, theirs = one.double().flatten(), two.double().flatten()
    return bool((mine - theirs).norm() <= _ALIKE * theirs.norm())
