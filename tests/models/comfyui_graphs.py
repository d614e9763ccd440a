"""Workflows of ComfyUI in the API format, for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "comfyui").glob("*.json"))


def example(name: str) -> dict[str, Any]:
    """One of the workflows of examples/comfyui."""
    (path,) = [path for path in EXAMPLES if path.stem == name]
    graph: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return graph


def node(kind: str, **inputs: Any) -> dict[str, Any]:
    return {"class_type": kind, "inputs": inputs}


def two_stages() -> dict[str, Any]:
    """SDXL with its refiner: two samplers, and a prompt from one primitive."""
    graph = example("sdxl")
    del graph["3"]
    both = {"positive": ["6", 0], "negative": ["7", 0], "sampler_name": "euler"}
    both |= {"scheduler": "normal", "steps": 25, "cfg": 8.0, "model": ["4", 0]}
    graph["1"] = node("PrimitiveStringMultiline", value="a cat")
    graph["6"] = node(
        "CLIPTextEncodeSDXL",
        width=4096,
        height=4096,
        text_g=["1", 0],
        text_l=["1", 0],
        clip=["4", 1],
    )
    graph["10"] = node(
        "KSamplerAdvanced",
        noise_seed=721,
        add_noise="enable",
        latent_image=["5", 0],
        start_at_step=0,
        end_at_step=20,
        **both,
    )
    graph["11"] = node(
        "KSamplerAdvanced",
        noise_seed=0,
        add_noise="disable",
        latent_image=["10", 0],
        start_at_step=20,
        end_at_step=10000,
        **both,
    )
    graph["8"]["inputs"]["samples"] = ["11", 0]
    return graph


def write(folder: Path, graph: Any, name: str = "flow.json") -> str:
    """The path of a file with a workflow."""
    path = folder / name
    path.write_text(json.dumps(graph), encoding="utf-8")
    return str(path)
