"""Which files of a repository a loader reads, and what a download on this machine lacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from t2ibench.models.downloads import (
    Download,
    LoraFiles,
    ModelFiles,
    NamedFiles,
    PipelineFiles,
)
from t2ibench.models.encoders import encoder_downloads
from t2ibench.models.generators import generator_downloads
from tests.models.parts import refused

INDEX = {
    "_class_name": "StableDiffusionPipeline",
    "unet": ["diffusers", "UNet2DConditionModel"],
    "tokenizer": ["transformers", "CLIPTokenizer"],
    "safety_checker": ["stable_diffusion", "StableDiffusionSafetyChecker"],
    "image_encoder": [None, None],
    "requires_safety_checker": True,
}
# As repositories of the hub are, shortened.
PIPELINE = [
    *("model_index.json", "README.md", "v1-5-pruned.safetensors", "v1-5-pruned.ckpt"),
    *("tokenizer/vocab.json", "tokenizer/merges.txt", "unet/config.json"),
    *("unet/diffusion_pytorch_model.safetensors", "unet/diffusion_pytorch_model.bin"),
    *(
        "unet/diffusion_pytorch_model.fp16.safetensors",
        "unet/diffusion_pytorch_model.non_ema.bin",
    ),
    *("unet/diffusion_pytorch_model.non_ema.safetensors", "safety_checker/config.json"),
    *("safety_checker/model.safetensors", "safety_checker/model.fp16.safetensors"),
]


def read(name: str) -> str:
    assert name == "model_index.json"
    return json.dumps(INDEX)


def test_a_pipeline_is_its_safetensors_of_one_variant() -> None:
    files = PipelineFiles().wanted(PIPELINE, read)
    assert sorted(files) == [
        *(
            "model_index.json",
            "safety_checker/config.json",
            "safety_checker/model.safetensors",
        ),
        *("tokenizer/merges.txt", "tokenizer/vocab.json", "unet/config.json"),
        "unet/diffusion_pytorch_model.safetensors",
    ]
    half = PipelineFiles(variant="fp16").wanted(PIPELINE, read)
    assert {name for name in half if name.endswith(".safetensors")} == {
        "safety_checker/model.fp16.safetensors",
        "unet/diffusion_pytorch_model.fp16.safetensors",
    }
    without = PipelineFiles(without=frozenset({"safety_checker"})).wanted(
        PIPELINE, read
    )
    assert not any(name.startswith("safety_checker") for name in without)


def test_shards_come_with_their_index() -> None:
    shards = [
        f"unet/diffusion_pytorch_model-0000{n}-of-00002.safetensors" for n in (1, 2)
    ]
    index = "unet/diffusion_pytorch_model.safetensors.index.json"
    listing = ["model_index.json", "unet/config.json", index, *shards]
    files = PipelineFiles(only=frozenset({"unet"})).wanted(listing, read)
    assert set(files) == {*listing}


def test_pickled_weights_are_no_download() -> None:
    listing = [
        "model_index.json",
        "unet/config.json",
        "unet/diffusion_pytorch_model.bin",
    ]
    with refused("it has no weights in unet as safetensors"):
        PipelineFiles().wanted(listing, read)
    with refused("it has no model_index.json"):
        PipelineFiles().wanted(["config.json"], read)
    with refused("it has no weights as safetensors"):
        ModelFiles().wanted(["config.json", "pytorch_model.bin"], read)


def test_a_model_of_transformers() -> None:
    listing = [
        *(
            "config.json",
            "tokenizer.json",
            "merges.txt",
            "chat_template.jinja",
            "README.md",
        ),
        *(
            "model.safetensors",
            "model.fp16.safetensors",
            "pytorch_model.bin",
            "tf_model.h5",
        ),
        *(
            "pytorch_model.bin.index.json",
            "consolidated.safetensors",
            "onnx/model.onnx",
        ),
        *("onnx/config.json", "additional_chat_templates/tools.jinja"),
    ]
    assert set(ModelFiles().wanted(listing, read)) == {
        *("config.json", "tokenizer.json", "merges.txt", "chat_template.jinja"),
        *("model.safetensors", "additional_chat_templates/tools.jinja"),
    }
    sharded = ["model-00001-of-00001.safetensors", "model.safetensors.index.json"]
    assert set(ModelFiles().wanted(sharded, read)) == {*sharded}
    assert ModelFiles().wanted([*sharded, "model.safetensors"], read) == [
        "model.safetensors"
    ]
    assert not any(
        "safetensors" in name for name in ModelFiles(False).wanted(listing, read)
    )


def test_a_lora_is_the_file_that_diffusers_would_guess() -> None:
    usual = "pytorch_lora_weights.safetensors"
    listing = ["optimizer.safetensors", "style.safetensors", usual]
    assert LoraFiles().wanted(listing, read) == [usual]
    assert LoraFiles().wanted(listing[:2], read) == ["style.safetensors"]
    with refused("no safetensors file that could be a LoRA"):
        LoraFiles().wanted(["lora.bin", "optimizer.safetensors"], read)


def test_missing_files_of_a_download_are_listed(tmp_path: Path) -> None:
    (tmp_path / "model_index.json").write_text(json.dumps(INDEX))
    for part in ("unet", "tokenizer"):
        (tmp_path / part).mkdir()
        name = "config.json" if part == "unet" else "vocab.json"
        (tmp_path / part / name).write_text("{}")
    files = PipelineFiles()
    assert files.missing(tmp_path) == ["unet/model.safetensors", "safety_checker/"]
    shards = {"a": "diffusion_pytorch_model-00001-of-00002.safetensors"}
    shards["b"] = "diffusion_pytorch_model-00002-of-00002.safetensors"
    index = tmp_path / "unet/diffusion_pytorch_model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": shards}))
    (tmp_path / "unet" / shards["a"]).write_bytes(b"weights")
    without = PipelineFiles(without=frozenset({"safety_checker"}))
    assert without.missing(tmp_path) == [f"unet/{shards['b']}"]
    (tmp_path / "unet" / shards["b"]).write_bytes(b"weights")
    assert without.missing(tmp_path) == []
    assert ModelFiles().missing(tmp_path) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]


def test_adapters_declare_the_repositories_that_they_read() -> None:
    def repositories(downloads: object) -> list[str]:
        assert isinstance(downloads, list)
        return [download.repository for download in downloads]

    sdxl = {
        "lora": "org/style",
        "safety_checker": "false",
        "load.image_encoder": "null",
    }
    pipeline, lora = generator_downloads("sdxl", sdxl) or ()
    assert (pipeline.repository, lora.repository, lora.part) == (
        *("stabilityai/stable-diffusion-xl-base-1.0", "org/style", "lora"),
    )
    assert pipeline.files == PipelineFiles(
        without=frozenset({"safety_checker", "image_encoder"})
    )
    assert generator_downloads("toy") == []
    (revised,) = (
        generator_downloads("org/name", {"revision": "v2", "load.variant": "fp16"})
        or ()
    )
    assert revised.command().startswith(
        "hf download org/name --revision v2 --include '*.json'"
    )
    (default,) = encoder_downloads("open_clip:ViT-L-14/openai") or ()
    assert default.repository == "timm/vit_large_patch14_clip_224.openai"
    siglip = encoder_downloads("open_clip:ViT-B-16-SigLIP/webli")
    assert repositories(siglip) == ["timm/ViT-B-16-SigLIP"] * 2
    assert repositories(encoder_downloads("text_of:sdxl#text_encoder_2")) == [
        pipeline.repository
    ]


@pytest.mark.parametrize("names", [("a.safetensors", "a.bin"), ("a.bin",)])
def test_the_first_of_several_names(names: tuple[str, ...], tmp_path: Path) -> None:
    files = NamedFiles(names)
    assert files.wanted(["a.bin", "b"], read) == ["a.bin"]
    assert files.missing(tmp_path) == [names[0]]
    (tmp_path / "a.bin").write_bytes(b"")
    assert files.missing(tmp_path) == []
    assert Download("o/n", files).command() == f"hf download o/n --include {names[0]}"
