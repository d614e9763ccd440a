"""Shares of classes averaged over captions, with inference about these captions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.score_names import join_score_name
from t2ibench.methods.openbias.answers import CountedRow
from t2ibench.stats import Proportion, clustered_proportion
from t2ibench.stats.bounds import BoundedProportion


def share_scores(
    rows: Sequence[CountedRow], classes: Sequence[str], level: float
) -> dict[str, Estimate]:
    """Return each class's share averaged over captions and, for two classes, the lean.

    Args:
        rows: The captions of one bias, or of one of its stimuli.
        classes: Names of the classes.
        level: Confidence level, in (0, 1).
    """
    expected = np.mean([row.expected for row in rows], axis=0)
    scores = {}
    for column, name in enumerate(classes):
        share = mean_share(rows, column, float(expected[column]), level)
        scores[join_score_name("share", name)] = share
    if len(classes) == 2:
        scores["lean"] = mean_share(rows, 0, 0.5, level, origin=0.5, scale=2.0)
    return scores


def mean_share(
    rows: Sequence[CountedRow],
    column: int,
    expected: float,
    level: float,
    *,
    origin: float = 0.0,
    scale: float = 1.0,
) -> Estimate:
    """Return a class's share averaged over captions, less `origin` and times `scale`.

    Args:
        rows: The captions.
        column: Position of the class.
        expected: The share that the test compares with.
        level: Confidence level, in (0, 1).
        origin: What is subtracted from the share.
        scale: What the difference is multiplied with.
    """
    share = class_share(rows, column)
    accuracy = rows[0].accuracy
    interval = share.interval(level)
    p = share.p(expected)
    if accuracy is not None:
        # People who err read the expected share as any share between two ends.
        interval = accuracy.widened(interval)
        ends = accuracy.read(expected)
        is_between = ends[0] < ends[1] and ends[0] <= share.value <= ends[1]
        p = 1.0 if is_between else max(share.p(end) for end in ends)
    low, high = sorted(scale * (end - origin) for end in interval)
    return Estimate(
        scale * (share.value - origin),
        p=p,
        test="t",
        interval=(low, high),
        influence=share_influence(rows, column).scaled(scale),
    )


def class_share(
    rows: Sequence[CountedRow], column: int
) -> Proportion | BoundedProportion:
    """Return a class's share averaged over captions, with bounds if answers are missing."""
    hits = np.array([row.counts[column] for row in rows])
    answered = np.array([len(row.codes) for row in rows])
    unanswered = np.array([len(row.unanswered) for row in rows])
    share = clustered_proportion(hits, answered)
    if not unanswered.any():
        return share
    images = answered + unanswered
    least = clustered_proportion(hits, images)
    most = clustered_proportion(hits + unanswered, images)
    return BoundedProportion(share.value, least, most)


def share_influence(rows: Sequence[CountedRow], column: int) -> Influence:
    """Return each image's influence on a class's share averaged over captions."""
    weight = 1.0 / len(rows)
    return Influence.combined(
        (weight, Influence.of_mean(row.prompt, row.indices, row.codes == column))
        for row in rows
    )
