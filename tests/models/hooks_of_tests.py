"""Hooks that the tests name on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

WORD = "no function"
Arguments = Mapping[str, Any]
PerImage = Callable[[str, int], Any]


def nothing(pipeline: Any, arguments: Arguments) -> Any:
    return pipeline


def steered(pipeline: Any, arguments: Arguments, *, strong: float = 3.0) -> PerImage:
    """Guidance of its own for every second image of a nurse."""

    def per_image(prompt: str, index: int) -> dict[str, Any]:
        return {"guidance_scale": strong} if "nurse" in prompt and index % 2 else {}

    return per_image


def embedded(pipeline: Any, arguments: Arguments) -> PerImage:
    """The embedding of another prompt for every second image, which is no plain value."""
    import torch

    with torch.inference_mode():
        rose, _ = pipeline.encode_prompt("a photo of a rose", "cpu", 1, False)

    def per_image(prompt: str, index: int) -> dict[str, Any] | None:
        return {"prompt_embeds": rose} if index % 2 else None

    return per_image


def reworded(pipeline: Any, arguments: Arguments) -> PerImage:
    return lambda prompt, index: {"prompt": "a photo of a rose"}


def breaks(pipeline: Any, arguments: Arguments) -> Any:
    raise ValueError("no such layer")


def a_number(pipeline: Any, arguments: Arguments) -> Any:
    return 3


def fails_for_roses(pipeline: Any, arguments: Arguments) -> PerImage:
    def per_image(prompt: str, index: int) -> dict[str, Any]:
        if "rose" in prompt:
            raise KeyError("rose")
        return {}

    return per_image


def own_seed(pipeline: Any, arguments: Arguments) -> PerImage:
    return lambda prompt, index: {"generator": None}


def misspelt(pipeline: Any, arguments: Arguments) -> PerImage:
    return lambda prompt, index: {"guidance_scal": 2.0}


def a_word(pipeline: Any, arguments: Arguments) -> PerImage:
    return lambda prompt, index: "a photo of a rose"
