"""Find where a workflow has its prompt, seed, size and result, by following its links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.models.generators.comfyui.workflow import Link, Place, Workflow, link_of

# Inputs with the text of a prompt, in the nodes that encode one.
_TEXTS = (
    "text",
    "text_g",
    "text_l",
    "clip_l",
    "clip_g",
    "t5xxl",
    "llama",
    "mt5xl",
    "bert",
    "prompt",
)
# Inputs with a text, in nodes that only hold one or pass it on.
_TEXTS_OF_PRIMITIVES = ("value", "string", "text", "prompt", "Text")
_NUMBERS_OF_PRIMITIVES = ("seed", "noise_seed", "value", "int", "number", "Value")
_POSITIVE = ("positive", "conditioning", "cond1", "cond2")
_NEGATIVE = ("negative",)
# Inputs that lead away from the text of a prompt.
_ELSEWHERE = {
    "clip",
    "clip_vision",
    "clip_vision_output",
    "control_net",
    "image",
    "images",
    "latent",
    "latent_image",
    "mask",
    "model",
    "noise",
    "pixels",
    "samples",
    "sigmas",
    "style_model",
    "vae",
}
_WITHOUT_TEXT = "ConditioningZeroOut"
# Nodes that load an image from the server's folder of inputs, and the input with its name.
_LOADERS = {"LoadImage": "image"}
# Results, the surest first: what is saved, what is sent, what is only shown.
_RESULTS = ("SaveImage", "SaveImageWebsocket", "PreviewImage")
_MANY = 6  # candidates that a message names


@dataclass(frozen=True, slots=True)
class SeedPlace:
    """An input that takes the seed.

    Attributes:
        place: Where it is.
        offset: What is added to an image's seed, so that two samplers that have different seeds in
            the file do not draw the same noise.
    """

    place: Place
    offset: int


def find_result(workflow: Workflow, chosen: str | None) -> Link:
    """Return the output that is the image: what a node saves, or what the chosen node gives."""
    if chosen is not None:
        _check_node(workflow, chosen, "image")
        saved = link_of(workflow.inputs(chosen).get("images"))
        return saved or Link(chosen, 0)
    for kind in _RESULTS:
        nodes = [
            node
            for node in workflow.graph
            if workflow.class_of(node) == kind and "images" in workflow.inputs(node)
        ]
        results = {link_of(workflow.inputs(node)["images"]) for node in nodes}
        if len(results) > 1:
            names = ", ".join(workflow.name_of(node) for node in nodes[:_MANY])
            raise T2IBenchError(
                f"'{workflow.file}' has {len(results)} results: {names}.",
                f"Say which one: --model-args image={nodes[-1]}",
            )
        result = next(iter(results), None)
        if result is not None:
            return result
    raise T2IBenchError(
        f"'{workflow.file}' has no SaveImage or PreviewImage, so its result is unknown.",
        "Name the node that gives the image: --model-args image=9, say.",
    )


def find_prompts(workflow: Workflow, chosen: str | None) -> tuple[Place, ...]:
    """Return the inputs that take the prompt; raise T2IBenchError if they are not certain."""
    if chosen is not None:
        return _chosen_places(workflow, chosen, "prompt")
    places = _texts(workflow, _POSITIVE)
    if not places:
        raise T2IBenchError(
            f"'{workflow.file}': no sampler's positive input leads to a text."
            f"{_texts_of_all(workflow)}",
            "Name the prompt: --model-args prompt=NODE.INPUT",
        )
    return _the_same(workflow, places, "prompt")


def find_negatives(workflow: Workflow, chosen: str | None) -> tuple[Place, ...]:
    """Return the inputs that take a negative prompt."""
    if chosen is not None:
        return _chosen_places(workflow, chosen, "negative")
    positive = set(_texts(workflow, _POSITIVE))
    places = [place for place in _texts(workflow, _NEGATIVE) if place not in positive]
    if not places:
        raise T2IBenchError(
            f"'{workflow.file}' has no negative prompt that is not its prompt, too.",
            "Leave negative_prompt=… out, or name its place: negative=NODE.INPUT",
        )
    return _the_same(workflow, places, "negative")


def find_seeds(workflow: Workflow, chosen: str | None) -> tuple[SeedPlace, ...]:
    """Return the inputs that take the seed, of all samplers and other nodes that draw."""
    if chosen is not None:
        places: Iterable[Place] = _chosen_places(workflow, chosen, "seed")
    else:
        places = dict.fromkeys(_seeds(workflow))
    offsets: dict[str, int] = {}
    seeds = [
        SeedPlace(place, offsets.setdefault(repr(workflow.value(place)), len(offsets)))
        for place in places
    ]
    if not seeds:
        raise T2IBenchError(
            f"'{workflow.file}' has no input named seed or noise_seed.",
            "Name it: --model-args seed=NODE.INPUT",
        )
    return tuple(seeds)


def source_candidates(workflow: Workflow) -> list[Place]:
    """Return the inputs that name an image file which the result depends on."""
    return [
        Place(node, _LOADERS[workflow.class_of(node)])
        for node in workflow.graph
        if _LOADERS.get(workflow.class_of(node)) in workflow.inputs(node)
    ]


def find_sources(workflow: Workflow, chosen: str | None) -> tuple[Place, ...]:
    """Return the inputs that take the source image; raise T2IBenchError if they are not certain."""
    candidates = source_candidates(workflow)
    if chosen is not None:
        return tuple(
            _chosen_source(workflow, text, candidates) for text in chosen.split("+")
        )
    if not candidates:
        raise T2IBenchError(
            f"'{workflow.file}' loads no image, so it edits none: no LoadImage node leads to its "
            "result.",
            "Give a workflow that edits, with its image in a LoadImage node.",
        )
    files = {repr(workflow.value(place)) for place in candidates}
    if len(files) > 1:
        names = ", ".join(map(workflow.describe, candidates[:_MANY]))
        raise T2IBenchError(
            f"'{workflow.file}' loads {len(files)} images, of which one is the source image: "
            f"{names}.",
            f"Say which: --model-args source={candidates[0].node} (several are joined by +).",
        )
    return tuple(candidates)


def _chosen_source(workflow: Workflow, text: str, candidates: Sequence[Place]) -> Place:
    """Return the input that a node's id, or NODE.INPUT, names."""
    if "." in text:
        return place_of(workflow, text, "source")
    _check_node(workflow, text, "source")
    places = [place for place in candidates if place.node == text]
    if not places:
        names = ", ".join(map(workflow.describe, candidates[:_MANY])) or "none"
        raise T2IBenchError(
            f"--model-args: source={shown(text)}: {workflow.name_of(text)} loads no image.",
            f"Nodes that do: {names}.",
        )
    return places[0]


