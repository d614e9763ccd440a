"""Intervals of models' ranks, drawn so that images common to several tests vary together."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.stats import chi2

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.influence import FLOOR, Influence
from t2ibench.results.paired import PairedTask
from t2ibench.stats.student import satterthwaite

DRAWS = 1000
# The score of a row that is a question of its own, such as gender beside race.
QUESTION_SCORE = "squared_lean"
_BLOCK = 16  # units whose noise is drawn together


@dataclass(frozen=True, slots=True)
class Draws:
    """Simulated changes of a task's squared magnitude, as they would be with other images.

    `deviations` from its expectation have the shape (DRAWS,), with the `df` behind their spread.
    """

    deviations: Float64Array
    df: float

    @property
    def variance(self) -> float:
        """Variance of the task's squared magnitude."""
        return float(np.mean(self.deviations**2))


@dataclass(frozen=True, slots=True)
class Measured:
    """One model's squared magnitude on each conclusive task of a family, with simulated changes."""

    squares: Mapping[str, float]
    draws: Mapping[str, Draws]


@dataclass(frozen=True, slots=True)
class Rank:
    """The best and worst rank of a model that the data allow (1 leans least).

    Over families, both are medians. `among` is the number of ranked models.
    """

    best: float
    worst: float
    among: int

    @property
    def text(self) -> str:
        """The rank, or the range of ranks.

        Examples:
            >>> Rank(1, 1, 6).text, Rank(1.5, 3, 6).text
            ('1', '1.5–3')
        """
        if self.best == self.worst:
            return f"{self.best:g}"
        return f"{self.best:g}–{self.worst:g}"

    @property
    def words(self) -> str:
        """The rank among the ranked models, in words.

        Examples:
            >>> Rank(1.5, 3, 6).words
            'rank 1.5–3 of 6'
        """
        return f"rank {self.text} of {self.among}"


def draws_of(task: PairedTask) -> Draws | None:
    """Return simulated changes of a task's squared headline; None if its variance is unknown.

    A lean l with the influences u and normal noise ξ moves by e = Σ u ξ, so its unbiased square
    l² − V moves by 2 f l e + e² − V. The factor f, with f² Σ l² = max(0, Σ (l² − V)), takes from
    the observed leans what they owe to noise, so that the variance is 4 Σ (l² − V) V + 2 Σ V². Of
    few images that is too small, and is enlarged (`_slope_of_few`, `_square_of_few`). The noise of
    a unit depends on its stratum and number alone: two models that were asked for the same images
    move together, and a model and its copy move alike.
    """
    parts = task.headline
    variances = np.array([part.influence.variance for part in parts])
    if not parts or not np.isfinite(variances).all():
        return None
    noise = np.stack([_noise_of(part.influence) for part in parts])
    degrees = [part.influence.df for part in parts]
    _, df = satterthwaite(
        variances, [degree if math.isfinite(degree) else 1.0 for degree in degrees]
    )
    # The headline is its own square, rather than a lean or leans to be squared.
    if task.scale != "lean" and len(parts) == 1 and not parts[0].name:
        return Draws(noise[0], df)
    leans = np.array([part.value for part in parts])
    total = float((leans**2).sum())
    factor = (
        math.sqrt(max(0.0, total - float(variances.sum())) / total) if total else 0.0
    )
    slopes = 2 * factor * leans * np.array([_slope_of_few(df) for df in degrees])
    moved = slopes[:, None] * noise + noise**2 - variances[:, None]
    moved *= np.array([_square_of_few(df) for df in degrees])[:, None]
    return Draws(moved.mean(axis=0), df)


def _slope_of_few(df: float) -> float:
    """Return by how much the square root of l²V is enlarged, for few images.

    The variance V of a share falls as its lean l rises, V = (1 − l²)/n, so that the product of the
    two estimates is too small by 4/n of it on average.
    """
    return math.sqrt(1 + 4 / df) if math.isfinite(df) and df > 0 else 1.0


def _square_of_few(df: float) -> float:
    """Return by how much more an unbiased square moves than the lean's square does.

    The estimate of V that is subtracted falls as the square of a share's lean rises, so that the
    difference is n l²/(n − 1) less a constant.
    """
    return 1 + 1 / df if math.isfinite(df) and df > 0 else 1.0


def measured_questions(task: PairedTask) -> dict[str, Measured]:
    """Return each question of a task as it is ranked, by its name; empty where a task asks one."""
    measured = {}
    for (row, score), part in task.rows.items():
        if score != QUESTION_SCORE or not math.isfinite(part.influence.variance):
            continue
        draws = Draws(_noise_of(part.influence), part.influence.df)
        measured[row] = Measured({row: part.value}, {row: draws})
    return measured if len(measured) > 1 else {}


