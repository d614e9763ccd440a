"""How far the shares that leans stand for are from known ones, such as labour statistics."""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.lean_scores import of_ratio, row_scores
from t2ibench.methods.core.leans import Leans

_UNKNOWN = "its share is not known"
_EXTREME = "the interval of the share reaches 0 or 1, which have no odds"


def share_columns(
    leans: Leans, group: str, sign: float, reference: Float64Array, level: float
) -> dict[str, list[Estimate]]:
    """The share of a group that each lean stands for, less the known one.

    A mixture with a share P of the group has the lean 2 P - 1 towards it, so the share is
    (1 + lean) / 2 and its distance from a known share half of that of the leans. Known shares are
    taken as exact.

    Args:
        leans: The leans.
        group: The group whose share is known.
        sign: 1 where positive leans are towards the group, -1 where negative ones are.
        reference: The leans of the known shares, shape (stimuli,); nan where there is none.
        level: Confidence level, in (0, 1).

    Returns:
        'share_minus_reference:GROUP', in points of share, and 'log_odds_minus_reference:GROUP', a
        list of scores each, with the tests of 0 that the leans give.
    """
    found = leans.rows(level, np.nan_to_num(reference))
    plain = row_scores(leans, level)
    differences: list[Estimate] = []
    odds: list[Estimate] = []
    for number, point in enumerate(reference):
        if not np.isfinite(point):
            differences.append(Estimate.undefined(_UNKNOWN))
            odds.append(Estimate.undefined(_UNKNOWN))
            continue
        influence = plain[number].influence
        beyond = of_ratio(found, (number,), influence)
        differences.append(_scaled(beyond, sign / 2))
        odds.append(_log_odds(differences[-1], (1 + sign * float(point)) / 2))
    return {
        f"share_minus_reference:{group}": differences,
        f"log_odds_minus_reference:{group}": odds,
    }


def _scaled(beyond: Estimate, factor: float) -> Estimate:
    if beyond.value is None:
        return beyond
    influence = None if beyond.influence is None else beyond.influence.scaled(factor)
    ends = [factor * end for end in beyond.interval or ()]
    return Estimate(
        factor * beyond.value,
        p=beyond.p,
        test=beyond.test,
        interval=(min(ends), max(ends)) if ends else None,
        influence=influence,
    )


def _log_odds(difference: Estimate, known: float) -> Estimate:
    """The same distance between log odds, which moves every end of an interval with it."""
    if difference.value is None:
        return Estimate.undefined(difference.reason or _EXTREME)
    shares = np.array([difference.value, *(difference.interval or ())]) + known
    if difference.interval is None or not ((shares > 0) & (shares < 1)).all() or not 0 < known < 1:
        return Estimate.undefined(_EXTREME)
    moved = (logit(shares) - logit(known)).tolist()
    share = float(shares[0])
    slope = 1 / (share * (1 - share))
    influence = difference.influence
    return Estimate(
        moved[0],
        p=difference.p,
        test=difference.test,
        interval=(moved[1], moved[2]),
        influence=None if influence is None else influence.scaled(slope),
    )
