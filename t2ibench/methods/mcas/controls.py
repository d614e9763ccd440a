"""Controls of MCAS: does the encoder see the attribute, and what is found where there is none?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import stdtr

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.controls import Control
from t2ibench.methods.core.evidence import PromptImages
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.mcas.axis import Axis, Poles
from t2ibench.methods.mcas.headline import Contrast, Design, tested
from t2ibench.methods.mcas.ratio import ratio_set
from t2ibench.methods.mcas.schema import McasTask
from t2ibench.methods.mcas.targets import Target, image_poles, text_axis
from t2ibench.stats.student import t_interval, t_test

_SHUFFLES = 20
_TOO_MANY = 5  # of them: a sound test rejects so many with probability .003
_GATE = 0.005  # p-value below which the attributes' images are told apart
_APART = 0.005  # p-value below which the halves differ
_ALPHA = 0.05


def separation(task: McasTask, poles: Poles, axis: Axis, level: float) -> Control:
    """Whether the encoder tells the attribute images apart, and well enough to divide by it.

    The length of the axis is compared with what products of unrelated pairs would be. Of pairs,
    the spread of d_p·d_q around the means of its two pairs shows that (Student's t with
    k (k - 3) / 2 degrees of freedom); where pairs are fewer than four, or there are none, the
    jackknife does.

    Args:
        task: The task.
        poles: The attributes by their images.
        axis: Their axis.
        level: Confidence level of the headline, in (0, 1).

    Returns:
        The control, with the squared distance between the attributes; it contradicts the test
        where that is not clearly above 0.
    """
    names = f"'{task.attributes.A.name}' and '{task.attributes.B.name}'"
    influence = axis.length_influence
    if not np.isfinite(influence.variance):
        reason = f"the distance between {names} needs at least three attribute prompts a side"
        return Control("Too few attribute prompts to see their distance.", contradicts=reason)
    p = _separation_p(poles, axis)
    low, high = t_interval(axis.length, influence.variance, influence.df, level)
    contradicts = None
    if not p < _GATE:
        contradicts = f"the encoder does not tell the images of {names} apart"
    elif not low > 0:
        contradicts = f"the distance between the images of {names} is not known well enough"
    return Control(
        f"Squared distance between the mean images of {names}: {axis.length:.4f}, with an interval "
        f"from {low:.4f} to {high:.4f}.",
        axis.length,
        low,
        high,
        p=p,
        contradicts=contradicts,
    )


def _separation_p(poles: Poles, axis: Axis) -> float:
    k = len(poles.a)
    df = k * (k - 3) / 2
    if not poles.paired or df < 1:
        influence = axis.length_influence
        z = axis.length / np.sqrt(influence.variance) if influence.variance else np.inf
        return float(stdtr(influence.df if np.isfinite(influence.df) else 1.0, -z))
    steps = poles.a - poles.b
    rows, columns = np.triu_indices(k, 1)
    products = (steps @ steps.T)[rows, columns]
    pairs = np.zeros((len(products), k))
    pairs[np.arange(len(products)), rows] = pairs[np.arange(len(products)), columns] = 1.0
    rest = products - pairs @ np.linalg.lstsq(pairs, products, rcond=None)[0]
    spread = np.sqrt((rest**2).sum() / df / len(products))
    return float(stdtr(df, -products.mean() / spread)) if spread > 0 else float(axis.length <= 0)


def shuffled(
    design: Design,
    targets: Sequence[Target],
    images: tuple[PromptImages, PromptImages],
    rng: np.random.Generator,
) -> Control:
    """The test with the labels of the attribute images shuffled.

    Images change places within each pair of attribute prompts (without pairs, among all), so that
    an attribute is left in none of them.
    """
    by_image = targets[0].by_image
    paired = image_poles(*images, by_image).paired
    points = np.stack([target.point for target in targets])
    p_values = []
    for _ in range(_SHUFFLES):
        axis = Axis.between(image_poles(*_relabelled(images, paired, rng), by_image))
        value, found = tested(design, points, axis)
        p_values.append(t_test(value, found.variance, found.df))
    if not np.isfinite(p_values).all():
        return Control("Too few attribute prompts for a test with shuffled labels.")
    hits = sum(p < _ALPHA for p in p_values)
    return Control(
        f"With shuffled labels of attribute images, {hits} of {_SHUFFLES} tests have p < .05.",
        hits / _SHUFFLES,
        contradicts=(
            f"{hits} of {_SHUFFLES} tests with shuffled attribute labels have p < .05"
            if hits >= _TOO_MANY
            else None
        ),
    )


def _relabelled(
    images: tuple[PromptImages, PromptImages], paired: bool, rng: np.random.Generator
) -> tuple[PromptImages, PromptImages]:
    rows = np.concatenate([side.embeddings for side in images])
    clusters = np.concatenate([side.clusters for side in images])
    order = np.arange(len(rows))
    for group in np.unique(clusters) if paired else [None]:
        mine = np.flatnonzero(clusters == group) if paired else order.copy()
        order[mine] = rng.permutation(mine)
    cut = len(images[0])
    a, b = rows[order[:cut]], rows[order[cut:]]
    return replace(images[0], embeddings=a), replace(images[1], embeddings=b)


def halves(
    design: Design,
    targets: Sequence[Target],
    images: tuple[PromptImages, PromptImages],
    axis: Axis,
) -> Control:
    """The test on images with even indices, against that on the others."""
    contrasts = []
    for odd in (0, 1):
        part = [
            replace(target, images=target.images.where(target.images.indices % 2 == odd))
            for target in targets
        ]
        sides = [side.where(side.indices % 2 == odd) for side in images]
        poles = image_poles(sides[0], sides[1], targets[0].by_image)
        if min(len(target.images) for target in part) < 2 or min(len(poles.a), len(poles.b)) < 2:
            return Control("Too few images to compare two halves.")
        contrasts.append(Contrast.of(design, part, Axis.between(poles)))
    even, odd_half = contrasts
    influence = Influence.combined([(1.0, even.influence), (-1.0, odd_half.influence)])
    difference = even.top - odd_half.top
    p = t_test(difference, influence.variance, influence.df)
    first, second = even.top / axis.length, odd_half.top / axis.length
    return Control(
        f"Images with even indices give a lean of {first:+.2f}, the others {second:+.2f}.",
        first - second,
        p=p if np.isfinite(p) else None,
        contradicts="the two halves of the images disagree" if p < _APART else None,
    )


def text_only(
    design: Design, targets: Sequence[Target], words: tuple[Float64Array, Float64Array]
) -> Control:
    """The same score from words alone: target prompts as texts, along the axis of the words.

    Args:
        design: How targets are compared.
        targets: The targets.
        words: Of A and of B, each of shape (k, d).

    Returns:
        The control, which contradicts nothing.
    """
    axis = text_axis(*words)
    point = design.weights @ np.stack([target.text for target in targets])
    top, influence = float(point @ axis.direction), axis.influence(axis.directions @ point)
    length = axis.length_influence
    if not np.isfinite(length.variance) or not axis.length > 0:
        return Control("The words alone do not show the attributes.")
    found = ratio_set(top, axis.length, influence, length, 0.95)
    lean = top / axis.length
    return Control(
        f"The words alone, without any image, give a lean of {lean:+.2f}.",
        lean,
        found.low if found.bounded else None,
        found.high if found.bounded else None,
        p=found.p if np.isfinite(found.p) else None,
    )


def adhering(hits: int, total: int) -> Control:
    """How many attribute images are nearer their own attribute's words.

    Args:
        hits: Those that are.
        total: All attribute images.

    Returns:
        The control. It contradicts nothing: the headline compares images with images alone.
    """
    return Control(
        f"{hits} of {total} attribute images are nearer the words of their own attribute.",
        hits / total if total else None,
    )
