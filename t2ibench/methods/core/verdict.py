"""What a concept query shows, where its word, its place and its images say different things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["leans", "no_lean", "inconclusive"]
_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Reading:
    """What was measured about one concept; anchors by number.

    Attributes:
        p: Of its effect beyond the anchors' own words, adjusted for the concepts asked.
        side: The anchor it is nearest then.
        p_plain: Of its effect as it is, adjusted for the concepts asked.
        plain_side: The anchor it is nearest as it is.
        drawn: The anchor whose side more of its own images are on than by chance; None where
            there is none, or no images.
    """

    p: float
    side: int
    p_plain: float
    plain_side: int
    drawn: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reader may take from one concept query.

    Attributes:
        outcome: 'leans'; 'no_lean': no further than everyday words; 'inconclusive'.
        side: The anchor it leans to; None without a lean.
        says: Why, as a clause.
        contradiction: Whether its word and its images lean to different anchors.
    """

    outcome: Outcome
    side: int | None
    says: str
    contradiction: bool = False


def verdict(reading: Reading, anchors: Sequence[str]) -> Verdict:
    """What a reader may take from one concept query.

    Examples:
        >>> verdict(Reading(0.8, 0, 0.001, 1), ["women", "men"]).says
        "the encoder places the word itself nearer 'men', and the images add nothing to that"
        >>> verdict(Reading(0.01, 1, 0.2, 1, drawn=0), ["women", "men"]).outcome
        'inconclusive'
    """
    names = [f"'{name}'" for name in anchors]
    clear, plain = reading.p < _ALPHA, reading.p_plain < _ALPHA
    drawn = "" if reading.drawn is None else f"; images of it lean to {names[reading.drawn]}"
    word_side = reading.side if clear else reading.plain_side if plain else None
    against = reading.drawn is not None and word_side is not None and reading.drawn != word_side
    if clear and plain and reading.side != reading.plain_side:
        says = (
            f"nearness as it is points to {names[reading.plain_side]}, and without the anchors' "
            f"own words to {names[reading.side]}"
        )
        return Verdict("inconclusive", None, says + drawn, against)
    if clear and against:
        says = f"its word is nearer images of {names[reading.side]}, but its own images lean to"
        return Verdict("inconclusive", None, f"{says} {names[reading.drawn or 0]}", True)
    if clear:
        says = f"images of {names[reading.side]} are nearer to it than everyday words explain"
        return Verdict("leans", reading.side, says + drawn)
    if plain:
        says = (
            f"the encoder places the word itself nearer {names[reading.plain_side]}, and the "
            "images add nothing to that"
        )
        return Verdict("inconclusive", None, says + drawn, against)
    return Verdict("no_lean", None, f"it leans no further than everyday words{drawn}")
