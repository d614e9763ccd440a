"""Mixture shares of prompts and axes, their squared leans and the headline over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.headline import Headline, Part
from t2ibench.methods.core.influence import FLOOR, Influence
from t2ibench.methods.tibet.joint import joint_square, like_these, spread, these
from t2ibench.methods.tibet.mixture import (
    FeatureSet,
    Mixture,
    Separation,
    contrast_basis,
    mixture,
    separation,
)
from t2ibench.stats.squares import MeanSquare
from t2ibench.stats.student import t_interval

# A squared distance of d standard errors of the distance itself is about d / 2 of its own: four of
# them, as for the other families' directions.
GATE = 2.0
_ROUNDING = 1e-9
_NUMBER = " #"  # before the number of a lean, where a row has several


@dataclass(frozen=True, slots=True)
class AxisShares:
    """The mixture of one prompt along one axis.

    Attributes:
        name: Of its row.
        prompt: The prompt.
        counterfactuals: Their names.
        sets: The images of the prompt, then those of each counterfactual.
        mixture: Their shares.
        separation: Whether the counterfactuals can be told apart.
        moved: Influence on the shares of each set's images and, in the last row, of the one more
            that it takes for at least some variance, shape (n + 1, k) each.
        moved_even: The same if all shares were 1 / k.
    """

    name: str
    prompt: str
    counterfactuals: tuple[str, ...]
    sets: tuple[FeatureSet, ...]
    mixture: Mixture
    separation: Separation
    moved: tuple[Float64Array, ...]
    moved_even: tuple[Float64Array, ...]

    @property
    def reason(self) -> str | None:
        """Why the shares decide nothing; None where the counterfactuals can be told apart."""
        if self.separation.ratio >= GATE:
            return None
        if self.separation.pair is None:
            return "the answers do not tell each counterfactual from a mixture of the others"
        first, second = (self.counterfactuals[number] for number in self.separation.pair)
        return f"the answers do not tell '{first}' from '{second}'"

    @property
    def leans(self) -> Float64Array:
        """Leans whose squares sum to the squared lean, shape (k - 1,); 2 share - 1 for two."""
        k = len(self.counterfactuals)
        leans: Float64Array = (self.mixture.shares - 1.0 / k) @ self.scales
        return leans

    @property
    def scales(self) -> Float64Array:
        """Of the shares in the leans, shape (k, k - 1)."""
        k = len(self.counterfactuals)
        scales: Float64Array = contrast_basis(k) * np.sqrt(k / (k - 1))
        return scales

    @property
    def squared(self) -> float:
        """The unbiased squared lean: |pi - 1/k|² less its sampling variance, over 1 - 1/k."""
        k = len(self.counterfactuals)
        found = self.mixture
        variance = sum(float((rows**2).sum()) for rows in (found.start, *found.changed))
        squares = float(((found.shares - 1.0 / k) ** 2).sum())
        return (squares - variance + found.twice) * k / (k - 1)

    @property
    def twice(self) -> float:
        """What the leans' influences count twice of their variances."""
        k = len(self.counterfactuals)
        return self.mixture.twice * k / (k - 1)

    @property
    def extra(self) -> float:
        """By how much the leans' variances grow with the squared lean.

        The error of m_k counts pi_k times, so its variance 1/k² + d² times for a share of 1/k + d
        (on average over the two signs of d), and the mean of d² is the squared lean times
        (k - 1) / k².
        """
        k = len(self.counterfactuals)
        return k * sum(float((rows**2).sum()) for rows in self.moved_even[1:])

    def influence(self, weights: Float64Array, *, even: bool = False) -> Influence:
        """How each image moves a linear combination of the shares.

        Args:
            weights: Of the shares, shape (k,).
            even: As if all shares were 1 / k.

        Returns:
            The influence, with at least the variance that one more image of each set, as like
            each of the counterfactuals, would show.
        """
        moved = self.moved_even if even else self.moved
        parts = [
            (1.0, Influence((one.prompt,), np.zeros_like(units), units, rows @ weights))
            for one, rows in zip(self.sets, moved, strict=True)
            for units in (np.append(one.units, FLOOR),)
        ]
        return Influence.combined(parts)


