"""LoRA weights fit a pipeline as a whole, in every form, or are refused with a reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from t2ibench.errors import T2IBenchError
from tests.models import tiny
from tests.models.tiny import REQUESTS, draw, made

# Loads torch models; the quick loop goes without.
pytestmark = [pytest.mark.networks, pytest.mark.slow]

Save = Callable[[Mapping[str, Any]], str]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("pipelines")
    return {name: tiny.PIPELINES[name](root / name) for name in ("sd", "flux")}


@pytest.fixture(scope="module")
def weights(folders: dict[str, Path]) -> dict[str, Any]:
    """LoRA weights of a UNet, by the layers' own names."""
    import torch
    from diffusers import UNet2DConditionModel
    from peft import LoraConfig
    from peft.utils import get_peft_model_state_dict

    unet = UNet2DConditionModel.from_pretrained(folders["sd"] / "unet")
    torch.manual_seed(1)
    targets = ["to_q", "to_k", "to_v"]
    unet.add_adapter(LoraConfig(r=2, init_lora_weights=False, target_modules=targets))
    state: dict[str, Any] = get_peft_model_state_dict(unet)
    return state


@pytest.fixture
def save(tmp_path: Path) -> Save:
    from safetensors.torch import save_file

    def to_file(tensors: Mapping[str, Any]) -> str:
        path = tmp_path / "lora.safetensors"
        save_file(
            {key: tensor.clone().contiguous() for key, tensor in tensors.items()}, path
        )
        return str(path)

    return to_file


def of_unet(weights: Mapping[str, Any]) -> dict[str, Any]:
    """In diffusers' form."""
    return {f"unet.{key}": tensor for key, tensor in weights.items()}


def kohya(weights: Mapping[str, Any]) -> dict[str, Any]:
    from diffusers.utils import convert_state_dict_to_kohya

    converted: dict[str, Any] = convert_state_dict_to_kohya(of_unet(weights))
    return converted


def of_flux(block: int) -> dict[str, Any]:
    """One layer of kohya's form for FLUX.1, which diffusers divides into three."""
    import torch

    name = f"lora_unet_double_blocks_{block}_img_attn_qkv"
    factors = {"lora_down": torch.randn(4, 32), "lora_up": torch.randn(96, 4)}
    tensors = {f"{name}.{factor}.weight": tensor for factor, tensor in factors.items()}
    return {**tensors, f"{name}.alpha": torch.tensor(4.0)}


def refusal(folder: Path, lora: str) -> str:
    with pytest.raises(T2IBenchError) as error:
        made(folder, lora=lora).load()
    return f"{error.value.message} {error.value.hint}"


@pytest.mark.parametrize("form", [of_unet, kohya])
def test_a_fitting_lora_is_applied_and_reported_in_the_settings(
    form: Callable[..., Any],
    folders: dict[str, Path],
    weights: dict[str, Any],
    save: Save,
    caplog: pytest.LogCaptureFixture,
) -> None:
    generator = made(folders["sd"], lora=save(form(weights)))
    draw(generator, REQUESTS[:1], 1)
    layers = len({key.partition(".lora_")[0] for key in weights})
    assert layers == 24
    said = generator.effective_settings()["lora"]
    assert said == "24 UNet layers, text encoder unchanged"
    assert "No LoRA keys" not in caplog.text  # the normal case is no alarm
    assert "lora" not in made(folders["sd"]).effective_settings()


def test_a_flux_lora_in_kohyas_form_reports_its_converted_layers(
    folders: dict[str, Path], save: Save
) -> None:
    generator = made(folders["flux"], lora=save(of_flux(0)))
    draw(generator, REQUESTS[:1], 1)
    said = generator.effective_settings()["lora"]
    assert said == "3 transformer layers, text encoder unchanged"


def test_a_file_of_another_kind_of_model_is_refused(
    folders: dict[str, Path], weights: dict[str, Any], save: Save
) -> None:
    others = {f"transformer.{key}": tensor for key, tensor in weights.items()}
    said = refusal(folders["sd"], save(others))
    assert "has no weights for this StableDiffusionPipeline" in said
    assert "transformer.down_blocks" in said and "trained on this kind of model" in said


