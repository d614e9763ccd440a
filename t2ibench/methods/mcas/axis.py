"""The axis between two attributes, and where images lie along it: their lean.

The attributes are sets of prompts (as images) or of words. Each prompt is a draw from the prompts
that could have been used, so the uncertainty of the axis is that between prompts; images of one
prompt add to it by making its mean uncertain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import BoolArray, Float64Array, IntArray
from t2ibench.methods.core.evidence import PromptImages
from t2ibench.methods.core.influence import FLOOR, Influence
from t2ibench.methods.core.schema import Side
from t2ibench.methods.core.text_vectors import mean_vector
from t2ibench.methods.mcas.schema import McasTarget, McasTask
from t2ibench.settings import Settings
from t2ibench.stats.rounding import sums_by
from t2ibench.stats.student import Ratio, ratio_of_parts


@dataclass(frozen=True, slots=True)
class Poles:
    """Two attributes as independent units."""

    # a unit of A a row, such as the mean of a prompt's images, shape (p, d)
    a: Float64Array
    b: Float64Array  # a unit of B a row, shape (q, d)
    numbers_a: IntArray  # number of each unit of A, shape (p,)
    numbers_b: IntArray  # number of each unit of B, shape (q,)
    # whether row i of `a` and row i of `b` differ in the attribute alone ('a man', 'a woman'), so
    # that pairs are the units
    paired: bool
    name: str  # what the units are, the name of their stratum


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from B to A, with what it would be without each of its units."""

    direction: Float64Array  # mean of A less mean of B, shape (d,)
    length: float  # unbiased square of the distance between A and B
    # unbiased difference of the squared lengths of A and of B: twice the position of the point
    # half way between them along the direction
    middle: float
    directions: Float64Array  # direction without each unit, shape (u, d)
    lengths: Float64Array  # length without each unit, shape (u,)
    middles: Float64Array  # middle without each unit, shape (u,)
    strata: tuple[str, ...]  # names of the strata of units
    stratum: IntArray  # stratum of each unit, shape (u,)
    units: IntArray  # number of each unit in its stratum, shape (u,)

    @classmethod
    def between(cls, poles: Poles) -> Axis:
        """The axis between two attributes.

        With sums over different units only, no unit is multiplied with itself, and (of pairs) with
        its own partner: length = mean over p ≠ q of a_p·a_q + of b_p·b_q - 2 of a_p·b_q, and
        middle = mean over p ≠ q of a_p·a_q - of b_p·b_q.

        Examples:
            >>> numbers = np.arange(2)
            >>> a, b = np.array([[1.0, 0.0]] * 2), np.array([[0.0, 1.0]] * 2)
            >>> axis = Axis.between(Poles(a, b, numbers, numbers, True, "prompts"))
            >>> axis.direction.tolist(), axis.length, axis.middle
            ([1.0, -1.0], 2.0, 0.0)
        """
        a, b, paired = poles.a, poles.b, poles.paired
        ones_a, ones_b = np.ones(len(a)), np.ones(len(b))
        of_a, of_b = (a * a).sum(1), (b * b).sum(1)
        products = (a * b).sum() if paired else 0.0
        numbers = (
            len(a),
            len(b),
            a.sum(0),
            b.sum(0),
            (a * a).sum(),
            (b * b).sum(),
            products,
        )
        sums = [np.asarray(number, np.float64)[None] for number in numbers]
        # What each unit has of the sums.
        units: list[tuple[Float64Array | float, ...]] = [
            (ones_a, 0, a, 0, of_a, 0, 0),
            (0, ones_b, 0, b, 0, of_b, 0),
        ]
        if paired:
            units = [(ones_a, ones_b, a, b, of_a, of_b, (a * b).sum(1))]
        direction, length, middle = _axis(sums, paired)
        parts = [
            _axis([whole - part for whole, part in zip(sums, own, strict=True)], paired)
            for own in units
        ]
        directions, lengths, middles = (
            np.concatenate([part[number] for part in parts]) for number in range(3)
        )
        names = (
            (poles.name,) if paired else (f"{poles.name} of A", f"{poles.name} of B")
        )
        return cls(
            direction[0],
            float(length[0]),
            float(middle[0]),
            directions,
            lengths,
            middles,
            names,
            np.repeat(np.arange(len(names)), [len(part[1]) for part in parts]),
            np.concatenate([poles.numbers_a, poles.numbers_b][: len(names)]),
        )

    def influence(self, without: Float64Array) -> Influence:
        """The influence of the units on an estimate, from the estimate without each unit."""
        return Influence.of_jackknife(self.strata, self.stratum, self.units, without)

    @property
    def length_influence(self) -> Influence:
        """The influence of the units on the length."""
        return self.influence(self.lengths)

    def numerator(self, point: Float64Array) -> tuple[float, Float64Array]:
        """2 x·direction - middle of a point x, and the same without each unit of the axis."""
        return float(2.0 * self.direction @ point - self.middle), (
            2.0 * self.directions @ point - self.middles
        )

    def lean(self, point: Float64Array) -> tuple[float, Influence]:
        """Where a point lies between B and A, at -1 and 1.

        lean = (2 x·direction - middle) / length, less the bias of a ratio to second order,
        (lean V(length) - C(numerator, length)) / length². It is linear in x, and for a mixture
        of images like A and like B with shares P and 1 - P it is 2 P - 1.

        With the influence of the units of the axis on it.
        """
        top, tops = self.numerator(point)
        ratio = top / self.length
        of_length = self.length_influence
        bias = ratio * of_length.variance - self.influence(tops).covariance(of_length)
        influence = self.influence((tops - ratio * self.lengths) / self.length)
        return ratio - bias / self.length**2, influence


