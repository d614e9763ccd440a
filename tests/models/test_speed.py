"""Faster generation: prompts encoded once, and batches that fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench.models.generators import diffusers as module
from t2ibench.models.generators.batches import BatchSize, suited_batch_size
from t2ibench.models.generators.prompts import EncodedPrompts
from tests.models import tiny
from tests.models.tiny import REQUESTS, draw, made

ROSE = {"negative_prompt": "a rose"}
CASES: dict[str, dict[str, str]] = {
    **{"stable_diffusion": ROSE, "sdxl": ROSE, "sd3": {}, "cogview4": ROSE},
    "flux": {**ROSE, "call.true_cfg_scale": "2"},
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("pipelines")
    return {name: getattr(tiny, name)(root / name) for name in CASES}


def apart(one: list[np.ndarray], two: list[np.ndarray]) -> int:
    return max(int(np.abs(a - b).max()) for a, b in zip(one, two, strict=True))


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_a_prompt_is_encoded_once_and_the_image_is_that_of_the_plain_pipeline(
    name: str, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = made(folders[name], **CASES[name])
    with monkeypatch.context() as patch:
        patch.setattr(module, "encode_once", lambda *_: None)
        plain = made(folders[name], **CASES[name])
        alone, together = draw(plain, REQUESTS, 1), draw(plain, REQUESTS, 8)
    assert apart(draw(ours, REQUESTS, 1), alone) == 0
    # of the pipeline's own rounding
    assert apart(draw(ours, REQUESTS, 8), together) <= 1
    encoded = ours._prompts
    assert encoded is not None and encoded.works
    negative = 1 if name == "flux" else 0  # it encodes prompts of both kinds in turn
    assert encoded.calls == 4 + negative + 1  # the last to compare a pair


class Coder:
    """An `encode_prompt` that counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(
        self, prompt: list[str], device: str, negative_prompt: Any = None
    ) -> Any:
        import torch

        self.asked.append(list(prompt))
        rows = torch.tensor([[float(len(one)), float(ord(one[-1]))] for one in prompt])
        return rows, None, torch.zeros(3, 3)


def both(prompt: list[str], device: str) -> Any:
    """Two rows a prompt, all the first ones before all the second ones."""
    import torch

    return torch.tensor([[float(len(one))] for one in prompt] + [[0.0] for _ in prompt])


def longest(prompt: list[str], device: str) -> Any:
    """Padded to the longest prompt of the batch."""
    import torch

    return torch.ones(len(prompt), max(map(len, prompt)))


def test_rows_are_put_together_from_prompts_that_were_encoded_alone() -> None:
    coder = Coder()
    once = EncodedPrompts(coder)
    rows, nothing, shared = once(["ab", "c", "ab"], "cpu", negative_prompt=["x"] * 3)
    assert rows.tolist() == [[2, 98], [1, 99], [2, 98]]
    assert nothing is None and shared.shape == (3, 3)
    assert coder.asked == [["ab"], ["c"], ["ab", "c"]]  # each, and two to compare
    assert once(["c", "ab"], "cpu", ["x"] * 2)[0].tolist() == [[1, 99], [2, 98]]
    assert len(coder.asked) == 3
    once(["c"], "cpu", negative_prompt=["y"])
    once(["c"], "meta", negative_prompt=["x"])
    assert len(coder.asked) == 5  # what else decides an encoding is told apart


@pytest.mark.parametrize("method", [both, longest])
def test_encodings_that_depend_on_the_batch_come_from_the_pipeline_itself(
    method: Callable[..., Any],
) -> None:
    import torch

    once = EncodedPrompts(method)
    for batch in (["abc", "d"], ["e", "fg"]):
        assert torch.equal(once(batch, "cpu"), method(batch, "cpu"))
    assert not once.works


def test_encodings_beyond_the_limit_are_made_again() -> None:
    coder = Coder()
    once = EncodedPrompts(coder, limit=2)
    for prompt in "abcca":
        assert once([prompt], "cpu")[0].tolist() == [[1, ord(prompt)]]
    assert coder.asked == [["a"], ["b"], ["c"], ["a"]]


GIB = 1024**3


@pytest.mark.parametrize(
    ("side", "weights", "memory", "one_prompt", "size"),
    [
        (1024, 7, 80, False, 8),  # SDXL
        (1024, 7, 24, False, 4),
        (1024, 7, 12, False, 1),
        (1024, 34, 80, False, 8),  # FLUX
        (1024, 34, 40, False, 1),
        (512, 2, 24, False, 16),
        (512, 2, 8, False, 8),
        (768, 2, 80, False, 16),
        (1024, 7, 80, True, 4),
        (1024, 90, 80, False, 1),  # too large for the card: its own error says so
    ],
)
def test_the_batch_that_suits_a_card(
    side: int, weights: int, memory: int, one_prompt: bool, size: int
) -> None:
    def suited(bytes_per_number: int) -> int:
        return suited_batch_size(
            side * side,
            bytes_per_number=bytes_per_number,
            weights=weights * GIB,
            memory=memory * GIB,
            one_prompt=one_prompt,
        )

    assert suited(2) == size
    assert suited(4) <= size


def test_a_batch_is_halved_until_one_has_fitted() -> None:
    size = BatchSize(8, is_fixed=True)
    assert size.halve(8) and size.halve(4) and size.size == 2
    size.fitted()
    assert not size.halve(2) and size.size == 2
    assert not BatchSize(8, is_fixed=True, is_final=True).halve(8)
    assert not BatchSize(1, is_fixed=True).halve(1)


def test_a_batch_that_nobody_fixed_is_what_was_asked_for() -> None:
    size = BatchSize()
    size.fitted()
    assert size.of(3) == 3 and size.halve(8) and size.of(8) == 4


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "part"), [("stable_diffusion", "unet"), ("flux", "transformer")]
)
def test_the_denoiser_alone_is_compiled(
    name: str, part: str, folders: dict[str, Path]
) -> None:
    """That torch compiles it is left to torch: it takes minutes."""
    generator = made(folders[name], compile="true")
    generator.load()
    found = {
        key: any(module._compiled_call_impl is not None for module in value.modules())
        for key, value in generator._pipeline.components.items()
        if hasattr(value, "modules")
    }
    assert found == {key: key == part for key in found}
    assert generator.effective_settings()["compile"] is True
