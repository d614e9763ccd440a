"""Load diffusers pipelines with arguments, and report the settings that they use."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.garbage import uncollected
from t2ibench.models.adapter import Request
from t2ibench.models.devices import torch_dtype
from t2ibench.models.generators.editing_pipelines import (
    EDITORS,
    IMAGE_TO_IMAGE,
    loaded_class,
)
from t2ibench.models.generators.lora import add_lora, lora_fact
from t2ibench.models.generators.passthrough import check_name
from t2ibench.models.generators.pipeline_arguments import (
    CALL_NAMES,
    SIDES,
    DiffusersArguments,
)
from t2ibench.models.generators.pipeline_classes import why_refused
from t2ibench.models.hub import ask_hub
from t2ibench.models.library_messages import collect_messages
from t2ibench.models.locations import exists, loading
from t2ibench.models.weight_files import weight_file_bytes
from t2ibench.store.user_paths import expanded

# Arguments of `from_pretrained`, besides the parts and settings of a pipeline.
_LOAD_OPTIONS = {
    "cache_dir",
    "device_map",
    "disable_mmap",
    "enable_pag",
    "force_download",
    "local_files_only",
    "low_cpu_mem_usage",
    "max_memory",
    "mirror",
    "offload_folder",
    "offload_state_dict",
    "pag_applied_layers",
    "quantization_config",
    "variant",
}
_INDEX = "model_index.json"
_A_PROMPT = re.compile(r"(negative_)?prompt(_\d)?")
_REPORTED = (
    "num_inference_steps",
    "guidance_scale",
    "image_guidance_scale",
    "true_cfg_scale",
    "strength",
    "max_sequence_length",
)
_SCHEDULE = "guidance_schedule"
_GUIDANCE = CALL_NAMES["guidance"]
_STEPS = CALL_NAMES["steps"]
_OF_PRX = "T5GemmaEncoder"
_DENOISERS = ("unet", "transformer", "transformer_2", "prior", "decoder")


def load_pipeline(
    source: str,
    args: DiffusersArguments,
    device: str,
    dtype: str,
    kind: type[Any] | None = None,
) -> Any:
    """Load a pipeline of diffusers onto a device, ready to be called.

    `kind` is its class if that is known already (see `class_of_pipeline`).
    """
    kind = kind or class_of_pipeline(source, args)
    local = ask_hub(source, _INDEX, args.revision)
    from diffusers import PipelineQuantizationConfig
    from diffusers.utils import logging as diffusers_logging

    diffusers_logging.disable_progress_bar()
    if kind is not None:
        _check_class(kind, source, args)
        _find_moved(kind)
    hint = (
        "Give a folder that save_pretrained() of a pipeline wrote."
        if exists(source)
        else "Check the name, the connection and (for gated models) `hf auth login`; "
        "weights have to be safetensors."
    )
    with loading(source, hint, library="diffusers"):
        options = {**local, "torch_dtype": torch_dtype(dtype), "use_safetensors": True}
        options |= {"revision": args.revision} if args.revision else {}
        options |= args.to_load
        if quantization := args.to_load.get("quantization_config"):
            options["quantization_config"] = PipelineQuantizationConfig(**quantization)
        if args.safety_checker is False:
            options |= {"safety_checker": None, "requires_safety_checker": False}
        pipeline = _from_pretrained(source, options, kind)
    check_call(type(pipeline), args)
    _set_scheduler(pipeline, args.scheduler)
    add_lora(pipeline, args.lora, args.lora_scale)
    pipeline.set_progress_bar_config(disable=True)
    if args.channels_last:
        _keep_channels_together(pipeline)
    if "device_map" not in args.to_load:  # which places the parts itself
        if args.offload == "model":
            pipeline.enable_model_cpu_offload(device=device)
        elif args.offload == "sequential":
            pipeline.enable_sequential_cpu_offload(device=device)
        else:
            pipeline = pipeline.to(device)
    if args.compile:
        _compile(pipeline)
    return pipeline


def _keep_channels_together(pipeline: Any) -> None:
    """Store the weights of convolutions with channels last, which rounds differently."""
    import torch

    for name in (*_DENOISERS, "vae"):
        part: Any = getattr(pipeline, name, None)
        if hasattr(part, "parameters"):
            part.to(memory_format=torch.channels_last)


def _compile(pipeline: Any) -> None:
    """Compile the denoiser with torch, which is faster but rounds differently in images."""
    for name in _DENOISERS:
        part: Any = getattr(pipeline, name, None)
        if getattr(part, "_repeated_blocks", None):
            # This takes a fraction of the time of compiling everything.
            part.compile_repeated_blocks()
        elif hasattr(part, "parameters"):
            part.compile()


def _from_pretrained(
    source: str, options: dict[str, Any], kind: type[Any] | None
) -> Any:
    """Return a loaded pipeline, with 16-bit weights if the repository has no others.

    `kind` is its class, None where that is unknown. One that edits is loaded as it is; others as
    the text-to-image pipeline of their parts.
    """
    from diffusers import AutoPipelineForText2Image, DiffusionPipeline

    editor: Any = kind if kind is not None and kind.__name__ in EDITORS else None
    try:
        if editor is not None:
            return editor.from_pretrained(source, **options)
        try:
            return AutoPipelineForText2Image.from_pretrained(source, **options)
        except ValueError as error:
            if "AutoPipeline" not in str(error):
                raise
            return DiffusionPipeline.from_pretrained(source, **options)
    except OSError:
        if "variant" in options:
            raise
        with suppress(Exception):
            return _from_pretrained(source, {**options, "variant": "fp16"}, kind)
        raise


def fetch_pipeline(
    source: str, revision: str | None, variant: str | None, without: Collection[str]
) -> None:
    """Download the files of a pipeline that diffusers will load, without loading them."""
    from diffusers import DiffusionPipeline

    options: dict[str, Any] = {**dict.fromkeys(without), "use_safetensors": True}
    if revision is not None:
        options["revision"] = revision
    with loading(source, "See its page on the hub.", library="diffusers"):
        try:
            DiffusionPipeline.download(source, variant=variant, **options)
        except OSError:
            if variant is not None:
                raise
            DiffusionPipeline.download(source, variant="fp16", **options)


def _find_moved(kind: type[Any]) -> None:
    """Make classes that are elsewhere now importable from where saved pipelines expect them."""
    from diffusers import pipelines

    if "Cascade" in kind.__name__ and not hasattr(pipelines, "wuerstchen"):
        from diffusers.pipelines.deprecated import wuerstchen

        pipelines.wuerstchen = wuerstchen
    if kind.__name__ == "PRXPipeline":
        # diffusers adds its text encoder to transformers, but to a module object that transformers
        # replaces while it is imported.
        transformers = importlib.import_module("transformers")
        encoder = getattr(pipelines.prx, _OF_PRX, None)
        if encoder is not None and not hasattr(transformers, _OF_PRX):
            setattr(transformers, _OF_PRX, encoder)


def class_of_pipeline(source: str, args: DiffusersArguments) -> type[Any] | None:
    """Return the class that a pipeline will be loaded as; None if its files do not say.

    Raises:
        T2IBenchError: it comes with Python code of its own, or cannot become image to image.
    """
    name = _class_in_index(source, args)
    kind = _class_named(name)
    if name is None or kind is None:
        return None
    loaded = loaded_class(name, source, args)
    return kind if loaded == name else _class_named(loaded)


def class_name_of_pipeline(source: str, args: DiffusersArguments) -> str | None:
    """Return the name of the class that a pipeline will be loaded as; None if it is not known.

    diffusers is imported only for a class that t2ibench does not know.

    Raises:
        T2IBenchError: it comes with Python code of its own, or cannot become image to image.
    """
    name = _class_in_index(source, args)
    if name is None:
        return None
    is_known = name in EDITORS or name in IMAGE_TO_IMAGE
    if not is_known and _class_named(name) is None:
        return None
    return loaded_class(name, source, args)


@uncollected()  # because it imports diffusers
def _class_named(name: str | None) -> type[Any] | None:
    """Return the class of diffusers with a name; None if there is none."""
    if name is None:
        return None
    import diffusers

    kind = getattr(diffusers, name, None)
    return kind if inspect.isclass(kind) else None


def _class_in_index(source: str, args: DiffusersArguments) -> str | None:
    """Return the class that model_index.json names; None if it is unreadable or names none."""
    local = ask_hub(source, _INDEX, args.revision)
    try:
        with collect_messages(source):
            index = _index_file(source, {**local, "revision": args.revision})
            name = json.loads(index.read_text(encoding="utf-8")).get("_class_name")
    except Exception:  # loading the pipeline says what is wrong
        return None
    if isinstance(name, list):  # its file and its class
        raise T2IBenchError(
            f"'{source}' is a pipeline with Python code of its own, which t2ibench does not run.",
            "Give a pipeline of a class of diffusers, or write a generator of your own "
            "(package.module:factory).",
        )
    return name if isinstance(name, str) else None


def _index_file(source: str, options: Mapping[str, Any]) -> Path:
    """Return the file that lists the parts of a pipeline, downloaded if necessary."""
    if exists(source):
        return expanded(source) / _INDEX
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(source, _INDEX, **options))


def _check_class(kind: type[Any], source: str, args: DiffusersArguments) -> None:
    """Raise an error, before weights are loaded, if a class is of no use, or lacks an argument.

    A class is of use if it makes images of prompts alone, or edits.
    """
    name = kind.__name__
    reason = None if name in EDITORS else why_refused(kind, args.to_call)
    if reason is not None:
        raise T2IBenchError(
            f"'{source}' is a {name}, which makes no image of a prompt alone: {reason}.",
            "Give a text-to-image pipeline.",
        )
    accepted = {*inspect.signature(kind).parameters, *_LOAD_OPTIONS}
    for option, value in args.to_load.items():
        check_name(f"load.{option}", option, accepted, name)
        if isinstance(value, str) and option not in _LOAD_OPTIONS:
            raise T2IBenchError(
                f"--model-args: load.{option}={value}: a part of a pipeline cannot be replaced.",
                f"load.{option}=null leaves it out.",
            )


def call_of(pipeline: Any, args: DiffusersArguments) -> dict[str, Any]:
    """Return the arguments of a pipeline's call that are the same for every image."""
    parameters = inspect.signature(type(pipeline).__call__).parameters
    call: dict[str, Any] = {}
    if "clean_caption" in parameters:
        call["clean_caption"] = False
    return call | call_arguments(type(pipeline), args)


