"""The test that the shares of one or several rows are even."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import bdtr, fdtrc, fdtri

from t2ibench.methods.core.influence import Influence
from t2ibench.methods.tibet.axis_shares import AxisShares
from t2ibench.methods.tibet.lean_covariance import covariance_of_leans

# The least share of the trace that remains, however much of it is counted twice.
LEAST_SHARE_OF_TRACE = 0.5
# The least p-value.
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, slots=True)
class EvenSharesTest:
    """The test that the counterfactuals' shares are even in every row.

    Attributes:
        critical: The largest mean of the squared leans that it does not reject.
        p: Its p-value.
    """

    critical: float
    p: float


def even_shares_test(
    axes: Sequence[AxisShares], double_counted: float, level: float
) -> EvenSharesTest:
    """Test whether the counterfactuals' shares are even in every row.

    F = l'l / tr S, with l the leans and S their covariance, in which the prompts'
    images vary about the even mixtures. So S is known but for the counterfactuals'
    part, and only that part has degrees of freedom. One row of two counterfactuals
    whose answers are counts has the exact binomial test instead.

    Args:
        axes: The rows.
        double_counted: What S counts twice, as a sum over leans.
        level: Confidence level, in (0, 1).
    """
    counts = counts_of_two(axes[0]) if len(axes) == 1 else None
    if counts is not None:
        return _binomial_test(*counts, level)
    plain_prompts = {axis.prompt for axis in axes}
    changed_prompts = {image_set.prompt for axis in axes for image_set in axis.sets[1:]}
    influences = influences_of_leans(axes, "test")
    never_changed = plain_prompts - changed_prompts
    spread = covariance_of_leans(influences, certain=never_changed)
    trace = float(np.trace(spread.matrix))
    variance = max(trace - double_counted, LEAST_SHARE_OF_TRACE * trace)
    sum_of_squares = float(sum((axis.leans**2).sum() for axis in axes))
    if not variance > 0:
        return EvenSharesTest(0.0, _TINY if sum_of_squares > 0 else 1.0)
    f_value = sum_of_squares / variance
    p = float(np.clip(fdtrc(*spread.dfs, f_value), _TINY, 1.0))
    critical_f = float(fdtri(*spread.dfs, level))
    critical = variance * critical_f / len(axes)
    return EvenSharesTest(critical, p)


def counts_of_two(axis: AxisShares) -> tuple[int, int] | None:
    """Return how many images are like each of two counterfactuals; None if answers do not say.

    Answers are such counts where those about one counterfactual's images are all alike, and those
    about each of the prompt's images are like one of these two; None elsewhere, and where several
    mixtures are possible.
    """
    if len(axis.counterfactuals) != 2 or axis.alternatives or axis.unanswered:
        return None
    start, first, second = (image_set.features for image_set in axis.sets)
    constant = all((features == features[0]).all() for features in (first, second))
    like_first = (start == first[0]).all(axis=1)
    like_second = (start == second[0]).all(axis=1)
    if not constant or not (like_first ^ like_second).all():
        return None
    return int(like_first.sum()), int(like_second.sum())


def _binomial_test(n_first: int, n_second: int, level: float) -> EvenSharesTest:
    """Return the exact test that images are equally often like either counterfactual."""
    n_images = n_first + n_second
    numbers = np.arange(n_images + 1)
    p_values = np.minimum(
        2 * bdtr(np.minimum(numbers, numbers[::-1]), n_images, 0.5), 1
    )
    squares = (2 * numbers / n_images - 1) ** 2
    return EvenSharesTest(
        critical=float(squares[p_values >= 1 - level].max()),
        p=float(p_values[n_first]),
    )


def influences_of_leans(
    axes: Sequence[AxisShares], at: Literal["even shares", "test"]
) -> list[Influence]:
    """Return each image's influence on every lean of the given rows."""
    return [
        axis.influence(scale, at)
        for axis in axes
        for scale in np.ascontiguousarray(axis.scales.T)
    ]
