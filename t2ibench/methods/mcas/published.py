"""The four association scores of a target (Mandal et al. 2024, section 3, eqs. 1 and 2).

Each goes from what a target is (an image I, or its text T) to what the attributes are:
II, ITP (text of the target, images of the attributes), IT and TT.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.mcas.axis import AttributeAxis
from t2ibench.methods.mcas.material import Attributes, Target

II = "image_to_image_association"
ITP = "text_to_image_association"
IT = "image_to_text_association"
TT = "text_to_text_association"
TERMS = (II, ITP, IT, TT)
NO_TEXTS = "the encoder has no vectors of the texts"


def association_scores(
    target: Target, attributes: Attributes, level: float
) -> dict[str, Estimate]:
    """Return the four association scores of one target.

    Each is the mean over the rows w (the target's images, or its text) of
    asc(w) = mean over A of cos(w, a) - mean over B of cos(w, b),
    where A and B are the attributes' images or their words. Each prompt counts alike.
    """
    point = target.point
    text = target.text
    images = attributes.image_axis
    words = attributes.word_axis
    return {
        II: _association(point, target.image_influence, images, level),
        ITP: _association(text, target.text_influence, images, level),
        IT: _association(point, target.image_influence, words, level),
        TT: _association(text, target.text_influence, words, level),
    }


def _association(
    point: Float64Array,
    influence_along: Callable[[Float64Array], Influence],
    axis: AttributeAxis,
    level: float,
) -> Estimate:
    """Return how far a target lies along the attributes' axis; positive is nearer to A.

    Args:
        point: The mean of the target's images, or of its texts, shape (d,).
        influence_along: Their influence on the point along a direction.
        axis: The axis of the attributes' images, or of their words.
        level: Confidence level, in (0, 1).
    """
    if not np.isfinite(point).all() or not np.isfinite(axis.direction).all():
        return Estimate.undefined(NO_TEXTS)
    of_axis = axis.influence(axis.directions @ point)
    of_point = influence_along(axis.direction)
    influence = Influence.combined([(1.0, of_axis), (1.0, of_point)])
    return Estimate.from_influence(float(point @ axis.direction), influence, level)
