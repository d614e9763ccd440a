"""Which classes of diffusers work, and how: each is built tiny, saved, loaded and tried."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from t2ibench.models.generators.diffusers import DiffusersGenerator
from t2ibench.models.generators.pipelines import mixes_prompts
from t2ibench.models.protocols import ImageRequest
from tests.models.pipelines import parts
from tests.models.tiny import draw, made

SHORT = "a photo of a nurse"
LONG = "a photo of a nurse, a clerk, the rose, an ant, a person, a picture of the ant"
LEVEL = 1  # of 255 that rounding may make between two sizes of a batch


# By class; see tiny.yaml.
TRIED: Mapping[str, Any] = {
    name: parts.entry_of(name) for name in parts.TABLE["pipelines"]
}
PAGE = Path(__file__).parents[3] / "docs" / "models" / "diffusers.md"

# What a pipeline takes that starts from more than a text, or makes more than an image.
_MORE = {
    *("image", "images", "mask_image", "control_image", "video", "source_prompt"),
    *("num_frames", "video_length", "frame_size", "lyrics", "block_length"),
}
# No image of a prompt alone, or (onnx, seen only where its runtime is installed) no torch model.
_NO_IMAGE = re.compile(
    "Audio|Video|Latte|LTX2|Prior|Edit|ControlNet|Inpaint|Img2Img|Onnx"
)
_IMAGE_OR_NONE = {
    *(
        "BriaFibo2Pipeline",
        "DreamLiteMobilePipeline",
        "DreamLitePipeline",
        "Flux2KleinKVPipeline",
    ),
    *(
        "FluxKontextPipeline",
        "GlmImagePipeline",
        "OmniGenPipeline",
        "QwenImage21Pipeline",
    ),
    *("ZImageOmniPipeline",),
}


@dataclass(frozen=True, slots=True)
class Row:
    """What a trial found.

    Attributes:
        models: What people know the class by.
        pipeline: The class that was loaded.
        seeds: Another seed is another image, and the same seed the same one again.
        prompts: Another prompt is another image.
        alike: An image is the same alone and in a batch, whatever else is in it.
        once: A prompt is encoded once, however many images it has.
        one_length: A short and a long prompt are encoded to the same number of tokens.
        batch: What one batch may hold.
        mixes: Whether images stayed the same where prompts of other lengths shared their batch.
    """

    models: str
    pipeline: str
    seeds: bool
    prompts: bool
    alike: bool
    once: bool
    one_length: bool
    batch: str
    mixes: bool


def loaded(name: str, folder: Path) -> DiffusersGenerator:
    """The generator of a saved pipeline, loaded as any other is."""
    generator = made(folder, **TRIED[name].get("args", {}))
    generator.load()
    for attribute, value in TRIED[name].get("shrink", {}).items():
        setattr(generator._pipeline, attribute, value)
    return generator


def apart(one: npt.NDArray[np.int64], two: npt.NDArray[np.int64]) -> int:
    """The largest difference of two images, in levels of 255."""
    return int(np.abs(one - two).max())


def tried(name: str, folder: Path) -> Row:
    """Save a class's tiny pipeline, load it and find out how it works.

    Args:
        name: The class.
        folder: Where it is saved.

    Returns:
        What was found.
    """
    generator = loaded(name, parts.saved(name, folder))
    requests = [
        ImageRequest(p, 0, seed) for p, seed in ((SHORT, 7), (SHORT, 8), (LONG, 7))
    ]
    alone = [draw(generator, [request], 1)[0] for request in requests]
    together = draw(generator, requests, 3)
    encoded = generator._prompts
    calls = encoded.calls if encoded else 0
    draw(generator, requests[:1], 1)
    once = encoded is not None and encoded.works and encoded.calls == calls
    one_length = once and _shapes(generator, requests[0]) == _shapes(
        generator, requests[2]
    )
    listed = mixes_prompts(generator._pipeline)
    one_image = generator._batch.size == 1
    with (
        mock.patch(
            "t2ibench.models.generators.diffusers.mixes_prompts", return_value=True
        )
        if not listed and not one_image
        else nullcontext()
    ):
        mixed = draw(generator, requests[1:], 2)
    return Row(
        models=TRIED[name]["models"],
        pipeline=type(generator._pipeline).__name__,
        seeds=apart(alone[0], alone[1]) > LEVEL,
        prompts=apart(alone[0], alone[2]) > 2 * LEVEL,
        alike=all(map(_same, alone, together)),
        once=once,
        one_length=one_length,
        batch="one image"
        if one_image
        else "several prompts"
        if listed
        else "one prompt",
        mixes=all(map(_same, alone[1:], mixed)) and not one_image,
    )


def _same(one: npt.NDArray[np.int64], two: npt.NDArray[np.int64]) -> bool:
    return apart(one, two) <= LEVEL


def _shapes(generator: DiffusersGenerator, request: ImageRequest) -> set[str]:
    """The shapes of all that a pipeline encodes for a request."""
    encoded = generator._prompts
    assert encoded is not None
    encoded._known.clear()
    draw(generator, [request], 1)
    return {repr(_shape(one)) for one in encoded._known.values()}


def _shape(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_shape(one) for one in value]
    return tuple(value.shape) if hasattr(value, "shape") else value


def untried() -> list[str]:
    """Classes of the installed diffusers that make an image of a prompt alone, and are not tried.

    Returns:
        Their names; those that diffusers calls deprecated do not count.
    """
    import diffusers

    found = set()
    for name in dir(diffusers):
        kind = getattr(diffusers, name, None) if name.endswith("Pipeline") else None
        if not inspect.isclass(kind) or ".pipelines." not in kind.__module__:
            continue
        known = dict(inspect.signature(kind.__call__).parameters)
        needed = {key for key, one in known.items() if one.default is one.empty}
        from_text = "prompt" in known and not needed - {"self", "prompt", "kwargs"}
        if name in _IMAGE_OR_NONE or (from_text and not _MORE & set(known)):
            found.add(name if "deprecated" not in kind.__module__ else "")
    return sorted(
        name for name in found - set(TRIED) if name and not _NO_IMAGE.search(name)
    )


def page(rows: Sequence[Row], version: str, others: Sequence[str]) -> str:
    """The page of the docs: its text, and what was found and what not tried."""
    from tabulate import tabulate

    headers = [
        "models",
        "class",
        "seeds",
        "prompts",
        "alone and in company",
        "encoded once",
    ]
    headers += ["one length", "one batch holds", "if mixed"]
    table = tabulate(map(_cells, rows), headers, tablefmt="pipe", disable_numparse=True)
    names = ", ".join(f"`{name}`" for name in others)
    text = re.sub(
        r"(?<=with diffusers )[^,]+", version, PAGE.read_text(encoding="utf-8")
    )
    text = re.sub(r"(?<=one prompt at a time: ).*", f"{names}.", text)
    return re.sub(r"(\|.*\n)+", lambda _: f"{table}\n", text)


def _cells(row: Row) -> list[str]:
    models, pipeline, seeds, prompts, alike, once, one_length, batch, mixes = astuple(
        row
    )
    mixed = "" if batch == "one image" else "the same" if mixes else "changed"
    answers = [
        "yes" if one else "no" for one in (seeds, prompts, alike, once, one_length)
    ]
    return [models, f"`{pipeline}`", *answers, batch, mixed]
