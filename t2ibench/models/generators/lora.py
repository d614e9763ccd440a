"""Load LoRA weights, and reject a file with weights that fit no layer."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, check_installed, first_line, shown
from t2ibench.models.hub import offline_folder
from t2ibench.models.weight_files import PICKLED, find_file_defect
from t2ibench.store.user_paths import expanded, matching

_DENOISERS = {"unet": "UNet", "transformer": "transformer"}
_MODULE_OF_KEY = re.compile(
    r"(.+?)\.(?:lora_[A-Z]|lora_magnitude_vector|lokr_|lora_embedding)"
)
_PEFT = "base_model.model."
_FOREIGN = (
    "No LoRA keys associated to",
    "Loading adapter weights from state_dict led to unexpected keys",
)
_SIZE_MISMATCH = "size mismatch for "
_MISMATCH = re.compile(
    rf"{_SIZE_MISMATCH}(?P<layer>[\w.]+?)\.lora_.*?\[(?P<given>[\d, ]+)\].*?\[(?P<own>[\d, ]+)\]",
    re.DOTALL,
)
_EXAMPLES = 2  # layers that a message shows


@dataclass(frozen=True, slots=True)
class LoraFit:
    """The layers in a LoRA file that the pipeline has, and those that it does not have.

    Attributes:
        fitting: Layers that have the weights now, as 'unet.down_blocks.0…'.
        unfitting: Names of the file that fit no layer.
    """

    fitting: tuple[str, ...]
    unfitting: tuple[str, ...]


def add_lora(pipeline: Any, lora: str | None, scale: float) -> None:
    """Add LoRA weights to a pipeline; raise an error for a file that fits only in part."""
    if lora is None:
        return
    check_installed("peft", "lora")
    if not hasattr(pipeline, "load_lora_weights"):
        raise T2IBenchError(f"--model-args: {type(pipeline).__name__} takes no lora.")
    path = offline_folder(lora) or expanded(lora)
    # Offline, diffusers wants the file's name, of a folder with a single one too.
    files = [path] if path.is_file() else matching(path, "*.safetensors")
    _check_safetensors(lora, path, files)
    where, name = (
        (str(files[0].parent), files[0].name) if len(files) == 1 else (lora, None)
    )
    try:
        with _recorded_keys(pipeline) as converted, _without_foreign_line():
            options = {"weight_name": name} if name else {}
            pipeline.load_lora_weights(where, use_safetensors=True, **options)
    except Exception as error:
        raise _cannot_load(pipeline, lora, path, error) from error
    fit = lora_fit(pipeline, converted)
    _check_fit(pipeline, lora, fit, _keys_of(files[0]) if len(files) == 1 else ())
    try:
        parts = [
            part for part in _parts_of(pipeline) if _layers(getattr(pipeline, part))
        ]
        pipeline.fuse_lora(components=parts, lora_scale=scale)
    except Exception as error:
        raise _cannot_load(pipeline, lora, path, error) from error


def _check_safetensors(lora: str, path: Path, files: Sequence[Path]) -> None:
    """Raise an error for pickled weights, which may run code when they are read."""
    pickled = [file for file in files if file.suffix in PICKLED]
    if path.is_dir() and not files:
        pickled = [file for file in path.iterdir() if file.suffix in PICKLED]
    if pickled:
        raise T2IBenchError(
            f"--model-args: lora={shown(lora)} is no safetensors file: {pickled[0].name} holds "
            "pickled weights, which may run code when they are read.",
            "Save them as safetensors, where you trust them: "
            "safetensors.torch.save_file(torch.load(file, weights_only=True), "
            "'lora.safetensors').",
        )


def lora_fact(pipeline: Any) -> str:
    """Return how many layers of each part LoRA weights changed, such as '64 UNet layers'."""
    changed, unchanged = [], []
    for part in _parts_of(pipeline):
        count = len(_layers(getattr(pipeline, part)))
        title = _DENOISERS.get(part, part.replace("_", " "))
        if count:
            changed.append(f"{count} {title} layer{'' if count == 1 else 's'}")
        else:
            unchanged.append(f"{title} unchanged")
    return ", ".join([*changed, *unchanged])


def lora_fit(pipeline: Any, converted: Mapping[str, Any]) -> LoraFit:
    """Return which layers in a LoRA file a pipeline has, and which it does not have.

    Args:
        pipeline: A pipeline that has loaded the file.
        converted: The file's tensors by name, as diffusers converted them.

    Returns:
        What fits and what does not.
    """
    parts = _parts_of(pipeline)
    of_part: dict[str, dict[str, Any]] = {part: {} for part in parts}
    unfitting: list[str] = []
    for key, tensor in converted.items():
        part, _, name = key.partition(".")
        if part in of_part:
            of_part[part][name] = tensor
        else:
            unfitting.append(_module_of(key))
    fitting: list[str] = []
    for part, tensors in of_part.items():
        module = getattr(pipeline, part)
        has_weights = _layers(module).keys()
        for name in _modules_named(part, tensors, module):
            (fitting if name in has_weights else unfitting).append(f"{part}.{name}")
    return LoraFit(tuple(dict.fromkeys(fitting)), tuple(dict.fromkeys(unfitting)))


def _parts_of(pipeline: Any) -> list[str]:
    """Return the names of a pipeline's parts that can have LoRA weights."""
    names: Sequence[str] = getattr(pipeline, "_lora_loadable_modules", ())
    return [name for name in names if getattr(pipeline, name, None) is not None]


