"""The rule's own A/A rate: how often two runs of the same model would have different outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.decisions.quantity import ALPHA, Chances, Limits, Quantity

# Deviations at which the worst case is looked for, from the reference to far beyond the limit.
_PLACES = 41


@dataclass(frozen=True, slots=True)
class RepeatRate:
    """How often two runs of the same model, of this size, would have different outcomes.

    Attributes:
        at_estimate: If the model is what was measured.
        worst: For the model about which two runs differ most often.
        worst_at: The deviation of that model.
        chances: The outcomes of another run of the model that was measured.
    """

    at_estimate: float
    worst: float
    worst_at: float
    chances: Chances


def repeat_rate(quantities: Sequence[Quantity], limits: Limits) -> RepeatRate:
    """Return the A/A rate of a scenario, whose quantities are taken as independent."""
    alpha = ALPHA / max(len(quantities), 1)  # the first step of Holm's correction
    measured = joined(
        [quantity.chances(limits, quantity.value, alpha) for quantity in quantities]
    )
    worst = measured.differ
    worst_at = max((abs(quantity.value) for quantity in quantities), default=0.0)
    farthest = min(1.0, 2 * limits.reject + limits.accept)
    for place in range(_PLACES):
        truth = farthest * place / (_PLACES - 1)
        chances = joined(
            [quantity.chances(limits, truth, alpha) for quantity in quantities]
        )
        if chances.differ > worst:
            worst = chances.differ
            worst_at = truth
    return RepeatRate(measured.differ, worst, worst_at, measured)


def joined(parts: Sequence[Chances]) -> Chances:
    """Return the chances that all of several independent parts pass, and that any fails."""
    passes = math.prod(part.passes for part in parts)
    fails = 1 - math.prod(1 - part.fails for part in parts)
    return Chances(passes, fails)
