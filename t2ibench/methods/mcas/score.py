"""Leans and association scores of MCAS targets.

Mandal, Leavy & Little 2023 (MCAS) and 2024 (delta, alpha); the composites are in `composite`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtr

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core import lean_controls
from t2ibench.methods.core.association import adherence, left_out_warnings
from t2ibench.methods.core.averages import average, average_results
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import (
    Evidence,
    ImageCollector,
    Needs,
    PromptImages,
    PromptNeed,
)
from t2ibench.methods.core.headline import (
    SHUFFLES,
    Control,
    Headline,
    Inference,
    Part,
    Question,
    contradiction,
    fair_band,
    of_shuffles,
    t_inference,
)
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.obedience import (
    breakdown,
    obedience_control,
    obedience_scores,
    obedience_warnings,
)
from t2ibench.methods.core.over_stimuli import bounded
from t2ibench.methods.core.spread import CommonSquares, equal_spread
from t2ibench.methods.core.text_vectors import has_vector, with_vector
from t2ibench.methods.mcas.axis import (
    ATTRIBUTE_UNITS,
    Axis,
    Poles,
    Target,
    chosen_targets,
    image_poles,
    ratio_set,
    text_axis,
)
from t2ibench.methods.mcas.schema import McasTarget, McasTask
from t2ibench.settings import Settings
from t2ibench.stats import share_slope
from t2ibench.stats.student import satterthwaite, t_interval, t_test

_GATE = 0.005  # p-value below which the attributes' images are told apart
_ALPHA = 0.05
_NO_TEXTS = "the encoder has no vectors of the texts"


def separation_control(
    task: McasTask, poles: Poles, axis: Axis, level: float
) -> Control:
    """Whether the encoder tells the attribute images apart, and well enough to divide by it.

    The length of the axis is compared with what products of unrelated pairs would be. Of pairs,
    the spread of d_p·d_q around the means of its two pairs shows that (Student's t with
    k (k - 3) / 2 degrees of freedom); where pairs are fewer than four, or there are none, the
    jackknife does.

    The value is the squared distance between the attributes; it contradicts where that is not
    clearly above 0.
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
    pairs[np.arange(len(products)), rows] = pairs[np.arange(len(products)), columns] = (
        1.0
    )
    rest = products - pairs @ np.linalg.lstsq(pairs, products, rcond=None)[0]
    spread = np.sqrt((rest**2).sum() / df / len(products))
    return (
        float(stdtr(df, -products.mean() / spread))
        if spread > 0
        else float(axis.length <= 0)
    )


def shuffled_control(design: Design, equal: Equal, rng: np.random.Generator) -> Control:
    """The test with the labels of the attribute images shuffled.

    Images change places within each pair of attribute prompts (without pairs, among all), so that
    an attribute is left in none of them.
    """
    by_image = equal.targets[0].by_image
    points = np.stack([target.point for target in equal.targets])
    p_values = []
    for _ in range(SHUFFLES):
        axis = Axis.between(image_poles(*_relabelled(equal, rng), by_image))
        value, found = tested(design, points, axis)
        p_values.append(t_test(value, found.variance, found.df))
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
    equal: Equal, rng: np.random.Generator
) -> tuple[PromptImages, PromptImages]:
    rows = np.concatenate([side.embeddings for side in equal.images])
    clusters = np.concatenate([side.clusters for side in equal.images])
    order = np.arange(len(rows))
    paired = equal.poles.paired
    for group in np.unique(clusters) if paired else [None]:
        mine = np.flatnonzero(clusters == group) if paired else order.copy()
        order[mine] = rng.permutation(mine)
    a, b = np.split(rows[order], [len(equal.images[0])])
    return replace(equal.images[0], embeddings=a), replace(
        equal.images[1], embeddings=b
    )