def _noise_of(influence: Influence) -> Float64Array:
    """Return random errors of a lean, as other images would cause them, shape (DRAWS,).

    Each is Σ u ξ, over the influences u of its units with random multipliers ξ.
    """
    total = np.zeros(DRAWS)
    whole = hashlib.sha256(influence.value.tobytes()).hexdigest()
    for number, stratum in enumerate(influence.strata):
        mine = influence.stratum == number
        units = influence.unit[mine]
        values = influence.value[mine]
        for block in np.unique(units // _BLOCK):
            inside = units // _BLOCK == block
            # No data is behind a variance floor, so only an equal influence shares it.
            key = f"{stratum}\0{block}" + (
                f"\0{whole}" if block == FLOOR // _BLOCK else ""
            )
            seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
            noise = np.random.default_rng(seed).standard_normal((_BLOCK, DRAWS))
            total += values[inside] @ noise[units[inside] % _BLOCK]
    return total


def rank_intervals(models: Sequence[Measured]) -> list[Rank]:
    """Return 95 % intervals of models' ranks by squared magnitude, valid for all pairs together.

    A model's best rank counts the models that clearly lean less, its worst rank those that clearly
    lean more. Two models are compared over the tasks that are conclusive for both. Each direction
    of each pair has its own limit, the 97.5th percentile of the paired draws of the difference, so
    that neither more nor fewer images win a rank by chance; one factor, common to all pairs, makes
    the limits simultaneous. The draws are Student's, with the pair's degrees of freedom, because
    variances are estimated from few images.

    Source: Mogstad, Romano, Shaikh and Wilhelm 2024, "Inference for ranks with applications to
        mobility across neighbourhoods and academic achievement across countries".
    """
    difference = _differences(models)
    overlaps: list[tuple[int, int, float, float, float]] = []
    worst = np.full(DRAWS, -np.inf)
    for first in range(len(models)):
        pairs = [
            (second, pair)
            for second in range(first + 1, len(models))
            if (pair := difference(first, second))
        ]
        if not pairs:
            continue
        # All pairs of a model at once: of 500 models there are 124,750.
        moved = np.stack([draws for _, (_, draws) in pairs])
        lows, highs = np.quantile(moved, [0.025, 0.975], axis=1)
        undecided = (lows < 0) & (highs > 0)
        for (second, (value, _)), low, high, keep in zip(
            pairs, lows, highs, undecided, strict=True
        ):
            if keep:
                overlaps.append((first, second, value, -float(low), float(high)))
        if undecided.any():
            draws = moved[undecided]
            low = lows[undecided, None]
            high = highs[undecided, None]
            worst = np.maximum(worst, np.maximum(draws / high, draws / low).max(axis=0))
    factor = float(np.quantile(worst, 0.95)) if overlaps else 1.0
    best = [1] * len(models)
    last = [len(models)] * len(models)
    for first, second, value, below, above in overlaps:
        if value > factor * above:  # the first leans more than the second
            best[first] += 1
            last[second] -= 1
        elif -value > factor * below:
            best[second] += 1
            last[first] -= 1
    return [Rank(low, high, len(models)) for low, high in zip(best, last, strict=True)]


def _differences(
    models: Sequence[Measured],
) -> Callable[[int, int], tuple[float, Float64Array] | None]:
    """Return a function that gives the difference of two models' mean squares, and its draws.

    It takes the indices of both models, compares them on tasks conclusive for both, and returns
    None if there are none.
    """

    @cache
    def mean(index: int, tasks: tuple[str, ...]) -> tuple[float, Draws]:
        model = models[index]
        value = math.fsum(model.squares[name] for name in tasks) / len(tasks)
        draws = [model.draws[name] for name in tasks]
        deviations = np.mean([each.deviations for each in draws], axis=0)
        return value, Draws(deviations, _df_of(draws))

    def difference(first: int, second: int) -> tuple[float, Float64Array] | None:
        # Sums do not depend on the order of a set.
        tasks = tuple(
            sorted(models[first].squares.keys() & models[second].squares.keys())
        )
        if not tasks:
            return None
        first_mean, first_draws = mean(first, tasks)
        second_mean, second_draws = mean(second, tasks)
        moved = first_draws.deviations - second_draws.deviations
        df = _df_of([first_draws, second_draws])
        return first_mean - second_mean, moved * _student_factors(df)

    return difference


def _df_of(draws: Sequence[Draws]) -> float:
    """Return Satterthwaite's degrees of freedom of a sum of independent draws."""
    variances = [each.variance for each in draws]
    _, df = satterthwaite(variances, [each.df for each in draws])
    return df


def _student_factors(df: float) -> Float64Array:
    """Return factors that turn normal draws into Student's, shape (DRAWS,)."""
    if not math.isfinite(df):
        return np.ones(DRAWS)
    return _factors_of(max(1, math.floor(df)))


@cache
def _factors_of(df: int) -> Float64Array:
    # The same numbers for every df: pairs of models vary together.
    uniform = np.random.default_rng(0).random(DRAWS)
    factors: Float64Array = np.sqrt(df / chi2.ppf(uniform, df))
    return factors