def _layers(module: Any) -> dict[str, Any]:
    """Return the layers of a module that have LoRA weights, keyed by name."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    return {
        name: layer
        for name, layer in module.named_modules()
        if isinstance(layer, BaseTunerLayer)
    }


def _modules_named(part: str, tensors: Mapping[str, Any], module: Any) -> list[str]:
    """Return the names of the layers in `module` to which a part's LoRA tensors belong."""
    from diffusers.utils import (
        convert_state_dict_to_diffusers,
        convert_state_dict_to_peft,
        convert_unet_state_dict_to_peft,
    )

    if not tensors:
        return []
    renamed = dict(tensors)
    if part in _DENOISERS:
        if "lora_A" not in next(iter(renamed)) and not any(
            ".lokr_" in key for key in renamed
        ):
            renamed = convert_unet_state_dict_to_peft(renamed)
    else:
        renamed = convert_state_dict_to_peft(convert_state_dict_to_diffusers(renamed))
        if not hasattr(module, "text_model"):
            renamed = {
                key.removeprefix("text_model."): tensor
                for key, tensor in renamed.items()
            }
    names = (_module_of(key) for key in renamed if "lora" in key or "lokr" in key)
    return list(dict.fromkeys(names))


def _module_of(key: str) -> str:
    match = _MODULE_OF_KEY.match(key)
    return match.group(1) if match else key


def _keys_of(file: Path) -> Sequence[str]:
    from safetensors import safe_open

    with safe_open(file, framework="np") as tensors:
        return list(tensors.keys())


def _check_fit(pipeline: Any, lora: str, fit: LoraFit, keys: Sequence[str]) -> None:
    where = f"--model-args: lora={shown(lora)}"
    name = type(pipeline).__name__
    if not fit.fitting:
        examples = ", ".join(shown(key) for key in (fit.unfitting or keys)[:_EXAMPLES])
        hint = "Give a LoRA that was trained on this kind of model."
        if any(key.startswith(_PEFT) for key in keys):
            hint = _advice_for_peft(pipeline)
        raise T2IBenchError(
            f"{where} has no weights for this {name}: it has layers such as {examples}.",
            hint,
        )
    if fit.unfitting:
        total = len(fit.fitting) + len(fit.unfitting)
        examples = ", ".join(shown(key) for key in fit.unfitting[:_EXAMPLES])
        raise T2IBenchError(
            f"{where} fits only in part: of its {total} layers {len(fit.unfitting)} are not in "
            f"this {name}, such as {examples}.",
            "Give a LoRA of this model, or save it again without these layers.",
        )
    if any("dora_scale" in key for key in keys):
        raise T2IBenchError(
            f"{where} is a DoRA, whose magnitudes (dora_scale) diffusers leaves out.",
            "Merge it into the model where it was trained, and give that model.",
        )
    layers = [
        layer
        for part in _parts_of(pipeline)
        for layer in _layers(getattr(pipeline, part)).values()
    ]
    if not any(_changes_weights(layer) for layer in layers):
        raise T2IBenchError(
            f"{where} changes nothing: all of its {len(layers)} layers are zero.",
            "It was saved before it was trained, or its training failed.",
        )


