"""Paths that users write: homes that nobody knows, links in circles, names that no file has."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench.store.user_paths import expanded, resolved
from tests.conftest import Cli

ODD = ["loop", "loop/inside", "a\0b", "~no-such-user/x", "\udcff", "x/" * 3000]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a link to itself."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


@pytest.mark.parametrize("text", [*ODD, "~a\0b", "~", ""])
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
        "leaderboard verify {}",
        "run --model toyland --tasks openbias_examples --judge-check {}",
        "run --model folder:{} --tasks openbias_examples --watch 1",
        "propose openbias --captions folder:{} --output task.yaml",
        "check judge toyland --images {} --labels {}",
    ],
)
def test_a_command_says_in_one_line_what_is_wrong_with_a_path(
    command: str, odd: str, folder: Path, cli: Cli
) -> None:
    status, printed, said = cli(*(word.format(odd) for word in command.split(" ")))
    assert status in {0, 1}, said
    assert "fault of t2ibench" not in said + printed
    assert "Error:" not in said + printed
    # a site's folder is locked before its submissions are read
    assert {path.name for path in folder.iterdir()} <= {"loop", "site"}


@pytest.mark.slow  # loads a torch model
def test_a_file_may_have_a_name_as_that_of_a_home(folder: Path, cli: Cli) -> None:
    (folder / "~no-such-user").touch()
    command = (
        "run --model toy --model-args lora=~no-such-user --tasks openbias_examples"
    )
    status, _, said = cli(*command.split(" "))
    assert status == 1 and "lora=~no-such-user could not be loaded" in said
    assert "home" not in said and "RuntimeError" not in said
