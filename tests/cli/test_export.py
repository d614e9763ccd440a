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
    assert cli("export", run, "--format", "imagefolder", "--output", "out")[0] == 0
    assert hashes(Path("out")) == images
    read = load_dataset("imagefolder", data_dir="out", split="train", cache_dir="cache")
    assert len(read) == len(images) and sorted(read["sha256"]) == images
    assert set(read.column_names) == {"image", "prompt", "index", "seed", "model", "key", "sha256"}
    assert set(read["model"]) == {"toyland"} and read[0]["image"].mode == "RGB"


def test_datasets_reads_exported_parquet(run: Path, cli: Cli) -> None:
    from datasets import Image as Feature
    from datasets import load_dataset

    assert cli("export", run, "--format", "datasets", "--output", "out")[0] == 0
    read = load_dataset("out", split="train", cache_dir="cache")
    assert isinstance(read.features["image"], Feature)
    raw = read.cast_column("image", Feature(decode=False))
    for row in raw:
        assert hashlib.sha256(row["image"]["bytes"]).hexdigest() == row["sha256"]
    assert list(read["prompt"]) == sorted(read["prompt"])


def test_webdataset_reads_exported_tars(run: Path, cli: Cli) -> None:
    from webdataset import WebDataset

    images = hashes(run / "images")
    assert cli("export", run, "--format", "webdataset", "--output", "out")[0] == 0
    read = list(WebDataset(str(Path("out/images-000000.tar")), shardshuffle=False))
    assert sorted(hashlib.sha256(one["png"]).hexdigest() for one in read) == images
    assert all(json.loads(one["json"])["prompt"] for one in read)


def test_an_exported_geneval_folder_is_as_geneval_reads_it(run: Path, cli: Cli) -> None:
    assert cli("export", run, "--format", "geneval", "--output", "out")[0] == 0
    prompts = set()
    for folder in sorted(Path("out").iterdir()):
        # As GenEval's evaluate_images.py does.
        assert folder.is_dir() and folder.name.isdigit()
        prompts.add(json.loads((folder / "metadata.jsonl").read_text())["prompt"])
        for image in (folder / "samples").iterdir():
            assert re.match(r"\d+\.png", image.name)
            Image.open(image).verify()
    assert len(prompts) == len(list(Path("out").iterdir()))
    status, _, errors = cli("export", run, "--format", "geneval", "--output", "out")
    assert status == 1 and "there already" in errors and "Traceback" not in errors


def test_prompts_are_never_names(tmp_path: Path) -> None:
    hostile = ["../../up", "/etc/passwd", "a\0b", "x" * 300, "con", "half \ud83d", "", "-rf"]
    store = ImageStore(Database(tmp_path), "f")
    for suffix, prompts in ((".png", hostile), (".jpeg", ["a photograph"])):
        buffer = io.BytesIO()
        Image.new("RGB", (4, 4), (9, 9, 9)).save(buffer, format=suffix[1:])
        store.record(store.add_image(prompt, 0, 1, buffer.getvalue(), suffix) for prompt in prompts)
    for form in ("imagefolder", "geneval", "datasets", "webdataset"):
        images = ImageStore(Database(tmp_path), "f")
        assert export(images, "m", form, tmp_path / "out" / form) == (9, [])
    names = {path.name for path in tmp_path.rglob("*")} - {"images", "out"}
    assert all(re.fullmatch(r"[0-9a-z.-]+|README\.md", name) for name in names), names
    written = tmp_path.glob("out/geneval/*/metadata.jsonl")
    (one,) = (file for file in written if json.loads(file.read_text())["prompt"] == "a photograph")
    (png,) = (one.parent / "samples").iterdir()
    assert Image.open(png).format == "PNG"


def test_images_that_are_gone_are_named_and_left_out(run: Path, cli: Cli) -> None:
    gone = sorted(run.glob("images/??/*"))[0]
    gone.unlink()
    status, _, errors = cli("export", run, "--format", "imagefolder", "--output", "out")
    assert status == 3 and gone.name in errors and len(hashes(Path("out"))) > 1
    shutil.rmtree(run / "images")
    (run / "images").mkdir()
    status, _, errors = cli("export", run, "--format", "imagefolder", "--output", "none")
    assert status == 1 and "holds no images" in errors and not Path("none").exists()
