"""How targets are compared, and how much that varies with the choice of targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.mcas.schema import McasTarget
from t2ibench.stats.student import satterthwaite


@dataclass(frozen=True, slots=True)
class Design:
    """The comparison of targets of stereotype A with those of B, within categories.

    A category with m targets of A and n of B weighs m n / (m + n), which gives the least
    variance; where every category is balanced, the comparison is that of all A with all
    B.

    Attributes:
        weights: Of each target, shape (k,): their sum is 1 over those of A and -1 over
            those of B; 0 for a target without stereotype, or in a category of one
            stereotype.
        cells: Number of each target's category and stereotype, shape (k,); -1 where it
            weighs 0.
    """

    weights: Float64Array
    cells: IntArray

    @classmethod
    def of(cls, targets: Sequence[McasTarget]) -> Design:
        """Return the design that compares targets of both stereotypes within each category."""
        weights = np.zeros(len(targets))
        cells = np.full(len(targets), -1)
        members: dict[str | None, dict[str | None, list[int]]] = {}
        for index, target in enumerate(targets):
            of_category = members.setdefault(target.category, {})
            of_category.setdefault(target.stereotype, []).append(index)
        for number, of_category in enumerate(members.values()):
            a = of_category.get("A")
            b = of_category.get("B")
            if a and b:
                # m n / (m + n) over m targets of A, and over n of B.
                weights[a] = len(b) / (len(a) + len(b))
                weights[b] = -len(a) / (len(a) + len(b))
                cells[a] = 2 * number
                cells[b] = 2 * number + 1
        total = weights[weights > 0].sum()
        return cls(weights / total if total else weights, cells)

    @property
    def compares(self) -> bool:
        """Whether a category has targets of both stereotypes, so that they can be compared."""
        return bool(self.weights.any())

    @property
    def members(self) -> list[IntArray]:
        """Positions of the targets in each combination of category and stereotype."""
        cells = np.unique(self.cells[self.cells >= 0])
        return [np.flatnonzero(self.cells == cell) for cell in cells]


@dataclass(frozen=True, slots=True)
class TargetSampling:
    """The variance of a comparison whose targets are a sample of possible targets.

    Attributes:
        variance: Of half the difference of the means; nan where it is unknown.
        df: Degrees of freedom of the variance.
        by_target: How each target moves half the difference, shape (k,); squared and
            summed, the part of the variance that is due to targets.
        by_units: The part of the variance that is due to the attributes' units.
    """

    variance: float
    df: float
    by_target: Float64Array
    by_units: float

    @classmethod
    def of(
        cls, design: Design, values: Float64Array, units: Float64Array
    ) -> TargetSampling:
        """Estimate the variance of a comparison whose targets are a sample of possible ones.

        The variance within categories and stereotypes is pooled: the t test of a block
        design, which is exact for normal values whatever the axis is. Attribute prompts
        are crossed with targets, so they add their own variance less that of the
        interaction, which the values show already.

        Args:
            design: The comparison.
            values: A value of each target, shape (k,).
            units: Influence of each unit of the attributes on each value, shape (k, u).
        """
        weights = design.weights / 2.0
        members = design.members
        df = sum(len(targets) - 1 for targets in members)
        if df < 1:
            unknown = np.full(len(values), np.nan)
            return cls(np.nan, np.nan, unknown, np.nan)
        moves = np.zeros(len(values))
        squares = 0.0
        interaction = 0.0
        for targets in members:
            size = len(targets)
            deviations = values[targets] - values[targets].mean()
            squares += float((deviations**2).sum())
            if size > 1:
                scale = np.sqrt(size / (size - 1))
                moves[targets] = weights[targets] * deviations * scale
                spread = units[targets].var(axis=0, ddof=1).sum()
                interaction += float(weights[targets[0]] ** 2 * size * spread)
        # A target alone in its cell moves the difference as the others do on average.
        alone = [targets[0] for targets in members if len(targets) == 1]
        moves[alone] = weights[alone] * np.sqrt(squares / df)
        between_targets = squares / df * float((weights**2).sum())
        between_units = float(((weights @ units) ** 2).sum())
        by_units = max(between_units - interaction, 0.0)
        unit_df = max(units.shape[1] - 1, 1)
        variance, total_df = satterthwaite([between_targets, by_units], [df, unit_df])
        return cls(variance, total_df, moves, by_units)
