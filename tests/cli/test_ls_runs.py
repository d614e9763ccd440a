"""`t2ibench ls runs`: every run on a line, whatever lies in the folder."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from t2ibench.results.run import RunFolder
from tests import hand
from tests.conftest import Cli

LEAN = {
    "t2iat_lean": hand.mean_lean({"x": [1.0] * 9 + [-1.0], "y": [1.0] * 9 + [-1.0]})
}


def listed(cli: Cli, *folders: Path) -> list[dict[str, Any]]:
    status, out, err = cli("ls", "runs", *folders, "--json")
    assert status == 0, err
    rows: list[dict[str, Any]] = json.loads(out)
    return rows


def write(folder: Path, name: str = "m") -> Path:
    """Write a run with a record and results."""
    path = hand.write_run(folder, name, LEAN)
    run = RunFolder(path)
    run.reload()
    run.update(status="complete", tasks=list(LEAN))
    run.database.close()
    return path


def test_runs_below_folders_are_listed_with_their_state(
    cli: Cli, tmp_path: Path
) -> None:
    write(tmp_path / "runs" / "b", "model b")
    write(tmp_path / "runs" / "study" / "a", "model a")
    (tmp_path / "runs" / "notes").mkdir()
    rows = listed(cli, tmp_path / "runs")
    assert [Path(row["folder"]).name for row in rows] == ["b", "a"]
    first, _ = rows
    assert (first["model"], first["tasks"], first["state"]) == (
        "model b",
        1,
        "finished",
    )
    assert first["readable"] is True
    assert first["clear"] + first["not_clear"] + first["none_above"] == 1
    # A run itself, and a folder that was given twice, are listed once.
    assert len(listed(cli, tmp_path / "runs" / "b")) == 1
    assert len(listed(cli, tmp_path / "runs", tmp_path / "runs" / "b")) == 2


def test_the_table_fits_and_names_the_folder_once(cli: Cli, tmp_path: Path) -> None:
    parent = tmp_path / "runs"
    write(parent / ("a-very-long-name-of-a-folder-" * 3), "a model with a long name")
    write(parent / "short")
    status, out, _ = cli("ls", "runs", parent)
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == f"Runs in {parent}:"
    assert max(map(len, lines[2:])) <= 100
    assert sum("finished" in line for line in lines) == 2
    assert lines[-1].startswith("Tests: ● clear")


def test_what_is_missing_is_said(cli: Cli, tmp_path: Path) -> None:
    running = RunFolder(write(tmp_path / "running"))
    running.reload()
    running.update(status="running")
    lacking = RunFolder(write(tmp_path / "lacking"))
    lacking.reload()
    lacking.update(status="incomplete")
    unscored = write(tmp_path / "unscored")
    (unscored / "results.json").unlink()
    alone = write(tmp_path / "alone")
    (alone / "run.db").unlink()
    unrecorded = write(tmp_path / "unrecorded")
    (unrecorded / "results.json").unlink()
    hand.damage(unrecorded, "DELETE FROM run")
    states = {Path(row["folder"]).name: row["state"] for row in listed(cli, tmp_path)}
    assert states == {
        "alone": "finished",
        "lacking": "some evidence is missing",
        "running": "running, or stopped before its end",
        "unrecorded": "no record of its run, as after a merge that was interrupted",
        "unscored": "not scored",
    }


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder with everything that is no sound run."""
    folder = tmp_path / "hostile"
    contents = {
        "not-json": "{",
        "a-list": "[]",
        "deep": "[" * 100_000,
        "evil\n\x1b[31m": '{"schema": 99}',
    }
    for name, text in contents.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "results.json").write_text(text, encoding="utf-8")
    for name, content in {"nonsense": b"nonsense", "empty-db": b""}.items():
        (folder / name).mkdir()
        (folder / name / "run.db").write_bytes(content)
    (folder / "folder" / "results.json").mkdir(parents=True)
    (folder / "older").mkdir()
    (folder / "older" / "run.json").write_text("{}", encoding="utf-8")
    (folder / "foreign").mkdir()
    with closing(sqlite3.connect(folder / "foreign" / "run.db")) as connection:
        connection.execute("CREATE VIEW run AS SELECT 1 AS key")
    with (folder / "not-json" / "run.db").open("wb") as file:
        file.truncate(10**9)
    cut = write(folder / "cut") / "run.db"
    cut.write_bytes(cut.read_bytes()[:5000])
    if hasattr(os, "mkfifo"):
        # Whoever opens it waits for ever.
        (folder / "pipe").mkdir()
        os.mkfifo(folder / "pipe" / "results.json")
        (folder / "pipe-db").mkdir()
        os.mkfifo(folder / "pipe-db" / "run.db")
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "dangling").symlink_to(folder / "nothing")
    (folder / "no-run").mkdir()
    return folder


def test_broken_and_hostile_folders_are_a_line_each_and_stop_nothing(
    hostile: Path, cli: Cli
) -> None:
    write(hostile / "z-sound")
    before = {path: path.stat().st_mtime_ns for path in hostile.rglob("*.db")}
    rows = listed(cli, hostile)
    names = [Path(row["folder"]).name for row in rows]
    folders = {path.name for path in hostile.iterdir() if not path.is_symlink()}
    assert names == sorted(folders - {"no-run"})
    assert [row["readable"] for row in rows] == [name == "z-sound" for name in names]
    assert all(row["state"] and "\n" not in row["state"] for row in rows)
    status, out, err = cli("ls", "runs", hostile)
    assert (status, err) == (0, "")
    assert "\x1b" not in out
    lines = out.splitlines()
    # A line each between the heads and the legend.
    assert len(lines) == 2 + 2 + len(rows) + 2
    assert max(map(len, lines[2:])) <= 100
    # Nothing was repaired, locked or written.
    assert before == {path: path.stat().st_mtime_ns for path in hostile.rglob("*.db")}


def test_csv_has_a_row_a_run(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "runs" / "a")
    status, out, _ = cli("ls", "runs", tmp_path / "runs", "--format", "csv")
    (row,) = csv.DictReader(out.splitlines())
    assert status == 0 and row["state"] == "finished" and row["name"] == ""


def test_folders_that_do_not_exist_and_words_without_folders_are_one_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments, message in (
        (("runs",), "There is no folder 'runs' here."),
        (("runs", tmp_path / "nothing"), "is not a folder"),
        (("core", "runs"), "`ls core` takes no folder."),
        (
            ("core_science_arts", "--format", "csv"),
            "A single task cannot be printed as a table.",
        ),
    ):
        status, out, err = cli("ls", *arguments)
        assert (status, out, err.count("\n")) == (1, "", 1), err
        assert message in err
    (tmp_path / "runs").mkdir()
    assert cli("ls", "runs")[:2] == (0, "No runs.\n")


def test_other_lists_have_the_same_formats(cli: Cli) -> None:
    rows = json.loads(cli("ls", "writers", "--format", "json")[1])
    assert rows == json.loads(cli("ls", "writers", "--json")[1])
    records = list(
        csv.DictReader(cli("ls", "groups", "--format", "csv")[1].splitlines())
    )
    assert {"group", "tasks"} == set(records[0])