def halves_control(design: Design, equal: Equal) -> Control:
    """The test on images with even indices, against that on the others."""
    found = []
    for odd in (0, 1):
        part = [
            replace(
                target, images=target.images.where(target.images.indices % 2 == odd)
            )
            for target in equal.targets
        ]
        a, b = (side.where(side.indices % 2 == odd) for side in equal.images)
        poles = image_poles(a, b, part[0].by_image)
        if (
            min(len(target.images) for target in part) < 2
            or min(len(poles.a), len(poles.b)) < 2
        ):
            return Control("Too few images to compare two halves.")
        found.append(contrast(design, part, Axis.between(poles)))
    (even, of_even), (odd_half, of_odd) = found
    influence = Influence.combined([(1.0, of_even), (-1.0, of_odd)])
    p = t_test(even - odd_half, influence.variance, influence.df)
    return lean_controls.halves_control((even - odd_half) / equal.axis.length, p)


def text_only_control(
    design: Design, targets: Sequence[Target], words: tuple[Float64Array, Float64Array]
) -> Control:
    """The same score from words alone: target prompts as texts, along the axis of the words."""
    without = [
        target
        for target, weight in zip(targets, design.weights, strict=True)
        if weight and not len(target.texts)
    ]
    if not all(map(len, words)) or without:
        return Control(f"What the words alone say is unknown: {_NO_TEXTS}.")
    axis = text_axis(*words)
    # A target that no other is compared with has no weight, and may have no text either.
    point = design.weights @ np.nan_to_num(
        np.stack([target.text for target in targets])
    )
    top, length = float(point @ axis.direction), axis.length_influence
    if not np.isfinite(length.variance) or not axis.length > 0:
        return Control("The words alone do not show the attributes.")
    found = ratio_set(
        top, axis.length, axis.influence(axis.directions @ point), length, 0.95
    )
    ends = bounded(float(found.low), float(found.high), float(found.p))
    lean = top / axis.length
    says = f"The words alone, without any image, give a lean of {lean:+.2f}."
    return Control(says, lean, ends.ci_low, ends.ci_high, p=ends.p)


QUESTION: Question = "prompt_population"  # the default; see `lean_headline`
ONE_SIDE = (
    "no category has targets of both stereotypes in this run, so two groups cannot "
    "be compared"
)


@dataclass(frozen=True, slots=True)
class Design:
    """How targets are compared: those of stereotype A with those of B, within categories.

    A category with m targets of A and n of B weighs m n / (m + n), which gives the least variance;
    where every category is balanced, the comparison is that of all A with all B.
    """

    # of each target, shape (k,): 1 in sum over those of A, -1 over those of B; 0 for a target
    # without stereotype and in a category of one stereotype
    weights: Float64Array
    # number of each target's category and stereotype, shape (k,); -1 where it weighs 0
    cells: IntArray

    @classmethod
    def of(cls, targets: Sequence[McasTarget]) -> Design:
        """The comparison of some targets."""
        weights, cells = np.zeros(len(targets)), np.full(len(targets), -1)
        places = [(target.category, target.stereotype) for target in targets]
        for number, category in enumerate(
            dict.fromkeys(category for category, _ in places)
        ):
            a, b = (
                [
                    index
                    for index, place in enumerate(places)
                    if place == (category, side)
                ]
                for side in "AB"
            )
            if a and b:
                # m n / (m + n) over m targets of A, and over n of B.
                weights[a] = len(b) / (len(a) + len(b))
                weights[b] = -len(a) / (len(a) + len(b))
                cells[a], cells[b] = 2 * number, 2 * number + 1
        total = weights[weights > 0].sum()
        return cls(weights / total if total else weights, cells)

    @property
    def compares(self) -> bool:
        """Whether there is anything to compare."""
        return bool(self.weights.any())


