"""The lean of each target between B and A, with its interval and test."""

from __future__ import annotations

import numpy as np

from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.mcas.axis import AttributeAxis
from t2ibench.methods.mcas.equal_spread import EqualSpread
from t2ibench.methods.mcas.fieller import ratio_set
from t2ibench.methods.mcas.material import Target


def target_leans(
    equal: EqualSpread, level: float, reason: str | None
) -> list[Estimate]:
    """Return the lean of each target.

    Args:
        equal: Attributes and targets with images of equal spread.
        level: Confidence level, in (0, 1).
        reason: Why leans are not defined, because a control contradicts; None where
            they are.
    """
    if reason is not None:
        return [Estimate.undefined(reason)] * len(equal.targets)
    return [_lean(target, equal.axis, level) for target in equal.targets]


def _lean(target: Target, axis: AttributeAxis, level: float) -> Estimate:
    """Estimate one target's lean, with Fieller's set as its interval.

    It has no interval where the target has a single unit, which shows no variance.
    """
    lean, of_axis = axis.lean(target.point)
    of_images = _image_influence(target, axis, lean)
    numerator, numerators = axis.numerator(target.point)
    of_numerator = Influence.combined(
        [(1.0, axis.influence(numerators)), (1.0, of_images)]
    )
    ratio = ratio_set(
        numerator, axis.length, of_numerator, axis.length_influence, level
    )
    if not np.isfinite(ratio.p):
        return Estimate(lean)
    influence = Influence.combined([(1.0, of_axis), (1.0 / axis.length, of_images)])
    return Estimate(
        lean,
        p=float(ratio.p),
        test="t",
        interval=(float(ratio.low), float(ratio.high)),
        influence=influence,
    )


def _image_influence(target: Target, axis: AttributeAxis, lean: float) -> Influence:
    """Return the influence of a target's images on the numerator of its lean.

    A few images that are all alike show no variance, yet are compatible with some: at
    least that with half an image more at each pole (what Jeffreys' prior adds to a
    share).
    """
    influence = target.image_influence(2.0 * axis.direction)
    n_images = len(target.images)
    are_units = len(influence.strata) == 1 and n_images == len(influence.value) > 1
    if not are_units:
        return influence.with_floor(0.0)
    within_poles = float(np.clip(lean, -1.0, 1.0))
    at_poles = (1.0 + within_poles**2) / n_images * axis.length**2
    floor = (n_images - 1) * influence.variance + at_poles
    return influence.with_floor(floor / n_images)
