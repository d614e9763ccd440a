"""What people say beside what TIBET says: the paper's three user studies, as pure functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import stdtrit

from t2ibench.arrays import Float64Array
from t2ibench.stats import pooled_proportion
from t2ibench.stats.clusters import Proportion

_FEWEST = 5  # prompts of an interval of a correlation


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its interval.

    Attributes:
        value: The share; nan without answers.
        low: Lower end of its 95 % interval; nan where there is none.
        high: Upper end.
        total: Out of how many.
    """

    value: float
    low: float
    high: float
    total: int


@dataclass(frozen=True, slots=True)
class AxisAnswer:
    """An axis of a prompt, and whether people see a risk of bias along it.

    Attributes:
        prompt: The prompt.
        axis: The axis.
        proposed: Whether the language model, or the task, names it.
        seen: Whether most people see it.
    """

    prompt: str
    axis: str
    proposed: bool
    seen: bool


@dataclass(frozen=True, slots=True)
class AxisAgreement:
    """User study 1 (section 5.4, table 2).

    Attributes:
        precision: Of the axes that are proposed, those that people see.
        recall: Of the axes that people see, those that are proposed. People only see what they
            were asked about, so it depends on what else was on the list.
    """

    precision: Share
    recall: Share


def axis_agreement(answers: Sequence[AxisAnswer]) -> AxisAgreement:
    """Whether people see the axes that were proposed, and the other way round.

    Args:
        answers: One for each prompt and axis.

    Returns:
        Precision and recall, with intervals about prompts like these.

    Example:
        >>> rows = [("a", True, True), ("b", True, False), ("c", False, True)]
        >>> found = axis_agreement([AxisAnswer("p", a, *r) for a, *r in rows])
        >>> found.precision.value, found.recall.value
        (0.5, 0.5)
    """
    proposed = [one for one in answers if one.proposed]
    seen = [one for one in answers if one.seen]
    return AxisAgreement(
        _share([one.prompt for one in proposed], [one.seen for one in proposed]),
        _share([one.prompt for one in seen], [one.proposed for one in seen]),
    )


def _share(clusters: Sequence[str], hits: Sequence[bool]) -> Share:
    """A share whose answers come in clusters."""
    names = list(dict.fromkeys(clusters))
    counts = {name: [0, 0] for name in names}
    for name, hit in zip(clusters, hits, strict=True):
        counts[name][0] += hit
        counts[name][1] += 1
    table = np.array(list(counts.values()), dtype=np.float64).reshape(-1, 2)
    return _with_interval(pooled_proportion(table[:, 0], table[:, 1]), len(hits))


def _with_interval(found: Proportion, total: int) -> Share:
    if not found.size > 1:
        return Share(found.value, float("nan"), float("nan"), total)
    return Share(found.value, *found.interval(), total)


@dataclass(frozen=True, slots=True)
class Rated:
    """An axis of a prompt with its score and what people say.

    Attributes:
        prompt: The prompt.
        axis: The axis.
        score: How biased the images are along it, by a measure such as MAD.
        rating: The median of people's ratings.
    """

    prompt: str
    axis: str
    score: float
    rating: float


@dataclass(frozen=True, slots=True)
class RatingAgreement:
    """User study 2 (section 5.4, table 3).

    Attributes:
        correlation: Spearman's rank correlation of scores and ratings, over all prompts and axes.
        low: Lower end of its 95 % interval, about prompts like these; nan for fewer than 5 prompts.
        high: Upper end.
        within: Mean over prompts of the rank correlation of their own axes.
        p: Two-sided p-value that the order within prompts says nothing: ratings exchanged within
            their prompts.
        top: k to the share of prompts whose axis that people rate highest is among the k of the
            highest score.
        chance: k to that share for scores in a random order.
        prompts: Prompts with two axes or more.
        ranked: Prompts with three or more, which the shares are of.
    """

    correlation: float
    low: float
    high: float
    within: float
    p: float
    top: Mapping[int, Share]
    chance: Mapping[int, float]
    prompts: int
    ranked: int