def contrast(
    design: Design, targets: Sequence[Target], axis: Axis
) -> tuple[float, Influence]:
    """Mean association of targets of A less that of targets of B, and what moves it."""
    point = design.weights @ np.stack([target.point for target in targets])
    images = [target.image_influence(axis.direction) for target in targets]
    parts = [(1.0, axis.influence(axis.directions @ point))]
    parts += [
        (float(weight), influence)
        for weight, influence in zip(design.weights, images, strict=True)
        if weight
    ]
    return float(point @ axis.direction), Influence.combined(parts)


@dataclass(frozen=True, slots=True)
class Sampled:
    """How a comparison varies where targets are a sample of those that there could be."""

    variance: float  # of half the difference of the means; nan where it is unknown
    df: float  # its degrees of freedom
    # the part of it that targets make, on each target, shape (k,)
    between: Float64Array
    shared: float  # the part of it that the attributes' units make

    @classmethod
    def of(cls, design: Design, values: Float64Array, units: Float64Array) -> Sampled:
        """The variance of a comparison over targets.

        The variance within categories and stereotypes is pooled: the t test of a block design,
        which is exact for normal values whatever the axis is. Attribute prompts are crossed with
        targets, so they add their own variance less that of the interaction, which the values
        show already.

        `values` has a value of each target, `units` the influence of each unit of the
        attributes on each value, shape (k, u).
        """
        weights, cells = design.weights / 2.0, design.cells
        members = [
            np.flatnonzero(cells == cell) for cell in np.unique(cells[cells >= 0])
        ]
        df = sum(len(chosen) - 1 for chosen in members)
        if df < 1:
            return cls(np.nan, np.nan, np.full(len(values), np.nan), np.nan)
        moves, squares, crossed = np.zeros(len(values)), 0.0, 0.0
        for chosen in members:
            rest, n = values[chosen] - values[chosen].mean(), len(chosen)
            squares += float((rest**2).sum())
            if n > 1:
                moves[chosen] = weights[chosen] * rest * np.sqrt(n / (n - 1))
                spread = units[chosen].var(axis=0, ddof=1).sum()
                crossed += float(weights[chosen[0]] ** 2 * n * spread)
        alone = [chosen[0] for chosen in members if len(chosen) == 1]
        moves[alone] = weights[alone] * np.sqrt(squares / df)
        between = squares / df * float((weights**2).sum())
        shared = max(float(((weights @ units) ** 2).sum()) - crossed, 0.0)
        total = satterthwaite([between, shared], [df, max(units.shape[1] - 1, 1)])
        return cls(*total, moves, shared)


def tested(design: Design, points: Float64Array, axis: Axis) -> tuple[float, Sampled]:
    """Half the difference of mean associations; their axis' length need not be known for a test."""
    values = 2.0 * points @ axis.direction
    units = [
        axis.influence(without).value for without in 2.0 * points @ axis.directions.T
    ]
    return float(design.weights @ values / 2.0), Sampled.of(
        design, values, np.stack(units)
    )


