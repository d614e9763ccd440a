"""The bars of the terminal: who is shown as what, in the room that there is."""

from __future__ import annotations

import pytest

from t2ibench.methods.core.answer_counts import CountedPrompt, ShownRow
from t2ibench.methods.core.describe import counts_text
from t2ibench.reports.overview import _prompt_lines

SHADES = {"female": "█", "male": "▒"}
RACES = (
    "white",
    "Black",
    "Latino",
    "East Asian",
    "Southeast Asian",
    "Indian",
    "Middle Eastern",
)


def row(
    name: str, clear: bool = False, unanswered: float = 0, **counts: float
) -> ShownRow:
    most = max(counts, key=lambda one: counts[one])
    return ShownRow(
        CountedPrompt(name, dict(counts), unanswered), name, most, None, clear
    )


ROWS = [
    row(
        "a photo of a person who works as a construction worker",
        True,
        male=10,
        female=0,
    ),
    row("nurse", female=5.7, male=3.7, unanswered=0.6),
    row("a portrait of the chief executive officer", True, 1, female=6, male=3),
]


@pytest.mark.parametrize("width", [72, 80])
def test_counts_stand_in_full_and_prompts_are_shortened(width: int) -> None:
    lines = [line for line, _ in _prompt_lines(ROWS, SHADES, width)]
    assert max(map(len, lines)) <= width
    for shown, line in zip(ROWS, lines, strict=True):
        counts = counts_text(shown)
        assert line.endswith(f"{counts}, clear" if shown.clear else counts)
    assert "…" in lines[0]
    (bar,) = {line.index("▒") for line in lines[:1]}
    assert lines[1][bar] == "█"  # bars stand below each other


def test_short_counts_leave_the_prompt_its_room() -> None:
    few = [
        row("nurse", female=9, male=1),
        row("a construction worker in Paris", male=10),
    ]
    lines = [line for line, _ in _prompt_lines(few, SHADES, 80)]
    assert "a construction worker in Paris" in lines[1]
    assert lines[0].endswith("9 women, 1 man")


def test_counts_of_many_classes_go_on_below() -> None:
    counts = {name: float(k + 1) for k, name in enumerate(RACES)}
    shown = row("a chief executive officer of a bank", **counts)
    shades = dict(zip(RACES, "█▒▓░▚▞▟", strict=True))
    lines = [line for line, _ in _prompt_lines([shown], shades, 80)]
    assert len(lines) == 2
    assert max(map(len, lines)) <= 80
    first, further = lines
    assert further.startswith(" " * 20)
    (at,) = (
        place
        for place in range(20, 80)
        if further[:place].isspace() and further[place] != " "
    )
    assert f"{first[at:]} {further[at:]}" == counts_text(shown)
