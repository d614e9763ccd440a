"""What a ComfyUI server says of itself, and whether it has what a workflow needs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.models.generators.comfyui.client import ComfyServer
from t2ibench.models.generators.comfyui.places import source_candidates
from t2ibench.models.generators.comfyui.template import Template
from t2ibench.models.generators.comfyui.workflow import Place, Workflow, link_of
from t2ibench.models.server_errors import ServerAwayError, one_line

_WEIGHTS = (".safetensors", ".sft", ".ckpt", ".pt", ".pth", ".bin", ".gguf")
# ComfyUI's folder of the files that an input names, as far as their headers can be asked for.
_FOLDERS = {
    "ckpt_name": "checkpoints",
    "unet_name": "diffusion_models",
    "vae_name": "vae",
    "lora_name": "loras",
    "control_net_name": "controlnet",
    "clip_name": "text_encoders",
    "clip_name1": "text_encoders",
    "clip_name2": "text_encoders",
    "clip_name3": "text_encoders",
}
_HASHES = ("modelspec.hash_sha256", "sshs_model_hash", "sha256")
# Parts of the names of the server's options that change numbers.
_NUMERIC = (
    "fp8",
    "fp16",
    "fp32",
    "fp64",
    "bf16",
    "attention",
    "fast",
    "deterministic",
    "cpu",
    "directml",
    "upcast",
    "channels-last",
)
_NAMES = 8  # names of files that a message lists
_WORDS = 200  # characters of a version, a device, an option or a hash that are kept
_OPTIONS = 200  # words of the server's command that are looked at


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server says of itself and of the nodes of a workflow.

    Attributes:
        comfyui: Its version.
        torch: Its version of torch.
        device: The kind and name of its first device.
        options: Its options that change numbers, such as those of its precision.
        models: The files of models that the workflow names, with their hashes if the server says.
        nodes: What it says of each class of node, as /object_info has it.
    """

    comfyui: str
    torch: str
    device: str
    options: tuple[str, ...]
    models: Mapping[str, str | None]
    nodes: Mapping[str, Any] = field(repr=False)

    def identity(self) -> dict[str, Any]:
        """Return what decides images, as JSON values."""
        return {
            "comfyui": self.comfyui,
            "torch": self.torch,
            "device": self.device,
            "options": list(self.options),
            "models": dict(self.models),
        }


async def read_facts(server: ComfyServer, template: Template) -> ServerFacts:
    """Ask a server what it is, and check that it has the nodes and files of a workflow.

    Raises:
        T2IBenchError: something is missing, or a node asks a paid service.
    """
    stats = await server.get_json("/system_stats")
    system = stats.get("system") if isinstance(stats, Mapping) else None
    if not isinstance(system, Mapping):
        raise ServerAwayError(
            f"The server {server.where} is no ComfyUI: /system_stats has no system.",
            "Check base_url=… in --model-args, which has no path as a rule.",
        )
    workflow = template.workflow
    nodes: dict[str, Any] = {}
    classes = {workflow.class_of(node) for node in workflow.graph} | {"SaveImage"}
    for kind in sorted(classes):
        info = await server.get_json(f"/object_info/{quote(kind, safe='')}")
        nodes[kind] = _mapping(_mapping(info).get(kind))
    await _check_classes(server, workflow, nodes)
    _check_values(server, workflow, nodes)
    places = list(_files(workflow))
    models = {
        str(workflow.value(place)): await _hash_of(server, place, workflow)
        for place in places
    }
    devices = stats.get("devices")
    arguments = system.get("argv")
    return ServerFacts(
        comfyui=_text(system.get("comfyui_version")),
        torch=_text(system.get("pytorch_version")),
        device=_device(devices),
        options=_options(arguments),
        models=dict(sorted(models.items())),
        nodes=nodes,
    )


def seed_bits(template: Template, nodes: Mapping[str, Any]) -> int:
    """Return how many bits of a seed all inputs of a workflow take, 63 at most."""
    workflow = template.workflow
    bits = 63
    for item in template.seeds:
        options = _input(nodes, workflow, item.place)[1]
        largest = options.get("max")
        if isinstance(largest, int) and largest > 0:
            bits = min(bits, (largest + 1).bit_length() - 1)
    return bits


async def _check_classes(
    server: ComfyServer, workflow: Workflow, nodes: Mapping[str, Any]
) -> None:
    missing = [
        node for node in workflow.graph if not nodes.get(workflow.class_of(node))
    ]
    if missing:
        names = ", ".join(map(workflow.name_of, missing[:_NAMES]))
        everything: Any = {}
        # Only to say what was meant: what is missing is known without it.
        with contextlib.suppress(T2IBenchError):
            everything = await server.get_json("/object_info")
        near = did_you_mean(workflow.class_of(missing[0]), _mapping(everything))
        raise ServerAwayError(
            f"ComfyUI at {server.where} does not have {names}.{near}",
            "Install the custom nodes that the workflow uses, and start ComfyUI again.",
        )
    for node in workflow.graph:
        if nodes[workflow.class_of(node)].get("api_node"):
            raise T2IBenchError(
                f"'{workflow.file}': {workflow.name_of(node)} asks a paid service, which "
                "takes the seed or not, and whose refusals ComfyUI does not pass on.",
                "Ask the service itself: openai:MODEL, openrouter:MODEL, gemini:MODEL or "
                "litellm:MODEL.",
            )


