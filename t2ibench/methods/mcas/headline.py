"""The headline of an MCAS task: half the difference of two groups' mean leans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.headline import HeadlineEstimate, Part
from t2ibench.methods.core.inference import (
    HeadlineInference,
    Inference,
    Question,
    fair_band,
    t_inference,
)
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.over_stimuli import bounded
from t2ibench.methods.mcas.comparison import contrast, contrast_over_targets
from t2ibench.methods.mcas.design import Design, TargetSampling
from t2ibench.methods.mcas.equal_spread import EqualSpread
from t2ibench.methods.mcas.fieller import ratio_set
from t2ibench.methods.mcas.poles import ATTRIBUTE_UNITS
from t2ibench.methods.mcas.schema import McasTarget, McasTask
from t2ibench.stats.student import t_interval, t_test

# The default question is the one about other targets; see `headline_of_leans`.
QUESTION: Question = "prompt_population"
ONE_SIDE = (
    "no category has targets of both stereotypes in this run, so two groups cannot "
    "be compared"
)


def headline_of(
    task: McasTask,
    design: Design,
    equal: EqualSpread,
    leans: Sequence[Estimate],
    reason: str | None,
    level: float,
) -> HeadlineEstimate:
    """Return the headline of a task from one encoder, comparing targets of A with those of B.

    Args:
        task: The task.
        design: How its targets are compared.
        equal: Attributes and targets with images of equal spread.
        leans: Lean of each target.
        reason: Why leans are not defined, because a control contradicts; None where
            they are.
        level: Confidence level, in (0, 1).
    """
    if not design.compares:
        return HeadlineEstimate.undefined(ONE_SIDE)
    if reason is not None:
        return _test_alone(design, equal, reason)
    axis = equal.axis
    difference, influence = contrast(design, equal.targets, axis)
    ratio = ratio_set(difference, axis.length, influence, axis.length_influence, level)
    fixed_prompts = bounded(
        float(ratio.low), float(ratio.high), float(ratio.p), float(ratio.df)
    )
    specs = [target.spec for target in equal.targets]
    return headline_of_leans(task, specs, leans, level, fixed_prompts)


def _test_alone(design: Design, equal: EqualSpread, reason: str) -> HeadlineEstimate:
    """Return a headline that has only a p-value, because leans are not defined.

    Its test holds for any axis; without the axis' length there is nothing to divide by.
    """
    points = np.stack([target.point for target in equal.targets])
    difference, sampling = contrast_over_targets(design, points, equal.axis)
    p = t_test(difference, sampling.variance, sampling.df)
    return replace(
        HeadlineEstimate.undefined(reason),
        inference=HeadlineInference(
            by_question={QUESTION: Inference(p=p)}, question=QUESTION
        ),
    )


def headline_of_items(
    task: McasTask, items: Sequence[Item], level: float
) -> HeadlineEstimate | None:
    """Return the headline computed from a result's rows; None if they cannot be compared."""
    specs = {target.name: target for target in task.targets}
    targets = [specs[item.name] for item in items]
    leans = [item.scores["lean"] for item in items]
    if any(lean.value is None for lean in leans) or not Design.of(targets).compares:
        return None
    return headline_of_leans(task, targets, leans, level)


def headline_of_leans(
    task: McasTask,
    targets: Sequence[McasTarget],
    leans: Sequence[Estimate],
    level: float,
    fixed_prompts: Inference | None = None,
) -> HeadlineEstimate:
    """Return the headline of targets from their leans; by default it is about other targets.

    Its default question is the one about other targets. Those of one test differ in more
    than the attribute (a kitchen, a football ground), and where that happens to lie along
    the axis, the images of a fair generator are more like one attribute's than the
    other's, too. Over a sample of targets this is chance; about these targets alone it is
    a difference like any other.

    Args:
        task: The task.
        targets: Its targets.
        leans: Lean of each target.
        level: Confidence level, in (0, 1).
        fixed_prompts: The inference about these targets; by default Student's t.
    """
    design = Design.of(targets)
    weights = design.weights / 2.0
    values = np.array([lean.value for lean in leans], dtype=np.float64)
    influences = [lean.influence or Influence.none() for lean in leans]
    value = float(weights @ values)
    if fixed_prompts is None:
        fixed_prompts = t_inference(value, _weighted(weights, influences), level)
    of_attributes = [_attribute_part(influence) for influence in influences]
    sampling = TargetSampling.of(design, values, _unit_table(of_attributes))
    if not np.isfinite(sampling.variance):
        unknown = Inference(reason="no category has two targets of one stereotype")
        return HeadlineEstimate(
            value=value,
            scale="lean",
            inference=HeadlineInference(
                by_question={"fixed_prompts": fixed_prompts, QUESTION: unknown},
                question=QUESTION,
            ),
        )
    low, high = t_interval(value, sampling.variance, sampling.df, level)
    p = t_test(value, sampling.variance, sampling.df)
    over_targets = Inference(low, high, p, sampling.df)
    parts = [(1.0, _target_influence(task, targets, design, sampling))]
    by_unit = _weighted(weights, of_attributes)
    if by_unit.variance and sampling.by_units:
        # Scaled to the part of the variance that is due to the units.
        scale = float(np.sqrt(sampling.by_units / by_unit.variance))
        parts.append((scale, by_unit))
    return HeadlineEstimate(
        value=value,
        scale="lean",
        inference=HeadlineInference(
            by_question={"fixed_prompts": fixed_prompts, QUESTION: over_targets},
            question=QUESTION,
            fair=fair_band(over_targets, value),
        ),
        parts=(Part("", value, Influence.combined(parts)),),
    )


def _weighted(weights: Float64Array, influences: Sequence[Influence]) -> Influence:
    """Return the influence on a weighted sum; estimates with a weight of 0 do not count."""
    pairs = zip(weights.tolist(), influences, strict=True)
    return Influence.combined((weight, part) for weight, part in pairs if weight)


def _attribute_part(influence: Influence) -> Influence:
    """Return the part of a lean's influence that the attributes' prompts or images have."""
    names = [name for name in influence.strata if name.startswith(ATTRIBUTE_UNITS)]
    numbers = [influence.strata.index(name) for name in names]
    chosen = np.isin(influence.stratum, numbers)
    return Influence(
        strata=tuple(names),
        stratum=np.searchsorted(numbers, influence.stratum[chosen]),
        unit=influence.unit[chosen],
        value=influence.value[chosen],
    )


def _unit_table(influences: Sequence[Influence]) -> Float64Array:
    """Return the influence of each attribute prompt or image on each lean.

    Shape (leans, units).
    """
    n_units = max(len(influence.value) for influence in influences)
    rows = [
        influence.value if len(influence.value) else np.zeros(n_units)
        for influence in influences
    ]
    return np.array(rows)


def _target_influence(
    task: McasTask,
    targets: Sequence[McasTarget],
    design: Design,
    sampling: TargetSampling,
) -> Influence:
    """Return the influence of each target on the headline, for comparing two runs."""
    numbers = {target.name: number for number, target in enumerate(task.targets)}
    compared = np.flatnonzero(design.cells >= 0).tolist()
    specs = [targets[index] for index in compared]
    names = [f"{spec.category or 'all'} targets of {spec.stereotype}" for spec in specs]
    strata, stratum = np.unique(names, return_inverse=True)
    units = [numbers[spec.name] for spec in specs]
    return Influence(
        strata=tuple(strata.tolist()),
        stratum=stratum,
        unit=np.array(units, dtype=np.int64),
        value=sampling.by_target[compared],
    )