def _moved(found: Mixture, *, even: bool) -> tuple[Float64Array, ...]:
    """See `AxisShares.moved`: the one more image is as like each of the counterfactuals."""
    k = len(found.shares)
    shares = np.clip(found.shares, 0.0, None)
    shares = shares / shares.sum()
    weights = np.full(k, 1.0 / k) if even else found.shares
    distances = ((np.eye(k) - shares) ** 2).sum(axis=1)
    least = [float(distances.mean()), *(weights**2 * 2 * (k - 1) / k)]
    directions = [found.shares - 1.0 / k, *(np.eye(k) - 1.0 / k)]
    sets = (found.start, *(found.even if even else found.changed))
    return tuple(
        _floored(rows, distance, direction)
        for rows, distance, direction in zip(sets, least, directions, strict=True)
    )


def _floored(rows: Float64Array, distance: float, direction: Float64Array) -> Float64Array:
    """Influences of n images and of what one at a mean squared distance would add."""
    n, variance = len(rows), float((rows**2).sum())
    missing = max(((n - 1) * variance + distance / n) / n - variance, 0.0)
    length = float(np.sqrt(direction @ direction))
    if length < _ROUNDING:
        direction, length = contrast_basis(len(direction))[:, 0], 1.0
    return np.vstack([rows, np.sqrt(missing) * direction / length])


def axis_shares(
    name: str, counterfactuals: Sequence[str], sets: Sequence[FeatureSet]
) -> AxisShares | str:
    """The mixture of one prompt along one axis."""
    if len(counterfactuals) < 2:
        return "an axis with one counterfactual has no shares"
    lacking = [one.prompt for one in sets if len(one.units) < 2]
    if lacking:
        return f"fewer than two answered images of: {', '.join(lacking)}"
    start, *changed = (one.features for one in sets)
    found = mixture(start, changed)
    return AxisShares(
        name,
        sets[0].prompt,
        tuple(counterfactuals),
        tuple(sets),
        found,
        separation(changed),
        _moved(found, even=False),
        _moved(found, even=True),
    )


def mean_square_of(axes: Sequence[AxisShares], level: float) -> MeanSquare:
    """The mean squared lean of several prompts and axes, which may share images."""
    return joint_square(
        np.concatenate([axis.leans for axis in axes]),
        [
            axis.influence(scale, even=True)
            for axis in axes
            for scale in np.ascontiguousarray(axis.scales.T)
        ],
        len(axes),
        level,
        value=float(np.mean([axis.squared for axis in axes])),
        twice=sum(axis.twice for axis in axes),
        extra=sum(axis.extra for axis in axes),
    )


def headline_of(axes: Sequence[AxisShares], level: float) -> Headline:
    """The mean squared lean over prompts and axes."""
    found = mean_square_of(axes, level)
    parts = _parts(axes)
    return square_of(
        found, parts, [axis.squared for axis in axes], [axis.prompt for axis in axes], level
    )


def square_of(
    found: MeanSquare,
    parts: tuple[Part, ...],
    squares: Sequence[float],
    prompts: Sequence[str],
    level: float,
) -> Headline:
    """A mean square as a headline."""
    matrix = spread([part.influence for part in parts]).matrix / len(parts)
    leans = np.array([part.value for part in parts])
    products = 2.0 * float((matrix**2).sum())  # of errors, which the squares of leans contain too
    variance = max(4.0 * float(leans @ matrix @ leans) / len(parts) - products, products)
    return Headline(
        found.value,
        "mean_square",
        "these",
        {"these": these(found), "like_these": like_these(squares, prompts, variance, level)},
        (found.fair_low, found.fair_high),
        parts,
        "f",
    )


