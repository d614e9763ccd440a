"""What makes a pipeline faster and its images other ones, if only by rounding: diffusers' own.

All of it is part of the fingerprint, and of the settings in effect.
"""

from __future__ import annotations

import inspect
from typing import Any

from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.devices import quietly
from t2ibench.models.generators.passthrough import check_name
from t2ibench.models.generators.pipeline_arguments import DiffusersArguments

_DENOISERS = ("unet", "transformer", "transformer_2", "prior", "decoder")
# Whether they skip a step does not follow from a mean over the whole batch.
_TOGETHER = {"TaylorSeerCacheConfig", "MagCacheConfig", "PyramidAttentionBroadcastConfig"}


def one_at_a_time(args: DiffusersArguments) -> bool:
    """Whether images would depend on those beside them in a batch."""
    return args.cache is not None and args.cache not in _TOGETHER


def speed_up(pipeline: Any, args: DiffusersArguments) -> None:
    """Have a pipeline use what its arguments ask for."""
    ways = {"attention": _set_attention, "cache": _set_cache, "compile": _compile}
    wanted = [name for name in ways if getattr(args, name)]
    parts = [getattr(pipeline, name, None) for name in _DENOISERS] if wanted else []
    denoisers = [part for part in parts if hasattr(part, "parameters")]
    for name in wanted:
        where = f"--model-args: {name}={getattr(args, name)}"
        if not denoisers:
            raise T2IBenchError(f"{where}: a {type(pipeline).__name__} has no denoiser for it.")
        for part in denoisers:
            try:
                with quietly():
                    ways[name](part, pipeline, args)
            except T2IBenchError:
                raise
            except Exception as error:
                raise T2IBenchError(
                    f"{where} cannot be used with a {type(part).__name__} here: "
                    f"{first_line(error)}",
                    "What a cache needs is given as cache.NAME=VALUE." if name == "cache" else None,
                ) from error


def _set_attention(denoiser: Any, _: Any, args: DiffusersArguments) -> None:
    from diffusers import attention_backend
    from diffusers.models.attention_dispatch import AttentionBackendName

    wanted = str(args.attention)
    # The others run code from the hub.
    known = sorted(one.value for one in AttentionBackendName if not one.value.endswith("_hub"))
    check_name(f"attention={wanted}", wanted, known)
    parts = (getattr(part, "processor", None) for part in denoiser.modules())
    if not any(hasattr(part, "_attention_backend") for part in parts):
        raise ValueError("its attention has no back-ends to choose from")
    with attention_backend(wanted):  # else it would be every later model's, too
        denoiser.set_attention_backend(wanted)


def _set_cache(denoiser: Any, pipeline: Any, args: DiffusersArguments) -> None:
    import diffusers

    ends = ("CacheConfig", "BroadcastConfig")
    known = [one for one in dir(diffusers) if one.endswith(ends)]
    check_name(f"cache={args.cache}", str(args.cache), known)
    kind = getattr(diffusers, str(args.cache))
    options = inspect.signature(kind).parameters
    for name in args.to_cache:
        check_name(f"cache.{name}", name, options, str(args.cache))
    given = dict(args.to_cache)
    if "current_timestep_callback" in options:
        given["current_timestep_callback"] = lambda: pipeline.current_timestep
    if "num_inference_steps" in options:
        steps = inspect.signature(type(pipeline).__call__).parameters["num_inference_steps"]
        given.setdefault("num_inference_steps", args.steps or steps.default)
    denoiser.enable_cache(kind(**given))


def _compile(denoiser: Any, *_: Any) -> None:
    if getattr(denoiser, "_repeated_blocks", None):
        denoiser.compile_repeated_blocks()  # a fraction of the time that all of it takes
    else:
        denoiser.compile()
