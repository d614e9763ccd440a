"""What a terminal shows of a run."""

from __future__ import annotations

import re

import pytest

from t2ibench.cli.run import print_results
from t2ibench.reports.rails import ASCII, UNICODE, Signs, rail, scale, signs_for
from t2ibench.reports.view import Mark
from tests import hand

IMAGES = {"x": [1.0, 1.0, 1.0, -1.0], "y": [1.0, -1.0, 1.0, 1.0]}


def test_a_terminal_says_it_in_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    found = hand.record(hand.mean_lean(IMAGES))
    head = found.headline.model_copy(update={"direction": "X is [red]drawn[/red] like men."})
    blind = head.model_copy(update={"direction": "Inconclusive: it is blind."})
    results = hand.results(
        a=found.model_copy(update={"headline": head}),
        b=found.model_copy(update={"headline": blind, "inconclusive": "it is blind"}),
        many=hand.record(hand.mean_square(IMAGES)),
    )
    print_results(results, width=200)
    text = " ".join(re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out).split())
    assert "none of 3 tests shows a clear lean; 3 cannot tell" in text
    assert "+0.50" in text and "◌" in text
    assert "[red]drawn[/red] like men." in text
    assert "b: Inconclusive: it is blind." in text
    assert "these very prompts, with other images" in text
    monkeypatch.delenv("FORCE_COLOR")
    print_results(results)
    text = capsys.readouterr().out
    assert "| Headline" in text and "\x1b" not in text


def test_a_bar_has_its_band_zero_interval_and_value_in_their_places() -> None:
    mark = Mark(0.5, 0.25, 0.75, "clear", "high", -0.25, 0.25)
    assert rail(mark, 17) == "      ░░│░──●──  "
    assert rail(mark, 17, ASCII) == "      ::|:--@--  "
    beyond = Mark(1.4, 0.5, 2.3, "cannot_tell", "high")
    assert rail(beyond, 9) == "    │ ╌◌›"
    assert rail(Mark(-0.9, -1.3, -0.5, "clear", "low"), 9, ASCII) == "<@- |    "
    assert rail(Mark(None, None, None, "no_score", None), 9) == "    │    "
    assert scale(17) == "-1      0      +1"


@pytest.mark.parametrize(
    ("encoding", "signs"), [("utf-8", UNICODE), ("ascii", ASCII), (None, ASCII)]
)
def test_a_stream_gets_the_characters_that_it_can_show(encoding: str | None, signs: Signs) -> None:
    assert signs_for(encoding) == signs
