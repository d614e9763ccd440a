"""Pipelines of diffusers that edit an image: which there are, and how each is asked for an edit."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators.pipeline_arguments import SIDES, DiffusersArguments
from t2ibench.models.protocols import ImageRequest
from t2ibench.store.image_headers import UnreadableImageError

if TYPE_CHECKING:
    from PIL.Image import Image

# Sides of images are multiples of this: of the latents' pixels, two of which are one token.
_MULTIPLE = 16


@dataclass(frozen=True, slots=True)
class Editor:
    """How a class of diffusers is asked for an edit.

    Attributes:
        size: What decides the size of the image, where the user gives none. 'arguments': the
            arguments height and width, for which it gets those of the source image. 'source': the
            source image, which is resized first to a size that the user gives. 'own': the class,
            from the source image.
        edits_only: Whether it makes no image of a prompt alone.
        takes_batches: Whether a list of images is one source image for each prompt. Other classes
            take such a list for several images that one prompt is about, or take no list.
    """

    size: Literal["arguments", "source", "own"]
    edits_only: bool = True
    takes_batches: bool = False

    @property
    def words(self) -> str:
        """How the pipeline resizes the source image, in words, for the record of a run."""
        if self.size == "own":
            return "resized by the pipeline, which chooses the size"
        return "as it is, or resized to size=…, sides rounded down to 16"


_FROM_SOURCE = Editor("source", takes_batches=True)
_FROM_ARGUMENTS = Editor("arguments", takes_batches=True)
# Each was built with random weights, saved, loaded and tried (see docs/models/editing.md).
EDITORS: Mapping[str, Editor] = {
    "Flux2KleinKVPipeline": Editor("own", edits_only=False),
    "Flux2KleinPipeline": Editor("own", edits_only=False),
    "Flux2Pipeline": Editor("own", edits_only=False),
    # Without height and width it draws a square, whatever the form of the source image.
    "FluxKontextPipeline": Editor("arguments", edits_only=False),
    "LongCatImageEditPipeline": Editor("own"),
    "QwenImageEditPipeline": Editor("own"),
    "QwenImageEditPlusPipeline": Editor("own"),
    "StableDiffusionInstructPix2PixPipeline": _FROM_SOURCE,
    "StableDiffusionXLInstructPix2PixPipeline": _FROM_ARGUMENTS,
    "FluxImg2ImgPipeline": _FROM_ARGUMENTS,
    "LatentConsistencyModelImg2ImgPipeline": _FROM_SOURCE,
    "QwenImageImg2ImgPipeline": _FROM_ARGUMENTS,
    "StableDiffusion3Img2ImgPipeline": _FROM_ARGUMENTS,
    "StableDiffusionImg2ImgPipeline": _FROM_SOURCE,
    "StableDiffusionXLImg2ImgPipeline": _FROM_SOURCE,
    "ZImageImg2ImgPipeline": _FROM_ARGUMENTS,
}
# Pipelines of prompts, and those with the same parts that start from a noised source image.
IMAGE_TO_IMAGE = {
    "FluxPipeline": "FluxImg2ImgPipeline",
    "LatentConsistencyModelPipeline": "LatentConsistencyModelImg2ImgPipeline",
    "QwenImagePipeline": "QwenImageImg2ImgPipeline",
    "StableDiffusion3Pipeline": "StableDiffusion3Img2ImgPipeline",
    "StableDiffusionPipeline": "StableDiffusionImg2ImgPipeline",
    "StableDiffusionXLPipeline": "StableDiffusionXLImg2ImgPipeline",
    "ZImagePipeline": "ZImageImg2ImgPipeline",
}

# They take a share of the steps that is rounded down, so it can be none.
_ROUND_DOWN = {"StableDiffusionImg2ImgPipeline", "StableDiffusionXLImg2ImgPipeline"}


def editor_of(kind: type[Any]) -> Editor | None:
    """Return how a class of diffusers is asked for an edit; None if it edits no image."""
    return EDITORS.get(kind.__name__)


def loaded_class(name: str, source: str, args: DiffusersArguments) -> str:
    """Return the class with which a pipeline is loaded: its own, or the image-to-image class.

    Both are names of classes of diffusers.

    Raises:
        T2IBenchError: the user asks for image to image, and there is no class for it.
    """
    if not args.image_to_image or name in IMAGE_TO_IMAGE.values():
        return name
    if name in IMAGE_TO_IMAGE:
        return IMAGE_TO_IMAGE[name]
    hint = f"These have: {', '.join(IMAGE_TO_IMAGE)}."
    if name in EDITORS:
        hint = "It edits without: leave image_to_image and strength out."
    raise T2IBenchError(
        f"--model-args: image_to_image=true: '{source}' is a {name}, for which there is no "
        "image-to-image pipeline.",
        hint,
    )


def check_edits(name: str, source: str) -> None:
    """Raise an error if the class of diffusers with this name takes no source image."""
    if name in EDITORS:
        return
    if name in IMAGE_TO_IMAGE:
        raise T2IBenchError(
            f"'{source}' is a {name}, which makes images of prompts alone.",
            "Give a pipeline that edits, or have this one start from the noised source image: "
            "--model-args image_to_image=true,strength=0.6",
        )
    raise T2IBenchError(
        f"'{source}' is a {name}, which is no editing pipeline that was tried.",
        f"These were: {', '.join(EDITORS)}.",
    )


def check_sources(
    name: str,
    source: str,
    args: DiffusersArguments,
    requests: Sequence[ImageRequest],
) -> None:
    """Raise an error if a class of diffusers cannot do what some of the requests ask for."""
    has_edits = any(request.source is not None for request in requests)
    has_prompts = any(request.source is None for request in requests)
    if has_edits:
        check_edits(name, source)
    if has_prompts:
        check_prompts(name, source, args)


def check_prompts(name: str, source: str, args: DiffusersArguments) -> None:
    """Raise an error if a class of diffusers cannot make an image from a prompt alone."""
    editor = EDITORS.get(name)
    if editor is not None and editor.edits_only:
        raise _prompt_alone(name, source, args)


def _prompt_alone(name: str, source: str, args: DiffusersArguments) -> T2IBenchError:
    hint = (
        "Use it with tasks of edits, and have another model make the source images: "
        "--sources MODEL"
    )
    if args.image_to_image:
        hint = f"{hint}. For prompts alone, leave image_to_image=true out."
    return T2IBenchError(
        f"'{source}' is a {name}, which edits a source image and makes none of a prompt alone.",
        hint,
    )


class SourceImages:
    """The source images of some requests, each decoded once.

    Attributes:
        unreadable: Why a source image cannot be used, by its SHA-256.
    """

    def __init__(self, requests: Sequence[ImageRequest]) -> None:
        self.unreadable: dict[str, str] = {}
        self._images: dict[str, Image] = {}
        for request in requests:
            source = request.source
            if source is None or source.sha256 in self._images:
                continue
            try:
                self._images[source.sha256] = source.read()
            except UnreadableImageError as error:
                self.unreadable[source.sha256] = f"the source image: {error}"

    def of(self, requests: Sequence[ImageRequest]) -> list[Image]:
        """Return the source images of requests, all of which have one that can be read."""
        return [
            self._images[request.source.sha256]
            for request in requests
            if request.source is not None
        ]

    def size_of(self, request: ImageRequest) -> tuple[int, int] | None:
        """Return width and height of a request's source image; None without a source."""
        source = request.source
        return None if source is None else self._images[source.sha256].size


