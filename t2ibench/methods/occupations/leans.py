"""The leans of stimuli to the groups of a pair, and the scores of the task that sum them up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.methods.core import lean_controls
from t2ibench.methods.core.describe import GROUP, people
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import (
    Control,
    Headline,
    Inference,
    Part,
    Question,
    contradiction,
)
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.lean_scores import (
    contrast_score,
    noise,
    of_ratio,
    row_scores,
)
from t2ibench.methods.core.leans import BOTTOM, TOP, Leans
from t2ibench.methods.core.obedience import bounds, breakdown
from t2ibench.methods.core.over_stimuli import UNBOUNDED, over_stimuli
from t2ibench.methods.core.schema import Concept
from t2ibench.methods.core.stimulus_images import StimulusImages, text_leans
from t2ibench.methods.core.text_vectors import lacking
from t2ibench.methods.occupations.design import GroupPair
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings
from t2ibench.stats import holm
from t2ibench.stats.squares import mean_square

_UNKNOWN = "its share is not known"
_NO_DIRECTION = "there is no direction to go further in"
_NO_TEXT = "the encoder has no vectors of its texts"


def _beyond_shares(
    found: PairLeans, reference: Float64Array, leaning: Sequence[Estimate], level: float
) -> list[Estimate]:
    """The share of a group that each lean stands for, less the known one, in points of share.

    A mixture with a share P of the group has the lean 2 P - 1 towards it, so the share is
    (1 + lean) / 2 and its distance from a known share half of that of the leans. Known shares are
    taken as exact.
    """
    ratios = found.leans.rows(level, np.nan_to_num(reference))
    return [
        of_ratio(ratios, (number,), leaning[number].influence).scaled(
            found.known_sign / 2
        )
        if np.isfinite(point)
        else Estimate.undefined(_UNKNOWN)
        for number, point in enumerate(reference)
    ]


_FEWEST_FIXED, _FEWEST_RANDOM = 3, 4  # stimuli for a slope


@dataclass(frozen=True, slots=True)
class PairLeans:
    """The leans of every stimulus with one pair of groups."""

    pair: GroupPair
    leans: Leans  # the leans; a positive one is towards the first group
    # the leans of the prompts' texts, shape (stimuli,); nan where the texts do not differ by group
    in_text: Float64Array
    # 2 P - 1 of the known share P of the first group, shape (stimuli,); nan where it is not known.
    # None without a reference for this pair
    reference: Float64Array | None
    # name to control: whether the encoder tells the groups apart, and whether enough images are
    # left to allow for unequal spread
    gates: dict[str, Control]
    # whether the texts of each stimulus have no vector, shape (stimuli,)
    without_text: BoolArray
    # the group that the reference has the shares of; '' without one
    known_group: str = ""

    @property
    def unclear(self) -> str | None:
        """Why the leans have no values; None where they have."""
        return contradiction(self.gates)

    @property
    def known_sign(self) -> float:
        """1 where positive leans are towards the group of the reference, -1 where negative are."""
        return 1.0 if self.known_group == self.pair.first.name else -1.0


def pair_leans(
    task: OccupationsTask,
    pair: GroupPair,
    images: Sequence[StimulusImages],
    evidence: Evidence,
) -> PairLeans:
    """Measure the leans with one pair of groups."""
    names, groups = [one.name for one in images], pair.names
    leans = Leans.of(names, [one.wording_images(*groups) for one in images])
    top, bottom = text_leans(images, *groups, evidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        in_text = np.where(bottom > 0, top / bottom, np.nan)
    gates = {
        "separation": lean_controls.separation(leans, *groups),
        "spread": lean_controls.lean_spread(leans, *groups),
    }
    known = task.reference.group if task.reference is not None else ""
    without_text = np.isnan(bottom)
    shares = _known_leans(task, pair, names)
    return PairLeans(pair, leans, in_text, shares, gates, without_text, known)


def _known_leans(
    task: OccupationsTask, pair: GroupPair, names: Sequence[str]
) -> Float64Array | None:
    reference = task.reference
    if reference is None or len(task.groups) > 2:
        # of three groups, one share does not say what is left of the other two
        return None
    shares = np.array([reference.shares.get(name, np.nan) for name in names])
    return (2 * shares - 1) * (1.0 if reference.group == pair.first.name else -1.0)


def pair_rows(found: PairLeans, level: float) -> list[dict[str, Estimate]]:
    """The scores of every stimulus, with the pair's suffix."""
    leans, suffix = found.leans, found.pair.suffix
    columns = {"lean": row_scores(leans, level)}
    columns["lean_breakdown"] = [breakdown(lean) for lean in columns["lean"]]
    columns["amplification"] = _beyond(leans, found.in_text, level)
    if found.reference is not None:
        beyond = _beyond_shares(found, found.reference, columns["lean"], level)
        columns[f"share_minus_reference:{found.known_group}"] = beyond
    if found.unclear is not None:
        columns = {
            name: [estimate.undecided(found.unclear) for estimate in column]
            for name, column in columns.items()
        }
    columns["lean_text"] = [
        Estimate(
            float(value),
            reason=_NO_TEXT
            if without_text
            else "the texts of the groups do not differ",
        )
        for value, without_text in zip(found.in_text, found.without_text, strict=True)
    ]
    return [
        {f"{name}{suffix}": column[number] for name, column in columns.items()}
        for number in range(len(leans.names))
    ]