def lean_headline(
    task: McasTask,
    targets: Sequence[McasTarget],
    leans: Sequence[Estimate],
    level: float,
    fixed_prompts: Inference | None = None,
) -> Headline:
    """The headline, from the leans of targets.

    Its default question is the one about other targets. Those of one test differ in more than
    the attribute (a kitchen, a football ground), and where that happens to lie along the axis, the
    images of a fair generator are more like one attribute's than the other's, too. Over a sample of
    targets this is chance; about these targets alone it is a difference like any other.

    `fixed_prompts` is the inference about these targets; by default Student's t.
    """
    design = Design.of(targets)
    values = np.array([lean.value for lean in leans], dtype=np.float64)
    influences = [lean.influence or Influence.none() for lean in leans]
    weights = design.weights / 2.0
    value = float(weights @ values)
    if fixed_prompts is None:
        fixed_prompts = t_inference(value, _weighted(weights, influences), level)
    attributes = [_attribute_units(influence) for influence in influences]
    count = max(len(one.value) for one in attributes)
    units = [one.value if len(one.value) else np.zeros(count) for one in attributes]
    found = Sampled.of(design, values, np.array(units))
    if not np.isfinite(found.variance):
        reason = Inference(reason="no category has two targets of one stereotype")
        inference = {"fixed_prompts": fixed_prompts, QUESTION: reason}
        return Headline(value, "lean", QUESTION, inference)
    low, high = t_interval(value, found.variance, found.df, level)
    others = Inference(low, high, t_test(value, found.variance, found.df), found.df)
    numbers = {target.name: number for number, target in enumerate(task.targets)}
    moved = [index for index, cell in enumerate(design.cells) if cell >= 0]
    specs = [targets[index] for index in moved]
    strata, stratum = np.unique(
        [f"{spec.category or 'all'} targets of {spec.stereotype}" for spec in specs],
        return_inverse=True,
    )
    unit = np.array([numbers[spec.name] for spec in specs], dtype=np.int64)
    by_target = Influence(tuple(strata.tolist()), stratum, unit, found.between[moved])
    parts = [(1.0, by_target)]
    by_unit = _weighted(weights, attributes)
    # the units' influences, scaled to their variance
    if by_unit.variance and found.shared:
        parts.append((float(np.sqrt(found.shared / by_unit.variance)), by_unit))
    return Headline(
        value,
        "lean",
        QUESTION,
        {"fixed_prompts": fixed_prompts, QUESTION: others},
        fair_band(others, value),
        (Part("", value, Influence.combined(parts)),),
    )


def _weighted(weights: Float64Array, influences: Sequence[Influence]) -> Influence:
    pairs = zip(weights.tolist(), influences, strict=True)
    return Influence.combined((weight, part) for weight, part in pairs if weight)


def _attribute_units(influence: Influence) -> Influence:
    """The part of a lean's influence that the attributes' units have."""
    names = [name for name in influence.strata if name.startswith(ATTRIBUTE_UNITS)]
    kept = [influence.strata.index(name) for name in names]
    mine = np.isin(influence.stratum, kept)
    stratum = np.searchsorted(kept, influence.stratum[mine])
    return Influence(tuple(names), stratum, influence.unit[mine], influence.value[mine])


def needs(task: McasTask, settings: Settings) -> Needs:
    """Images of attribute and target prompts; target prompts and attribute words as texts."""
    n_attribute = settings.guided_images(task.attribute_images_per_prompt)
    n_target = settings.images(task.images_per_prompt)
    chosen = chosen_targets(task, settings)
    targets = [text for target in chosen for text in target.texts]
    attributes = (task.attributes.A, task.attributes.B)
    prompts = [
        PromptNeed(prompt, n_attribute, attribute.name)
        for attribute in attributes
        for prompt in attribute.prompts
    ]
    sides = {
        side: f"targets seen as {one.name}"
        for side, one in zip("AB", attributes, strict=True)
    }
    prompts += [
        PromptNeed(
            prompt, n_target, sides.get(target.stereotype or "", "targets"), target.name
        )
        for target in chosen
        for prompt in target.prompts
    ]
    texts = [word for attribute in attributes for word in attribute.words]
    return Needs(tuple(prompts), tuple(dict.fromkeys([*texts, *targets])))


@dataclass(frozen=True, slots=True)
class Attributes:
    """The two attributes as images and as words."""

    images: tuple[PromptImages, PromptImages]  # images of A and of B
    # words of A and of B, each of shape (k, d)
    words: tuple[Float64Array, Float64Array]
    seen: Axis  # the axis of their images
    said: Axis  # the axis of their words


