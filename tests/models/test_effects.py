"""Settings that change no image are refused, and no others; trying them changes no image."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import create_generator, pipelines
from t2ibench.models.generators.diffusers import DiffusersGenerator
from t2ibench.models.generators.effects import check_effects
from tests.models import tiny
from tests.models.pipelines import matrix, parts
from tests.models.tiny import REQUESTS, draw, made

# Loads torch models; the quick loop goes without.
pytestmark = [pytest.mark.networks, pytest.mark.slow]

NAMES = {
    "sd": "StableDiffusionPipeline",
    "flux": "FluxPipeline",
    "qwen": "QwenImagePipeline",
    "lcm": "LatentConsistencyModelPipeline",
    "lumina": "LuminaPipeline",
}
# Of every class: settings that some classes read and others do not.
SETTINGS: tuple[dict[str, str], ...] = (
    {},
    {"negative_prompt": "men"},
    {"guidance": "2.5"},
    {"guidance": "1", "negative_prompt": "men"},
    {"call.true_cfg_scale": "3"},
    {"call.true_cfg_scale": "3", "negative_prompt": "men"},
    {"steps": "3"},
)
PARAMETERS = {
    "negative_prompt": "negative_prompt",
    "guidance": "guidance_scale",
    "call.true_cfg_scale": "true_cfg_scale",
    "steps": "num_inference_steps",
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("pipelines")
    return {name: parts.saved(kind, root / name) for name, kind in NAMES.items()}


def untried(
    folder: Path, monkeypatch: pytest.MonkeyPatch, **args: str
) -> DiffusersGenerator:
    """A generator whose settings are not tried."""
    generator = made(folder, **args)
    with monkeypatch.context() as patch:
        patch.setattr(
            "t2ibench.models.generators.diffusers.check_effects", lambda *_: None
        )
        generator.load()
    return generator


@pytest.fixture(scope="module")
def parts_of_folders() -> dict[str, Any]:
    """The parts of the pipelines that were loaded, with their class, by folder."""
    return {}


@pytest.fixture
def _parts_are_read_once(
    parts_of_folders: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Make each pipeline of a folder from the same parts: no weight changes while it is tried."""
    from_pretrained = pipelines._from_pretrained

    def made_of_parts(source: str, *how: Any) -> Any:
        if source not in parts_of_folders:
            first = from_pretrained(source, *how)
            parts_of_folders[source] = type(first), first.components
        kind, components = parts_of_folders[source]
        return kind(**components)

    monkeypatch.setattr(pipelines, "_from_pretrained", made_of_parts)


def refusal(folder: Path, **args: str) -> str:
    """Why settings are refused; empty where they are taken."""
    try:
        made(folder, **args).load()
    except T2IBenchError as error:
        return f"{error.message} {error.hint}"
    return ""


@pytest.mark.usefixtures("_parts_are_read_once")
@pytest.mark.parametrize(
    ("kind", "args", "reason"),
    [
        (
            "sd",
            {"negative_prompt": "men", "guidance": "1"},
            "guidance=1 is no guidance",
        ),
        ("flux", {"negative_prompt": "men"}, "call.true_cfg_scale=… above 1"),
        ("flux", {"call.true_cfg_scale": "4"}, "needs a negative_prompt"),
        ("flux", {"guidance": "2"}, "call.true_cfg_scale=… above 1"),
        ("qwen", {"guidance": "4"}, "leave guidance out"),
        ("qwen", {"negative_prompt": "men", "call.true_cfg_scale": "1"}, "above 1"),
        ("qwen", {"negative_prompt": "men", "guidance": "1"}, "leave guidance out"),
        ("flux", {"call.sigmas": "[1.0, 0.5]"}, "leave steps out"),
        ("sd", {"call.guidance_rescale": "0.5", "guidance": "1"}, "Leave it out"),
        (
            "sd",
            {"call.eta": "0.5", "scheduler": "EulerDiscreteScheduler"},
            "Leave it out",
        ),
        ("lumina", {"call.max_sequence_length": "32"}, "Leave it out"),
    ],
)
def test_settings_without_effect_are_refused_with_a_reason(
    kind: str, args: dict[str, str], reason: str, folders: dict[str, Path]
) -> None:
    said = refusal(folders[kind], **args)
    assert "images with and without are the same to the pixel" in said
    assert reason in said and said.count("\n") == 0


