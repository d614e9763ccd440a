"""How much the wording of a prompt matters, as a result's `details` report it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import fdtrc

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.decimals import readable
from t2ibench.methods.core.guided import Wording
from t2ibench.methods.core.headline import HeadlineEstimate
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.lean_controls import GATE
from t2ibench.methods.core.leans import BOTTOM, TOP, Leans
from t2ibench.methods.core.over_stimuli import OverStimuli, over_stimuli
from t2ibench.methods.core.wording_variance import nearest_covariance
from t2ibench.stats.student import satterthwaite

FEWEST = 3  # wordings; two do not show how others would differ
Groups = Sequence[tuple[str, IntArray, IntArray]]


def in_wordings(leans: Leans, numbers: Sequence[int]) -> Leans:
    """Return the leans in the chosen wordings only, along the directions that all of them give."""
    images = [[wordings[number] for number in numbers] for wordings in leans.images]
    return Leans.along(leans.names, images, leans.directions)


def by_wording(leans: Leans) -> tuple[Float64Array, Float64Array]:
    """Return the numerator N and the distance D of each stimulus's lean in each wording.

    Each has the shape (stimuli, wordings).
    """
    return leans.by_wording @ TOP, leans.by_wording @ BOTTOM


def over_stimuli_and_wordings(
    top: Float64Array, bottom: Float64Array, groups: Groups, level: float
) -> OverStimuli:
    """Return a ratio of means over a sample of stimuli, and of wordings if three or more.

    Stimuli j of a group and wordings t are crossed random factors. With W = N - v D at the value v
    and its mean over a group's stimuli, summed over groups, c_t, the variance of the value is

    variance over stimuli of the means over wordings / stimuli, by group (as in `over_stimuli`)
    + max(0, variance of c_t / wordings - interaction of stimulus and wording)

    The first part holds the interaction once, so it is taken from the second. The degrees of
    freedom of that are those of c_t times the square of the share that is left of it, at least 1;
    both are put together after Satterthwaite (1946).

    Source: Cameron, Gelbach and Miller 2011, "Robust inference with multiway clustering".
    """
    over = over_stimuli(top.mean(axis=1), bottom.mean(axis=1), groups, level)
    count = top.shape[1]
    if count < FEWEST or not np.isfinite(over.half_width):
        return over
    both = np.stack([top, bottom])
    means_of_groups = [both[:, at].mean(axis=1) for _, at, _ in groups]
    means = np.sum(means_of_groups, axis=0)
    residuals = means - means.mean(axis=1, keepdims=True)
    products = residuals @ residuals.T
    raw = products / (count * (count - 1))
    interaction = _wording_scores_interaction(both, groups)
    extra = nearest_covariance(raw - interaction)
    sums = means.mean(axis=1)
    weights = np.array([1.0, -over.value])
    part = float(weights @ extra @ weights)
    whole = float(weights @ raw @ weights)
    if not part > 0:
        return over
    # Covariance of the means of N and of D over stimuli.
    by_group = [np.cov(both[:, at].mean(axis=2)) / len(at) for _, at, _ in groups]
    stimuli = np.sum(by_group, axis=0)
    share_of_part = min(part / whole, 1.0)
    df_of_wordings = max((count - 1) * share_of_part**2, 1.0)
    of_stimuli = float(weights @ stimuli @ weights)
    df_of_stimuli = len(top) - len(groups)
    variances = [of_stimuli, part]
    _, freedom = satterthwaite(variances, [df_of_stimuli, df_of_wordings])
    covariance = stimuli + extra
    moved = weights @ residuals
    squared_moves = float(moved @ moved)
    scale = np.sqrt(part / squared_moves) / sums[1]
    from_wordings = Influence(
        strata=("wordings",),
        stratum=np.zeros(count, np.int64),
        unit=np.arange(count),
        value=np.asarray(moved * scale),
    )
    influence = Influence.combined([(1.0, over.influence), (1.0, from_wordings)])
    return OverStimuli.of(over.value, sums, covariance, freedom, influence, level)


def _wording_scores_interaction(both: Float64Array, groups: Groups) -> Float64Array:
    """Return what the interaction of stimulus and wording adds to the means' covariance.

    Shape (2, 2), for the means of N and of D.
    """
    count = both.shape[2]
    total = np.zeros((2, 2))
    for _, at, _ in groups:
        part = both[:, at]
        residuals = (
            part - part.mean(axis=2, keepdims=True) - part.mean(axis=1, keepdims=True)
        )
        residuals += part.mean(axis=(1, 2), keepdims=True)
        squares = np.einsum("ikt,jkt->ij", residuals, residuals)
        total += squares / ((len(at) - 1) * (count - 1) * len(at) * count)
    return total


_INDISTINCT = "the encoder hardly tells the images with either attribute apart in it"
_ALPHA = 0.05
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_MEAN = {"lean": "the headline", "mean_square": "the mean lean"}


@dataclass(frozen=True, slots=True)
class PartScore:
    """The headline in one wording, or in the wordings of one language."""

    name: str  # the neutral template, or the language
    language: str | None  # the language; None where none is named
    wordings: int  # how many wordings
    value: float | None  # the headline; None with a reason
    ci_low: float | None  # lower end of its interval, with these wordings fixed
    ci_high: float | None
    reason: str | None = None  # why there is no value or no interval


@dataclass(frozen=True, slots=True)
class WordingReport:
    """How a score depends on the wording of its prompts."""

    pair: str | None  # the pair of groups, where a task compares several
    scale: str  # of the values: that of the headline
    # whether the headline's interval is about 'other wordings' like these, or about 'these
    # wordings' alone
    interval_about: Literal["other wordings", "these wordings"]
    by_wording: list[PartScore]  # the headline in each wording
    # the headline in each language, where there are several
    by_language: list[PartScore]
    # standard deviation, over wordings, of the signed mean lean; its noise is taken out
    sd: float
    p: float | None  # p-value that the mean lean is the same in every wording
    sentence: str  # the same in words


def wording_report(
    leans: Leans,
    wordings: Sequence[Wording],
    groups: Groups,
    signed: tuple[Float64Array, Float64Array],
    headline: Callable[[Leans], HeadlineEstimate],
    *,
    pair: str | None = None,
    about_others: bool | None = None,
) -> WordingReport | None:
    """Return how much the headline and leans depend on the wording; None with one wording."""
    count = len(wordings)
    if count < 2:
        return None

    def part(name: str, language: str | None, numbers: list[int]) -> PartScore:
        chosen = in_wordings(leans, numbers)
        if not chosen.separation > GATE:
            return PartScore(
                name, language, len(numbers), None, None, None, _INDISTINCT
            )
        scored = headline(chosen)
        inference = scored.chosen
        return PartScore(
            name,
            language,
            len(numbers),
            scored.value,
            inference.ci_low,
            inference.ci_high,
            scored.reason or inference.reason,
        )

    languages: dict[str, list[int]] = {}
    for t, wording in enumerate(wordings):
        if wording.language:
            languages.setdefault(wording.language, []).append(t)
    others = count >= FEWEST if about_others is None else about_others
    by_language = []
    if len(languages) > 1:
        by_language = [part(name, name, at) for name, at in languages.items()]
    by_wording = [
        part(wording.neutral, wording.language, [t])
        for t, wording in enumerate(wordings)
    ]
    sd, p = _between(*signed, groups)
    report = WordingReport(
        pair=pair,
        scale=headline(leans).scale,
        interval_about="other wordings" if others else "these wordings",
        by_wording=by_wording,
        by_language=by_language,
        sd=sd,
        p=p,
        sentence="",
    )
    return replace(report, sentence=_sentence(report))


def _between(
    top: Float64Array, bottom: Float64Array, groups: Groups
) -> tuple[float, float | None]:
    """Return the standard deviation of the mean lean over wordings, and the p-value that it is 0.

    With W = N - v D at the pooled value v, c_t the sum over groups of W's mean over stimuli, and
    M the part of its variance that the interaction of stimulus and wording explains,
    F = variance of c_t / M; sd² = (variance of c_t - M) / (sum of D)².
    """
    positions = [at for _, at, _ in groups]
    sum_of_tops = sum(top[at].mean() for at in positions)
    sum_of_bottoms = sum(bottom[at].mean() for at in positions)
    value = float(sum_of_tops / sum_of_bottoms)
    moved = top - value * bottom
    count = moved.shape[1]
    means_of_groups = [moved[at].mean(axis=0) for at in positions]
    means = np.sum(means_of_groups, axis=0)
    parts = []
    dfs = []
    for at in positions:
        size = len(at)
        if size < 2:
            return 0.0, None
        interaction = _interaction(moved[at])
        parts.append(float(interaction / size))
        dfs.append(float((size - 1) * (count - 1)))
    noise, df = satterthwaite(parts, dfs)
    between = float(means.var(ddof=1))
    true_variance = max(between - noise, 0.0)
    sd = float(np.sqrt(true_variance) / abs(sum_of_bottoms))
    if not noise > 0:
        return sd, None
    return sd, float(fdtrc(count - 1, df, between / noise))


def _interaction(cells: Float64Array) -> float:
    """Return the mean square of the interaction of stimulus (row) and wording (column)."""
    k, count = cells.shape
    residuals = (
        cells - cells.mean(axis=1, keepdims=True) - cells.mean(axis=0) + cells.mean()
    )
    return float((residuals**2).sum() / ((k - 1) * (count - 1)))


def _sentence(report: WordingReport) -> str:
    clauses = []
    scored = [part for part in report.by_wording if part.value is not None]
    if len(scored) > 1:
        low = min(scored, key=lambda part: part.value or 0.0)
        high = max(scored, key=lambda part: part.value or 0.0)
        clauses.append(
            f"headline by wording: {_shown(low, report.scale)} to "
            f"{_shown(high, report.scale)}"
        )
    if report.p is not None:
        p = f"p = {report.p:.2g}"
        if report.p < _ALPHA:
            moves = f"moves with the wording (standard deviation {report.sd:.2f}, {p})"
        else:
            moves = f"does not move with the wording beyond chance ({p})"
        clauses.append(f"{_MEAN.get(report.scale, 'the mean lean')} {moves}")
    text = "; ".join(clauses)
    about = (
        "The interval is about other wordings, too."
        if report.interval_about == "other wordings"
        else "The interval is about these wordings alone."
    )
    return f"{text[:1].upper()}{text[1:]}. {about}" if text else about


def _shown(part: PartScore, scale: str) -> str:
    value = part.value or 0.0
    name = _PLACEHOLDER.sub("…", part.name)
    if scale == "mean_square":
        return f'{np.sqrt(max(value, 0.0)):.2f} rms ("{name}")'
    return f'{readable(value, 2, sign=True)} ("{name}")'
