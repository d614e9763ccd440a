"""The two attributes of a task as the poles of an axis, given by images or by words."""

from __future__ import annotations

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.mcas.axis import AttributeAxis, Poles

# With this the names of the attributes' strata begin.
ATTRIBUTE_UNITS = "attribute "
# The most images of one prompt; see `core.schema.Count`.
_MOST_IMAGES = 100_000


def image_poles(a: PromptImages, b: PromptImages, by_image: bool) -> Poles:
    """Return the two attributes as the poles of an axis between their images.

    Args:
        a: Images of A.
        b: Images of B.
        by_image: Whether images are the units; otherwise prompts are, in pairs where
            both attributes have as many.
    """
    if by_image:
        return Poles(
            a=a.embeddings,
            b=b.embeddings,
            numbers_a=a.clusters * _MOST_IMAGES + a.indices,
            numbers_b=b.clusters * _MOST_IMAGES + b.indices,
            paired=False,
            name=f"{ATTRIBUTE_UNITS}images",
        )
    means_a = a.means
    means_b = b.means
    has_a = a.sizes > 0
    has_b = b.sizes > 0
    paired = len(has_a) == len(has_b)
    if paired:
        has_a = has_b = has_a & has_b
    return Poles(
        a=means_a[has_a],
        b=means_b[has_b],
        numbers_a=np.flatnonzero(has_a),
        numbers_b=np.flatnonzero(has_b),
        paired=paired,
        name=f"{ATTRIBUTE_UNITS}prompts",
    )


def text_axis(a: Float64Array, b: Float64Array) -> AttributeAxis:
    """Return the axis between the words of two attributes; equally many count as pairs.

    Args:
        a: A word of A a row, shape (p, d).
        b: A word of B a row, shape (q, d).
    """
    poles = Poles(
        a=a,
        b=b,
        numbers_a=np.arange(len(a)),
        numbers_b=np.arange(len(b)),
        paired=len(a) == len(b),
        name=f"{ATTRIBUTE_UNITS}words",
    )
    return AttributeAxis.between(poles)
