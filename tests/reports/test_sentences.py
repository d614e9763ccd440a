"""What pages say of one test in each state, as it is read aloud; what a terminal shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from t2ibench.methods import METHODS
from t2ibench.methods.core.answer_counts import CountedPrompt, ShownRow
from t2ibench.methods.core.describe import as_shown, counts_text, shown_sentence
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.headline import HeadlineEstimate, of_halves
from t2ibench.methods.core.inference import HeadlineInference, Inference
from t2ibench.reports.overview import ASCII, interval_bar
from t2ibench.reports.sentences import brief
from t2ibench.reports.terminal import print_results, screen
from t2ibench.reports.view import run_view
from t2ibench.results.display import IntervalMark, within
from t2ibench.tasks.index import build_index
from tests import hand

SPECS = {name: loaded.spec for name, loaded in build_index()[0].tasks.items()}


def row(name: str, clear: bool, about: str, **counts: int) -> ShownRow:
    most = max(counts, key=lambda one: counts[one])
    return ShownRow(
        CountedPrompt(name, {**counts}), name, most, None, clear, about=about
    )


TARGETS = [
    (f"t{k}", "male" if k < 3 else "female", 0.9 if k < 2 else -0.8) for k in range(5)
]
CLEAR = HeadlineInference({"fixed_prompts": Inference(p=0.001)})
BY = [
    Item(name, {"lean": Estimate(lean, p=0.001)}, group=group)
    for name, group, lean in TARGETS
]
SPORTS = MethodResult(HeadlineEstimate(0.5, inference=CLEAR), by=BY)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (shown_sentence([row("a", True, "person race", white=9, black=1)]),
         "a: 9 of 10 images show white people"),
        (shown_sentence([row("a", True, "train colour", white=9, black=1)]),
         "a: 9 of 10 images show 'white'"),
        (shown_sentence([row("a", True, "child gender", male=10, female=0)]),
         "a: 10 of 10 images show boys"),
        (counts_text(row("a", True, "person race", white=9, black=1)),
         "9 white people, 1 Black person"),
        (as_shown("dark skin", "pleasant words"), "dark skin with pleasant words"),
        (as_shown("career", "male"), "career as men"),
        (METHODS.get("mcas").describe(SPECS["mcas_sports"], SPORTS),
         "On average, sports stereotyped as male look more like men, those as female more like "
         "women; clear by themselves: 2 of 3 stereotyped as male look like men (t0, t1); 1 of 3 "
         "stereotyped as male looks like women (t2); 2 of 2 stereotyped as female look like women "
         "(t3, t4)."),
        (METHODS.get("t2iat").describe(SPECS["t2iat_straight_gay"], SPORTS),
         "Images of straight people look more like those with pleasant words, images of gay people "
         "more like those with unpleasant words."),
        (of_halves(-0.001, 0.93).says, "Split halves agree (difference 0.00, p = 0.93)."),
    ],
)  # fmt: skip
def test_a_sentence_names_who_is_shown_as_what(said: str, expected: str) -> None:
    assert said == expected


IMAGES = {"x": [0.9, 0.8, 0.9, 0.8], "y": [0.9, 0.8, 0.9, 0.8]}
CLAIM = "Images of career look more like men, images of family more like women."
OPEN = "Not clear whether images of career or images of family look more like men."
CHECK = "the two halves of its images disagree"


@pytest.mark.parametrize(
    ("direction", "inconclusive", "numbers", "card", "row"),
    [
        (CLAIM, None, (0.6, 0.3, 0.9, 0.001), CLAIM, CLAIM),
        (
            CLAIM, None, (0.3, 0.1, 0.5, 0.02),
            f"{CLAIM} Corrected for all tests of this run, that is not clear. "
            "A lean of up to 0.50 is possible.",
            "Not clear: a lean of up to 0.50 is possible.",
        ),
        (
            OPEN, None, (0.1, -0.1, 0.3, 0.3),
            f"{OPEN} A lean of up to 0.30 is possible.",
            "Not clear: a lean of up to 0.30 is possible.",
        ),
        (
            OPEN, None, (0.0, -0.2, 0.2, 0.9),
            "No lean above 0.24: at most 0.20.",
            "No lean above 0.24: at most 0.20.",
        ),
        (
            OPEN, None, (0.0, -0.2, 0.237, 0.9),
            "No lean above 0.24: at most 0.237.",
            "No lean above 0.24: at most 0.237.",
        ),
        (
            OPEN, None, (0.1, -0.02, 0.2404, 0.1),
            f"{OPEN} A lean of up to 0.2404 is possible.",
            "Not clear: a lean of up to 0.2404 is possible.",
        ),
        (
            OPEN, None, (0.1, -0.6, 0.8, 0.8),
            f"{OPEN[:-1].replace('Not clear', 'Cannot tell')}: the interval is wide.",
            "Cannot tell: the interval is wide.",
        ),
        (
            f"Cannot tell: {CHECK}.", CHECK, (0.6, 0.3, 0.9, 0.001),
            f"Cannot tell: {CHECK}.", f"Cannot tell: {CHECK}.",
        ),
    ],
)  # fmt: skip
def test_one_state_has_one_word(
    direction: str,
    inconclusive: str | None,
    numbers: tuple[float, float, float, float],
    card: str,
    row: str,
) -> None:
    value, low, high, p = numbers
    task = hand.record(hand.mean_lean(IMAGES))
    head = task.headline.model_copy(
        update={
            "direction": direction, "value": value, "ci_low": low, "ci_high": high, "p": p,
            "fair_low": -0.05, "fair_high": 0.05, "scale": "lean",
        }
    )  # fmt: skip
    task = task.model_copy(update={"headline": head, "inconclusive": inconclusive})
    other = task.model_copy(update={"headline": head.model_copy(update={"p": 0.9})})
    # Holm's correction is over all three
    run = run_view(hand.results(a=task, b=other, c=other))
    (found,) = (one for one in run.tasks if one.id == "a")
    assert (found.sentence, brief(found)) == (card, row)


MIXED = {"x": [1.0, 1.0, 1.0, -1.0], "y": [1.0, -1.0, 1.0, 1.0]}


def test_the_terminal_summary_states_results_in_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    found = hand.record(hand.mean_lean(MIXED))
    results = hand.results(
        a=found,
        b=found.model_copy(update={"inconclusive": "it is [red]blind[/red]"}),
        many=hand.record(hand.mean_square(MIXED)),
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
    assert "exactly these prompts, with other images" in text


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_a_run_of_any_size_is_one_screen(width: int) -> None:
    """Clear tests are shown before others, and what is not shown is counted."""
    sure = hand.record(
        hand.mean_lean({"x": [0.9, 0.8, 0.9, 0.8] * 8, "y": [0.9, 0.8] * 16})
    )
    wide = hand.record(hand.mean_lean(MIXED))
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
    assert (
        interval_bar(IntervalMark(None, None, None, "no_score", None), 9) == "    │    "
    )
