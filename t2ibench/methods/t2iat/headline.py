"""The headline of a T2IAT: half the difference of the mean leans of X and Y."""

from __future__ import annotations

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.headline import HeadlineEstimate, Part
from t2ibench.methods.core.inference import HeadlineInference, Inference, Question
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.over_stimuli import bounded
from t2ibench.methods.core.wording_report import by_wording, over_stimuli_and_wordings
from t2ibench.methods.t2iat.sides import SIDES, Sides


def headline_of(leans: Leans, sides: Sides, level: float) -> HeadlineEstimate:
    """Return the headline: half the difference of the mean leans of X and of Y.

    L = (mean N of X / mean D of X - mean N of Y / mean D of Y) / 2. With the middle c
    of both leans, L is a ratio of sums: of s (N - c D) and of D, each over the mean of
    D over its concept, where s is 1 for X and -1 for Y. So what both lean by cancels,
    even where the encoder tells A from B better in X than in Y.
    """
    top, bottom = signed_parts(leans, sides)
    population = over_stimuli_and_wordings(top, bottom, sides.groups, level)
    unit = sides.weights(leans.bottom)
    middle = float(unit @ leans.top) / 2
    signed = sides.signs * unit
    fixed = leans.contrast(signed, unit, level, less=middle * signed, wordings=False)
    inference: dict[Question, Inference] = {
        "fixed_prompts": bounded(
            float(fixed.low), float(fixed.high), float(fixed.p), float(fixed.df)
        ),
        "prompt_population": population.inference,
    }
    moved = middle * signed + population.value * unit
    of_images = Influence.combined(
        [
            (0.5, leans.influence(number, weight, moved[number], wordings=False))
            for number, weight in enumerate(signed)
        ]
    )
    others: dict[Question, Influence] = {}
    if population.inference.p is not None:
        question: Question = "prompt_population"
        influence = population.influence
        half_width = population.half_width
        others["fixed_prompts"] = of_images
    else:
        question = "fixed_prompts"
        influence = of_images
        half_width = float("nan")
    value = population.value / noise_factor(leans)
    has_variance = np.isfinite(influence.variance)
    return HeadlineEstimate(
        value=value,
        scale="lean",
        inference=HeadlineInference(
            by_question=inference,
            question=question,
            fair=(-half_width, half_width) if np.isfinite(half_width) else None,
        ),
        parts=(Part("", value, influence),) if has_variance else (),
        other_influences=others,
    )


def signed_parts(leans: Leans, sides: Sides) -> tuple[Float64Array, Float64Array]:
    """Return the headline's numerator and denominator, for each stimulus and wording."""
    unit = sides.weights(leans.bottom)
    middle = float(unit @ leans.top) / 2
    scale = (unit / np.diag(sides.means))[:, None]
    top, bottom = by_wording(leans)
    signed = sides.signs[:, None] * (top - middle * bottom)
    return signed * scale, bottom * scale


def noise_factor(leans: Leans) -> float:
    """Return the factor by which noise in denominators enlarges the headline and mean leans."""
    return 1.0 + 1.5 / leans.separation**2


def mean_leans(leans: Leans, sides: Sides, level: float) -> dict[str, Estimate]:
    """Return the mean lean of X's stimuli, and of Y's, as scores."""
    scores = {}
    top, bottom = by_wording(leans)
    for side, (name, at, numbers) in zip(SIDES, sides.groups, strict=True):
        group = [(name, np.arange(len(at)), numbers)]
        mean = over_stimuli_and_wordings(top[at], bottom[at], group, level)
        scores[f"lean_of_{side.lower()}"] = mean.estimate(noise_factor(leans))
    return scores


def amplification(
    headline: HeadlineEstimate, in_text: float | None, without_text: str | None
) -> dict[str, Estimate]:
    """Return two scores: the lean of the words, and how much further images lean that way."""
    if in_text is None or headline.value is None:
        reason = without_text or "the texts with either attribute do not differ"
        undefined = Estimate.undefined(reason)
        return {"lean_text": undefined, "amplification": undefined}
    sign = 1.0 if in_text >= 0 else -1.0
    interval = None
    if headline.chosen.interval is not None:
        low, high = sorted(sign * (end - in_text) for end in headline.chosen.interval)
        interval = (low, high)
    further = sign * (headline.value - in_text)
    return {
        "lean_text": Estimate(in_text),
        "amplification": Estimate(further, interval=interval),
    }
