"""Paths of models that users write, such as one of a home that nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

import t2ibench
from tests.conftest import Cli


def test_one_place_replaces_a_tilde_by_a_home() -> None:
    """Path.expanduser and os.path.expanduser raise errors for some texts."""
    package = Path(t2ibench.__file__).parent
    places = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "expanduser" in path.read_text(encoding="utf-8")
    }
    assert places == {"store/user_paths.py"}


@pytest.mark.parametrize("odd", ["~a\0b", "~no-such-user"])
@pytest.mark.parametrize(
    "words",
    [
        "run --model {} --tasks openbias_examples",
        "prefetch --model {}",
        "prefetch --model toyland --encoder clip:{}",
    ],
)
def test_a_model_whose_path_no_file_has_is_one_line(
    words: str, odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "~no-such-user").mkdir()
    status, _, said = cli(*(word.format(odd) for word in words.split(" ")))
    assert status == 1
    assert "fault of t2ibench" not in said and "Error:" not in said
    assert said.count("\n") == 1
