"""How leans change with how a stimulus is asked for: as a word, a phrase, a sentence, a paragraph.

Each wording has its own images with and without a group, so that what a longer prompt does to every
picture, such as how somebody is framed, is in both and cancels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.describe import GROUP, people
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.leans import BOTTOM, TOP, Leans
from t2ibench.methods.core.score_table import ScoreTable
from t2ibench.methods.core.wording_images import mean_places
from t2ibench.methods.occupations.design import GroupPair
from t2ibench.methods.occupations.leans import PairLeans
from t2ibench.methods.occupations.schema import OccupationsTask

# What the names of the scores begin with.
MEAN_LEAN = "asked"
SLOPE = "asked_slope"
# Stimuli: with two, an interval over stimuli says next to nothing.
_FEWEST = 3
_TOO_FEW = f"fewer than {_FEWEST} stimuli have images of all wordings"
# Of the distance of the groups' images in a wording; as the control `separation` has it.
_LEAST_SEPARATION = 4.0


@dataclass(frozen=True, slots=True)
class LengthScores:
    """How leans change with how stimuli are asked for.

    Attributes:
        scores: 'asked:KIND' is the mean lean of the wordings of a kind, such as sentences, and
            'asked_slope' by how much leans grow where a prompt has twice as many words; both about
            other stimuli like these.
        details: 'asked_words', how many words the prompts of each kind have on average.
        tables: The tables of these scores for pages.
    """

    scores: dict[str, Estimate]
    details: dict[str, Any]
    tables: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class KindLeans:
    """The mean lean of the wordings of each kind, and what each stimulus adds to it.

    Attributes:
        values: The mean lean, between images of both groups in the same wordings, shape (kinds,).
        moved: What each stimulus adds to it, shape (stimuli, kinds); 0 in the mean.
        separations: Distance of the groups' images in each kind over its error.
    """

    values: Float64Array
    moved: Float64Array
    separations: Float64Array

    @classmethod
    def of(cls, leans: Leans, kinds: Sequence[str]) -> KindLeans:
        """Return the mean lean of each kind: Σ N / Σ D over stimuli and the kind's wordings.

        The noise of Σ D enlarges a ratio of sums by 1 + 1 / z², with z the distance of the groups
        over its error, as for all wordings together; that is taken out.
        """
        means, variances, _ = mean_places(leans.places)
        members = np.array(
            [[kind == other for kind in dict.fromkeys(kinds)] for other in kinds],
            dtype=np.float64,
        )
        top = means @ TOP @ members
        bottom = means @ BOTTOM @ members
        noise = np.sqrt(2 * (variances @ BOTTOM**2 @ members).sum(axis=0))
        separations = bottom.sum(axis=0) / noise
        ratios = top.sum(axis=0) / bottom.sum(axis=0)
        enlarged = 1.0 + 1.0 / separations**2
        moved = (top - ratios * bottom) / bottom.mean(axis=0) / enlarged
        return cls(ratios / enlarged, moved, separations)

    def weighted(self, weights: Float64Array, level: float) -> Estimate:
        """Return a weighted sum of the kinds' leans with Student's t over stimuli."""
        count = len(self.moved)
        along = self.moved @ weights
        variance = float(along.var(ddof=1)) / count
        value = float(self.values @ weights)
        return Estimate.from_t(value, variance, count - 1, level)


def length_scores(
    task: OccupationsTask, pairs: Sequence[PairLeans], level: float
) -> LengthScores:
    """Return how leans change with how stimuli are asked for; empty where wordings do not say it.

    With L_c the mean lean of the wordings of kind c and x_c the binary logarithm of how many words
    their prompts have on average, the slope is Σ (x_c − x̄) L_c / Σ (x_c − x̄)²: the change of the
    lean where a prompt has twice as many words.
    """
    kinds = [wording.asked_as or "" for wording in task.prompts.wordings]
    if len(set(kinds)) < 2:
        return LengthScores({}, {}, [])
    numbers = words_of_kinds(task)
    scores: dict[str, Estimate] = {}
    tables = []
    for pair in pairs:
        scores |= _pair_scores(pair, kinds, numbers, level)
        tables.append(asdict(_table(task, pair.pair, numbers)))
    of_kinds = {kind: round(number, 1) for kind, number in numbers.items()}
    return LengthScores(scores, {"asked_words": of_kinds}, tables)


def words_of_kinds(task: OccupationsTask) -> dict[str, float]:
    """Return how many words the prompts without a group of each kind have on average."""
    lengths: dict[str, list[int]] = {}
    for wording in task.prompts.wordings:
        of_kind = lengths.setdefault(wording.asked_as or "", [])
        for name in task.concept.names:
            of_kind += [
                len(prompt.split()) for prompt in wording.without_attribute(name)
            ]
    return {kind: float(np.mean(of_kind)) for kind, of_kind in lengths.items()}


def slope_weights(numbers: Float64Array) -> Float64Array:
    """Return the weights with which the kinds' leans add up to the slope, shape (kinds,).

    Examples:
        >>> slope_weights(np.array([1.0, 2.0, 4.0])).tolist()
        [-0.5, 0.0, 0.5]
    """
    doublings = np.log2(numbers)
    centred = doublings - doublings.mean()
    weights: Float64Array = centred / float(centred @ centred)
    return weights


def _pair_scores(
    pair: PairLeans, kinds: Sequence[str], numbers: Mapping[str, float], level: float
) -> dict[str, Estimate]:
    """Return the mean lean of each kind, and the slope; the slope alone is tested."""
    names = {kind: f"{MEAN_LEAN}:{kind}{pair.pair.suffix}" for kind in numbers}
    slope = f"{SLOPE}{pair.pair.suffix}"
    if len(pair.leans.names) < _FEWEST:
        too_few = Estimate.undefined(_TOO_FEW)
        return dict.fromkeys([*names.values(), slope], too_few)
    by_kind = KindLeans.of(pair.leans, kinds)
    alike = [
        kind
        for kind, separation in zip(numbers, by_kind.separations, strict=True)
        if not separation > _LEAST_SEPARATION
    ]
    scores = {}
    for kind, weights in zip(numbers, np.eye(len(numbers)), strict=True):
        unclear = pair.unclear or _too_alike([kind] if kind in alike else [])
        estimate = by_kind.weighted(weights, level)
        scores[names[kind]] = replace(_unless(unclear, estimate), p=None, test=None)
    weights = slope_weights(np.array(list(numbers.values())))
    unclear = pair.unclear or _too_alike(alike)
    scores[slope] = _unless(unclear, by_kind.weighted(weights, level))
    return scores


def _unless(unclear: str | None, estimate: Estimate) -> Estimate:
    return estimate if unclear is None else estimate.undecided(unclear)


def _too_alike(kinds: Sequence[str]) -> str | None:
    """Return that leans cannot be measured in these kinds, if there are any."""
    if not kinds:
        return None
    listed = ", ".join(kinds)
    return (
        f"the encoder hardly tells the groups apart in prompts asked as: {listed}; more guided "
        "images may help"
    )


def _table(
    task: OccupationsTask, pair: GroupPair, numbers: Mapping[str, float]
) -> ScoreTable:
    """Return the table of the scores as pages show it."""
    first, second = (people(group.name, GROUP) for group in (pair.first, pair.second))
    rows = {}
    for kind, count in numbers.items():
        rows[f"{kind} ({count:.0f} words)"] = f"{MEAN_LEAN}:{kind}{pair.suffix}"
    rows["per doubling of the words"] = f"{SLOPE}{pair.suffix}"
    return ScoreTable(
        f"How {task.concept.name} are asked for: {first} or {second}",
        f"Mean lean of the images of prompts of each length, between their own images of {first} "
        f"and of {second}: above 0 towards {first}, below 0 towards {second}. The last row is by "
        "how much that grows where a prompt has twice as many words; the share of a mixture "
        f"grows by half of it, and that alone is tested. Intervals are about other "
        f"{task.concept.name} in these very wordings.",
        rows,
    )
