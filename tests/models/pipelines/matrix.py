"""Which classes of diffusers work, and how: each is built tiny, saved, loaded and tried."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from t2ibench.models.generators import create_generator
from t2ibench.models.generators.diffusers import DiffusersGenerator
from t2ibench.models.generators.pipelines import mixes_prompts
from t2ibench.models.protocols import ImageRequest
from tests.models.pipelines import parts, unets, with_llms, with_t5

SHORT = "a photo of a nurse"
LONG = "a photo of a nurse, a clerk, the rose, an ant, a person, a picture of the ant"
LEVEL = 1  # of 255 that rounding may make between two sizes of a batch
_ANY_SIZE = {"call.use_resolution_binning": "false"}
_ONE_LAYER = {"call.text_encoder_out_layers": "[1]"}
_PRIOR = {"call.prior_num_inference_steps": "2"}


@dataclass(frozen=True, slots=True)
class Tried:
    """A pipeline that is tried.

    Attributes:
        models: What people know it by.
        build: Gives it, from the folder where it will be saved.
        args: Arguments that a tiny one of 32 x 32 pixels needs besides.
        shrink: Attributes of the loaded pipeline that make it quick.
    """

    models: str
    build: Callable[[Path], Any]
    args: Mapping[str, str] = field(default_factory=dict)
    shrink: Mapping[str, Any] = field(default_factory=dict)


def _with_pag(build: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """A pipeline with perturbed attention guidance, of one without it."""

    def built(folder: Path) -> Any:
        from diffusers import AutoPipelineForText2Image

        return AutoPipelineForText2Image.from_pipe(build(folder), enable_pag=True)

    return built


TRIED: Mapping[str, Tried] = {
    "AmusedPipeline": Tried("aMUSEd", unets.amused),
    "AuraFlowPipeline": Tried("AuraFlow", with_t5.aura_flow),
    "BriaPipeline": Tried("Bria 3", with_t5.bria),
    "ChromaPipeline": Tried("Chroma", with_t5.chroma),
    "CogView3PlusPipeline": Tried("CogView3-Plus", with_t5.cogview3),
    "CogView4Pipeline": Tried("CogView4", with_llms.cogview4),
    "ErnieImagePipeline": Tried("ERNIE-Image", with_llms.ernie_image),
    "Flux2KleinKVPipeline": Tried("FLUX.2 klein, KV", with_llms.flux2_klein_kv, _ONE_LAYER),
    "Flux2KleinPipeline": Tried("FLUX.2 klein", with_llms.flux2_klein, _ONE_LAYER),
    "Flux2Pipeline": Tried("FLUX.2", with_llms.flux2, _ONE_LAYER),
    "FluxKontextPipeline": Tried("FLUX.1 Kontext", with_t5.flux_kontext, {"call.max_area": "1024"}),
    "FluxPipeline": Tried("FLUX.1", with_t5.flux),
    "HiDreamImagePipeline": Tried("HiDream", with_t5.hidream, {}, {"default_sample_size": 16}),
    "HunyuanDiTPAGPipeline": Tried(
        "Hunyuan-DiT with PAG", _with_pag(with_t5.hunyuan_dit), _ANY_SIZE
    ),
    "HunyuanDiTPipeline": Tried("Hunyuan-DiT", with_t5.hunyuan_dit, _ANY_SIZE),
    "IFPipeline": Tried("DeepFloyd IF, first stage", unets.deepfloyd_if),
    "Kandinsky3Pipeline": Tried("Kandinsky 3", unets.kandinsky3),
    "Kandinsky5T2IPipeline": Tried(
        "Kandinsky 5 Image", with_llms.kandinsky5, {}, {"resolutions": [(128, 128)]}
    ),
    "KandinskyV22CombinedPipeline": Tried("Kandinsky 2.2", unets.kandinsky22, _PRIOR),
    "Krea2Pipeline": Tried("Krea 2", with_llms.krea2),
    "LatentConsistencyModelPipeline": Tried("LCM", unets.latent_consistency),
    "LongCatImagePipeline": Tried(
        "LongCat-Image", with_llms.long_cat, {"call.enable_prompt_rewrite": "false"}
    ),
    "Lumina2Pipeline": Tried("Lumina 2", with_llms.lumina2),
    "LuminaPipeline": Tried("Lumina-Next", with_llms.lumina),
    "OvisImagePipeline": Tried("Ovis-Image", with_llms.ovis_image),
    "PixArtAlphaPipeline": Tried("PixArt-α", with_t5.pixart_alpha, _ANY_SIZE),
    "PixArtSigmaPAGPipeline": Tried(
        "PixArt-Σ with PAG", _with_pag(with_t5.pixart_sigma), _ANY_SIZE
    ),
    "PixArtSigmaPipeline": Tried("PixArt-Σ", with_t5.pixart_sigma, _ANY_SIZE),
    "QwenImagePipeline": Tried("Qwen-Image", with_llms.qwen_image),
    "SanaPAGPipeline": Tried("Sana with PAG", _with_pag(with_llms.sana), _ANY_SIZE),
    "SanaPipeline": Tried("Sana", with_llms.sana, _ANY_SIZE),
    "SanaSprintPipeline": Tried("Sana-Sprint", with_llms.sana_sprint, _ANY_SIZE),
    "StableCascadeCombinedPipeline": Tried("Stable Cascade", unets.stable_cascade, _PRIOR),
    "StableDiffusion3PAGPipeline": Tried(
        "Stable Diffusion 3 and 3.5 with PAG", _with_pag(with_t5.sd3)
    ),
    "StableDiffusion3Pipeline": Tried("Stable Diffusion 3 and 3.5", with_t5.sd3),
    "StableDiffusionPAGPipeline": Tried(
        "Stable Diffusion 1 and 2 with PAG", _with_pag(unets.stable_diffusion)
    ),
    "StableDiffusionPipeline": Tried("Stable Diffusion 1 and 2", unets.stable_diffusion),
    "StableDiffusionXLPAGPipeline": Tried("Stable Diffusion XL with PAG", _with_pag(unets.sdxl)),
    "StableDiffusionXLPipeline": Tried("Stable Diffusion XL", unets.sdxl),
    "ZImagePipeline": Tried("Z-Image", with_llms.z_image),
}


# What a pipeline takes that starts from more than a text, or makes more than an image.
_MORE = {
    *("image", "images", "mask_image", "control_image", "video", "source_prompt"),
    *("num_frames", "video_length", "frame_size", "lyrics", "block_length"),
}
_NO_IMAGE = re.compile("Audio|Video|Latte|LTX2|Prior|Edit|ControlNet|Inpaint|Img2Img")
_IMAGE_OR_NONE = {
    *("BriaFibo2Pipeline", "DreamLiteMobilePipeline", "DreamLitePipeline", "Flux2KleinKVPipeline"),
    *("FluxKontextPipeline", "GlmImagePipeline", "OmniGenPipeline", "QwenImage21Pipeline"),
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


def save(name: str, folder: Path) -> Path:
    """Build a pipeline and save it.

    Args:
        name: Its class.
        folder: Where.

    Returns:
        The folder.
    """
    parts.saved(TRIED[name].build, folder)
    index = folder / "model_index.json"
    data = json.loads(index.read_text(encoding="utf-8"))
    if data.get("vqgan") == ["diffusers", "PaellaVQModel"]:
        # Published ones have the name it had before diffusers put it among what is deprecated.
        data["vqgan"] = ["wuerstchen", "PaellaVQModel"]
        index.write_text(json.dumps(data), encoding="utf-8")
    return folder


def loaded(name: str, folder: Path) -> DiffusersGenerator:
    """The generator of a saved pipeline, loaded as any other is."""
    args = {"steps": "2", "size": "32", **TRIED[name].args}
    generator = create_generator(str(folder), args, device="cpu")
    assert isinstance(generator, DiffusersGenerator)
    generator.load()
    for attribute, value in TRIED[name].shrink.items():
        setattr(generator._pipeline, attribute, value)
    return generator


def images(
    generator: DiffusersGenerator, requests: Sequence[ImageRequest]
) -> list[npt.NDArray[np.int64]]:
    """The images of requests that are made in one go."""
    drawn = generator.generate(requests)
    assert [one.status for one in drawn] == ["ok"] * len(requests), drawn
    return [np.asarray(one.image, dtype=int) for one in drawn]


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
    generator = loaded(name, save(name, folder))
    requests = [ImageRequest(p, 0, seed) for p, seed in ((SHORT, 7), (SHORT, 8), (LONG, 7))]
    alone = [images(generator, [request])[0] for request in requests]
    together = images(generator, requests)
    encoded = generator._prompts
    calls = encoded.calls if encoded else 0
    images(generator, requests[:1])
    once = encoded is not None and encoded.works and encoded.calls == calls
    one_length = once and _shapes(generator, requests[0]) == _shapes(generator, requests[2])
    listed = mixes_prompts(generator._pipeline)
    one_image = generator._batch_limit == 1
    with (
        mock.patch("t2ibench.models.generators.diffusers.mixes_prompts", return_value=True)
        if not listed and not one_image
        else nullcontext()
    ):
        mixed = images(generator, requests[1:])
    return Row(
        models=TRIED[name].models,
        pipeline=type(generator._pipeline).__name__,
        seeds=apart(alone[0], alone[1]) > LEVEL,
        prompts=apart(alone[0], alone[2]) > 2 * LEVEL,
        alike=all(map(_same, alone, together)),
        once=once,
        one_length=one_length,
        batch="one image" if one_image else "several prompts" if listed else "one prompt",
        mixes=all(map(_same, alone[1:], mixed)) and not one_image,
    )


def _same(one: npt.NDArray[np.int64], two: npt.NDArray[np.int64]) -> bool:
    return apart(one, two) <= LEVEL


def _shapes(generator: DiffusersGenerator, request: ImageRequest) -> set[str]:
    """The shapes of all that a pipeline encodes for a request."""
    encoded = generator._prompts
    assert encoded is not None
    encoded._known.clear()
    images(generator, [request])
    return {repr(_shape(one)) for one in encoded._known.values()}


def _shape(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_shape(one) for one in value]
    return tuple(value.tensor.shape) if hasattr(value, "tensor") else value


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
    return sorted(name for name in found - set(TRIED) if name and not _NO_IMAGE.search(name))


_HEAD = """# Pipelines of diffusers