def call_arguments(kind: type[Any], args: DiffusersArguments) -> dict[str, Any]:
    """Return the user's arguments of a pipeline's call.

    A size is not among them where the source image decides it, and is resized before. A guidance
    takes the place of a guidance of each step.

    Raises:
        T2IBenchError: steps are given to a class that has a guidance of each step, and no guidance.
    """
    call = args.call()
    parameters = inspect.signature(kind.__call__).parameters
    if _SCHEDULE in parameters and _SCHEDULE not in call:
        if _GUIDANCE in call:
            call[_SCHEDULE] = None
        elif call.get(_STEPS, parameters[_STEPS].default) != parameters[_STEPS].default:
            raise T2IBenchError(
                f"--model-args: steps={call[_STEPS]}: {kind.__name__} has a guidance for each of "
                f"its {parameters[_STEPS].default} steps.",
                "Give one for all of yours, such as guidance=7, or leave steps out.",
            )
    editor = EDITORS.get(kind.__name__)
    if editor is not None and editor.size == "source":
        for side in SIDES:
            call.pop(side, None)
    return call


def image_pixels(pipeline: Any, args: DiffusersArguments) -> int:
    """Return the number of pixels of an image, for settings that name no size the pipeline's own.

    A pipeline that does not say which counts as one of 1024 × 1024.
    """
    given = args.given()
    height, width = given.get("height"), given.get("width")
    if height and width:
        return int(height) * int(width)
    scale = getattr(pipeline, "vae_scale_factor", None)
    size = getattr(pipeline, "default_sample_size", None)
    if not isinstance(size, int):
        denoisers = (getattr(pipeline, name, None) for name in _DENOISERS)
        configs = (getattr(part, "config", None) for part in denoisers)
        sizes = (getattr(config, "sample_size", None) for config in configs)
        size = next((size for size in sizes if isinstance(size, int)), None)
    if not isinstance(size, int) or not isinstance(scale, int):
        return 1024 * 1024
    return (size * scale) ** 2


