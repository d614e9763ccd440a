"""What fuzzing finds is kept, and tried first the next time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from tests.chaos.tries import CORPUS, Hang, Tries


@pytest.mark.parametrize("error", [ValueError, Hang])
def test_a_failure_is_kept_and_tried_first(
    error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CORPUS, str(tmp_path / "corpus"))
    drawn: list[int] = []

    def check(data: DataObject) -> None:
        number = data.draw(st.integers(0, 10**9))
        drawn.append(number)
        if number > 10**6:
            raise error

    def fails() -> int:
        """The first number that is tried."""
        drawn.clear()
        with pytest.raises((AssertionError, ValueError)):
            Tries(2000, 0).of(check)
        return drawn[0]

    fails()
    assert any(path.is_file() for path in (tmp_path / "corpus").rglob("*"))
    assert fails() > 10**6