def _parts(axes: Sequence[AxisShares]) -> tuple[Part, ...]:
    """The leans of all rows, scaled so that the headline is the mean of their squares."""
    total = sum(len(axis.counterfactuals) - 1 for axis in axes)
    scale = float(np.sqrt(total / len(axes)))
    return tuple(
        Part(
            axis.name if len(axis.leans) == 1 else f"{axis.name}{_NUMBER}{number + 1}",
            float(lean) * scale,
            axis.influence(axis.scales[:, number]).scaled(scale),
        )
        for axis in axes
        for number, lean in enumerate(axis.leans)
    )


def share_estimates(
    axis: AxisShares | str, names: Sequence[str], level: float
) -> dict[str, Estimate]:
    """The scores of a row that come from its shares."""
    reason = axis if isinstance(axis, str) else axis.reason
    if reason or isinstance(axis, str):
        kinds = ["squared_lean", *(f"share:{name}" for name in names)]
        kinds += ["lean"] if len(names) == 2 else []
        return {kind: Estimate.undefined(reason or "") for kind in kinds}
    scores = {"squared_lean": mean_square_estimate([axis], level)}
    scores |= {
        f"share:{name}": share_estimate(share, axis.influence(weights), level)
        for name, share, weights in zip(
            names, axis.mixture.shares.tolist(), np.eye(len(names)), strict=True
        )
    }
    if len(names) == 2:
        influence = axis.influence(np.array([1.0, -1.0]))
        scores["lean"] = Estimate.from_influence(float(axis.leans[0]), influence, level)
    return scores


def mean_square_estimate(axes: Sequence[AxisShares], level: float) -> Estimate:
    """The mean squared lean of some prompts and axes, with its interval and test."""
    found = mean_square_of(axes, level)
    interval = (found.low, found.high)
    return Estimate(found.value, p=found.p, test="f", alternative="greater", interval=interval)


def share_estimate(value: float, influence: Influence, level: float) -> Estimate:
    """A share with Student's t interval."""
    interval = t_interval(value, influence.variance, influence.df, level)
    return Estimate(value, interval=interval, influence=influence)


def average_headlines(
    headlines: Sequence[Headline], prompts: Mapping[str, str], level: float
) -> Headline:
    """The headline over several judges: the mean square of the leans' means."""
    tables = [_unscaled(headline.parts) for headline in headlines]
    names = [name for name in tables[0] if all(name in table for table in tables)]
    if not names:
        lacking = next((one.reason for one in headlines if one.reason), None)
        return Headline.undefined(lacking or "the judges decide different rows", "mean_square")
    rows = [_row_of(name) for name in names]
    count = len(set(rows))
    scale = float(np.sqrt(len(names) / count))
    parts = tuple(
        Part(
            name,
            scale * float(np.mean([table[name].value for table in tables])),
            Influence.combined([(scale / len(tables), table[name].influence) for table in tables]),
        )
        for name in names
    )
    squares = dict.fromkeys(rows, 0.0)
    for row, part in zip(rows, parts, strict=True):
        shown = part.influence.value[part.influence.unit != FLOOR]
        squares[row] += (part.value**2 - float((shown**2).sum())) / scale**2
    found = joint_square(
        [part.value / scale for part in parts],
        [part.influence.scaled(1.0 / scale) for part in parts],
        count,
        level,
        value=float(np.mean(list(squares.values()))),
    )
    return square_of(found, parts, list(squares.values()), [prompts[row] for row in squares], level)


def _row_of(part: str) -> str:
    return part.rpartition(_NUMBER)[0] or part


def _unscaled(parts: Sequence[Part]) -> dict[str, Part]:
    """The leans of rows, without the weight that makes the headline the mean of their squares."""
    rows = len({_row_of(part.name) for part in parts})
    factor = float(np.sqrt(rows / len(parts))) if parts else 1.0
    return {
        part.name: Part(part.name, part.value * factor, part.influence.scaled(factor))
        for part in parts
    }
