"""The headline of an occupations task: the mean squared lean over stimuli and pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.headline import HeadlineEstimate, Part
from t2ibench.methods.core.inference import HeadlineInference, Inference, Question
from t2ibench.methods.occupations.leans import PairLeans
from t2ibench.stats.squares import mean_square

_NO_POPULATION = (
    "an interval of a root mean square over so few stimuli would not cover it as often as stated; "
    "lean_mean_prompt_population is about other stimuli"
)
_SINGLE = "a prompt has a single image, whose variance is unknown"


@dataclass(frozen=True, slots=True)
class ScaledLeans:
    """The numerators N and denominators D of all leans, on one scale for every pair of groups.

    Each pair's D has a mean square of 1. The arrays are flat over stimuli and pairs of
    groups.

    Attributes:
        top: N, shape (n,).
        top_variance: Variance of N, shape (n,).
        top_df: Degrees of freedom of that variance, shape (n,).
        top_variance_along: Variance of N at the leans that were measured, shape (n,).
        bottom: D, shape (n,).
        bottom_variance: Variance of D, shape (n,).
        scales: What each pair's N and D were divided by.
    """

    top: Float64Array
    top_variance: Float64Array
    top_df: Float64Array
    top_variance_along: Float64Array
    bottom: Float64Array
    bottom_variance: Float64Array
    scales: list[float]

    @classmethod
    def of(cls, pairs: Sequence[PairLeans]) -> ScaledLeans:
        """Return the leans of all pairs, scaled so that each pair's mean squared distance is 1."""
        parts = []
        scales = []
        for pair in pairs:
            leans = pair.leans
            bottom_variance = leans.bottom_variance
            square = float((leans.bottom**2 - bottom_variance).mean())
            # Where it is not above 0, the encoder does not tell the groups apart: no lean is shown.
            scale = float(np.sqrt(square)) if square > 0 else 1.0
            variance, df = leans.top_variance
            parts.append(
                [
                    leans.top / scale,
                    variance / scale**2,
                    df,
                    leans.top_variance_along / scale**2,
                    leans.bottom / scale,
                    bottom_variance / scale**2,
                ]
            )
            scales.append(scale)
        rows = np.concatenate(parts, axis=1)
        return cls(
            top=rows[0],
            top_variance=rows[1],
            top_df=rows[2],
            top_variance_along=rows[3],
            bottom=rows[4],
            bottom_variance=rows[5],
            scales=scales,
        )

    @property
    def enlargement(self) -> float:
        """Root of the factor by which noise in the distances D enlarges a mean squared lean."""
        d = self.bottom**2
        u = self.bottom_variance
        curvature = float((4 * d * u - 2 * u**2).sum() / (d - u).sum() ** 2)
        return float(np.sqrt(1 + curvature))


def headline_of(pairs: Sequence[PairLeans], level: float) -> HeadlineEstimate:
    """Return the unbiased mean of the squared leans of all stimuli and pairs of groups.

    R² = Σ (N² - V) / Σ (D² - U), less the noise of its denominator; `stats.squares.mean_square`
    holds the formula, its test and its interval.
    """
    scaled = ScaledLeans.of(pairs)
    if not np.isfinite(scaled.top_variance).all():
        return HeadlineEstimate.undefined(_SINGLE, "mean_square")
    square = mean_square(
        scaled.top,
        scaled.top_variance,
        scaled.top_df,
        scaled.bottom,
        scaled.bottom_variance,
        level,
        degrees_of_f_test(pairs, scaled.top_variance, scaled.top_df),
        along_variances=scaled.top_variance_along,
    )
    reason = next((pair.unclear for pair in pairs if pair.unclear), None)
    low = None if reason else square.low
    high = None if reason else square.high
    inference: dict[Question, Inference] = {
        "fixed_prompts": Inference(low, high, square.p, square.df[1], reason),
        "prompt_population": Inference(reason=_NO_POPULATION),
    }
    return HeadlineEstimate(
        value=None if reason else square.value,
        scale="mean_square",
        inference=HeadlineInference(
            by_question=inference,
            question="fixed_prompts",
            fair=None if reason else (square.fair_low, square.fair_high),
            test="f",
        ),
        parts=() if reason else _parts(pairs, scaled),
        reason=reason,
    )


def degrees_of_f_test(
    pairs: Sequence[PairLeans], variances: Float64Array, dfs: Float64Array
) -> tuple[float, float] | None:
    """Return the F test's degrees of freedom for leans that share images.

    None where the leans do not vary.

    The pairs of groups share their images. Taken as if each stimulus had one lean only, the test
    is the cautious one.
    """
    wordings = [pair.leans.wordings for pair in pairs]
    of_wordings = [variance.f_test for variance in wordings if variance is not None]
    if of_wordings:
        return min(h for h, _ in of_wordings), min(h2 for _, h2 in of_wordings)
    v = variances.reshape(len(pairs), -1).sum(axis=0)
    f = dfs.reshape(len(pairs), -1).min(axis=0)
    total = float(v.sum()) ** 2
    if not total > 0:
        return None
    h = min(total / float((v**2 * f / (f + 2)).sum()), float(len(v)))
    return h, total / float((v**2 / (f + 2)).sum())


def _parts(pairs: Sequence[PairLeans], scaled: ScaledLeans) -> tuple[Part, ...]:
    """Return each stimulus's lean as a part of the headline, for comparing two runs.

    It is N over the common length of D. Its influence counts the noise of D, which the
    square of N has no part of: it is put back into the value, so that the mean of
    value² - variance is the headline.
    """
    parts = []
    for pair, scale in zip(pairs, scaled.scales, strict=True):
        leans = pair.leans
        unit = scale * scaled.enlargement
        variances = leans.top_variance[0] / unit**2
        for number, name in enumerate(leans.names):
            lean = float(leans.top[number]) / unit
            influence = leans.influence(number, 1 / unit, lean / unit)
            square = max(lean**2 - variances[number] + influence.variance, 0.0)
            value = float(np.copysign(np.sqrt(square), lean))
            parts.append(Part(f"{name}{pair.pair.suffix}", value, influence))
    return tuple(parts)