def test_a_lora_in_pefts_form_gets_advice_on_saving(
    folders: dict[str, Path], weights: dict[str, Any], save: Save
) -> None:
    bare = {f"base_model.model.{key}": tensor for key, tensor in weights.items()}
    said = refusal(folders["sd"], save(bare))
    assert "peft's own form" in said and "save_lora_weights" in said


def test_an_unreadable_lora_in_pefts_form_is_named_as_such(
    folders: dict[str, Path], weights: dict[str, Any], save: Save
) -> None:
    bare = {f"base_model.model.{key}": tensor for key, tensor in weights.items()}
    assert "peft's own form" in refusal(folders["flux"], save(bare))


def test_a_file_that_fits_in_part_is_refused(
    folders: dict[str, Path], weights: dict[str, Any], save: Save
) -> None:
    import torch

    tensors = of_unet(weights)
    further = {"lora_A": torch.ones(2, 32), "lora_B": torch.ones(32, 2)}
    tensors |= {
        f"unet.mid_block.nowhere.to_q.{key}.weight": one for key, one in further.items()
    }
    said = refusal(folders["sd"], save(tensors))
    assert "of its 25 layers 1 are not in this StableDiffusionPipeline" in said
    assert "unet.mid_block.nowhere.to_q" in said


def test_a_part_that_a_pipeline_has_no_place_for_is_refused(
    folders: dict[str, Path], weights: dict[str, Any], save: Save
) -> None:
    tensors = of_unet(weights)
    tensors |= {f"text_encoder_2.{key}": tensor for key, tensor in weights.items()}
    said = refusal(folders["sd"], save(tensors))
    assert "of its 48 layers 24 are not in" in said


def test_a_file_that_was_never_trained_is_refused(
    folders: dict[str, Path], weights: dict[str, Any], save: Save
) -> None:
    zero = {
        key: 0 * one if "lora_B" in key else one
        for key, one in of_unet(weights).items()
    }
    assert "changes nothing: all of its 24 layers are zero" in refusal(
        folders["sd"], save(zero)
    )


def test_weights_that_diffusers_leaves_out_are_refused(
    folders: dict[str, Path], weights: dict[str, Any], save: Save
) -> None:
    import torch

    tensors = kohya(weights)
    first = next(iter(tensors)).partition(".")[0]
    said = refusal(
        folders["sd"], save({**tensors, f"{first}.dora_scale": torch.ones(32, 1)})
    )
    assert "is a DoRA" in said


def test_a_pointer_in_place_of_a_file_is_named(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    file = tmp_path / "lora.safetensors"
    file.write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n"
    )
    said = refusal(folders["sd"], str(file))
    assert "lora.safetensors is a Git LFS pointer" in said and "git lfs pull" in said


def test_pickled_weights_are_refused_with_the_way_out(
    folders: dict[str, Path], weights: dict[str, Any], tmp_path: Path
) -> None:
    import torch

    torch.save(of_unet(weights), tmp_path / "x.bin")
    for lora in (tmp_path / "x.bin", tmp_path):
        said = refusal(folders["sd"], str(lora))
        assert "no safetensors file: x.bin holds pickled weights" in said
        assert "save_file" in said and "\n" not in said


def test_weights_of_other_shapes_are_refused_in_one_line(
    folders: dict[str, Path],
    weights: dict[str, Any],
    save: Save,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    import torch

    wide = {
        key: torch.randn(tensor.shape[0], tensor.shape[1] + 8)
        if "lora_A" in key
        else tensor
        for key, tensor in weights.items()
    }
    said = refusal(folders["sd"], save(of_unet(wide)))
    assert "has weights of other shapes than this StableDiffusionPipeline" in said
    assert "\n" not in said and "Error(s)" not in said
    assert "size mismatch" not in caplog.text + "".join(capfd.readouterr())