def _advice_for_peft(pipeline: Any) -> str:
    """Return advice for a file in peft's own format, which names no part of a pipeline."""
    return (
        "It is in peft's own form: load it there, and save it with "
        f"{type(pipeline).__name__}.save_lora_weights, which says what part it is of."
    )


def _changes_weights(layer: Any) -> bool:
    """Return whether a layer's LoRA weights change it, because one is not zero."""
    if not hasattr(layer, "lora_B"):
        return True  # another kind of adapter
    factors = [*layer.lora_B.values(), *layer.lora_embedding_B.values()]
    return any(bool(tensor.any()) for factor in factors for tensor in _tensors(factor))


def _tensors(factor: Any) -> list[Any]:
    return list(factor.parameters()) if hasattr(factor, "parameters") else [factor]


@contextmanager
def _recorded_keys(pipeline: Any) -> Iterator[dict[str, Any]]:
    """Yield a mapping that fills with the LoRA tensors that diffusers loads, by its names."""
    recorded: dict[str, Any] = {}
    convert = pipeline.lora_state_dict

    def convert_and_record(*args: Any, **options: Any) -> Any:
        converted = convert(*args, **options)
        tensors = converted[0] if isinstance(converted, tuple) else converted
        recorded.update(tensors)
        return converted

    pipeline.lora_state_dict = convert_and_record
    try:
        yield recorded
    finally:
        del pipeline.lora_state_dict


@contextmanager
def _without_foreign_line() -> Iterator[None]:
    """Suppress diffusers' log lines on unused weights, which t2ibench reports itself."""

    def is_other(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        return not message.startswith(_FOREIGN) and _SIZE_MISMATCH not in message

    loggers = [
        logging.getLogger(f"diffusers.loaders.{name}") for name in ("lora_base", "peft")
    ]
    for logger in loggers:
        logger.addFilter(is_other)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_other)


def _cannot_load(
    pipeline: Any, lora: str, path: Path, error: Exception
) -> T2IBenchError:
    where = f"--model-args: lora={shown(lora)} could not be loaded"
    defect = find_file_defect(path) if path.exists() else None
    if defect is not None:
        return T2IBenchError(f"{where}: {defect.reason}.", defect.hint)
    mismatch = _MISMATCH.search(str(error))
    if mismatch is not None:
        return T2IBenchError(
            f"--model-args: lora={shown(lora)} has weights of other shapes than this "
            f"{type(pipeline).__name__}: {mismatch['layer']} has ({mismatch['given']}), expected "
            f"({mismatch['own']}).",
            "It was trained on another model, perhaps one of another size: "
            "give a LoRA of this one.",
        )
    hint = (
        f"Give a safetensors file or folder that fits this {type(pipeline).__name__}."
    )
    if (
        path.suffix == ".safetensors"
        and path.is_file()
        and any(key.startswith(_PEFT) for key in _keys_of(path))
    ):
        hint = _advice_for_peft(pipeline)
    if "version of PEFT" in str(error):
        hint = "Update it: pip install --upgrade peft."
    elif not path.exists():
        hint = f"There is no file or folder {shown(lora)!r} here; a hub id is ORG/NAME."
    return T2IBenchError(f"{where}: {first_line(error)}", hint)
