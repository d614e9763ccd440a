"""Writers: every format, and text that is not to be trusted."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from t2ibench.methods.core.estimate import Estimate, MethodResult
from t2ibench.methods.core.headline import lean_headline
from t2ibench.reports.writers import WRITERS, Table, render
from t2ibench.results import read_results
from tests import hand
from tests.conftest import Cli

NASTY = (
    "<script>alert(1)</script>",
    "a | b",
    "=cmd()",
    "50 % & $x_1$ {y}",
    "line\nbreak",
    "é 漢",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    images = {"a nurse": [1.0, 1.0, -1.0], "a chef": [1.0, -1.0, -1.0]}
    tasks = {
        "t2iat_flowers_insects": hand.mean_lean(images),
        "many": hand.mean_square(images),
    }
    folder = tmp_path_factory.mktemp("runs") / "toyland"
    return hand.write_run(folder, "toyland", tasks, settings=hand.settings(limit=2))


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
    assert status == 0 and len({len(row) for row in rows}) == 1 and "--limit" in errors
    one = dict(zip(rows[0], rows[1], strict=True))
    assert (one["task"], one["paired"]) == ("many", "True")
    for key in (
        "old",
        "old_low",
        "new_high",
        "change",
        "change_low",
        "change_high",
        "p",
        "p_holm",
    ):
        float(one[key])  # a number a cell
    safe = ["'=cmd()" if cell == "=cmd()" else cell for cell in NASTY]
    written = rows_of(
        WRITERS.get("csv").table(Table(["a"], [[cell] for cell in NASTY]))
    )
    assert written[1:] == [[cell] for cell in safe]
    records = [{"text": cell, "number": -0.5, "none": None} for cell in NASTY]
    written = rows_of(WRITERS.get("csv").table(Table(["a"], [["-"]], (), records)))
    assert written == [
        ["text", "number", "none"],
        *([cell, "-0.5", ""] for cell in safe),
    ]


def test_csv_of_a_run_has_every_score(run: Path, cli: Cli, tmp_path: Path) -> None:
    status, out, _ = cli(
        "report", run, "--format", "csv", "--output", tmp_path / "x.csv"
    )
    assert status == 0 and out == ""
    results = read_results(run)
    (header, *rows) = rows_of((tmp_path / "x.csv").read_text())
    expected = sum(
        1 + len(task.scores) + sum(len(row.scores) for row in task.by)
        for task in results.tasks.values()
    )
    assert len(rows) == expected and len({len(row) for row in rows}) == 1
    named = [dict(zip(header, row, strict=True)) for row in rows]
    by_key = {(row["task"], row["row"], row["score"]): row for row in named}
    headline = results.tasks["t2iat_flowers_insects"].headline
    found = by_key["t2iat_flowers_insects", "", "headline"]
    for key in ("value", "square", "fair_low", "fair_high"):
        assert float(found[key]) == getattr(headline, key)
    assert (found["scale"], found["about"], found["as_published"]) == (
        "lean",
        "fixed_prompts",
        "",
    )


def test_csv_has_the_other_question_and_what_is_published() -> None:
    these = hand.leans({"x": [1.0, 0.0, 1.0]})[0].influence.scaled(0.1)
    head = lean_headline(0.5, these, 0.95, these.scaled(2.0))
    scores = {"d": Estimate(1.0, p=0.2, test="exact", as_published=True)}
    found = hand.record(
        MethodResult(head, scores, n_images=3), inconclusive="it is blind"
    )
    (header, *rows) = rows_of(WRITERS.get("csv").results(hand.results(t=found)))
    named = [dict(zip(header, row, strict=True)) for row in rows]
    by_score = {row["score"]: row for row in named}
    other = by_score["headline about prompt_population"]
    assert other["about"] == "prompt_population" and float(other["value"]) == 0.5
    assert float(other["ci_high"]) > float(by_score["headline"]["ci_high"])
    assert (
        by_score["d"]["as_published"] == "yes" and by_score["d"]["inconclusive"] == ""
    )
    assert by_score["headline"]["inconclusive"] == "it is blind"


def test_markdown_escapes_and_latex_escapes() -> None:
    table = Table(["Task"], [[cell] for cell in NASTY])
    markdown = WRITERS.get("md").table(table)
    assert "<script>" not in markdown and "a \\| b" in markdown
    assert len(markdown.splitlines()) == 2 + len(NASTY)
    latex = WRITERS.get("latex").table(
        Table(["Task"], [[cell] for cell in NASTY], ["5 % & more"])
    )
    assert "50 \\% \\& \\$x\\_1\\$ \\{y\\}" in latex
    assert "5 \\% \\& more" in latex.splitlines()[-1]


def test_an_unknown_format_is_one_line(run: Path, cli: Cli) -> None:
    for words in (("report", run), ("compare", run, run)):
        status, _, errors = cli(*words, "--format", "cvs")
        assert status == 1 and "Unknown writer 'cvs'. Did you mean 'csv'?" in errors


# Control and soft characters, half a surrogate pair, and one beyond U+FFFF.
UNSEEN = "a\x1b\x7f\x85\xad\u202e\ud800\U000e0041b"


def test_json_stays_json_whatever_is_escaped() -> None:
    text = render("json", Table(["Task"], [[UNSEEN]]))
    assert json.loads(text)["rows"] == [{"Task": UNSEEN}]
    results = hand.results(t=hand.task())
    results.name = UNSEEN
    text = render("json", results)
    assert json.loads(text)["name"] == UNSEEN
    assert not set(UNSEEN[1:-1]) & set(text)


def test_latex_obeys_no_escaped_character() -> None:
    table = Table(["Task"], [[f"{UNSEEN}\r\n\r\nc"]], [UNSEEN], title=UNSEEN)
    text = render("latex", table)
    assert not set(UNSEEN[1:-1]) & set(text) and "\n\n" not in text
    commands = set(re.findall(r"\\([A-Za-z]+)", text))
    assert not {"u", "U", "x", "ud", "xad", "xb", "r"} & commands
    assert text.count(r"\textbackslash{}U000e0041b") == 3


def test_every_writer_takes_half_a_surrogate_pair() -> None:
    results = hand.results(t=hand.task())
    results.name = "a\ud800b"
    for name in WRITERS.names():
        assert render(name, results).encode()
