"""The example plug-in, installed as pip would leave it, from entry points to results."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "examples" / "plugin"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PYTHONPATH with the package and the metadata that its pyproject.toml gives."""
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    site = tmp_path_factory.mktemp("site")
    (site / "t2ibench_example").symlink_to(SOURCE / "t2ibench_example")
    info = site / f"t2ibench_example-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = []
    for group, points in project["entry-points"].items():
        lines += [
            f"[{group}]",
            *(f"{name} = {value}" for name, value in points.items()),
            "",
        ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    return site


def command(site: Path, cwd: Path, *words: str) -> tuple[int, str, str]:
    path = os.pathsep.join([str(site), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "t2ibench", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.nightly  # three processes; .ci/run installs and uses the plug-in
def test_results_of_a_method_that_is_not_installed_say_so(
    site: Path, tmp_path: Path
) -> None:
    tasks = str(SOURCE / "t2ibench_example" / "tasks")
    words = ("--model", "grey", "--include-path", tasks, "--permutations", "200")
    words += (
        "--bootstrap",
        "100",
        "--tasks",
        "tone_day_night",
        "--images-per-prompt",
        "2",
    )
    assert command(site, tmp_path, *words)[0] == 0
    empty = tmp_path / "no-plugin"
    empty.mkdir()
    # A report shows what results.json holds; scoring needs the method.
    assert command(empty, tmp_path, "report", "runs/grey")[0] == 0
    assert "tone_day_night" in (tmp_path / "runs" / "grey" / "report.html").read_text(
        "utf-8"
    )
    status, _, errors = command(empty, tmp_path, "score", "runs/grey")
    assert status == 1 and "'tone'" in errors and "Traceback" not in errors, errors


def test_its_method_keeps_the_contract(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from t2ibench.methods.core.contract import check_method
    from t2ibench.methods.core.scales import SCALES
    from t2ibench.registry import load_target
    from t2ibench.settings import Settings
    from t2ibench.tasks.source import read_yaml

    monkeypatch.syspath_prepend(site)
    # This process may have read the entry points of scales before the package was there.
    (scale,) = entry_points(group=SCALES.group, name="t2ibench_example.points")
    monkeypatch.setitem(SCALES._entries, scale.name, scale.value)
    method = load_target("t2ibench_example.method:METHOD")
    document = read_yaml(SOURCE / "t2ibench_example" / "tasks" / "tone_day_night.yaml")
    settings = Settings(images_per_prompt=4, n_permutations=100, n_bootstrap=50)
    assert (
        check_method(method, method.Task.model_validate(document.data), settings) == []
    )
