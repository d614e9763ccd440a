"""`call.NAME=VALUE` and the like: what a pipeline takes beyond named arguments."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean

CALL, LOAD, CACHE, HOOK = "call.", "load.", "cache.", "hook."
# What each image decides for itself, or what changes the form of the output.
_OWN_CALL = {
    *("prompt", "generator", "output_type", "return_dict", "num_images_per_prompt", "latents"),
    *("prompt_embeds", "callback", "callback_steps", "callback_on_step_end"),
    *("height", "width"),
}
# Of `from_pretrained`, besides the parts of a pipeline and its settings.
_LOAD_OPTIONS = {
    *("cache_dir", "device_map", "disable_mmap", "enable_pag", "force_download"),
    *("local_files_only", "low_cpu_mem_usage", "max_memory", "mirror", "offload_folder"),
    *("offload_state_dict", "pag_applied_layers", "quantization_config"),
}
# What has an argument or a flag of its own.
_OTHERWISE = {
    **{"variant": "variant=…", "revision": "revision=…", "torch_dtype": "--dtype"},
    **{"safety_checker": "safety_checker=false"},
}
_DEVICE_MAPS = ("balanced", "cpu", "cuda", "mps")
_SECOND_PROMPT = re.compile(r"negative_prompt(_\d)?|prompt_\d")
# Each of these can run code that comes with a model, or put a secret into run.db.
_NEVER = {
    "trust_remote_code": "t2ibench runs no code that comes with a model.",
    "custom_pipeline": "t2ibench runs no code that comes with a model.",
    "custom_revision": "t2ibench runs no code that comes with a model.",
    "use_safetensors": "Weights have to be safetensors: others can run code.",
    "token": "Log in to the hub instead: arguments are stored with the run.",
    "proxies": "Set HTTPS_PROXY instead: arguments are stored with the run.",
    "use_onnx": "Weights have to be safetensors: others can run code.",
    "use_auth_token": "Log in to the hub instead: arguments are stored with the run.",
}
_WORDS = {"none": None, "null": None, "true": True, "false": False}


def collected(data: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with those that are passed on gathered in mappings.

    Examples:
        >>> collected({"steps": "4", "call.clip_skip": "2", "load.vae": "null"})
        {'steps': '4', 'call.NAME': {'clip_skip': 2}, 'load.NAME': {'vae': None}}
    """
    kept: dict[str, Any] = {}
    for key, value in data.items():
        start = next((start for start in (CALL, LOAD, CACHE, HOOK) if key.startswith(start)), None)
        if start is None:
            kept[key] = value
            continue
        name = key.removeprefix(start)
        if name in _NEVER:
            raise ValueError(f"{key} is not taken. {_NEVER[name]}")
        kept.setdefault(f"{start}NAME", {})[name] = value_of(value)
    return kept


def value_of(value: Any) -> Any:
    """What a user wrote as a value of JSON; text that is none as it is."""
    if not isinstance(value, str):
        return value
    if value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
    try:
        return json.loads(value)
    except ValueError:
        return value


def of(args: Mapping[str, Any], start: str) -> dict[str, Any]:
    """What is passed on in one place."""
    return {key.removeprefix(start): value for key, value in args.items() if key.startswith(start)}


def check_call(kind: type[Any], args: Mapping[str, Any], named: Mapping[str, str]) -> None:
    """Refuse what a pipeline's `__call__` does not take, or what has a name of its own."""
    own = {name: key for key, name in named.items()}
    parameters = inspect.signature(kind.__call__).parameters
    known = {name for name in parameters if name not in {"self", *_OWN_CALL}}
    for name in of(args, CALL):
        if name in own:
            raise T2IBenchError(f"--model-args: {CALL}{name}: write {own[name]}=… instead.")
        if name in _OWN_CALL:
            raise T2IBenchError(f"--model-args: {CALL}{name}: t2ibench sets it for each image.")
        _check(name, known - own.keys(), CALL, kind)


def one_a_row(call: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """What a pipeline is called with, a text that goes with each prompt repeated for each.

    Examples:
        >>> one_a_row({"prompt_2": "sunny", "clip_skip": 1}, 2)
        {'prompt_2': ['sunny', 'sunny'], 'clip_skip': 1}
    """
    return {
        name: [value] * rows if isinstance(value, str) and _SECOND_PROMPT.fullmatch(name) else value
        for name, value in call.items()
    }


def check_load(kind: type[Any], args: Mapping[str, Any]) -> None:
    """Refuse what loading a pipeline does not take."""
    known = {*inspect.signature(kind).parameters, *_LOAD_OPTIONS}
    for name, value in of(args, LOAD).items():
        if name in _OTHERWISE and value is not None:
            raise T2IBenchError(f"--model-args: {LOAD}{name}: write {_OTHERWISE[name]} instead.")
        _check(name, known, LOAD, kind)
        if name == "device_map" and isinstance(value, str) and value not in _DEVICE_MAPS:
            raise T2IBenchError(
                f"--model-args: {LOAD}{name}={value}: expected {', '.join(_DEVICE_MAPS)}."
                f"{did_you_mean(value, _DEVICE_MAPS)}"
            )
        if isinstance(value, str) and name not in _LOAD_OPTIONS:
            raise T2IBenchError(
                f"--model-args: {LOAD}{name}={value}: a part of a pipeline cannot be replaced.",
                f"{LOAD}{name}=null leaves it out.",
            )


def _check(name: str, known: Iterable[str], start: str, kind: type[Any]) -> None:
    names = sorted(known)
    if name not in names:
        near = did_you_mean(name, names)
        raise T2IBenchError(
            f"--model-args: {kind.__name__} takes no {start}{name}.{near}",
            f"It takes: {', '.join(names)}.",
        )
