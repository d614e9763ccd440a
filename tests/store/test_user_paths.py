"""Paths that users write: homes that nobody knows, links in circles, names that no file has."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench.store.user_paths import expanded, resolved
from tests.conftest import Cli

ODD = [
    "loop",
    "loop/inside",
    "a\0b",
    "~no-such-user/x",
    "\udcff",
    # longer than a message is, and longer than the system's longest path
    "x/" * 1000,
    "x/" * 3000,
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a link to itself."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


@pytest.mark.parametrize("text", [*ODD, "~no-such-user", "~a\0b", "~", ""])
def test_any_text_becomes_a_path(text: str, folder: Path) -> None:
    path = expanded(text)
    assert isinstance(resolved(path), Path)
    if not text.startswith("~"):
        assert path == Path(text)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "command",
    [
        "ls --include-path {}",
        "merge {}",
        "leaderboard build {}",
        "run --model toyland --tasks openbias_examples --judge-check {}",
        "run --model folder:{} --tasks openbias_examples",
        "run --model folder:{} --tasks openbias_examples --watch 1",
        "propose openbias --captions folder:{} --output task.yaml",
        "check judge toyland --images {} --labels {}",
    ],
)
def test_a_command_says_in_one_line_what_is_wrong_with_a_path(
    command: str, odd: str, folder: Path, cli: Cli
) -> None:
    status, printed, said = cli(*(word.format(odd) for word in command.split(" ")))
    assert (status, printed) == (1, "")
    (line,) = said.splitlines()
    assert len(line) < 600
    assert "fault of t2ibench" not in line and "Error:" not in line
    # a site's folder is locked before its submissions are read
    assert {path.name for path in folder.iterdir()} <= {"loop", "site"}


@pytest.mark.nightly  # loads a torch model
def test_a_file_may_have_a_name_as_that_of_a_home(folder: Path, cli: Cli) -> None:
    (folder / "~no-such-user").touch()
    command = (
        "run --model toy --model-args lora=~no-such-user --tasks openbias_examples"
    )
    status, _, said = cli(*command.split(" "))
    assert status == 1 and "lora=~no-such-user could not be loaded" in said
    assert "home" not in said and "RuntimeError" not in said


@pytest.mark.parametrize("odd", ODD)
def test_verify_says_in_one_line_each_that_a_path_is_refused_and_why(
    odd: str, folder: Path, cli: Cli
) -> None:
    status, printed, said = cli("leaderboard", "verify", odd)
    assert status == 1
    *_, why = lines = (printed + said).splitlines()
    assert len(lines) <= 2 and all(len(line) < 600 for line in lines)
    assert "No such folder" in why or "file name too long" in why


def test_a_path_that_is_no_text_is_of_a_named_option(folder: Path, cli: Cli) -> None:
    words = "run --model toyland --tasks openbias_examples --judge-check \udcff"
    status, _, said = cli(*words.split(" "))
    assert status == 1
    assert "--judge-check: expected text, but some bytes are no characters" in said
