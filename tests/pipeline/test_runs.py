"""Whole runs: determinism, resuming, and what happens when things break."""

from __future__ import annotations

import errno
import hashlib
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from PIL import Image

from t2ibench import evaluate, score
from t2ibench.errors import T2IBenchError
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.pipeline import preparation as pipeline_prepare
from t2ibench.pipeline import setup
from t2ibench.pipeline.plan import make_plan
from t2ibench.results.files import read_results
from t2ibench.results.run import open_run
from t2ibench.settings import Settings
from t2ibench.tasks import load_tasks
from t2ibench.toyland import draw
from tests import hand
from tests.conftest import Cli

SMALL = {"limit": 2, "images_per_prompt": 2, "n_permutations": 500, "n_bootstrap": 200}
TASKS = "t2iat_flowers_insects,occupations_t2iat,mcas_sports,weat_6_gender_career_family"


def small_flags(folder: Path) -> list[str]:
    return [
        *("--model", "toyland", "--tasks", TASKS, "--output-dir", str(folder)),
        *("--limit", "2", "--images-per-prompt", "2"),
        *("--permutations", "500", "--bootstrap", "200"),
    ]


def image_names(folder: Path) -> set[str]:
    """Names of finished images; of those still being written there are other names."""
    return {path.name for path in (folder / "toyland" / "images").glob("??/[!.]*.png")}


def image_hashes(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "toyland" / "images").rglob("*.png"))
    }


def outputs(folder: Path) -> dict[str, bytes]:
    run = folder / "toyland"
    # The command names the folder; everything else must be the same in every folder.
    where = f"--output-dir {folder}".encode(), f'"{folder}"'.encode()
    return {
        name: re.sub(
            rb',\n "checksum": "[0-9a-f]{8}"',
            b"",
            data.replace(where[0], b"").replace(where[1], b'"runs"'),
        )
        for name, data in hand.outputs(run).items()
    }


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    evaluate("toyland", TASKS, output_dir=folder, **SMALL)
    return folder


@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_batch_size_changes_nothing(batch_size: int, reference: Path, tmp_path: Path) -> None:
    evaluate("toyland", TASKS, output_dir=tmp_path, batch_size=batch_size, **SMALL)
    assert image_hashes(tmp_path) == image_hashes(reference)
    assert outputs(tmp_path) == outputs(reference)


def test_the_order_of_tasks_and_other_tasks_change_nothing(reference: Path, tmp_path: Path) -> None:
    for task in TASKS.split(",")[::-1]:  # one run each, the last first
        evaluate("toyland", task, output_dir=tmp_path, **SMALL)
    assert image_hashes(tmp_path) == image_hashes(reference)
    evaluate("toyland", TASKS, output_dir=tmp_path, **SMALL)  # scores what is there
    assert outputs(tmp_path) == outputs(reference)


def test_an_image_that_several_tasks_need_is_drawn_once() -> None:
    both = make_plan(load_tasks("occupations_t2iat,occupations_tibet"), Settings())
    apart = [
        make_plan(load_tasks(name), Settings())
        for name in ("occupations_t2iat", "occupations_tibet")
    ]
    assert len(both.requests) == len({(r.prompt, r.index) for r in both.requests})
    assert len(both.requests) < sum(len(plan.requests) for plan in apart)
    assert {(r.prompt, r.index, r.seed) for plan in apart for r in plan.requests} == {
        (r.prompt, r.index, r.seed) for r in both.requests
    }