def _beyond(leans: Leans, points: Float64Array, level: float) -> list[Estimate]:
    """How much further than a point each stimulus leans, in the point's own direction."""
    found = leans.rows(level, np.nan_to_num(points))
    return [
        of_ratio(found, (number,)).scaled(float(np.sign(point)))
        if np.isfinite(point) and point != 0
        else Estimate.undefined(_NO_DIRECTION)
        for number, point in enumerate(points)
    ]


def pair_scores(found: PairLeans, level: float) -> dict[str, Estimate]:
    """The scores of the task, with the pair's suffix."""
    leans = found.leans
    count = len(leans.names)
    each, numbers = np.full(count, 1.0 / count), np.arange(count)
    whole = over_stimuli(
        leans.top, leans.bottom, [("stimuli", numbers, numbers)], level
    )
    scores = {
        "lean_mean": contrast_score(leans, each, each, level),
        "lean_mean_prompt_population": whole.estimate(noise(leans)),
        "amplification_mean": _mean_beyond(leans, found.in_text, level),
    }
    if found.reference is not None:
        scores |= _slopes(leans, found.reference, level)
    if found.unclear is not None:
        scores = {
            name: estimate.undecided(found.unclear) for name, estimate in scores.items()
        }
    return {f"{name}{found.pair.suffix}": estimate for name, estimate in scores.items()}


def _mean_beyond(leans: Leans, points: Float64Array, level: float) -> Estimate:
    """Mean over stimuli of how much further than a point they lean, in its direction."""
    known = np.isfinite(points) & (points != 0)
    count = int(known.sum())
    if count == 0:
        return Estimate.undefined(_NO_DIRECTION)
    signs = np.where(known, np.sign(np.nan_to_num(points)), 0.0)
    less = signs * np.nan_to_num(points) / count
    return contrast_score(leans, signs / count, known / count, level, less)


def _slopes(leans: Leans, reference: Float64Array, level: float) -> dict[str, Estimate]:
    """Slope of the leans on the reference's, for these stimuli and for others like them.

    Where lean_j = α + β x_j, N_j = α D_j + β x_j D_j. Centred at the mean of x with the weights D,
    Σ c N / Σ c x D is β whatever the D_j are: least squares with these weights.
    """
    known = np.isfinite(reference)
    x, d, n = reference[known], leans.bottom[known], leans.top[known]
    count, reason = len(x), UNBOUNDED
    centred = x - (x @ d) / d.sum()
    scale = float(centred @ (x * d))
    if count < _FEWEST_FIXED or not np.ptp(x) > 0 or not d.sum() > 0:
        reason, scale = "fewer than three stimuli have different reference shares", 0.0
    if not scale > 0:
        nothing = Estimate.undefined(reason)
        return {"slope": nothing, "slope_prompt_population": nothing}
    value = float(centred @ n) / scale
    intercept = float(n.sum() - value * (x @ d)) / float(d.sum())
    weights, below = np.zeros(len(reference)), np.zeros(len(reference))
    weights[known], below[known] = centred, centred * x
    fixed = contrast_score(leans, weights, below, level, intercept * weights)
    random = Estimate.undefined("fewer than four stimuli have a reference share")
    if count >= _FEWEST_RANDOM:
        residuals = n - intercept * d - value * x * d
        leverage = d / d.sum() + centred**2 * d / scale
        # The variance HC3 (MacKinnon and White 1985), and t(k - 2).
        moved = centred / scale * residuals / (1 - leverage)
        corrected, variance = value / noise(leans), float(moved @ moved)
        random = Estimate(corrected)
        if np.isfinite(variance) and variance > 0:
            random = Estimate.from_t(corrected, variance, count - 2, level)
    return {"slope": fixed, "slope_prompt_population": random}


