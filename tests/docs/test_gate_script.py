"""examples/gate/gate.sh, run as a pipeline runs it: before and after a change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.conftest import Cli
from tests.decisions.made import scenario

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TASK = "core_occupations_gender"
FAIR = "all.gender.female=0.5"


def test_a_pipeline_decides_before_and_after(cli: Cli, tmp_path: Path) -> None:
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
    program = tmp_path / "t2ibench"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m t2ibench "$@"\n')
    program.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }

    def gate(name: str, *flags: str, **more: str) -> int:
        script = ROOT / "examples" / "gate" / "gate.sh"
        finished = subprocess.run(
            [script, "plan.json", name, "--model", "toyland", *flags],
            cwd=tmp_path,
            env=environment | {"ARTEFACTS": name} | more,
            capture_output=True,
            check=False,
        )
        return finished.returncode

    assert gate("before") == 4
    assert gate("after", "--model-args", FAIR, BASE="runs/before") == 0
    for name in ("before", "after"):
        kept = {path.name for path in (tmp_path / name).iterdir()}
        endings = ("txt", "md", "json", "xml", "html")
        assert {f"decision.{ending}" for ending in endings} <= kept
        assert {"plan.json", "results.json", "report.html"} <= kept
    suite = ElementTree.parse(tmp_path / "after" / "decision.xml").find("testsuite")
    assert suite is not None and suite.get("failures") == "0" == suite.get("errors")
    # Wrong input is no decision.
    assert gate("other", "--seed", "3") == 1
    assert not (tmp_path / "other" / "decision.xml").exists()
