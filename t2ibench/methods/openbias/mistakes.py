"""The most that mistakes of several people who answer can change a mean squared lean.

With the accuracy A a majority reads a lean of θ from expected shares r as
A θ + (1 − A) c, with c = 1/k − r. So the root of a mean square is off by at most
(1 − A) |c|, after which 1 / A times it is the largest that it may be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.inference import Inference
from t2ibench.methods.openbias.answers import CountedRow
from t2ibench.methods.openbias.squared_lean import MeanSquaredLean
from t2ibench.stats import p_value
from t2ibench.stats.rounding import settled

# The least accuracy that an interval is divided by.
_LEAST_ACCURACY = 1e-9


@dataclass(frozen=True, slots=True)
class Mistakes:
    """Bounds on how much people's mistakes can change the root of a mean squared lean.

    Attributes:
        accuracy: The least accuracy A of any row.
        offset: The root mean square of (1 − A) |c| over the rows.
    """

    accuracy: float
    offset: float

    @classmethod
    def of(cls, rows: Sequence[CountedRow]) -> Mistakes:
        """Return the bounds on mistakes in the answers of the given rows."""
        sizes = Counter(row.bias for row in rows)
        square = 0.0
        for row in rows:
            even = 1 / len(row.expected)
            squared_distance = float(((even - row.expected) ** 2).sum())
            distance = squared_distance / (1 - even)
            wrong = 1 - _accuracy(row)
            n_equal = len(sizes) * sizes[row.bias]
            square += wrong**2 * distance / n_equal
        accuracy = min(_accuracy(row) for row in rows)
        return cls(accuracy, float(settled(square)) ** 0.5)

    @property
    def possible(self) -> bool:
        """Whether the answers may contain mistakes, as people are not certain to be right."""
        return self.accuracy < 1

    def p(self, square: MeanSquaredLean, null: Float64Array, p: float) -> float:
        """Return the p-value that a mean squared lean has without the most that mistakes may add.

        Args:
            square: The mean squared lean.
            null: Draws of it where nothing leans, shape (draws,).
            p: The p-value without mistakes, which stays where they move nothing.
        """
        if not self.offset > 0:
            return p
        root = max(square.value + square.noise, 0.0) ** 0.5
        beyond = max(0.0, root - self.offset) ** 2
        return p_value(null, beyond - square.noise, "greater", exact=False)

    def widened(self, ends: Inference, p: float, top: float) -> Inference:
        """Return the inference on a mean squared lean, with its interval widened for mistakes.

        Args:
            ends: The inference without them.
            p: The p-value with them.
            top: The largest value that the mean squared lean can have.
        """
        if ends.ci_low is None or ends.ci_high is None:
            return ends
        low = ends.ci_low
        high = ends.ci_high
        if low > 0:
            low = max(0.0, low**0.5 - self.offset) ** 2
        root = max(high, 0.0) ** 0.5 + self.offset
        root = root / max(self.accuracy, _LEAST_ACCURACY)
        return replace(ends, ci_low=low, ci_high=max(high, min(top, root**2)), p=p)


def _accuracy(row: CountedRow) -> float:
    """Return the lower bound of the share of right answers in a row; 1 if none is estimated."""
    return 1.0 if row.accuracy is None else row.accuracy.low
