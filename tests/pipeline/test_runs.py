"""Whole runs: determinism, resuming, and what happens when things break."""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image

from t2ibench import evaluate, score
from t2ibench.errors import T2IBenchError
from t2ibench.methods import needs
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.pipeline import preparation as pipeline_prepare
from t2ibench.pipeline import worker
from t2ibench.pipeline.plan import make_plan
from t2ibench.results.files import read_results
from t2ibench.results.run import open_run
from t2ibench.settings import Settings
from t2ibench.tasks import load_tasks
from tests import hand
from tests.conftest import Cli

pytestmark = [pytest.mark.networks, pytest.mark.usefixtures("few_words")]

SMALL = {"limit": 2, "images_per_prompt": 2, "n_permutations": 500, "n_bootstrap": 200}
OCCUPATIONS = ("occupations_t2iat", "occupations_tibet")
TASKS = (
    "t2iat_flowers_insects,occupations_t2iat,mcas_sports,weat_6_gender_career_family"
)


def flags(folder: Path, tasks: str = TASKS) -> list[str]:
    return [
        *(
            "--model",
            "toyland",
            "--tasks",
            tasks,
            "--output-dir",
            str(folder),
            "--limit",
            "2",
        ),
        *("--images-per-prompt", "2", "--permutations", "500", "--bootstrap", "200"),
    ]


def image_hashes(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "toyland" / "images").rglob("*.png"))
    }


def outputs(folder: Path) -> dict[str, bytes]:
    run = folder / "toyland"
    # The command names the folder; everything else must be the same in every folder.
    where = f"--output-dir {folder}".encode(), f'"{folder}"'.encode()
    checksum = rb',\n "checksum": "[0-9a-f]{8}"'
    return {
        name: re.sub(
            checksum, b"", data.replace(where[0], b"").replace(where[1], b'"runs"')
        )
        for name, data in hand.outputs(run).items()
    }


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    evaluate("toyland", TASKS, output_dir=folder, **SMALL)
    return folder


def test_batches_other_tasks_and_their_order_change_nothing(
    reference: Path, tmp_path: Path
) -> None:
    # one run each, the last first, and all
    for tasks in (*TASKS.split(",")[::-1], TASKS):
        evaluate("toyland", tasks, output_dir=tmp_path, batch_size=3, **SMALL)
    assert image_hashes(tmp_path) == image_hashes(reference)
    assert outputs(tmp_path) == outputs(reference)


def test_an_image_that_several_tasks_need_is_drawn_once() -> None:
    one, other, both = (
        make_plan(load_tasks(names), Settings()).requests
        for names in (*OCCUPATIONS, ",".join(OCCUPATIONS))
    )
    assert len(both) == len({(r.prompt, r.index) for r in both}) < len(one) + len(other)
    assert {*one, *other} == {*both}


def test_a_second_run_makes_nothing_again(
    reference: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToylandGenerator, "generate", Mock(side_effect=AssertionError))
    before = outputs(reference)
    status, out, err = cli("run", *flags(reference))
    assert status == 0
    assert "Nothing to do" in err and "t2iat_flowers_insects" in out
    assert outputs(reference) == before
    monkeypatch.setattr(pipeline_prepare, "create_generator", None)
    monkeypatch.setattr(worker, "create_encoder", None)
    (reference / "toyland" / "results.json").unlink()
    score(reference / "toyland")  # needs no model
    assert outputs(reference) == before
    with pytest.raises(T2IBenchError, match="not a run folder"):
        score(reference)


