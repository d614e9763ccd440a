"""Controls of an occupations task: tests in which no bias should appear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t2ibench.methods.core import lean_controls
from t2ibench.methods.core.headline import Control, HeadlineEstimate
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.text_vectors import missing_vectors
from t2ibench.methods.core.variance_control import variance_control
from t2ibench.methods.core.variance_lean import VarianceLean
from t2ibench.methods.occupations.headline import ScaledLeans, degrees_of_f_test
from t2ibench.methods.occupations.leans import PairLeans
from t2ibench.methods.occupations.other_groups import (
    OTHER_GROUPS,
    leans_beyond_even,
    other_groups_control,
)
from t2ibench.stats.squares import mean_square

# The name of the control that reads leans from how images vary.
VARIANCES = "variances"
_ALPHA = 0.05


def controls_of(
    pairs: Sequence[PairLeans], headline: HeadlineEstimate, level: float
) -> dict[str, Control]:
    """Return the controls of an occupations task, keyed by their names.

    They are tests in which no bias should appear.
    """
    controls = {
        f"{name}{pair.pair.suffix}": gate
        for pair in pairs
        for name, gate in pair.gates.items()
    }
    controls["text_only"] = _text_control(pairs)
    if headline.value is None:
        return controls
    scaled = ScaledLeans.of(pairs)
    other_directions = _other_directions(pairs, scaled, headline.p, level)
    if other_directions is not None:
        controls["other_directions"] = other_directions
    variances = _variances(pairs, headline.p)
    if variances is not None:
        controls[VARIANCES] = variances
    others = _other_groups(pairs, headline.p)
    if others is not None:
        controls[OTHER_GROUPS] = others
    for pair, scale in zip(pairs, scaled.scales, strict=True):
        halves = _halves(pair.leans, scale)
        if halves is not None:
            controls[f"halves{pair.pair.suffix}"] = halves
    return controls


def _text_control(pairs: Sequence[PairLeans]) -> Control:
    """Return the control that gives the root mean square lean of the prompts' texts alone."""
    leans = np.concatenate([pair.in_text for pair in pairs])
    root = None
    if np.isfinite(leans).all():
        root = float(np.sqrt((leans**2).mean()))
    without_text = np.any([pair.without_text for pair in pairs], axis=0)
    note = missing_vectors(int(without_text.sum()), len(without_text))
    return lean_controls.text_control(root, "rms lean", note)


def _halves(leans: Leans, scale: float) -> Control | None:
    """Return the control that compares leans from even- and from odd-numbered images.

    None with fewer than two of either.
    """
    halves = lean_controls.halves(leans)
    if halves is None:
        return None
    difference, variances, dfs = halves
    p = mean_square(difference, variances, dfs).p if variances.all() else 1.0
    return lean_controls.halves_control(float(difference.mean()) / scale, p)


def _other_directions(
    pairs: Sequence[PairLeans], scaled: ScaledLeans, p: float | None, level: float
) -> Control | None:
    """Return the control that tests whether leans along other directions explain the headline.

    The excess of N² over its variance along these directions counts as noise.

    What the stimuli share of it leaves the test fewer degrees of freedom.
    """
    excesses = [_excess_of_other_directions(pair.leans) for pair in pairs]
    squares = [excess for excess in excesses if excess is not None]
    if len(squares) < len(pairs):
        return None
    n_stimuli = len(pairs[0].leans.names)
    scaled_squares = np.array(squares) / np.square(scaled.scales)[:, None]
    excess, shared = scaled_squares.T
    variance = scaled.top_variance + np.repeat(excess, n_stimuli)
    degrees = degrees_of_f_test(pairs, variance, scaled.top_df)
    if degrees is not None:
        h, h2 = degrees
        n_products = n_stimuli * (n_stimuli - 1)
        added = n_products * shared.sum() ** 2 / float(variance.sum()) ** 2
        degrees = (1 / (1 / h + added), h2)
    allowed = mean_square(
        scaled.top,
        variance,
        scaled.top_df,
        scaled.bottom,
        scaled.bottom_variance,
        level,
        degrees,
    )
    square = float(excess.mean()) / scaled.enlargement**2
    return lean_controls.beyond_control(square, p, allowed.p)


def _variances(pairs: Sequence[PairLeans], p: float | None) -> Control | None:
    """Return the control that estimates the mean squared lean from how images vary.

    None with more than two groups: the images without a group are no mixture of two of them then.
    """
    if len(pairs) > 1:
        return None
    lean = VarianceLean.of(pairs[0].leans)
    if lean is None:
        return None
    return variance_control(lean, beyond_chance=p is not None and p < _ALPHA)


def _other_groups(pairs: Sequence[PairLeans], p: float | None) -> Control | None:
    """Return the control of what images of other groups explain; None with two groups."""
    parts = [
        (pair.pair, pair.leans, pair.others)
        for pair in pairs
        if pair.others is not None
    ]
    if not parts:
        return None
    tables = [leans_beyond_even(leans, others) for _, leans, others in parts]
    tops, variances, dfs = np.concatenate(tables, axis=1)
    degrees = degrees_of_f_test(pairs, variances, dfs)
    allowed = mean_square(tops, variances, dfs, degrees=degrees).p
    largest = max(parts, key=lambda part: part[2].size)
    pair, _, others = largest
    return other_groups_control(pair, others, p, allowed)


def _excess_of_other_directions(leans: Leans) -> tuple[float, float] | None:
    """Return how far squared leans exceed chance along other directions, and the common part.

    The leans are unscaled (N, the numerators); the common part is what all stimuli
    share. Both are 0 where the mean is less than its standard error over stimuli.
    """
    halves = lean_controls.other_directions(leans)
    if not halves:
        return None
    excess = np.empty(len(leans.names))
    products = 0.0
    n_products = 0
    for half in halves:
        excess[half.at] = (half.top**2 - half.variance) @ half.weights
        # The products of the N of different stimuli, summed.
        off_diagonal = half.top.sum(axis=0) ** 2 - (half.top**2).sum(axis=0)
        products += float(off_diagonal @ half.weights)
        n_products += len(half.at) * (len(half.at) - 1)
    mean = float(excess.mean())
    if mean <= np.sqrt(excess.var(ddof=1) / len(excess)):
        return 0.0, 0.0
    if not n_products:
        return mean, mean
    return mean, min(max(products / n_products, 0.0), mean)
