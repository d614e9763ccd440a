"""What makes a pipeline faster and its images other ones, if only by rounding.

All of it is part of the fingerprint, and of the settings in effect.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean, first_line
from t2ibench.models.devices import quietly
from t2ibench.models.generators import passthrough

SDPA = "sdpa"
_DENOISERS = ("unet", "transformer", "transformer_2", "prior", "decoder")
# Argument to diffusers' configuration, and what t2ibench sets in it.
CACHES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "first_block": ("FirstBlockCacheConfig", {}),
    "taylorseer": ("TaylorSeerCacheConfig", {}),
    "mag": ("MagCacheConfig", {}),
    "pyramid": ("PyramidAttentionBroadcastConfig", {"spatial_attention_block_skip_range": 2}),
    # Told otherwise, it takes half of a batch for the unconditional half.
    "faster": ("FasterCacheConfig", {"is_guidance_distilled": True, "tensor_format": "BCHW"}),
}
# Whether a step is skipped follows from a mean over the whole batch.
_ONE_AT_A_TIME = {"first_block"}
_NAMES = ("compile", "channels_last", "attention", "cache")


def in_effect(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that change images, without those that say what is so anyway."""
    kept = {key: args[key] for key in _NAMES if args.get(key) not in {None, False, SDPA, "none"}}
    if "cache" in kept:
        options = passthrough.of(args, passthrough.CACHE)
        kept |= {f"{passthrough.CACHE}{name}": value for name, value in options.items()}
    return kept


def neutral(args: Mapping[str, Any]) -> list[str]:
    """The arguments that say what is so anyway, and belong into no fingerprint."""
    kept = in_effect(args)
    return [
        key
        for key in args
        if (key in _NAMES or key.startswith(passthrough.CACHE)) and key not in kept
    ]


def one_at_a_time(args: Mapping[str, Any]) -> bool:
    """Whether images would depend on those beside them in a batch."""
    return args.get("cache") in _ONE_AT_A_TIME


def speed_up(pipeline: Any, args: Mapping[str, Any]) -> None:
    """Have a pipeline use what its arguments ask for."""
    wanted = in_effect(args)
    if not wanted:
        return
    denoisers = list(_denoisers(pipeline))
    if not denoisers:
        raise T2IBenchError(
            f"--model-args: {type(pipeline).__name__} takes no {next(iter(wanted))}: it has no "
            "unet or transformer."
        )
    if "channels_last" in wanted:
        _channels_last([*denoisers, getattr(pipeline, "vae", None)])
    if "attention" in wanted:
        for denoiser in denoisers:
            _set_attention(denoiser, wanted["attention"])
    if "cache" in wanted:
        _set_cache(pipeline, denoisers, wanted["cache"], args)
    if "compile" in wanted:
        _compile(denoisers)


def _denoisers(pipeline: Any) -> Iterator[Any]:
    for name in _DENOISERS:
        part = getattr(pipeline, name, None)
        if part is not None and hasattr(part, "parameters"):
            yield part


def _channels_last(parts: list[Any]) -> None:
    import torch

    for part in parts:
        if part is not None and hasattr(part, "parameters"):
            part.to(memory_format=torch.channels_last)


def _set_attention(denoiser: Any, name: str) -> None:
    from diffusers import attention_backend
    from diffusers.models.attention_dispatch import AttentionBackendName

    known = sorted(
        str(one.value) for one in AttentionBackendName if not one.value.endswith("_hub")
    )  # the others run code from the hub
    if name not in known:
        raise T2IBenchError(
            f"--model-args: attention={name}: expected sdpa or a back-end of diffusers."
            f"{did_you_mean(name, known)}",
            f"It has: {', '.join(known)}.",
        )
    choosing = [
        module
        for module in denoiser.modules()
        if hasattr(getattr(module, "processor", None), "_attention_backend")
    ]
    try:
        with quietly():
            if choosing:
                with attention_backend(name):  # else it would be every later model's, too
                    denoiser.set_attention_backend(name)
                return
            if name == "xformers":
                denoiser.enable_xformers_memory_efficient_attention()
                return
    except Exception as error:
        raise T2IBenchError(
            f"--model-args: attention={name} cannot be used here: {first_line(error)}",
            "Omit it to use PyTorch's own attention.",
        ) from error
    raise T2IBenchError(
        f"--model-args: attention={name}: a {type(denoiser).__name__} takes xformers or sdpa only."
    )


def _set_cache(pipeline: Any, denoisers: list[Any], name: str, args: Mapping[str, Any]) -> None:
    import diffusers

    lacking = [one for one in denoisers if not hasattr(one, "enable_cache")]
    if lacking:
        raise T2IBenchError(
            f"--model-args: cache={name}: a {type(lacking[0]).__name__} has no caches."
        )
    kind, defaults = CACHES[name]
    config_class = getattr(diffusers, kind)
    options = {**defaults, **passthrough.of(args, passthrough.CACHE)}
    known = set(inspect.signature(config_class).parameters)
    for option in options.keys() - known:
        raise T2IBenchError(
            f"--model-args: cache={name} takes no {passthrough.CACHE}{option}."
            f"{did_you_mean(option, known)}",
            f"It takes: {', '.join(sorted(known))}.",
        )
    if "current_timestep_callback" in known:
        options["current_timestep_callback"] = lambda: pipeline.current_timestep
    if "num_inference_steps" in known:
        steps = inspect.signature(type(pipeline).__call__).parameters["num_inference_steps"]
        options.setdefault("num_inference_steps", args.get("steps", steps.default))
    if name == "mag" and "Flux" in type(pipeline).__name__:
        from diffusers.hooks.mag_cache import FLUX_MAG_RATIOS

        options.setdefault("mag_ratios", FLUX_MAG_RATIOS)
    try:
        for denoiser in denoisers:
            with quietly():
                denoiser.enable_cache(config_class(**options))
    except Exception as error:
        raise T2IBenchError(
            f"--model-args: cache={name} cannot be used with {type(pipeline).__name__}: "
            f"{first_line(error)}",
            f"What it needs is given as {passthrough.CACHE}NAME=VALUE; see diffusers' {kind}.",
        ) from error


def _compile(denoisers: list[Any]) -> None:
    for denoiser in denoisers:
        if getattr(denoiser, "_repeated_blocks", None):
            denoiser.compile_repeated_blocks()  # a fraction of the time that all of it takes
        else:
            denoiser.compile()
