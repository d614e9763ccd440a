"""The difference of one score between two runs, and the verdict that follows from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from t2ibench.results.contrast import Contrast
from t2ibench.results.schema import Headline, Score

Verdict = Literal["first", "second", "opposite", "tie"]


@dataclass(frozen=True, slots=True)
class Difference:
    """How one score differs between two runs, first run minus second, with a verdict.

    Two questions are asked of it. Do the runs differ at all (`p_differ`)? And which of them leans
    less (`p`)? Two opposite leans of one size differ, and neither is less.

    Attributes:
        task: The task's name.
        row: The row's name; empty for the headline.
        name: The score's name.
        first: The score in the first run.
        second: The score in the second run.
        value: The difference; None where the scores are not comparable.
        low: Lower end of its interval.
        high: Upper end.
        change: How much more the second run leans, in the unit that tables show: of leans without
            their signs, of roots; of a score without a fair value, second minus first.
        p: p-value of `change`, uncorrected: its interval excludes 0 if and only if p is below
            1 - level.
        p_holm: The same after Holm's correction, over the headlines or over the rows of one score
            of one task; at least the p-value that the runs differ at all.
        p_differ: p-value that both runs are alike in this test, uncorrected: of two leans that
            their difference is 0, of two mean squares that every item leans alike. A test that
            can tell nothing of a lean has it, too.
        p_differ_holm: The same after Holm's correction.
        detectable: The least true difference of headlines that is detected in 8 of 10 cases.
        paired: Whether the difference was measured image by image.
        comparable: Whether both runs measured one quantity in one way, so that a difference is one
            of the models.
        level: The confidence level.
        verdict: Which run leans less, 'opposite' where they differ and neither does, 'tie' where no
            difference is beyond chance, None where nothing can be concluded: by the corrected
            p-values.
        notes: What a reader must know, in words.
    """

    task: str
    row: str
    name: str
    first: Score
    second: Score
    value: float | None = None
    low: float | None = None
    high: float | None = None
    change: Contrast | None = None
    p: float | None = None
    p_holm: float | None = None
    p_differ: float | None = None
    p_differ_holm: float | None = None
    detectable: float | None = None
    paired: bool = False
    comparable: bool = False
    level: float = 0.95
    verdict: Verdict | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_square(self) -> bool:
        """Whether the two scores are mean squares over items."""
        return isinstance(self.first, Headline) and self.first.scale == "mean_square"

    @property
    def p_items(self) -> float | None:
        """The p-value that every item leans alike in both runs; None unless both are squares."""
        return self.p_differ if self.is_square else None

    @property
    def p_items_holm(self) -> float | None:
        """`p_items` after Holm's correction."""
        return self.p_differ_holm if self.is_square else None


def verdict_text(difference: Difference, first: str, second: str) -> str:
    """Return the verdict in words, with the names `first` and `second` for the two runs."""
    return {
        "first": f"{first} leans less",
        "second": f"{second} leans less",
        "opposite": "they differ; neither leans less beyond chance",
        "tie": "no difference beyond chance",
        None: "not compared",
    }[difference.verdict]


def tally(differences: Sequence[Difference]) -> Counter[Verdict | None]:
    """Return how many headlines have each verdict; differences of rows do not count."""
    return Counter(
        difference.verdict for difference in differences if not difference.row
    )
