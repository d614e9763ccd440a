"""What a killed command leaves beside its result, the next one removes, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from t2ibench.apps.leaderboard import site
from t2ibench.store.working_folders import working_folder
from tests.apps.leaderboard.conftest import board_of

_KILLED = """
import os, signal, sys
from pathlib import Path
from t2ibench.store.working_folders import working_folder
with working_folder(".building-", Path(sys.argv[1])) as folder:
    (folder / "index.html").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def left_by_a_killed_command(parent: Path) -> Path:
    command = [sys.executable, "-c", _KILLED, str(parent)]
    assert subprocess.run(command, check=False).returncode < 0
    (folder,) = parent.glob(".building-*")
    return folder


def test_what_a_killed_command_left_is_removed(tmp_path: Path) -> None:
    left = left_by_a_killed_command(tmp_path)
    other = tmp_path / ".building-notes.txt"
    other.write_text("mine")
    with working_folder(".building-", tmp_path) as folder:
        assert folder.is_dir() and not left.exists()
    assert list(tmp_path.iterdir()) == [other]


def test_a_folder_in_which_another_works_stays(tmp_path: Path) -> None:
    with working_folder(".building-", tmp_path) as first:
        (first / "page").write_text("whole")
        with working_folder(".building-", tmp_path) as second:
            assert second != first
        assert (first / "page").read_text() == "whole"
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError), working_folder(".building-", tmp_path):
        raise ValueError
    assert list(tmp_path.iterdir()) == []


def test_a_leaderboard_removes_what_its_killed_build_left(tmp_path: Path) -> None:
    (tmp_path / "board").mkdir()
    output = tmp_path / "site"
    output.mkdir()
    left = left_by_a_killed_command(output)
    site.build(board_of(tmp_path / "board"), output, "2026-05-02")
    assert (output / "index.html").is_file() and not left.exists()
