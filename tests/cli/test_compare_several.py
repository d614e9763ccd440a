"""Three and more runs side by side on the command line, and the trend of checkpoints."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from t2ibench.reports.run_names import short_names, without_middles
from t2ibench.results.several_runs import MOST_RUNS
from tests import hand
from tests.conftest import Cli

Writer = Callable[[str, float], Path]


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """Writes the folder of a run in which a share of images is +1."""

    def writer(name: str, share: float) -> Path:
        noise = np.random.default_rng(sum(map(ord, name))).random((2, 60))
        shown = np.where(noise < share, 1.0, -1.0)
        prompts = {"x": shown[0], "y": shown[1]}
        tasks = {
            "t2iat_lean": hand.mean_lean(prompts),
            "t2iat_square": hand.mean_square(prompts),
        }
        return hand.write_run(tmp_path / name, name, tasks)

    return writer


@pytest.fixture
def three(write: Writer) -> list[Path]:
    return [write("low", 0.55), write("middle", 0.75), write("high", 0.95)]


def test_three_runs_are_a_table_with_a_column_a_run(
    three: list[Path], cli: Cli
) -> None:
    status, out, err = cli("compare", *three)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    heads = [line for line in lines if line.startswith("| Test")]
    assert [cell.strip() for cell in heads[0].split("|")[1:-1]] == [
        "Test", "low", "middle", "high", "Differ",
    ]  # fmt: skip
    # What differs comes before any number, what all tests say together before single ones.
    order = [out.index(text) for text in ("The runs", "All tests together:", "| Test")]
    assert order == sorted(order)
    assert "the runs differ (p < 0.001)" in out
    assert "Slope" not in out
    # Of no pair is anything claimed.
    assert "leans less" not in out


def test_two_runs_are_compared_as_before(three: list[Path], cli: Cli) -> None:
    out = cli("compare", *three[:2])[1]
    assert "Differ, p" in out and "leans less" in out


def test_checkpoints_have_a_trend_and_a_figure(
    three: list[Path], cli: Cli, tmp_path: Path
) -> None:
    figures = tmp_path / "figures"
    status, out, err = cli(
        "compare", *three, "--steps", "1000,2000,4000", "--figures", figures
    )
    assert status == 0
    assert "Over the runs in order there is a trend (p < 0.001)" in out
    (row,) = [line for line in out.splitlines() if "leans more" in line]
    assert row.startswith("| t2iat_square")
    assert {path.name for path in figures.iterdir()} >= {
        "trend.svg", "trend.png", "trend.csv",
    }  # fmt: skip
    assert str(figures / "trend.svg") in err
    rows = list(csv.DictReader((figures / "trend.csv").read_text().splitlines()))
    assert len(rows) == 6
    assert [row["position"] for row in rows[:3]] == ["1000.0", "2000.0", "4000.0"]
    drawn = (figures / "trend.svg").read_text(encoding="utf-8")
    assert "t2iat_square" in drawn and "<polyline" in drawn


def test_records_have_every_run_every_test_and_the_overall_test(
    three: list[Path], cli: Cli
) -> None:
    out = cli("compare", *three, "--order", "--format", "json")[1]
    rows = json.loads(out)["rows"]
    assert [row["about"] for row in rows] == ["run"] * 6 + ["test"] * 2 + ["all tests"]
    assert len({tuple(row) for row in rows}) == 1
    tests = [row for row in rows if row["about"] == "test"]
    assert rows[-1]["p_differ_holm"] == min(row["p_differ_holm"] for row in tests)
    assert rows[-1]["p_trend_holm"] == min(row["p_trend_holm"] for row in tests)
    for row in tests:
        assert row["runs_compared"] == 3 and row["paired"] is True
        assert row["slope_low"] <= row["slope"] <= row["slope_high"]
    out = cli("compare", *three, "--format", "csv")[1]
    records = list(csv.DictReader(out.splitlines()))
    assert len(records) == 9 and "slope" not in records[0]
    for form in ("latex", "card"):
        status, out, _ = cli("compare", *three, "--order", "--format", form)
        assert status == 0 and "middle" in out


def test_many_runs_are_a_row_each(write: Writer, cli: Cli) -> None:
    runs = [
        write(f"a-model-with-a-long-name-step-{k:05}", 0.6) for k in range(MOST_RUNS)
    ]
    status, out, _ = cli("compare", *runs)
    assert status == 0
    assert max(map(len, out.splitlines())) <= 100
    rows = [line for line in out.splitlines() if "| …000" in line]
    assert len(rows) == 2 * MOST_RUNS
    status, _, err = cli("compare", *runs, runs[0])
    assert status == 1
    assert err.count("\n") == 1 and f"at most {MOST_RUNS}" in err


def test_equal_runs_do_not_differ(three: list[Path], cli: Cli) -> None:
    out = cli("compare", three[0], three[0], three[0])[1]
    assert "The runs have the same generator, settings and seeds." in out
    assert "no difference between the runs beyond chance (p = 1, 2 tests)" in out


def test_what_cannot_be_compared_is_in_parentheses_with_its_reason(
    three: list[Path], cli: Cli
) -> None:
    def by_another_encoder(data: dict[str, dict[str, dict[str, object]]]) -> None:
        for task in data["tasks"].values():
            task["settings"]["encoders"] = {"another": "ab" * 32}  # type: ignore[index]

    results = three[2] / "results.json"
    data = json.loads(results.read_text(encoding="utf-8"))
    by_another_encoder(data)
    results.write_text(json.dumps(data), encoding="utf-8")
    out = cli("compare", *three, "--order")[1]
    # A checksum tells encoders of one name apart.
    checksum = "abababababab"
    assert f"low and middle; another {checksum} in high" in out
    assert "Not compared, high: other encoders (t2iat_lean and t2iat_square)." in out
    assert out.count("(●") == 2 and "In parentheses: not compared" in out
    assert "No test has a trend: it takes three runs that can be compared." in out


def test_requests_that_cannot_work_are_one_line(three: list[Path], cli: Cli) -> None:
    for arguments, message in (
        ((*three[:2], "--order"), "A trend needs three runs or more."),
        ((*three, "--steps", "1,2"), "There are 3 runs and 2 steps."),
        ((*three, "--steps", "1,x,3"), "'x' is not a number"),
        ((*three, "--steps", "1,nan,3"), "'nan' is not a number"),
        ((*three, "--steps", "3,2,1"), "do not ascend"),
        ((*three, "--rows"), "--rows compares two runs."),
        ((*three, "--format", "mdd"), "Did you mean 'md'"),
        ((*three, "--accept", "none.yaml"), "none.yaml"),
    ):
        status, out, err = cli("compare", *arguments)
        assert (status, out, err.count("\n")) == (1, "", 1), err
        assert message in err


@pytest.mark.parametrize("form", ["md", "csv"])
def test_a_comparison_is_written_to_a_file(
    three: list[Path], cli: Cli, tmp_path: Path, form: str
) -> None:
    printed = cli("compare", *three, "--format", form)[1]
    target = tmp_path / "comparison"
    status, out, _ = cli("compare", *three, "--format", form, "--output", target)
    assert (status, out) == (0, "")
    assert target.read_text(encoding="utf-8") == printed


ACCEPT = """\
title: Images of x and y
owner: nobody
scenarios:
  - name: lean
    at_risk: people
    hazard: images of one kind alone
    measurement: {task: t2iat_lean, statistic: headline}
    accept: 0.3
    reject: 0.5
    reason: the numbers of this test
