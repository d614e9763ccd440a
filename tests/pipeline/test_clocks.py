"""A clock that is wrong, or is set while a run works: no number and no file depends on it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import datetime, tzinfo
from pathlib import Path

import pytest

from t2ibench.cli import main
from t2ibench.results.run import open_run

TASK = "t2iat_flowers_insects"
NOW = 1_790_000_000.0
TEN_YEARS = 10 * 365 * 86_400.0
# Seconds since 1970 at the beginning and the end of a first call, and of a second.
CLOCKS = {
    "set back an hour": (NOW, NOW - 3600, NOW, NOW + 1),
    "forwards by ten years": (NOW, NOW + TEN_YEARS, NOW + 1, NOW + 2),
    "before 1970": (-7200, -3600, -1, 0),
    "2038": (2**31 - 1, 2**31, 2**31 + 1, 2**31 + 2),
    "2106": (2**32 - 1, 2**32, 2**32 + 1, 2**32 + 2),
    "from 2106 to 1970": (2**32 + 1, 0, 1, 2**32),
}


def set_clock(patch: pytest.MonkeyPatch, seconds: Iterable[float]) -> None:
    """Let a run read these times, and every other reader of the clock the last of them."""
    times = [*seconds]
    readings = itertools.chain(times, itertools.repeat(times[-1]))

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            return cls.fromtimestamp(next(readings), tz)

    patch.setattr("t2ibench.pipeline.run.datetime", Clock)
    patch.setattr("t2ibench.store.files.time.time", lambda: times[-1])


def measured(folder: Path, patch: pytest.MonkeyPatch) -> bytes:
    """The results of a run that generates in a first call, and scores in a second."""
    patch.chdir(folder)
    words = ["run", "--model", "toyland", "--tasks", TASK, "--limit", "1"]
    words += ["--images-per-prompt", "1", "--permutations", "99", "--bootstrap", "50"]
    words += ["--workers", "1", "--output-dir", "."]
    assert main([*words, "--generate-only"]) == 0
    assert main([*words, "--control-encoder", "none"]) == 0
    return (folder / "toyland" / "results.json").read_bytes()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        return measured(tmp_path_factory.mktemp("right"), patch)


@pytest.mark.parametrize("clock", [*CLOCKS])
def test_a_wrong_clock_changes_no_result(
    clock: str,
    expected: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_clock(monkeypatch, CLOCKS[clock])
    assert measured(tmp_path, monkeypatch) == expected
    history = open_run(tmp_path / "toyland").record.history
    stated = [(each.started.timestamp(), each.finished.timestamp()) for each in history]
    assert [*itertools.chain(*stated)] == [*CLOCKS[clock]]
    speed = open_run(tmp_path / "toyland").record.speed()
    assert speed is None or speed > 0
    assert main(["ls", "runs", str(tmp_path)]) == 0
    assert history[-1].finished.date().isoformat() in capsys.readouterr().out
    assert not [*tmp_path.rglob("*.tmp")]
