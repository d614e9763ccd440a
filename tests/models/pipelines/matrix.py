"""Which classes of diffusers work, and how: each is built tiny, saved, loaded and tried."""

from __future__ import annotations

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
from t2ibench.models.generators.editing_pipelines import EDITORS
from t2ibench.models.generators.pipeline_classes import (
    REFUSED,
    mixes_prompts,
    text_to_image_class,
    why_refused,
)
from t2ibench.models.protocols import ImageRequest
from tests.models.pipelines import parts
from tests.models.tiny import draw, made

SHORT = "a photo of a nurse"
LONG = "a photo of a nurse, a clerk, the rose, an ant, a person, a picture of the ant"
LEVEL = 1  # of 255 that rounding may make between two sizes of a batch


# By class; see tiny.yaml.
TRIED: Mapping[str, Any] = {
    name: parts.entry_of(name) for name in sorted(parts.TABLE["pipelines"])
}
PAGE = Path(__file__).parents[3] / "docs" / "models" / "diffusers.md"


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


def pipeline_classes() -> dict[str, type[Any]]:
    """The pipeline classes of the installed diffusers that it does not call deprecated."""
    import diffusers

    classes = {}
    for name in dir(diffusers):
        kind = getattr(diffusers, name, None) if name.endswith("Pipeline") else None
        module = getattr(kind, "__module__", "")
        if ".pipelines." in module and "deprecated" not in module:
            classes[name] = kind
    return classes


def untried() -> list[str]:
    """The pipeline classes that nothing is known of: neither tried, nor refused with a reason."""
    unknown = []
    for name, kind in pipeline_classes().items():
        loaded_as = text_to_image_class(kind).__name__
        known = {name, loaded_as} & {*TRIED, *EDITORS}
        if not known and why_refused(kind) is None:
            unknown.append(name)
    return unknown


def refused() -> dict[str, str]:
    """The classes that are refused by name, with the reasons."""
    return {
        name: reason
        for name, reason in sorted(REFUSED.items())
        if name in pipeline_classes()
    }


def page(rows: Sequence[Row], version: str, refusals: Mapping[str, str]) -> str:
    """The page of the docs: its text, what was found, and what is refused and why."""
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
    reasons: dict[str, list[str]] = {}
    for name, reason in refusals.items():
        reasons.setdefault(reason, []).append(f"`{name}`")
    words = "; ".join(
        f"{', '.join(names)} ({reason})" for reason, names in reasons.items()
    )
    text = re.sub(
        r"(?<=with diffusers )[^,]+", version, PAGE.read_text(encoding="utf-8")
    )
    text = re.sub(r"(?<=Refused by name: ).*", f"{words}.", text)
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