def _check_values(
    server: ComfyServer, workflow: Workflow, nodes: Mapping[str, Any]
) -> None:
    """Raise an error if an input has a value that is not in the server's list, such as a file.

    The image that a workflow loads is not looked for: an edit has its own uploaded.
    """
    loaded = set(source_candidates(workflow))
    for node in workflow.graph:
        for name, value in workflow.inputs(node).items():
            place = Place(node, name)
            options = _list_of(*_input(nodes, workflow, place))
            if not isinstance(value, str) or not options or value in options:
                continue
            if place in loaded:
                continue
            is_file = value.lower().endswith(_WEIGHTS)
            there = ", ".join(shown(option, 60) for option in options[:_NAMES])
            more = f" and {len(options) - _NAMES} more" if len(options) > _NAMES else ""
            hint = f"It has: {there}{more}. Name one: --model-args node.{place}=…"
            raise ServerAwayError(
                f"ComfyUI at {server.where} has no {'file' if is_file else 'value'} "
                f"'{shown(value)}' for {place} ({workflow.class_of(node)})."
                f"{did_you_mean(value, options)}",
                hint,
            )


def _mapping(value: Any) -> Mapping[str, Any]:
    """Return a value of JSON if it is a mapping; an empty one otherwise."""
    return value if isinstance(value, Mapping) else {}


def _input(
    nodes: Mapping[str, Any], workflow: Workflow, place: Place
) -> tuple[Any, Mapping[str, Any]]:
    """Return the type and the options of an input, as /object_info has them."""
    info = _mapping(nodes.get(workflow.class_of(place.node)))
    inputs = _mapping(info.get("input"))
    for kind in ("required", "optional"):
        declared = _mapping(inputs.get(kind)).get(place.name)
        if isinstance(declared, list) and declared:
            options = declared[1] if len(declared) > 1 else {}
            return declared[0], options if isinstance(options, Mapping) else {}
    return None, {}


def _list_of(kind: Any, options: Mapping[str, Any]) -> list[str]:
    """Return the values of an input that takes one of a list, in either form that servers use."""
    values = kind if isinstance(kind, list) else options.get("options")
    if not isinstance(values, list) or (isinstance(kind, str) and kind != "COMBO"):
        return []
    return [value for value in values if isinstance(value, str)]


def _files(workflow: Workflow) -> Iterator[Place]:
    for node in workflow.graph:
        for name, value in workflow.inputs(node).items():
            is_text = isinstance(value, str) and link_of(value) is None
            if is_text and value.lower().endswith(_WEIGHTS):
                yield Place(node, name)


async def _hash_of(server: ComfyServer, place: Place, workflow: Workflow) -> str | None:
    """Return the hash that the header of a model's file has; None if the server does not say."""
    file = str(workflow.value(place))
    folder = _FOLDERS.get(place.name)
    if folder is None or not file.endswith((".safetensors", ".sft")):
        return None
    header = await server.metadata(folder, file)
    hashes = (header.get(name) for name in _HASHES)
    return next((_text(value) for value in hashes if isinstance(value, str)), None)


def _text(value: Any, otherwise: str = "unknown") -> str:
    """Return what a server says in a few words as one line, which is stored with the run."""
    return (one_line(value, _WORDS) if isinstance(value, str) else "") or otherwise


def _device(devices: Any) -> str:
    first = devices[0] if isinstance(devices, list) and devices else {}
    if not isinstance(first, Mapping):
        return "unknown"
    # 'cuda:0 NVIDIA H100 : cudaMallocAsync': where and how memory is taken changes no image.
    name = _text(first.get("name"), "").partition(" : ")[0]
    kind = _text(first.get("type"))
    without_number = name.partition(" ")[2] if name.startswith(kind) else name
    return f"{kind} {without_number}".strip()


def _options(arguments: Any) -> tuple[str, ...]:
    """Return the server's options that change numbers, without their paths and addresses.

    Examples:
        >>> _options(["main.py", "--fast", "fp16_accumulation", "--output-directory=/mnt/fast"])
        ('--fast fp16_accumulation',)
    """
    given = arguments if isinstance(arguments, list) else []
    texts = [_text(text) for text in given[:_OPTIONS] if isinstance(text, str)]
    options: list[list[str]] = []
    for text in texts:
        if text.startswith("--"):
            options.append([text])
        elif options:
            # The value of the option before it.
            options[-1].append(text)
    return tuple(sorted(" ".join(words) for words in options if _is_numeric(words[0])))


def _is_numeric(option: str) -> bool:
    """Return whether an option changes numbers, by its name without its value."""
    name = option.partition("=")[0]
    return any(part in name for part in _NUMERIC)
