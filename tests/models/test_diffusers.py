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
from t2ibench.models.generators.pipelines import (
    call_arguments,
    image_pixels,
    weight_bytes,
)
from t2ibench.models.protocols import (
    ImageRequest,
    Releasable,
    ReportsSettings,
)
from tests.models import tiny
from tests.models.parts import refused
from tests.models.tiny import ARGS, REQUESTS, draw, made

# Loads torch models; the quick loop goes without.
pytestmark = [
    pytest.mark.networks,
    pytest.mark.slow,
    pytest.mark.usefixtures("settings_untried"),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("pipelines")
    return {name: tiny.PIPELINES[name](root / name) for name in ("sd", "sdxl", "sd3")}


def first(generator: Any) -> np.ndarray:
    """Its image of the first request."""
    return draw(generator, REQUESTS[:1], 1)[0]


@pytest.fixture(scope="module")
def plain(folders: dict[str, Path]) -> np.ndarray:
    """The first image of "sd" without settings of the user's own."""
    return first(made(folders["sd"]))


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
    assert of() == of(channels_last="false")
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
        of(channels_last="true"),
        made(folders["sdxl"]).fingerprint,
    }
    assert len({of(), *others}) == 10


def test_channels_lie_together_where_that_is_asked_for(
    folders: dict[str, Path], plain: np.ndarray
) -> None:
    import torch

    generator = made(folders["sd"], channels_last="true")
    generator.load()
    pipeline = generator._pipeline
    weights = [
        parameter
        for part in (pipeline.unet, pipeline.vae)
        for parameter in part.parameters()
        if parameter.ndim == 4
    ]
    together = torch.channels_last
    assert weights
    assert all(weight.is_contiguous(memory_format=together) for weight in weights)
    assert generator.effective_settings()["channels_last"] is True
    assert np.abs(first(generator) - plain).max() <= 1


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
    change: dict[str, str], folders: dict[str, Path], plain: np.ndarray
) -> None:
    assert not np.array_equal(plain, first(made(folders["sd"], **change)))


def test_lora(tmp_path: Path, folders: dict[str, Path], plain: np.ndarray) -> None:
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
    changed = made(folders["sd"], lora=lora)
    assert changed.fingerprint != made(folders["sd"]).fingerprint
    assert not np.array_equal(plain, first(changed))
    off = made(folders["sd"], lora=lora, lora_scale="0")
    assert np.abs(first(off) - plain).max() <= 1


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


NURSES = [ImageRequest("a nurse", number, number) for number in range(8)]


class Card:
    """A pipeline on a card that takes two images at a time, and how many it was asked for."""

    def __init__(self, room: int = 2) -> None:
        self.room = room
        self.sizes: list[int] = []

    def __call__(self, prompt: list[str], **_: object) -> object:
        import torch

        self.sizes.append(len(prompt))
        if len(prompt) > self.room:
            raise torch.cuda.OutOfMemoryError("no memory")
        return SimpleNamespace(images=np.full((len(prompt), 8, 8, 3), 0.5))


def test_out_of_memory_halves_the_batch(folders: dict[str, Path]) -> None:
    card = Card()
    generator = with_pipeline(folders["sd"], card)
    assert len(generator.generate(NURSES)) == 8
    assert card.sizes == [8, 4, 2, 2, 2, 2]


def test_a_run_s_batches_have_one_size_and_are_filled_up(
    folders: dict[str, Path],
) -> None:
    card = Card(room=4)
    generator = with_pipeline(folders["sd"], card)
    generator.fix_batch_size(4)
    assert generator.batch_size == 4
    assert len(generator.generate(NURSES[:6])) == 6
    assert len(generator.generate(NURSES[:1])) == 1
    assert card.sizes == [4, 4, 4]
    assert generator.effective_settings()["batch_size"] == 4


def test_a_run_s_batch_is_halved_before_its_first_image_alone(
    folders: dict[str, Path],
) -> None:
    card = Card()
    generator = with_pipeline(folders["sd"], card)
    generator.fix_batch_size(8)
    assert len(generator.generate(NURSES[:3])) == 3
    assert card.sizes == [8, 4, 2, 2]
    assert generator.effective_settings()["batch_size"] == generator.batch_size == 2
    card.room = 1
    with refused("Memory ran out: 2 images at a time do not fit now"):
        generator.generate(NURSES)


