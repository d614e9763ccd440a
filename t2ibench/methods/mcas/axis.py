"""The axis between two attributes, and where images lie along it: their lean.

The attributes are sets of prompts (as images) or of words. Each prompt is a draw from the prompts
that could have been used, so the uncertainty of the axis is that between prompts; images of one
prompt add to it by making its mean uncertain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.influence import Influence


@dataclass(frozen=True, slots=True)
class Poles:
    """Two attributes as independent units.

    Attributes:
        a: A unit of A a row, such as the mean of a prompt's images, shape (p, d).
        b: A unit of B a row, shape (q, d).
        numbers_a: Number of each unit of A, shape (p,).
        numbers_b: Number of each unit of B, shape (q,).
        paired: Whether row i of `a` and row i of `b` differ in the attribute alone ('a man', 'a
            woman'), so that pairs are the units.
        name: What the units are, the name of their stratum.
    """

    a: Float64Array
    b: Float64Array
    numbers_a: IntArray
    numbers_b: IntArray
    paired: bool
    name: str


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from B to A, with what it would be without each of its units.

    Attributes:
        direction: Mean of A less mean of B, shape (d,).
        length: Unbiased square of the distance between A and B.
        middle: Unbiased difference of the squared lengths of A and of B: twice the position of
            the point half way between them along the direction.
        directions: Direction without each unit, shape (u, d).
        lengths: Length without each unit, shape (u,).
        middles: Middle without each unit, shape (u,).
        strata: Names of the strata of units.
        stratum: Stratum of each unit, shape (u,).
        units: Number of each unit in its stratum, shape (u,).
    """

    direction: Float64Array
    length: float
    middle: float
    directions: Float64Array
    lengths: Float64Array
    middles: Float64Array
    strata: tuple[str, ...]
    stratum: IntArray
    units: IntArray

    @classmethod
    def between(cls, poles: Poles) -> Axis:
        """The axis between two attributes.

        With sums over different units only, no unit is multiplied with itself, and (of pairs)
        with its own partner:

        length = mean over p ≠ q of a_p·a_q + of b_p·b_q - 2 of a_p·b_q,
        middle = mean over p ≠ q of a_p·a_q - of b_p·b_q

        Examples:
            Two equal pairs: A and B are √2 apart, so the squared distance is 2.

            >>> numbers = np.arange(2)
            >>> a, b = np.array([[1.0, 0.0]] * 2), np.array([[0.0, 1.0]] * 2)
            >>> axis = Axis.between(Poles(a, b, numbers, numbers, True, "prompts"))
            >>> axis.direction.tolist(), axis.length, axis.middle
            ([1.0, -1.0], 2.0, 0.0)
        """
        whole = _Sums.of(poles)
        direction, length, middle = whole.axis(poles.paired)
        left = whole.without(poles)
        parts = [part.axis(poles.paired) for part in left]
        directions, lengths, middles = (
            np.concatenate([part[number] for part in parts]) for number in range(3)
        )
        names = (poles.name,) if poles.paired else (f"{poles.name} of A", f"{poles.name} of B")
        sizes = [len(part.n_a) for part in left]
        numbers = [poles.numbers_a] if poles.paired else [poles.numbers_a, poles.numbers_b]
        return cls(
            direction[0],
            float(length[0]),
            float(middle[0]),
            directions,
            lengths,
            middles,
            names,
            np.repeat(np.arange(len(names)), sizes),
            np.concatenate(numbers),
        )

    def influence(self, without: Float64Array) -> Influence:
        """The influence of the units on an estimate.

        Args:
            without: The estimate without each unit, shape (u,).

        Returns:
            By the delete-one jackknife.
        """
        return Influence.of_jackknife(self.strata, self.stratum, self.units, without)

    @property
    def length_influence(self) -> Influence:
        """The influence of the units on the length."""
        return self.influence(self.lengths)

    def projected(self, rows: Float64Array) -> Float64Array:
        """Association of rows with A rather than B.

        Args:
            rows: Shape (n, d).

        Returns:
            Mean cosine to A less mean cosine to B, shape (n,).
        """
        found: Float64Array = rows @ self.direction
        return found

    def lean(self, point: Float64Array) -> tuple[float, Influence]:
        """Where a point lies between B and A, at -1 and 1.

        lean = (2 x·direction - middle) / length, less the bias of a ratio to second order,
        (lean V(length) - C(numerator, length)) / length². It is linear in x, and for a mixture
        of images like A and like B with shares P and 1 - P it is 2 P - 1.

        Args:
            point: Mean embedding of a target's images, or a text, shape (d,).

        Returns:
            The lean, and the influence of the units of the axis on it.

        Examples:
            >>> numbers = np.arange(3)
            >>> a, b = np.array([[1.0, 0.0]] * 3), np.array([[0.0, 1.0]] * 3)
            >>> axis = Axis.between(Poles(a, b, numbers, numbers, True, "prompts"))
            >>> [axis.lean(np.array(point))[0] for point in ([1.0, 0.0], [0.6, 0.6])]
            [1.0, 0.0]
        """
        top = float(2.0 * self.direction @ point - self.middle)
        tops = 2.0 * self.directions @ point - self.middles
        ratio = top / self.length
        of_length = self.length_influence
        bias = ratio * of_length.variance - self.influence(tops).covariance(of_length)
        influence = self.influence((tops - ratio * self.lengths) / self.length)
        return ratio - bias / self.length**2, influence


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums over units, of which an axis is made; a row for each set of units left in."""

    n_a: Float64Array
    n_b: Float64Array
    a: Float64Array
    b: Float64Array
    squares_a: Float64Array
    squares_b: Float64Array
    products: Float64Array  # of the partners of pairs

    @classmethod
    def of(cls, poles: Poles) -> _Sums:
        a, b = poles.a, poles.b
        products = (a * b).sum() if poles.paired else 0.0
        numbers = (len(a), len(b), (a * a).sum(), (b * b).sum(), products)
        n_a, n_b, squares_a, squares_b, pairs = (np.array([float(x)]) for x in numbers)
        return cls(n_a, n_b, a.sum(0)[None], b.sum(0)[None], squares_a, squares_b, pairs)

    def without(self, poles: Poles) -> Sequence[_Sums]:
        a, b = poles.a, poles.b
        ones_a, ones_b = np.ones(len(a)), np.ones(len(b))
        of_a, of_b = (a * a).sum(1), (b * b).sum(1)
        if poles.paired:
            products = (a * b).sum(1)
            return [self._less(ones_a, ones_b, a, b, of_a, of_b, products)]
        return [
            self._less(ones_a, 0 * ones_a, a, 0 * a, of_a, 0 * of_a, 0 * of_a),
            self._less(0 * ones_b, ones_b, 0 * b, b, 0 * of_b, of_b, 0 * of_b),
        ]

    def _less(self, *parts: Float64Array) -> _Sums:
        mine = (
            self.n_a, self.n_b, self.a, self.b, self.squares_a, self.squares_b, self.products
        )  # fmt: skip
        return _Sums(*(whole - part for whole, part in zip(mine, parts, strict=True)))

    def axis(self, paired: bool) -> tuple[Float64Array, Float64Array, Float64Array]:
        with np.errstate(divide="ignore", invalid="ignore"):
            direction = self.a / self.n_a[:, None] - self.b / self.n_b[:, None]
            aa = ((self.a**2).sum(1) - self.squares_a) / (self.n_a * (self.n_a - 1))
            bb = ((self.b**2).sum(1) - self.squares_b) / (self.n_b * (self.n_b - 1))
            crossed = self.n_a * self.n_b - (self.n_a if paired else 0)
            ab = ((self.a * self.b).sum(1) - self.products) / crossed
            length, middle = aa + bb - 2.0 * ab, aa - bb
        single = (self.n_a < 2) | (self.n_b < 2)
        return direction, np.where(single, np.nan, length), np.where(single, np.nan, middle)