_NO_POPULATION = (
    "an interval of a root mean square over so few stimuli would not cover it as often as it says; "
    "lean_mean_prompt_population is about other stimuli"
)
_SINGLE = "a prompt has a single image, whose variance is unknown"


@dataclass(frozen=True, slots=True)
class _Scaled:
    """N and D of every stimulus and pair, each pair's D of mean square 1; flat over pairs."""

    # N, its variance, the degrees of freedom of that, D and its variance, shape (5, n)
    columns: Float64Array
    scales: list[float]  # what each pair's N and D were divided by

    @classmethod
    def of(cls, pairs: Sequence[PairLeans]) -> _Scaled:
        parts, scales = [], []
        for found in pairs:
            leans = found.leans
            u = leans.bottom_variance
            square = float((leans.bottom**2 - u).mean())
            # the gate is shut then
            scale = float(np.sqrt(square)) if square > 0 else 1.0
            v, f = leans.top_variance
            parts.append(
                [leans.top / scale, v / scale**2, f, leans.bottom / scale, u / scale**2]
            )
            scales.append(scale)
        return cls(np.concatenate(parts, axis=1), scales)

    @property
    def shrinkage(self) -> float:
        """Root of the factor by which the noise of D enlarges a mean square."""
        d, u = self.columns[3] ** 2, self.columns[4]
        curvature = float((4 * d * u - 2 * u**2).sum() / (d - u).sum() ** 2)
        return float(np.sqrt(1 + curvature))


def headline_of(pairs: Sequence[PairLeans], level: float) -> Headline:
    """The unbiased mean of the squared leans of all stimuli, and pairs of groups.

    R² = Σ (N² - V) / Σ (D² - U), less the noise of its denominator; `stats.squares.mean_square`
    holds the formula, its test and its interval.
    """
    scaled = _Scaled.of(pairs)
    n, v, f, d, u = scaled.columns
    if not np.isfinite(v).all():
        return Headline.undefined(_SINGLE, "mean_square")
    found = mean_square(n, v, f, d, u, level, _degrees(pairs, v, f))
    reason = next((one.unclear for one in pairs if one.unclear), None)
    low, high = (None, None) if reason else (found.low, found.high)
    inference: dict[Question, Inference] = {
        "fixed_prompts": Inference(low, high, found.p, found.df[1], reason),
        "prompt_population": Inference(reason=_NO_POPULATION),
    }
    if reason is not None:
        return Headline(
            None, "mean_square", "fixed_prompts", inference, test="f", reason=reason
        )
    return Headline(
        found.value,
        "mean_square",
        "fixed_prompts",
        inference,
        (found.fair_low, found.fair_high),
        _parts(pairs, scaled),
        "f",
    )


def _degrees(
    pairs: Sequence[PairLeans], variances: Float64Array, dfs: Float64Array
) -> tuple[float, float] | None:
    """Degrees of freedom of the F test where they are not those of independent leans.

    The pairs of groups share their images. Taken as if each stimulus had one lean only, the test
    is the cautious one.
    """
    wordings = [one.leans.wordings for one in pairs]
    known = [one.f_test for one in wordings if one is not None]
    if known:
        return min(h for h, _ in known), min(h2 for _, h2 in known)
    v = variances.reshape(len(pairs), -1).sum(axis=0)
    f = dfs.reshape(len(pairs), -1).min(axis=0)
    total = float(v.sum()) ** 2
    if not total > 0:
        return None
    h = min(total / float((v**2 * f / (f + 2)).sum()), float(len(v)))
    return h, total / float((v**2 / (f + 2)).sum())


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


_MOST_UNSEEN = 0.15  # of a group's images that may show the other, where nobody looked
_STEPS = 50  # of the share
_ALPHA = 0.05
# A run has several such tests: at .05 each, one fair run in nine that ignores a word is clear.
_EXPLAINED = 0.01


