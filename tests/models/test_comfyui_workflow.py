"""Where a workflow of ComfyUI has its prompt, seed, size and result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from t2ibench.arguments import read_args
from t2ibench.errors import T2IBenchError
from t2ibench.models.generators.comfyui.arguments import ComfyArguments, template_of
from t2ibench.models.generators.comfyui.template import Template
from t2ibench.models.generators.comfyui.workflow import read_workflow
from tests.models.comfyui_graphs import EXAMPLES, example, node, two_stages, write


def read(path: str | Path, **args: str) -> Template:
    arguments = read_args(ComfyArguments, args, "comfyui")
    return template_of(read_workflow(str(path)), arguments)


@pytest.fixture
def reading(tmp_path: Path) -> Any:
    """Reads a graph as a workflow's file."""
    return lambda graph, **args: read(write(tmp_path, graph), **args)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_all_places_of_an_example_are_found(path: Path) -> None:
    template = read(path, size="768x512", steps="7", guidance="2.5")
    assert [str(place) for place in template.prompts] == ["6.text"]
    sampler = "25.noise_seed" if path.stem == "flux" else "3.seed"
    assert [str(item.place) for item in template.seeds] == [sampler]
    assert template.result.node == "8"
    settings = template.settings()
    assert (settings["width"], settings["height"]) == (768, 512)
    assert (settings["steps"], settings["guidance"]) == (7, 2.5)

    graph = template.graph("a red apple", 2**62 + 5, "m")
    assert graph["6"]["inputs"]["text"] == "a red apple"
    assert 2**62 + 5 in graph[sampler.partition(".")[0]]["inputs"].values()
    latents = [
        value["inputs"] for value in graph.values() if "Latent" in value["class_type"]
    ]
    assert [(one["width"], one["height"], one["batch_size"]) for one in latents] == [
        (768, 512, 1)
    ]
    savers = {
        key: one for key, one in graph.items() if one["class_type"] == "SaveImage"
    }
    assert [one["inputs"] for one in savers.values()] == [
        {"images": ["8", 0], "filename_prefix": "t2ibench/m"}
    ]


def test_there_are_four_examples() -> None:
    assert [path.stem for path in EXAMPLES] == ["flux", "qwen_image", "sd35", "sdxl"]


def test_two_stages_get_one_prompt_and_the_seeds_of_both(reading: Any) -> None:
    template = reading(two_stages())
    assert [str(place) for place in template.prompts] == ["1.value"]
    # The second has another number in the file, and keeps another one.
    graph = template.graph("a dog", 100, "m")
    assert graph["10"]["inputs"]["noise_seed"] == 100
    assert graph["11"]["inputs"]["noise_seed"] == 101
    assert graph["6"]["inputs"]["text_g"] == ["1", 0]
    with pytest.raises(T2IBenchError, match="divides its steps"):
        reading(two_stages(), steps="30")


def test_conditions_are_followed_to_the_side_that_is_positive(reading: Any) -> None:
    graph = example("sdxl")
    graph["6"]["inputs"]["text"] = "a cat"
    graph["7"]["inputs"]["text"] = "blurry"
    graph["20"] = node(
        "ControlNetApplyAdvanced", positive=["6", 0], negative=["7", 0], strength=1.0
    )
    graph["3"]["inputs"] |= {"positive": ["20", 0], "negative": ["20", 1]}
    template = reading(graph, negative_prompt="ugly")
    assert [str(place) for place in template.prompts] == ["6.text"]
    assert template.workflow.graph["7"]["inputs"]["text"] == "ugly"


def test_a_zeroed_condition_is_no_negative_prompt(reading: Any) -> None:
    graph = example("qwen_image")
    graph["21"] = node("ConditioningZeroOut", conditioning=["6", 0])
    graph["3"]["inputs"]["negative"] = ["21", 0]
    assert [str(place) for place in reading(graph).prompts] == ["6.text"]
    with pytest.raises(T2IBenchError, match="no negative prompt"):
        reading(graph, negative_prompt="ugly")


def test_texts_that_differ_are_named_and_can_be_chosen(reading: Any) -> None:
    graph = example("sdxl")
    graph["12"] = node("CLIPTextEncode", text="masterpiece", clip=["4", 1])
    graph["13"] = node(
        "ConditioningCombine", conditioning_1=["6", 0], conditioning_2=["12", 0]
    )
    graph["3"]["inputs"]["positive"] = ["13", 0]
    with pytest.raises(T2IBenchError, match="2 texts that may be the prompt") as caught:
        reading(graph)
    assert '12.text (CLIPTextEncode "masterpiece")' in caught.value.message
    assert "prompt=6.text" in str(caught.value.hint)
    assert [str(place) for place in reading(graph, prompt="6.text").prompts] == [
        "6.text"
    ]
    both = reading(graph, prompt="6.text+12.text")
    assert len(both.prompts) == 2
    with pytest.raises(T2IBenchError, match=r"no input 'txt'. Did you mean 'text'"):
        reading(graph, prompt="6.txt")
    with pytest.raises(T2IBenchError, match="no such node"):
        reading(graph, prompt="99.text")


