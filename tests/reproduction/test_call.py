"""Papers from Python: the pages of the command line, and their numbers as records."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

import t2ibench
from t2ibench.cli import main
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.reproduction.registry import PAPERS
from tests.reproduction.conftest import arguments

SETTINGS: dict[str, Any] = {"limit": 4, "n_bootstrap": 200, "control_encoder": "none"}


def pages(run: Path) -> dict[str, bytes]:
    files = (run / "reproduce").rglob("*")
    return {str(file.relative_to(run)): file.read_bytes() for file in files if file.is_file()}


@pytest.mark.slow
def test_a_call_makes_what_the_command_makes(run: Path, output: Path) -> None:
    before = pages(run)
    found = t2ibench.reproduce("t2iat", model="toyland", scale=0.1, output_dir=output, **SETTINGS)
    assert found.folder == run
    assert pages(run) == before
    assert found.complete and "Table 1" in repr(found)
    assert [exhibit.name for exhibit in found] == list(PAPERS.get("t2iat").file.exhibits)
    assert found.page is not None and found.page.is_file()
    written = {str(path.relative_to(run)) for exhibit in found for path in exhibit.paths}
    assert written == {name for name in before if name.count("/") == 2}


def test_rows_are_the_records_of_the_csv_with_all_digits(run: Path) -> None:
    found = t2ibench.reproduce("t2iat", run=run, tables=1, figures=["4"])
    assert [exhibit.label for exhibit in found] == ["Table 1", "Figure 4"]
    table = found["Table 1"]
    with (run / "reproduce/t2iat/table-1.csv").open(encoding="utf-8", newline="") as stream:
        for mine, written in zip(table.rows, csv.DictReader(stream), strict=True):
            assert {k: "" if v is None else str(v) for k, v in mine.items()} == written
    frame = table.to_pandas()
    assert list(frame.columns) == list(table.rows[0])
    assert frame.loc[0, "published: Stable Diffusion 2.1"] == 0.033
    assert table.notes == [*table.file.notes, *table.built.notes]
    assert table.title == table.file.title
    assert {row["row"] for row in found["table-2"].rows} and found["table-2"].paths
    with pytest.raises(t2ibench.T2IBenchError, match="has no 'Table 9' here"):
        found["Table 9"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"paper": "t2ait"}, "Did you mean 't2iat'"),
        ({"paper": "all"}, "about one paper"),
        ({"figures": 9}, "no figure '9'"),
        ({"with_": {"rating": "x"}}, "Did you mean 'ratings'"),
        ({"run": "runs", "limit": 3}, "no other setting goes with it"),
        ({"run": "nowhere"}, "Give the folder of a finished run"),
        ({"model": "toyland", "generate_only": True}, "has to score"),
        ({"model": "toyland", "permutation": 9}, "Did you mean 'n_permutations'"),
    ],
)
def test_a_wrong_call_says_so_before_anything_runs(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(t2ibench.T2IBenchError, match=message):
        t2ibench.reproduce(**{"paper": "t2iat", **wrong})


def test_a_preset_measures_as_the_paper_did(run: Path, tmp_path: Path) -> None:
    results = t2ibench.evaluate(
        "toyland", "*flowers*", preset="t2iat", times=0.1, output_dir=tmp_path, **SETTINGS
    )
    name = "t2iat_flowers_insects_as_published"
    assert list(results.tasks) == [name]
    commanded = t2ibench.read_results(run).tasks[name]
    assert results.tasks[name].settings == commanded.settings
    assert results.tasks[name].by == commanded.by
    assert results.tasks[name].headline.value == commanded.headline.value


def test_an_object_takes_a_presets_tests_but_no_name_and_no_arguments(tmp_path: Path) -> None:
    generator = ToylandGenerator({}, 0)
    results = t2ibench.evaluate(
        generator, "*flowers*", preset="t2iat", encoder="toyland", times=0.1,
        output_dir=tmp_path, **SETTINGS,
    )  # fmt: skip
    task = results.tasks["t2iat_flowers_insects_as_published"]
    assert task.settings.n_permutations == 1000
    assert list(task.settings.encoders) == ["toyland"]
    assert results.model.name == generator.name


@pytest.mark.slow
def test_it_is_imported_by_its_name_too(run: Path) -> None:
    from t2ibench import reproduce

    assert reproduce("t2iat", run=run, figures=3).chosen == ["figure-3"]


def test_the_command_refuses_settings_beside_a_run(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(run.parent, "--run", str(run))) == 1
    said = capsys.readouterr().err
    assert "no other setting goes with it" in said and "--model" in said