def unequal_obedience(
    pairs: Sequence[PairLeans], headline: Headline, level: float
) -> dict[str, Control]:
    """How unequal obedience would have to be for the leans to be none, where nobody looked.

    Where a share f of one group's guided images looks like the other's, all fair leans read
    f / (1 - f). The headline is explained by f where the F test does not reject that the leans of
    each pair of groups are some common value of at most that size: at 1 %, or at 5 % where the
    headline's own p is above .01.

    A pair's control has the least such f, or none, and the bounds of the mean lean with f up to
    .15 in either group. The first contradicts where f is below that and the headline is beyond
    chance without it.
    """
    if headline.value is None:
        return {}
    shares = (np.arange(_STEPS) / _STEPS).tolist()
    p = headline.p
    alpha = _EXPLAINED if p is not None and p < _EXPLAINED else _ALPHA
    least = next((f for f in shares if _common_p(pairs, f / (1.0 - f)) >= alpha), None)
    controls = {}
    for number, one in enumerate(pairs):
        first, second = (
            people(one.pair.first.name, GROUP),
            people(one.pair.second.name, GROUP),
        )
        each = np.full(len(one.leans.names), 1.0 / len(one.leans.names))
        found = bounds(contrast_score(one.leans, each, each, level), _MOST_UNSEEN)
        reason = None
        if least is None:
            says = f"Prompts for {first} or {second} that are ignored do not explain these leans."
        else:
            share = f"{100 * least:.0f} %"
            says = (
                f"These leans would be none if {share} of the images asked for {first} showed "
                f"{second}, or the other way round."
            )
            if not number and 0 < least < _MOST_UNSEEN:
                reason = (
                    f"{share} of one group's guided images showing the other would explain it, and "
                    "nobody looked"
                )
        low, high = found or (None, None)
        if low is not None:
            says += (
                f" With up to {100 * _MOST_UNSEEN:.0f} % of either group's images showing the "
                f"other, the mean lean is from {low:+.2f} to {high:+.2f}."
            )
        name = f"breakdown{one.pair.suffix}"
        controls[name] = Control(says, least, low, high, contradicts=reason)
    return controls


def _common_p(pairs: Sequence[PairLeans], most: float) -> float:
    """p-value that the leans of each pair are all one value, from -most to most."""
    parts = []
    for one in pairs:
        leans = one.leans
        n, d, u = leans.top, leans.bottom, leans.bottom_variance
        v, f = leans.top_variance
        value = float(np.clip(n @ d / (d @ d), -most, most))
        shared = np.nan_to_num(leans.variances @ (TOP * BOTTOM))
        moved = np.maximum(v - 2 * value * shared + value**2 * u, 0.0)
        scale = np.sqrt(max(float((d**2 - u).mean()), np.finfo(float).tiny))
        parts.append([(n - value * d) / scale, moved / scale**2, f])
    top, variance, df = np.concatenate(parts, axis=1)
    degrees = _degrees(pairs, variance, df)
    return mean_square(top, variance, df, degrees=degrees).p


def controls_of(
    task: OccupationsTask,
    pairs: Sequence[PairLeans],
    headline: Headline,
    settings: Settings,
) -> dict[str, Control]:
    """What the test shows where there is nothing to show."""
    controls = {
        f"{name}{one.pair.suffix}": gate
        for one in pairs
        for name, gate in one.gates.items()
    }
    texts = np.concatenate([one.in_text for one in pairs])
    in_text = float(np.sqrt((texts**2).mean())) if np.isfinite(texts).all() else None
    unknown = np.any([pair.without_text for pair in pairs], axis=0)
    without_text = lacking(int(unknown.sum()), len(unknown))
    controls["text_only"] = lean_controls.text_control(
        in_text, "rms lean", without_text
    )
    if headline.value is None:
        return controls
    scaled = _Scaled.of(pairs)
    beyond = _other_directions(pairs, scaled, headline.p, settings.level)
    if beyond is not None:
        controls["other_directions"] = beyond
    for one, scale in zip(pairs, scaled.scales, strict=True):
        halves = lean_controls.halves(one.leans)
        if halves is not None:
            difference, variances, dfs = halves
            p = mean_square(difference, variances, dfs).p if variances.all() else 1.0
            value = float(difference.mean()) / scale
            controls[f"halves{one.pair.suffix}"] = lean_controls.halves_control(
                value, p
            )
    return controls


