"""What `--model-args` say about a pipeline's loading and its call."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import ImageRequest
from tests.models import tiny
from tests.models.parts import refused
from tests.models.pipelines import parts
from tests.models.tiny import draw, made

pytestmark = pytest.mark.nightly

ARGS = {"steps": "1", "size": "32"}
REQUESTS = [ImageRequest("a photo of a nurse", 0, 1), ImageRequest("a rose", 0, 2)]


@pytest.fixture(scope="module")
def sdxl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.sdxl(tmp_path_factory.mktemp("pipelines") / "sdxl")


def pixels(
    folder: Path, args: dict[str, str], requests: list[ImageRequest]
) -> list[Any]:
    return draw(made(folder, **{**ARGS, **args}), requests, len(requests))


def test_weights_of_one_variant_only_are_loaded(sdxl: Path, tmp_path: Path) -> None:
    from diffusers import StableDiffusionXLPipeline

    pipeline = StableDiffusionXLPipeline.from_pretrained(sdxl)
    pipeline.save_pretrained(tmp_path / "half", variant="fp16", safe_serialization=True)
    half = tmp_path / "half"
    (mine,), (theirs,) = (pixels(folder, {}, REQUESTS[:1]) for folder in (half, sdxl))
    assert np.array_equal(mine, theirs)
    with pytest.raises(T2IBenchError, match="variant=bf16"):
        pixels(half, {"load.variant": "bf16"}, REQUESTS[:1])


def test_a_second_prompt_goes_with_every_image_of_a_batch(sdxl: Path) -> None:
    args = {
        "call.prompt_2": "a person",
        "negative_prompt": "a beetle",
        "call.negative_prompt_2": "an ant",
    }
    together = pixels(sdxl, args, REQUESTS)
    for request, mine in zip(REQUESTS, together, strict=True):
        assert np.abs(mine - pixels(sdxl, args, [request])[0]).max() <= 1
    assert not np.array_equal(together[0], pixels(sdxl, {}, REQUESTS[:1])[0])


def test_a_second_negative_prompt_is_read_beside_the_first(
    sdxl: Path, tmp_path: Path
) -> None:
    second = {"call.negative_prompt_2": "an ant"}
    # Without a first one, this pipeline puts zeros in the place of both.
    with refused("together with negative_prompt=…"):
        pixels(sdxl, second, REQUESTS[:1])
    both = {"negative_prompt": "a beetle", **second}
    first_alone = pixels(sdxl, {"negative_prompt": "a beetle"}, REQUESTS[:1])
    assert not np.array_equal(pixels(sdxl, both, REQUESTS[:1])[0], first_alone[0])
    # The same text twice is what a pipeline does without the second.
    same = {"negative_prompt": "an ant", **second}
    first_alone = pixels(sdxl, {"negative_prompt": "an ant"}, REQUESTS[:1])
    assert np.array_equal(pixels(sdxl, same, REQUESTS[:1])[0], first_alone[0])
    # A model that reads an empty prompt where there is none reads the second alone, too.
    reads_empty = tmp_path / "reads_empty"
    shutil.copytree(sdxl, reads_empty)
    index = reads_empty / "model_index.json"
    config = json.loads(index.read_text())
    index.write_text(json.dumps({**config, "force_zeros_for_empty_prompt": False}))
    plain = pixels(reads_empty, {}, REQUESTS[:1])[0]
    assert not np.array_equal(pixels(reads_empty, second, REQUESTS[:1])[0], plain)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"load.device_map": "balnced"}, "balanced"),
        ({"load.quantization_config": "[1]"}, "must be a mapping"),
        ({"load.quantization_config": '{"quant_backnd": "x"}'}, "'quant_backnd'"),
        (
            {"call.compelx_human_instruction": "x"},
            "takes no call.compelx_human_instruction",
        ),
    ],
)
def test_invalid_load_options_get_a_one_line_error(
    args: dict[str, str], message: str, sdxl: Path
) -> None:
    with refused(message):
        pixels(sdxl, args, REQUESTS[:1])


def test_a_back_end_that_is_not_installed_comes_with_its_pip_line(sdxl: Path) -> None:
    assert importlib.util.find_spec("bitsandbytes") is None, (
        "this test needs it to be absent"
    )
    config = (
        '{"quant_backend": "bitsandbytes_4bit", "quant_kwargs": {"load_in_4bit": true}}'
    )
    with pytest.raises(T2IBenchError, match="pip install bitsandbytes"):
        pixels(sdxl, {"load.quantization_config": config}, REQUESTS[:1])


def test_the_placement_of_weights_affects_no_image(sdxl: Path) -> None:
    plain = made(sdxl, **ARGS)
    balanced = made(sdxl, **{**ARGS, "load.device_map": "balanced"})
    guided = made(sdxl, **{**ARGS, "load.enable_pag": "true"})
    assert plain.fingerprint == balanced.fingerprint != guided.fingerprint
    one, two, _ = (
        draw(generator, REQUESTS[:1], 1)[0] for generator in (plain, balanced, guided)
    )
    assert np.array_equal(one, two)
    assert guided.effective_settings()["pipeline"] == "StableDiffusionXLPAGPipeline"


def test_captions_are_not_cleaned(tmp_path: Path) -> None:
    """By default some pipelines clean them if two further packages are there."""
    folder = parts.saved("PixArtSigmaPipeline", tmp_path / "pixart")
    generator = made(folder, **{**ARGS, "call.use_resolution_binning": "false"})
    generator.generate(REQUESTS[:1])
    assert generator.effective_settings()["call.clean_caption"] is False
