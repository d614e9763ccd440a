"""Fill a workflow in: the graph to post for an image, and what identifies it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from t2ibench.models.generators.comfyui.places import SeedPlace
from t2ibench.models.generators.comfyui.workflow import (
    Graph,
    Link,
    Place,
    Workflow,
    link_of,
)

# ComfyUI's own nodes that draw noise. An input that such a node does not know is ignored when it
# runs, but is part of the key of ComfyUI's cache: with it, a node runs again instead of
# returning what it made before.
_DRAWING = {"KSampler", "KSamplerAdvanced", "SamplerCustom", "RandomNoise"}
_MARK = "t2ibench_post"
_FOLDER = "t2ibench"  # in ComfyUI's folder of outputs
_SEEDS = 1 << 64  # ComfyUI's own nodes take smaller seeds than this
# Parts of the names of samplers that draw further noise in every step.
_NOISY = ("ancestral", "sde", "ddpm", "lcm", "seeds_", "sa_solver")
_SETTINGS = {
    "steps": "steps",
    "cfg": "guidance",
    "guidance": "guidance",
    "sampler_name": "sampler",
    "scheduler": "scheduler",
    "width": "width",
    "height": "height",
}


@dataclass(frozen=True, slots=True)
class Template:
    """A workflow whose prompt and seed are open, and whose result is saved once.

    Attributes:
        workflow: The nodes that the result depends on.
        result: The output that is the image.
        prompts: The inputs of the prompt.
        seeds: The inputs of the seed.
        seed_bits: How many bits of a seed its inputs take.
    """

    workflow: Workflow
    result: Link
    prompts: tuple[Place, ...]
    seeds: tuple[SeedPlace, ...]
    seed_bits: int = 63

    @property
    def saver(self) -> str:
        """The id of the node that saves the image, which the file does not have."""
        numbers = [int(node) for node in self.workflow.graph if node.isdecimal()]
        return str(max(numbers, default=0) + 1)

    def graph(
        self,
        prompt: str,
        seed: int,
        mark: str,
        *,
        sources: Sequence[Place] = (),
        source_name: str = "",
    ) -> Graph:
        """Return the graph that makes one image.

        Args:
            prompt: Its prompt.
            seed: Its seed.
            mark: A text that makes this post unlike any other, so that the server makes the image
                instead of repeating an old reply. It is also the name of the file.
            sources: The inputs of the source image, of an edit.
            source_name: The name that the server gave the source image.
        """
        filled = self.workflow.copy()
        for place in self.prompts:
            filled.put(place, prompt)
        for place in sources:
            filled.put(place, source_name)
        bounded = seed & ((1 << self.seed_bits) - 1)
        for item in self.seeds:
            filled.put(item.place, (bounded + item.offset) % self._limit())
        for node in filled.graph:
            if filled.class_of(node) in _DRAWING:
                filled.inputs(node)[_MARK] = mark
        images = [self.result.node, self.result.slot]
        filled.graph[self.saver] = {
            "class_type": "SaveImage",
            "inputs": {"images": images, "filename_prefix": f"{_FOLDER}/{mark}"},
        }
        return filled.graph

    def _limit(self) -> int:
        return _SEEDS if self.seed_bits == 63 else 1 << self.seed_bits

    def identity(self) -> Any:
        """Return JSON values that are the same for workflows that make the same images."""
        blank = self.workflow.copy()
        for place in self.prompts:
            blank.put(place, None)
        for item in self.seeds:
            blank.put(item.place, item.offset)
        nodes = {
            node: [blank.class_of(node), blank.inputs(node)] for node in blank.graph
        }
        return {"nodes": nodes, "result": [self.result.node, self.result.slot]}

    def is_marked(self) -> bool:
        """Return whether equal posts run again, so that their images can be compared."""
        return any(
            self.workflow.class_of(node) in _DRAWING for node in self.workflow.graph
        )

    def noisy_sampler(self) -> str | None:
        """Return the name of a sampler that draws noise in every step; None without one."""
        for node in self.workflow.graph:
            sampler = self.workflow.inputs(node).get("sampler_name")
            names = [self.workflow.class_of(node), sampler]
            for name in names:
                if isinstance(name, str) and _is_noisy(name, is_class=name != sampler):
                    return name
        return None

    def settings(self) -> dict[str, Any]:
        """Return the settings that make an image, by name; several values as a list."""
        values: dict[str, list[Any]] = {}
        for node in self.workflow.graph:
            for name, value in self.workflow.inputs(node).items():
                if name in _SETTINGS and link_of(value) is None:
                    noted = values.setdefault(_SETTINGS[name], [])
                    noted.extend([value] if value not in noted else [])
        return {
            name: noted[0] if len(noted) == 1 else noted
            for name, noted in values.items()
        }


def _is_noisy(name: str, *, is_class: bool) -> bool:
    """Return whether a sampler, or a node that gives a sampler, draws noise in every step."""
    lower = name.lower()
    if is_class and "sampler" not in lower:
        return False
    return any(part in lower for part in _NOISY)
