"""What pages say of one test in each state, as it is read aloud."""

from __future__ import annotations

import pytest

from t2ibench.reports.sentences import brief
from t2ibench.reports.view import run_view
from tests import hand

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