def _other_directions(
    pairs: Sequence[PairLeans], scaled: _Scaled, p: float | None, level: float
) -> Control | None:
    """The headline with what N is beyond chance where it means nothing as noise.

    What the stimuli share of it leaves the test fewer degrees of freedom.
    """
    n, v, f, d, u = scaled.columns
    k = len(pairs[0].leans.names)
    found = [_beyond_chance(one.leans) for one in pairs]
    known = [one for one in found if one is not None]
    if len(known) < len(pairs):
        return None
    moved, shared = (np.array(known) / np.square(scaled.scales)[:, None]).T
    larger = v + np.repeat(moved, k)
    degrees = _degrees(pairs, larger, f)
    if degrees is not None:
        h, h2 = degrees
        degrees = (
            1 / (1 / h + k * (k - 1) * shared.sum() ** 2 / float(larger.sum()) ** 2),
            h2,
        )
    allowed = mean_square(n, larger, f, d, u, level, degrees).p
    square = float(moved.mean()) / scaled.shrinkage**2
    return lean_controls.beyond_control(square, p, allowed)


def _beyond_chance(leans: Leans) -> tuple[float, float] | None:
    """The mean of N² less V where N means nothing, and the part that stimuli have in common.

    Both are 0 where the mean is less than its standard error over stimuli.
    """
    halves = lean_controls.other_directions(leans)
    if not halves:
        return None
    beyond = np.empty(len(leans.names))
    together, products = 0.0, 0
    for half in halves:
        beyond[half.at] = (half.top**2 - half.variance) @ half.weights
        sums = half.top.sum(axis=0) ** 2 - (half.top**2).sum(axis=0)
        together += float(sums @ half.weights)
        products += len(half.at) * (len(half.at) - 1)
    square = float(beyond.mean())
    if square <= np.sqrt(beyond.var(ddof=1) / len(beyond)):
        return 0.0, 0.0
    return square, min(max(together / products, 0.0), square) if products else square


_FEWEST = 2  # stimuli of a set: one does not show how others would differ


def compare_sets(
    task: OccupationsTask, pairs: Sequence[PairLeans], level: float
) -> tuple[dict[str, Estimate], dict[str, Any]]:
    """Compare the mean leans of every two of the task's sets of stimuli.

    With N and D of a stimulus as in `leans`, the mean lean of a set s is m_s = Σ N / Σ D over its
    stimuli, with the variance of N - m_s D between them. For each two sets it is (m_s - m_t) / 2 as
    in a T2IAT, with Student's t. What all sets share cancels: words of a group that act on any
    image are no difference. All of it is about other stimuli like these.
    """
    scores: dict[str, Estimate] = {}
    for found in pairs:
        leans = found.leans
        for first, second in combinations(task.sets, 2):
            name = f"sets:{first.name}-{second.name}{found.pair.suffix}"
            one, other = _mean_lean(leans, first), _mean_lean(leans, second)
            if found.unclear is not None or one is None or other is None:
                reason = "a set has fewer than two stimuli with images that vary"
                scores[name] = Estimate.undefined(found.unclear or reason)
                continue
            scores[name] = Estimate.from_influence(
                (one.value - other.value) / (2 * noise(leans)),
                Influence.combined([(0.5, one.influence), (-0.5, other.influence)]),
                level,
            )
    return scores, adjusted_sets(scores)


def adjusted_sets(scores: Mapping[str, Estimate]) -> dict[str, Any]:
    """p-values of every two sets after Holm."""
    names = [name for name in scores if name.startswith("sets:")]
    adjusted = holm([scores[name].p for name in names])
    return {"sets_holm": dict(zip(names, adjusted, strict=True))} if names else {}


def _mean_lean(leans: Leans, concept: Concept) -> Part | None:
    """The mean lean of a set; None where fewer than two stimuli, or none that vary, show it."""
    at = np.flatnonzero([name in concept.stimuli for name in leans.names])
    if len(at) < _FEWEST:
        return None
    top, bottom = leans.top[at], leans.bottom[at]
    lean, scale = float(top.sum() / bottom.sum()), 1.0 / float(bottom.mean())
    moved = Influence.of_mean(f"stimuli of {concept.name}", at, top - lean * bottom)
    influence = Influence.combined([(scale, moved)])
    return Part(concept.name, lean, influence) if influence.variance > 0 else None
