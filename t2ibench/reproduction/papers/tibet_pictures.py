"""Rows of images below the figures of TIBET that show images: 3, 6, 12 and 14."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from t2ibench.reproduction.paper import Builder, Built, Material
from t2ibench.reproduction.papers.tibet_material import TABLE_5, spec_of
from t2ibench.reproduction.pictures import Shelf, Strip
from t2ibench.reproduction.second_run import second_run


def with_counterfactuals(build: Builder, task: str, word: str, axis: str) -> Builder:
    """An exhibit with the images of a prompt and of its counterfactuals along an axis."""

    def built(material: Material) -> Built:
        spec = spec_of(material, task)
        targets = () if spec is None else spec.prompts
        target = next((one for one in targets if word in one.prompt), None)
        if target is None:
            return build(material)
        prompts = {target.prompt: target.prompt}
        for found in target.axes:
            if found.name == axis:
                prompts |= {cf.name: cf.prompt for cf in found.counterfactuals}
        strips = [material.shelf.strip(name, [prompt]) for name, prompt in prompts.items()]
        return replace(build(material), strips=strips)

    return built


def with_mitigated(build: Builder, prompts: Mapping[str, str]) -> Builder:
    """An exhibit with the images of some prompts before and after mitigation."""

    def built(material: Material) -> Built:
        if TABLE_5 not in material.results:
            return build(material)
        run = second_run(material, "after")
        shelves = {"before": material.shelf} | ({} if run is None else {"after": Shelf(run.folder)})
        strips: list[Strip] = [
            shelf.strip(f"{prompt}, {when}", [prompt])
            for prompt in prompts
            for when, shelf in shelves.items()
        ]
        return replace(build(material), strips=strips)

    return built
