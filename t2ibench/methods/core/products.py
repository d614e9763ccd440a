"""Inner products of the images of one prompt: what they have in common, and how it varies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array

_SAMPLE = 256  # images of a prompt whose pairs show how much products vary


@dataclass(frozen=True, slots=True)
class Products:
    """The inner products of all pairs of one prompt's images: their mean and variation.

    Attributes:
        n: Number of images.
        mean: Mean over pairs.
        squared_residuals: Squared residuals, summed over the `sampled_pairs`.
        moved: How each image moves the mean, shape (n,).
    """

    n: int
    mean: float
    squared_residuals: float
    moved: Float64Array

    @classmethod
    def of(cls, rows: Float64Array) -> Products:
        """Compute the inner products of the different images of a prompt, rows (n, d)."""
        n = len(rows)
        if n < 2:
            return cls(n, 0.0, 0.0, np.zeros(n))
        products_with_all = rows @ rows.sum(axis=0)
        squares = np.einsum("ij,ij->i", rows, rows)
        means = (products_with_all - squares) / (n - 1)
        mean = float(means.mean())
        few = rows[:_SAMPLE]
        gram = few @ few.T
        np.fill_diagonal(gram, 0.0)
        usual = gram.sum() / (len(few) * (len(few) - 1))
        np.fill_diagonal(gram, usual)
        gram -= usual
        squared_residuals = float(np.vdot(gram, gram)) / 2
        moved = 2 * (means - mean)
        return cls(n, mean, squared_residuals, moved)

    @property
    def sampled_pairs(self) -> float:
        """Number of pairs, of the first 256 images, that show how much products vary."""
        few = min(self.n, _SAMPLE)
        return few * (few - 1) / 2

    def divided(self, length: float) -> Products:
        """Return the products of the same images divided by a length."""
        square = length**2
        return Products(
            n=self.n,
            mean=self.mean / square,
            squared_residuals=self.squared_residuals / square**2,
            moved=self.moved / square,
        )