@dataclass(frozen=True, slots=True)
class Equal:
    """Attributes and targets with images of equal spread, for leans (`core.spread`)."""

    images: tuple[PromptImages, PromptImages]  # images of A and of B
    poles: Poles  # the attributes by them
    axis: Axis
    targets: list[Target]  # the targets with such images

    @classmethod
    def of(cls, attributes: Attributes, targets: Sequence[Target]) -> Equal:
        """Divide all images: first by what they have in common, then along the axis, too."""
        kinds = [
            [target.images for target in targets],
            *([side] for side in attributes.images),
        ]
        common = [CommonSquares.of(kind) for kind in kinds]
        squares = [one.along() for one in common]
        for step in range(2):
            own, (a,), (b,) = map(equal_spread, kinds, squares)
            poles = image_poles(a, b, targets[0].by_image)
            axis = Axis.between(poles)
            if step == 0:
                squares = [
                    one.along([axis.direction] * len(one.images)) for one in common
                ]
        scaled = [
            replace(one, images=images)
            for one, images in zip(targets, own, strict=True)
        ]
        return cls((a, b), poles, axis, scaled)


# From what a target is (an image I, or its text T) to what the attributes are, as in the papers:
# II, ITP (text of the target, images of the attributes), IT and TT.
_II, _ITP, _IT, _TT = TERMS = (
    "image_to_image_association",
    "text_to_image_association",
    "image_to_text_association",
    "text_to_text_association",
)


def target_terms(
    target: Target, attributes: Attributes, level: float
) -> dict[str, Estimate]:
    """The four association scores of one target (eqs. 1 and 2).

    Each is the mean over the rows w (the target's images, or its text) of
    asc(w) = mean over A of cos(w, a) - mean over B of cos(w, b),
    where A and B are the attributes' images or their words. Each prompt counts alike.
    """
    image, text = (
        (target.point, target.image_influence),
        (target.text, target.text_influence),
    )
    cells = [
        (of, axis)
        for axis in (attributes.seen, attributes.said)
        for of in (image, text)
    ]
    terms: dict[str, Estimate] = {}
    for name, ((point, influence_of), axis) in zip(TERMS, cells, strict=True):
        if not np.isfinite(point).all() or not np.isfinite(axis.direction).all():
            terms[name] = Estimate.undefined(_NO_TEXTS)
            continue
        of_axis = axis.influence(axis.directions @ point)
        influence = Influence.combined(
            [(1.0, of_axis), (1.0, influence_of(axis.direction))]
        )
        terms[name] = Estimate.from_influence(
            float(point @ axis.direction), influence, level
        )
    return terms