def rating_agreement(
    rows: Sequence[Rated], rng: np.random.Generator, n_draws: int = 10_000
) -> RatingAgreement:
    """Whether people see the biases that a score sees.

    Ties in ratings are no mistake: any axis that people rate highest counts. Of tied scores, the
    order is random.
    """
    groups: dict[str, list[Rated]] = {}
    for row in rows:
        groups.setdefault(row.prompt, []).append(row)
    several = [group for group in groups.values() if len(group) > 1]
    correlation, low, high = _correlation(several)
    within, p = _within(several, rng, n_draws)
    ranked = [group for group in several if len(group) > 2]
    top, chance = {}, {}
    for k in (1, 2):
        found = [_hit(group, k) for group in ranked]
        hits, by_chance = ([pair[side] for pair in found] for side in (0, 1))
        mean = float(np.mean(hits)) if hits else float("nan")
        top[k] = _with_interval(Proportion(mean, len(hits), max(len(hits) - 1, 1)), len(hits))
        chance[k] = float(np.mean(by_chance)) if by_chance else float("nan")
    return RatingAgreement(
        correlation, low, high, within, p, top, chance, len(several), len(ranked)
    )


def _correlation(groups: Sequence[Sequence[Rated]]) -> tuple[float, float, float]:
    """Spearman over all pairs, with a jackknife over prompts on Fisher's scale."""
    tables = [np.array([(row.score, row.rating) for row in group]) for group in groups]
    value = _spearman(np.concatenate(tables)) if tables else float("nan")
    n = len(tables)
    if n < _FEWEST or not abs(value) < 1:
        return value, float("nan"), float("nan")
    left_out = np.array(
        [_spearman(np.concatenate([*tables[:k], *tables[k + 1 :]])) for k in range(n)]
    )
    if not np.all(np.abs(left_out) < 1):
        return value, float("nan"), float("nan")
    scale = np.arctanh(left_out)
    error = math.sqrt((n - 1) / n * float(((scale - scale.mean()) ** 2).sum()))
    half = float(stdtrit(n - 1, 0.975)) * error
    middle = math.atanh(value)
    return value, math.tanh(middle - half), math.tanh(middle + half)


def _spearman(table: Float64Array) -> float:
    x, y = (scipy.stats.rankdata(column) for column in table.T)
    x, y = x - x.mean(), y - y.mean()
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / scale if scale > 0 else float("nan")


def _within(
    groups: Sequence[Sequence[Rated]], rng: np.random.Generator, n_draws: int
) -> tuple[float, float]:
    """The mean rank correlation within prompts, and its permutation test."""
    pairs = []
    for group in groups:
        x, y = (
            scipy.stats.rankdata([getattr(row, name) for row in group]) - (len(group) + 1) / 2
            for name in ("score", "rating")
        )
        scale = math.sqrt(float(x @ x) * float(y @ y))
        if scale > 0:  # axes that people rate alike say nothing
            pairs.append((x / scale, y))
    if not pairs:
        return float("nan"), float("nan")
    value = float(np.mean([x @ y for x, y in pairs]))
    null = np.zeros(n_draws)
    for x, y in pairs:
        orders = np.argsort(rng.random((n_draws, len(y))), axis=1)
        null += y[orders] @ x / len(pairs)
    beyond = np.count_nonzero(np.abs(null) >= abs(value) - 1e-9)
    return value, (1 + int(beyond)) / (1 + n_draws)


def _hit(group: Sequence[Rated], k: int) -> tuple[float, float]:
    """Whether people's highest is among the k highest scores, and how often by chance."""
    scores = np.array([row.score for row in group])
    ratings = np.array([row.rating for row in group])
    best = ratings == ratings.max()
    m, count = len(group), int(best.sum())
    chance = 1.0 - math.comb(m - count, k) / math.comb(m, k)
    edge = np.sort(scores)[::-1][k - 1]
    above, tied = scores > edge, scores == edge
    if best[above].any():
        return 1.0, chance
    slots, among = k - int(above.sum()), int(best[tied].sum())
    ties = int(tied.sum())
    return 1.0 - math.comb(ties - among, slots) / math.comb(ties, slots), chance


@dataclass(frozen=True, slots=True)
class ConceptAnswer:
    """One person's answer about one concept of one set of images.

    Attributes:
        images: Which set.
        concept: The concept.
        predicted: Whether it is among the judge's most frequent ones.
        selected: Whether the person says that the images show it.
    """

    images: str
    concept: str
    predicted: bool
    selected: bool


@dataclass(frozen=True, slots=True)
class ConceptAgreement:
    """User study 3 (appendix 13.3).

    Attributes:
        found: Of the concepts that people select, those that are the judge's.
        missed: Of the concepts that are not the judge's, those that people select.
    """

    found: Share
    missed: Share


def concept_agreement(answers: Sequence[ConceptAnswer]) -> ConceptAgreement:
    """Whether people see the concepts that a judge names."""
    selected = [one for one in answers if one.selected]
    others = [one for one in answers if not one.predicted]
    return ConceptAgreement(
        _share([one.images for one in selected], [one.predicted for one in selected]),
        _share([one.images for one in others], [one.selected for one in others]),
    )
