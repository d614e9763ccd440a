"""Models of transformers that read and draw: the same tokens in any batch, a seed an image."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import create_generator
from t2ibench.models.protocols import ImageRequest
from tests.models import tiny, tiny_unified

pytestmark = pytest.mark.networks

KINDS = ("janus", "emu3")
SIZES = {"janus": {}, "emu3": {"size": "32x24"}}
PIXELS = {"janus": (16, 16), "emu3": (32, 24)}
PROMPTS = ("a nurse", "a chef", "a clerk", "a person at work")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("unified")
    makers = {"janus": tiny_unified.janus, "emu3": tiny_unified.emu3}
    return {name: make(root / name) for name, make in makers.items()}


def model_of(folders: dict[str, Path], kind: str, **args: Any) -> Any:
    spec = f"transformers:{folders[kind]}"
    return create_generator(spec, {**SIZES[kind], **args}, device="cpu")


def requests(count: int) -> list[ImageRequest]:
    return [
        ImageRequest(
            PROMPTS[number % len(PROMPTS)], number // len(PROMPTS), 50 + number
        )
        for number in range(count)
    ]


def pixels(model: Any, wanted: list[ImageRequest]) -> list[Any]:
    images = model.generate(wanted)
    assert [image.status for image in images] == ["ok"] * len(wanted)
    return [np.asarray(image.image) for image in images]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_one_three_and_eight_draw_the_same(
    kind: str, folders: dict[str, Path]
) -> None:
    import torch

    model = model_of(folders, kind)
    wanted = requests(8)
    together = pixels(model, wanted)
    assert together[0].shape == (*PIXELS[kind][::-1], 3)
    assert len({image.tobytes() for image in together}) == len(wanted)
    # The process's own random numbers decide nothing.
    torch.manual_seed(12345)
    for size in (1, 3):
        parts = [wanted[start : start + size] for start in range(0, 8, size)]
        apart = [image for part in parts for image in pixels(model, part)]
        for first, second in zip(together, apart, strict=True):
            assert np.array_equal(first, second)
    (again,) = pixels(model_of(folders, kind), wanted[5:6])
    assert np.array_equal(again, together[5])
    other_seed = ImageRequest(wanted[5].prompt, wanted[5].index, 999)
    assert not np.array_equal(pixels(model, [other_seed])[0], again)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_settings_change_images_and_fingerprint_and_defaults_are_recorded(
    kind: str, folders: dict[str, Path]
) -> None:
    plain = model_of(folders, kind)
    assert plain.effective_settings() == {}
    before = pixels(plain, requests(1))[0]
    effective = plain.effective_settings()
    # Its own generation config, and its authors' guidance.
    expected = {"janus": (5.0, 0.9, None), "emu3": (3.0, None, 12)}[kind]
    names = ("guidance", "temperature", "top_k")
    assert tuple(effective[name] for name in names) == expected
    for args in ({"guidance": 1.5}, {"temperature": 3.0}, {"top_k": 1}):
        changed = model_of(folders, kind, **args)
        assert changed.fingerprint != plain.fingerprint
        assert not np.array_equal(pixels(changed, requests(1))[0], before), args
    # With one token to draw from, the seed decides nothing any more.
    greedy = model_of(folders, kind, top_k=1)
    first, other = ImageRequest("a nurse", 0, 1), ImageRequest("a nurse", 0, 2)
    assert np.array_equal(*pixels(greedy, [first, other]))
    plain.release()
    assert np.array_equal(pixels(plain, requests(1))[0], before)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_check_adapter_passes(
    kind: str, folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    given = ",".join(f"{key}={value}" for key, value in SIZES[kind].items())
    words = ["check", "adapter", f"transformers:{folders[kind]}", "--device", "cpu"]
    words += ["--model-args", given] if given else []
    status = main([*words, "--other-args", "guidance=2"])
    assert status == 0, capsys.readouterr().out


def test_janus_has_one_size_and_no_negative_prompt(folders: dict[str, Path]) -> None:
    with pytest.raises(T2IBenchError, match="images of one size"):
        model_of(folders, "janus", size="64")
    with pytest.raises(T2IBenchError, match="no prompt at all"):
        model_of(folders, "janus", negative_prompt="blurred")
    with pytest.raises(T2IBenchError, match="setting of servers"):
        model_of(folders, "emu3", size="auto")


def test_what_does_not_draw_is_refused_with_its_reason(tmp_path: Path) -> None:
    chameleon = tiny_unified.chameleon(tmp_path / "chameleon")
    with pytest.raises(T2IBenchError, match=r"is a chameleon: .* were trained not to"):
        create_generator(f"transformers:{chameleon}")
    other = tiny.llava(tmp_path / "llava")
    with pytest.raises(T2IBenchError, match="is a llava, which transformers: does not"):
        create_generator(f"transformers:{other}")
    with pytest.raises(T2IBenchError, match="No such folder"):
        create_generator(f"transformers:{tmp_path}/nothing")


@pytest.mark.slow
def test_weights_that_are_no_safetensors_are_refused(
    tmp_path: Path, folders: dict[str, Path]
) -> None:
    import shutil

    import torch
    from safetensors.torch import load_file

    folder = shutil.copytree(folders["janus"], tmp_path / "pickled")
    weights = folder / "model.safetensors"
    torch.save(load_file(weights), folder / "pytorch_model.bin")
    weights.unlink()
    model: Any = create_generator(f"transformers:{folder}", device="cpu")
    with pytest.raises(T2IBenchError, match="safetensors"):
        model.generate(requests(1))
