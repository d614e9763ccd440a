"""The headline of an MCAS task: do targets lean as their stereotypes say?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.headline import Headline, Inference, Part
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.mcas.axis import Axis
from t2ibench.methods.mcas.ratio import RatioSet, ratio_set
from t2ibench.methods.mcas.schema import McasTarget
from t2ibench.methods.mcas.targets import Target, image_influences
from t2ibench.stats.student import satterthwaite, t_interval, t_test

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

        Args:
            targets: The targets.

        Returns:
            Their weights; all 0 where no category has both stereotypes.

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
        """The contrast of some targets.

        Args:
            design: How they are compared.
            targets: The targets.
            axis: The axis.

        Returns:
            The contrast.
        """
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
        """The set of leans that are compatible with it.

        Args:
            level: Confidence level, in (0, 1).

        Returns:
            Fieller's set.
        """
        length = self.axis.length_influence
        return ratio_set(self.top, self.axis.length, self.influence, length, level)

    @property
    def lean(self) -> tuple[float, Influence]:
        """Half the difference of the mean leans, less a ratio's bias, and its influence."""
        of_length, length = self.axis.length_influence, self.axis.length
        ratio = self.top / length
        bias = ratio * of_length.variance - self.influence.covariance(of_length)
        influence = Influence.combined(
            [(1.0 / length, self.influence), (-ratio / length, of_length)]
        )
        return ratio - bias / length**2, influence


def headline(contrast: Contrast, level: float) -> Headline:
    """The lean about these targets, whatever the separation of the attributes.

    Args:
        contrast: The targets' contrast.
        level: Confidence level, in (0, 1).

    Returns:
        L with its Fieller set; the band of a fair model is ± t √variance at L = 0.
    """
    value, influence = contrast.lean
    found = contrast.set(level)
    if not np.isfinite(value):
        return Headline.undefined("the distance between the attributes is unknown")
    if not np.isfinite(found.p):
        return Headline(value, inference={"these": Inference(reason="one unit has no variance")})
    half = float(stdtrit(found.df, (1 + level) / 2) * found.null_deviation)
    return Headline(
        value,
        inference={"these": Inference(found.low, found.high, found.p, found.df)},
        fair=(-half, half),
        parts=(Part("", value, influence),),
    )


def with_like_these(
    found: Headline,
    design: Design,
    leans: Float64Array,
    influences: Sequence[Influence],
    level: float,
) -> Headline:
    """A headline with the inference about other targets of these categories, too.

    Targets are a sample of each category and stereotype: the variance of leans within those is
    pooled (the t test of a block design, which is exact for normal leans whatever the axis is).
    Attribute prompts, crossed with targets, add their variance less that of the interaction, which
    the leans show already.

    Args:
        found: The headline about these targets, with a value.
        design: How targets are compared.
        leans: Of each target, shape (k,).
        influences: Of each lean.
        level: Confidence level, in (0, 1).

    Returns:
        The headline with the inference 'like_these'.
    """
    assert found.value is not None
    weights, cells = design.weights / 2.0, design.cells
    members = [np.flatnonzero(cells == cell) for cell in np.unique(cells[cells >= 0])]
    df = sum(len(chosen) - 1 for chosen in members)
    if df < 1:
        alone = Inference(reason="no category has two targets of one stereotype")
        return replace(found, inference={**found.inference, "like_these": alone})
    squares = sum(((leans[chosen] - leans[chosen].mean()) ** 2).sum() for chosen in members)
    between = float(squares / df * (weights**2).sum())
    units = _attribute_units(influences)
    main = ((weights @ units) ** 2).sum()
    crossed = sum(
        weights[chosen[0]] ** 2 * len(chosen) * units[chosen].var(axis=0, ddof=1).sum()
        for chosen in members
        if len(chosen) > 1
    )
    shared = float(max(main - crossed, 0.0))
    variance, freedom = satterthwaite([between, shared], [df, max(units.shape[1] - 1, 1)])
    low, high = t_interval(found.value, variance, freedom, level)
    p = t_test(found.value, variance, freedom)
    inference = Inference(low, high, p if np.isfinite(p) else None, freedom)
    return replace(found, inference={**found.inference, "like_these": inference})


def _attribute_units(influences: Sequence[Influence]) -> Float64Array:
    """The influence of each unit of the attributes on each lean, shape (k, units)."""
    tables: list[Mapping[tuple[str, int], float]] = [
        {
            (influence.strata[stratum], int(unit)): float(value)
            for stratum, unit, value in zip(
                influence.stratum, influence.unit, influence.value, strict=True
            )
            if influence.strata[stratum].startswith("attribute ")
        }
        for influence in influences
    ]
    keys = sorted({key for table in tables for key in table})
    return np.array([[table.get(key, 0.0) for key in keys] for table in tables])
