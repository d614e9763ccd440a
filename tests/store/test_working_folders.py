"""What a killed command leaves beside its result, the next one removes, and nothing else."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from t2ibench.apps.leaderboard import site
from t2ibench.store import working_folders
from t2ibench.store.working_folders import working_folder
from tests.apps.leaderboard.conftest import board_of

_KILLED = """
import os, signal, sys
from pathlib import Path
from t2ibench.store import working_folders
from t2ibench.store.working_folders import working_folder
with working_folder(Path(sys.argv[1])) as folder:
    (folder / "index.html").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def left_by_a_killed_command(parent: Path) -> Path:
    command = [sys.executable, "-c", _KILLED, str(parent)]
    assert subprocess.run(command, check=False).returncode < 0
    (folder,) = parent.glob(".t2ibench-working-*")
    return folder


def test_what_a_killed_command_left_is_removed(tmp_path: Path) -> None:
    left = left_by_a_killed_command(tmp_path)
    with working_folder(tmp_path) as folder:
        assert folder.is_dir() and not list(folder.iterdir()) and not left.exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "marker"),
    [
        (".building-notes", None),
        (".adding-notes", None),
        (".t2ibench-working-notes", "{here}"),
        (".t2ibench-working-abcd1234.kept", "{here}"),
        (".t2ibench-working-abcd1234", None),
        (".t2ibench-working-abcd1234", "another machine"),
    ],
)
def test_a_folder_that_is_not_surely_left_by_a_command_here_stays(
    name: str, marker: str | None, tmp_path: Path
) -> None:
    mine = tmp_path / name / "thesis.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    if marker is not None:
        text = marker.format(here=platform.node())
        (tmp_path / name / ".made-by-t2ibench").write_text(text)
    with working_folder(tmp_path):
        pass
    assert mine.read_text() == "mine"


def test_a_lock_that_another_program_holds_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working_folders, "_PATIENCE", 0.2)
    left = left_by_a_killed_command(tmp_path)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        with working_folder(tmp_path) as folder:
            (folder / "page").write_text("whole")
    finally:
        os.close(descriptor)
    assert list(tmp_path.iterdir()) == [left]


def test_a_working_folder_that_somebody_removed_fails_no_command(
    tmp_path: Path,
) -> None:
    with working_folder(tmp_path) as folder:
        shutil.rmtree(folder.parent)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_which_another_works_stays(tmp_path: Path) -> None:
    with working_folder(tmp_path) as first:
        (first / "page").write_text("whole")
        with working_folder(tmp_path) as second:
            assert second != first
        assert (first / "page").read_text() == "whole"
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError), working_folder(tmp_path):
        raise ValueError
    assert list(tmp_path.iterdir()) == []


def test_a_leaderboard_removes_what_its_killed_build_left(tmp_path: Path) -> None:
    (tmp_path / "board").mkdir()
    output = tmp_path / "site"
    output.mkdir()
    left = left_by_a_killed_command(output)
    site.build(board_of(tmp_path / "board"), output, "2026-05-02")
    assert (output / "index.html").is_file() and not left.exists()
