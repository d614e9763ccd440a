"""What a pipeline is loaded with: its variant, quantisation, and what `load.NAME=VALUE` says."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.models.devices import torch_dtype
from t2ibench.models.generators import passthrough
from t2ibench.models.locations import exists, variant_in

_QUANTIZATION = "quantization_config"
# Their shortest useful settings, so that the name of a back-end is enough.
_BACKENDS: Mapping[str, Mapping[str, Any]] = {
    "bitsandbytes_4bit": {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
    "bitsandbytes_8bit": {"load_in_8bit": True},
}
_QUANTIZED = ("transformer", "unet", "prior", "decoder", "text_encoder")


def load_options(
    source: str, kind: type[Any] | None, args: Mapping[str, Any], dtype: str
) -> dict[str, Any]:
    """What `from_pretrained` is told."""
    options: dict[str, Any] = {"torch_dtype": torch_dtype(dtype), "use_safetensors": True}
    options |= {key: args[key] for key in ("revision", "variant") if key in args}
    options |= passthrough.of(args, passthrough.LOAD)
    if _QUANTIZATION in options:
        options[_QUANTIZATION] = _quantization(options[_QUANTIZATION], kind)
    if args.get("safety_checker") is False:
        options |= {"safety_checker": None, "requires_safety_checker": False}
    if "variant" not in options:
        found = only_variant(_files(source, args.get("revision")))
        if found is not None:
            options["variant"] = found
    return options


def only_variant(files: Iterable[str]) -> str | None:
    """The variant that has to be named, because some part has no other safetensors.

    Examples:
        >>> only_variant(["unet/m.fp16.safetensors", "vae/m.safetensors", "vae/m.fp16.safetensors"])
        'fp16'
        >>> only_variant(["unet/m.safetensors", "unet/m.fp16.safetensors"])
    """
    parts: dict[str, set[str | None]] = defaultdict(set)
    for file in files:
        folder, _, name = file.rpartition("/")
        if folder and "/" not in folder and name.endswith(".safetensors"):
            parts[folder].add(variant_in(name))
    bound = [variants for variants in parts.values() if None not in variants]
    if not bound:
        return None
    common = set.intersection(*bound) or set.union(*bound)
    if len(common) > 1:
        names = ", ".join(sorted(str(one) for one in common))
        raise T2IBenchError(
            f"The weights come in several variants: {names}.",
            f"Choose one: --model-args variant={sorted(map(str, common))[0]}.",
        )
    return next(iter(common))


def _files(source: str, revision: str | None) -> list[str]:
    """A model's files; none where the hub is not to be asked, or does not say."""
    if exists(source):
        folder = Path(source).expanduser()
        return [path.relative_to(folder).as_posix() for path in folder.glob("*/*.safetensors")]
    from huggingface_hub import HfApi, constants, scan_cache_dir

    if not constants.HF_HUB_OFFLINE:
        try:
            info = HfApi().model_info(source, revision=revision, timeout=5)
            return [file.rfilename for file in info.siblings or ()]
        except Exception:  # what is in the cache may be enough
            pass
    try:
        repos = [repo for repo in scan_cache_dir().repos if repo.repo_id == source]
    except Exception:  # there is no cache
        return []
    return [
        str(Path(file.file_path).relative_to(stored.snapshot_path).as_posix())
        for repo in repos
        for stored in repo.revisions
        if revision in {None, stored.commit_hash, *stored.refs}
        for file in stored.files
    ]


def _quantization(value: Any, kind: type[Any] | None) -> Any:
    """The configuration of `load.quantization_config`: a back-end's name, or all of it as JSON."""
    from diffusers import PipelineQuantizationConfig

    given = {"quant_backend": value} if isinstance(value, str) else value
    known = {"quant_backend", "quant_kwargs", "components_to_quantize"}
    if not isinstance(given, Mapping) or "quant_backend" not in given or set(given) - known:
        raise T2IBenchError(
            f"--model-args: {passthrough.LOAD}{_QUANTIZATION}: expected the name of a back-end, or "
            f"a JSON object of {', '.join(sorted(known))}.",
            f"Such as {passthrough.LOAD}{_QUANTIZATION}=bitsandbytes_4bit",
        )
    backend = str(given["quant_backend"])
    options = {"quant_kwargs": _BACKENDS.get(backend), **given}
    if not options["quant_kwargs"]:
        raise T2IBenchError(
            f"--model-args: {passthrough.LOAD}{_QUANTIZATION}: {backend} needs quant_kwargs."
            f"{did_you_mean(backend, _BACKENDS)}",
            f"These need none: {', '.join(sorted(_BACKENDS))}.",
        )
    parameters = inspect.signature(kind).parameters if kind else ()
    parts = [name for name in parameters if name.startswith(_QUANTIZED)]
    return PipelineQuantizationConfig(**{"components_to_quantize": parts or None, **options})
