"""What a terminal shows of a run."""

from __future__ import annotations

import re

import pytest

from t2ibench.cli.run import print_results
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
    assert "+0.500" in text and "rms 0.000" in text and "inconclusive (+0.500)" in text
    assert "a: X is [red]drawn[/red] like men." in text
    assert "b: Inconclusive: it is blind." in text
    assert "these very prompts, with other images" in text and "rms: the root" in text
    monkeypatch.delenv("FORCE_COLOR")
    print_results(results)
    text = capsys.readouterr().out
    assert "| Headline" in text and "\x1b" not in text
