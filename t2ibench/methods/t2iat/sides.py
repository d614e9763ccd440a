"""The stimuli of X and of Y, and their weights in the headline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.t2iat.design import ConceptImages

SIDES = ("X", "Y")


@dataclass(frozen=True, slots=True)
class Sides:
    """The stimuli of X and of Y, by position among all stimuli.

    Attributes:
        groups: Name, positions and numbers of each concept's stimuli.
        signs: 1 for X, -1 for Y, shape (stimuli,).
        means: The mean over the concept of each stimulus, as weights, shape (stimuli, stimuli).
    """

    groups: list[tuple[str, IntArray, IntArray]]
    signs: Float64Array
    means: Float64Array

    @classmethod
    def of(cls, images: Sequence[ConceptImages]) -> Sides:
        """Return the sides of the test: which stimuli belong to X and which to Y."""
        sides = np.array([stimulus.stimulus.side for stimulus in images])
        numbers = np.array([stimulus.stimulus.number for stimulus in images])
        groups = []
        for side in SIDES:
            at = np.flatnonzero(sides == side)
            groups.append((f"stimuli of {side}", at, numbers[at]))
        is_same = (sides[:, None] == sides).astype(np.float64)
        signs = np.where(sides == "X", 1.0, -1.0)
        return cls(groups, signs, is_same / is_same.sum(axis=1))

    @property
    def positions(self) -> list[IntArray]:
        """Positions of X's stimuli, and of Y's stimuli, among all stimuli."""
        return [at for _, at, _ in self.groups]

    def weights(self, bottom: Float64Array) -> Float64Array:
        """Return each stimulus's weight in its concept's mean lean, given the distances `bottom`.

        It is 1 / (number of the concept's stimuli x their mean distance).
        """
        return np.diag(self.means) / (self.means @ bottom)

    def lean(self, top: Float64Array, bottom: Float64Array) -> Float64Array:
        """Return half the difference of the mean leans of X and of Y.

        `top` and `bottom` are numerators and denominators; the shape is top.shape[1:].
        """
        return (self.signs * self.weights(bottom)) @ top / 2
