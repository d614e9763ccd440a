"""Loading a diffusers pipeline as its arguments say, and what it then uses."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, check_installed, did_you_mean, first_line, shown
from t2ibench.models.devices import quietly
from t2ibench.models.generators import passthrough, speed
from t2ibench.models.generators.load_options import load_options
from t2ibench.models.generators.prompts import without_text_encoders
from t2ibench.models.hub import ask_hub
from t2ibench.models.locations import exists, loading

# Argument to the name that pipelines give it.
CALL_NAMES = {
    "steps": "num_inference_steps",
    "guidance": "guidance_scale",
    "true_cfg": "true_cfg_scale",
    "height": "height",
    "width": "width",
    "negative_prompt": "negative_prompt",
    "max_sequence_length": "max_sequence_length",
}
# They pad every prompt to one length, so that a batch may mix prompts: docs/models/diffusers.md.
# Others pad to the longest prompt of the batch, which changes images (CogView4), or nobody tried.
_FIXED_LENGTH = {
    *("AuraFlowPipeline", "BriaPipeline", "ChromaPipeline", "CogView3PlusPipeline"),
    *("Flux2KleinKVPipeline", "Flux2KleinPipeline", "Flux2Pipeline", "FluxKontextPipeline"),
    *("FluxPipeline", "HiDreamImagePipeline", "HunyuanDiTPAGPipeline", "HunyuanDiTPipeline"),
    *("LongCatImagePipeline", "PixArtSigmaPAGPipeline", "SanaPAGPipeline"),
    *("StableDiffusion3PAGPipeline", "StableDiffusionPAGPipeline", "StableDiffusionXLPAGPipeline"),
    *("IFPipeline", "Krea2Pipeline", "LatentConsistencyModelPipeline"),
    *("Lumina2Pipeline", "OvisImagePipeline", "PixArtAlphaPipeline", "PixArtSigmaPipeline"),
    *("SanaPipeline", "SanaSprintPipeline", "SemanticStableDiffusionPipeline"),
    "StableDiffusion3Pipeline",
    *("StableDiffusionPipeline", "StableDiffusionXLPipeline"),
}
_VARIANT = (
    "Weights have to be safetensors; where they are of a variant only, name it: "
    "--model-args variant=fp16."
)
_FRAMES = {"num_frames", "video_length", "num_video_frames"}
_SOUND = {"audio_duration", "audio_end_in_s", "audio_length_in_s", "lyrics"}
# Their denoisers are other ones than those that make an image of a prompt alone.
_FROM_IMAGE = re.compile(
    "Inpaint|InstructPix2Pix|Upscale|SuperResolution|Depth2Img|ControlNet|Adapter|I2I|Fill|Redux"
    "|Refiner|ImageVariation|Marigold|(?<!Flux)Control(?!Net)|ImageEdit"
)
_REPORTED = ("steps", "guidance", "true_cfg", "max_sequence_length")


def load_pipeline(source: str, args: Mapping[str, Any], device: str, dtype: str) -> Any:
    """Load a pipeline, ready to be called."""
    local = ask_hub(source, "model_index.json", args.get("revision"))
    from diffusers import AutoPipelineForText2Image, DiffusionPipeline
    from diffusers.utils import logging as diffusers_logging

    diffusers_logging.disable_progress_bar()
    kind = _pipeline_class(source, {**local, "revision": args.get("revision")})
    if kind is not None:
        _check_class(kind, source, args)
        _find_moved(kind)
    with loading(source, _unknown_cause(source), library="diffusers", flag="--model-args"):
        options = local | load_options(source, kind, args, dtype)
        try:
            pipeline = AutoPipelineForText2Image.from_pretrained(source, **options)
        except ValueError as error:
            if "AutoPipeline" not in str(error):
                raise
            pipeline = DiffusionPipeline.from_pretrained(source, **options)
    _check_call(pipeline, source, args)
    _set_scheduler(pipeline, args.get("scheduler"))
    _add_lora(pipeline, args.get("lora"), float(args.get("lora_scale", 1.0)))
    pipeline.set_progress_bar_config(disable=True)
    if "load.device_map" not in args:  # else its parts are where they belong
        pipeline = _move(pipeline, args.get("offload", "none"), device)
    speed.speed_up(pipeline, args)
    return pipeline


def _find_moved(kind: type[Any]) -> None:
    """Let diffusers find a module that it moved by the name that saved pipelines have for it."""
    from diffusers import pipelines

    if "Cascade" in kind.__name__ and not hasattr(pipelines, "wuerstchen"):
        from diffusers.pipelines.deprecated import wuerstchen

        pipelines.wuerstchen = wuerstchen


def _unknown_cause(source: str) -> str:
    if exists(source):
        return "Give a folder that save_pretrained() of a pipeline wrote."
    return (
        "Check the name, the connection and (for gated models) `hf auth login`; "
        "weights have to be safetensors."
    )


def _pipeline_class(source: str, options: Mapping[str, Any]) -> type[Any] | None:
    """The class that model_index.json names; None where diffusers cannot tell or does not know."""
    import diffusers

    try:
        with quietly():
            config = diffusers.DiffusionPipeline.load_config(source, **options)
        name = config.get("_class_name")
    except Exception:  # loading the pipeline says what is wrong
        return None
    if isinstance(name, list):  # its file and its class
        raise T2IBenchError(
            f"'{source}' is a pipeline with Python code of its own, which t2ibench does not run.",
            "Give a pipeline of a class of diffusers, or write a generator of your own "
            "(package.module:factory).",
        )
    kind = getattr(diffusers, name, None) if isinstance(name, str) else None
    return kind if inspect.isclass(kind) else None


def _check_class(kind: type[Any], source: str, args: Mapping[str, Any]) -> None:
    """Refuse, before any weights are loaded, what makes no images of a prompt."""
    known = inspect.signature(kind.__call__).parameters
    name, problem = kind.__name__, None
    if _FRAMES & set(known):
        problem = "makes videos"
    elif "audio" in name.lower() or _SOUND & set(known):
        problem = "makes sound"
    elif _FROM_IMAGE.search(name):
        problem = "needs an image besides the prompt"
    if problem:
        raise T2IBenchError(
            f"'{source}' is a {name}, which {problem}.", "Give a text-to-image pipeline."
        )
    passthrough.check_load(kind, args)


def mixes_prompts(pipeline: Any) -> bool:
    """Whether several prompts may be in one batch without changing each other's images."""
    return type(pipeline).__name__ in _FIXED_LENGTH


