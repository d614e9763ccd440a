"""Diffusers pipelines through the code that real weights take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Request
from t2ibench.models.generators import create_generator
from t2ibench.models.generators.diffusers import DiffusersArguments, DiffusersGenerator
from t2ibench.models.protocols import (
    ImageRequest,
    Releasable,
    ReportsSettings,
)
from tests.models import tiny
from tests.models.parts import refused
from tests.models.tiny import ARGS, REQUESTS, draw, made

# Loads torch models; the quick loop goes without.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("pipelines")
    return {name: tiny.PIPELINES[name](root / name) for name in ("sd", "sdxl", "sd3")}


def first(generator: Any) -> np.ndarray:
    """Its image of the first request."""
    return draw(generator, REQUESTS[:1], 1)[0]


def test_loads_lazily_and_again_after_release(folders: dict[str, Path]) -> None:
    generator = made(folders["sd"])
    assert isinstance(generator, DiffusersGenerator) and isinstance(
        generator, Releasable
    )
    assert generator._pipeline is None
    before, other = draw(generator, REQUESTS[:2], 1)
    assert generator._pipeline is not None
    assert before.shape == (32, 32, 3) and not np.array_equal(before, other)
    generator.release()
    assert generator._pipeline is None
    assert np.array_equal(before, first(generator))


def test_the_fingerprint_follows_what_decides_an_image(
    folders: dict[str, Path],
) -> None:
    def of(seed: int = 0, dtype: str | None = None, **changes: str) -> str:
        args = {**ARGS, **changes}
        return create_generator(
            str(folders["sd"]), args, seed=seed, dtype=dtype
        ).fingerprint

    assert of() == of(offload="none") == of(offload="model") == of(compile="false")
    scheduled = of(scheduler="EulerDiscreteScheduler")
    others = {
        of(steps="3"),
        of(guidance="3"),
        of(negative_prompt="dark"),
        of(seed=1),
        scheduled,
    }
    others |= {
        of(dtype="bfloat16"),
        of(compile="true"),
        made(folders["sdxl"]).fingerprint,
    }
    assert len({of(), *others}) == 9


def test_changed_weights_change_the_fingerprint(tmp_path: Path) -> None:
    folder = tiny.stable_diffusion(tmp_path / "sd")
    before = made(folder).fingerprint
    file = folder / "unet" / "diffusion_pytorch_model.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(bytes(data))
    assert made(folder).fingerprint != before


@pytest.mark.parametrize(
    "change",
    [
        {"negative_prompt": "dark, war"},
        {"guidance": "1.5"},
        {"scheduler": "EulerAncestralDiscreteScheduler"},
    ],
)
def test_arguments_take_effect(
    change: dict[str, str], folders: dict[str, Path]
) -> None:
    assert not np.array_equal(
        first(made(folders["sd"])), first(made(folders["sd"], **change))
    )


def test_lora(tmp_path: Path, folders: dict[str, Path]) -> None:
    import torch
    from diffusers import StableDiffusionPipeline
    from peft import LoraConfig
    from peft.utils import get_peft_model_state_dict

    pipeline = StableDiffusionPipeline.from_pretrained(folders["sd"])
    torch.manual_seed(1)
    pipeline.unet.add_adapter(
        LoraConfig(
            r=2, init_lora_weights=False, target_modules=["to_q", "to_k", "to_v"]
        )
    )
    state = get_peft_model_state_dict(pipeline.unet)
    StableDiffusionPipeline.save_lora_weights(tmp_path / "lora", unet_lora_layers=state)
    lora = str(tmp_path / "lora")
    plain, changed = made(folders["sd"]), made(folders["sd"], lora=lora)
    assert changed.fingerprint != plain.fingerprint
    assert not np.array_equal(first(plain), first(changed))
    off = made(folders["sd"], lora=lora, lora_scale="0")
    assert np.abs(first(off) - first(plain)).max() <= 1


def with_pipeline(folder: Path, pipeline: Callable[..., Any]) -> DiffusersGenerator:
    """A generator whose pipeline is the test's own."""
    args = DiffusersArguments(steps=2, size="32")
    return DiffusersGenerator(
        Request("sd", str(folder), args, device="cpu"), lambda: pipeline
    )


def test_effective_settings_resolve_the_pipelines_defaults(
    folders: dict[str, Path],
) -> None:
    generator = create_generator(str(folders["sdxl"]), {"steps": "1"}, device="cpu")
    assert isinstance(generator, ReportsSettings)
    assert generator.effective_settings() == {}
    height, width, _ = first(generator).shape
    assert generator.effective_settings() == {
        "pipeline": "StableDiffusionXLPipeline",
        "scheduler": "EulerDiscreteScheduler",
        "num_inference_steps": 1,
        "guidance_scale": 5.0,
        "height": height,
        "width": width,
        "dtype": "float32",
    }