def test_ctrl_c_leaves_a_run_that_resumes_to_the_same_bytes(
    reference: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches, whole = iter(range(10)), ToylandGenerator.generate

    def generate(
        own: ToylandGenerator, requests: Sequence[ImageRequest]
    ) -> list[GeneratedImage]:
        if next(batches, None) is None:
            raise KeyboardInterrupt
        return whole(own, requests)

    monkeypatch.setattr(ToylandGenerator, "generate", generate)
    status, _, err = cli("run", *flags(tmp_path), "--batch-size", "4")
    assert status == 130 and "kept" in err
    assert len(image_hashes(tmp_path)) == 40
    monkeypatch.undo()
    assert cli("run", *flags(tmp_path))[0] == 0
    assert outputs(tmp_path) == outputs(reference)


def test_one_failing_image_costs_one_image(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ToylandGenerator.generate

    def generate(
        own: ToylandGenerator, requests: Sequence[ImageRequest]
    ) -> list[GeneratedImage]:
        if any("rose" in r.prompt or "nurse" in r.prompt for r in requests):
            raise RuntimeError("a bad prompt")
        drawn = whole(own, requests)
        return [
            GeneratedImage("ok", Image.new("RGB", (64, 64)))
            if "wasp" in r.prompt
            else one
            for r, one in zip(requests, drawn, strict=True)
        ]

    monkeypatch.setattr(ToylandGenerator, "generate", generate)
    words, run = flags(tmp_path, "t2iat_flowers_insects"), tmp_path / "toyland"
    words.remove("--limit")
    words.remove("2")
    status, _, err = cli("run", *words)
    assert status == 3 and "some evidence is missing" in err
    page = (run / "results.md").read_text()
    # one neutral and four guided prompts of 'rose', two images each
    assert "10 failed" in page
    assert "10 filtered" in page  # all black
    task = read_results(run).tasks["t2iat_flowers_insects"]
    assert task.excluded["failed"] == task.excluded["filtered"] == 10
    assert "rose, wasp" in task.warnings[0] and task.headline.value is not None
    reasons = {
        row["reason"]
        for row in hand.stored(run, "attempts")
        if row["status"] == "failed"
    }
    assert reasons == {"RuntimeError: a bad prompt"}
    monkeypatch.undo()
    # failed ones were tried again, black ones were not
    assert cli("run", *words)[0] == 0
    page = (run / "results.md").read_text()
    assert "10 filtered" in page and "failed" not in page


def test_a_full_disk_is_one_line_and_nothing_is_lost(
    reference: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, real = iter(range(20)), Path.write_bytes

    def write_bytes(path: Path, data: bytes) -> int:
        if next(left, None) is None:
            real(path, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    status, _, err = cli("run", *flags(tmp_path), "--batch-size", "5")
    assert status == 1 and "Traceback" not in err
    assert err.strip().splitlines()[-1].startswith("t2ibench: The disk is full:")
    monkeypatch.undo()
    assert len(image_hashes(tmp_path)) == 20
    assert not list((tmp_path / "toyland").rglob("*.tmp"))
    assert cli("run", *flags(tmp_path))[0] == 0
    assert outputs(tmp_path) == outputs(reference)


def test_several_encoders_are_reported_apart_and_together(tmp_path: Path) -> None:
    from tests.models.tiny import clip_model

    clip = f"clip:{clip_model(tmp_path / 'clip')}"
    name = "t2iat_flowers_insects"
    results = evaluate(
        "toyland", name, encoder=["toyland", clip], output_dir=tmp_path, **SMALL
    )
    task = results.tasks[name]
    assert set(task.by_encoder) == {"toyland", clip}
    score = "differential_association"
    first, second = (one.scores[score].value for one in task.by_encoder.values())
    assert task.scores[score].value == pytest.approx((first + second) / 2)
    assert task.encoder_agreement is ((first > 0) == (second > 0))
    named = results.command[results.command.index("--encoder") + 1]
    assert set(named.split(",")) == {"toyland", clip}


def test_a_diffusers_folder_with_an_open_clip_model(tmp_path: Path, cli: Cli) -> None:
    from tests.models.tiny import open_clip_model, stable_diffusion

    folder = stable_diffusion(tmp_path / "pipeline")
    architecture, weights = open_clip_model(tmp_path / "open_clip")
    status, _, err = cli(
        *("--model", folder, "--encoder", f"open_clip:{architecture}/{weights}"),
        *(
            "--tasks",
            "t2iat_science_arts",
            "--model-args",
            "steps=1,size=32",
            "--limit",
            "1",
        ),
        *("--images-per-prompt", "1", "--output-dir", tmp_path / "runs"),
        *("--permutations", "200", "--bootstrap", "100"),
    )
    assert status == 0, err
    run = next((tmp_path / "runs").iterdir())
    assert read_results(run).tasks["t2iat_science_arts"].headline.value is not None
    assert open_run(run).record.generator.settings["steps"] == 1


def test_word_vectors_without_a_generator(tmp_path: Path, cli: Cli) -> None:
    rng = np.random.default_rng(0)
    tasks = "weat_1_flowers_insects,weat_2_instruments_weapons"
    words = {
        w for task in load_tasks(tasks) for w in needs(task.spec, Settings()).texts
    }
    words -= {"whip"}
    rows = [
        f"{w} {' '.join(f'{v:.4f}' for v in rng.normal(size=20))}"
        for w in sorted(words)
    ]
    (tmp_path / "vectors.txt").write_text("\n".join(rows) + "\n")
    status, out, err = cli(
        *("--encoder", f"vectors:{tmp_path / 'vectors.txt'}", "--tasks", tasks),
        *(
            "--output-dir",
            tmp_path / "runs",
            "--permutations",
            "500",
            "--bootstrap",
            "100",
        ),
    )
    assert status == 0 and out.count("weat_") >= 2, err
    results = read_results(next((tmp_path / "runs").iterdir()))
    assert results.model.name is None
    details = results.tasks["weat_2_instruments_weapons"].details
    assert details["missing_words"] == {"Y": ["whip"]}
    status, _, err = cli(
        "--encoder", f"vectors:{tmp_path / 'vectors.txt'}", "--tasks", "t2iat"
    )
    assert status == 1 and "name a model with --model" in err
