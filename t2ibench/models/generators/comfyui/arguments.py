"""The arguments of `comfyui:WORKFLOW.json`, and the template that they make of a workflow."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, model_validator

from t2ibench.arguments import PositiveInt, Text
from t2ibench.errors import T2IBenchError
from t2ibench.models.generators.comfyui.places import (
    find_negatives,
    find_prompts,
    find_result,
    find_seeds,
    find_sizes,
    find_sources,
    place_of,
    places_named,
)
from t2ibench.models.generators.comfyui.template import Template
from t2ibench.models.generators.comfyui.workflow import Place, Workflow
from t2ibench.models.generators.hosted import checked_size
from t2ibench.models.generators.passthrough import gathered
from t2ibench.models.servers import ServerArguments

_TWO_STAGES = ("start_at_step", "end_at_step")
_AMOUNTS = ("batch_size",)


class ComfyArguments(ServerArguments):
    """The options of a workflow of ComfyUI that --model-args accepts (see docs/comfyui.md).

    Attributes:
        base_url: The address of the server.
        timeout: Seconds that an image may take once the server has begun it.
        workers: Images that are asked for at a time; the server makes one after the other.
        prompt: The inputs of the prompt, such as 6.text, joined by '+'.
        negative: The inputs of the negative prompt.
        seed: The inputs of the seed.
        image: The node with the result.
        source: The nodes that load the source image of an edit, joined by '+'.
        size: Width and height in pixels, instead of those of the workflow.
        size_node: The nodes that set them.
        steps: Steps instead of those of the workflow.
        guidance: Guidance instead of that of the workflow.
        negative_prompt: The negative prompt instead of that of the workflow.
        price_per_image: What an image costs, where the server is rented.
        node: Further inputs, by node and name.
    """

    first_attempts: ClassVar[int | None] = 2
    largest_reply: ClassVar[int] = 100_000_000

    timeout: PositiveInt = 600
    workers: PositiveInt = 12
    prompt: Text | None = None
    negative: Text | None = None
    seed: Text | None = None
    image: Text | None = None
    source: Text | None = None
    size: Annotated[str, AfterValidator(checked_size)] | None = None
    size_node: Text | None = None
    steps: PositiveInt | None = None
    guidance: float | None = None
    negative_prompt: str | None = None
    price_per_image: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    node: dict[str, Any] = Field(default_factory=dict, alias="node.NAME")

    @model_validator(mode="before")
    @classmethod
    def _collected(cls, data: Any) -> Any:
        return gathered(data, {"node": {}})


def template_of(whole: Workflow, args: ComfyArguments) -> Template:
    """Return a workflow as the arguments change it, with its places found.

    Only the nodes that the image depends on are kept, so that nothing else is made or saved.
    """
    result = find_result(whole, args.image)
    workflow = whole.only(whole.ancestors(result.node)).copy()
    for written, value in args.node.items():
        workflow.put(place_of(workflow, written, f"node.{written}"), value)
    # An image of a batch has no seed of its own, and its noise depends on the others.
    for node in workflow.graph:
        for name in _AMOUNTS:
            if name in workflow.inputs(node):
                workflow.put(Place(node, name), 1)
    if args.size is not None:
        _set_size(workflow, args.size, args.size_node)
    if args.steps is not None:
        _set_steps(workflow, args.steps)
    if args.guidance is not None:
        _set_guidance(workflow, args.guidance)
    if args.negative_prompt is not None:
        for place in find_negatives(workflow, args.negative):
            workflow.put(place, args.negative_prompt)
    if args.source is not None:
        find_sources(workflow, args.source)
    return Template(
        workflow=workflow,
        result=result,
        prompts=find_prompts(workflow, args.prompt),
        seeds=find_seeds(workflow, args.seed),
    )


def _set_size(workflow: Workflow, size: str, chosen: str | None) -> None:
    """Set width and height of the latent image, and of all nodes that have the same numbers."""
    if size == "auto":
        raise T2IBenchError("--model-args: size=auto: expected WIDTHxHEIGHT in pixels.")
    width, height = map(int, size.split("x"))
    nodes = find_sizes(workflow, chosen)
    before = {_sides(workflow, node) for node in nodes}
    if len(before) != 1:
        names = ", ".join(map(workflow.name_of, nodes))
        raise T2IBenchError(
            f"'{workflow.file}': what sets the size is not certain"
            f"{f': {names}' if names else ''}.",
            "Name its node: --model-args size_node=5",
        )
    (sides,) = before
    for node in workflow.graph:
        same = {"width", "height"} <= workflow.inputs(node).keys() and (
            node in nodes or _sides(workflow, node) == sides
        )
        if same:
            workflow.put(Place(node, "width"), width)
            workflow.put(Place(node, "height"), height)


def _sides(workflow: Workflow, node: str) -> tuple[str, str]:
    inputs = workflow.inputs(node)
    return repr(inputs["width"]), repr(inputs["height"])


def _set_steps(workflow: Workflow, steps: int) -> None:
    if places_named(workflow, _TWO_STAGES, int):
        raise T2IBenchError(
            f"'{workflow.file}' divides its steps among samplers, so steps={steps} is not certain.",
            "Change them in ComfyUI, or name each: node.10.steps=30,node.10.end_at_step=24",
        )
    _set_all(workflow, places_named(workflow, ("steps",), int), steps, "steps")


def _set_guidance(workflow: Workflow, guidance: float) -> None:
    distilled = places_named(workflow, ("guidance",), (int | float))
    places = distilled or places_named(workflow, ("cfg",), (int | float))
    _set_all(workflow, places, guidance, "guidance")


def _set_all(
    workflow: Workflow, places: list[Place], value: Any, argument: str
) -> None:
    """Set places of one value; raise T2IBenchError if they have several, or none is there."""
    if len({workflow.value(place) for place in places}) != 1:
        names = ", ".join(map(workflow.describe, places)) or "it has none"
        raise T2IBenchError(
            f"'{workflow.file}': what sets {argument} is not certain: {names}.",
            f"Name the input: --model-args node.NODE.INPUT={value}",
        )
    for place in places:
        workflow.put(place, value)
