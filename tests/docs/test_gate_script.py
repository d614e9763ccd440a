"""examples/gate/gate.sh, with the command as it is, and with a stand-in that ends in any status."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.conftest import Cli
from tests.decisions.made import scenario

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "gate" / "gate.sh"
TASK = "core_occupations_gender"
FAIR = "all.gender.female=0.5"
DECISIONS = {f"decision.{ending}" for ending in ("txt", "md", "json", "xml", "html")}
# A command that notes how it was called, writes what the script copies, and ends in a given status.
STAND_IN = """#!/bin/sh
echo "$@" >> calls
case $1 in
  run) mkdir -p runs/after; touch runs/after/results.json runs/after/report.html; exit $RUN;;
  decide) echo decided > after/decision.txt; exit $DECIDE;;
esac
"""

Gate = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """Runs the script with a program that is called t2ibench."""

    def run(
        program: str, *flags: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        command = tmp_path / "t2ibench"
        command.write_text(program, encoding="utf-8")
        command.chmod(0o755)
        path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            [SCRIPT, "plan.json", "after", "--model", "toyland", *flags],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "ARTEFACTS": "after", **variables},
            capture_output=True,
            check=False,
            encoding="utf-8",
        )

    return run


# A command that is run elsewhere: it writes down how it was called, and waits for the status, but
# not for ever.
FORWARDER = """#!/bin/sh
echo "$@" > words
mv words asked
tries=0
until [ -e status ] || [ $tries -gt 6000 ]; do sleep 0.02; tries=$((tries + 1)); done
read status < status
rm status
exit $status
"""


@pytest.mark.slow
def test_a_pipeline_decides_about_a_change(
    gate: Gate, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script's own commands are run here, where everything is imported already."""
    monkeypatch.chdir(tmp_path)
    measurement = {"task": TASK, "statistic": "headline"}
    compared = {"task": TASK, "statistic": "comparison"}
    content = {
        "title": "a gate",
        "scenarios": [
            scenario(measurement=measurement, accept=0.5),
            scenario(name="no worse", measurement=compared, accept=0.1),
        ],
    }
    accept = tmp_path / "accept.yaml"
    accept.write_text(yaml.safe_dump(content), encoding="utf-8")
    status, _, err = cli("plan", "--accept", accept, "--images-per-prompt", "8")
    assert status == 0, err
    before = ("--name", "before", "--output-dir", "runs")
    status, _, err = cli("run", "--plan", "plan.json", "--model", "toyland", *before)
    assert status == 0, err
    assert cli("decide", "runs/before", "--plan", "plan.json")[0] == 4

    asked = tmp_path / "asked"
    with ThreadPoolExecutor(1) as pool:
        flags = ("--model-args", FAIR)
        script = pool.submit(gate, FORWARDER, *flags, BASE="runs/before")
        while not script.done():
            if asked.exists():
                words = asked.read_text(encoding="utf-8").split()
                asked.unlink()
                status, _, _ = cli(*words)
                (tmp_path / "answer").write_text(f"{status}\n", encoding="utf-8")
                (tmp_path / "answer").rename(tmp_path / "status")
            time.sleep(0.01)
        assert script.result().returncode == 0
    kept = {path.name for path in (tmp_path / "after").iterdir()}
    assert {*DECISIONS, "plan.json", "results.json", "report.html"} <= kept
    suite = ElementTree.parse(tmp_path / "after" / "decision.xml").find("testsuite")
    assert suite is not None and suite.get("failures") == "0" == suite.get("errors")


@pytest.mark.parametrize(
    ("measured", "decided", "status"),
    [(0, 0, 0), (0, 4, 4), (0, 3, 3), (3, 3, 3), (1, 0, 1), (2, 0, 2)],
)
@pytest.mark.parametrize("base", ["", "runs/before"])
def test_the_status_is_that_of_the_decision_unless_the_run_failed(
    measured: int, decided: int, status: int, base: str, gate: Gate, tmp_path: Path
) -> None:
    (tmp_path / "plan.json").touch()
    statuses = {"RUN": str(measured), "DECIDE": str(decided)}
    finished = gate(STAND_IN, "--seed", "3", BASE=base, **statuses)
    assert finished.returncode == status
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    run = "run --plan plan.json --name after --output-dir runs --model toyland --seed 3"
    decide = (
        f"decide {base} runs/after --plan plan.json "
        "--format terminal,markdown,json,junit,html --output after/decision"
    )
    # A run with wrong input gives nothing to decide about.
    is_decided = measured in {0, 3}
    assert calls == ([run, " ".join(decide.split())] if is_decided else [run])
    assert finished.stdout == ("decided\n" if is_decided else "")
    kept = {path.name for path in (tmp_path / "after").iterdir()}
    copied = {"decision.txt", "plan.json", "results.json", "report.html"}
    assert kept == (copied if is_decided else set())
