"""The gate of docs/reports.md, run as it stands there: whatever was not decided is no pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Cli

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TASK = "t2iat_flowers_insects"
FLAGS = ("--tasks", TASK, "--permutations", "999", "--bootstrap", "200")
FAIR = "all.weather.pleasant=0.5"


def gate(wanted: set[str]) -> str:
    """The program on the page, for other tests."""
    page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    section = page.partition("## In continuous integration")[2]
    program = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert program is not None
    return re.sub(r"WANTED = \{.*?\}", f"WANTED = {wanted!r}", program[1])


def outcome(folder: Path, old: Path, new: Path, *wanted: str) -> tuple[int, str]:
    """Exit status and message of the gate between two runs, in a process of its own."""
    runs = folder / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    for name, run in (("old", old), ("new", new)):
        shutil.copytree(run, runs / name)
    program = folder / "t2ibench"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m t2ibench "$@"\n')
    program.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    finished = subprocess.run(
        [sys.executable, "-c", gate(set(wanted or (TASK,)))],
        cwd=folder, env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return finished.returncode, finished.stderr


def test_the_gate_passes_what_leans_no_more_and_nothing_else(
    cli: Cli, tmp_path: Path
) -> None:
    def run(name: str, *words: str) -> Path:
        root = tmp_path / "made"
        where = ("--name", name, "--output-dir", str(root))
        assert cli("--model", "toyland", *FLAGS, *words, *where)[0] == 0
        return root / name

    biased, fair = run("biased"), run("fair", "--model-args", FAIR)
    assert outcome(tmp_path, biased, fair) == (0, "")
    status, message = outcome(tmp_path, fair, biased)
    assert status == 1 and f"{TASK}: leans more, by" in message
    status, message = outcome(tmp_path, biased, fair, TASK, "t2iat_science_arts")
    assert status == 1 and "t2iat_science_arts: not in both runs" in message
    few = run("few", "--times", ".2", "--model-args", FAIR, "--seed", "2")
    others = run("others", "--times", ".2", "--model-args", FAIR, "--seed", "1")
    status, message = outcome(tmp_path, few, others)
    assert status == 1 and "cannot tell whether it leans more" in message
    encoder = ("--encoder", "toy-clip", "--control-encoder", "none")
    reread = run("reread", *encoder, "--times", ".2", "--model-args", FAIR)
    status, message = outcome(tmp_path, reread, few)
    assert status == 1 and f"{TASK}: not compared (other encoders" in message
