"""By how much effects of single embeddings move a score, and what would have been noticed.

Rounding has no side; a forger's tilt has one. Two comparisons tell them apart: Student's t gives
the sum of the effects an interval, and the sum is beyond what the same effects give with random
signs, which holds for effects of any symmetric distribution. Too few effects are no finding by the
second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from scipy.special import stdtrit

from t2ibench.arrays import Float64Array

# What a test's headline over all encoders is called.
HEADLINE = "its headline"
# A score that moves by less is no finding. It is three times what bfloat16 in place of float32
# moves a headline by (docs/reproducibility.md).
SMALLEST_SHIFT = 0.005
# A headline that moves by as much has to be noticed; where it cannot be excluded, a note says so.
NOTICED_SHIFT = 0.02
# The chance with which any score of an honest submission is said to be tilted, at most.
FALSE_ALARMS = 0.01
# Draws of random signs, and how many are held in memory at a time.
_FLIPS = 100_000
_FLIPS_AT_A_TIME = 10_000
# Deviations that are in memory at once: 8 MB.
_DRAWN_AT_A_TIME = 1_000_000
# The share of checks in which the shift that is named as noticed would be.
NOTICED_IN = 0.95
# Sizes of shifts that are tried, in the unit of a score, and how near two of them are at the end.
_SMALLEST_SIZE = 1e-6
_LARGEST_SIZE = 10.0
_NEAR = 1.03
# Pairs of draws from which the spread of other deviations is taken, and how heavy their tails are.
_PAIRS = 4_000
_FREEDOM_OF_TAILS = 3


@dataclass(frozen=True, slots=True)
class Score:
    """A score of a test.

    Attributes:
        value: The score; it moves in proportion to small deviations, as a root near 0 does not.
        squared: Whether pages show its root.
    """

    value: float
    squared: bool = False

    def shown(self, shift: float) -> float:
        """Return the moved score as pages show it: a mean square as its root, or 0 if negative."""
        value = self.value + shift
        return math.sqrt(max(value, 0.0)) if self.squared else value


@dataclass(frozen=True, slots=True)
class Shift:
    """How a score moves with what was made here, over all of its embeddings.

    Attributes:
        name: The score.
        size: By how much, extrapolated from what was drawn.
        least: By how much at the end of its interval that is nearer to 0.
        most: By how much, without its sign, at the end that is farther from 0.
        noticed: The smallest shift that would have been noticed; None where that was not asked.
    """

    name: str
    size: float
    least: float
    most: float
    noticed: float | None = None

    @property
    def tilted(self) -> bool:
        """Whether chance does not explain that it moves."""
        return abs(self.least) > SMALLEST_SHIFT

    @property
    def undecided(self) -> bool:
        """Whether it is a headline that may move by what has to be noticed."""
        of_headline = self.name.startswith(HEADLINE)
        return of_headline and not self.tilted and self.most > NOTICED_SHIFT


def shift_of(
    name: str,
    score: Score,
    effects: Sequence[Float64Array],
    totals: Sequence[int],
    *,
    chance: float,
    scores: int = 1,
) -> Shift:
    """Return by how much a score moves over all embeddings, from the effects of those drawn.

    Args:
        name: The score's name.
        score: The score as it was sent.
        effects: The effect of each drawn embedding, one array for each group.
        totals: How many embeddings each group has.
        chance: With which any of the scores may be tilted where no side is more likely.
        scores: How many scores of the test are looked at. They share the signs of the effects, so
            only the interval is widened by their number.
    """
    share_of_flips = partial(_share_of_flips, effects, totals)
    return _shift(name, score, _total(effects, totals), chance, scores, share_of_flips)


def _shift(
    name: str,
    score: Score,
    whole: _Total,
    chance: float,
    scores: int,
    share_of_flips: Callable[[], float],
) -> Shift:
    """Return the shift of a score by a sum of effects; see `shift_of`."""
    margin = whole.margin(chance / scores)
    nearest = math.copysign(max(abs(whole.total) - margin, 0.0), whole.total)
    if nearest and share_of_flips() > chance:
        nearest = 0.0
    ends = (whole.total - margin, whole.total + margin) if whole.variance else (0, 0)
    start = score.shown(0.0)
    return Shift(
        name=name,
        size=score.shown(whole.total) - start,
        least=score.shown(nearest) - start,
        most=max(abs(score.shown(end) - start) for end in ends),
    )


def smallest_noticed(
    score: Score,
    effects: Sequence[Float64Array],
    totals: Sequence[int],
    *,
    chance: float,
    scores: int = 1,
) -> float:
    """Return a shift of a score that at least 95 of 100 such checks would have noticed.

    The deviations that were drawn, without their means, stand for rounding. A tilt to which each
    embedding of the test contributes as much is added to them, until `shift_of` calls it one. That
    is noticed in half of such checks, so the spread of the sum is added. Other deviations may be
    larger than those that were drawn, so these are enlarged to the upper 95 % limit of the spread
    of others (see `_spread_of_others`).
    Arguments are those of `shift_of`.

    Returns:
        The shift as pages show it, the larger one of both directions; inf where no shift of any
        size would have been noticed, since too few embeddings deviate.
    """
    deviating = sum(int(np.count_nonzero(values)) for values in effects)
    if 2.0 ** (1 - deviating) > chance:
        return math.inf
    rounding = [values - values.mean() for values in effects]
    enlarged = _spread_of_others(tuple(map(len, effects)), tuple(totals))
    rounding = [values * enlarged for values in rounding]
    freedom = _total(rounding, totals).freedom
    spread = math.sqrt(_total(rounding, totals).variance)
    in_most = float(stdtrit(freedom, NOTICED_IN)) * spread

    # Sums are linear, so that the same random signs serve every shift that is tried.
    even = [np.full(len(values), 1 / sum(totals)) for values in rounding]
    weighted = np.column_stack([_weighted(rounding, totals), _weighted(even, totals)])
    of_rounding, of_even = _sums_with_random_signs(weighted).T

    def noticed(shift: float) -> bool:
        moved = [
            values + shift * share for values, share in zip(rounding, even, strict=True)
        ]
        whole = _total(moved, totals)

        def share_of_flips() -> float:
            return _share_as_large(of_rounding + shift * of_even, whole.total)

        return _shift("", score, whole, chance, scores, share_of_flips).tilted

    start = score.shown(0.0)
    sizes = []
    for side in (1.0, -1.0) if score.squared else (1.0,):
        size = _smallest_size(partial(_on_side, noticed, side))
        if math.isfinite(size):
            sizes.append(abs(score.shown(side * (size + in_most)) - start))
        elif side > 0:
            return math.inf
    return max(sizes)


def _on_side(noticed: Callable[[float], bool], side: float, size: float) -> bool:
    """Return whether a shift of a size to one side is noticed."""
    return noticed(side * size)


def _smallest_size(holds: Callable[[float], bool]) -> float:
    """Return the smallest size for which something holds, to 3 %; inf if it never does."""
    size = _SMALLEST_SIZE
    while not holds(size):
        size *= 2
        if size > _LARGEST_SIZE:
            return math.inf
    low = size / 2
    while size / low > _NEAR:
        middle = math.sqrt(low * size)
        if holds(middle):
            size = middle
        else:
            low = middle
    return size


@dataclass(frozen=True, slots=True)
class _Total:
    """A sum of effects over all embeddings, estimated from those that were drawn.

    Attributes:
        total: The sum.
        variance: Of its estimate.
        freedom: The degrees of freedom of the variance.
    """

    total: float
    variance: float
    freedom: float

    def margin(self, chance: float) -> float:
        """Return half the width of an interval that fails with a chance; inf without a spread."""
        if not self.variance:
            return math.inf
        quantile = float(stdtrit(self.freedom, 1 - chance / 2))
        return quantile * math.sqrt(self.variance)


def _total(effects: Sequence[Float64Array], totals: Sequence[int]) -> _Total:
    """Return what groups of effects add up to over all embeddings of their groups.

    Variances are those within the groups, so that one whose effects differ from another's does not
    look like noise; their degrees of freedom are Welch and Satterthwaite's. A group of a single
    embedding has no spread, so the square of its effect stands for it.
    """
    total = 0.0
    variance = 0.0
    in_freedom = 0.0
    for values, count in zip(effects, totals, strict=True):
        several = len(values) > 1
        of_mean = values.var(ddof=1) / len(values) if several else values[0] ** 2
        of_group = count**2 * float(of_mean)
        total += count * float(values.mean())
        variance += of_group
        in_freedom += of_group**2 / max(len(values) - 1, 1)
    freedom = variance**2 / in_freedom if in_freedom else 1.0
    return _Total(total, variance, freedom)


@lru_cache(maxsize=256)
def _spread_of_others(counts: tuple[int, ...], totals: tuple[int, ...]) -> float:
    """Return by which factor the spread of other deviations may exceed that of the drawn ones.

    It is the 95 % quantile of the ratio of the standard errors of two checks, where deviations
    have heavy tails, those of Student's t with three degrees of freedom. Those of deviations that
    are normally distributed differ by less.

    Args:
        counts: How many embeddings of each group are drawn.
        totals: How many embeddings each group has.
    """
    rng = np.random.default_rng(0)
    variances = np.zeros((2, _PAIRS))
    for count, total in zip(counts, totals, strict=True):
        variances += total**2 * _variances(rng, count) / count
    ratios = np.sqrt(variances[1] / variances[0])
    return float(np.quantile(ratios, NOTICED_IN))


def _variances(rng: np.random.Generator, count: int) -> Float64Array:
    """Return the variances of drawn groups of deviations with heavy tails.

    Groups are drawn a few at a time, in the order of one large draw, so memory does not grow with
    their number.

    Returns:
        Shape (2, pairs).
    """
    variances = np.empty(2 * _PAIRS)
    at_a_time = max(1, _DRAWN_AT_A_TIME // count)
    for start in range(0, len(variances), at_a_time):
        block = variances[start : start + at_a_time]
        deviations = rng.standard_t(_FREEDOM_OF_TAILS, size=(len(block), count))
        # As in `_total`: a single embedding has no spread, so its square stands for it.
        block[:] = (
            deviations.var(axis=-1, ddof=1) if count > 1 else deviations[..., 0] ** 2
        )
    return variances.reshape(2, _PAIRS)


def _share_of_flips(effects: Sequence[Float64Array], totals: Sequence[int]) -> float:
    """Return how often the effects have a sum at least as large where their signs are random.

    It is the p-value of a test that holds for any effects of which neither side is more likely.
    """
    weighted = _weighted(effects, totals)
    (sums,) = _sums_with_random_signs(weighted[:, None]).T
    return _share_as_large(sums, float(weighted.sum()))


def _weighted(effects: Sequence[Float64Array], totals: Sequence[int]) -> Float64Array:
    """Return each effect times the number of embeddings that it stands for."""
    return np.concatenate(
        [
            values * (count / len(values))
            for values, count in zip(effects, totals, strict=True)
        ]
    )


def _sums_with_random_signs(weighted: Float64Array) -> Float64Array:
    """Return the sums of columns of effects whose rows have random signs, a row for each draw."""
    rng = np.random.default_rng(0)
    sums = np.empty((_FLIPS, weighted.shape[1]))
    for start in range(0, _FLIPS, _FLIPS_AT_A_TIME):
        block = sums[start : start + _FLIPS_AT_A_TIME]
        signs = 2.0 * rng.integers(2, size=(len(block), len(weighted))) - 1.0
        block[:] = signs @ weighted
    return sums


def _share_as_large(sums: Float64Array, total: float) -> float:
    """Return the share of sums as large as the one that came out, which counts as one of them."""
    # A sum that equals the one that came out counts, whatever its last digits are.
    smallest = abs(total) * (1 - 1e-9)
    as_large = int((np.abs(sums) >= smallest).sum())
    return (as_large + 1) / (len(sums) + 1)
