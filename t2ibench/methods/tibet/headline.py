"""The headline of a TIBET task: the mean squared lean over prompts and axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.methods.core.headline import HeadlineEstimate, Part
from t2ibench.methods.core.inference import HeadlineInference, Inference, Question
from t2ibench.methods.tibet.alternatives import farthest_from_even, nearest_to_even
from t2ibench.methods.tibet.axis_shares import AxisShares
from t2ibench.methods.tibet.lean_covariance import covariance_of_leans
from t2ibench.methods.tibet.squared_lean import mean_squared_lean_of_axes
from t2ibench.stats.squares import MeanSquare, square_interval

# Stands before the number of a lean in the name of its part, where a row has several.
_NUMBER = " #"


def headline_of_axes(axes: Sequence[AxisShares], level: float) -> HeadlineEstimate:
    """Return the headline over prompts and axes, allowing for every possible mixture.

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
    combined = replace(
        shown.inference, by_question=inference, fair=_fair_band(shown, nearest)
    )
    return replace(shown, inference=combined)


def _fair_band(
    shown: HeadlineEstimate, nearest: HeadlineEstimate
) -> tuple[float, float] | None:
    """Return the fair band of a headline whose answers allow several mixtures.

    The mixture that is shown may lean although the model is fair: images without an answer may all
    be of one kind. The band is that of the mixtures nearest to even ones, and as much wider as
    these are nearer to even.
    """
    if shown.fair is None or nearest.fair is None:
        return shown.fair
    low, high = shown.fair
    farther = (shown.value or 0.0) - (nearest.value or 0.0)
    return low, max(high, nearest.fair[1] + farther)


def _headline_of_mixtures(axes: Sequence[AxisShares], level: float) -> HeadlineEstimate:
    """Return the headline of the given mixtures, without their alternatives."""
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


def row_of_part(part: str) -> str:
    """Return the name of the row that a part of the headline belongs to."""
    return part.rpartition(_NUMBER)[0] or part


def headline_of_squared_leans(
    mean_square: MeanSquare,
    parts: tuple[Part, ...],
    rows: Sequence[tuple[str, float]],
    level: float,
) -> HeadlineEstimate:
    """Return a mean squared lean as a headline, about these prompts and others like them.

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
    return HeadlineEstimate(
        value=mean_square.value,
        scale="mean_square",
        inference=HeadlineInference(
            by_question=inference,
            question="fixed_prompts",
            fair=(mean_square.fair_low, mean_square.fair_high),
            test="f",
        ),
        parts=parts,
    )


def _inference_on_population(
    mean_square: MeanSquare,
    parts: Sequence[Part],
    rows: Sequence[tuple[str, float]],
    level: float,
) -> Inference:
    """Return the inference on the mean squared lean for other prompts like these.

    Its variance is that between prompts, but at least that of the leans.
    """
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
    """Return the variance of the mean squared lean, from the leans' covariance."""
    covariance = covariance_of_leans([part.influence for part in parts])
    matrix = covariance.matrix / len(parts)
    leans = np.array([part.value for part in parts])
    # Products of errors, which the squares of the leans contain too.
    products = 2.0 * float((matrix**2).sum())
    return max(4.0 * float(leans @ matrix @ leans) / len(parts) - products, products)
