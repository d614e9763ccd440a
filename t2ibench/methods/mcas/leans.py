"""The lean of each target between B and A, with its interval and test."""

from __future__ import annotations

import numpy as np

from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.influence import FLOOR, Influence
from t2ibench.methods.core.mixture_variance import MixtureVariance
from t2ibench.methods.core.row_test import null_variance, reach_null
from t2ibench.methods.core.wording_images import ImagesAlong
from t2ibench.methods.mcas.axis import AttributeAxis
from t2ibench.methods.mcas.equal_spread import EqualSpread
from t2ibench.methods.mcas.fieller import ratio_set
from t2ibench.methods.mcas.material import Target
from t2ibench.stats.student import satterthwaite, t_test


def target_leans(
    equal: EqualSpread, level: float, reason: str | None
) -> list[Estimate]:
    """Return each target's lean, 1 at A and -1 at B; undefined if `reason` is given.

    Args:
        equal: Attributes and targets with images of equal spread.
        level: Confidence level, in (0, 1).
        reason: Why leans are not defined, because a control contradicts; None where
            they are.
    """
    if reason is not None:
        return [Estimate.undefined(reason)] * len(equal.targets)
    mixture = _mixture(equal)
    return [_lean(target, equal.axis, mixture, level) for target in equal.targets]


def _mixture(equal: EqualSpread) -> MixtureVariance:
    """Return how much a target's images vary along the axis, as a function of its lean."""
    direction = equal.axis.direction
    of_targets, of_a, of_b = equal.kinds
    return MixtureVariance.of(
        neutral=[ImagesAlong.of(images, direction) for images in of_targets],
        guided=[ImagesAlong.of(images, direction) for images in (*of_a, *of_b)],
        square=equal.axis.length**2,
    )


def _lean(
    target: Target, axis: AttributeAxis, mixture: MixtureVariance, level: float
) -> Estimate:
    """Return one target's lean, with Fieller's interval and its p-value.

    It has no interval where the target has a single unit, which shows no variance. Its p-value is
    the larger one of two: with the variance of the interval, and with that of a lean of 0; where
    that does not reject, the interval reaches 0.
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
    p = float(ratio.p)
    at_null = influence
    if _images_are_units(target, of_images):
        of_units = axis.influence(numerators)
        variance, df = _variance_of_no_lean(target, axis, mixture, numerator, of_units)
        p = max(p, t_test(numerator, variance, df))
        at_null = influence.with_floor(variance / axis.length**2)
    low, high = reach_null(ratio.low, ratio.high, p, level)
    return Estimate(
        lean,
        p=p,
        test="t",
        interval=(float(low), float(high)),
        influence=influence,
        null_influence=at_null,
    )


def _variance_of_no_lean(
    target: Target,
    axis: AttributeAxis,
    mixture: MixtureVariance,
    numerator: float,
    of_units: Influence,
) -> tuple[float, float]:
    """Return the variance, and its df, that a lean's numerator would have at a lean of 0.

    See `core.row_test`.

    Args:
        target: The target; its images are the units.
        axis: The axis.
        mixture: What images vary by along it.
        numerator: The numerator of its lean: twice the distance from the middle.
        of_units: Influence of the attributes' units on the numerator.
    """
    n_images = len(target.images)
    of_images = target.image_influence(axis.direction)
    variance, df = null_variance(
        variances=np.array([of_images.variance]),
        dfs=np.array([n_images - 1.0]),
        numbers=np.array([float(n_images)]),
        distances=np.array([numerator / 2.0]),
        mixture=mixture,
    )
    return satterthwaite(
        [4.0 * float(variance[0]), of_units.variance], [float(df[0]), of_units.df]
    )


def _images_are_units(target: Target, of_images: Influence) -> bool:
    """Return whether a target's images vary independently: two or more, of one prompt."""
    n_units = int((of_images.unit != FLOOR).sum())
    return len(of_images.strata) == 1 and len(target.images) == n_units > 1


def _image_influence(target: Target, axis: AttributeAxis, lean: float) -> Influence:
    """Return each image's influence on the numerator of its target's lean.

    A few images that are all alike show no variance, yet are compatible with some: at
    least that with half an image more at each pole (what Jeffreys' prior adds to a
    share).
    """
    influence = target.image_influence(2.0 * axis.direction)
    n_images = len(target.images)
    if not _images_are_units(target, influence):
        return influence.with_floor(0.0)
    within_poles = float(np.clip(lean, -1.0, 1.0))
    at_poles = (1.0 + within_poles**2) / n_images * axis.length**2
    floor = (n_images - 1) * influence.variance + at_poles
    return influence.with_floor(floor / n_images)