@pytest.mark.usefixtures("_parts_are_read_once")
@pytest.mark.parametrize(
    ("kind", "args"),
    [
        ("sd", {"negative_prompt": "men"}),
        ("sd", {"negative_prompt": "", "guidance": "1"}),  # says what is so
        ("sd", {"guidance": "7.5"}),  # its own default
        ("sd", {"steps": "1", "guidance": "0"}),
        ("sd", {"call.eta": "0.5"}),
        ("flux", {"guidance": "0"}),  # as the card of a distilled model says
        ("flux", {"negative_prompt": "men", "call.true_cfg_scale": "4"}),
        ("flux", {"call.prompt_2": "in a garden"}),
        ("flux", {"call.max_sequence_length": "64"}),  # seen in long prompts alone
        ("qwen", {"negative_prompt": " "}),
        ("lcm", {"guidance": "3"}),
    ],
)
def test_settings_with_an_effect_or_equal_to_defaults_are_accepted(
    kind: str, args: dict[str, str], folders: dict[str, Path]
) -> None:
    assert refusal(folders[kind], **args) == ""


def test_a_setting_that_makes_every_image_fail_is_refused(
    folders: dict[str, Path],
) -> None:
    said = refusal(folders["sd"], **{"call.clip_skip": "9"})
    assert (
        "call.clip_skip=9 makes this StableDiffusionPipeline fail with IndexError"
        in (said)
    )
    assert "layers: expected fewer" in said and "\n" not in said


def test_trying_changes_no_image(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    args = {"negative_prompt": "men", "guidance": "3", "steps": "3"}
    torch.manual_seed(3)
    tried = draw(made(folders["sd"], **args), REQUESTS[:3], 2)
    state = torch.get_rng_state()
    torch.manual_seed(3)
    images = draw(untried(folders["sd"], monkeypatch, **args), REQUESTS[:3], 2)
    assert all(map(np.array_equal, tried, images))
    assert torch.equal(state, torch.get_rng_state())


def test_settings_are_tried_once(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(
        "t2ibench.models.generators.diffusers.check_effects",
        lambda *given: calls.append(given),
    )
    generator = made(folders["sd"], guidance="3")
    generator.load()
    generator.release()
    generator.load()
    assert len(calls) == 1


def test_a_hook_may_use_settings_in_its_own_way(folders: dict[str, Path]) -> None:
    hook = "tests.models.hooks_of_tests:nothing"
    assert refusal(folders["flux"], negative_prompt="men", hook=hook) == ""


def test_arguments_that_belong_to_nothing_are_refused(folders: dict[str, Path]) -> None:
    with pytest.raises(T2IBenchError, match="lora_scale needs a LoRA"):
        create_generator(str(folders["sd"]), {"lora_scale": "0.5"})
    with pytest.raises(T2IBenchError, match="revision=main changes nothing"):
        create_generator(str(folders["sd"]), {"revision": "main"})


@pytest.mark.nightly
@pytest.mark.parametrize("name", matrix.TRIED)
def test_of_every_class_the_verdict_is_that_of_whole_images(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without the setting, at the size and number of steps of the run."""
    import diffusers

    parameters = inspect.signature(getattr(diffusers, name).__call__).parameters
    folder = parts.saved(name, tmp_path / name)
    given = matrix.TRIED[name].get("args", {})

    def image(args: dict[str, str]) -> np.ndarray | None:
        generator = untried(folder, monkeypatch, **(given | args))
        for attribute, value in matrix.TRIED[name].get("shrink", {}).items():
            setattr(generator._pipeline, attribute, value)
        try:
            return tiny.draw(generator, REQUESTS[:1], 1)[0]
        except (AssertionError, RuntimeError, ValueError):
            return None  # the class itself fails with these

    for args in SETTINGS:
        if any(PARAMETERS[key] not in parameters for key in args):
            continue
        whole = image(args)
        if whole is None:
            continue
        useless = {
            key
            for key in args
            if key != "steps"
            and (without := image({k: v for k, v in args.items() if k != key}))
            is not None
            and np.array_equal(whole, without)
        }
        generator = untried(folder, monkeypatch, **(given | args))
        for attribute, value in matrix.TRIED[name].get("shrink", {}).items():
            setattr(generator._pipeline, attribute, value)
        try:
            check_effects(generator._pipeline, generator._args)
            refused: set[str] = set()
        except T2IBenchError as error:
            refused = {key for key in args if f"{key}=" in error.message}
        # Guidance of 1 says that there is none, which is so.
        allowed = {"guidance"} if args.get("guidance") == "1" else set()
        if name == "DreamLitePipeline" and "guidance" in allowed:
            # It adds 1 × (with − without the negative prompt), which moves the last bits.
            allowed.add("negative_prompt")
        # A value that is the class's own changes nothing, and is none to refuse.
        allowed |= {
            key for key in args if args[key] == str(parameters[PARAMETERS[key]].default)
        }
        assert refused <= useless and useless - allowed <= refused, (
            args,
            useless,
            refused,
        )
