"""Prices of images before anything is asked for, from the table that comes with LiteLLM."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeGuard

SOURCE = "LiteLLM's table"
_FILE = "model_prices_and_context_window_backup.json"
# What an image costs that is made; a price of images that are sent stands beside it.
_PER_IMAGE = ("output_cost_per_image", "input_cost_per_image")
_PER_PIXEL = "input_cost_per_pixel"


@cache
def installed_table() -> Mapping[str, Any]:
    """Return the table of an installed LiteLLM without importing it; empty without one."""
    try:
        spec = find_spec("litellm")
    except (ImportError, ValueError):
        return {}
    if spec is None or spec.origin is None:
        return {}
    try:
        text = (Path(spec.origin).parent / _FILE).read_text(encoding="utf-8")
        table = json.loads(text)
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}


def listed_price(
    table: Mapping[str, Any],
    model: str,
    size: str | None = None,
    quality: str | None = None,
) -> float | None:
    """Return what a table says that an image of a model costs; None where it does not say.

    Args:
        table: Entries by model, as LiteLLM has them.
        model: The model as LiteLLM calls it, such as 'gemini/gemini-3-pro-image'.
        size: Width and height, such as '1024x1024'; None for the server's own.
        quality: The quality that is asked for; None for the server's own.

    Examples:
        >>> table = {"low/1024-x-1024/gpt": {"input_cost_per_image": 0.011}, "gpt": {}}
        >>> listed_price(table, "gpt", "1024x1024", "low")
        0.011
        >>> listed_price(table, "gpt", "1024x1024") is None  # its quality would decide
        True
    """
    for name in _exact_names(model, size, quality):
        price = _price_per_image(table.get(name)) or _price_of_pixels(
            table.get(name), size
        )
        if price is not None:
            return price
    if quality is not None:
        # The entry of the model alone is the price of whatever quality is its usual one.
        return None
    if size is not None:
        return _price_of_pixels(table.get(model), size)
    return _price_per_image(table.get(model))


def _exact_names(model: str, size: str | None, quality: str | None) -> Iterator[str]:
    """Yield the names under which a table may have a model of this size and quality."""
    provider, slash, named = model.partition("/")
    wide = None if size is None else size.lower().replace("x", "-x-")
    parts = [part for part in (quality, wide) if part]
    if parts:
        inner = "/".join(parts)
        yield f"{inner}/{model}"
        if slash:
            yield f"{provider}/{inner}/{named}"


def _price_per_image(entry: object) -> float | None:
    """Return what an image costs by an entry, whatever its size; None if it does not say."""
    if not isinstance(entry, Mapping):
        return None
    for name in _PER_IMAGE:
        price = entry.get(name)
        if _is_price(price):
            return float(price)
    return None


def _price_of_pixels(entry: object, size: str | None) -> float | None:
    """Return what an image of a size costs by an entry with a price a pixel; None without one."""
    if size is None or not isinstance(entry, Mapping):
        return None
    per_pixel = entry.get(_PER_PIXEL)
    if not _is_price(per_pixel):
        return None
    width, _, height = size.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        return None
    return float(per_pixel) * int(width) * int(height)


def _is_price(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
