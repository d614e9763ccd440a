"""Runs in object storage, on a real server of the S3 protocol."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import s3fs

from t2ibench import evaluate
from t2ibench.store import remote, syncing
from t2ibench.store.address import is_safe, open_store

Cli = Callable[..., tuple[int, str, str]]
FLAGS = [
    *("--model", "toyland", "--tasks", "t2iat_flowers_insects", "--limit", "1"),
    *("--images-per-prompt", "2", "--permutations", "200", "--bootstrap", "50"),
]
URL = "s3://bucket/a/runs"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    running = ThreadedMotoServer(port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def s3(server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """An empty bucket, and a machine that has seen nothing."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "very-secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server,
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    machine("first", monkeypatch)
    s3fs.S3FileSystem.clear_instance_cache()
    system = s3fs.S3FileSystem(use_listings_cache=False)
    if system.exists("bucket"):
        system.rm("bucket", recursive=True)
    system.mkdir("bucket")
    yield system
    s3fs.S3FileSystem.clear_instance_cache()


def machine(name: str, patch: pytest.MonkeyPatch) -> Path:
    """Be another machine: nothing of the others is here."""
    cache = Path.cwd() / name
    patch.setenv("T2IBENCH_CACHE", str(cache))
    remote._opened.clear()
    return cache


def names(s3: Any) -> list[str]:
    return sorted(name.removeprefix("bucket/a/runs/toyland/") for name in s3.find("bucket"))


def tasks(data: bytes) -> Any:
    return json.loads(data)["tasks"]


