"""A run has a name, and the tests of earlier commands in its folder are not its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench.results.files import read_results
from tests.conftest import Cli

ONE, TWO = "t2iat_flowers_insects", "t2iat_career_family"
QUICK = (
    *("--model", "toyland", "--limit", "3", "--images-per-prompt", "4"),
    *("--control-encoder", "none", "--permutations", "200", "--bootstrap", "100"),
)


@pytest.fixture
def measured(tmp_path: Path, cli: Cli) -> Cli:
    def run(
        tasks: str, name: str, *words: str, folder: str = "runs"
    ) -> tuple[int, str, str]:
        place = ("--name", name, "--output-dir", tmp_path / folder)
        return cli("run", *QUICK, "--tasks", tasks, *place, *words)

    return run


@pytest.mark.slow
def test_a_command_reports_its_own_tests(
    measured: Cli, tmp_path: Path, cli: Cli
) -> None:
    assert measured(ONE, "mine")[0] == 0
    folder = tmp_path / "runs" / "mine"
    alone = read_results(folder).tasks[ONE]
    _, out, _ = measured(TWO, "mine")
    results = read_results(folder)
    assert list(results.tasks) == [TWO] and results.earlier == {ONE: alone}
    head = results.tasks[TWO].headline
    assert head.p is not None and head.p_holm == head.p  # a family of one test
    assert "1 test of earlier commands left out" in out and "the one test" in out
    # Scoring again is about the same tests.
    before = (folder / "results.json").read_bytes()
    assert cli("score", folder)[0] == 0
    assert (folder / "results.json").read_bytes() == before
    # All of them in one command are what they would have been in an empty folder.
    assert measured(f"{ONE},{TWO}", "mine")[0] == 0
    assert measured(f"{TWO},{ONE}", "mine", folder="fresh")[0] == 0
    both = read_results(folder)
    assert list(both.tasks) == [TWO, ONE] and both.earlier == {}
    assert both.tasks == read_results(tmp_path / "fresh" / "mine").tasks


@pytest.mark.slow
def test_a_name_is_the_head_everywhere(measured: Cli, tmp_path: Path, cli: Cli) -> None:
    args = ("--model-args", "all.gender.female=0.5")
    _, out, _ = measured(ONE, "step 1000")
    page = (tmp_path / "runs" / "step-1000" / "results.md").read_text()
    assert "# step 1000" in page and "\nstep 1000: " in out
    assert measured(ONE, "step 2000", *args)[0] == 0
    folders = [tmp_path / "runs" / name for name in ("step-1000", "step-2000")]
    assert cli("compare", *folders)[1].startswith("A: step 1000. B: step 2000. They")
    page = (folders[1] / "report.html").read_text(encoding="utf-8")
    assert "step 2000" in page and "Model</dt><dd>step" not in page
    results = read_results(folders[1])
    assert (results.name, results.model.name) == ("step 2000", "toyland")
    assert results.command[results.command.index("--name") + 1] == "step 2000"
    # Another model has another name.
    status, _, err = measured(ONE, "step 1000", *args)
    assert status == 1 and "--name step 1000" in err and "with other settings" in err
    assert err.count("\n") == 1
