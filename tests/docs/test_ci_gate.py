"""The gate of docs/reports.md, run as it stands there: whatever was not decided is no pass."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


@pytest.fixture
def outcome(
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., tuple[int, str]]:
    """Run the gate between two runs: (exit status, message). Its command runs in this process."""

    in_a_process = subprocess.check_output

    def check_output(command: list[str], **keywords: Any) -> Any:
        if command[0] != "t2ibench":  # the run asks for the machine's properties
            return in_a_process(command, **keywords)
        status, out, errors = cli(*command[1:])
        assert status == 0, errors
        return out

    def run_gate(old: Path, new: Path, *wanted: str) -> tuple[int, str]:
        runs = tmp_path / "runs"
        shutil.rmtree(runs, ignore_errors=True)
        for name, run in (("old", old), ("new", new)):
            shutil.copytree(run, runs / name)
        with pytest.raises(SystemExit) as stopped:
            exec(gate(set(wanted or (TASK,))), {})
        problems = stopped.value.code
        # Python shows a text and exits with 1.
        return (1, problems) if isinstance(problems, str) else (problems or 0, "")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "check_output", check_output)
    return run_gate


def test_the_gate_passes_what_leans_no_more_and_nothing_else(
    cli: Cli, outcome: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    def run(name: str, *words: str) -> Path:
        root = tmp_path / "made"
        where = ("--name", name, "--output-dir", str(root))
        status, _, errors = cli("--model", "toyland", *FLAGS, *words, *where)
        assert status == 0, errors
        return root / name

    biased = run("biased", "--times", ".4")
    fair = run("fair", "--times", ".4", "--model-args", FAIR)
    assert outcome(biased, fair) == (0, "")
    status, message = outcome(fair, biased)
    assert status == 1 and f"{TASK}: leans more, by" in message
    status, message = outcome(biased, fair, TASK, "t2iat_science_arts")
    assert status == 1 and "t2iat_science_arts: not in both runs" in message
    few = run("few", "--times", ".2", "--model-args", FAIR, "--seed", "2")
    others = run("others", "--times", ".2", "--model-args", FAIR, "--seed", "1")
    status, message = outcome(few, others)
    assert status == 1 and "cannot tell whether it leans more" in message
    encoder = ("--encoder", "toy-clip", "--control-encoder", "none")
    reread = run("reread", *encoder, "--times", ".2", "--model-args", FAIR)
    status, message = outcome(reread, few)
    assert status == 1 and f"{TASK}: not compared (other encoders" in message