def call_defaults(pipeline: Any) -> dict[str, Any]:
    """What a pipeline's call is told where the user says nothing."""
    known = inspect.signature(type(pipeline).__call__).parameters
    return {"clean_caption": False} if "clean_caption" in known else {}


def images_of(output: Any, pipeline: Any) -> Any:
    """The images of a pipeline's output."""
    for name in ("images", "image"):
        images = getattr(output, name, None)
        if images is not None:
            return images
    raise T2IBenchError(
        f"A {type(pipeline).__name__} gave a {type(output).__name__}, which holds no images.",
        "Give a text-to-image pipeline.",
    )


def _move(pipeline: Any, offload: str, device: str) -> Any:
    if offload == "model":
        pipeline.enable_model_cpu_offload(device=device)
        return pipeline
    if offload == "sequential":
        pipeline.enable_sequential_cpu_offload(device=device)
        return pipeline
    if offload == "text":
        with without_text_encoders(pipeline):
            return pipeline.to(device)
    return pipeline.to(device)


def _check_call(pipeline: Any, source: str, args: Mapping[str, Any]) -> None:
    """Refuse arguments that this kind of pipeline does not take."""
    known = inspect.signature(type(pipeline).__call__).parameters
    taken = sorted(key for key, name in CALL_NAMES.items() if name in known)
    for key, name in CALL_NAMES.items():
        if key in args and name not in known:
            raise T2IBenchError(
                f"--model-args: {type(pipeline).__name__} takes no {key}.",
                f"Of these it takes: {', '.join(taken)}.",
            )
    passthrough.check_call(type(pipeline), args, CALL_NAMES)
    _check_cleaning(args)
    if "prompt" not in known:
        raise T2IBenchError(
            f"'{source}' is a {type(pipeline).__name__}, which takes no prompt.",
            "Give a text-to-image pipeline.",
        )