@pytest.mark.parametrize(
    ("value", "flag", "status", "reason"),
    [
        (0.0, False, "filtered", "black"),
        (np.nan, False, "failed", "not numbers"),
        (0.5, True, "filtered", "safety checker"),
    ],
)
def test_black_flagged_and_nan_images_are_filtered_or_failed(
    value: float, flag: bool, status: str, reason: str, folders: dict[str, Path]
) -> None:
    images = np.full((2, 8, 8, 3), 0.7)
    images[1] = value
    output = SimpleNamespace(images=images, nsfw_content_detected=[False, flag])
    generator = with_pipeline(folders["sd"], lambda **_: output)
    good, bad = generator.generate(REQUESTS[:2])  # of one prompt
    assert good.status == "ok"
    assert bad.status == status and reason in (bad.reason or "")
    # It is in float32 already, so that is no advice.
    assert "--dtype" not in (bad.reason or "")


def test_out_of_memory_halves_the_batch(folders: dict[str, Path]) -> None:
    import torch

    sizes = []

    def pipeline(prompt: list[str], **_: object) -> object:
        sizes.append(len(prompt))
        if len(prompt) > 2:
            raise torch.cuda.OutOfMemoryError("no memory")
        return SimpleNamespace(images=np.full((len(prompt), 8, 8, 3), 0.5))

    generator = with_pipeline(folders["sd"], pipeline)
    assert (
        len(generator.generate([ImageRequest("a nurse", i, i) for i in range(8)])) == 8
    )
    assert sizes == [8, 4, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"stepz": "3"}, "no argument 'stepz'. Did you mean 'steps'?"),
        ({"steps": "many"}, "steps=many: expected a whole number"),
        ({"guidance": "x"}, "expected a number"),
        ({"compile": "maybe"}, "compile=maybe: expected true or false"),
        ({"offload": "maybe"}, "none, model or sequential"),
        ({"lora": "./nowhere"}, "no such file"),
        ({"call.guidance_scale": "1"}, "write guidance=… instead"),
        ({"call.prompt": "a cat"}, "t2ibench sets it for each image"),
        ({"call.clean_caption": "true"}, "two further packages"),
        (
            {"load.revision": "v2"},
            "load.revision is not taken: write revision=… instead",
        ),
        ({"load.torch_dtype": "float16"}, "write --dtype instead"),
        (
            {"load.trust_remote_code": "true"},
            "load.trust_remote_code is not taken: t2ibench runs",
        ),
        ({"call.trust_remote_code": "true"}, "call.trust_remote_code is not taken"),
        (
            {"load.custom_pipeline": "x/y"},
            "t2ibench runs no code that comes with a model",
        ),
        ({"load.use_safetensors": "false"}, "others can run code"),
        ({"load.proxies": "x"}, "load.proxies is not taken"),
        ({"load.use_onnx": "x"}, "load.use_onnx is not taken"),
        ({"load.token": "hf_secret"}, "arguments are stored with the run"),
    ],
)
def test_bad_arguments_are_found_before_loading(
    args: dict[str, str], message: str, folders: dict[str, Path]
) -> None:
    with refused(message):
        create_generator(str(folders["sd"]), args)


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        (
            "sd",
            {"scheduler": "EulerDiscretScheduler"},
            "Did you mean 'EulerDiscreteScheduler'?",
        ),
        ("sd", {"call.max_sequence_length": "3"}, "takes no call.max_sequence_length"),
        ("sd", {"lora": "{empty}"}, "could not be loaded"),
        ("sd", {"lora": "pipes/nothing"}, "no file or folder 'pipes/nothing' here"),
        (
            "sd",
            {"call.clip_skp": "1"},
            "takes no call.clip_skp. Did you mean 'clip_skip'?",
        ),
        ("sd", {"load.vea": "null"}, "takes no load.vea. Did you mean 'vae'?"),
        ("sd", {"load.vae": "other/vae"}, "a part of a pipeline cannot be replaced"),
    ],
)
def test_arguments_a_pipeline_does_not_take(
    name: str,
    args: dict[str, str],
    message: str,
    folders: dict[str, Path],
    tmp_path: Path,
) -> None:
    args = {key: value.format(empty=tmp_path) for key, value in args.items()}
    with refused(message):
        first(made(folders[name], **args))


def test_a_broken_folder_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "model_index.json").write_text(
        '{"_class_name": "StableDiffusionPipeline"}'
    )
    with refused("could not load"):
        first(made(tmp_path))


