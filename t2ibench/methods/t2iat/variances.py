"""The leans of a T2IAT estimated a second time: from how images vary, not where they lie.

What images with an attribute share moves all stimuli alike and cancels in the headline, but it is
in every row and in each concept's own lean: these are undefined where the mean squared lean by
variances (`core.variance_lean`) is clearly less than by means, and less than half.

It does not cancel where the images of one concept are moved otherwise than those of the other. The
mean squared lean is no less than the square of half the difference of two means over as many
stimuli, so L² - R²_variances is at most 0 whatever the leans are. The headline is contradicted
where it is above 0 at 2.5 %, with a standard error by the jackknife over stimuli, and R²_variances
less than half of L².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.headline import Control, HeadlineEstimate
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.variance_control import (
    MOVED,
    WEAK,
    comparison,
    shown_lean,
)
from t2ibench.methods.core.variance_lean import VarianceLean, jackknife_error
from t2ibench.methods.t2iat.sides import Sides
from t2ibench.stats.squares import mean_square

_ALPHA = 0.05
# Of the bound, on one side: where all stimuli lean alike, it is reached.
_ALPHA_OF_BOUND = 0.025
_UNEQUAL = (
    "the concepts lie further apart than how images vary allows, so images with a word of an "
    "attribute differ from the others in more than that, and otherwise for one concept than for "
    "the other"
)
_NO_ROWS = "Rows and each concept's own lean have no value; what both share is not in the headline."
# Stimuli of a concept, of which one is left out at a time.
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class VarianceReading:
    """The conclusions from images' variances about the headline and stimuli's leans.

    Attributes:
        control: The control; it contradicts the headline alone.
        moved: Why rows and each concept's own lean are undefined; None where they are not.
    """

    control: Control
    moved: str | None


def read_variances(
    leans: Leans, sides: Sides, headline: HeadlineEstimate
) -> VarianceReading | None:
    """Return what images' variances say about the leans; None if they show no variance.

    None, too, for a concept with a single stimulus.
    """
    lean = VarianceLean.of(leans)
    if lean is None or min(map(len, sides.positions)) < _FEWEST:
        return None
    says = (
        "Read a second time, from how images vary instead of where they lie, the leans of all "
        f"stimuli have the root mean square {shown_lean(lean)}: {comparison(lean)}."
    )
    moved = None
    if lean.is_refuted and _p_of_leans(leans) < _ALPHA:
        moved = WEAK if lean.is_below_none else MOVED
        says += f" {_NO_ROWS}"
    reason = None
    is_beyond_chance = headline.p is not None and headline.p < _ALPHA
    if is_beyond_chance and _passes_bound(leans, sides, headline, lean):
        reason = _UNEQUAL
    low, high = lean.interval
    control = Control(says, lean.by_variances, low, high, contradicts=reason)
    return VarianceReading(control, moved)


def _p_of_leans(leans: Leans) -> float:
    """Return the p-value that every stimulus has a lean of 0."""
    variances, dfs = leans.top_variance
    degrees = None if leans.wordings is None else leans.wordings.f_test
    return mean_square(leans.top, variances, dfs, degrees=degrees).p


def _passes_bound(
    leans: Leans, sides: Sides, headline: HeadlineEstimate, lean: VarianceLean
) -> bool:
    """Return whether the headline's square exceeds that from variances, clearly and twofold."""
    square = headline.square
    if square is None or not lean.is_less_than_half_of(square):
        return False
    numbers = np.arange(len(leans.names))
    without_each = np.array(
        [_lean_of(leans, sides, np.delete(numbers, number)) for number in numbers]
    )
    error = jackknife_error(without_each**2 - lean.without_each)
    quantile = float(stdtrit(lean.df, 1 - _ALPHA_OF_BOUND))
    return square - lean.by_variances > quantile * error


def _lean_of(leans: Leans, sides: Sides, at: IntArray) -> float:
    """Return the headline computed from the stimuli at these positions only."""
    of_x = at[sides.signs[at] > 0]
    of_y = at[sides.signs[at] < 0]
    return (_mean_lean(leans, of_x) - _mean_lean(leans, of_y)) / 2


def _mean_lean(leans: Leans, at: IntArray) -> float:
    top: Float64Array = leans.top[at]
    bottom: Float64Array = leans.bottom[at]
    return float(top.sum() / bottom.sum())