def find_sizes(workflow: Workflow, chosen: str | None) -> tuple[str, ...]:
    """Return the nodes that set the width and height of the image."""
    if chosen is not None:
        nodes = tuple(chosen.split("+"))
        for node in nodes:
            _check_node(workflow, node, "size_node")
        return nodes
    return tuple(
        node
        for node in workflow.graph
        if {"width", "height", "batch_size"} <= workflow.inputs(node).keys()
    )


def places_named(
    workflow: Workflow, names: Sequence[str], kind: type | UnionType
) -> list[Place]:
    """Return the inputs of these names whose values are literals of a type, true or false not."""
    return [
        Place(node, name)
        for node in workflow.graph
        for name, value in workflow.inputs(node).items()
        if name in names and isinstance(value, kind) and not isinstance(value, bool)
    ]


def place_of(workflow: Workflow, text: str, argument: str) -> Place:
    """Return the input that a text such as '6.text' names; raise T2IBenchError if there is none."""
    node, _, name = text.strip().rpartition(".")
    _check_node(workflow, node or text, argument)
    inputs = workflow.inputs(node)
    if name not in inputs:
        raise T2IBenchError(
            f"--model-args: {argument}={shown(text)}: {workflow.name_of(node)} has no input "
            f"'{shown(name)}'.{did_you_mean(name, inputs)}",
            f"It has: {', '.join(inputs) or 'none'}.",
        )
    return Place(node, name)


def _chosen_places(workflow: Workflow, chosen: str, argument: str) -> tuple[Place, ...]:
    return tuple(place_of(workflow, part, argument) for part in chosen.split("+"))


def _check_node(workflow: Workflow, node: str, argument: str) -> None:
    if node not in workflow.graph:
        raise T2IBenchError(
            f"--model-args: {argument}={shown(node)}: '{workflow.file}' has no such node.",
            f"Its nodes: {', '.join(map(shown, list(workflow.graph)[:40]))}.",
        )