def _check_cleaning(args: Mapping[str, Any]) -> None:
    if not args.get(f"{passthrough.CALL}clean_caption"):
        return
    if missing := [name for name in ("bs4", "ftfy") if importlib.util.find_spec(name) is None]:
        raise T2IBenchError(
            f"--model-args: {passthrough.CALL}clean_caption=true needs {' and '.join(missing)}.",
            "pip install beautifulsoup4 ftfy",
        )


def _set_scheduler(pipeline: Any, wanted: str | None) -> None:
    if wanted is None:
        return
    import diffusers

    fitting = {kind.__name__ for kind in getattr(pipeline.scheduler, "compatibles", [])}
    if wanted not in fitting:
        raise T2IBenchError(
            f"--model-args: scheduler={wanted}: {type(pipeline).__name__} has no such "
            f"scheduler.{did_you_mean(wanted, fitting)}",
            f"It takes: {', '.join(sorted(fitting)) or 'only its own'}.",
        )
    kind = getattr(diffusers, wanted)
    pipeline.scheduler = kind.from_config(pipeline.scheduler.config)


def _add_lora(pipeline: Any, lora: str | None, scale: float) -> None:
    if lora is None:
        return
    check_installed("peft", "lora")
    if not hasattr(pipeline, "load_lora_weights"):
        raise T2IBenchError(f"--model-args: {type(pipeline).__name__} takes no lora.")
    path = Path(lora).expanduser()
    # Offline, diffusers wants the file's name, of a folder with a single one too.
    files = [path] if path.is_file() else list(path.glob("*.safetensors"))
    where, name = (str(files[0].parent), files[0].name) if len(files) == 1 else (lora, None)
    options = {"weight_name": name} if name else {}
    try:
        pipeline.load_lora_weights(where, use_safetensors=True, **options)
        pipeline.fuse_lora(lora_scale=scale)
    except Exception as error:
        hint = "Give a safetensors file or folder that fits this pipeline."
        if not path.exists():
            hint = f"There is no file or folder {shown(lora)!r} here; a hub id is ORG/NAME."
        raise T2IBenchError(
            f"--model-args: lora={shown(lora)} could not be loaded: {first_line(error)}", hint
        ) from error


def effective_settings(
    pipeline: Any, args: Mapping[str, Any], dtype: str, shape: Sequence[int] | None
) -> dict[str, Any]:
    """What a loaded pipeline really uses."""
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(type(pipeline).__call__).parameters.items()
    }
    height, width = shape[:2] if shape is not None else _default_size(pipeline, args)
    settings: dict[str, Any] = {
        "pipeline": type(pipeline).__name__,
        "scheduler": type(getattr(pipeline, "scheduler", None)).__name__,
    }
    for key in _REPORTED:
        value = args.get(key, defaults.get(CALL_NAMES[key]))
        if isinstance(value, (bool, int, float, str)):
            settings[CALL_NAMES[key]] = value
    return settings | {
        **{"height": height, "width": width, "dtype": dtype},
        **{
            f"{passthrough.CALL}{name}": value
            for name, value in {
                **call_defaults(pipeline),
                **passthrough.of(args, passthrough.CALL),
            }.items()
        },
        **speed.in_effect(args),
    }


def _default_size(pipeline: Any, args: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Height and width as given, else as pipelines compute their own default."""
    sample = getattr(pipeline, "default_sample_size", None)
    if sample is None:
        model = getattr(pipeline, "unet", None) or getattr(pipeline, "transformer", None)
        sample = getattr(getattr(model, "config", None), "sample_size", None)
    factor = getattr(pipeline, "vae_scale_factor", None)
    usual = sample * factor if isinstance(sample, int) and isinstance(factor, int) else None
    return args.get("height", usual), args.get("width", usual)
