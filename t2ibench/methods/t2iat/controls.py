"""Controls of a T2IAT that repeat its test: along meaningless directions, in halves, and others."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from t2ibench.arrays import Float64Array
from t2ibench.methods.core import lean_controls
from t2ibench.methods.core.headline import Control, HeadlineEstimate
from t2ibench.methods.core.lean_controls import Half
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.related_stimuli import (
    RELATED,
    related_control,
    related_test,
)
from t2ibench.methods.t2iat.sides import Sides
from t2ibench.stats.student import satterthwaite, t_test


def repeated_tests(
    leans: Leans, sides: Sides, headline: HeadlineEstimate
) -> dict[str, Control]:
    """Return the controls that repeat the test under other conditions.

    Along meaningless directions, in two halves of the images, and with as many stimuli as are
    independent, where these are few.
    """
    controls = {}
    other_directions = _other_directions(leans, sides, headline)
    if other_directions is not None:
        controls["other_directions"] = other_directions
    halves = _halves(leans, sides)
    if halves is not None:
        controls["halves"] = halves
    related = _related(leans, sides, headline)
    if related is not None:
        controls[RELATED] = related
    return controls


def _related(leans: Leans, sides: Sides, headline: HeadlineEstimate) -> Control | None:
    """Return the control of stimuli that say nearly the same, or None where they do not."""
    if headline.question != "prompt_population":
        return None
    test = related_test(headline.p, headline.chosen.df, leans, sides.positions)
    return related_control(test)


def _halves(leans: Leans, sides: Sides) -> Control | None:
    """Return the control of whether even- and odd-numbered images agree; None if too few."""
    halves = lean_controls.halves(leans)
    if halves is None:
        return None
    difference, variances, dfs = halves
    value = float(sides.lean(difference, leans.bottom))
    scaled = sides.weights(leans.bottom) ** 2 / 4 * variances
    variance, df = satterthwaite(scaled, dfs)
    return lean_controls.halves_control(value, t_test(value, variance, df))


def _other_directions(
    leans: Leans, sides: Sides, headline: HeadlineEstimate
) -> Control | None:
    """Return the control of whether leans along meaningless directions explain the headline.

    L² less its variance, of each half of the stimuli along each direction; its mean is 0 where it
    is less than its standard error over these. None where no half has stimuli of both concepts.
    """
    p = headline.p
    df = headline.chosen.df
    halves = lean_controls.other_directions(leans)
    if headline.value is None or p is None or df is None:
        return None
    mixed = [half for half in halves if _shares_within(half, sides).all()]
    if not mixed:
        return None
    weights = sides.signs * sides.weights(leans.bottom) / 2
    squares = np.concatenate(
        [_unbiased_squares(half, sides, weights) for half in mixed]
    )
    weight = np.concatenate([half.weights / len(halves) for half in mixed])
    total = weight.sum()
    square = float(squares @ weight / total)
    variance_of_square = float(weight**2 @ (squares - square) ** 2 / total**2)
    if square <= np.sqrt(variance_of_square):
        return lean_controls.beyond_control(0.0, p, p)
    # The mean of independent squares varies by 2 square² / df, as a variance does.
    df_of_square = 2 * square**2 / variance_of_square
    # p is that of t = L / SE with df degrees of freedom, so t, and with it SE², follow from p.
    variance = (headline.value / stdtrit(df, p / 2)) ** 2
    enlarged, df_of_enlarged = satterthwaite([variance, square], [df, df_of_square])
    allowed = t_test(headline.value, enlarged, df_of_enlarged)
    return lean_controls.beyond_control(square, p, allowed)


def _shares_within(half: Half, sides: Sides) -> Float64Array:
    """Return the share of X's stimuli, and of Y's stimuli, that are in this half."""
    return np.array([np.isin(at, half.at).mean() for at in sides.positions])


def _unbiased_squares(half: Half, sides: Sides, weights: Float64Array) -> Float64Array:
    """Return the squared headline along each direction less its variance, from half of the stimuli.

    `weights` are those of all stimuli in the headline L; means over the half's stimuli
    of a concept stand for those over all of them.
    """
    share_of_x, share_of_y = _shares_within(half, sides)
    shares = np.where(sides.signs[half.at] > 0, share_of_x, share_of_y)
    weights_of_half = weights[half.at] / shares
    lean = weights_of_half @ half.top
    squares: Float64Array = lean**2 - weights_of_half**2 @ half.variance
    return squares
