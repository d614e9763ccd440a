"""What the check for tilted embeddings could have noticed, as a sentence for verdicts and pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.apps.leaderboard.tilts import NOTICED_IN
from t2ibench.decimals import decimal


@dataclass(frozen=True, slots=True)
class CheckedTilt:
    """How far one test could be checked for a tilt.

    Attributes:
        task: The test.
        scores: How many scores of it were looked at, each of them an axis.
        drawn: How many images were drawn of each kind of its prompts; empty for a test of texts.
        noticed: The smallest shift of its headline that would have been noticed: 0 where all that
            was made again came out as it was sent, inf where no shift of any size would have been.
        squared: Whether its headline is a mean square. Where each prompt's own lean is tilted to
            exactly 0, no single image moves that, in proportion to how far it deviates.
    """

    task: str
    scores: int
    drawn: Sequence[int]
    noticed: float
    squared: bool = False


def tilt_summary(tested: Sequence[CheckedTilt]) -> str:
    """Return how many tests could be checked for a tilt, and the smallest that was noticeable.

    Args:
        tested: The tests that an encoder reads; empty gives an empty text.
    """
    if not tested:
        return ""
    scores = sum(test.scores for test in tested)
    parts = [
        f"tilted embeddings were looked for along {_counted(scores, 'score')} of "
        f"{_counted(len(tested), 'test')}{_drawn(tested)}"
    ]
    same = [test for test in tested if test.noticed == 0]
    measured = [test for test in tested if 0 < test.noticed < math.inf]
    unseen = [test for test in tested if test.noticed == math.inf]
    if same:
        parts.append(
            f"{_counted(len(same), 'test')} came out as sent, so what was drawn of "
            f"{'it' if len(same) == 1 else 'them'} is not tilted at all"
        )
    if measured:
        parts += _of_measured(measured)
    if unseen:
        parts.append(
            f"of {_counted(len(unseen), 'test')}, such as {unseen[0].task}, a tilt of any size "
            "could have gone unnoticed, since too little was made again; a larger --draw tells"
        )
    return "; ".join(parts)


def _of_measured(measured: Sequence[CheckedTilt]) -> list[str]:
    """Return the smallest tilt that was noticeable, and of which tests another kind was not."""
    smallest = _range([test.noticed for test in measured])
    parts = [
        f"of {_counted(len(measured), 'test')}, a tilt that moves the headline by {smallest} "
        f"would have been noticed in at least {NOTICED_IN:.0%} of such checks, a smaller one "
        "less often"
    ]
    squares = [test for test in measured if test.squared]
    if squares:
        parts.append(
            f"of {_counted(len(squares), 'test')}, such as {squares[0].task}, the headline is a "
            "mean square: a tilt of every prompt's lean to exactly 0 could have gone unnoticed"
        )
    return parts


def _drawn(tested: Sequence[CheckedTilt]) -> str:
    """Return how many images of each kind of prompt were drawn; empty for tests of texts."""
    drawn = [number for test in tested for number in test.drawn]
    if not drawn:
        return ""
    fewest = min(drawn)
    most = max(drawn)
    numbers = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return f", with {numbers} images drawn of each kind of prompt"


def _range(shifts: Sequence[float]) -> str:
    """Return the least and the greatest of some shifts, or the one that all have."""
    least = decimal(min(shifts), 3)
    greatest = decimal(max(shifts), 3)
    return least if least == greatest else f"{least} to {greatest} (by test)"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
