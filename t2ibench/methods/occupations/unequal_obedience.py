"""The unequal obedience that would explain the leans, where no judge checked images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t2ibench.decimals import readable
from t2ibench.methods.core.describe import GROUP, people
from t2ibench.methods.core.headline import Control, HeadlineEstimate
from t2ibench.methods.core.leans import BOTTOM, TOP
from t2ibench.methods.core.obedience import bounds, how_to_look
from t2ibench.methods.occupations.headline import degrees_of_f_test
from t2ibench.methods.occupations.leans import PairLeans
from t2ibench.stats.squares import mean_square

# Share of a group's images that may show the other, where they are unchecked.
_MOST_UNSEEN = 0.15
# Steps of the share between 0 and 1.
_STEPS = 50
_ALPHA = 0.05
# A run has several such tests: at .05 each, one fair run in nine that ignores a word is clear.
_EXPLAINED = 0.01


def unequal_obedience(
    pairs: Sequence[PairLeans],
    headline: HeadlineEstimate,
    level: float,
    *,
    has_question: bool,
) -> dict[str, Control]:
    """Return, for each pair, the control of whether unequal obedience explains the leans.

    Where a share f of one group's guided images looks like the other's, all fair leans read
    f / (1 - f). The headline is explained by f where the F test does not reject that the leans of
    each pair of groups are some common value of at most that size: at 1 %, or at 5 % where the
    headline's own p is above .01.

    A pair's control has the least such f, or none, and the bounds of the mean lean with f up to
    .15 in either group. The first contradicts where f is below that and the headline is beyond
    chance without it.
    """
    if headline.value is None:
        return {}
    share = _least_explaining_share(pairs, headline.p)
    controls = {}
    for number, pair in enumerate(pairs):
        first = people(pair.pair.first.name, GROUP)
        second = people(pair.pair.second.name, GROUP)
        sentences = [_explanation(share, first, second)]
        reason = None
        if share is not None and number == 0 and 0 < share < _MOST_UNSEEN:
            reason = (
                f"{_percent(share)} of one group's guided images showing the other would "
                f"explain it, and the images are unchecked: {how_to_look(has_question)}"
            )
        low = None
        high = None
        interval = bounds(pair.mean(level), _MOST_UNSEEN)
        if interval is not None:
            low, high = interval
            lowest = readable(low, 2, sign=True)
            highest = readable(high, 2, sign=True)
            sentences.append(
                f"With up to {_percent(_MOST_UNSEEN)} of either group's images showing the other, "
                f"the mean lean is from {lowest} to {highest}."
            )
        name = f"breakdown{pair.pair.suffix}"
        says = " ".join(sentences)
        controls[name] = Control(says, share, low, high, contradicts=reason)
    return controls


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _explanation(share: float | None, first: str, second: str) -> str:
    if share is None:
        return f"Prompts for {first} or {second} that are ignored do not explain these leans."
    return (
        f"These leans would be none if {_percent(share)} of the images asked for {first} showed "
        f"{second}, or the other way round."
    )


def _least_explaining_share(
    pairs: Sequence[PairLeans], p: float | None
) -> float | None:
    """Return the least share of disobedient images that explains the leans; None if none does."""
    alpha = _EXPLAINED if p is not None and p < _EXPLAINED else _ALPHA
    shares: list[float] = (np.arange(_STEPS) / _STEPS).tolist()
    for share in shares:
        if _p_of_common_lean(pairs, share / (1.0 - share)) >= alpha:
            return share
    return None


def _p_of_common_lean(pairs: Sequence[PairLeans], most: float) -> float:
    """Return the p-value that all leans of a pair are equal, between -`most` and `most`."""
    parts = []
    for pair in pairs:
        leans = pair.leans
        n = leans.top
        d = leans.bottom
        u = leans.bottom_variance
        v, f = leans.top_variance
        value = float(np.clip(n @ d / (d @ d), -most, most))
        covariance = np.nan_to_num(leans.pooled[0] @ (TOP * BOTTOM))
        # The variance of N - value D.
        variance = np.maximum(v - 2 * value * covariance + value**2 * u, 0.0)
        square = float((d**2 - u).mean())
        scale = np.sqrt(max(square, np.finfo(float).tiny))
        difference = n - value * d
        parts.append([difference / scale, variance / scale**2, f])
    tops, variances, dfs = np.concatenate(parts, axis=1)
    degrees = degrees_of_f_test(pairs, variances, dfs)
    return mean_square(tops, variances, dfs, degrees=degrees).p
