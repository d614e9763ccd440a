"""The example plug-in, installed as pip would leave it, from entry points to results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "examples" / "plugin"
NAMES = ("tone", "grey", "mean-colour", "brightness", "at-night", "fixed", "jsonl")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PYTHONPATH with the package and the metadata that its pyproject.toml gives."""
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    site = tmp_path_factory.mktemp("site")
    (site / "t2ibench_example").symlink_to(SOURCE / "t2ibench_example")
    info = site / f"t2ibench_example-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items()), ""]
    (info / "entry_points.txt").write_text("\n".join(lines))
    return site


def command(site: Path, cwd: Path, *words: str) -> tuple[int, str, str]:
    path = os.pathsep.join([str(site), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "t2ibench.cli", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_it_is_listed_with_its_origin(site: Path, tmp_path: Path) -> None:
    kinds = ("methods", "models", "encoders", "judges", "rewriters", "proposers", "writers")
    for kind, name in zip(kinds, NAMES, strict=True):
        status, out, errors = command(site, tmp_path, "ls", kind, "--json")
        assert (status, errors) == (0, "")
        row = next(row for row in json.loads(out) if row[kind.removesuffix("s")] == name)
        assert row["from"] == "t2ibench-example" and row["what it is"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "args"),
    [
        ("grey", ("--other-args", "contrast=10")),
        ("mean-colour", ()),
        ("brightness", ("--other-args", "threshold=0.7")),
        ("at-night", ("--other-args", "words=at dawn")),
    ],
)
def test_its_adapters_keep_the_contract(
    spec: str, args: tuple[str, ...], site: Path, tmp_path: Path
) -> None:
    status, out, errors = command(site, tmp_path, "check", "adapter", spec, *args)
    assert status == 0 and "meets the contract" in out, out + errors


@pytest.mark.slow
def test_its_method_on_its_models(site: Path, tmp_path: Path) -> None:
    tasks = str(SOURCE / "t2ibench_example" / "tasks")
    assert command(site, tmp_path, "validate", tasks)[0] == 0
    words = ("--model", "grey", "--include-path", tasks, "--permutations", "2000")
    words += ("--tasks", "tone_day_night")
    status, out, errors = command(site, tmp_path, *words)
    assert status == 0, out + errors
    page = (tmp_path / "runs" / "grey" / "results.md").read_text(encoding="utf-8")
    assert "`tone_day_night`: Images of" in page and "are brighter than those of" in page
    status, out, errors = command(site, tmp_path, "report", "runs/grey", "--format", "jsonl")
    assert status == 0 and json.loads(out)["task"] == "tone_day_night", errors
    results = json.loads((tmp_path / "runs" / "grey" / "results.json").read_text(encoding="utf-8"))
    gap = results["tasks"]["tone_day_night"]["scores"]["gap"]
    assert gap["value"] > 0.3 and gap["p"] < 0.05
    assert results["tasks"]["tone_day_night"]["n_images"] == 80


@pytest.mark.slow
def test_results_of_a_method_that_is_not_installed_say_so(site: Path, tmp_path: Path) -> None:
    tasks = str(SOURCE / "t2ibench_example" / "tasks")
    words = ("--model", "grey", "--include-path", tasks, "--permutations", "200")
    words += ("--bootstrap", "100", "--tasks", "tone_day_night", "--images-per-prompt", "2")
    assert command(site, tmp_path, *words)[0] == 0
    empty = tmp_path / "no-plugin"
    empty.mkdir()
    # A report shows what results.json holds; scoring needs the method.
    assert command(empty, tmp_path, "report", "runs/grey")[0] == 0
    assert "tone_day_night" in (tmp_path / "runs" / "grey" / "report.html").read_text("utf-8")
    status, _, errors = command(empty, tmp_path, "score", "runs/grey")
    assert status == 1 and "'tone'" in errors and "Traceback" not in errors, errors


def test_its_method_keeps_the_contract(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from t2ibench.methods.core.contract import check_method
    from t2ibench.registry import load_target
    from t2ibench.settings import Settings
    from t2ibench.tasks.source import read_yaml

    monkeypatch.syspath_prepend(site)
    method = load_target("t2ibench_example.method:METHOD")
    document = read_yaml(SOURCE / "t2ibench_example" / "tasks" / "tone_day_night.yaml")
    settings = Settings(images_per_prompt=4, n_permutations=100, n_bootstrap=50)
    assert check_method(method, method.Task.model_validate(document.data), settings) == []


@pytest.mark.slow
def test_its_proposer(site: Path, tmp_path: Path) -> None:
    (tmp_path / "captions.txt").write_text("a chef in a kitchen\na nurse at work\n")
    words = ("--captions", "captions.txt", "--proposer", "fixed", "--support", "1")
    status, out, errors = command(
        site, tmp_path, "propose", "openbias", *words, "--output", "proposed.yaml"
    )
    assert status == 0, out + errors
    assert "What time of day is it?" in (tmp_path / "proposed.yaml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_wrong_argument_of_a_plugin_is_one_line(site: Path, tmp_path: Path) -> None:
    status, _, errors = command(
        site, tmp_path, "check", "adapter", "grey", "--model-args", "contras=1"
    )
    assert status == 1 and "Did you mean 'contrast'?" in errors and "Traceback" not in errors