def score(task: McasTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Leans and association scores of each target; `combine` makes the composites of them.

    With d_p = mean of A_p - mean of B_p of a pair p of attribute prompts, d their mean and
    U = mean over p ≠ q of d_p·d_q, a target's lean is (2 x·d - middle) / U (`axis.Axis`), and

    headline L = (mean point of targets of A - of B)·d / U,

    half the difference of their mean leans, within categories. II, ITP, IT and TT of each target
    as in `target_terms` (Mandal et al. 2024, section 3, eqs. 1 and 2). `composite` holds MCAS,
    delta and alpha, with a worked example.

    Args:
        task: The task.
        evidence: Images of attributes and targets, texts of target prompts and attribute words.
        settings: How it is measured.

    Returns:
        By target: 'lean', 'lean_breakdown' and the four terms; 'obedience:ATTRIBUTE'.
    """
    collector = ImageCollector(evidence)
    attributes = _collect_attributes(task, evidence, settings, collector)
    targets, lacking = [], []
    for spec in chosen_targets(task, settings):
        images = collector.collect(
            spec.prompts, settings.images(task.images_per_prompt)
        )
        if images.whole:
            texts = with_vector(evidence.texts(list(spec.texts)).astype(np.float64))
            targets.append(Target(spec, images, texts, task.unit == "image"))
        else:  # without one of its wordings it would be another target
            lacking.append(spec.name)
    warnings = left_out_warnings(lacking)
    if attributes is None or not targets:
        which = "target" if attributes else "attribute"
        return MethodResult.undefined(
            f"there are no {which} images", collector, warnings
        )
    equal = Equal.of(attributes, targets)
    names = {"A": task.attributes.A.name, "B": task.attributes.B.name}
    kinds = [
        [target.images for target in equal.targets],
        *([side] for side in equal.images),
    ]
    controlled = {
        "separation": separation_control(task, equal.poles, equal.axis, settings.level),
        "spread": lean_controls.spread(kinds, names["A"], names["B"]),
    }
    unclear = contradiction(controlled)
    design = Design.of([target.spec for target in equal.targets])
    leans = _leans(equal, settings.level, unclear)
    found = _headline(task, design, equal, leans, unclear, settings.level)
    poles = equal.poles
    a, b = (side.embeddings for side in attributes.images)
    read = adherence(a, b, *attributes.words)
    seen = dict(zip(names.values(), read, strict=True))
    controlled["obedience"] = obedience_control(seen, judged=False)
    if design.compares:
        rng = settings.rng(task.id, "shuffled attribute labels")
        controlled |= {
            "shuffled": shuffled_control(design, equal, rng),
            "halves": halves_control(design, equal),
            "text_only": text_only_control(design, equal.targets, attributes.words),
        }
    without = [
        prompt
        for side in attributes.images
        for number, prompt in enumerate(side.prompts)
        if not (side.clusters == number).any()
    ]
    if without:
        partners = ", with their partners" if poles.paired else ""
        warnings.append(
            f"Attribute prompts without images are left out{partners}: {', '.join(without)}."
        )
    return MethodResult(
        found,
        obedience_scores(seen),
        [
            Item(
                target.spec.name,
                {
                    "lean": lean,
                    "lean_breakdown": breakdown(lean),
                    **target_terms(target, attributes, settings.level),
                },
                names.get(target.spec.stereotype or ""),
                len(target.images),
            )
            for target, lean in zip(targets, leans, strict=True)
        ],
        collector.n_images,
        collector.n_prompts,
        collector.excluded,
        warnings=[*warnings, *obedience_warnings(seen, judged=False)],
        samples=[
            row
            for target in targets
            for row in target.images.samples(
                {"target": target.spec.name},
                {"association": target.images.embeddings @ attributes.seen.direction},
            )
        ],
        controls=controlled,
        inconclusive=contradiction(controlled),
    )


def _headline(
    task: McasTask,
    design: Design,
    equal: Equal,
    leans: Sequence[Estimate],
    reason: str | None,
    level: float,
) -> Headline:
    if not design.compares:
        return Headline.undefined(ONE_SIDE)
    axis, targets = equal.axis, equal.targets
    if reason is not None:
        # The test holds for any axis; without the axis' length there is nothing to divide by.
        value, found = tested(
            design, np.stack([target.point for target in targets]), axis
        )
        inference = {QUESTION: Inference(p=t_test(value, found.variance, found.df))}
        return replace(
            Headline.undefined(reason), question=QUESTION, inference=inference
        )
    top, influence = contrast(design, targets, axis)
    ratio = ratio_set(top, axis.length, influence, axis.length_influence, level)
    fixed_prompts = bounded(
        *(float(x) for x in (ratio.low, ratio.high, ratio.p, ratio.df))
    )
    return lean_headline(
        task, [target.spec for target in targets], leans, level, fixed_prompts
    )


def _leans(equal: Equal, level: float, reason: str | None) -> list[Estimate]:
    if reason is not None:
        return [Estimate.undefined(reason)] * len(equal.targets)
    leans, axis = [], equal.axis
    for target in equal.targets:
        of_images = target.image_influence(2.0 * axis.direction)
        value, of_axis = axis.lean(target.point)
        n, floor = len(target.images), 0.0
        if len(of_images.strata) == 1 and n == len(of_images.value) > 1:
            # A few images that are all alike show no variance, yet are compatible with some: at
            # least that with half an image more at each pole (what Jeffreys' prior adds to a share)
            lean = float(np.clip(value, -1.0, 1.0))
            floor = (n - 1) * of_images.variance + (1.0 + lean**2) / n * axis.length**2
        floored = of_images.with_floor(floor / n)
        top, tops = axis.numerator(target.point)
        of_top = Influence.combined([(1.0, axis.influence(tops)), (1.0, floored)])
        found = ratio_set(top, axis.length, of_top, axis.length_influence, level)
        if not np.isfinite(found.p):
            leans.append(Estimate(value))
            continue
        whole = Influence.combined([(1.0, of_axis), (1.0 / axis.length, floored)])
        ends = float(found.low), float(found.high)
        leans.append(
            Estimate(value, p=float(found.p), test="t", interval=ends, influence=whole)
        )
    return leans


def _collect_attributes(
    task: McasTask, evidence: Evidence, settings: Settings, collector: ImageCollector
) -> Attributes | None:
    """Both attributes; None where one has no image."""
    n = settings.guided_images(task.attribute_images_per_prompt)
    sides = (task.attributes.A, task.attributes.B)
    a, b = (collector.collect(side.prompts, n) for side in sides)
    poles = image_poles(a, b, task.unit == "image")
    if not len(poles.a) or not len(poles.b):
        return None
    words_a, words_b = _words(
        *(evidence.texts(side.words).astype(np.float64) for side in sides)
    )
    axis = Axis.between(poles)
    return Attributes((a, b), (words_a, words_b), axis, text_axis(words_a, words_b))


def _words(a: Float64Array, b: Float64Array) -> tuple[Float64Array, Float64Array]:
    """The attributes' words that have a vector; of pairs, both or neither."""
    if len(a) == len(b):
        both = has_vector(a) & has_vector(b)
        return a[both], b[both]
    return with_vector(a), with_vector(b)


_FEWEST_TARGETS = 6  # for a slope with a standard error


def bias_amplification_slope(by: Sequence[Item], level: float) -> Estimate:
    """Amplification over all targets: the slope of (ITP + IT) / 2 on TT.

    Least squares with an intercept, which takes up the distance between images and texts that all
    targets share; HC3 standard errors and Student's t with k - 2 degrees of freedom for k targets.
    Unlike a mean of ratios it does not explode where a TT is near 0.
    """
    rows = [[item.scores[name].value for name in (_ITP, _IT, _TT)] for item in by]
    known = np.array([row for row in rows if None not in row], dtype=np.float64)
    if len(known) < _FEWEST_TARGETS or not np.ptp(known[:, 2]) > 0:
        return Estimate.undefined(
            f"a slope needs {_FEWEST_TARGETS} targets of different TT"
        )
    itp, it, tt = known.T
    slope = share_slope((itp + it) / 2.0, np.ones(len(tt)), tt)
    if not np.isfinite(slope.variance):
        return Estimate.undefined("one target alone decides the slope")
    return Estimate.from_t(slope.value, slope.variance, slope.df, level)


_MCAS, _DIFFUSION, _AMPLIFICATION = (
    "composite_association_score",
    "diffusion_bias",
    "bias_amplification",
)
_SUMMARISED = (*TERMS, _MCAS, _DIFFUSION, _AMPLIFICATION)


def composite(ii: float, itp: float, it: float, tt: float) -> dict[str, float]:
    """MCAS, delta and alpha (Mandal et al. 2024, eqs. 3, 4 and 5); alpha is nan where TT is 0.

    composite_association_score = II + ITP + IT + TT
    diffusion_bias = | |II| - |TT| |
    bias_amplification = | (ITP + IT) / (2 TT) |

    Examples:
        >>> composite(0.5, -0.25, 0.75, -0.25)
        {'composite_association_score': 0.75, 'diffusion_bias': 0.25, 'bias_amplification': 1.0}
    """
    return {
        _MCAS: ii + itp + it + tt,
        _DIFFUSION: abs(abs(ii) - abs(tt)),
        _AMPLIFICATION: abs((itp + it) / (2.0 * tt)) if tt else math.nan,
    }


def summarise(
    values: Sequence[float], stereotypes: Sequence[str | None]
) -> dict[str, Any]:
    """Minimum, maximum, mean and standard error by stereotype (Table 4 of the 2024 paper).

    Examples:
        >>> summary = summarise([1.0, 3.0, 8.0], ["A", "A", "B"])
        >>> summary["A"]["mean"], round(summary["A"]["standard_error"], 6), summary["all"]["mean"]
        (2.0, 1.0, 4.0)
    """
    table: dict[str, Any] = {}
    for side in ("A", "B", "all"):
        pairs = zip(values, stereotypes, strict=True)
        chosen = np.array(
            [value for value, of in pairs if side in {"all", of}], dtype=np.float64
        )
        n = len(chosen)
        if n:
            table[side] = {
                "min": float(chosen.min()),
                "max": float(chosen.max()),
                "mean": float(chosen.mean()),
                "standard_error": float(chosen.std(ddof=1) / np.sqrt(n))
                if n > 1
                else None,
                "n": n,
            }
    return table


def combine(
    task: McasTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """Mean of leans and association scores over encoders (or of one), then the composite scores."""
    level, combined = settings.level, average_results(results, settings.level)
    if combined.reason:
        return combined
    by = [
        replace(item, scores={**item.scores, **_composites(item.scores, level)})
        for item in combined.by
    ]
    stereotypes = {target.name: target.stereotype for target in task.targets}
    scores = {
        **combined.scores,
        "bias_amplification_slope": bias_amplification_slope(by, level),
    }
    by_stereotype: dict[str, Any] = {}
    names = {"A": task.attributes.A.name, "B": task.attributes.B.name, "all": "all"}
    for name in _SUMMARISED:
        known = [item for item in by if item.scores[name].value is not None]
        values = [item.scores[name].value or 0.0 for item in known]
        summary = summarise(values, [stereotypes[item.name] for item in known])
        by_stereotype[name] = {names[side]: row for side, row in summary.items()}
        scores[f"{name}_mean"] = _mean([item.scores[name] for item in known], level)
    found = combined.headline
    if len(results) > 1 and found.value is not None:
        # The mean over encoders of a headline has one inference; both come from the mean leans.
        found = _of_rows(task, by, level) or found
    details = {"by_stereotype": by_stereotype}
    return replace(combined, headline=found, by=by, scores=scores, details=details)


def _mean(estimates: Sequence[Estimate], level: float) -> Estimate:
    """The mean over these targets; targets share the attributes' units."""
    return (
        average(estimates, level)
        if estimates
        else Estimate.undefined("no target has a value")
    )


def _composites(terms: Mapping[str, Estimate], level: float) -> dict[str, Estimate]:
    values = composite(*(terms[name].value or 0.0 for name in TERMS))
    parts = [part for name in TERMS if (part := terms[name].influence) is not None]
    influence = Influence.combined((1.0, part) for part in parts)
    none = Estimate.undefined("TT is 0, so the ratio is not defined")
    alpha = values[_AMPLIFICATION]
    return {
        _MCAS: Estimate.from_influence(values[_MCAS], influence, level),
        _DIFFUSION: Estimate(values[_DIFFUSION], as_published=True),
        _AMPLIFICATION: none
        if math.isnan(alpha)
        else Estimate(alpha, as_published=True),
    }


def _of_rows(task: McasTask, by: Sequence[Item], level: float) -> Headline | None:
    """The headline of some rows; None where they cannot be compared."""
    specs = {target.name: target for target in task.targets}
    targets = [specs[item.name] for item in by]
    leans = [item.scores["lean"] for item in by]
    if any(lean.value is None for lean in leans) or not Design.of(targets).compares:
        return None
    return lean_headline(task, targets, leans, level)