<!-- Written by tools/write_pipeline_matrix.py; the tests check that it is current. -->

`--model` takes any text-to-image pipeline of diffusers, from the hub or from a folder. Each class
of the table was built with tiny random weights, saved, loaded by the code that real weights take,
and tried on a CPU: with diffusers {version}, in float32, 2 steps, prompts of 5 and 19 words.

- **Seeds**: another seed gives another image, and the same seed the same one again.
- **Prompts**: another prompt gives another image.
- **Alone and in company**: an image is the same, to one level of 255, alone and in a batch.
- **Encoded once**: the text encoders run once for a prompt, however many images it has.
- **One length**: it pads (or cuts) every prompt to the same number of tokens. Others pad to the
  longest prompt of a batch, or leave each as long as it is.
- **One batch holds**: *several prompts* where they have one length, *one prompt* elsewhere, and
  *one image* where a class takes a single random generator. t2ibench sees to that by itself, so
  no batch size changes an image.
- **If mixed**: what happens to an image where prompts of other lengths do share its batch. It is
  why t2ibench does not let them.

Real weights can still fail where tiny ones do not, for want of memory or of precision.

"""

_TAIL = """
A model that was saved by another pipeline of the same family (image to image, for example) is
loaded as the text-to-image pipeline that diffusers has for it. What makes videos, or needs an image
besides the prompt, is refused before its weights are loaded.

