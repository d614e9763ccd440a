"""Each verb in a process of its own, as a user starts it: nothing is imported or compiled yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

# .ci/run does the same with the wheel, from a run to a report.
pytestmark = pytest.mark.nightly

# Threads take turns so often that they meet in whatever they load at the same time.
PROGRAM = "import sys; sys.setswitchinterval(1e-5); from t2ibench.cli import main; sys.exit(main())"
SMALL = ("--images-per-prompt", "2", "--permutations", "100", "--bootstrap", "100")
JOB = ("--tasks", "t2iat_flowers_insects,openbias_examples", "--limit", "1", *SMALL)


def command(*words: object) -> list[str]:
    return [sys.executable, "-c", PROGRAM, *map(str, words)]


def cold(folder: Path) -> dict[str, str]:
    """The environment of a process that finds nothing compiled."""
    folder.mkdir(parents=True, exist_ok=True)
    return {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPYCACHEPREFIX": str(folder)}


def done(where: Path, environment: Mapping[str, str], *words: object) -> str:
    found = subprocess.run(
        command(*words),
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert "Traceback" not in found.stderr
    return found.stdout + found.stderr


@contextmanager
def exploring(
    where: Path, environment: Mapping[str, str], *words: object
) -> Iterator[str]:
    """The address of an explorer."""
    process = subprocess.Popen(
        command("explore", *words), cwd=where, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process as server:
        assert server.stdout is not None and server.stderr is not None
        line = server.stdout.readline()
        try:
            assert line.startswith("Exploring at "), server.stderr.read()
            yield line.split()[2]
        finally:
            server.terminate()


def ask(address: str, words: str) -> int:
    """How many images a text is compared with."""
    body = json.dumps({"texts": [words]}).encode()
    headers = {"Content-Type": "application/json", "Origin": address.rstrip("/")}
    request = urllib.request.Request(f"{address}api/similarities", body, headers)
    with urllib.request.urlopen(request) as reply:
        return len(reply.read()) // 4  # bytes of a float32


def wait_until_ready(address: str) -> None:
    """Wait until the images are embedded, which begins when the explorer opens."""
    for _ in range(600):
        with urllib.request.urlopen(f"{address}api/state") as reply:
            if json.load(reply)["stage"] == "ready":
                return
        time.sleep(0.5)
    raise AssertionError("the explorer's images were not embedded within five minutes")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run of a process that found nothing compiled."""
    folder = tmp_path_factory.mktemp("fresh")
    done(folder, cold(folder / "run"), "--model", "toy", *JOB)
    return folder


def test_the_explorer_opens_and_answers_four_questions_at_once(place: Path) -> None:
    """The images of the task that asks a judge have no embedding: they are embedded first."""
    run = place / "runs" / "toy"
    with (
        exploring(place, cold(place / "explore"), run) as address,
        ThreadPoolExecutor(4) as pool,
    ):
        wait_until_ready(address)
        words = ["nurse", "chef", "rose", "wasp"]
        found = list(pool.map(lambda word: ask(address, word), words))
    assert len(set(found)) == 1 and found[0] > 4


# What Windows lacks, and macOS should not use. Every process of the job runs it first.
ELSEWHERE = """
import ctypes, multiprocessing, os, sys
multiprocessing.set_start_method("spawn")
sys.modules["fcntl"] = sys.modules["resource"] = None
for name in ("fork", "forkpty", "sched_getaffinity", "posix_spawn"):
    delattr(os, name)
library = ctypes.CDLL
def opened(name, *rest, **more):
    if name is None:  # where prctl is found
        raise TypeError("no prctl")
    return library(name, *rest, **more)
ctypes.CDLL = opened
from t2ibench import worker_pool
worker_pool.WORTH = 0.0
"""


def test_a_run_needs_no_fork_no_fcntl_and_no_prctl(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(ELSEWHERE)
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    there = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
    said = set()
    for name, environment, options in (
        ("here", dict(os.environ), ()),
        ("there", there, ()),
        ("two there", there, ("--workers", "2")),
    ):
        where = tmp_path / name
        where.mkdir()
        done(where, environment, "--model", "toyland", *JOB, *options)
        said.add((where / "runs/toyland/results.json").read_bytes())
    assert len(said) == 1
