"""The headline: the mean squared lean over prompts and axes, its test and its interval.

The leans of prompts and axes share images, so they are tested together: by one F test of the sum of
their squares over the trace of their covariance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.headline import Headline, Inference, Part, Question
from t2ibench.methods.core.influence import FLOOR, Influence, Spread, Stratum, spread_of
from t2ibench.methods.tibet.axis_shares import (
    AxisShares,
    farthest_from_even,
    nearest_to_even,
)
from t2ibench.stats.squares import MeanSquare, f_square, square_interval

# The least share of the trace that remains, however much of it is counted twice.
_LEAST_SHARE_OF_TRACE = 0.5
# Stands before the number of a lean in the name of its part, where a row has several.
_NUMBER = " #"


def headline_of_axes(axes: Sequence[AxisShares], level: float) -> Headline:
    """The mean squared lean over prompts and axes.

    Where the answers allow several mixtures, the test is that of the mixtures nearest to even ones,
    and the interval reaches to that of the farthest.
    """
    shown = _headline_of_mixtures(axes, level)
    if not any(axis.alternatives for axis in axes) or shown.value is None:
        return shown
    nearest = _headline_of_mixtures([nearest_to_even(axis) for axis in axes], level)
    farthest = _headline_of_mixtures([farthest_from_even(axis) for axis in axes], level)
    inference = {
        question: least.up_to(farthest.inference[question], shown.value)
        for question, least in nearest.inference.items()
    }
    return replace(shown, inference=inference)


def _headline_of_mixtures(axes: Sequence[AxisShares], level: float) -> Headline:
    """The mean squared lean of these mixtures, without their alternatives."""
    n_leans = sum(len(axis.counterfactuals) - 1 for axis in axes)
    # The mean of the squares of the parts is the mean over rows of their squared leans.
    scale = float(np.sqrt(n_leans / len(axes)))
    parts = tuple(
        Part(
            name=_part_name(axis, number),
            value=float(lean) * scale,
            influence=axis.influence(axis.scales[:, number]).scaled(scale),
        )
        for axis in axes
        for number, lean in enumerate(axis.leans)
    )
    rows = [(axis.prompt, axis.squared_lean) for axis in axes]
    return headline_of_squared_leans(
        mean_squared_lean_of_axes(axes, level), parts, rows, level
    )


def _part_name(axis: AxisShares, number: int) -> str:
    has_one_lean = len(axis.leans) == 1
    return axis.name if has_one_lean else f"{axis.name}{_NUMBER}{number + 1}"


def _row_name(part: str) -> str:
    """The name of the row that a part is of."""
    return part.rpartition(_NUMBER)[0] or part


def mean_squared_lean_of_axes(axes: Sequence[AxisShares], level: float) -> MeanSquare:
    """The mean squared lean of several prompts and axes, which may share images."""
    influences = [
        axis.influence(scale, even=True)
        for axis in axes
        for scale in np.ascontiguousarray(axis.scales.T)
    ]
    double_counted = 0.0
    for axis in axes:
        k = len(axis.counterfactuals)
        double_counted += axis.mixture.double_counted * k / (k - 1)
    return mean_squared_lean(
        np.concatenate([axis.leans for axis in axes]),
        influences,
        len(axes),
        level,
        value=float(np.mean([axis.squared_lean for axis in axes])),
        double_counted=double_counted,
        growth_variance=sum(axis.growth_variance for axis in axes),
    )


def mean_squared_lean(
    leans: npt.ArrayLike,
    influences: Sequence[Influence],
    n_rows: int,
    level: float,
    *,
    value: float | None = None,
    double_counted: float = 0.0,
    growth_variance: float = 0.0,
) -> MeanSquare:
    """Test, interval and fair band of a mean squared lean over rows that share images.

    With l the leans, m the number of rows and S the covariance of the leans where all are 0:

        squares           = l'l / m
        total variance    = tr S less what is counted twice, at least half of tr S
        variance along l  = l'Sl / l'l, in proportion to the total variance
        growth            = growth variance / total variance

    Args:
        leans: l.
        influences: How each image moves each of them.
        n_rows: m.
        level: Confidence level, in (0, 1).
        value: The unbiased mean squared lean; by default the squares less the variance.
        double_counted: What S counts twice, as a sum over leans.
        growth_variance: By how much tr S grows with the squared lean.
    """
    lean = np.asarray(leans, dtype=np.float64)
    covariance = covariance_of_leans(influences)
    trace = float(np.trace(covariance.matrix))
    total_variance = max(trace - double_counted, _LEAST_SHARE_OF_TRACE * trace)
    sum_of_squares = float((lean**2).sum())
    variance_along_leans = 0.0
    if sum_of_squares * trace:
        along = float(lean @ covariance.matrix @ lean) / sum_of_squares
        variance_along_leans = along * total_variance / trace
    growth = growth_variance / total_variance if total_variance > 0 else 0.0
    return f_square(
        sum_of_squares / n_rows,
        total_variance / n_rows,
        variance_along_leans / n_rows,
        covariance.dfs,
        level,
        value=value,
        growth=growth,
    )


def covariance_of_leans(influences: Sequence[Influence]) -> Spread:
    """The covariance of leans with common units, and the degrees of freedom of its trace.

    Examples:
        Two axes with the same answers about the same images are one:

        >>> lean = Influence.of_mean("a chef", range(1000), [0.0, 1.0] * 500)
        >>> round(covariance_of_leans([lean, lean]).dfs[0], 1)
        1.0
        >>> round(covariance_of_leans([lean]).dfs[1], -1)
        1000.0
    """
    columns_of_prompts: dict[str, list[int]] = {}
    for column, influence in enumerate(influences):
        for prompt in influence.strata:
            columns_of_prompts.setdefault(prompt, []).append(column)
    strata = [
        _stratum(prompt, columns, influences)
        for prompt, columns in columns_of_prompts.items()
    ]
    return spread_of(len(influences), strata)


def _stratum(
    prompt: str, columns: Sequence[int], influences: Sequence[Influence]
) -> Stratum:
    """How each image of a prompt moves each of the leans that have images of it."""
    units_and_moves = []
    for column in columns:
        influence = influences[column]
        of_prompt = influence.stratum == influence.strata.index(prompt)
        units_and_moves.append((influence.unit[of_prompt], influence.value[of_prompt]))
    images = np.unique(np.concatenate([units for units, _ in units_and_moves]))
    table: Float64Array = np.zeros((len(images), len(columns)))
    for place, (units, moves) in enumerate(units_and_moves):
        table[np.searchsorted(images, units), place] += moves
    freedom = max(int((images != FLOOR).sum()) - 1, 1)
    return columns, table, freedom


def headline_of_squared_leans(
    mean_square: MeanSquare,
    parts: tuple[Part, ...],
    rows: Sequence[tuple[str, float]],
    level: float,
) -> Headline:
    """A mean squared lean as a headline.

    About prompts like these it is the same test, with what differs between prompts.

    Args:
        mean_square: The mean squared lean with its test and interval.
        parts: The leans.
        rows: The prompt and the squared lean of each row.
        level: Confidence level, in (0, 1).
    """
    fixed_prompts = Inference(
        ci_low=mean_square.low,
        ci_high=mean_square.high,
        p=mean_square.p,
        df=mean_square.df[1],
    )
    inference: dict[Question, Inference] = {
        "fixed_prompts": fixed_prompts,
        "prompt_population": _inference_on_population(mean_square, parts, rows, level),
    }
    return Headline(
        value=mean_square.value,
        scale="mean_square",
        question="fixed_prompts",
        inference=inference,
        fair=(mean_square.fair_low, mean_square.fair_high),
        parts=parts,
        test="f",
    )


def _inference_on_population(
    mean_square: MeanSquare,
    parts: Sequence[Part],
    rows: Sequence[tuple[str, float]],
    level: float,
) -> Inference:
    """The inference about prompts like these: the same test, an interval at least as wide."""
    # A prompt with more axes weighs more; first-order influence of each prompt on the mean.
    prompt_influences = dict.fromkeys((prompt for prompt, _ in rows), 0.0)
    for prompt, squared_lean in rows:
        prompt_influences[prompt] += (squared_lean - mean_square.value) / len(rows)
    n_prompts = len(prompt_influences)
    if n_prompts < 2:
        return Inference(reason="one prompt does not show how prompts differ")
    squared_influences = np.square(list(prompt_influences.values()))
    between_prompts = n_prompts / (n_prompts - 1) * float(squared_influences.sum())
    variance = max(between_prompts, _variance_of_mean_square(parts))
    noise = -mean_square.fair_low
    slopes = (
        noise / (mean_square.df[0] or 1.0),
        variance / (2 * noise + 4 * max(mean_square.value, 0.0)),
    )
    low, high = square_interval(
        mean_square.value + noise,
        mean_square.fair_high + noise,
        noise,
        slopes,
        n_prompts - 1.0,
        level,
    )
    # Both questions have one test, so both intervals begin on the same side of 0.
    low = min(low, mean_square.low) if low > 0 else mean_square.low
    return Inference(ci_low=low, ci_high=high, p=mean_square.p, df=n_prompts - 1.0)


def _variance_of_mean_square(parts: Sequence[Part]) -> float:
    """The variance of a mean of squared leans from that of the leans."""
    covariance = covariance_of_leans([part.influence for part in parts])
    matrix = covariance.matrix / len(parts)
    leans = np.array([part.value for part in parts])
    # Products of errors, which the squares of the leans contain too.
    products = 2.0 * float((matrix**2).sum())
    return max(4.0 * float(leans @ matrix @ leans) / len(parts) - products, products)


def headline_over_judges(
    headlines: Sequence[Headline], prompts: Mapping[str, str], level: float
) -> Headline:
    """The headline over several judges: the mean square of the leans' means.

    Args:
        headlines: One of each judge.
        prompts: The prompt of each row, by its name.
        level: Confidence level, in (0, 1).
    """
    tables = [_leans_by_part(headline) for headline in headlines]
    names = [name for name in tables[0] if all(name in table for table in tables)]
    if not names:
        reasons = [headline.reason for headline in headlines if headline.reason]
        reason = reasons[0] if reasons else "the judges decide different rows"
        return Headline.undefined(reason, "mean_square")
    n_rows = len({_row_name(name) for name in names})
    scale = float(np.sqrt(len(names) / n_rows))
    parts = tuple(
        _mean_part(name, [table[name] for table in tables], scale) for name in names
    )
    squared_leans = _squared_leans(parts, scale)
    mean_square = mean_squared_lean(
        [part.value / scale for part in parts],
        [part.influence.scaled(1.0 / scale) for part in parts],
        n_rows,
        level,
        value=float(np.mean(list(squared_leans.values()))),
    )
    prompts_and_squares = [
        (prompts[row], squared_lean) for row, squared_lean in squared_leans.items()
    ]
    return headline_of_squared_leans(mean_square, parts, prompts_and_squares, level)


def _squared_leans(parts: Sequence[Part], scale: float) -> dict[str, float]:
    """The unbiased squared lean of each row, by its name."""
    squared_leans: dict[str, float] = {}
    for part in parts:
        moves = part.influence.value[part.influence.unit != FLOOR]
        unbiased = (part.value**2 - float((moves**2).sum())) / scale**2
        row = _row_name(part.name)
        squared_leans[row] = squared_leans.get(row, 0.0) + unbiased
    return squared_leans


def _leans_by_part(headline: Headline) -> dict[str, tuple[float, Influence]]:
    """The leans with their influences, without the scale of the headline's parts."""
    n_rows = len({_row_name(part.name) for part in headline.parts})
    factor = float(np.sqrt(n_rows / max(len(headline.parts), 1)))
    return {
        part.name: (part.value * factor, part.influence.scaled(factor))
        for part in headline.parts
    }


def _mean_part(
    name: str, leans: Sequence[tuple[float, Influence]], scale: float
) -> Part:
    """The mean of one lean over judges, on the scale of the headline's parts."""
    weight = scale / len(leans)
    return Part(
        name=name,
        value=scale * float(np.mean([value for value, _ in leans])),
        influence=Influence.combined([(weight, influence) for _, influence in leans]),
    )
