"""Folders of this machine and repositories of the hub, told apart; why a model does not load."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.encoders import create_encoder
from t2ibench.models.generators import create_generator, libraries_of
from t2ibench.models.judges import create_judges
from t2ibench.models.locations import loading_hint
from t2ibench.models.proposers import create_proposer
from t2ibench.models.protocols import ImageRequest
from tests.models import tiny
from tests.models.parts import refused

pytestmark = pytest.mark.networks

SMALL = {"steps": "1", "size": "16"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with a folder of models in it; the hub answers nothing but a failure."""
    monkeypatch.chdir(tmp_path)
    Path("pipes/sd_plain").mkdir(parents=True)
    Path("pipes/weights.safetensors").write_bytes(b"x")

    def asked(*_: object, **__: object) -> str:
        raise AssertionError("the hub was asked")

    monkeypatch.setattr("t2ibench.models.fingerprint.hub_revision", asked)
    monkeypatch.setattr("t2ibench.models.generators.diffusers.hub_revision", asked)
    return tmp_path


LOCAL = {
    "pipes/sd_plian": "No such folder: 'pipes/sd_plian'. Did you mean 'sd_plain'?",
    "pipes/nothing_like_it": "No such folder: 'pipes/nothing_like_it'.",
    "pipes/a/b": "No such folder: 'pipes/a/b'.",
    "a/b/c": "No such folder: 'a/b/c'.",
    "./sd": "No such folder: './sd'.",
    "../sd/x": "No such folder: '../sd/x'.",
    "~/nowhere/sd": "No such folder: '~/nowhere/sd'.",
    "/nowhere/sd": "No such folder: '/nowhere/sd'.",
    "pipes/weights.safetensors": "'pipes/weights.safetensors' is a file; a folder is needed.",
    "./" + "x" * 5000: "(5002 characters)",
    "./a\0b": "No such folder: './a\\x00b'.",
    "./a\nb": "No such folder: './a\\nb'.",
}


@pytest.mark.parametrize(("spec", "message"), LOCAL.items())
def test_the_hub_is_not_asked_for_a_path(spec: str, message: str, here: Path) -> None:
    makers: list[Callable[[], object]] = [
        lambda: create_generator(spec),
        lambda: create_encoder(f"clip:{spec}"),
        lambda: create_judges([f"vlm:{spec}"], {}),
        lambda: create_proposer(f"hf:{spec}", {}),
    ]
    for make in makers:
        with pytest.raises(T2IBenchError) as caught:
            make()
        assert message in str(caught.value), str(caught.value)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 2200


@pytest.mark.slow
def test_a_hub_id_that_starts_like_a_local_folder_can_be_named(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(T2IBenchError, match="is diffusers:pipes/other"):
        create_generator("pipes/other")
    monkeypatch.setattr(
        "t2ibench.models.generators.diffusers.hub_revision", lambda *_: "0123abc"
    )
    assert create_generator("diffusers:pipes/other").revision == "0123abc"
    assert create_generator("org/name").revision == "0123abc"
    assert "diffusers" in libraries_of("org/name")


@pytest.mark.parametrize(
    "lora",
    [
        "pipes/nothing",
        "nothing",
        "./nothing",
        "org/name/x",
        "x.safetensors",
        "o/x.safetensors",
    ],
)
def test_a_misspelt_lora_is_not_asked_of_the_hub(lora: str, here: Path) -> None:
    with pytest.raises(T2IBenchError, match=r"lora=.*: no such file or folder"):
        create_generator("sdxl", {"lora": lora, "revision": "x"})


@pytest.mark.parametrize(
    "device", ["cdua", "cuda:", "cuda:x", "cuda:²", "gpu", "cuda:99999", ""]
)
def test_a_device_is_checked_for_models_that_need_none(device: str, here: Path) -> None:
    Path("v.txt").write_text("rose 1 0 0\n")
    for make in (
        lambda: create_generator("toyland", device=device),
        lambda: create_encoder("toyland", device=device),
        lambda: create_encoder("vectors:v.txt", device=device),
        lambda: create_judges(["toyland"], {}, device=device),
    ):
        with pytest.raises(T2IBenchError, match=r"--device .*expected cpu, cuda"):
            make()
    assert create_generator("toyland", device="cuda:3").name == "toyland"
    with pytest.raises(T2IBenchError, match=r"no cuda device|expected cpu"):
        create_generator("sdxl", device="cuda:7")


@pytest.mark.slow  # loads torch models
def test_why_a_local_pipeline_does_not_load(tmp_path: Path) -> None:
    whole = tiny.stable_diffusion(tmp_path / "whole")

    def told(change: Callable[[Path], object]) -> str:
        folder = tmp_path / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        change(folder)
        generator = create_generator(str(folder), SMALL)
        with pytest.raises(T2IBenchError) as caught:
            generator.generate([ImageRequest("a", 0, 0)])
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def rename(folder: Path) -> None:
        for path in list(folder.rglob("*.safetensors")):
            path.rename(path.with_suffix(".bin"))

    assert "not safetensors" in told(rename)
    empty = told(lambda folder: (folder / "model_index.json").write_text("{}"))
    assert "login" not in empty and "save_pretrained" in empty
    nested = told(
        lambda folder: (folder / "model_index.json").write_text("[" * 100_000)
    )
    assert "could not load" in nested


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        (
            ValueError("pass trust_remote_code=True"),
            "code that comes with a model is run here.",
        ),
        (
            ImportError(
                "T5Tokenizer requires the SentencePiece library but it was not found"
            ),
            "pip install SentencePiece",
        ),
        (
            ImportError("needs `pip install -U bitsandbytes>=0.46.1`"),
            "pip install bitsandbytes",
        ),
        (
            ModuleNotFoundError("No module named 'sentencepiece'"),
            "pip install sentencepiece",
        ),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: 20 GB"),
            "in --model-args.",
        ),
        (ValueError("odd"), "None"),
    ],
)
def test_a_librarys_error_becomes_the_next_step(error: Exception, ends: str) -> None:
    assert str(loading_hint("org/name", error)).endswith(ends)


def test_whether_a_pipeline_edits_is_known_without_diffusers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its import takes seconds, and a plan of tasks with edits needs no pipeline."""

    def model(name: str, **args: str) -> Any:
        (tmp_path / "model_index.json").write_text(f'{{"_class_name": "{name}"}}')
        return create_generator(str(tmp_path), args, device="cpu")

    monkeypatch.setitem(sys.modules, "diffusers", None)
    with refused("StableDiffusionPipeline", "prompts alone"):
        model("StableDiffusionPipeline").check_edits()
    model("StableDiffusionPipeline").check_prompts()
    noised = model("StableDiffusionPipeline", image_to_image="true")
    noised.check_edits()
    with refused("StableDiffusionImg2ImgPipeline", "makes none of a prompt alone"):
        noised.check_prompts()


def test_a_class_that_diffusers_lacks_is_refused_where_it_is_loaded(
    tmp_path: Path,
) -> None:
    (tmp_path / "model_index.json").write_text('{"_class_name": "NoPipeline"}')
    model: Any = create_generator(str(tmp_path), device="cpu")
    model.check_edits()
    model.check_prompts()
    with pytest.raises(T2IBenchError):
        model.load()
