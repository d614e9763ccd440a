"""What a terminal shows of a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from t2ibench.reports.overview import ASCII, interval_bar
from t2ibench.reports.terminal import print_results, screen
from t2ibench.reports.view import run_view
from t2ibench.results.display import IntervalMark, within
from tests import hand

IMAGES = {"x": [1.0, 1.0, 1.0, -1.0], "y": [1.0, -1.0, 1.0, 1.0]}


def test_a_terminal_says_it_in_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    found = hand.record(hand.mean_lean(IMAGES))
    results = hand.results(
        a=found,
        b=found.model_copy(update={"inconclusive": "it is [red]blind[/red]"}),
        many=hand.record(hand.mean_square(IMAGES)),
    )
    print_results(results, width=200, folder=Path("runs/my model"))
    printed = capsys.readouterr().out
    assert "\x1b" in printed
    text = " ".join(re.sub("\x1b\\[[0-9;]*m", "", printed).split())
    assert "none of 3 tests shows a clear lean; 3 cannot tell" in text
    assert "b it is [red]blind[/red]" in text and "is too wide" in text
    assert "Report: runs/my model/report.html" in text
    assert "t2ibench explore 'runs/my model'" in text and "t2ibench power" in text
    monkeypatch.delenv("FORCE_COLOR")
    print_results(results, verbose=True)
    text = capsys.readouterr().out
    assert "| Headline" in text and "\x1b" not in text
    assert "these very prompts, with other images" in text


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_a_run_of_any_size_is_one_screen(width: int) -> None:
    """Clear tests are shown before others, and what is not shown is counted."""
    sure = hand.record(hand.mean_lean({"x": [0.9, 0.8, 0.9, 0.8] * 8, "y": [0.9, 0.8] * 16}))
    wide = hand.record(hand.mean_lean(IMAGES))
    tasks = {f"sure_{'x' * 30}_{number}": sure for number in range(60)}
    tasks |= {f"wide_{number}": wide for number in range(40)}
    found = screen(run_view(hand.results(**tasks)), width, folder=Path("runs/a-model"))
    lines = [line.plain for line in found]
    assert len(lines) == 50 and max(map(len, lines)) <= width
    assert sum("●" in line and "sure_" in line for line in lines) >= 10
    assert sum(line.startswith(" wide_") for line in lines) == 4
    assert sum("more in results.md" in line for line in lines) == 2


def test_a_bar_has_its_band_zero_interval_and_value_in_their_places() -> None:
    mark = IntervalMark(0.5, 0.25, 0.75, "clear", "high", -0.25, 0.25)
    assert interval_bar(mark, 17) == "      ░░│░──●──  "
    assert interval_bar(mark, 17).translate(ASCII) == "      ::|:--@--  "
    beyond = within(IntervalMark(1.4, 0.5, 2.3, "cannot_tell", "high"), square=False)
    assert interval_bar(beyond, 9) == "    │ ╌◌›"
    below = within(IntervalMark(-0.9, -1.3, -0.5, "clear", "low"), square=False)
    assert interval_bar(below, 9).translate(ASCII) == "<@- |    "
    small = IntervalMark(0.0, -0.2, 0.2, "none_above", None)
    assert interval_bar(small, 9) == "   ─□─   "
    assert interval_bar(IntervalMark(None, None, None, "no_score", None), 9) == "    │    "
