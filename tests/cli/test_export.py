"""`t2ibench export`: a run's images as other tools read them."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
from pathlib import Path

import pytest
from PIL import Image

from t2ibench.identity import ImageKey
from t2ibench.reports.exports import export
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore
from tests.conftest import Cli, copied

RUN = Path("runs/toyland")


@pytest.fixture
def run(shared_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copied(shared_run, tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    return RUN


def hashes(folder: Path) -> list[str]:
    """Of all images that an export wrote."""
    paths = folder.rglob("*.png")
    return sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in paths)


@pytest.mark.nightly
def test_datasets_reads_an_exported_imagefolder(run: Path, cli: Cli) -> None:
    from datasets import load_dataset

    images = hashes(run / "images")
    assert cli("export", run, "--output", "out")[0] == 0
    assert hashes(Path("out")) == images
    read = load_dataset("imagefolder", data_dir="out", split="train", cache_dir="cache")
    assert len(read) == len(images) and sorted(read["sha256"]) == images
    assert set(read.column_names) == {
        "image",
        "prompt",
        "index",
        "seed",
        "model",
        "key",
        "sha256",
    }
    assert set(read["model"]) == {"toyland"} and read[0]["image"].mode == "RGB"
    assert list(read["prompt"]) == sorted(read["prompt"])
    status, _, errors = cli("export", run, "--output", "out")
    assert status == 1 and "there already" in errors and "Traceback" not in errors


def test_prompts_are_never_names(tmp_path: Path) -> None:
    hostile = [
        "../../up",
        "/etc/passwd",
        "a\0b",
        "x" * 300,
        "con",
        "half \ud83d",
        "",
        "-rf",
    ]
    store = ImageStore(Database(tmp_path), "f")
    for suffix, prompts in ((".png", hostile), (".jpeg", ["a photograph"])):
        buffer = io.BytesIO()
        Image.new("RGB", (4, 4), (9, 9, 9)).save(buffer, format=suffix[1:])
        store.record(
            store.add_image(ImageKey.of(prompt, 0), 1, buffer.getvalue(), suffix)
            for prompt in prompts
        )
    assert export(ImageStore(Database(tmp_path), "f"), "m", tmp_path / "out") == (9, [])
    names = {path.name for path in tmp_path.rglob("*")} - {"images", "out"}
    assert all(re.fullmatch(r"[0-9a-z.-]+", name) for name in names), names
    rows = [
        json.loads(line)
        for line in (tmp_path / "out/metadata.jsonl").read_text().splitlines()
    ]
    assert len(rows) == 9 and all(
        (tmp_path / "out" / row["file_name"]).is_file() for row in rows
    )


def test_missing_images_are_named_and_left_out(run: Path, cli: Cli) -> None:
    gone = sorted(run.glob("images/??/*"))[0]
    gone.unlink()
    status, _, errors = cli("export", run, "--output", "out")
    assert status == 3 and gone.name in errors and len(hashes(Path("out"))) > 1
    shutil.rmtree(run / "images")
    (run / "images").mkdir()
    status, _, errors = cli("export", run, "--output", "none")
    assert status == 1 and "holds no images" in errors and not Path("none").exists()
