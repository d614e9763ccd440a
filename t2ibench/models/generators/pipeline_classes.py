"""What is known of diffusers' pipeline classes before their weights are loaded.

A class is one that was tried (docs/models/diffusers.md), one that is refused with the reason, or
unknown: that of a later diffusers, one that diffusers has put among its deprecated ones, or a
user's own. An unknown class makes one image at a time unless the user gives a batch size, so its
images depend on nothing else whatever it does with a batch.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Sequence
from typing import Any

from t2ibench.models.generators.editing_pipelines import EDITORS

# Pipelines that pad every prompt to one length, so that a batch may mix prompts (see
# docs/models/diffusers.md).
_FIXED_LENGTH = {
    "AuraFlowPipeline",
    "BriaPipeline",
    "ChromaPipeline",
    "CogView3PlusPipeline",
    "Flux2KleinKVPipeline",
    "Flux2KleinPipeline",
    "Flux2Pipeline",
    "FluxKontextPipeline",
    "FluxPipeline",
    "HiDreamImagePipeline",
    "HunyuanDiTPAGPipeline",
    "HunyuanDiTPipeline",
    "Ideogram4Pipeline",
    "KolorsPAGPipeline",
    "KolorsPipeline",
    "LongCatImagePipeline",
    "PixArtSigmaPAGPipeline",
    "SanaPAGPipeline",
    "StableDiffusion3PAGPipeline",
    "StableDiffusionPAGPipeline",
    "StableDiffusionXLPAGPipeline",
    "IFPipeline",
    "Krea2Pipeline",
    "LatentConsistencyModelPipeline",
    "Lumina2Pipeline",
    "OvisImagePipeline",
    "PixArtAlphaPipeline",
    "PixArtSigmaPipeline",
    "SanaPipeline",
    "SanaSprintPipeline",
    "SemanticStableDiffusionPipeline",
    "StableDiffusion3Pipeline",
    "StableDiffusionPipeline",
    "StableDiffusionXLPipeline",
    "StableUnCLIPPipeline",
}
# Pipelines that make several images of one prompt at once. They pad to the longest prompt of the
# batch, which changes images (CogView4), or pad nothing.
_ONE_PROMPT = {
    "AmusedPipeline",
    "BriaFibo2Pipeline",
    "BriaFiboPipeline",
    "CogView4Pipeline",
    "ErnieImagePipeline",
    "HunyuanImagePipeline",
    "Kandinsky3Pipeline",
    "Kandinsky5T2IPipeline",
    "KandinskyCombinedPipeline",
    "KandinskyV22CombinedPipeline",
    "LDMTextToImagePipeline",
    "LuminaPipeline",
    "NucleusMoEImagePipeline",
    "OmniGenPipeline",
    "QwenImage21Pipeline",
    "QwenImagePipeline",
    "StableCascadeCombinedPipeline",
    "ZImageOmniPipeline",
    "ZImagePipeline",
}
# Pipelines whose call takes a prompt as a text, and no list of them.
_PLAIN_TEXT = {"DreamLiteMobilePipeline", "DreamLitePipeline"}
# Pipelines whose calls may have one image only. GLM-Image draws the tokens of all images of a call
# with the seed of the first; the others take a single prompt, or fail with several.
_ONE_IMAGE = {*_PLAIN_TEXT, "GlmImagePipeline", "PRXPipeline", "PRXPixelPipeline"}

# Arguments of a call, and what pipelines that have one of them make instead of images.
_MAKES_VIDEOS = {"num_frames", "frames", "video_length", "num_video_frames", "video"}
_MAKES_SOUND = {"lyrics", "audio_duration", "audio_end_in_s", "audio_length_in_s"}
_SOUND = re.compile("Audio|Music")
# Pipelines whose denoisers were trained to use an image besides the prompt.
_FROM_IMAGE = re.compile(
    "Inpaint|InstructPix2Pix|Upscale|SuperResolution|Depth2Img|ControlNet|Adapter|I2I|Fill|Redux"
    "|Refiner|ImageVariation|Marigold|(?<!Flux)Control(?!Net)|ImageEdit"
)
_NEEDS_IMAGE = "it needs an image besides the prompt"
_OF_OTHERS = "it makes embeddings for a decoder, whose repository is the one to give"
_WRITES_TEXT = "it writes text"
REFUSED = {
    "BriaFiboEditPipeline": _NEEDS_IMAGE,
    "Cosmos2TextToImagePipeline": "it draws only behind NVIDIA's guardrail, which hides faces",
    "DiffusionGemmaPipeline": _WRITES_TEXT,
    "FluxControlPipeline": _NEEDS_IMAGE,
    "KandinskyPriorPipeline": _OF_OTHERS,
    "KandinskyV22PriorEmb2EmbPipeline": _OF_OTHERS,
    "KandinskyV22PriorPipeline": _OF_OTHERS,
    "LLaDA2Pipeline": _WRITES_TEXT,
    "QwenImageLayeredPipeline": "it takes an image apart into layers",
    "ShapEPipeline": "it makes objects in three dimensions",
    "StableCascadePriorPipeline": _OF_OTHERS,
    "WuerstchenPriorPipeline": _OF_OTHERS,
}


def mixes_prompts(pipeline: Any) -> bool:
    """Return whether one batch of a pipeline may mix prompts without changing any image."""
    return type(pipeline).__name__ in _FIXED_LENGTH


def makes_several(pipeline: Any) -> bool:
    """Return whether a pipeline was seen to make the same images several at once as one by one."""
    return type(pipeline).__name__ in {*_FIXED_LENGTH, *_ONE_PROMPT, *EDITORS}


def takes_one_image(pipeline: Any) -> bool:
    """Return whether a pipeline's call may have one image only."""
    return type(pipeline).__name__ in _ONE_IMAGE