"""


def test_several_runs_are_a_page_with_value_interval_state_and_decision(
    write: Writer, cli: Cli, tmp_path: Path
) -> None:
    runs = [
        write(name, share) for name, share in (("<b>", 0.55), ("m", 0.75), ("h", 1))
    ]
    (tmp_path / "accept.yaml").write_text(ACCEPT)
    status, out, err = cli(
        "compare", *runs, "--order", "--format", "html",
        "--accept", tmp_path / "accept.yaml",
    )  # fmt: skip
    assert (status, err) == (0, ""), err
    page = runs[-1] / "trend.html"
    assert out == f"Comparison: {page}\n"
    text = page.read_text(encoding="utf-8")
    assert "<b>," not in text and "&lt;b&gt;" in text
    for part in ("3 runs in order", "t2iat_square", "State", "Decision", "Slope"):
        assert part in text
    assert text.count('scope="rowgroup"') == 2
    # Without an order there is neither a figure nor a trend.
    target = tmp_path / "page.html"
    cli("compare", *runs, "--format", "html", "--output", target)
    plain = target.read_text(encoding="utf-8")
    assert "3 runs side by side" in plain
    assert "Slope" not in plain and "<svg" not in plain


def test_decisions_stand_below_the_table(
    three: list[Path], cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "accept.yaml").write_text(ACCEPT)
    out = cli("compare", *three, "--accept", tmp_path / "accept.yaml")[1]
    items = [line for line in out.splitlines() if line.startswith("- ")]
    assert [item.partition(":")[0] for item in items[-3:]] == [
        "- low",
        "- middle",
        "- high",
    ]
    assert "fails" in items[-1] and "fails" not in items[-3]


def test_names_of_runs_are_shown_and_not_obeyed(write: Writer, cli: Cli) -> None:
    runs = [write(name, 0.6) for name in ("a|b", "\x1b[31m", "<script>")]
    out = cli("compare", *runs)[1]
    assert "\x1b" not in out and "a\\|b" in out and "<script>" not in out


def test_names_are_cut_where_they_stay_distinct() -> None:
    steps = [f"sd-lora-{'x' * 30}-{k}" for k in range(3)]
    assert short_names(steps, 10) == ["…0", "…1", "…2"]
    assert short_names(["a" * 40, "b" * 40], 10) == ["aaaaa…aaaa", "bbbbb…bbbb"]
    alike = ["a" * 20 + "x" + "a" * 20, "a" * 20 + "y" + "a" * 20]
    assert short_names(alike, 10) == ["run 1", "run 2"]
    assert without_middles(alike, 10) == alike


@pytest.mark.parametrize("form", ["csv", "json", "latex", "card"])
def test_a_format_without_decisions_is_refused_with_limits(
    form: str, three: list[Path], cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "accept.yaml").write_text(ACCEPT)
    limits = tmp_path / "accept.yaml"
    status, out, err = cli("compare", *three, "--accept", limits, "--format", form)
    assert (status, out) == (1, "")
    assert f"a comparison in the format '{form}' has no decisions" in err
