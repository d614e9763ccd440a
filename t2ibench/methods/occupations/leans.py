"""The leans of stimuli to the two groups of a pair, and the scores of these leans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.methods.core import lean_controls
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import Control, contradiction
from t2ibench.methods.core.lean_scores import (
    contrast_score,
    noise,
    of_ratio,
    row_scores,
)
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.obedience import breakdown
from t2ibench.methods.core.over_stimuli import over_stimuli
from t2ibench.methods.core.related_stimuli import unless_related
from t2ibench.methods.core.stimulus_images import StimulusImages, text_leans
from t2ibench.methods.occupations.design import GroupPair
from t2ibench.methods.occupations.other_groups import (
    OtherGroups,
    explained_mean,
    explained_rows,
)
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.methods.occupations.slopes import slopes

_UNKNOWN = "its share is not known"
_NO_DIRECTION = "there is no direction to go further in"
_NO_TEXT = "the encoder has no vectors of its texts"
_EQUAL_TEXTS = "the texts of the groups do not differ"


@dataclass(frozen=True, slots=True)
class PairLeans:
    """The leans of every stimulus between the two groups of a pair.

    Attributes:
        pair: The two groups.
        leans: The leans; a positive one is towards the first group.
        in_text: The leans of the prompts' texts, shape (stimuli,); nan where the texts do not
            differ by group.
        reference: 2 P - 1 of the known share P of the first group, shape (stimuli,); nan where it
            is not known. None without a reference for this pair.
        gates: Name to control: whether the encoder tells the groups apart, and whether enough
            images are left to allow for unequal spread.
        without_text: Whether the texts of each stimulus have no vector, shape (stimuli,).
        known_group: The group that the reference has the shares of; '' without one.
        others: Where images of the task's other groups lie; None where there are none.
    """

    pair: GroupPair
    leans: Leans
    in_text: Float64Array
    reference: Float64Array | None
    gates: dict[str, Control]
    without_text: BoolArray
    known_group: str = ""
    others: OtherGroups | None = None

    @property
    def unclear(self) -> str | None:
        """Why the leans decide nothing, according to their controls; None where they do."""
        return contradiction(self.gates)

    @property
    def known_sign(self) -> float:
        """1 if the known shares are those of the pair's first group, otherwise -1."""
        return 1.0 if self.known_group == self.pair.first.name else -1.0

    def mean(self, level: float) -> Estimate:
        """Return the mean lean over stimuli; positive is towards the pair's first group."""
        count = len(self.leans.names)
        each = np.full(count, 1.0 / count)
        return contrast_score(self.leans, each, each, level)


