"""The headline of an MCAS task: do targets lean as their stereotypes say?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.headline import (
    Headline,
    Inference,
    Part,
    Question,
    fair_band,
    t_inference,
)
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.mcas.axis import Axis
from t2ibench.methods.mcas.ratio import RatioSet, ratio_set
from t2ibench.methods.mcas.schema import McasTarget, McasTask
from t2ibench.methods.mcas.targets import ATTRIBUTE_UNITS, Target, image_influences
from t2ibench.stats.student import satterthwaite, t_interval, t_test

QUESTION: Question = "like_these"  # the default; see `lean_headline`
ONE_SIDE = (
    "no category has targets of both stereotypes in this run, so two groups cannot be compared"
)


@dataclass(frozen=True, slots=True)
class Design:
    """How targets are compared: those of stereotype A with those of B, within categories.

    A category with m targets of A and n of B weighs m n / (m + n), which gives the least variance;
    where every category is balanced, the comparison is that of all A with all B.

    Attributes:
        weights: Of each target, shape (k,): 1 in sum over those of A, -1 over those of B; 0 for a
            target without stereotype and in a category of one stereotype.
        cells: Number of each target's category and stereotype, shape (k,); -1 where it weighs 0.
    """

    weights: Float64Array
    cells: IntArray

    @classmethod
    def of(cls, targets: Sequence[McasTarget]) -> Design:
        """The comparison of some targets.

        Examples:
            >>> sides = ["A", "A", "B", None]
            >>> targets = [
            ...     McasTarget(name=f"t{n}", prompt=f"t{n}", stereotype=side)
            ...     for n, side in enumerate(sides)
            ... ]
            >>> Design.of(targets).weights.tolist()
            [0.5, 0.5, -1.0, 0.0]
        """
        weights, cells = np.zeros(len(targets)), np.full(len(targets), -1)
        total = 0.0
        for number, category in enumerate(dict.fromkeys(target.category for target in targets)):
            sides = [
                np.array(
                    [
                        index
                        for index, target in enumerate(targets)
                        if target.category == category and target.stereotype == side
                    ],
                    dtype=np.int64,
                )
                for side in ("A", "B")
            ]
            m, n = map(len, sides)
            if not m or not n:
                continue
            weight = m * n / (m + n)
            total += weight
            for side, (sign, chosen) in enumerate(zip((1.0, -1.0), sides, strict=True)):
                weights[chosen] = sign * weight / len(chosen)
                cells[chosen] = 2 * number + side
        return cls(weights / total if total else weights, cells)

    @property
    def compares(self) -> bool:
        """Whether there is anything to compare."""
        return bool(self.weights.any())


@dataclass(frozen=True, slots=True)
class Contrast:
    """The targets' points in a comparison, along one axis.

    Attributes:
        top: Mean association of targets of A less that of targets of B.
        influence: How images and attribute units move it.
        axis: The axis.
    """

    top: float
    influence: Influence
    axis: Axis

    @classmethod
    def of(cls, design: Design, targets: Sequence[Target], axis: Axis) -> Contrast:
        """The contrast of some targets."""
        point = design.weights @ np.stack([target.point for target in targets])
        images = image_influences(targets, axis.direction)
        parts = [(1.0, axis.influence(axis.directions @ point))]
        parts += [
            (float(weight), influence)
            for weight, influence in zip(design.weights, images, strict=True)
            if weight
        ]
        return cls(float(point @ axis.direction), Influence.combined(parts), axis)

    def set(self, level: float) -> RatioSet:
        """The set of leans that are compatible with it."""
        length = self.axis.length_influence
        return ratio_set(self.top, self.axis.length, self.influence, length, level)


def these_targets(contrast: Contrast, level: float) -> Inference:
    """The inference about these targets, with other images and other attribute prompts."""
    found = contrast.set(level)
    if not np.isfinite(found.p):
        return Inference(reason="one unit has no variance")
    return Inference(found.low, found.high, found.p, found.df)


@dataclass(frozen=True, slots=True)
class Sampled:
    """How a comparison varies where targets are a sample of those that there could be.

    Attributes:
        variance: Of half the difference of the means; nan where it is unknown.
        df: Its degrees of freedom.
        between: The part of it that targets make, on each target, shape (k,).
        shared: The part of it that the attributes' units make.
    """

    variance: float
    df: float
    between: Float64Array
    shared: float

    @classmethod
    def of(cls, design: Design, values: Float64Array, units: Float64Array) -> Sampled:
        """The variance of a comparison over targets.

        The variance within categories and stereotypes is pooled: the t test of a block design,
        which is exact for normal values whatever the axis is. Attribute prompts are crossed with
        targets, so they add their own variance less that of the interaction, which the values
        show already.

        Args:
            design: How targets are compared.
            values: A value of each target, shape (k,).
            units: Influence of each unit of the attributes on each value, shape (k, u).

        Returns:
            The variance, with Satterthwaite's degrees of freedom.

        Examples:
            Two targets a side with variance 2 within: 2 / 2 + 2 / 2, by 4 for half a difference.

            >>> sides = ["A", "A", "B", "B"]
            >>> targets = [
            ...     McasTarget(name=f"t{n}", prompt=f"t{n}", stereotype=side)
            ...     for n, side in enumerate(sides)
            ... ]
            >>> values = np.array([1.0, 3.0, 0.0, 2.0])
            >>> found = Sampled.of(Design.of(targets), values, np.zeros((4, 1)))
            >>> found.variance, found.df
            (0.5, 2.0)
        """
        weights, cells = design.weights / 2.0, design.cells
        members = [np.flatnonzero(cells == cell) for cell in np.unique(cells[cells >= 0])]
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
    """The comparison along an axis whose length need not be known: enough for a test.

    Args:
        design: How targets are compared.
        points: The targets' points, shape (k, d).
        axis: The axis.

    Returns:
        Half the difference of mean associations, and how it varies over targets.
    """
    values = 2.0 * points @ axis.direction
    units = np.stack(
        [axis.influence(without).value for without in 2.0 * points @ axis.directions.T]
    )
    return float(design.weights @ values / 2.0), Sampled.of(design, values, units)


def other_targets(
    task: McasTask,
    targets: Sequence[McasTarget],
    leans: Float64Array,
    influences: Sequence[Influence],
    level: float,
) -> tuple[Inference, Influence]:
    """The inference about other targets of these categories and stereotypes, too.

    Args:
        task: The task, whose order numbers the targets.
        targets: Those of this run.
        leans: Their leans, shape (k,).
        influences: Of images and attribute units on each lean.
        level: Confidence level, in (0, 1).

    Returns:
        The inference, and the influence of targets and attribute units on the headline.
    """
    design = Design.of(targets)
    keys, units = _attribute_units(influences)
    found = Sampled.of(design, leans, units)
    if not np.isfinite(found.variance):
        reason = "no category has two targets of one stereotype"
        return Inference(reason=reason), Influence.none()
    value = float(design.weights @ leans / 2.0)
    low, high = t_interval(value, found.variance, found.df, level)
    p = t_test(value, found.variance, found.df)
    inference = Inference(low, high, p if np.isfinite(p) else None, found.df)
    numbers = {target.name: number for number, target in enumerate(task.targets)}
    moved = [index for index, cell in enumerate(design.cells) if cell >= 0]
    specs = [targets[index] for index in moved]
    names = [f"{spec.category or 'all'} targets of {spec.stereotype}" for spec in specs]
    strata = tuple(sorted(set(names)))
    stratum = np.array([strata.index(name) for name in names], dtype=np.int64)
    unit = np.array([numbers[spec.name] for spec in specs], dtype=np.int64)
    by_target = Influence(strata, stratum, unit, found.between[moved])
    by_unit = _by_unit(keys, design.weights @ units / 2.0, found.shared)
    return inference, Influence.combined([(1.0, by_target), (1.0, by_unit)])


def lean_headline(
    task: McasTask,
    targets: Sequence[McasTarget],
    leans: Float64Array,
    influences: Sequence[Influence],
    level: float,
    these: Inference | None = None,
) -> Headline:
    """The headline, from the leans of targets.

    Its default question is the one about other targets. Those of one test differ in more than
    the attribute (a kitchen, a football ground), and where that happens to lie along the axis, the
    images of a fair generator are more like one attribute's than the other's, too. Over a sample of
    targets this is chance; about these targets alone it is a difference like any other.

    Args:
        task: The task.
        targets: Its targets in this run, of both stereotypes.
        leans: Their leans, shape (k,).
        influences: Of images and attribute units on each lean.
        level: Confidence level, in (0, 1).
        these: The inference about these targets; by default Student's t from the influences.

    Returns:
        The headline.
    """
    weights = Design.of(targets).weights / 2.0
    value = float(weights @ leans)
    if these is None:
        pairs = zip(weights, influences, strict=True)
        summed = Influence.combined([(float(weight), part) for weight, part in pairs if weight])
        these = t_inference(value, summed, level)
    like_these, influence = other_targets(task, targets, leans, influences, level)
    return Headline(
        value,
        "lean",
        QUESTION,
        {"these": these, "like_these": like_these},
        fair_band(like_these, value),
        (Part("", value, influence),) if like_these.reason is None else (),
    )


def _attribute_units(
    influences: Sequence[Influence],
) -> tuple[list[tuple[str, int]], Float64Array]:
    """Stratum and number of each unit of the attributes, and its influence, shape (k, units)."""
    tables: list[Mapping[tuple[str, int], float]] = [
        {
            (influence.strata[stratum], int(unit)): float(value)
            for stratum, unit, value in zip(
                influence.stratum, influence.unit, influence.value, strict=True
            )
            if influence.strata[stratum].startswith(ATTRIBUTE_UNITS)
        }
        for influence in influences
    ]
    keys = sorted({key for table in tables for key in table})
    return keys, np.array([[table.get(key, 0.0) for key in keys] for table in tables])


def _by_unit(keys: Sequence[tuple[str, int]], moves: Float64Array, variance: float) -> Influence:
    """The units' influences, scaled to a variance."""
    total = float((moves**2).sum())
    if not total or not variance:
        return Influence.none()
    strata = tuple(sorted({stratum for stratum, _ in keys}))
    return Influence(
        strata,
        np.array([strata.index(stratum) for stratum, _ in keys], dtype=np.int64),
        np.array([unit for _, unit in keys], dtype=np.int64),
        moves * np.sqrt(variance / total),
    )
