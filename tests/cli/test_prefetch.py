"""`t2ibench prefetch`, and what a run without a network says, with a local hub."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.conftest import Cli
from tests.models import tiny
from tests.models.hub_server import LocalHub, hub_at, local_hub

pytestmark = [
    pytest.mark.networks,
    pytest.mark.slow,
    pytest.mark.usefixtures("few_words"),
]

ROOT = Path(__file__).resolve().parents[2]
NO_ANSWER = "http://127.0.0.1:1"
FLAGS = (
    *("--tasks", "t2iat_science_arts,openbias_examples", "--limit", "1"),
    *("--images-per-prompt", "1", "--permutations", "99", "--bootstrap", "50"),
    *("--encoder", "clip:org/clip", "--judge", "vlm:org/vlm"),
    *("--model-args", "steps=1,size=32"),
)
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Repositories as their makers left them: other formats and variants beside safetensors."""
    root = tmp_path_factory.mktemp("repositories")
    pipeline = tiny.sdxl(root / "pipeline")
    for part in ("unet", "vae", "text_encoder"):
        for weights in sorted((pipeline / part).glob("*.safetensors")):
            shutil.copy(weights, weights.with_suffix(".fp16.safetensors"))
            weights.with_suffix(".bin").write_bytes(b"a pickle")
    (pipeline / "all_in_one.safetensors").write_bytes(b"for another program")
    (pipeline / "README.md").write_text("A pipeline.")
    half = Path(shutil.copytree(pipeline, root / "half"))
    for part in ("unet", "vae", "text_encoder", "text_encoder_2"):
        for weights in sorted((half / part).glob("*.safetensors")):
            if ".fp16" not in weights.name:
                weights.replace(weights.with_suffix(".fp16.safetensors"))
    clip = tiny.clip_model(root / "clip")
    (clip / "pytorch_model.bin").write_bytes(b"a pickle")
    (clip / "flax_model.msgpack").write_bytes(b"of another library")
    repositories = {"org/pipeline": pipeline, "org/half": half, "org/clip": clip}
    return {**repositories, "org/vlm": tiny.llava(root / "vlm")}


@pytest.fixture
def hub(folders: dict[str, Path]) -> Iterator[LocalHub]:
    """The repositories, served."""
    with local_hub(folders) as served:
        yield served


@pytest.fixture(
    params=["this process", pytest.param("cold processes", marks=pytest.mark.nightly)]
)
def run(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
) -> Run:
    """Run a command with an empty cache at first: at once here, and at night in its own process."""
    if request.param == "cold processes":
        return lambda address, *words, **more: cold(tmp_path, address, *words, **more)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(
        address: str, *words: str, **more: str
    ) -> subprocess.CompletedProcess[str]:
        # As the client of the hub reads them from the environment when it is imported.
        with monkeypatch.context() as patch:
            hub_at(patch, address)
            patch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "home" / "hub"))
            patch.setattr(constants, "HF_HUB_OFFLINE", "HF_HUB_OFFLINE" in more)
            status, output, errors = cli(*words)
        return subprocess.CompletedProcess(words, status, output, errors)

    return call


