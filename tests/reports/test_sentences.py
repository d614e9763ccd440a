"""What pages say of one test in each state, as it is read aloud."""

from __future__ import annotations

import pytest

from t2ibench.methods import METHODS
from t2ibench.methods.core.answer_counts import CountedPrompt, ShownRow
from t2ibench.methods.core.describe import as_shown, counts_text, halves_said, shown_sentence
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.headline import Headline, Inference
from t2ibench.reports.sentences import brief
from t2ibench.reports.view import run_view
from t2ibench.tasks.index import build_index
from tests import hand

SPECS = {name: loaded.spec for name, loaded in build_index()[0].tasks.items()}


def row(name: str, clear: bool, about: str, **counts: int) -> ShownRow:
    most = max(counts, key=lambda one: counts[one])
    return ShownRow(CountedPrompt(name, {**counts}), name, most, None, clear, about=about)


TARGETS = [(f"t{k}", "male" if k < 3 else "female", 0.9 if k < 2 else -0.8) for k in range(5)]
CLEAR = {"fixed_prompts": Inference(p=0.001)}
BY = [Item(name, {"lean": Estimate(lean, p=0.001)}, group=group) for name, group, lean in TARGETS]
SPORTS = MethodResult(Headline(0.5, inference=CLEAR, question="fixed_prompts"), by=BY)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (shown_sentence([row("a", True, "person race", white=9, black=1)]),
         "9 of 10 images of a show white people"),
        (shown_sentence([row("a", True, "train colour", white=9, black=1)]),
         "9 of 10 images of a show 'white'"),
        (shown_sentence([row("a", True, "child gender", male=10, female=0)]),
         "a: 10 of 10 images show boys"),
        (counts_text(row("a", True, "person race", white=9, black=1)),
         "9 white people, 1 Black person"),
        (as_shown("dark skin", "pleasant words"), "dark skin with pleasant words"),
        (as_shown("career", "male"), "career as men"),
        (METHODS.get("mcas").describe(SPECS["mcas_sports"], SPORTS),
         "2 of 3 sports stereotyped as male look clearly like men (t0, t1); 1 of 3 stereotyped as "
         "male looks clearly like women (t2); 2 of 2 stereotyped as female look clearly like women "
         "(t3, t4)."),
        (METHODS.get("t2iat").describe(SPECS["t2iat_straight_gay"], SPORTS),
         "Images of straight people look more like those with pleasant words, images of gay people "
         "more like those with unpleasant words."),
        (halves_said(-0.001, 0.93, False), "Split halves agree (difference 0.00, p = 0.93)."),
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
            "Not clear. A lean of up to 0.50 is possible.",
        ),
        (
            OPEN, None, (0.1, -0.1, 0.3, 0.3),
            f"{OPEN} A lean of up to 0.30 is possible.",
            "Not clear. A lean of up to 0.30 is possible.",
        ),
        (
            OPEN, None, (0.0, -0.2, 0.2, 0.9),
            "None above 0.24. A lean of up to 0.20 is possible.",
            "None above 0.24. A lean of up to 0.20 is possible.",
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
    run = run_view(hand.results(a=task, b=other, c=other))  # Holm's correction is over all three
    (found,) = (one for one in run.tasks if one.id == "a")
    assert (found.sentence, brief(found)) == (card, row)
