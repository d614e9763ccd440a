"""The gate of docs/reports.md, run as it stands there: whatever was not decided is no pass."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import hand
from tests.conftest import Cli

ROOT = Path(__file__).parents[2]
TASK = "t2iat_flowers_insects"


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
    outcome: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    """Of runs whose headlines are means of 100 images, or of 4, of each of two prompts."""
    noise = np.random.default_rng(5).random((2, 100))

    def run(name: str, share: float, images: int = 100, **changes: Any) -> Path:
        x, y = np.where(noise[:, :images] < share, 1.0, -1.0)
        result = hand.mean_lean({"x": x, "y": y})
        return hand.write_run(tmp_path / "made" / name, name, {TASK: result}, **changes)

    biased = run("biased", 0.95)
    fair = run("fair", 0.5)
    assert outcome(biased, fair) == (0, "")
    status, message = outcome(fair, biased)
    assert status == 1 and f"{TASK}: leans more, by" in message
    status, message = outcome(biased, fair, TASK, "t2iat_science_arts")
    assert status == 1 and "t2iat_science_arts: not in both runs" in message
    few = run("few", 0.5, images=4)
    others = run("others", 0.6, images=4)
    status, message = outcome(few, others)
    assert status == 1 and "cannot tell whether it leans more" in message
    encoders = hand.settings(encoders={"toy-clip": "e" * 64})
    reread = run("reread", 0.5, settings=encoders)
    status, message = outcome(reread, fair)
    assert status == 1 and f"{TASK}: not compared (other encoders" in message
