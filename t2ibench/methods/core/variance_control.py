"""The control that estimates a lean a second time, from how much images vary."""

from __future__ import annotations

import math

from t2ibench.methods.core.headline import Control
from t2ibench.methods.core.variance_lean import VarianceLean

# Why leans by means are more than those by variances, as clauses.
MOVED = (
    "how images vary shows less of a lean than where they lie, so images with a word of a group or "
    "an attribute differ from the others in more than that, or do not all show it"
)
WEAK = (
    "images without a group or an attribute vary more than any mixture of images with either "
    "would, so images with its word show it more weakly, and leans read too large"
)
_STRONG = (
    "more than where they lie says; either images with the word of a group or an attribute "
    "exaggerate it, or some without it show neither, and leans read too small"
)


def variance_control(lean: VarianceLean, *, beyond_chance: bool) -> Control:
    """Return the control of whether leans estimated from means and from variances agree.

    The value and its ends are mean squares, as the headline is; the sentence has their roots. It
    contradicts a headline that is beyond chance where means clearly say more, and variances less
    than half.

    Args:
        lean: Both readings.
        beyond_chance: Whether the headline is beyond chance; one that is not contradicts nothing.
    """
    says = (
        "Read a second time, from how images vary instead of where they lie, the lean is "
        f"{shown_lean(lean)}: {comparison(lean)}."
    )
    reason = None
    if beyond_chance and lean.is_refuted:
        reason = WEAK if lean.is_below_none else MOVED
    low, high = lean.interval
    return Control(says, lean.by_variances, low, high, contradicts=reason)


def shown_lean(lean: VarianceLean) -> str:
    """Return, as text, the rms lean estimated from variances, with its interval."""
    low, high = lean.interval
    return f"{_root(lean.by_variances)} [{_root(low)}, {_root(high)}]"


def comparison(lean: VarianceLean) -> str:
    """Return a clause that compares the lean from variances with the lean from means."""
    if lean.is_below_none:
        return WEAK
    if lean.means_say_more:
        return "clearly less than where they lie says"
    if not lean.variances_say_more:
        return "the two agree"
    if lean.by_means > 0 and lean.shows_a_mixture:
        size = _root(lean.without_scale)
        return f"{_STRONG}. If they exaggerate, the lean is about {size}"
    return _STRONG


def _root(square: float) -> str:
    """Return the root of a mean square as pages show it, from 0 to 1."""
    return f"{math.sqrt(min(max(square, 0.0), 1.0)):.2f}"