def _axis(
    sums: Sequence[Float64Array], paired: bool
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Direction, length and middle, a row for each set of units.

    From the numbers of units, their sums, the sums of their squares and those of pairs' products.
    """
    n_a, n_b, a, b, squares_a, squares_b, products = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        direction = a / n_a[:, None] - b / n_b[:, None]
        aa = ((a**2).sum(1) - squares_a) / (n_a * (n_a - 1))
        bb = ((b**2).sum(1) - squares_b) / (n_b * (n_b - 1))
        ab = ((a * b).sum(1) - products) / (n_a * n_b - (n_a if paired else 0))
        length, middle = aa + bb - 2.0 * ab, aa - bb
    single = (n_a < 2) | (n_b < 2)
    return direction, np.where(single, np.nan, length), np.where(single, np.nan, middle)


def ratio_set(
    top: float, bottom: float, of_top: Influence, of_bottom: Influence, level: float
) -> Ratio:
    """Fieller's set of a ratio N / D whose units may be the same; nan where a variance is unknown.

    Example:
        With a denominator that is known, the interval of the numerator is divided by it.

        >>> influence = Influence.of_mean("a nurse", [0, 1, 2], [1.0, 2.0, 3.0])
        >>> found = ratio_set(2.0, 4.0, influence, Influence.none(), 0.95)
        >>> [round(float(x), 3) for x in (found.low, found.high, found.p)]
        [-0.121, 1.121, 0.074]
    """
    # Both combinations have the units of both, in the same order.
    n = Influence.combined([(1.0, of_top), (0.0, of_bottom)])
    d = Influence.combined([(0.0, of_top), (1.0, of_bottom)])
    products = (n.value * n.value, n.value * d.value, d.value * d.value)
    k = len(n.strata)
    sums = np.stack(
        [np.bincount(n.stratum, weights=x, minlength=k) for x in products], axis=1
    )
    sizes = np.bincount(n.stratum[n.unit != FLOOR], minlength=k).astype(np.float64)
    return ratio_of_parts(top, bottom, sums, np.maximum(sizes - 1.0, 1.0), level)


ATTRIBUTE_UNITS = "attribute "  # with which the names of the attributes' strata begin
_MOST_IMAGES = 100_000  # of one prompt; see `core.schema.Count`


def chosen_targets(task: McasTask, settings: Settings) -> list[McasTarget]:
    """The targets of a run: with `--limit`, the first of each stereotype in each category."""
    groups: dict[tuple[str | None, Side | None], list[McasTarget]] = {}
    for target in task.targets:
        groups.setdefault((target.category, target.stereotype), []).append(target)
    kept = {
        target.name for group in groups.values() for target in settings.limited(group)
    }
    return [target for target in task.targets if target.name in kept]


def prompt_means(images: PromptImages) -> tuple[Float64Array, BoolArray]:
    """The mean embedding of each prompt's images, 0 without any, and which prompts have some."""
    sums = sums_by(images.clusters, images.embeddings, len(images.prompts))
    sizes = np.bincount(images.clusters, minlength=len(images.prompts))
    return sums / np.maximum(sizes, 1)[:, None], sizes > 0


def image_poles(a: PromptImages, b: PromptImages, by_image: bool) -> Poles:
    """The attributes by their images."""
    if by_image:
        of_a, of_b = (side.clusters * _MOST_IMAGES + side.indices for side in (a, b))
        return Poles(
            a.embeddings, b.embeddings, of_a, of_b, False, f"{ATTRIBUTE_UNITS}images"
        )
    (means_a, has_a), (means_b, has_b) = prompt_means(a), prompt_means(b)
    paired = len(has_a) == len(has_b)
    if paired:
        has_a = has_b = has_a & has_b
    return Poles(
        means_a[has_a],
        means_b[has_b],
        np.flatnonzero(has_a),
        np.flatnonzero(has_b),
        paired,
        f"{ATTRIBUTE_UNITS}prompts",
    )


@dataclass(frozen=True, slots=True)
class Target:
    """One target with its images and its texts."""

    spec: McasTarget
    images: PromptImages  # its images, of those of its prompts that have any
    # its prompts as texts, those that have a vector, shape (prompts, d)
    texts: Float64Array
    by_image: bool  # whether images are the units where it has several prompts

    @property
    def point(self) -> Float64Array:
        """Mean embedding of its images, each prompt counting alike, shape (d,)."""
        means, has = prompt_means(self.images)
        mean: Float64Array = means[has].mean(axis=0)
        return mean

    @property
    def text(self) -> Float64Array:
        """Mean embedding of its texts, shape (d,); NaN where none has a vector."""
        return mean_vector(self.texts)

    def image_influence(self, direction: Float64Array) -> Influence:
        """The influence of its images, or prompts, on its point along a direction; nan for one."""
        values = self.images.embeddings @ direction
        numbers = np.unique(self.images.clusters)
        if len(numbers) > 1 and not self.by_image:
            means, _ = prompt_means(self.images)
            return Influence.of_mean(self._stratum, numbers, means[numbers] @ direction)
        parts = []
        for number in numbers:
            mine = self.images.clusters == number
            stratum, units = self.images.prompts[number], self.images.indices[mine]
            parts.append(
                (1.0 / len(numbers), Influence.of_mean(stratum, units, values[mine]))
            )
        return parts[0][1] if len(parts) == 1 else Influence.combined(parts)

    def text_influence(self, direction: Float64Array) -> Influence:
        """The influence of its prompts on its text along a direction; none of a single prompt."""
        if len(self.texts) <= 1 or self.by_image:
            return Influence.none()
        return Influence.of_mean(
            self._stratum, np.arange(len(self.texts)), self.texts @ direction
        )

    @property
    def _stratum(self) -> str:
        return f"prompts of {self.spec.name}"


def text_axis(a: Float64Array, b: Float64Array) -> Axis:
    """The axis between two attributes' words, paired where both have as many."""
    k, m = len(a), len(b)
    units = f"{ATTRIBUTE_UNITS}words"
    return Axis.between(Poles(a, b, np.arange(k), np.arange(m), k == m, units))