def test_an_alias_brings_its_own_arguments_and_the_users_win() -> None:
    turbo = create_generator("sdxl-turbo", {})
    assert (turbo.settings["steps"], turbo.settings["guidance"]) == (1, 0.0)
    two = create_generator("sdxl-turbo", {"steps": "2"})
    assert (two.settings["steps"], two.settings["guidance"]) == (2, 0.0)
    assert two.name == "sdxl-turbo" and two.fingerprint != turbo.fingerprint
    assert "steps" not in create_generator("sdxl", {}).settings


LONG = "a photo of a nurse, " + ", ".join(
    ["a clerk", "a rose", "an ant", "a person"] * 2
)


@pytest.mark.parametrize("name", ["cogview4", "amused"])
def test_an_image_is_the_same_alone_and_beside_a_longer_prompt(
    name: str, tmp_path: Path
) -> None:
    """CogView4 pads prompts to the longest of the batch; Amused takes one random generator."""
    folder = getattr(tiny, name)(tmp_path / name)
    generator = made(folder)
    prompts = ("a photo of a nurse", LONG, "a photo of a nurse", "a photo of a nurse")
    requests = [
        ImageRequest(prompt, index, 7 + index) for index, prompt in enumerate(prompts)
    ]
    alone = draw(generator, requests, 1)
    assert not np.array_equal(alone[0], alone[2])
    for mine, theirs in zip(alone, draw(generator, requests, 4), strict=True):
        assert np.abs(mine - theirs).max() <= 1


def test_only_pipelines_of_one_prompt_length_get_several_prompts_at_once(
    folders: dict[str, Path],
) -> None:
    batches: list[list[str]] = []

    class Unknown:
        def __call__(self, prompt: list[str], **_: object) -> object:
            batches.append(prompt)
            return SimpleNamespace(images=np.full((len(prompt), 8, 8, 3), 0.5))

    class StableDiffusionPipeline(Unknown):
        """Known to pad to one length."""

    for kind in (StableDiffusionPipeline, Unknown):
        assert len(with_pipeline(folders["sd"], kind()).generate(REQUESTS)) == 8
    assert [len(batch) for batch in batches] == [8, 2, 2, 2, 2]
    assert all(len(set(batch)) == 1 for batch in batches[1:])


def test_the_output_of_kandinsky_5_and_of_a_video_pipeline(
    folders: dict[str, Path],
) -> None:
    one = SimpleNamespace(image=np.full((1, 8, 8, 3), 0.5))
    (drawn,) = with_pipeline(folders["sd"], lambda **_: one).generate(REQUESTS[:1])
    assert drawn.status == "ok"
    video = SimpleNamespace(frames=np.zeros((1, 4, 8, 8, 3)))
    with pytest.raises(T2IBenchError, match="holds no images"):
        with_pipeline(folders["sd"], lambda **_: video).generate(REQUESTS[:1])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ('"WanPipeline"', "is a WanPipeline, which makes no image of a prompt alone"),
        ('"LTXPipeline"', "is a LTXPipeline, which makes no image of a prompt alone"),
        (
            '"AudioLDM2Pipeline"',
            "is a AudioLDM2Pipeline, which makes no image of a prompt alone",
        ),
        ('"StableDiffusionInpaintPipeline"', "makes no image of a prompt alone"),
        ('"FluxControlNetPipeline"', "makes no image of a prompt alone"),
        ('"Kandinsky5I2IPipeline"', "makes no image of a prompt alone"),
        ('["pipeline", "Mine"]', "Python code of its own, which t2ibench does not run"),
    ],
)
def test_pipelines_that_generate_no_images_are_refused_before_loading(
    name: str, message: str, tmp_path: Path
) -> None:
    """Nothing but its index is there, so nothing else can have been read."""
    (tmp_path / "model_index.json").write_text(f'{{"_class_name": {name}}}')
    (tmp_path / "pipeline.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(T2IBenchError, match=message) as caught:
        first(made(tmp_path))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "ran").exists()


def test_further_arguments_reach_the_pipeline(folders: dict[str, Path]) -> None:
    plain = made(folders["sd"])
    changed = made(folders["sd"], **{"call.eta": "1", "call.guidance_rescale": "0.5"})
    assert changed.fingerprint != plain.fingerprint
    assert changed.settings["call.eta"] == 1
    assert not np.array_equal(first(plain), first(changed))
    assert changed.effective_settings()["call.guidance_rescale"] == 0.5
    without = {"load.text_encoder_3": "null", "load.tokenizer_3": "none"}
    assert not np.array_equal(
        first(made(folders["sd3"])), first(made(folders["sd3"], **without))
    )
