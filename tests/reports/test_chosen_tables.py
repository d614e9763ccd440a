"""`report --title --columns --rows`: tables for papers."""

from __future__ import annotations

import pytest

from t2ibench.reports.chosen_tables import COLUMNS, chosen_tables
from t2ibench.reports.results_tables import tables
from t2ibench.reports.writers import render
from t2ibench.results import read_results
from tests.conftest import Cli
from tests.shipped import shipped

TOY = shipped("toy")


def test_without_a_choice_tables_are_those_of_the_run() -> None:
    results = read_results(TOY)
    assert chosen_tables(results) == list(tables(results))
    for table in tables(results):
        assert len(table.headers) == len(COLUMNS)


def test_columns_and_rows_come_in_the_order_chosen(cli: Cli) -> None:
    choice = ("--columns", "p_holm,task", "--rows", "t2iat_science_arts,mcas_*")
    status, text, errors = cli("report", TOY, "--format", "latex", *choice)
    assert status == 0, errors
    lines = [line.strip() for line in text.splitlines()]
    body = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    cells = [[cell.strip(" \\") for cell in line.split(" & ")] for line in body]
    assert [row[1].strip() for row in cells] == ["t2iat\\_science\\_arts", "mcas\\_all"]
    holm = read_results(TOY).tasks["mcas_all"].headline.p_holm
    assert holm is not None and holm < 0.001
    assert cells[1][0] == "ensuremath{<}0.001"
    # The p-values are those of the run, however few tasks are shown.
    assert "over all tasks of the run, not these alone" in text
    assert "excess" not in text


def test_a_title_is_a_caption_and_no_markup(cli: Cli) -> None:
    title = "50 % of\nmodel_1 \\input{x}"
    status, text, _ = cli("report", TOY, "--format", "latex", "--title", title)
    assert status == 0
    caption = "\\caption{50 \\% of model\\_1 \\textbackslash{}input\\{x\\}}"
    assert text.count(caption) == text.count("\\begin{table}") == 2
    assert text.count("\\end{table}") == 2
    status, text, _ = cli("report", TOY, "--format", "md", "--title", "<b>|")
    assert status == 0 and text.startswith("**&lt;b>\\|**\n")


def test_without_a_title_there_is_no_float() -> None:
    text = render("latex", read_results(TOY))
    assert text.startswith("\\begin{tabular}") and "caption" not in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--format", "latex", "--columns", "p_hol"), "Did you mean 'p_holm'?"),
        (("--format", "latex", "--rows", "mcas_al"), "Did you mean 'mcas_all'?"),
        (
            ("--format", "csv", "--title", "x"),
            "--title is for tables of --format latex",
        ),
        (("--rows", "mcas_all"), "--rows is for tables of --format latex or md"),
    ],
)
def test_a_wrong_choice_is_one_line(
    words: tuple[str, ...], message: str, cli: Cli
) -> None:
    status, printed, errors = cli("report", TOY, *words)
    assert (status, printed) == (1, "") and message in errors
    assert errors.count("\n") == 1