def pair_leans(
    task: OccupationsTask,
    pair: GroupPair,
    images: Sequence[StimulusImages],
    evidence: Evidence,
) -> PairLeans:
    """Measure the leans of every stimulus between the groups of one pair, with controls."""
    names = [stimulus.name for stimulus in images]
    by_wording = [stimulus.wording_images(*pair.names) for stimulus in images]
    leans = Leans.of(names, by_wording)
    top, bottom = text_leans(images, *pair.names, evidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        in_text = np.where(bottom > 0, top / bottom, np.nan)
    return PairLeans(
        pair=pair,
        leans=leans,
        in_text=in_text,
        reference=_reference_leans(task, pair, names),
        gates={
            "separation": lean_controls.separation(leans, *pair.names),
            "spread": lean_controls.lean_spread(leans, *pair.names),
        },
        without_text=np.isnan(bottom),
        known_group=task.reference.group if task.reference is not None else "",
        others=OtherGroups.of(pair, images) if len(task.groups) > 2 else None,
    )


def _reference_leans(
    task: OccupationsTask, pair: GroupPair, names: Sequence[str]
) -> Float64Array | None:
    """Return the lean that corresponds to each stimulus's known share; None if the task has none.

    It is 2 P - 1 of the share P of the pair's first group; nan for a stimulus without
    one.
    """
    reference = task.reference
    if reference is None or len(task.groups) > 2:
        # Of three groups, one share does not say how the remainder splits between the other two.
        return None
    shares = np.array([reference.shares.get(name, np.nan) for name in names])
    return (2 * shares - 1) * (1.0 if reference.group == pair.first.name else -1.0)


def pair_rows(
    pair: PairLeans, level: float, moved: str | None = None
) -> list[dict[str, Estimate]]:
    """Return each stimulus's scores for one pair of groups, keyed by their full names.

    `moved` is why all leans are moved by something else than the groups; None where they are not.
    """
    leans = row_scores(pair.leans, level)
    if pair.others is not None:
        leans = explained_rows(leans, pair.leans, pair.others, pair.pair, level)
    columns = {
        "lean": leans,
        "lean_breakdown": [breakdown(lean) for lean in leans],
        "amplification": _amplifications(pair, level),
    }
    if pair.reference is not None:
        name = f"share_minus_reference:{pair.known_group}"
        columns[name] = _beyond_shares(pair, pair.reference, leans, level)
    if pair.unclear is not None:
        columns = {
            name: [estimate.undecided(pair.unclear) for estimate in column]
            for name, column in columns.items()
        }
    elif moved is not None:
        undefined = [Estimate.undefined(moved)] * len(leans)
        columns = dict.fromkeys(columns, undefined)
    columns["lean_text"] = _text_scores(pair)
    count = len(pair.leans.names)
    return [
        _with_suffix({name: columns[name][row] for name in columns}, pair.pair.suffix)
        for row in range(count)
    ]


def pair_scores(
    pair: PairLeans, level: float, moved: str | None = None
) -> dict[str, Estimate]:
    """Return the task's scores for one pair of groups, keyed by their full names.

    `moved` is as in `pair_rows`. It makes means undefined; slopes are those of differences between
    stimuli, which what moves all of them alike leaves as they are.
    """
    leans = pair.leans
    numbers = np.arange(len(leans.names))
    groups = [("stimuli", numbers, numbers)]
    population = over_stimuli(leans.top, leans.bottom, groups, level)
    about_others = population.estimate(noise(leans))
    scores = {
        "lean_mean": pair.mean(level),
        "lean_mean_prompt_population": unless_related(
            about_others, population.inference.df, leans
        ),
        "amplification_mean": _mean_amplification(pair, level),
    }
    if pair.others is not None:
        for name in ("lean_mean", "lean_mean_prompt_population"):
            scores[name] = explained_mean(
                scores[name], leans, pair.others, pair.pair, level
            )
    if moved is not None:
        scores = dict.fromkeys(scores, Estimate.undefined(moved))
    if pair.reference is not None:
        scores |= slopes(leans, pair.reference, level)
    if pair.unclear is not None:
        scores = {
            name: estimate.undecided(pair.unclear) for name, estimate in scores.items()
        }
    return _with_suffix(scores, pair.pair.suffix)


def _with_suffix(scores: Mapping[str, Estimate], suffix: str) -> dict[str, Estimate]:
    return {f"{name}{suffix}": estimate for name, estimate in scores.items()}


def _text_scores(pair: PairLeans) -> list[Estimate]:
    """Return the lean of each stimulus's prompts as texts, without any image."""
    reasons = np.where(pair.without_text, _NO_TEXT, _EQUAL_TEXTS)
    return [
        Estimate(float(lean), reason=str(reason))
        for lean, reason in zip(pair.in_text, reasons, strict=True)
    ]


def _amplifications(pair: PairLeans, level: float) -> list[Estimate]:
    """Return, for each stimulus, how much further its images lean than its texts do.

    Further is in the direction of the texts.
    """
    ratios = pair.leans.rows(level, np.nan_to_num(pair.in_text))
    scores = []
    for number, point in enumerate(pair.in_text):
        if np.isfinite(point) and point != 0:
            sign = float(np.sign(point))
            scores.append(of_ratio(ratios, (number,)).scaled(sign))
        else:
            scores.append(Estimate.undefined(_NO_DIRECTION))
    return scores


def _mean_amplification(pair: PairLeans, level: float) -> Estimate:
    """Return the mean over stimuli of how much further images lean than texts."""
    has_direction = np.isfinite(pair.in_text) & (pair.in_text != 0)
    points = np.nan_to_num(pair.in_text)
    count = int(has_direction.sum())
    if count == 0:
        return Estimate.undefined(_NO_DIRECTION)
    signs = np.where(has_direction, np.sign(points), 0.0)
    return contrast_score(
        pair.leans,
        signs / count,
        has_direction / count,
        level,
        less=signs * points / count,
    )


def _beyond_shares(
    pair: PairLeans, reference: Float64Array, leans: Sequence[Estimate], level: float
) -> list[Estimate]:
    """Return, for each stimulus, how far the share that its lean implies exceeds the known share.

    A mixture with a share P of the group has the lean 2 P - 1 towards it, so the share is
    (1 + lean) / 2 and its distance from a known share half of that of the leans. Known shares are
    taken as exact.
    """
    ratios = pair.leans.rows(level, np.nan_to_num(reference))
    scores = []
    for number, point in enumerate(reference):
        if np.isfinite(point):
            distance = of_ratio(ratios, (number,), leans[number].influence)
            scores.append(distance.scaled(pair.known_sign / 2))
        else:
            scores.append(Estimate.undefined(_UNKNOWN))
    return scores
