"""Runs that are drawn again from the images of a pilot, to forecast what a larger run shows.

For families whose test of few images is more cautious than the variance of a pilot tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

# What is forecast of a task under this name is its headline.
HEADLINE = ""


@dataclass(frozen=True, slots=True)
class PilotScores:
    """What a pilot's result holds of a task.

    Attributes:
        samples: A row for each image, as the method wrote them.
        details: The method's details.
        outcomes: Name of each row about what became of images, with the tested difference and both
            ends of its interval.
    """

    samples: Sequence[Mapping[str, Any]]
    details: Mapping[str, Any]
    outcomes: Mapping[str, tuple[float, float, float]]


class DrawnRun(NamedTuple):
    """What one drawn run shows: the p-value of its test and the width of its interval."""

    p: float
    width: float


class RedrawnRuns(Protocol):
    """Draws runs like a pilot, with more images and a planted effect."""

    @property
    def smallest_group(self) -> int:
        """Number of units in the pilot's smallest group, such as source images."""
        ...

    def draw(self, effect: float, times: float, count: int) -> list[DrawnRun]:
        """Return what so many runs show.

        Args:
            effect: The size of the headline that is planted.
            times: Multiple of the pilot's units.
            count: Number of runs.

        Raises:
            T2IBenchError: the effect is larger than any that is possible here.
        """
        ...