def _the_same(
    workflow: Workflow, places: Sequence[Place], argument: str
) -> tuple[Place, ...]:
    """Return the places of one text; raise T2IBenchError if they have different texts.

    Of two text encoders one may be left without a text: it stays so.
    """
    filled = [place for place in places if str(workflow.value(place)).strip()]
    texts = {str(workflow.value(place)).strip() for place in filled}
    if len(texts) > 1:
        candidates = ", ".join(map(workflow.describe, filled[:_MANY]))
        raise T2IBenchError(
            f"'{workflow.file}' has {len(texts)} texts that may be the "
            f"{'negative ' if argument == 'negative' else ''}prompt: {candidates}.",
            f"Say which: --model-args {argument}={filled[0]} (several are joined by +).",
        )
    return tuple(filled or places)


def _texts(workflow: Workflow, names: Sequence[str]) -> list[Place]:
    """Return the texts that the inputs of these names of all samplers and guiders lead to."""
    places: dict[Place, None] = {}
    for node in workflow.graph:
        inputs = workflow.inputs(node)
        # What applies a control net takes conditions as well, but no model.
        if link_of(inputs.get("model")) is None:
            continue
        for name in names:
            link = link_of(inputs.get(name))
            if link is not None:
                places.update(dict.fromkeys(_texts_behind(workflow, link, set())))
    return list(places)


def _texts_behind(
    workflow: Workflow, link: Link, visited: set[Link]
) -> Iterator[Place]:
    """Yield the texts of the nodes that a condition comes from."""
    if link in visited or workflow.class_of(link.node) == _WITHOUT_TEXT:
        return
    visited.add(link)
    inputs = workflow.inputs(link.node)
    texts = [name for name in _TEXTS if name in inputs]
    for name in texts:
        yield from _text_at(workflow, Place(link.node, name), visited)
    if texts:
        return
    has_both = {"positive", "negative"} <= inputs.keys()
    for name, before in workflow.links(link.node):
        is_other_side = has_both and name == ("positive", "negative")[link.slot == 0]
        if name not in _ELSEWHERE and not is_other_side:
            yield from _texts_behind(workflow, before, visited)


def _text_at(workflow: Workflow, place: Place, visited: set[Link]) -> Iterator[Place]:
    """Yield the place of a text: the input itself, or those of the nodes that it comes from."""
    link = link_of(workflow.value(place))
    if link is None:
        if isinstance(workflow.value(place), str):
            yield place
        return
    if link in visited:
        return
    visited.add(link)
    inputs = workflow.inputs(link.node)
    named = [name for name in _TEXTS_OF_PRIMITIVES if name in inputs]
    others = [
        name
        for name, value in inputs.items()
        if isinstance(value, str) or link_of(value) is not None
    ]
    for name in named or others:
        yield from _text_at(workflow, Place(link.node, name), visited)


def _texts_of_all(workflow: Workflow) -> str:
    """Return a sentence with the texts of a workflow, for a message; '' if it has none."""
    places = places_named(workflow, (*_TEXTS, *_TEXTS_OF_PRIMITIVES), str)
    words = ", ".join(map(workflow.describe, places[:_MANY]))
    return f" It has these: {words}." if words else ""


def _seeds(workflow: Workflow) -> Iterator[Place]:
    for node in workflow.graph:
        for name in workflow.inputs(node):
            if name == "seed" or name.endswith("_seed"):
                place = _number_at(workflow, Place(node, name), node)
                if place is not None:
                    yield place


def _number_at(workflow: Workflow, place: Place, sampler: str) -> Place | None:
    """Return the place of a seed: the input itself, or that of the node that it comes from.

    Raises:
        T2IBenchError: the server draws the seed.
    """
    value: Any = workflow.value(place)
    for _ in workflow.graph:
        link = link_of(value)
        if link is None:
            break
        inputs = workflow.inputs(link.node)
        names = [name for name in _NUMBERS_OF_PRIMITIVES if name in inputs]
        if len(names) != 1:
            raise _drawn(workflow, link.node, sampler)
        place = Place(link.node, names[0])
        value = workflow.value(place)
    if isinstance(value, bool):
        return None
    if not isinstance(value, int) or value < 0:
        raise _drawn(workflow, place.node, sampler)
    return place


def _drawn(workflow: Workflow, node: str, sampler: str) -> T2IBenchError:
    return T2IBenchError(
        f"'{workflow.file}': the seed of {workflow.name_of(sampler)} is drawn on the server, by "
        f"{workflow.name_of(node)}, so no image could be made again.",
        "Give it a whole number from 0 on in ComfyUI and export it again, or name the input that "
        "takes the seed: --model-args seed=NODE.INPUT",
    )
