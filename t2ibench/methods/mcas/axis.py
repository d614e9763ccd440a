"""The axis between two attributes, and where images lie along it, which is their lean.

The attributes are sets of prompts (as images) or of words. Each prompt is a draw from the
prompts that could have been used, so the uncertainty of the axis is that between prompts;
images of one prompt add to it by making its mean uncertain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.influence import Influence


@dataclass(frozen=True, slots=True)
class Poles:
    """Two attributes as the ends of an axis, each given by several independent rows.

    Attributes:
        a: A unit of A a row, such as the mean of a prompt's images, shape (p, d).
        b: A unit of B a row, shape (q, d).
        numbers_a: Number of each unit of A, shape (p,).
        numbers_b: Number of each unit of B, shape (q,).
        paired: Whether row i of `a` and row i of `b` differ in the attribute alone ('a
            man', 'a woman'), so that pairs are the units.
        name: What the units are: the name of their stratum.
    """

    a: Float64Array
    b: Float64Array
    numbers_a: IntArray
    numbers_b: IntArray
    paired: bool
    name: str


@dataclass(frozen=True, slots=True)
class AttributeAxis:
    """The axis from attribute B to attribute A, also with each prompt left out in turn.

    Attributes:
        direction: Mean of A less mean of B, shape (d,).
        length: Square of the distance between A and B, estimated without bias.
        middle: Difference of the squared lengths of A and of B, estimated without bias:
            twice the position of the point half way between them along the direction.
        directions: The direction without each unit, shape (u, d).
        lengths: The length without each unit, shape (u,).
        middles: The middle without each unit, shape (u,).
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
    def between(cls, poles: Poles) -> AttributeAxis:
        """Return the axis between two attributes.

        With sums over different units only, no unit is multiplied with itself, and (of
        pairs) with its own partner: length = mean over p ≠ q of a_p·a_q + of b_p·b_q -
        2 of a_p·b_q, and middle = mean over p ≠ q of a_p·a_q - of b_p·b_q.

        Examples:
            >>> numbers = np.arange(2)
            >>> a, b = np.array([[1.0, 0.0]] * 2), np.array([[0.0, 1.0]] * 2)
            >>> axis = AttributeAxis.between(Poles(a, b, numbers, numbers, True, "prompts"))
            >>> axis.direction.tolist(), axis.length, axis.middle
            ([1.0, -1.0], 2.0, 0.0)
        """
        sums = _Sums.of(poles)
        direction, length, middle = sums.axes()
        if poles.paired:
            strata: tuple[str, ...] = (poles.name,)
            units = poles.numbers_a
            without = [sums.without_pairs(poles.a, poles.b).axes()]
        else:
            strata = (f"{poles.name} of A", f"{poles.name} of B")
            units = np.concatenate([poles.numbers_a, poles.numbers_b])
            without = [sums.without_a(poles.a).axes(), sums.without_b(poles.b).axes()]
        directions, lengths, middles = zip(*without, strict=True)
        sizes = [len(values) for values in lengths]
        return cls(
            direction=direction[0],
            length=float(length[0]),
            middle=float(middle[0]),
            directions=np.concatenate(directions),
            lengths=np.concatenate(lengths),
            middles=np.concatenate(middles),
            strata=strata,
            stratum=np.repeat(np.arange(len(strata)), sizes),
            units=units,
        )

    def influence(self, without: Float64Array) -> Influence:
        """Return each attribute prompt's (or image's) influence, given estimates without each."""
        return Influence.of_jackknife(self.strata, self.stratum, self.units, without)

    @property
    def length_influence(self) -> Influence:
        """Influence of each unit, such as a prompt, on the length of the axis."""
        return self.influence(self.lengths)

    def numerator(self, point: Float64Array) -> tuple[float, Float64Array]:
        """Return the numerator of a point's lean, also with each attribute prompt left out.

        It is 2 x·direction - middle for a point x.
        """
        value = float(2.0 * self.direction @ point - self.middle)
        return value, 2.0 * self.directions @ point - self.middles

    def lean(self, point: Float64Array) -> tuple[float, Influence]:
        """Return a point's lean, 1 at A and -1 at B, and the attributes' influence on it.

        lean = (2 x·direction - middle) / length, less the bias of a ratio to second
        order, (lean V(length) - C(numerator, length)) / length². It is linear in x, and
        for a mixture of images like A and like B with shares P and 1 - P it is 2 P - 1.

        Args:
            point: The point x, shape (d,).

        Returns:
            The lean, and the influence of the axis' units on it.
        """
        numerator, numerators = self.numerator(point)
        ratio = numerator / self.length
        of_length = self.length_influence
        covariance = self.influence(numerators).covariance(of_length)
        bias = ratio * of_length.variance - covariance
        influence = self.influence((numerators - ratio * self.lengths) / self.length)
        return ratio - bias / self.length**2, influence


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums over the rows that give attributes A and B, for one or more selections of rows.

    Attributes:
        paired: Whether units of A and of B are pairs.
        count_a: Number of units of A, shape (sets,) or (1,).
        count_b: Number of units of B, shape (sets,) or (1,).
        sum_a: Sum of the units of A, shape (sets, d) or (1, d).
        sum_b: Sum of the units of B, shape (sets, d) or (1, d).
        squares_a: Sum of the squared lengths of the units of A, shape (sets,) or (1,).
        squares_b: Sum of the squared lengths of the units of B, shape (sets,) or (1,).
        products: Sum of the products of pairs, shape (sets,) or (1,); 0 without pairs.
    """

    paired: bool
    count_a: Float64Array
    count_b: Float64Array
    sum_a: Float64Array
    sum_b: Float64Array
    squares_a: Float64Array
    squares_b: Float64Array
    products: Float64Array

    @classmethod
    def of(cls, poles: Poles) -> _Sums:
        """Return the sums over all rows."""
        a = poles.a
        b = poles.b
        products = np.zeros(1)
        if poles.paired:
            products = (a * b).sum()[None]
        squares_a = (a * a).sum()
        squares_b = (b * b).sum()
        return cls(
            paired=poles.paired,
            count_a=np.array([float(len(a))]),
            count_b=np.array([float(len(b))]),
            sum_a=a.sum(0)[None],
            sum_b=b.sum(0)[None],
            squares_a=squares_a[None],
            squares_b=squares_b[None],
            products=products,
        )

    def without_a(self, a: Float64Array) -> _Sums:
        """Return the sums with each row of A left out in turn."""
        return replace(
            self,
            count_a=self.count_a - np.ones(len(a)),
            sum_a=self.sum_a - a,
            squares_a=self.squares_a - (a * a).sum(1),
        )

    def without_b(self, b: Float64Array) -> _Sums:
        """Return the sums with each row of B left out in turn."""
        return replace(
            self,
            count_b=self.count_b - np.ones(len(b)),
            sum_b=self.sum_b - b,
            squares_b=self.squares_b - (b * b).sum(1),
        )

    def without_pairs(self, a: Float64Array, b: Float64Array) -> _Sums:
        """Return the sums with each pair of rows, of A and of B, left out in turn."""
        without = self.without_a(a).without_b(b)
        return replace(without, products=self.products - (a * b).sum(1))

    def axes(self) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Return directions, lengths and middles of the axes that the sums give.

        Length and middle are nan where an attribute has fewer than two units.
        """
        n_a = self.count_a
        n_b = self.count_b
        with np.errstate(divide="ignore", invalid="ignore"):
            direction = self.sum_a / n_a[:, None] - self.sum_b / n_b[:, None]
            aa = (self.sum_a**2).sum(1) - self.squares_a
            aa = aa / (n_a * (n_a - 1))
            bb = (self.sum_b**2).sum(1) - self.squares_b
            bb = bb / (n_b * (n_b - 1))
            ab = (self.sum_a * self.sum_b).sum(1) - self.products
            ab = ab / (n_a * n_b - (n_a if self.paired else 0))
            length = aa + bb - 2.0 * ab
            middle = aa - bb
        single = (n_a < 2) | (n_b < 2)
        return (
            direction,
            np.where(single, np.nan, length),
            np.where(single, np.nan, middle),
        )
