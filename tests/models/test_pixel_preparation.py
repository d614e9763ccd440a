"""Preprocessing in two parts gives the numbers of preprocessing in one, to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from t2ibench.models.encoders import create_encoder
from t2ibench.models.encoders.pixel_preparation import PixelPreparation
from tests.models import tiny

pytestmark = [pytest.mark.networks, pytest.mark.slow]


def pictures() -> list[Image.Image]:
    """Images that contain every byte in each channel, in several shapes."""
    rng = np.random.default_rng(0)
    shapes = ((300, 400), (50, 70), (224, 224), (513, 257))
    return [
        Image.fromarray(rng.integers(0, 256, (*shape, 3), dtype=np.uint8))
        for shape in shapes
    ]


@pytest.mark.parametrize("resize_mode", ["shortest", "longest", "squash"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_numbers_are_those_of_open_clips_own_transform(
    resize_mode: str, dtype: str
) -> None:
    import torch
    from open_clip.transform import image_transform

    transform = image_transform(224, is_train=False, resize_mode=resize_mode)
    precision = getattr(torch, dtype)
    expected = torch.stack([transform(image) for image in pictures()]).to(precision)
    preparation = PixelPreparation(transform, in_two_parts=True)
    prepared = torch.stack([preparation.prepare(image) for image in pictures()])
    assert prepared.dtype == torch.uint8
    assert torch.equal(preparation.numbers(prepared, precision), expected)


def test_a_preprocessing_with_other_last_steps_stays_whole() -> None:
    import torch
    from torchvision import transforms

    def blur(pixels: Any) -> Any:
        return torch.nn.functional.avg_pool2d(pixels, 3)

    steps = [transforms.Resize((64, 64)), transforms.ToTensor(), blur]
    for preprocess in (transforms.Compose(steps), transforms.ToTensor()):
        preparation = PixelPreparation(preprocess, in_two_parts=True)
        image = pictures()[0]
        prepared = preparation.prepare(image)
        assert torch.equal(
            preparation.numbers(prepared[None], torch.float32)[0], preprocess(image)
        )


def test_an_encoder_gives_the_same_rows_in_two_parts(tmp_path: Path) -> None:
    from open_clip.transform import image_transform

    architecture, weights = tiny.open_clip_model(tmp_path)
    encoder: Any = create_encoder(f"open_clip:{architecture}/{weights}", device="cpu")
    rows = []
    for in_two_parts in (False, True):
        size = encoder.towers().visual.image_size
        transform = image_transform(size, is_train=False)
        encoder._pixels = PixelPreparation(transform, in_two_parts=in_two_parts)
        prepared = [encoder.prepare(image) for image in pictures()]
        rows.append(encoder.encode_images(prepared))
    assert np.array_equal(rows[0], rows[1])