def edit_call(
    pipeline: Any, args: DiffusersArguments, sources: Sequence[Image]
) -> dict[str, Any]:
    """Return the arguments of a pipeline's call that contain the source images of a batch.

    Args:
        pipeline: The pipeline.
        args: The user's settings.
        sources: One source image for each prompt, all of one size.
    """
    _check_steps_left(type(pipeline), args)
    editor = EDITORS[type(pipeline).__name__]
    given = args.given()
    wanted = tuple(given[side] for side in SIDES if side in given)
    call: dict[str, Any] = {}
    if editor.size == "arguments" and not wanted:
        width, height = _rounded(sources[0].size)
        sources = _resized(sources, (width, height))
        call = {"height": height, "width": width}
    if editor.size == "source":
        height, width = wanted or sources[0].size[::-1]
        sources = _resized(sources, _rounded((width, height)))
    call["image"] = list(sources) if len(sources) > 1 else sources[0]
    return call


def _check_steps_left(kind: type[Any], args: DiffusersArguments) -> None:
    """Raise an error if a strength leaves no step to run from a noised source image."""
    if kind.__name__ not in _ROUND_DOWN or args.steps is None:
        return
    strength = args.strength
    if strength is None:
        strength = inspect.signature(kind.__call__).parameters["strength"].default
    if int(args.steps * strength) < 1:
        raise T2IBenchError(
            f"--model-args: image_to_image=true takes {strength:g} of the steps, and of "
            f"{args.steps} none is left.",
            "Give more steps, such as steps=4, or a larger strength.",
        )


def _rounded(size: tuple[int, int]) -> tuple[int, int]:
    """Return a width and a height, each rounded down to a multiple of 16, of at least 16."""
    width, height = (max(_MULTIPLE, side // _MULTIPLE * _MULTIPLE) for side in size)
    return width, height


def _resized(sources: Sequence[Image], size: tuple[int, int]) -> list[Image]:
    """Return images of a size, resized as diffusers' image processors do it."""
    from PIL import Image as images

    resample = images.Resampling.LANCZOS
    return [
        source if source.size == size else source.resize(size, resample)
        for source in sources
    ]


def trial_source(side: int) -> Image:
    """Return a source image for trials of settings, with sides of `side` pixels."""
    import numpy as np
    from PIL import Image as images

    pixels = np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype=np.uint8)
    return images.fromarray(pixels)
