"""Two runs side by side, and captions for pictures that have none."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests import hand
from tests.conftest import Cli

SHARES = {"strong": 0.95, "weak": 0.55}


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, Path]:
    """Two models that drew the same prompts from the same noise."""
    noise = np.random.default_rng(5).random((2, 100))
    found = {}
    for name, share in SHARES.items():
        images = np.where(noise < share, 1.0, -1.0)
        tasks = {
            "t2iat_one": hand.mean_lean({"x": images[0], "y": images[1]}),
            "t2iat_many": hand.mean_square({"x": images[0], "y": images[1]}),
        }
        found[name] = hand.write_run(tmp_path / name, name, tasks)
    return found


def test_endless_and_huge_files_are_refused(
    runs: dict[str, Path], cli: Cli, tmp_path: Path
) -> None:
    endless = tmp_path / "results.json"
    with endless.open("wb") as file:
        file.truncate(10**11)  # with a hole: no byte of it is on the disk
    for path, why in (
        ("/dev/zero", "no ordinary file"),
        (endless, "larger than 256 MiB"),
    ):
        for both in ((path, runs["weak"]), (runs["weak"], path)):
            status, _, error = cli("compare", *both)
            assert status == 1 and why in error and error.count("\n") == 1


def test_a_run_and_its_copy_are_said_to_be_one(
    runs: dict[str, Path], cli: Cli, tmp_path: Path
) -> None:
    strong, weak = runs["strong"], runs["weak"]
    copied = Path(shutil.copytree(strong, tmp_path / "copied"))
    line = f"{copied} has the same results as {strong}: they are one run, or a copy"
    assert line in cli("compare", strong, copied)[2]
    said = cli("compare", strong, weak, copied)[2]
    assert line in said and said.count("same results") == 1
    for command in ("where", "frontier"):
        assert line in cli(command, strong, copied)[2]
        assert "same results" not in cli(command, strong, weak)[2]
    assert "same results" not in cli("compare", strong, weak)[2]


def test_csv_has_the_verdict_of_the_table_and_whether_runs_are_comparable(
    runs: dict[str, Path], cli: Cli, tmp_path: Path
) -> None:
    def records(old: Path, new: Path) -> dict[str, dict[str, str]]:
        status, out, err = cli("compare", old, new, "--format", "csv")
        assert status == 0, err
        rows = csv.DictReader(out.splitlines())
        return {row["task"]: row for row in rows if row["score"] == "headline"}

    both = records(runs["strong"], runs["weak"])
    for row in both.values():
        assert (row["comparable"], row["verdict"]) == ("True", "new leans less")
    assert both["t2iat_one"]["scale"] == "lean"
    # The number is a root, as in the table: that of .9 and .9, squared, is .81.
    assert both["t2iat_many"]["scale"] == "root_mean_square"
    assert float(both["t2iat_many"]["old"]) == pytest.approx(0.9, abs=0.05)
    same = records(runs["weak"], runs["weak"])
    assert {row["verdict"] for row in same.values()} == {"no difference beyond chance"}
    # Another encoder reads other leans of the same images: no verdict is passed.
    text = (runs["weak"] / "results.json").read_text(encoding="utf-8")
    results = json.loads(text)
    results.pop("checksum", None)
    for task in results["tasks"].values():
        task["settings"]["encoders"] = {"another": "ab" * 32}
    other = tmp_path / "other.json"
    other.write_text(json.dumps(results), encoding="utf-8")
    for row in records(runs["strong"], other).values():
        assert (row["comparable"], row["verdict"]) == ("False", "not compared")


def test_which_model_leans_less(runs: dict[str, Path], cli: Cli) -> None:
    status, out, _ = cli("compare", runs["strong"], runs["weak"])
    assert status == 0 and out.count("| B leans less") == 2
    assert out.startswith(
        "A: strong. B: weak. They differ in:\n- Model: strong; weak\n"
    )
    assert "| rms 0." in out and "weak in 2, neither beyond chance in 0" in out
    together = out.index("All tests together: the runs differ (p")
    assert together < out.index("Headlines, after Holm's correction:")
    # The verdict does not depend on the order.
    assert cli("compare", runs["weak"], runs["strong"])[1].count("| A leans less") == 2


def test_json_has_the_records_the_overall_test_and_the_notes(
    runs: dict[str, Path], cli: Cli
) -> None:
    status, out, _ = cli("compare", runs["strong"], runs["weak"], "--format", "json")
    content = json.loads(out)
    assert status == 0
    rows = {row["score"]: row for row in content["rows"]}
    together = rows["all tests"]
    assert together["verdict"] == "the runs differ"
    tests = [row for row in content["rows"] if row["score"] == "headline"]
    assert together["p_differ_holm"] == min(row["p_differ_holm"] for row in tests)
    for row in tests:
        assert row["p_holm"] >= row["p"] and row["p_differ_holm"] >= row["p_differ"]
        assert (row["p"] < 0.05) == (not row["change_low"] <= 0 <= row["change_high"])
    assert content["notes"][0].startswith("All tests together: the runs differ")


def test_a_run_and_itself_do_not_differ(runs: dict[str, Path], cli: Cli) -> None:
    out = " ".join(cli("compare", runs["weak"], runs["weak"])[1].split())
    assert "All tests together: no difference between the runs beyond chance" in out
    assert (
        "weak (1) leans less in 0, weak (2) in 0, neither beyond chance in 2; 0 not"
        in out
    )


def test_one_test_is_counted_as_one(cli: Cli, tmp_path: Path) -> None:
    noise = np.random.default_rng(6).random((2, 100))
    runs = []
    for name, share in SHARES.items():
        images = np.where(noise < share, 1.0, -1.0)
        tasks = {"t2iat_one": hand.mean_lean({"x": images[0], "y": images[1]})}
        runs.append(hand.write_run(tmp_path / name, name, tasks))
    out = cli("compare", *runs)[1]
    assert "The one test: the runs differ beyond chance (p < 0.001" in out
    out = cli("compare", runs[0], runs[0])[1]
    assert "no difference between the runs beyond chance (p = 1, 1 test)" in out
    out = cli("compare", *runs, runs[0])[1]
    assert "All tests together: the runs differ beyond chance (p < 0.001" in out
    assert ", 1 test)" in out and "1 of 1" not in out


def test_flags_that_a_page_of_two_runs_has_no_use_for_are_refused(
    runs: dict[str, Path], cli: Cli
) -> None:
    weak, strong = runs.values()
    status, _, error = cli(
        "report", weak, "--baseline", strong, "--reference", "submissions"
    )
    assert status == 1 and "Leave --format and --reference out" in error
