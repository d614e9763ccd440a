"""Edits with a workflow of ComfyUI: where its source image is, and how it gets there."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from t2ibench.models.contract import check_generator
from t2ibench.models.protocols import EditsImages, GeneratedImage, ImageRequest
from t2ibench.store.images import ImageFile
from tests.models.comfyui_graphs import EXAMPLES, node, write
from tests.models.comfyui_server import ComfyUi, edited
from tests.models.parts import refused
from tests.models.test_comfyui import server, started, workflow
from tests.models.test_edits_served import edits, stored
from tests.models.test_served import requests

__all__ = ["server", "started"]  # fixtures

EDIT = EXAMPLES[0].parent / "edits" / "qwen_image_edit.json"


@pytest.fixture
def sources(tmp_path: Path) -> list[ImageFile]:
    return [stored(tmp_path, 1), stored(tmp_path, 2), stored(tmp_path, 3, "JPEG")]


def graph() -> dict[str, Any]:
    """The workflow of the example."""
    nodes: dict[str, Any] = json.loads(EDIT.read_text(encoding="utf-8"))
    return nodes


def two_images() -> dict[str, Any]:
    """A workflow that loads a further image, such as a style."""
    nodes = graph()
    nodes["79"] = node("LoadImage", image="style.png")
    nodes["77"]["inputs"]["image"] = ["79", 0]
    return nodes


def assert_edited(images: list[GeneratedImage], wanted: list[ImageRequest]) -> None:
    for made, request in zip(images, wanted, strict=True):
        assert made.status == "ok", made.reason
        assert request.source is not None
        before = Image.open(io.BytesIO(request.source.data()))
        expected = edited(request.prompt, request.seed, before)
        assert np.array_equal(np.asarray(made.image), np.asarray(expected))


def test_an_edit_is_of_its_own_source_which_is_uploaded_once(
    server: tuple[str, ComfyUi], sources: list[ImageFile]
) -> None:
    url, state = server
    model = workflow(url, str(EDIT))
    assert isinstance(model, EditsImages)
    model.check_edits()
    wanted = edits(sources)
    assert_edited(model.generate(wanted), wanted)
    assert len(state.uploads) == len(sources)
    assert set(state.inputs.values()) == {file.path.read_bytes() for file in sources}
    assert all(place.startswith("t2ibench/") for place in state.inputs)
    assert model.effective_settings()["sources_sent"] == {
        "format": ["JPEG", "PNG"],
        "size": ["64x48"],
    }
    # Each edit is a job of its own, and nothing of it stays in the history.
    assert len({body["prompt_id"] for body in state.posted}) == len(wanted)
    assert state.history == {}


def test_another_process_uses_what_is_there(
    server: tuple[str, ComfyUi], sources: list[ImageFile]
) -> None:
    url, state = server
    wanted = edits(sources[:1])
    for _ in range(2):
        assert_edited(workflow(url, str(EDIT)).generate(wanted), wanted)
    assert [was_there for _, was_there in state.uploads] == [False, True]
    assert len(state.inputs) == 1


def test_a_different_file_of_the_name_is_left_alone(
    server: tuple[str, ComfyUi], sources: list[ImageFile]
) -> None:
    url, state = server
    place = f"t2ibench/{sources[0].sha256}.png"
    state.inputs[place] = b"somebody else's"
    wanted = edits(sources[:1])
    assert_edited(workflow(url, str(EDIT)).generate(wanted), wanted)
    assert state.inputs[place] == b"somebody else's"
    loaded = {body["prompt"]["78"]["inputs"]["image"] for body in state.posted}
    assert loaded == {place.replace(".png", " (1).png")}


def test_a_workflow_that_loads_no_image_is_refused(
    server: tuple[str, ComfyUi], sources: list[ImageFile]
) -> None:
    url, state = server
    with refused("'sdxl.json' loads no image", "LoadImage"):
        workflow(url).check_edits()
    with refused("loads no image"):
        workflow(url).generate(edits(sources))
    assert state.posted == [] and state.uploads == []


def test_of_several_images_the_user_says_which_is_the_source(
    server: tuple[str, ComfyUi], sources: list[ImageFile], tmp_path: Path
) -> None:
    url, state = server
    state.inputs["style.png"] = sources[1].path.read_bytes()
    path = write(tmp_path, two_images(), "two.json")
    words = ("loads 2 images", "78.image", "example.png", "79.image", "source=78")
    with refused(*words):
        workflow(url, path).check_edits()
    wanted = edits(sources[:1])
    for chosen in ("78", "78.image"):
        model = workflow(url, path, source=chosen)
        model.check_edits()
        assert_edited(model.generate(wanted), wanted)
    assert {body["prompt"]["79"]["inputs"]["image"] for body in state.posted} == {
        "style.png"
    }
    both = workflow(url, path, source="78+79")
    both.generate(wanted[:1])
    posted = state.posted[-1]["prompt"]
    assert posted["78"]["inputs"] == posted["79"]["inputs"]
    with refused("source=3", "KSampler", "loads no image", "78.image"):
        workflow(url, path, source="3")
    with refused("source=99", "no such node"):
        workflow(url, path, source="99")


def test_an_image_that_leads_to_no_result_does_not_count(
    server: tuple[str, ComfyUi], sources: list[ImageFile], tmp_path: Path
) -> None:
    nodes = graph()
    nodes["79"] = node("LoadImage", image="style.png")
    nodes["78b"] = node("ImageScale", image=["78", 0])
    for name in ("76", "77"):
        nodes[name]["inputs"]["image"] = ["78b", 0]
    model = workflow(server[0], write(tmp_path, nodes))
    model.check_edits()
    wanted = edits(sources[:1])
    assert_edited(model.generate(wanted), wanted)


def test_what_goes_wrong_with_a_source_costs_no_other(
    server: tuple[str, ComfyUi], sources: list[ImageFile]
) -> None:
    url, state = server
    sources[0].path.write_bytes(b"no image")
    wanted = edits(sources[:2])
    images = workflow(url, str(EDIT)).generate(wanted)
    assert [image.status for image in images] == ["failed"] * 2 + ["ok"] * 2
    assert "the source image" in str(images[0].reason)
    state.faults.refuses_uploads = True
    images = workflow(url, str(EDIT)).generate(wanted[2:])
    assert {image.status for image in images} == {"failed"}
    assert "/upload/image" in str(images[0].reason)
    # The workflow's own image is not on this server, and is needed without a source alone.
    with refused("Invalid image file: example.png"):
        workflow(url, str(EDIT)).generate(requests(["a nurse"], 1))


@pytest.mark.slow
def test_the_contract_of_edits_is_met(server: tuple[str, ComfyUi]) -> None:
    url, state = server
    buffer = io.BytesIO()
    Image.new("RGB", (64, 64), (9, 9, 9)).save(buffer, format="PNG")
    state.inputs["example.png"] = buffer.getvalue()
    notes: list[str] = []
    made = check_generator(lambda: workflow(url, str(EDIT)), tell=notes.append)
    assert made == [] and notes == ["Edits of 2 source images were tried, too."]
