"""The mean squared lean of several prompts and axes, which may share images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.headline import Inference
from t2ibench.methods.core.influence import FLOOR, Influence
from t2ibench.stats.squares import MeanSquare, quadratic_form
from t2ibench.stats.student import t_interval, t_test

_LEAST = 0.5  # of the trace remains, whatever is known to be counted twice
_SAME = 1.05  # effective number of leans up to which they are one
_FEW = 1.5  # up to which a lean of exactly 0 happens by chance
_NOTHING = 1e-18  # a variance that is rounding


@dataclass(frozen=True, slots=True)
class Spread:
    """The covariance of several leans.

    Attributes:
        matrix: Shape (p, p).
        dfs: Degrees of freedom of F = (sum of squared leans) / trace: Satterthwaite's over the
            directions, and over the strata.
    """

    matrix: Float64Array
    dfs: tuple[float, float]


def spread(influences: Sequence[Influence]) -> Spread:
    """The covariance of leans with common units, and the degrees of freedom of its trace.

    With S_s the part of stratum s and f its degrees of freedom:

        h = (tr S)² / tr(S²), h_2 = (tr S)² / sum over s of tr(S_s²) / (f + 2)

    where tr(S_s²) is estimated without bias (Bai and Saranadasa 1996) within tr(S²). Leans that are
    one have the degrees of freedom of Student's t, 1 and (tr S)² / sum over s of tr(S_s²) / f.

    Examples:
        Two axes with the same answers about the same images are one:

        >>> one = Influence.of_mean("a chef", range(1000), [0.0, 1.0] * 500)
        >>> round(spread([one, one]).dfs[0], 1), round(spread([one]).dfs[1], -1)
        (1.0, 1000.0)
    """
    p = len(influences)
    matrix: Float64Array = np.zeros((p, p))
    correction = within = exact = 0.0
    for columns, units, freedom in _by_stratum(influences):
        part = units.T @ units
        matrix[np.ix_(columns, columns)] += part
        square, trace = float((part**2).sum()), float(np.trace(part))
        unbiased = square * freedom / (freedom + 2)
        if freedom > 1:
            scale = freedom**2 / ((freedom - 1) * (freedom + 2))
            unbiased = min(unbiased, scale * (square - trace**2 / freedom))
        unbiased = max(unbiased, trace**2 / len(columns) * freedom / (freedom + 2))
        correction += unbiased - square
        within += square / (freedom + 2)
        exact += square / freedom
    total, square = float(np.trace(matrix)) ** 2, float((matrix**2).sum())
    if not total > 0:
        return Spread(matrix, (float("nan"), float("nan")))
    if total < _SAME * square:
        return Spread(matrix, (1.0, total / exact))
    return Spread(matrix, (total / (square + correction), total / within))


def _by_stratum(
    influences: Sequence[Influence],
) -> list[tuple[list[int], Float64Array, int]]:
    """For each stratum its leans, the influences of its units on them, its degrees of freedom."""
    members: dict[str, list[int]] = {}
    for column, influence in enumerate(influences):
        for name in influence.strata:
            members.setdefault(name, []).append(column)
    found = []
    for name, columns in members.items():
        pieces = []
        for column in columns:
            influence = influences[column]
            chosen = influence.stratum == influence.strata.index(name)
            pieces.append((influence.unit[chosen], influence.value[chosen]))
        numbers = np.unique(np.concatenate([unit for unit, _ in pieces]))
        units: Float64Array = np.zeros((len(numbers), len(columns)))
        for place, (unit, value) in enumerate(pieces):
            units[np.searchsorted(numbers, unit), place] += value
        found.append((columns, units, max(int((numbers != FLOOR).sum()) - 1, 1)))
    return found


def joint_square(
    leans: npt.ArrayLike,
    influences: Sequence[Influence],
    rows: int,
    level: float,
    *,
    value: float | None = None,
    twice: float = 0.0,
    extra: float = 0.0,
) -> MeanSquare:
    """Test, interval and fair band of a mean squared lean over rows that share images."""
    found, lean = spread(influences), np.asarray(leans, dtype=np.float64)
    trace = float(np.trace(found.matrix))
    total = max(trace - twice, _LEAST * trace)
    squares = float((lean**2).sum())
    along = float(lean @ found.matrix @ lean) / squares * total / trace if squares * trace else 0.0
    if value is None:
        value = (squares - total) / rows
    if not total > _NOTHING:  # all images alike
        exact = squares > _NOTHING
        p = float(np.finfo(float).tiny) if exact else 1.0
        return MeanSquare(value, value, value, p, 0.0, 0.0, (0, 0))
    square = quadratic_form(value, squares, (total, extra, along), rows, found.dfs, level)
    if found.dfs[0] > _FEW:
        return square
    # Half of the answers each way is a lean of exactly 0, which the noncentral F takes for proof
    # of a lean near 0; Student's t does not.
    half = float(stdtrit(found.dfs[1], (1 + level) / 2)) * np.sqrt(total / rows)
    return replace(square, high=max(square.high, (np.sqrt(squares / rows) + half) ** 2))


def these(found: MeanSquare) -> Inference:
    """The inference about these prompts."""
    return Inference(found.low, found.high, found.p, found.df[1])


def like_these(
    squares: Sequence[float], prompts: Sequence[str], variance: float, level: float
) -> Inference:
    """The inference about prompts like these: Student's t over prompts.

    Examples:
        >>> found = like_these([0.4, 0.6, 0.5], ["a", "b", "b"], 0.0, 0.95)
        >>> found.df, found.low < 0.5 < found.high
        (1.0, True)
    """
    names = list(dict.fromkeys(prompts))
    if len(names) < 2:
        return Inference(reason="one prompt does not show how prompts differ")
    mean = float(np.mean(squares))
    # A prompt with more axes weighs more; first-order influence of each prompt on the mean.
    sums = dict.fromkeys(names, 0.0)
    for square, prompt in zip(squares, prompts, strict=True):
        sums[prompt] += (square - mean) / len(squares)
    c = len(names)
    between = c / (c - 1) * float(np.square(list(sums.values())).sum())
    largest = max(between, variance)
    low, high = t_interval(mean, largest, c - 1, level)
    return Inference(low, high, t_test(mean, largest, c - 1), float(c - 1))
