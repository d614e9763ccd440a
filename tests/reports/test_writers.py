"""Writers: every format, and text that is not to be trusted."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from t2ibench import evaluate
from t2ibench.reports.writers import WRITERS, Table
from t2ibench.results import read_results

Cli = Callable[..., tuple[int, str, str]]
NASTY = ("<script>alert(1)</script>", "a | b", "=cmd()", "50 % & $x_1$ {y}", "line\nbreak", "é 漢")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    evaluate(
        "toyland", "t2iat_flowers_insects,occupations_t2iat", output_dir=folder,
        limit=2, images_per_prompt=2, n_permutations=200, n_bootstrap=100,
    )  # fmt: skip
    return folder / "toyland"


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize("name", WRITERS.names())
def test_every_writer_writes_tables_and_runs(name: str, run: Path) -> None:
    writer = WRITERS.get(name)
    assert writer.description and writer.suffix.isalnum()
    for text in (
        writer.table(Table(["a", "b"], [[cell, "1"] for cell in NASTY], ["A note."])),
        writer.results(read_results(run)),
    ):
        assert text.endswith("\n") and len(text.splitlines()) > 2


def test_csv_is_csv_and_nothing_else(run: Path, cli: Cli) -> None:
    status, out, errors = cli("compare", run, run, "--rows", "--format", "csv")
    rows = rows_of(out)
    assert status == 0 and len({len(row) for row in rows}) == 1 and len(rows[0]) == 7
    assert rows[0][0] == "Task" and all(rows[1:]) and "--limit" in errors
    written = rows_of(WRITERS.get("csv").table(Table(["a"], [[cell] for cell in NASTY])))
    assert [row[0] for row in written[1:]] == ["'=cmd()" if c == "=cmd()" else c for c in NASTY]


def test_csv_of_a_run_has_every_score(run: Path, cli: Cli, tmp_path: Path) -> None:
    status, out, _ = cli("report", run, "--format", "csv", "--output", tmp_path / "x.csv")
    assert status == 0 and out == ""
    results = read_results(run)
    (header, *rows) = rows_of((tmp_path / "x.csv").read_text())
    expected = sum(
        1 + len(task.scores) + sum(len(row.scores) for row in task.by)
        for task in results.tasks.values()
    )
    assert len(rows) == expected and len({len(row) for row in rows}) == 1
    by_key = {(row[0], row[2], row[3]): dict(zip(header, row, strict=True)) for row in rows}
    headline = results.tasks["t2iat_flowers_insects"].headline
    assert float(by_key["t2iat_flowers_insects", "", "headline"]["value"]) == headline.value


def test_markdown_escapes_and_latex_escapes() -> None:
    table = Table(["Task"], [[cell] for cell in NASTY])
    markdown = WRITERS.get("md").table(table)
    assert "<script>" not in markdown and "a \\| b" in markdown
    assert len(markdown.splitlines()) == 2 + len(NASTY)
    latex = WRITERS.get("latex").table(table)
    assert "50 \\% \\& \\$x\\_1\\$ \\{y\\}" in latex


def test_an_unknown_format_is_one_line(run: Path, cli: Cli) -> None:
    for words in (("report", run), ("compare", run, run), ("leaderboard", "table")):
        status, _, errors = cli(*words, "--format", "cvs")
        assert status == 1 and "Unknown writer 'cvs'. Did you mean 'csv'?" in errors
