"""Leans in three parts: what all prompts share, what follows their words, and what does neither.

The leans are those of images, on their own scale. Of the words' leans only the line of the images'
leans over them is used, so that what it explains, and what it leaves, stay the same where the leans
of all texts are moved or stretched alike. No number here compares a text with an image.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import Influence, JointInfluence
from t2ibench.results.contrast import Contrast
from t2ibench.results.schema import Score
from t2ibench.results.spill_over import mean_squared_shift, score_of_shift
from t2ibench.results.square_contrast import compare_items
from t2ibench.stats.correlation import Kendall, kendall_tau
from t2ibench.stats.squares import f_square

# With four prompts a line leaves two degrees of freedom.
FEWEST_PROMPTS = 4
# Texts whose leans differ by less do not differ: it is rounding.
_ROUNDING = 1e-6
# A prompt whose leverage is nearer to 1 lies on the line whatever its images show.
_FULL_LEVERAGE = 1 - 1e-9
# Variances that are rounding, as where both runs have the same images, and values that are.
_NOTHING = 1e-18
_ROUNDED_VALUE = 1e-9


@dataclass(frozen=True, slots=True)
class LeanSplit:
    """The leans of images, split by what the words of their prompts say.

    The mean squared lean is the sum of the three squares: `common`, `following` and `beside`.

    Attributes:
        parts: The lean of each prompt's images.
        words: The lean of each prompt's text, shape (prompts,).
        total: The mean squared lean.
        common: Square of the mean lean.
        following: Mean square of what lies on the line of leans over words, without their mean.
        beside: Mean squared distance from that line.
        mean: The mean lean: common to all prompts.
        slope: By how much leans of images grow per unit of the words' lean, for these prompts.
        slope_of_others: The same slope for other prompts like these.
        order: Kendall's tau of both leans over prompts, noise of images included.
    """

    parts: tuple[Part, ...]
    words: Float64Array
    total: Score
    common: Score
    following: Score
    beside: Score
    mean: Contrast
    slope: Contrast
    slope_of_others: Contrast
    order: Kendall


@dataclass(frozen=True, slots=True)
class SplitChange:
    """How the three parts of leans change from one run to another of the same prompts.

    Attributes:
        mean: Change of the mean lean.
        slope: Change of the slope.
        beside: Change of the root mean squared distance from the line.
        shift: Root mean square by which the leans of single prompts move.
    """

    mean: Contrast
    slope: Contrast
    beside: Contrast
    shift: Score


def can_split(parts: Sequence[Part], words: npt.ArrayLike) -> str:
    """Return why leans cannot be split by their words; empty where they can."""
    values = np.asarray(words, dtype=np.float64)
    if len(values) < FEWEST_PROMPTS:
        return f"fewer than {FEWEST_PROMPTS} prompts have leans of texts and of images"
    if float(np.ptp(values)) < _ROUNDING:
        return "the texts of all prompts lean alike"
    if not all(math.isfinite(part.influence.variance) for part in parts):
        return "a prompt has a single image, whose variance is unknown"
    return ""


def split_leans(parts: Sequence[Part], words: npt.ArrayLike, level: float) -> LeanSplit:
    """Return leans of images in three parts, with intervals and tests.

    With l the leans of k prompts, S their covariance, x those of the texts, and P the projection
    onto one of three orthogonal spaces (the constant, x less its mean, and all that is left), a
    part is (l'Pl − tr PS) / k: unbiased, and tested by F = l'Pl / tr PS. The three add up to the
    mean squared lean.

    Args:
        parts: The leans of images with their influences; `can_split` says whether it works.
        words: The lean of each prompt's text, in the same order.
        level: Confidence level.

    Examples:
        >>> images = [1.0, 1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]
        >>> leans = [
        ...     Part(name, float(np.mean(x)), Influence.of_mean(name, range(4), x))
        ...     for name, x in zip("abcd", [images[0], images[0], images[1], images[1]])
        ... ]
        >>> split = split_leans(leans, [1.0, 0.9, 0.1, 0.0], 0.95)
        >>> round(split.mean.value, 3), round(split.slope.value, 3)
        (0.25, 0.549)
        >>> parts = split.common, split.following, split.beside
        >>> round(sum(part.value for part in parts), 6) == round(split.total.value, 6)
        True
    """
    x = np.asarray(words, dtype=np.float64)
    leans = np.array([part.value for part in parts])
    joint = JointInfluence([part.influence for part in parts])
    projections = _Projections.of(x)
    return LeanSplit(
        parts=tuple(parts),
        words=x,
        total=_square(leans, joint, np.eye(len(x)), level),
        common=_square(leans, joint, projections.constant[None], level),
        following=_square(leans, joint, projections.along[None], level),
        beside=_square(leans, joint, projections.beside, level),
        mean=weighted_contrast(leans, joint, projections.of_mean, level),
        slope=weighted_contrast(leans, joint, projections.of_slope, level),
        slope_of_others=_slope_of_others(x, leans, level),
        order=kendall_tau(x, leans, level),
    )


def change_of_split(
    first: LeanSplit, second: LeanSplit, rng: np.random.Generator, level: float
) -> SplitChange:
    """Return second less first, part by part; both are of the same prompts, paired by image."""
    projections = _Projections.of(first.words)
    leans = np.array([part.value for part in (*first.parts, *second.parts)])
    joint = JointInfluence(
        [part.influence for part in (*first.parts, *second.parts)],
    )

    def change(weights: Float64Array) -> Contrast:
        return weighted_contrast(leans, joint, np.append(-weights, weights), level)

    items = (
        _moved(first.parts, projections.beside),
        _moved(second.parts, projections.beside),
    )
    squares = (first.beside.value or 0.0, second.beside.value or 0.0)
    beside = compare_items(items, squares, (None, None), rng, level)
    pairs = list(zip(first.parts, second.parts, strict=True))
    shift = mean_squared_shift([pairs], level)
    return SplitChange(
        mean=change(projections.of_mean),
        slope=change(projections.of_slope),
        beside=beside.difference.turned,
        shift=Score() if shift is None else score_of_shift(shift),
    )


@dataclass(frozen=True, slots=True)
class _Projections:
    """Weights of leans, from the leans of texts.

    Attributes:
        constant: The unit vector of the mean, shape (prompts,).
        along: The unit vector of the texts' leans less their mean, shape (prompts,).
        beside: The projection onto what is left, shape (prompts, prompts).
        of_mean: Weights with which leans add up to their mean, shape (prompts,).
        of_slope: Weights with which they add up to the slope, shape (prompts,).
    """

    constant: Float64Array
    along: Float64Array
    beside: Float64Array
    of_mean: Float64Array
    of_slope: Float64Array

    @classmethod
    def of(cls, words: Float64Array) -> _Projections:
        count = len(words)
        constant = np.full(count, 1.0 / math.sqrt(count))
        centred = words - words.mean()
        length = float(np.linalg.norm(centred))
        along = centred / length
        explained = np.outer(constant, constant) + np.outer(along, along)
        return cls(
            constant=constant,
            along=along,
            beside=np.eye(count) - explained,
            of_mean=np.full(count, 1.0 / count),
            of_slope=along / length,
        )


def _square(
    leans: Float64Array, joint: JointInfluence, weights: Float64Array, level: float
) -> Score:
    """Return the mean square of weighted leans, over all prompts, less what noise adds to it."""
    count = len(leans)
    moved = weights @ leans
    spread = joint.spread(weights)
    squares = float(moved @ moved)
    noise = float(np.trace(spread.matrix))
    along = 0.0
    if squares > 0:
        along = float(moved @ spread.matrix @ moved) / squares
    square = f_square(
        squares=squares / count,
        noise=noise / count,
        along=along / count,
        degrees=spread.dfs,
        level=level,
    )
    return Score(value=square.value, ci_low=square.low, ci_high=square.high, p=square.p)


def weighted_contrast(
    leans: Float64Array, joint: JointInfluence, weights: Float64Array, level: float
) -> Contrast:
    """Return a weighted sum of leans with Student's t, the degrees of freedom Satterthwaite's."""
    value = float(weights @ leans)
    variance, df = joint.variance(list(weights))
    if not variance > _NOTHING:
        is_nothing = abs(value) < _ROUNDED_VALUE
        return Contrast(0.0, 0.0, 0.0, 1.0) if is_nothing else Contrast(value)
    return Contrast.from_t(value, variance, df, level)


def decisive_prompt(words: Float64Array) -> int | None:
    """Return the number of the prompt on which the whole slope rests; None if there is none.

    It is one whose text leans otherwise than all others, which lean alike: the line goes through it
    whatever its images show, so other prompts cannot be inferred from it.

    Examples:
        >>> decisive_prompt(np.array([0.0, 0.0, 0.0, 1.0]))
        3
        >>> decisive_prompt(np.array([0.0, 0.1, 0.0, 1.0])) is None
        True
    """
    leverage = _leverage(words)
    largest = int(leverage.argmax())
    return largest if leverage[largest] > _FULL_LEVERAGE else None


def _leverage(words: Float64Array) -> Float64Array:
    """Return how far each prompt draws the line to itself, shape (prompts,)."""
    centred = words - words.mean()
    leverage: Float64Array = 1.0 / len(words) + centred**2 / float(centred @ centred)
    return leverage


def _slope_of_others(
    words: Float64Array, leans: Float64Array, level: float
) -> Contrast:
    """Return the slope for other prompts, with the variance HC3 and t(k − 2).

    It has no interval where all of it rests on a single prompt.
    """
    count = len(words)
    centred = words - words.mean()
    scale = float(centred @ centred)
    slope = float(centred @ leans) / scale
    if decisive_prompt(words) is not None:
        return Contrast(slope)
    residuals = leans - leans.mean() - slope * centred
    leverage = _leverage(words)
    moved = centred / scale * residuals / (1 - leverage)
    variance = float(moved @ moved)
    if not variance > _NOTHING:
        return Contrast(slope)
    return Contrast.from_t(slope, variance, count - 2, level)


def _moved(parts: Sequence[Part], weights: Float64Array) -> list[Part]:
    """Return weighted sums of leans, one for each row of the weights, with their influences."""
    leans = np.array([part.value for part in parts])
    sums = weights @ leans
    moved = []
    for part, row, value in zip(parts, weights, sums, strict=True):
        shares = [
            (float(weight), other.influence)
            for weight, other in zip(row, parts, strict=True)
        ]
        moved.append(Part(part.name, float(value), Influence.combined(shares)))
    return moved