def cold(
    folder: Path, address: str, *words: str, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, which reads all settings of the hub by itself."""
    left_out = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    environment = {
        key: value for key, value in os.environ.items() if key not in left_out
    }
    environment |= {"HF_ENDPOINT": address, "HF_HOME": str(folder / "home")}
    environment |= {"PYTHONPATH": str(ROOT), "COLUMNS": "200", **more}
    return subprocess.run(
        [sys.executable, "-m", "t2ibench", *words],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def row_of(out: str, repository: str) -> str:
    """The row of a repository, its spaces made one."""
    (row,) = [
        line
        for line in out.splitlines()
        if f" {repository} " in line and "hf " not in line
    ]
    return " ".join(row.split())


def test_a_prefetched_run_needs_no_network(
    hub: LocalHub, run: Run, tmp_path: Path
) -> None:
    listed = run(hub.address, "prefetch", "org/pipeline", *FLAGS, "--dry-run")
    assert listed.returncode == 0, listed.stderr
    for role, repository in (("model", "org/pipeline"), ("encoder", "org/clip")):
        row = row_of(listed.stdout, repository)
        assert row.startswith(f"{role} {repository} main {hub.commit(repository)[:8]} ")
        assert " no" in row
    assert "judge org/vlm" in " ".join(listed.stdout.split())
    assert set(hub.downloaded) == {"org/pipeline/model_index.json"}

    fetched = run(hub.address, "prefetch", "org/pipeline", *FLAGS)
    assert (
        fetched.returncode == 0 and "Everything is downloaded now." in fetched.stdout
    ), fetched.stderr
    ends = {Path(name).name.partition(".")[2] for name in hub.downloaded}
    assert ends == {"json", "safetensors", "jinja"} and len(hub.downloaded) > 15
    hub.downloaded.clear()
    again = run(hub.address, "prefetch", "org/pipeline", *FLAGS)
    assert again.returncode == 0 and row_of(again.stdout, "org/vlm").endswith("yes")
    assert not hub.downloaded and "of which 0 B are missing" in again.stdout

    offline = run(NO_ANSWER, "--model", "org/pipeline", *FLAGS, HF_HUB_OFFLINE="1")
    assert offline.returncode == 0, offline.stderr
    assert "Generated now" in offline.stderr and (tmp_path / "runs").is_dir()
    there = run(NO_ANSWER, "prefetch", "org/pipeline", *FLAGS, HF_HUB_OFFLINE="1")
    assert there.returncode == 0 and "Everything is downloaded already." in there.stdout


@pytest.mark.nightly
def test_weights_in_16_bits_are_fetched_where_there_are_no_others(
    hub: LocalHub, run: Run
) -> None:
    words = (
        "prefetch",
        "org/half",
        "--tasks",
        "t2iat_science_arts",
        "--encoder",
        "toyland",
    )
    fetched = run(hub.address, *words)
    assert fetched.returncode == 0, fetched.stderr
    weights = [name for name in hub.downloaded if name.endswith(".safetensors")]
    assert weights and all(name.endswith(".fp16.safetensors") for name in weights)
    assert "encoder toyland: nothing to download." in fetched.stdout


@pytest.mark.nightly
def test_a_text_encoder_alone_is_a_part_of_its_pipeline(
    hub: LocalHub, run: Run
) -> None:
    words = ("--encoder", "text_of:org/pipeline#text_encoder_2", "--permutations", "99")
    words += ("--tasks", "weat_6_gender_career_family", "--bootstrap", "50")
    assert run(hub.address, "prefetch", *words).returncode == 0
    folders = {name.split("/")[2] for name in hub.downloaded}
    assert folders == {"model_index.json", "text_encoder_2", "tokenizer_2"}
    offline = run(NO_ANSWER, *words, HF_HUB_OFFLINE="1")
    assert offline.returncode == 0, offline.stderr
    away = run(NO_ANSWER, *words, "--output-dir", "further")
    assert away.returncode == 0, away.stderr


@pytest.mark.parametrize("offline", ["", "1"])
def test_a_run_without_a_network_names_all_that_is_missing(
    offline: str, hub: LocalHub, run: Run, tmp_path: Path
) -> None:
    words = ("prefetch", "org/pipeline", *FLAGS[:-6], "--encoder", "clip:org/clip")
    assert run(hub.address, *words, "--generate-only").returncode == 0
    (weights,) = (tmp_path / "home/hub").glob(
        "models--org--pipeline/**/unet/*.safetensors"
    )
    weights.unlink()
    flags = {"HF_HUB_OFFLINE": offline} if offline else {}
    tried = run(NO_ANSWER, "--model", "org/pipeline", *FLAGS, **flags)
    assert tried.returncode == 1 and not list(tmp_path.glob("runs/*/images"))
    line = tried.stderr.strip().splitlines()[-1]
    assert "3 downloads have not been made on this machine" in line
    assert "the model 'org/pipeline', of which unet/" in line
    assert "the encoder 'org/clip'; the judge 'org/vlm'" in line
    assert "`t2ibench prefetch` with the flags of this run" in line
    assert ("HF_HUB_OFFLINE" if offline else "does not answer") in line
    listed = run(NO_ANSWER, "prefetch", "org/pipeline", *FLAGS, **flags)
    assert listed.returncode == 1 and "Nothing was downloaded: " in listed.stderr
    assert "hf download org/vlm --include '*.json'" in listed.stdout
    only_generated = run(
        NO_ANSWER, "--model", "org/pipeline", *FLAGS, "--generate-only", **flags
    )
    assert "1 download has not been made" in only_generated.stderr


def test_a_repository_that_is_not_there_does_not_keep_the_others(
    hub: LocalHub, run: Run
) -> None:
    flags = [word.replace("org/vlm", "org/typo") for word in FLAGS]
    fetched = run(hub.address, "prefetch", "org/pipeline", *flags)
    assert fetched.returncode == 1 and "Not downloaded: org/typo." in fetched.stderr
    assert "The hub has no model 'org/typo'" in fetched.stdout
    assert any(name.startswith("org/clip/") for name in hub.downloaded)


@pytest.mark.nightly
# diffusers keeps for itself whether it was offline when it was imported.
@pytest.mark.parametrize("run", ["cold processes"], indirect=True)
def test_a_lora_of_the_hub_is_read_without_a_network(
    folders: dict[str, Path], run: Run, tmp_path: Path
) -> None:
    import torch
    from safetensors.torch import save_file

    lora = tmp_path / "lora"
    lora.mkdir()
    weights = tiny_lora(folders["org/pipeline"])
    save_file({name: torch.ones(shape) * 0.01 for name, shape in weights.items()},
              lora / "pytorch_lora_weights.safetensors")  # fmt: skip
    (lora / "pytorch_lora_weights.bin").write_bytes(b"a pickle")
    words = (
        "--tasks",
        "t2iat_science_arts",
        "--limit",
        "1",
        "--images-per-prompt",
        "1",
    )
    words += ("--encoder", "toyland", "--generate-only")
    words += ("--model-args", "steps=1,size=32,lora=org/lora", "--name", "with-lora")
    with local_hub({**folders, "org/lora": lora}) as served:
        fetched = run(served.address, "prefetch", "org/pipeline", *words)
        assert fetched.returncode == 0, fetched.stderr
        assert "model (lora) org/lora" in " ".join(fetched.stdout.split())
        assert not any(name.endswith(".bin") for name in served.downloaded)
        assert run(served.address, "--model", "org/pipeline", *words).returncode == 0
    shutil.move(tmp_path / "runs", tmp_path / "online")
    offline = run(NO_ANSWER, "--model", "org/pipeline", *words, HF_HUB_OFFLINE="1")
    assert offline.returncode == 0, offline.stderr
    fingerprints = {settings_of(tmp_path / root) for root in ("online", "runs")}
    assert len(fingerprints) == 1


def settings_of(runs: Path) -> str:
    """The fingerprint of the generator of a run."""
    from t2ibench.results.run import open_run

    generator = open_run(runs / "with-lora").record.generator
    assert generator is not None
    return generator.fingerprint


def tiny_lora(pipeline: Path) -> dict[str, tuple[int, int]]:
    """Shapes of a LoRA of rank 2 for the first attention of a UNet."""
    from safetensors import safe_open

    (file,) = [
        path
        for path in (pipeline / "unet").glob("*.safetensors")
        if ".fp16" not in path.name
    ]
    with safe_open(file, "pt") as weights:
        name = next(key for key in weights.keys() if key.endswith("attn1.to_q.weight"))  # noqa: SIM118
        rows, columns = weights.get_slice(name).get_shape()
    layer = f"unet.{name.removesuffix('.weight')}"
    return {f"{layer}.lora_A.weight": (2, columns), f"{layer}.lora_B.weight": (rows, 2)}