@pytest.mark.slow
def test_a_run_is_kept_there_and_goes_on_from_an_empty_machine(
    s3: Any, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli(*FLAGS)[0] == 0
    here = Path("runs/toyland")
    status, _, errors = cli(*FLAGS, "--output-dir", URL)
    assert status == 0, errors
    there = names(s3)
    assert {"run.json", "results.json", "report.html", "images/packs/images-000000.tar"} <= {*there}
    assert not [
        name
        for name in there
        if name.endswith(".claim.json")
        or ".locks" in name
        or (name.startswith("images/") and name.endswith(".png"))
    ]
    assert tasks(s3.cat("bucket/a/runs/toyland/results.json")) == tasks(
        (here / "results.json").read_bytes()
    )
    secret = [
        n for n in s3.find("bucket") if b"very-secret" in s3.cat(n) or b"testing" in s3.cat(n)
    ]
    assert not secret

    cache = machine("second", monkeypatch)
    status, _, errors = cli(*FLAGS, "--output-dir", URL)
    assert status == 0 and "Nothing to do" in errors
    assert not list(cache.rglob("*.tar")) and not list(cache.rglob("images/**/*.png"))
    # Pixels are read from there, image by image, where they are needed.
    evidence = [n for n in s3.find("bucket") if "/evidence/" in n and "/images-" in n]
    for name in evidence:
        s3.rm_file(name)
    cache = machine("third", monkeypatch)
    status, _, errors = cli(*FLAGS, "--output-dir", URL)
    assert status == 0 and "Generated now" not in errors and evidence
    assert not list(cache.rglob("images/**/*.png"))
    assert tasks(s3.cat("bucket/a/runs/toyland/results.json")) == tasks(
        (here / "results.json").read_bytes()
    )


@pytest.mark.slow
def test_more_images_come_beside_those_that_are_there(
    s3: Any, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = [word if word != "2" else "3" for word in FLAGS]
    assert cli(*FLAGS, "--output-dir", URL)[0] == 0
    machine("second", monkeypatch)
    assert cli(*more, "--output-dir", URL)[0] == 0
    assert [name for name in names(s3) if name.endswith(".tar")] == [
        "images/packs/images-000000.tar",
        "images/packs/images-000001.tar",
    ]
    assert cli(*more)[0] == 0
    assert tasks(s3.cat("bucket/a/runs/toyland/results.json")) == tasks(
        Path("runs/toyland/results.json").read_bytes()
    )


@pytest.mark.slow
def test_commands_read_a_run_that_is_there(
    s3: Any, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate(
        "toyland", "t2iat_flowers_insects", limit=1, images_per_prompt=2, n_permutations=200,
        n_bootstrap=50, output_dir=URL,
    )  # fmt: skip
    page = s3.cat("bucket/a/runs/toyland/report.html")
    assert b"data:image/webp" in page
    cache = machine("second", monkeypatch)
    s3.rm_file("bucket/a/runs/toyland/report.html")
    assert cli("report", f"{URL}/toyland")[0] == 0
    assert s3.cat("bucket/a/runs/toyland/report.html") == page
    assert not list(cache.rglob("*.tar"))
    before = s3.cat("bucket/a/runs/toyland/results.json")
    status, _, errors = cli("score", f"{URL}/toyland")
    assert status == 0, errors
    assert tasks(s3.cat("bucket/a/runs/toyland/results.json")) == tasks(before)
    status, out, errors = cli("compare", f"{URL}/toyland", f"{URL}/toyland")
    assert status == 0 and "t2iat_flowers_insects" in out, errors
    assert cli("export", f"{URL}/toyland", "--format", "geneval")[0] == 0
    assert list(Path("toyland-geneval").glob("*/samples/*.png"))
    status, _, errors = cli("pack", f"{URL}/toyland")
    assert status == 1 and "packed already" in errors
    status, _, errors = cli("score", f"{URL}/nothing")
    assert status == 1 and "is not a run folder" in errors


_KILLED = """
import sys, time
from t2ibench.store import syncing
syncing.EVERY, syncing.PART = 0.2, 1
from t2ibench.models.generators.toyland import ToylandGenerator
generate = ToylandGenerator.generate
def slowly(self, requests):
    time.sleep(0.1)
    return generate(self, requests)
ToylandGenerator.generate = slowly
from t2ibench.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_machine_that_dies_costs_what_came_since_the_last_push(
    s3: Any, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = [word if word != "2" else "12" for word in FLAGS]
    work = subprocess.Popen(
        [sys.executable, "-c", _KILLED, *flags, "--batch-size", "2", "--output-dir", URL],
        stderr=subprocess.PIPE,
    )
    try:
        deadline = time.monotonic() + 50
        while not any(name.endswith(".index") for name in names(s3)):
            assert work.poll() is None and time.monotonic() < deadline, work.poll()
            time.sleep(0.1)
    finally:
        work.kill()
        work.communicate()
    left = names(s3)
    assert "results.json" not in left and ".claim.json" in left
    packed = [name for name in left if name.endswith(".tar")]

    machine("second", monkeypatch)
    status, _, errors = cli(*flags, "--output-dir", URL)
    assert status == 1 and "works on s3://bucket/a/runs/toyland" in errors
    monkeypatch.setattr(remote, "STALE", 0.0)
    status, _, errors = cli(*flags, "--output-dir", URL)
    assert status == 0, errors
    assert set(packed) <= set(names(s3)) and ".claim.json" not in names(s3)
    made = int(errors.split("Generated now: ")[1].split(" ok")[0])
    total = int(errors.split("(of ")[1].split(" images")[0])
    assert 0 < made < total
    assert cli(*flags)[0] == 0
    assert tasks(s3.cat("bucket/a/runs/toyland/results.json")) == tasks(
        Path("runs/toyland/results.json").read_bytes()
    )


@pytest.mark.slow
def test_a_second_machine_is_refused_until_the_first_is_silent(
    s3: Any, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = {"id": "another", "host": "node7", "pid": 12, "at": time.time() - 30}
    s3.pipe_file("bucket/a/runs/toyland/.claim.json", json.dumps(claim).encode())
    status, _, errors = cli(*FLAGS, "--output-dir", URL)
    assert status == 1 and "process 12 on node7 works on s3://bucket/a/runs/toyland" in errors
    assert names(s3) == [".claim.json"]
    claim["at"] -= remote.STALE
    s3.pipe_file("bucket/a/runs/toyland/.claim.json", json.dumps(claim).encode())
    assert cli(*FLAGS, "--output-dir", URL)[0] == 0
    assert ".claim.json" not in names(s3)


def test_what_another_machine_took_over_is_not_written_to(s3: Any, tmp_path: Path) -> None:
    mine = remote.Remote(URL, tmp_path / "mine")
    (tmp_path / "mine/toyland").mkdir(parents=True)
    (tmp_path / "mine/toyland/run.json").write_text("{}")
    assert mine.push("toyland") == 1
    theirs = remote.Remote(URL, tmp_path / "theirs")
    (tmp_path / "mine/toyland/run.json").write_text("{ }")
    claim = {"id": theirs.id, "host": "b", "pid": 2, "at": time.time()}
    s3.pipe_file("bucket/a/runs/toyland/.claim.json", json.dumps(claim).encode())
    with pytest.raises(Exception, match="process 2 on b works on"):
        mine.push("toyland")
    assert s3.cat("bucket/a/runs/toyland/run.json") == b"{}"


def test_what_was_removed_here_is_removed_there(s3: Any, tmp_path: Path) -> None:
    mine = remote.Remote(URL, tmp_path / "mine")
    run = tmp_path / "mine/toyland/images"
    run.mkdir(parents=True)
    for name in ("attempts-1-a.jsonl", "attempts-2-b.jsonl"):
        (run / name).write_text("{}\n")
    assert mine.push("toyland") == 2 and mine.push("toyland") == 0
    (run / "attempts-1-a.jsonl").unlink()
    assert mine.push("toyland") == 0
    assert names(s3) == [".claim.json", "images/attempts-2-b.jsonl"]


def test_a_missing_package_is_one_line(s3: Any, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    known = sys.modules["fsspec.registry"]._registry
    for name in ("s3", "s3a"):
        monkeypatch.delitem(known, name, raising=False)
    status, _, errors = cli(*FLAGS, "--output-dir", URL)
    assert status == 1 and "pip install s3fs" in errors and len(errors.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "url",
    [
        "s3://key:very-secret@bucket/runs",
        "az://container/runs?sig=very-secret",
        "https://example.org/runs",
        "zip://a::s3://bucket/b.zip",
        "nothing://bucket/runs",
    ],
)
def test_addresses_that_cannot_hold_runs(url: str, s3: Any, cli: Cli) -> None:
    status, out, errors = cli(*FLAGS, "--output-dir", url)
    assert status == 1 and "Traceback" not in errors
    assert "very-secret" not in out + errors
    assert not [path for path in Path.cwd().rglob("*") if "secret" in path.name]


def test_a_bucket_that_is_not_there_is_one_line(s3: Any, cli: Cli) -> None:
    status, _, errors = cli(*FLAGS, "--output-dir", "s3://no-such-bucket/runs")
    assert status == 1 and "cannot be reached" in errors and "Traceback" not in errors


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "a\\b", "c:x", ""])
def test_names_that_somebody_else_wrote_stay_inside(name: str) -> None:
    assert not is_safe(name) and is_safe("images/packs/images-000000.tar")


def test_a_folder_by_its_url_is_kept_as_well(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cache = machine("cache", monkeypatch)
    url = (tmp_path / "mounted").as_uri()
    assert cli(*FLAGS, "--output-dir", url)[0] == 0
    assert (tmp_path / "mounted/toyland/results.json").is_file()
    shutil.rmtree(cache)
    machine("cache", monkeypatch)
    assert cli("score", f"{url}/toyland")[0] == 0
    system, path = open_store(url)
    assert system.exists(f"{path}/toyland/run.json") and cache.is_dir()


def test_a_foreign_run_folder_cannot_name_an_address(tmp_path: Path) -> None:
    packs = tmp_path / "runs" / "toyland" / "images" / "packs"
    packs.mkdir(parents=True)
    name = "toyland/images/packs/images-000000.tar"
    state = {"url": "s3://elsewhere", "id": "x", "known": {}, "packs": {name: 10}}
    (tmp_path / "runs" / remote.STATE).write_text(json.dumps(state))
    assert remote.origin(packs / "images-000000.tar") is None


def test_syncing_does_nothing_for_a_path(tmp_path: Path) -> None:
    assert syncing.working_folder(str(tmp_path)) == tmp_path
    with syncing.pushed(str(tmp_path), tmp_path / "toyland", "f"):
        pass
    assert not list(tmp_path.iterdir())