def test_a_second_run_makes_nothing_again(
    reference: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> list[GeneratedImage]:
        raise AssertionError("nothing was to be drawn")

    monkeypatch.setattr(ToylandGenerator, "generate", never)
    before = outputs(reference)
    status, out, err = cli("run", *small_flags(reference))
    assert status == 0
    assert "Nothing to do" in err
    assert "t2iat_flowers_insects" in out
    assert outputs(reference) == before


class Interrupted:
    """Draws so many images; then somebody presses Ctrl-C."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        if self.left < len(requests):
            raise KeyboardInterrupt
        self.left -= len(requests)
        return [GeneratedImage("ok", draw(request.prompt, request.seed)) for request in requests]


@pytest.mark.parametrize("after", [0, 10, 40])
def test_ctrl_c_leaves_a_run_that_resumes_to_the_same_bytes(
    after: int, reference: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An instance is no method: it is called without the generator it stands in.
    monkeypatch.setattr(ToylandGenerator, "generate", Interrupted(after))
    status, _, err = cli("run", *small_flags(tmp_path), "--batch-size", "4")
    assert status == 130
    assert "kept" in err
    assert len(image_hashes(tmp_path)) == after // 4 * 4
    monkeypatch.undo()
    assert cli("run", *small_flags(tmp_path))[0] == 0
    assert outputs(tmp_path) == outputs(reference)


# A run that draws a batch in no less than a twentieth of a second, so that a kill can hit it.
SLOW_RUN = """
import sys, time
from t2ibench.cli import main
from t2ibench.models.generators.toyland import ToylandGenerator

whole = ToylandGenerator.generate

def generate(own, requests):
    time.sleep(0.05)
    return whole(own, requests)

ToylandGenerator.generate = generate
main(sys.argv[1:])
"""


@pytest.mark.parametrize("after", [1, 40])
def test_a_killed_process_resumes_to_the_same_bytes(
    after: int, reference: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", SLOW_RUN, "run", *small_flags(tmp_path), "--batch-size", "2"]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while len(image_names(tmp_path)) < after and time.monotonic() < deadline:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert after <= len(image_names(tmp_path)) < len(image_names(reference))
    evaluate("toyland", TASKS, output_dir=tmp_path, **SMALL)
    assert image_hashes(tmp_path) == image_hashes(reference)
    assert outputs(tmp_path) == outputs(reference)


def test_one_failing_image_costs_one_image(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ToylandGenerator.generate

    def generate(own: ToylandGenerator, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        if any("rose" in r.prompt or "nurse" in r.prompt for r in requests):
            raise RuntimeError("a bad prompt")
        drawn = whole(own, requests)
        return [
            GeneratedImage("ok", Image.new("RGB", (64, 64))) if "wasp" in r.prompt else one
            for r, one in zip(requests, drawn, strict=True)
        ]

    monkeypatch.setattr(ToylandGenerator, "generate", generate)
    flags = [*("--model", "toyland", "--output-dir", str(tmp_path), "--images-per-prompt", "2")]
    flags += ["--permutations", "500", "--bootstrap", "200"]
    status, _, err = cli("run", *flags, "--tasks", "t2iat_flowers_insects")
    assert status == 3
    page = (tmp_path / "toyland" / "results.md").read_text()
    assert "10 failed" in page  # one neutral and four guided prompts of 'rose', two images each
    assert "10 filtered" in page  # all black
    assert "some evidence is missing" in err
    task = json.loads((tmp_path / "toyland" / "results.json").read_text())["tasks"][
        "t2iat_flowers_insects"
    ]
    assert task["excluded"]["failed"] == task["excluded"]["filtered"] == 10
    assert "rose, wasp" in task["warnings"][0]
    assert task["headline"]["value"] is not None
    rows = hand.stored(tmp_path / "toyland", "attempts")
    failed = [row for row in rows if row["status"] == "failed"]
    assert {row["reason"] for row in failed} == {"RuntimeError: a bad prompt"}
    monkeypatch.undo()
    status, _, _ = cli("run", *flags, "--tasks", "t2iat_flowers_insects")
    assert status == 0  # failed ones were tried again, black ones were not
    page = (tmp_path / "toyland" / "results.md").read_text()
    assert "10 filtered" in page and "failed" not in page


def test_a_full_disk_is_one_line_and_nothing_is_lost(
    reference: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = {"count": 0}
    real = Path.write_bytes

    def write_bytes(path: Path, data: bytes) -> int:
        written["count"] += 1
        if written["count"] > 20:
            real(path, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    status, _, err = cli("run", *small_flags(tmp_path), "--batch-size", "5")
    assert status == 1
    assert err.strip().splitlines()[-1].startswith("t2ibench: The disk is full:")
    assert "Traceback" not in err
    monkeypatch.undo()
    assert len(image_hashes(tmp_path)) == 20
    assert not list((tmp_path / "toyland").rglob("*.tmp"))
    assert cli("run", *small_flags(tmp_path))[0] == 0
    assert outputs(tmp_path) == outputs(reference)


def test_score_repeats_the_results_without_a_model(
    reference: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> object:
        raise AssertionError("no model is needed")

    monkeypatch.setattr(pipeline_prepare, "create_generator", never)
    monkeypatch.setattr(setup, "create_encoder", never)
    before = outputs(reference)
    (reference / "toyland" / "results.json").unlink()
    score(reference / "toyland")
    assert outputs(reference) == before
    with pytest.raises(T2IBenchError, match="not a run folder"):
        score(reference)


def test_settings_never_share_a_folder(tmp_path: Path) -> None:
    tasks = "occupations_t2iat"
    evaluate("toyland", tasks, output_dir=tmp_path, **SMALL)
    evaluate("toyland", tasks, model_args={"all.gender.female": 0.5}, output_dir=tmp_path, **SMALL)
    evaluate("toyland", tasks, seed=1, output_dir=tmp_path, **SMALL)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 3 and names[0] == "toyland"
    assert all(name.startswith("toyland-") for name in names[1:])


def test_several_encoders_are_reported_apart_and_together(tmp_path: Path) -> None:
    from tests.models.tiny import clip_model

    clip = f"clip:{clip_model(tmp_path / 'clip')}"
    results = evaluate(
        "toyland",
        "t2iat_flowers_insects",
        encoder=["toyland", clip],
        output_dir=tmp_path,
        **SMALL,
    )
    task = results.tasks["t2iat_flowers_insects"]
    assert set(task.by_encoder) == {"toyland", clip}
    each = [one.scores["differential_association"].value for one in task.by_encoder.values()]
    assert task.scores["differential_association"].value == pytest.approx(sum(each) / 2)
    signs = {
        (one.scores["differential_association"].value or 0.0) > 0
        for one in task.by_encoder.values()
    }
    assert task.encoder_agreement is (len(signs) == 1)
    named = results.command[results.command.index("--encoder") + 1]
    assert set(named.split(",")) == {"toyland", clip}


def test_a_diffusers_folder_with_an_open_clip_model(tmp_path: Path, cli: Cli) -> None:
    from tests.models.tiny import open_clip_model, stable_diffusion

    folder = stable_diffusion(tmp_path / "pipeline")
    architecture, weights = open_clip_model(tmp_path / "open_clip")
    status, _, err = cli(
        *("--model", folder, "--encoder", f"open_clip:{architecture}/{weights}"),
        *("--tasks", "t2iat", "--model_args", "steps=1,size=32", "--limit", "1"),
        *("--images_per_prompt", "1", "--output-dir", tmp_path / "runs"),
        *("--permutations", "200", "--bootstrap", "100"),
    )
    assert status == 0, err
    run = next((tmp_path / "runs").iterdir())
    assert len(read_results(run).tasks) >= 8
    generator = open_run(run).record.generator
    assert generator is not None and generator.settings["steps"] == 1


def test_pictures_that_exist(tmp_path: Path, cli: Cli) -> None:
    from t2ibench.methods import needs

    spec = load_tasks("occupations_t2iat")[0].spec
    rows = []
    for need in needs(spec, Settings(images_per_prompt=3)).prompts:
        if "chemist" in need.prompt:
            continue
        for index in range(3):
            name = f"{len(rows)}.png"
            (tmp_path / "pictures").mkdir(exist_ok=True)
            draw(need.prompt, index).save(tmp_path / "pictures" / name)
            rows.append({"file": name, "prompt": need.prompt})
    manifest = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "pictures" / "prompts.jsonl").write_text(manifest)
    flags = [
        *("--model", f"folder:{tmp_path / 'pictures'}", "--encoder", "toyland"),
        *("--output-dir", tmp_path / "runs", "--permutations", "200", "--bootstrap", "100"),
        *("--images-per-prompt", "3"),
    ]
    status, _, err = cli(*flags, "--tasks", "occupations_t2iat")
    assert status == 1  # the only task cannot run
    assert "A photo of a chemist" in err and "9 prompts" in err
    manifest += "".join(
        json.dumps({"file": "0.png", "prompt": f"A {what} of a{who} chemist"}) + "\n"
        for what in ("photo", "portrait", "picture")
        for who in ("", " male", " female")
    )
    (tmp_path / "pictures" / "prompts.jsonl").write_text(manifest)
    status, out, err = cli(*flags, "--tasks", "occupations_t2iat,weat_7_math_arts")
    assert status == 3, err  # finished, some evidence is missing
    assert "9 prompts have fewer images" in err
    assert "1 of 3: A photo of a chemist" in err
    assert "occupations_t2iat" in out


def test_word_vectors_without_a_generator(tmp_path: Path, cli: Cli) -> None:
    import numpy as np

    from t2ibench.methods import needs

    rng = np.random.default_rng(0)
    words = {w for task in load_tasks("weat") for w in needs(task.spec, Settings()).texts}
    words -= {"whip"}
    rows = [f"{w} {' '.join(f'{v:.4f}' for v in rng.normal(size=20))}" for w in sorted(words)]
    (tmp_path / "vectors.txt").write_text("\n".join(rows) + "\n")
    status, out, err = cli(
        *("--encoder", f"vectors:{tmp_path / 'vectors.txt'}", "--tasks", "weat"),
        *("--output-dir", tmp_path / "runs", "--permutations", "500", "--bootstrap", "100"),
    )
    assert status == 0, err
    assert out.count("weat_") >= 10
    results = json.loads(next((tmp_path / "runs").glob("*/results.json")).read_text())
    assert results["model"]["name"] is None
    missing = results["tasks"]["weat_2_instruments_weapons"]["details"]["missing_words"]
    assert missing == {"Y": ["whip"]}
    status, _, err = cli("--encoder", f"vectors:{tmp_path / 'vectors.txt'}", "--tasks", "t2iat")
    assert status == 1 and "name a model with --model" in err


class Walked(ToylandGenerator):
    """Notes the functions between the command line and itself."""

    ways: ClassVar[list[list[str]]] = []

    def __init__(self) -> None:
        super().__init__({})

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        names = [frame.function for frame in inspect.stack()]
        self.ways.append(names[: names.index("main") + 1])
        return super().generate(requests)


def test_an_image_is_eight_functions_from_the_command_line(tmp_path: Path, cli: Cli) -> None:
    words = ("--model", f"{__name__}:Walked", "--tasks", "t2iat_flowers_insects", "--limit", "1")
    words += ("--encoder", "toyland", "--permutations", "200", "--bootstrap", "100")
    status, _, said = cli(*words, "--images-per-prompt", "1", "--output-dir", tmp_path)
    assert status == 0, said
    walk = ["main", "run", "execute", "run_stage", "run", "do", "generated", "generate"]
    assert all(way == walk[::-1] for way in Walked.ways) and Walked.ways
