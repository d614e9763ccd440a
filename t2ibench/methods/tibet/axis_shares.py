"""The shares of an axis's counterfactuals in a prompt's images, and alternative shares.

Answers about some images of a counterfactual may name another one: either those images do not show
what was asked for, or the judge errs. Images of the prompt may have no answer. Both leave open
which mixture is the right one, so `AxisShares` has alternatives, and tests and intervals allow for
all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.influence import FLOOR, Influence
from t2ibench.methods.tibet.image_sets import FeatureSet
from t2ibench.methods.tibet.mixture import Mixture, contrast_basis, mixture
from t2ibench.methods.tibet.separation import GATE, Separation, separation


@dataclass(frozen=True, slots=True)
class AxisShares:
    """The shares of one axis's counterfactuals in the images of one prompt.

    Attributes:
        name: The name of its row.
        prompt: The prompt.
        counterfactuals: The counterfactuals' names.
        sets: The images of the prompt, then those of each counterfactual.
        mixture: Their shares, without the images whose answers name another counterfactual.
        separation: How well the counterfactuals can be distinguished.
        alternatives: Other mixtures that the answers allow: with the images whose answers name
            another counterfactual (all of them, or those of one counterfactual), and with all
            unanswered images of the prompt counted for one counterfactual.
        unanswered: Number of the prompt's images without an answer, although what they show may be
            why.
    """

    name: str
    prompt: str
    counterfactuals: tuple[str, ...]
    sets: tuple[FeatureSet, ...]
    mixture: Mixture
    separation: Separation
    alternatives: tuple[AxisShares, ...] = ()
    unanswered: int = 0

    @property
    def reason(self) -> str | None:
        """Why the counterfactuals' shares decide nothing; None if these can be distinguished."""
        if self.separation.ratio >= GATE:
            return None
        if self.separation.pair is None:
            return "the answers do not tell each counterfactual from a mixture of the others"
        first, second = (
            self.counterfactuals[number] for number in self.separation.pair
        )
        return f"the answers do not tell '{first}' from '{second}'"

    @property
    def leans(self) -> Float64Array:
        """Leans of the row, whose squares sum to its squared lean, shape (k - 1,).

        With two counterfactuals it is one lean, 2 share - 1.
        """
        k = len(self.counterfactuals)
        return (self.mixture.shares - 1.0 / k) @ self.scales

    @property
    def scales(self) -> Float64Array:
        """Weights of the counterfactuals' shares in the row's leans, shape (k, k - 1)."""
        k = len(self.counterfactuals)
        scales: Float64Array = contrast_basis(k) * np.sqrt(k / (k - 1))
        return scales

    @property
    def squared_lean(self) -> float:
        """Unbiased squared lean of the row, 0 on average for even shares.

        It is |pi - 1/k|² less its variance, over 1 - 1/k, for the shares pi of k
        counterfactuals.
        """
        k = len(self.counterfactuals)
        variance = sum(
            float((influences[:-1] ** 2).sum())
            for influences in self.mixture.influences
        )
        sum_of_squares = float(((self.mixture.shares - 1.0 / k) ** 2).sum())
        unbiased = sum_of_squares - variance + self.mixture.double_counted
        return unbiased * k / (k - 1)

    @property
    def growth_variance(self) -> float:
        """How much the leans' variances grow for each unit of the squared lean.

        The error of m_k counts pi_k times, so its variance 1/k² + d² times for a share of 1/k + d
        (on average over the two signs of d), and the mean of d² is the squared lean times
        (k - 1) / k².
        """
        k = len(self.counterfactuals)
        of_counterfactuals = self.mixture.influences_if_even[1:]
        return k * sum(
            float((influences**2).sum()) for influences in of_counterfactuals
        )

    def influence(
        self,
        weights: Float64Array,
        at: Literal["shares", "even shares", "test"] = "shares",
    ) -> Influence:
        """Return each image's influence on a weighted sum of the counterfactuals' shares.

        It has at least the variance that one more image of each set, as like each of the
        counterfactuals, would show.

        Args:
            weights: Of the shares, shape (k,).
            at: Whether the influence is that at these shares, at even ones, or that of the test
                that they are even; see `Mixture`.
        """
        influences = {
            "shares": self.mixture.influences,
            "even shares": self.mixture.influences_if_even,
            "test": self.mixture.influences_tested,
        }[at]
        return influence_of_sets(
            [image_set.prompt for image_set in self.sets],
            [np.append(image_set.units, FLOOR) for image_set in self.sets],
            [of_set @ weights for of_set in influences],
        )


