"""What a run says at its start: that the machine is busy, and what a name's folder holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.models import tiny

TASK = ("--tasks", "t2iat_flowers_insects", "--limit", "2", "--images-per-prompt", "1")
ONLY_IMAGES = (*TASK, "--generate-only")


@pytest.mark.parametrize(("load", "shown"), [(12.3, True), (2.4, False), (0.0, False)])
def test_a_busy_machine_is_reported_once(
    load: float, shown: bool, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("t2ibench.worker_pool.load_average", lambda: load)
    monkeypatch.setattr("t2ibench.worker_pool.cores", lambda: 2)
    words = ("--model", "toyland", *ONLY_IMAGES, "--output-dir", tmp_path)
    status, _, err = cli(*words)
    line = "The machine is busy: load 12 on 2 cores; times will be longer."
    assert status == 0 and err.count(line) == shown and "load 2" not in err
    assert line not in cli(*words, "--dry-run")[2]


@pytest.mark.parametrize(
    ("words", "difference"),
    [
        (("--seed", "1"), "seed: 0 there, 1 here"),
        (
            ("--model-args", "nurse.gender.female=.5"),
            "nurse.gender.female: not set there, 0.5 he",
        ),
        (
            ("--seed", "1", "--model-args", "nurse.gender.female=.5"),
            "; seed: 0 there, 1 here",
        ),
    ],
)
def test_a_name_that_is_taken_says_which_setting_differs(
    words: tuple[str, ...], difference: str, cli: Cli, tmp_path: Path
) -> None:
    first = (
        "--model",
        "toyland",
        *ONLY_IMAGES,
        "--name",
        "x",
        "--output-dir",
        tmp_path,
    )
    assert cli(*first)[0] == 0
    status, _, err = cli(*first, *words)
    assert status == 1 and "holds a run of toyland with other settings: " in err
    assert (
        difference in err
        and "Give another --name, such as a commit's or a date's" in err
    )


@pytest.mark.slow
def test_a_lora_that_was_trained_again_is_named_by_its_content(
    cli: Cli, tmp_path: Path
) -> None:
    pipeline = tiny.stable_diffusion(tmp_path / "pipeline")
    lora = tmp_path / "lora.safetensors"
    lora.write_bytes(b"first")
    args = f"steps=1,size=32,lora={lora}"
    words = (
        "--model",
        pipeline,
        *ONLY_IMAGES,
        "--name",
        "x",
        "--output-dir",
        tmp_path / "runs",
    )
    status, _, err = cli(*words, "--model-args", args, "--dry-run")
    assert status == 0, err
    folder_with(tmp_path / "runs/x", str(pipeline), args)
    assert cli(*words, "--model-args", args, "--dry-run")[0] == 0
    lora.write_bytes(b"trained again")
    status, _, err = cli(*words, "--model-args", args, "--dry-run")
    assert (
        status == 1
        and "with other settings: lora's content" in err
        and "steps" not in err
    )
    more = args.replace("steps=1", "steps=2")
    status, _, err = cli(*words, "--model-args", more, "--dry-run")
    assert status == 1 and "steps: 1 there, 2 here" in err


def folder_with(path: Path, model: str, args: str) -> None:
    """A run folder with the record of a generator, without an image."""
    from t2ibench.arguments import parse_args
    from t2ibench.models.generators import create_generator
    from t2ibench.results.record import GeneratorRecord, RunRecord
    from t2ibench.results.run import RunFolder

    generator = create_generator(model, parse_args(args))
    record = GeneratorRecord(
        name=generator.name,
        model=model,
        revision=generator.revision,
        fingerprint=generator.fingerprint,
        settings=dict(generator.settings),
    )
    RunFolder(path, RunRecord(generator=record)).save()
