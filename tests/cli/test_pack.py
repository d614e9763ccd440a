"""`t2ibench pack`, `unpack` and `export`: everything that reads a run reads a packed one."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from t2ibench import evaluate
from t2ibench.explorer.source import open_collection
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.reports.exports import export
from t2ibench.store.images import ImageStore
from t2ibench.store.locks import Claims
from t2ibench.store.packing import pack

Cli = Callable[..., tuple[int, str, str]]
TASKS = "t2iat_flowers_insects,openbias_examples"
SMALL: dict[str, Any] = {
    "limit": 1, "images_per_prompt": 2, "n_permutations": 200, "n_bootstrap": 50,
}  # fmt: skip
FLAGS = [
    *("--model", "toyland", "--tasks", TASKS, "--limit", "1", "--images-per-prompt", "2"),
    *("--permutations", "200", "--bootstrap", "50"),
]
RUN = Path("runs/toyland")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        evaluate("toyland", TASKS, **SMALL)
    return folder


@pytest.fixture
def run(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(whole / "runs", tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    return RUN


@pytest.fixture
def packed(run: Path, cli: Cli) -> Path:
    status, out, _ = cli("pack", run)
    assert status == 0 and not list(run.glob("images/??/*")), out
    return run


def hashes(folder: Path) -> list[str]:
    """Of all images that an export wrote."""
    paths = folder.rglob("*.png")
    return sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in paths)


@pytest.mark.slow
def test_a_packed_run_is_resumed_scored_and_reported_as_before(
    run: Path, cli: Cli, tmp_path: Path
) -> None:
    results = (run / "results.json").read_bytes()
    page = (run / "report.html").read_text()
    images = hashes(run / "images")
    samples = {path.name: path.read_bytes() for path in run.glob("samples/*")}
    status, _, said = cli("pack", run)
    count = re.search(r"^(\d+) images .* packed into 1 file: ", said, re.M)
    assert status == 0 and count and int(count[1]) == len(images)
    (run / "report.html").unlink()
    assert cli("score", run)[0] == 0
    assert (run / "results.json").read_bytes() == results
    assert (run / "report.html").read_text() == page and "data:image/webp" in page
    status, out, errors = cli(*FLAGS)
    assert status == 0 and "Generating" not in out + errors
    assert (run / "results.json").read_bytes() == results
    assert {path.name: path.read_bytes() for path in run.glob("samples/*")} == samples
    assert not list(run.glob("images/??/*"))
    status, _, said = cli("pack", run)
    assert status == 0 and f"Nothing to pack: {len(images)} images are packed." in said
    assert cli("unpack", run)[0] == 0
    assert hashes(run / "images") == images and not (run / "images/packs").exists()


def test_new_evidence_is_made_of_packed_images(packed: Path, cli: Cli) -> None:
    results = (packed / "results.json").read_bytes()
    shutil.rmtree(packed / "evidence")
    status, _, errors = cli(*FLAGS)
    assert status == 0 and "cannot be used" not in errors
    assert (packed / "results.json").read_bytes() == results
    assert not list(packed.glob("images/??/*"))


@pytest.mark.slow
def test_more_images_are_drawn_beside_the_packs(packed: Path, cli: Cli, tmp_path: Path) -> None:
    more = [word if word != "2" else "3" for word in FLAGS]
    assert cli(*more)[0] == 0
    new = list(packed.glob("images/??/*"))
    assert new
    assert cli(*more, "--output-dir", tmp_path / "at-once")[0] == 0
    ours, theirs = (
        json.loads((folder / "results.json").read_text())["tasks"]
        for folder in (packed, tmp_path / "at-once/toyland")
    )
    assert ours == theirs
    assert cli("pack", packed)[0] == 0
    assert (
        not list(packed.glob("images/??/*")) and len(list(packed.glob("images/packs/*.tar"))) == 2
    )


@pytest.mark.slow
def test_a_damaged_member_is_drawn_again(packed: Path, cli: Cli) -> None:
    results = (packed / "results.json").read_bytes()
    (tar,) = packed.glob("images/packs/*.tar")
    data = bytearray(tar.read_bytes())
    data[600] ^= 1  # in the first image
    tar.write_bytes(data)
    shutil.rmtree(packed / "evidence")
    status, _, errors = cli(*FLAGS)
    assert status == 0 and "has changed since it was packed" in errors
    assert (packed / "results.json").read_bytes() == results
    assert len(list(packed.glob("images/??/*"))) == 1
    assert cli("pack", packed)[0] == 0 and cli("unpack", packed)[0] == 0
    assert cli("score", packed)[0] == 0 and (packed / "results.json").read_bytes() == results


def test_the_explorer_labels_and_thumbnails_show_packed_images(packed: Path, cli: Cli) -> None:
    found = open_collection([packed], None, SilentReporter())
    assert {hashlib.sha256(one.data()).hexdigest() for one in found.pictures} == {
        one.sha256 for one in found.pictures
    }
    status, _, errors = cli("label", "export", packed, "--images", "3")
    assert status == 0 and list(packed.glob("labels/images/*.jpg")), errors


@pytest.mark.slow
def test_a_packed_run_is_submitted_as_an_unpacked_one(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    evaluate("toyland", "t2iat_flowers_insects", images_per_prompt=2, guided_images_per_prompt=1)
    for name in ("files", "packs"):
        status, _, errors = cli("leaderboard", "add", RUN, "--to", name, "--thumbnails", "4")
        assert status == 0, errors
        assert cli("pack", RUN)[0] == 0
    (files,), (packs,) = Path("files").iterdir(), Path("packs").iterdir()
    thumbs = [{p.name: p.read_bytes() for p in f.glob("thumbs/*")} for f in (files, packs)]
    assert thumbs[0] and thumbs[0] == thumbs[1]
    assert (files / "attempts.jsonl").read_bytes() == (packs / "attempts.jsonl").read_bytes()
    assert cli("leaderboard", "verify", packs)[0] == 0


def test_packing_waits_for_nobody_at_work(run: Path, cli: Cli) -> None:
    with Claims(run).take("generate-0") as mine:
        assert mine
        for verb in ("pack", "unpack"):
            status, _, errors = cli(verb, run)
            assert status == 1
            assert f"process {os.getpid()} on " in errors and "is at work on" in errors
    assert list(run.glob("images/??/*")) and cli("pack", run)[0] == 0


def test_a_damaged_file_is_named_and_left(run: Path, cli: Cli) -> None:
    path = sorted(run.glob("images/??/*"))[0]
    path.write_bytes(b"no image")
    status, _, errors = cli("pack", run)
    assert status == 3 and path.name in errors and path.is_file()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pack", "nowhere"), "is not a run folder"),
        (("unpack", "nowhere"), "is not a run folder"),
        (("export", "nowhere", "--format", "geneval"), "is not a run folder"),
        (("export", "runs/toyland", "--format", "geneval", "--output", "runs"), "there already"),
    ],
)
def test_wrong_input_is_one_line(words: tuple[str, ...], said: str, run: Path, cli: Cli) -> None:
    status, _, errors = cli(*words)
    assert status == 1 and said in errors and "Traceback" not in errors


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["files", "packs"])
def test_datasets_reads_an_exported_imagefolder(kind: str, run: Path, cli: Cli) -> None:
    from datasets import load_dataset

    images = hashes(run / "images")
    if kind == "packs":
        assert cli("pack", run)[0] == 0
    assert cli("export", run, "--format", "imagefolder", "--output", "out")[0] == 0
    assert hashes(Path("out")) == images
    read = load_dataset("imagefolder", data_dir="out", split="train", cache_dir="cache")
    assert len(read) == len(images) and sorted(read["sha256"]) == images
    assert set(read.column_names) == {"image", "prompt", "index", "seed", "model", "key", "sha256"}
    assert set(read["model"]) == {"toyland"} and read[0]["image"].mode == "RGB"
    # And it is a folder that can be measured as if a model had made it.
    flags = [
        "run",
        "--model",
        "folder:out",
        *FLAGS[2:],
        "--encoder",
        "toyland",
        "--judge",
        "toyland",
    ]
    assert cli(*flags)[0] == 0


def test_datasets_reads_exported_parquet(packed: Path, cli: Cli) -> None:
    from datasets import Image as Feature
    from datasets import load_dataset

    assert cli("export", packed, "--format", "datasets", "--output", "out")[0] == 0
    read = load_dataset("out", split="train", cache_dir="cache")
    assert isinstance(read.features["image"], Feature)
    raw = read.cast_column("image", Feature(decode=False))
    for row in raw:
        assert hashlib.sha256(row["image"]["bytes"]).hexdigest() == row["sha256"]
    assert list(read["prompt"]) == sorted(read["prompt"])


def test_an_exported_geneval_folder_is_as_geneval_reads_it(packed: Path, cli: Cli) -> None:
    assert cli("export", packed, "--format", "geneval", "--output", "out")[0] == 0
    prompts = set()
    for folder in sorted(Path("out").iterdir()):
        # As GenEval's evaluate_images.py does.
        assert folder.is_dir() and folder.name.isdigit()
        with (folder / "metadata.jsonl").open() as file:
            metadata = json.load(file)
        prompts.add(metadata["prompt"])
        for image in (folder / "samples").iterdir():
            assert re.match(r"\d+\.png", image.name)
            Image.open(image).verify()
    assert len(prompts) == len(list(Path("out").iterdir()))


def test_prompts_are_never_names(tmp_path: Path) -> None:
    hostile = ["../../up", "/etc/passwd", "a\0b", "x" * 300, "con", "half \ud83d", "", "-rf"]
    store = ImageStore(tmp_path / "images", "f")
    store.record([store.add_image(p, 0, 1, Image.new("RGB", (4, 4), (9, 9, 9))) for p in hostile])
    jpeg = tmp_path / "a.jpg"
    Image.new("RGB", (4, 4), (7, 7, 7)).save(jpeg)
    store.record([store.add_file("a photograph", 0, 1, jpeg)])
    pack(store)
    for form in ("imagefolder", "geneval", "datasets"):
        report = export(ImageStore(tmp_path / "images", "f"), "m", form, tmp_path / "out" / form)
        assert report.images == 9 and not report.damaged
    names = {path.name for path in tmp_path.rglob("*")} - {"a.jpg", "images", "packs", "out"}
    assert all(re.fullmatch(r"[0-9a-z.-]+|README\.md", name) for name in names), names
    (png,) = [
        path
        for path in tmp_path.glob("out/geneval/*/samples/*")
        if json.loads((path.parents[1] / "metadata.jsonl").read_text())["prompt"] == "a photograph"
    ]
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
