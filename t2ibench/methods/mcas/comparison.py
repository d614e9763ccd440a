"""The comparison of targets of A with targets of B along an axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.mcas.axis import AttributeAxis
from t2ibench.methods.mcas.design import Design, TargetSampling
from t2ibench.methods.mcas.material import Target


def contrast(
    design: Design, targets: Sequence[Target], axis: AttributeAxis
) -> tuple[float, Influence]:
    """Return the mean association of the first targets (A) less that of the second (B).

    Returns:
        The difference, and the influence of the targets' images and of the axis' units
        on it: it is about these targets.
    """
    point = design.weights @ np.stack([target.point for target in targets])
    parts = [(1.0, axis.influence(axis.directions @ point))]
    for weight, target in zip(design.weights, targets, strict=True):
        if weight:
            parts.append((float(weight), target.image_influence(axis.direction)))
    return float(point @ axis.direction), Influence.combined(parts)


def contrast_over_targets(
    design: Design, points: Float64Array, axis: AttributeAxis
) -> tuple[float, TargetSampling]:
    """Return half that difference and its variance, for targets that are a sample.

    It is for targets that are a sample of possible ones, and not divided by the length
    of the axis, which a test does not need.

    Args:
        design: The comparison.
        points: Mean embedding of each target, shape (k, d).
        axis: The axis.
    """
    values = 2.0 * points @ axis.direction
    without = 2.0 * points @ axis.directions.T
    units = np.stack([axis.influence(of_target).value for of_target in without])
    difference = float(design.weights @ values / 2.0)
    return difference, TargetSampling.of(design, values, units)