def test_the_batch_of_a_run_that_goes_on_is_never_halved(
    folders: dict[str, Path],
) -> None:
    card = Card()
    generator = with_pipeline(folders["sd"], card)
    generator.fix_batch_size(8, recorded=True)
    with refused("--batch-size 4 and another --name"):
        generator.generate(NURSES)
    assert card.sizes == [8]


def test_on_the_processor_a_run_generates_one_image_at_a_time(
    folders: dict[str, Path],
) -> None:
    alone = draw(made(folders["sd"]), REQUESTS[:3], 1)
    generator = made(folders["sd"])
    generator.fix_batch_size(None)
    assert generator.batch_size == 1
    for before, now in zip(alone, draw(generator, REQUESTS[:3], 3), strict=True):
        assert np.array_equal(before, now)
    assert generator.effective_settings()["batch_size"] == 1


@pytest.mark.parametrize("name", ["sd", "sdxl", "sd3"])
def test_an_image_does_not_depend_on_how_full_its_batch_is(
    name: str, folders: dict[str, Path]
) -> None:
    generator = made(folders[name])
    generator.fix_batch_size(4)
    full = draw(generator, REQUESTS[:4], 4)
    for count in (1, 2, 3):
        for before, now in zip(
            full, draw(generator, REQUESTS[:count], 4), strict=False
        ):
            assert np.array_equal(before, now)


def test_the_size_of_the_images_and_of_the_weights(folders: dict[str, Path]) -> None:
    generator = made(folders["sd"])
    generator.load()
    pipeline = generator._pipeline
    parts = [
        part for part in pipeline.components.values() if hasattr(part, "parameters")
    ]
    counts = [sum(number.numel() for number in part.parameters()) for part in parts]
    own = DiffusersArguments()
    assert weight_bytes(pipeline, own) == 4 * sum(counts)
    assert weight_bytes(pipeline, DiffusersArguments(offload="model")) == 4 * max(
        counts
    )
    height, width, _ = first(create_generator(str(folders["sd"]), {"steps": "1"})).shape
    assert image_pixels(pipeline, own) == height * width
    assert image_pixels(pipeline, DiffusersArguments(size="32x48")) == 32 * 48
    assert image_pixels(object(), own) == 1024 * 1024


def test_deterministic_kernels_are_a_setting_of_their_own(
    folders: dict[str, Path], plain: np.ndarray
) -> None:
    import torch

    generator = create_generator(
        str(folders["sd"]), ARGS, device="cpu", deterministic=True
    )
    assert isinstance(generator, DiffusersGenerator)
    assert generator.fingerprint != made(folders["sd"]).fingerprint
    try:
        assert np.array_equal(first(generator), plain)
        assert torch.are_deterministic_algorithms_enabled()
        assert generator.effective_settings()["deterministic"] is True
    finally:
        torch.use_deterministic_algorithms(False)
    with refused("--deterministic: toyland runs no kernels of torch"):
        create_generator("toyland", deterministic=True)


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
        ('"WanPipeline"', "which makes no image of a prompt alone: it makes videos"),
        ('"Cosmos2TextToImagePipeline"', "guardrail, which hides faces"),
        ('"DiffusionGemmaPipeline"', "it writes text"),
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


def test_steps_need_a_guidance_where_a_class_has_one_for_each_step() -> None:
    from diffusers import Ideogram4Pipeline

    alone = DiffusersArguments(steps=30)
    with pytest.raises(T2IBenchError, match="a guidance for each of its 48 steps"):
        call_arguments(Ideogram4Pipeline, alone)
    both = call_arguments(Ideogram4Pipeline, DiffusersArguments(steps=30, guidance=7))
    assert both["guidance_schedule"] is None
    unchanged = call_arguments(Ideogram4Pipeline, DiffusersArguments())
    assert "guidance_schedule" not in unchanged


def test_further_arguments_reach_the_pipeline(
    folders: dict[str, Path], plain: np.ndarray
) -> None:
    changed = made(folders["sd"], **{"call.eta": "1", "call.guidance_rescale": "0.5"})
    assert changed.fingerprint != made(folders["sd"]).fingerprint
    assert changed.settings["call.eta"] == 1
    assert not np.array_equal(plain, first(changed))
    assert changed.effective_settings()["call.guidance_rescale"] == 0.5
    without = {"load.text_encoder_3": "null", "load.tokenizer_3": "none"}
    assert not np.array_equal(
        first(made(folders["sd3"])), first(made(folders["sd3"], **without))
    )
