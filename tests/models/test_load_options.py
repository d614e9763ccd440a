"""What `--model-args` say about a pipeline's loading and its call."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import create_generator
from t2ibench.models.generators.load_options import only_variant
from t2ibench.models.protocols import ImageRequest, ReportsSettings
from tests.models import tiny
from tests.models.pipelines import parts

ARGS = {"steps": "1", "size": "32"}
REQUESTS = [ImageRequest("a photo of a nurse", 0, 1), ImageRequest("a rose", 0, 2)]


@pytest.mark.parametrize(
    ("files", "variant"),
    [
        ([], None),
        (["model.fp16.safetensors"], None),  # beside the parts, for other programs
        (["unet/m.safetensors", "vae/m.safetensors"], None),
        (["unet/m.safetensors", "unet/m.fp16.safetensors"], None),
        (["unet/m.fp16.safetensors", "vae/m.fp16.safetensors"], "fp16"),
        (["unet/m.fp16-00001-of-00002.safetensors", "vae/m.safetensors"], "fp16"),
        (["unet/m.bf16.safetensors", "vae/m.bf16.safetensors", "vae/m.fp16.safetensors"], "bf16"),
    ],
)
def test_the_only_variant_is_found(files: list[str], variant: str | None) -> None:
    assert only_variant(files) == variant


def test_of_several_variants_the_user_chooses() -> None:
    files = [f"{part}/m.{variant}.safetensors" for part in "ab" for variant in ("fp16", "bf16")]
    with pytest.raises(T2IBenchError, match=r"bf16, fp16\. Choose one: .*variant=bf16"):
        only_variant(files)


@pytest.fixture(scope="module")
def sdxl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.sdxl(tmp_path_factory.mktemp("pipelines") / "sdxl")


def pixels(folder: Path, args: dict[str, str], requests: list[ImageRequest]) -> list[Any]:
    drawn = create_generator(str(folder), {**ARGS, **args}, device="cpu").generate(requests)
    assert [one.status for one in drawn] == ["ok"] * len(requests), drawn
    return [np.asarray(one.image, dtype=int) for one in drawn]


@pytest.mark.nightly
def test_weights_of_one_variant_only_are_loaded(sdxl: Path, tmp_path: Path) -> None:
    from diffusers import StableDiffusionXLPipeline

    pipeline = StableDiffusionXLPipeline.from_pretrained(sdxl)
    pipeline.save_pretrained(tmp_path / "half", variant="fp16", safe_serialization=True)
    half = tmp_path / "half"
    (mine,), (theirs,) = (pixels(folder, {}, REQUESTS[:1]) for folder in (half, sdxl))
    assert np.array_equal(mine, theirs)
    with pytest.raises(T2IBenchError, match="variant=fp16"):
        pixels(half, {"variant": "bf16"}, REQUESTS[:1])


@pytest.mark.nightly
def test_a_second_prompt_goes_with_every_image_of_a_batch(sdxl: Path) -> None:
    args = {"call.prompt_2": "a person", "call.negative_prompt_2": "an ant"}
    together = pixels(sdxl, args, REQUESTS)
    for request, mine in zip(REQUESTS, together, strict=True):
        assert np.abs(mine - pixels(sdxl, args, [request])[0]).max() <= 1
    assert not np.array_equal(together[0], pixels(sdxl, {}, REQUESTS[:1])[0])


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"load.device_map": "balnced"}, "Did you mean 'balanced'?"),
        ({"load.variant": "fp16"}, "load.variant: write variant=… instead"),
        ({"load.torch_dtype": "float16"}, "write --dtype instead"),
        ({"load.quantization_config": "bitsandbytes_4bt"}, "Did you mean 'bitsandbytes_4bit'?"),
        ({"load.quantization_config": "[1]"}, "expected the name of a back-end, or a JSON object"),
        ({"load.quantization_config": '{"quant_backnd": "x"}'}, "a JSON object of components_to"),
        ({"call.compelx_human_instruction": "x"}, "takes no call.compelx_human_instruction"),
    ],
)
def test_what_cannot_be_loaded_so_is_one_line(
    args: dict[str, str], message: str, sdxl: Path
) -> None:
    with pytest.raises(T2IBenchError) as caught:
        pixels(sdxl, args, REQUESTS[:1])
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.nightly
def test_a_back_end_that_is_not_installed_comes_with_its_pip_line(sdxl: Path) -> None:
    assert importlib.util.find_spec("bitsandbytes") is None, "this test needs it to be absent"
    with pytest.raises(T2IBenchError, match="pip install bitsandbytes"):
        pixels(sdxl, {"load.quantization_config": "bitsandbytes_4bit"}, REQUESTS[:1])


@pytest.mark.nightly
def test_what_decides_where_weights_are_decides_no_image(sdxl: Path) -> None:
    plain = create_generator(str(sdxl), ARGS, device="cpu")
    balanced = create_generator(str(sdxl), {**ARGS, "load.device_map": "balanced"}, device="cpu")
    guided = create_generator(str(sdxl), {**ARGS, "load.enable_pag": "true"}, device="cpu")
    assert plain.fingerprint == balanced.fingerprint != guided.fingerprint
    one, two = (generator.generate(REQUESTS[:1])[0].image for generator in (plain, balanced))
    assert np.array_equal(np.asarray(one), np.asarray(two))
    guided.generate(REQUESTS[:1])
    assert isinstance(guided, ReportsSettings)
    assert guided.effective_settings()["pipeline"] == "StableDiffusionXLPAGPipeline"


@pytest.mark.nightly
def test_captions_are_cleaned_only_where_the_user_says_so(tmp_path: Path) -> None:
    """By default some pipelines clean them if two further packages are there."""
    folder = parts.saved("PixArtSigmaPipeline", tmp_path / "pixart")
    args = {**ARGS, "call.use_resolution_binning": "false"}
    generator = create_generator(str(folder), args, device="cpu")
    generator.generate(REQUESTS[:1])
    assert isinstance(generator, ReportsSettings)
    assert generator.effective_settings()["call.clean_caption"] is False
    absent = [name for name in ("bs4", "ftfy") if importlib.util.find_spec(name) is None]
    asked = create_generator(str(folder), {**args, "call.clean_caption": "true"}, device="cpu")
    if absent:
        with pytest.raises(T2IBenchError, match="pip install beautifulsoup4 ftfy"):
            asked.generate(REQUESTS[:1])
    else:
        assert asked.generate(REQUESTS[:1])[0].status == "ok"
