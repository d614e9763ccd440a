"""Controls of an MCAS task, each of which may contradict its headline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import stdtr

from t2ibench.arrays import Float64Array
from t2ibench.decimals import readable
from t2ibench.methods.core import lean_controls
from t2ibench.methods.core.headline import SHUFFLES, Control, of_shuffles
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.over_stimuli import bounded
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.mcas.axis import AttributeAxis, Poles
from t2ibench.methods.mcas.comparison import contrast, contrast_over_targets
from t2ibench.methods.mcas.design import Design
from t2ibench.methods.mcas.equal_spread import EqualSpread
from t2ibench.methods.mcas.fieller import ratio_set
from t2ibench.methods.mcas.material import Target
from t2ibench.methods.mcas.poles import image_poles, text_axis
from t2ibench.methods.mcas.published import NO_TEXTS
from t2ibench.methods.mcas.schema import McasTask
from t2ibench.stats.student import t_interval, t_test

# The p-value below which the encoder distinguishes the attributes' images.
_GATE = 0.005
_ALPHA = 0.05
# The confidence level of what the words alone say.
_TEXT_LEVEL = 0.95
# The fewest images of a target, and units of an attribute, in each half.
_FEWEST = 2


def separation_control(
    task: McasTask, poles: Poles, axis: AttributeAxis, level: float
) -> Control:
    """Return the control of whether the encoder distinguishes the two attributes' images.

    The value is the squared distance between the attributes. It contradicts where that
    is not clearly above 0, or not known well enough to divide by.
    """
    names = f"'{task.attributes.A.name}' and '{task.attributes.B.name}'"
    influence = axis.length_influence
    if not np.isfinite(influence.variance):
        reason = f"the distance between {names} needs at least three attribute prompts a side"
        return Control(
            "Too few attribute prompts to see their distance.", contradicts=reason
        )
    p = _separation_p(poles, axis)
    low, high = t_interval(axis.length, influence.variance, influence.df, level)
    contradicts = None
    if not p < _GATE:
        contradicts = f"the encoder does not tell the images of {names} apart"
    elif not low > 0:
        contradicts = (
            f"the distance between the images of {names} is not known well enough"
        )
    return Control(
        f"Squared distance between the mean images of {names}: {axis.length:.4f}, with an interval "
        f"from {low:.4f} to {high:.4f}.",
        axis.length,
        low,
        high,
        p=p,
        contradicts=contradicts,
    )


def _separation_p(poles: Poles, axis: AttributeAxis) -> float:
    """Return the p-value that the two attributes' images do not differ.

    Of k pairs, the length of the axis is compared with what products of unrelated pairs
    would be: the spread of d_p·d_q around the means of its two pairs shows that
    (Student's t with k (k - 3) / 2 degrees of freedom). Where pairs are fewer than four,
    or there are none, the jackknife does.
    """
    n_pairs = len(poles.a)
    df = n_pairs * (n_pairs - 3) / 2
    if not poles.paired or df < 1:
        influence = axis.length_influence
        z = np.inf
        if influence.variance:
            z = axis.length / np.sqrt(influence.variance)
        df_of_length = influence.df if np.isfinite(influence.df) else 1.0
        return float(stdtr(df_of_length, -z))
    steps = poles.a - poles.b
    firsts, seconds = np.triu_indices(n_pairs, 1)
    gram = steps @ steps.T
    products = gram[firsts, seconds]
    n_products = len(products)
    numbers = np.arange(n_products)
    members = np.zeros((n_products, n_pairs))
    members[numbers, firsts] = 1.0
    members[numbers, seconds] = 1.0
    means, *_ = np.linalg.lstsq(members, products, rcond=None)
    residuals = products - members @ means
    variance = (residuals**2).sum() / df
    spread = np.sqrt(variance / n_products)
    if not spread > 0:
        return float(axis.length <= 0)
    t = products.mean() / spread
    return float(stdtr(df, -t))


def shuffled_control(
    design: Design, equal: EqualSpread, rng: np.random.Generator
) -> Control:
    """Return the control that repeats the test with attribute labels of images shuffled.

    Images change places within each pair of attribute prompts (without pairs, among
    all), so that an attribute is left in none of them.
    """
    by_image = equal.targets[0].by_image
    points = np.stack([target.point for target in equal.targets])
    p_values = []
    embeddings = np.concatenate([side.embeddings for side in equal.images])
    for _ in range(SHUFFLES):
        images_a, images_b = _relabelled(equal, embeddings, rng)
        axis = AttributeAxis.between(image_poles(images_a, images_b, by_image))
        difference, sampling = contrast_over_targets(design, points, axis)
        p_values.append(t_test(difference, sampling.variance, sampling.df))
    if not np.isfinite(p_values).all():
        return Control("Too few attribute prompts for a test with shuffled labels.")
    hits = sum(p < _ALPHA for p in p_values)
    return of_shuffles(
        f"With shuffled labels of attribute images, {hits} of {SHUFFLES} tests have p < .05.",
        hits / SHUFFLES,
        hits,
        f"{hits} of {SHUFFLES} tests with shuffled attribute labels have p < .05",
    )


def _relabelled(
    equal: EqualSpread, embeddings: Float64Array, rng: np.random.Generator
) -> tuple[PromptImages, PromptImages]:
    """Return the images of A and of B with their embeddings shuffled between both."""
    images_a, images_b = equal.images
    clusters = np.concatenate([images_a.clusters, images_b.clusters])
    order = np.arange(len(embeddings))
    if equal.poles.paired:
        for cluster in np.unique(clusters):
            places = np.flatnonzero(clusters == cluster)
            order[places] = rng.permutation(places)
    else:
        order = rng.permutation(order)
    shuffled_a, shuffled_b = np.split(embeddings[order], [len(images_a)])
    return (
        _with_embeddings(images_a, shuffled_a),
        _with_embeddings(images_b, shuffled_b),
    )


def _with_embeddings(images: PromptImages, embeddings: Float64Array) -> PromptImages:
    """Return the images with other embeddings, in the same order."""
    return PromptImages(embeddings, images.clusters, images.prompts, images.indices)


def halves_control(design: Design, equal: EqualSpread) -> Control:
    """Return the control that compares the result from even- and from odd-numbered images."""
    even = _half(design, equal, 0)
    odd = _half(design, equal, 1)
    if even is None or odd is None:
        return Control("Too few images to compare two halves.")
    difference = even[0] - odd[0]
    influence = Influence.combined([(1.0, even[1]), (-1.0, odd[1])])
    p = t_test(difference, influence.variance, influence.df)
    return lean_controls.halves_control(difference / equal.axis.length, p)


def _half(
    design: Design, equal: EqualSpread, remainder: int
) -> tuple[float, Influence] | None:
    """Return the comparison from images whose index mod 2 is `remainder`; None if too few.

    None where a target or an attribute has too few of them.
    """
    targets = []
    for target in equal.targets:
        images = target.images.where(target.images.indices % 2 == remainder)
        targets.append(replace(target, images=images))
    images_a, images_b = (
        side.where(side.indices % 2 == remainder) for side in equal.images
    )
    poles = image_poles(images_a, images_b, targets[0].by_image)
    fewest_images = min(len(target.images) for target in targets)
    if min(fewest_images, len(poles.a), len(poles.b)) < _FEWEST:
        return None
    return contrast(design, targets, AttributeAxis.between(poles))


def text_only_control(
    design: Design, targets: Sequence[Target], words: tuple[Float64Array, Float64Array]
) -> Control:
    """Return the control that compares the targets by their texts alone, without any image."""
    without_text = [
        target
        for target, weight in zip(targets, design.weights, strict=True)
        if weight and not len(target.texts)
    ]
    if not all(map(len, words)) or without_text:
        return Control(f"What the words alone say is unknown: {NO_TEXTS}.")
    axis = text_axis(*words)
    # A target that no other is compared with has no weight, and may have no text either.
    texts = np.nan_to_num(np.stack([target.text for target in targets]))
    point = design.weights @ texts
    difference = float(point @ axis.direction)
    of_length = axis.length_influence
    if not np.isfinite(of_length.variance) or not axis.length > 0:
        return Control("The words alone do not show the attributes.")
    of_difference = axis.influence(axis.directions @ point)
    ratio = ratio_set(difference, axis.length, of_difference, of_length, _TEXT_LEVEL)
    inference = bounded(float(ratio.low), float(ratio.high), float(ratio.p))
    lean = difference / axis.length
    return Control(
        f"The words alone, without any image, give a lean of {readable(lean, 2, sign=True)}.",
        lean,
        inference.ci_low,
        inference.ci_high,
        p=inference.p,
    )