def test_one_of_two_results_has_to_be_chosen_and_only_its_nodes_run(
    reading: Any,
) -> None:
    graph = example("sdxl")
    graph["30"] = node("VAEDecode", samples=["5", 0], vae=["4", 2])
    graph["31"] = node("SaveImage", images=["30", 0], filename_prefix="x")
    graph["32"] = node("PreviewImage", images=["8", 0])
    with pytest.raises(
        T2IBenchError, match=r"has 2 results: node 9.*node 31"
    ) as caught:
        reading(graph)
    assert "image=31" in str(caught.value.hint)
    template = reading(graph, image="9")
    assert template.result.node == "8" and "30" not in template.workflow.graph
    # A node that saves nothing is itself the result.
    assert reading(graph, image="8").result.node == "8"
    # What is only shown counts where nothing is saved.
    del graph["9"], graph["31"]
    assert reading(graph).result.node == "8"


@pytest.mark.parametrize(
    ("seed", "extra"),
    [
        (["40", 0], node("RandomInteger", low=1, high=9)),
        (["40", 0], node("Seed (rgthree)", seed=-1)),
        (-1, None),
        (0.5, None),
    ],
)
def test_a_seed_that_the_server_draws_is_refused(
    seed: Any, extra: Any, reading: Any
) -> None:
    graph = example("sdxl")
    graph["3"]["inputs"]["seed"] = seed
    if extra is not None:
        graph["40"] = extra
    with pytest.raises(T2IBenchError, match=r"the seed of node .* drawn on the server"):
        reading(graph)
    assert str(reading(graph, seed="3.seed").seeds[0].place) == "3.seed"


def test_a_seed_may_come_from_a_primitive(reading: Any) -> None:
    graph = example("sdxl")
    graph["40"] = node("PrimitiveInt", value=5)
    graph["3"]["inputs"]["seed"] = ["40", 0]
    assert [str(item.place) for item in reading(graph).seeds] == ["40.value"]


def test_inputs_can_be_set_by_node_and_name(reading: Any) -> None:
    args = {"node.3.sampler_name": "euler", "node.4.ckpt_name": "other.safetensors"}
    template = reading(example("sdxl"), **args)
    assert template.settings()["sampler"] == "euler"
    plain = reading(example("sdxl"))
    assert template.identity() != plain.identity()
    with pytest.raises(T2IBenchError, match=r"no input 'sampler'. Did you mean"):
        reading(example("sdxl"), **{"node.3.sampler": "euler"})


def test_titles_prompts_and_seeds_do_not_identify_a_workflow(reading: Any) -> None:
    graph = example("sdxl")
    first = reading(graph).identity()
    graph["6"]["_meta"]["title"] = "mine"
    graph["6"]["inputs"]["text"] = "another"
    graph["3"]["inputs"]["seed"] = 99
    graph["9"]["inputs"]["filename_prefix"] = "another"
    assert reading(graph).identity() == first
    graph["3"]["inputs"]["steps"] = 31
    assert reading(graph).identity() != first


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"nodes": [], "links": [], "version": 0.4}', "format of ComfyUI's editor"),
        ("{", "is not JSON"),
        ("[1]", "is no workflow of ComfyUI"),
        ("{}", "is no workflow of ComfyUI"),
        ('{"1": {"class_type": "X"}}', "is no workflow of ComfyUI"),
        (
            '{"1": {"class_type": "X", "inputs": {"a": ["7", 0]}}}',
            "comes from node '7'",
        ),
    ],
)
def test_another_file_is_one_line_with_a_remedy(
    content: str, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "flow.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(T2IBenchError, match=says) as caught:
        read(path)
    assert "Export (API)" in str(caught.value.hint)
    with pytest.raises(T2IBenchError, match="cannot be read"):
        read(tmp_path / "none.json")


def test_the_body_of_a_request_is_a_workflow_too(reading: Any) -> None:
    assert reading({"prompt": example("flux"), "client_id": "x"}).result.node == "8"


def test_a_workflow_without_a_sampler_names_its_texts(reading: Any) -> None:
    graph = example("sdxl")
    graph["3"]["class_type"] = "Efficient"
    graph["3"]["inputs"]["pipe"] = graph["3"]["inputs"].pop("model")
    with pytest.raises(T2IBenchError, match=r"leads to a text. It has these: .*6.text"):
        reading(graph)