def weight_bytes(pipeline: Any, args: DiffusersArguments) -> int:
    """Return the bytes of weights on a device at once; with offload, those of the largest part."""
    parts = []
    for part in getattr(pipeline, "components", {}).values():
        if hasattr(part, "parameters"):
            numbers = part.parameters()
            parts.append(
                sum(number.numel() * number.element_size() for number in numbers)
            )
    return max(parts, default=0) if args.offload != "none" else sum(parts)


def cpu_weights_of_folder(request: Request[DiffusersArguments]) -> int | None:
    """Return the bytes of a local pipeline's weights on a CPU; None for any other.

    A LoRA or a hook may bring more.
    """
    args = request.args
    folder = expanded(request.source)
    has_more = args.lora is not None or args.hook is not None
    if request.device != "cpu" or has_more or not folder.is_dir():
        return None
    return weight_file_bytes(folder)


def one_a_row(call: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """Return call arguments for a batch of `rows` images, with prompts repeated for each.

    Examples:
        >>> one_a_row({"prompt_2": "sunny", "clip_skip": 1}, 2)
        {'prompt_2': ['sunny', 'sunny'], 'clip_skip': 1}
    """
    return {
        name: [value] * rows
        if isinstance(value, str) and _A_PROMPT.fullmatch(name)
        else value
        for name, value in call.items()
    }


def pipeline_call(
    pipeline: Any, call: Mapping[str, Any], generator: Any, form: str
) -> Any:
    """Call a pipeline and return its images in a `form` such as 'np' or 'latent'."""
    return images_of(pipeline(generator=generator, output_type=form, **call), pipeline)


def images_of(output: Any, pipeline: Any) -> Any:
    """Return the images in the output of a pipeline's call."""
    for name in ("images", "image"):
        images = getattr(output, name, None)
        if images is not None:
            return images
    raise T2IBenchError(
        f"A {type(pipeline).__name__} gave a {type(output).__name__}, which holds no images.",
        "Give a text-to-image pipeline.",
    )


def check_call(kind: type[Any], args: DiffusersArguments, where: str = "") -> None:
    """Raise an error for arguments that the pipeline's call does not accept."""
    accepted = {*inspect.signature(kind.__call__).parameters} - {"self"}
    written = {name: key for key, name in CALL_NAMES.items()} | dict.fromkeys(
        SIDES, "size"
    )
    for name in call_arguments(kind, args):
        check_name(
            written.get(name, f"call.{name}"), name, accepted, f"{where}{kind.__name__}"
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


def effective_settings(
    pipeline: Any, args: DiffusersArguments, dtype: str, shape: Sequence[int] | None
) -> dict[str, Any]:
    """Return the settings that a loaded pipeline uses, defaults included, for the run's record."""
    parameters = inspect.signature(type(pipeline).__call__).parameters
    used = {name: parameter.default for name, parameter in parameters.items()}
    used |= call_of(pipeline, args)
    settings: dict[str, Any] = {
        "pipeline": type(pipeline).__name__,
        "scheduler": type(getattr(pipeline, "scheduler", None)).__name__,
    }
    for name in _REPORTED:
        if isinstance(used.get(name), (bool, int, float, str)):
            settings[name] = used[name]
    given = args.given()
    settings["height"] = shape[0] if shape else given.get("height")
    settings["width"] = shape[1] if shape else given.get("width")
    settings["dtype"] = dtype
    for name, value in args.to_call.items():
        settings[f"call.{name}"] = value
    if "clean_caption" in parameters:
        settings["call.clean_caption"] = False
    for name in ("compile", "channels_last"):
        if getattr(args, name):
            settings[name] = True
    if args.lora:
        settings["lora"] = lora_fact(pipeline)
    return settings