def influence_of_sets(
    prompts: Sequence[str], units: Sequence[IntArray], values: Sequence[Float64Array]
) -> Influence:
    """Return the influence of several prompts' images on an estimate, as one influence.

    Args:
        prompts: The prompt of each set.
        units: The index of each of its images.
        values: How each of them moves the estimate.
    """
    parts = [
        Influence((prompt,), np.zeros_like(numbers), numbers, moves)
        for prompt, numbers, moves in zip(prompts, units, values, strict=True)
    ]
    return Influence.combined((1.0, part) for part in parts)


def axis_shares(
    name: str,
    counterfactuals: Sequence[str],
    sets: Sequence[FeatureSet],
    off_target: Sequence[frozenset[int]] = (),
    unanswered: int = 0,
) -> AxisShares | str:
    """Return counterfactuals' shares in a prompt's images along an axis, or why there are none.

    Args:
        name: The name of its row.
        counterfactuals: The counterfactuals' names.
        sets: The images of the prompt, then those of each counterfactual.
        off_target: Of each counterfactual, the images whose answers name another one instead. The
            mixture is without them; those with some or all of them are alternatives.
        unanswered: Number of the prompt's images without an answer.
    """
    reason = _reason_for_no_shares(counterfactuals, sets, off_target)
    if reason is not None:
        return reason
    separated = separation([image_set.features for image_set in sets[1:]])
    versions: list[AxisShares] = []
    for left_out in _choices_of_left_out(off_target):
        remaining = _without_off_target(sets, off_target, left_out)
        start, *changed = (image_set.features for image_set in remaining)
        version = AxisShares(
            name=name,
            prompt=sets[0].prompt,
            counterfactuals=tuple(counterfactuals),
            sets=remaining,
            mixture=mixture(start, changed),
            separation=separated,
        )
        versions.append(version)
    if unanswered:
        versions += [
            _with_unanswered(version, number, unanswered)
            for version in versions
            for number in range(len(counterfactuals))
        ]
    shown, *alternatives = versions
    return replace(shown, alternatives=tuple(alternatives), unanswered=unanswered)


def _reason_for_no_shares(
    counterfactuals: Sequence[str],
    sets: Sequence[FeatureSet],
    off_target: Sequence[frozenset[int]],
) -> str | None:
    if len(counterfactuals) < 2:
        return "an axis with one counterfactual has no shares"
    too_few = [image_set.prompt for image_set in sets if len(image_set.units) < 2]
    if too_few:
        return f"fewer than two answered images of: {', '.join(too_few)}"
    for number, units in enumerate(off_target):
        if units and len(sets[number + 1].units) - len(units) < 2:
            return (
                f"the answers about all but one image of '{counterfactuals[number]}' name another "
                "counterfactual"
            )
    return None


def _choices_of_left_out(off_target: Sequence[frozenset[int]]) -> list[tuple[int, ...]]:
    """Return, for the mixture and each alternative, whose off-target images are left out.

    The first is that of the mixture, the others are those of its alternatives.

    All, then all but those of one counterfactual at a time, then none.
    """
    affected = tuple(number for number, units in enumerate(off_target) if units)
    nothing: tuple[int, ...] = ()
    if not affected:
        return [nothing]
    if len(affected) == 1:
        return [affected, nothing]
    all_but_one = [
        tuple(other for other in affected if other != number) for number in affected
    ]
    return [affected, *all_but_one, nothing]


def _without_off_target(
    sets: Sequence[FeatureSet],
    off_target: Sequence[frozenset[int]],
    left_out: Sequence[int],
) -> tuple[FeatureSet, ...]:
    """Return the sets of images without the off-target images of the given counterfactuals."""
    remaining = list(sets)
    for number in left_out:
        remaining[number + 1] = sets[number + 1].without(off_target[number])
    return tuple(remaining)


def _with_unanswered(axis: AxisShares, number: int, unanswered: int) -> AxisShares:
    """Return a prompt's mixture as if all unanswered images showed one counterfactual.

    With n answered images and u others pi = (n pi + u e_k) / (n + u).
    """
    n_answered = len(axis.sets[0].units)
    answered = n_answered / (n_answered + unanswered)
    mixed = axis.mixture
    certain = np.eye(len(mixed.shares))[number]
    influences = [answered * part for part in mixed.influences]
    influences_if_even = [answered * part for part in mixed.influences_if_even]
    influences_tested = [answered * part for part in mixed.influences_tested]
    shifted = Mixture(
        shares=answered * mixed.shares + (1 - answered) * certain,
        influences=tuple(influences),
        influences_if_even=tuple(influences_if_even),
        influences_tested=tuple(influences_tested),
        double_counted=answered**2 * mixed.double_counted,
    )
    return replace(axis, mixture=shifted)
