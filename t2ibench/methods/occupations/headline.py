"""The mean squared lean over stimuli and pairs of groups, with its controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core import lean_controls
from t2ibench.methods.core.controls import Control
from t2ibench.methods.core.headline import Headline, Inference, Part, Question
from t2ibench.methods.occupations.leans import PairLeans
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings
from t2ibench.stats.squares import mean_square

_NO_POPULATION = (
    "an interval of a root mean square over so few stimuli would not cover it as often as it says; "
    "lean_mean_like_these is about other stimuli"
)
_SINGLE = "a prompt has a single image, whose variance is unknown"


@dataclass(frozen=True, slots=True)
class _Scaled:
    """N and D of every stimulus and pair, each pair's D of mean square 1; flat over pairs.

    Attributes:
        top: N.
        top_variance: Its variance.
        top_df: Degrees of freedom of that.
        bottom: D.
        bottom_variance: Its variance.
        scales: What each pair's N and D were divided by.
    """

    top: Float64Array
    top_variance: Float64Array
    top_df: Float64Array
    bottom: Float64Array
    bottom_variance: Float64Array
    scales: list[float]

    @classmethod
    def of(cls, pairs: Sequence[PairLeans]) -> _Scaled:
        parts, scales = [], []
        for found in pairs:
            leans = found.leans
            u = leans.bottom_variance
            square = float((leans.bottom**2 - u).mean())
            scale = float(np.sqrt(square)) if square > 0 else 1.0  # the gate is shut then
            v, f = leans.top_variance
            parts.append([leans.top / scale, v / scale**2, f, leans.bottom / scale, u / scale**2])
            scales.append(scale)
        top, variance, df, bottom, noise = np.concatenate(parts, axis=1)
        return cls(top, variance, df, bottom, noise, scales)

    @property
    def shrinkage(self) -> float:
        """Root of the factor by which the noise of D enlarges a mean square."""
        d, u = self.bottom**2, self.bottom_variance
        curvature = float((4 * d * u - 2 * u**2).sum() / (d - u).sum() ** 2)
        return float(np.sqrt(1 + curvature))


def headline_of(pairs: Sequence[PairLeans], level: float) -> Headline:
    """The unbiased mean of the squared leans of all stimuli, and pairs of groups.

    R² = Σ (N² - V) / Σ (D² - U), less the noise of its denominator; `stats.squares.mean_square`
    holds the formula, its test and its interval.
    """
    scaled = _Scaled.of(pairs)
    if not np.isfinite(scaled.top_variance).all():
        return Headline.undefined(_SINGLE, "mean_square")
    found = mean_square(
        scaled.top,
        scaled.top_variance,
        scaled.top_df,
        scaled.bottom,
        scaled.bottom_variance,
        level,
        _degrees(pairs, scaled),
    )
    reason = next((one.gate.contradicts for one in pairs if one.gate.contradicts), None)
    like = Inference(reason=_NO_POPULATION)
    if reason is not None:
        these = Inference(p=found.p, df=found.df[1], reason=reason)
        inference: dict[Question, Inference] = {"these": these, "like_these": like}
        return Headline(None, "mean_square", "these", inference, test="f", reason=reason)
    these = Inference(found.low, found.high, found.p, found.df[1])
    return Headline(
        found.value,
        "mean_square",
        "these",
        {"these": these, "like_these": like},
        (found.fair_low, found.fair_high),
        _parts(pairs, scaled),
        "f",
    )


def _degrees(pairs: Sequence[PairLeans], scaled: _Scaled) -> tuple[float, float] | None:
    """Degrees of freedom of the F test where they are not those of independent leans.

    The pairs of groups share their images. Taken as if each stimulus had one lean only, the test
    is the cautious one.
    """
    wordings = [one.leans.wordings for one in pairs]
    known = [one.f_test for one in wordings if one is not None]
    if known:
        return min(h for h, _ in known), min(h2 for _, h2 in known)
    if len(pairs) == 1:
        return None
    v = scaled.top_variance.reshape(len(pairs), -1).sum(axis=0)
    f = scaled.top_df.reshape(len(pairs), -1).min(axis=0)
    total = float(v.sum()) ** 2
    return total / float((v**2 * f / (f + 2)).sum()), total / float((v**2 / (f + 2)).sum())


def _parts(pairs: Sequence[PairLeans], scaled: _Scaled) -> tuple[Part, ...]:
    """The lean of each stimulus over the common length of D, for comparing two runs.

    The influence counts the noise of D, which the square of N has no part of: it is put back into
    the value, so that the mean of value² - variance is the headline.
    """
    parts = []
    for found, scale in zip(pairs, scaled.scales, strict=True):
        unit = scale * scaled.shrinkage
        variances = found.leans.top_variance[0] / unit**2
        for number, name in enumerate(found.leans.names):
            value = float(found.leans.top[number]) / unit
            influence = found.leans.influence(number, 1 / unit, value / unit)
            square = max(value**2 - variances[number] + influence.variance, 0.0)
            noisy = float(np.copysign(np.sqrt(square), value))
            parts.append(Part(f"{name}{found.pair.suffix}", noisy, influence))
    return tuple(parts)


def controls_of(
    task: OccupationsTask, pairs: Sequence[PairLeans], headline: Headline, settings: Settings
) -> dict[str, Control]:
    """What the test shows where there is nothing to show."""
    controls = {f"separation{one.pair.suffix}": one.gate for one in pairs}
    texts = np.concatenate([one.in_text for one in pairs])
    in_text = float(np.sqrt((texts**2).mean())) if np.isfinite(texts).all() else None
    controls["text_only"] = lean_controls.text_control(in_text, "rms lean")
    if headline.value is None:
        return controls
    scaled = _Scaled.of(pairs)
    squares = _shuffled(task, pairs, scaled, settings)
    if squares is not None:
        controls["shuffled"] = lean_controls.shuffled_control(
            headline.value, headline.p, squares, "mean squared lean"
        )
    for one, scale in zip(pairs, scaled.scales, strict=True):
        found = lean_controls.halves(one.leans)
        if found is not None:
            difference, variances, dfs = found
            p = mean_square(difference, variances, dfs).p if variances.all() else 1.0
            value = float(difference.mean()) / scale
            controls[f"halves{one.pair.suffix}"] = lean_controls.halves_control(value, p)
    return controls


def _shuffled(
    task: OccupationsTask, pairs: Sequence[PairLeans], scaled: _Scaled, settings: Settings
) -> Float64Array | None:
    """The headline with shuffled labels, shape (shuffles,)."""
    squares = []
    for one, scale in zip(pairs, scaled.scales, strict=True):
        rng = settings.rng(task.id, f"shuffled labels{one.pair.suffix}")
        found = lean_controls.shuffled(one.leans, rng)
        if found is None:
            return None
        top, variance = found
        squares.append((top**2 - variance).mean(axis=0) / (scale * scaled.shrinkage) ** 2)
    mean: Float64Array = np.mean(squares, axis=0)
    return mean