## Further arguments

- `--model-args call.NAME=VALUE` passes anything that the class's call takes: `call.clip_skip=2`,
  `call.prompt_2="in a garden"` (for every image), `call.use_resolution_binning=false`,
  `call.complex_human_instruction=null`. Values are read as JSON, else as text.
- `load.NAME=VALUE` passes what `from_pretrained` takes: `load.text_encoder_3=null`,
  `load.device_map=balanced`, `load.quantization_config=bitsandbytes_4bit` (or a JSON object of
  `quant_backend`, `quant_kwargs` and `components_to_quantize`), `load.enable_pag=true`. What can
  run code that comes with a model, or holds a secret, is not taken.
- Weights of one variant only, such as fp16, are found by themselves; `variant=NAME` chooses.
- `clean_caption` is off unless `call.clean_caption=true` says otherwise: what it does depends on
  two further packages, which have to be there then.

Names are checked against the class, with the nearest spelling. All of it is part of the settings'
fingerprint, but for `load.device_map` and `load.max_memory`, which only say where weights are.
PixArt, Sana and Hunyuan-DiT draw at the nearest size they were trained for and then resize,
unless `call.use_resolution_binning=false`; HiDream and Kandinsky 5 always choose a size of about a
megapixel and keep the proportions.
LongCat-Image and ERNIE-Image have a language model rewrite each prompt, which is then measured with
them, unless `call.enable_prompt_rewrite=false` or `call.use_pe=false`.

{untried}
"""


def page(rows: Sequence[Row], version: str, others: Sequence[str]) -> str:
    """The page of the docs.

    Args:
        rows: What was found, one row a class.
        version: Of diffusers.
        others: Classes that were not tried.

    Returns:
        Markdown.
    """
    from tabulate import tabulate

    headers = [
        "models",
        "class",
        "seeds",
        "prompts",
        "alone and in company",
        "encoded once",
        "one length",
        "one batch holds",
        "if mixed",
    ]
    table = tabulate(map(_cells, rows), headers, tablefmt="pipe", disable_numparse=True)
    names = ", ".join(f"`{name}`" for name in others)
    text = f"Not tried yet, and so generated one prompt at a time: {names}."
    return _HEAD.format(version=version) + table + "\n" + _TAIL.format(untried=text)


def _cells(row: Row) -> list[str]:
    models, pipeline, seeds, prompts, alike, once, one_length, batch, mixes = astuple(row)
    mixed = "" if batch == "one image" else "the same" if mixes else "changed"
    answers = ["yes" if one else "no" for one in (seeds, prompts, alike, once, one_length)]
    return [models, f"`{pipeline}`", *answers, batch, mixed]
