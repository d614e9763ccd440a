"""`t2ibench export --samples`: the data of each image, as Parquet."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.reports.exchange.samples import export_samples, parquet
from t2ibench.results import read_results
from t2ibench.results.samples import read_samples
from tests.conftest import Cli
from tests.shipped import shipped


def frame(content: bytes) -> pd.DataFrame:
    return pd.read_parquet(io.BytesIO(content))


def test_every_sample_of_a_run_is_in_its_file(
    shared_run: Path, cli: Cli, tmp_path: Path
) -> None:
    target = tmp_path / "out"
    words = ("export", shared_run, "--samples", "--output", target)
    status, _, errors = cli(*words)
    assert status == 0, errors
    results = read_results(shared_run)
    kept = {name: read_samples(shared_run, name) for name in results.tasks}
    files = {path.stem: pd.read_parquet(path) for path in target.iterdir()}
    assert set(files) == {name for name, samples in kept.items() if samples}
    for name, table in files.items():
        assert len(table) == len(kept[name])
        assert set(table["task"]) == {name} and set(table["model"]) == {"toyland"}
        for column in kept[name][0]:
            values = [sample.get(column) for sample in kept[name]]
            assert [plain(value) for value in table[column]] == [
                plain(value) for value in values
            ], (name, column)
    status, _, errors = cli(*words)
    assert status == 1 and "is there already" in errors


def plain(value: Any) -> Any:
    """A value as Parquet gives it back: lists and records as text, nothing as None."""
    if isinstance(value, dict | list):
        return json.dumps(value)
    return None if pd.isna(value) else value


def test_a_column_of_several_kinds_is_text() -> None:
    rows = [
        {"same": 1, "mixed": 1, "list": [1], "half": "a"},
        {"same": None, "mixed": "one", "list": {"a": 2}, "half": "\ud83d"},
    ]
    table = frame(parquet(rows))
    assert table["same"][0] == 1 and pd.isna(table["same"][1])
    assert list(table["mixed"]) == ["1", '"one"']
    assert list(table["list"]) == ["[1]", '{"a": 2}']
    assert list(table["half"]) == ["a", "\\ud83d"]


def test_a_key_that_some_samples_lack_is_a_column() -> None:
    table = frame(parquet([{"a": 0.5}, {"b": "x"}]))
    assert list(table.columns) == ["a", "b"] and pd.isna(table["a"][1])


def test_results_without_a_run_have_no_samples(cli: Cli, tmp_path: Path) -> None:
    submission = shipped("toy")
    target = tmp_path / "out"
    status, _, errors = cli("export", submission, "--samples", "--output", target)
    assert status == 1 and "it has no run.db" in errors and not target.exists()


def test_no_task_leads_out_of_the_folder(shared_run: Path, tmp_path: Path) -> None:
    results = read_results(shared_run)
    results.tasks["../outside"] = next(iter(results.tasks.values()))
    with pytest.raises(T2IBenchError, match="is no name of a task"):
        export_samples(results, shared_run, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_number_of_more_than_64_bits_is_text() -> None:
    table = frame(parquet([{"seed": 2**70}, {"seed": 1}]))
    assert list(table["seed"]) == [str(2**70), "1"]


@pytest.mark.parametrize("more", [("--to", "wandb"), ("--log-args", "samples=true")])
def test_samples_are_files_and_not_sent(more: tuple[str, str], cli: Cli) -> None:
    status, _, errors = cli("export", "runs/none", "--samples", *more)
    assert status == 1 and "--to" in errors