def prompt_argument(pipeline: Any, prompts: Sequence[str]) -> list[str] | str:
    """Return the prompts of a call in the form that the pipeline takes."""
    return prompts[0] if type(pipeline).__name__ in _PLAIN_TEXT else list(prompts)


def why_refused(kind: type[Any], given: Collection[str] = ()) -> str | None:
    """Return why a class makes no image of a prompt alone; None if it does, or is not known.

    Classes that edit are not asked about (see `editing_pipelines`).

    Args:
        kind: A pipeline class of diffusers.
        given: Arguments of its call that the user gives.
    """
    name = kind.__name__
    loaded = text_to_image_class(kind)
    if "Onnx" in name:
        return "its weights are ONNX's"
    for refused in (name, loaded.__name__):
        if refused in REFUSED:
            return REFUSED[refused]
    parameters = inspect.signature(loaded.__call__).parameters
    if _SOUND.search(name) or _MAKES_SOUND & parameters.keys():
        return "it makes sound"
    if _MAKES_VIDEOS & parameters.keys():
        return "it makes videos"
    if _FROM_IMAGE.search(name) or "Img2Img" in loaded.__name__:
        return _NEEDS_IMAGE
    if "prompt" not in parameters:
        return "it takes no prompt"
    needed = _needed(parameters.values()) - {"prompt"} - {*given}
    return f"it needs {', '.join(sorted(needed))} besides" if needed else None


def _needed(parameters: Collection[inspect.Parameter]) -> set[str]:
    """Return the arguments of a call that have no default."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind in named
    } - {"self"}


def text_to_image_class(kind: type[Any]) -> type[Any]:
    """Return the text-to-image class that diffusers loads for a pipeline of the same family.

    It is the class itself where diffusers has no other.
    """
    from diffusers.pipelines import auto_pipeline

    mapping = auto_pipeline.AUTO_TEXT2IMAGE_PIPELINES_MAPPING
    chosen: type[Any] | None = auto_pipeline._get_task_class(
        mapping, kind.__name__, throw_error_if_not_exist=False
    )
    return kind if chosen is None else chosen
