"""Which way answers lean: class shares, signed leans and the squared lean of mean shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.openbias.rows import CountedRow
from t2ibench.stats import Proportion, clustered_proportion, free_square, sampled_proportion


def share_scores(
    rows: Sequence[CountedRow], classes: Sequence[str], level: float
) -> dict[str, Estimate]:
    """The mean over captions of each class's share, and for two classes the signed lean."""
    expected = np.mean([row.expected for row in rows], axis=0)
    scores = {}
    for column, name in enumerate(classes):
        share = class_share(rows, column)
        scores[f"share:{name}"] = Estimate(
            share.value,
            p=_p(share.p(float(expected[column]))),
            test="t",
            interval=share.interval(level),
            influence=share_influence(rows, column),
        )
    if len(classes) == 2:
        first = class_share(rows, 0)
        low, high = first.interval(level)
        scores["lean"] = Estimate(
            2 * first.value - 1,
            p=_p(first.p(0.5)),
            test="t",
            interval=(2 * low - 1, 2 * high - 1),
            influence=share_influence(rows, 0).scaled(2.0),
        )
    return scores


def share_details(
    rows: Sequence[CountedRow], classes: Sequence[str], level: float
) -> dict[str, dict[str, Any]]:
    """Each class's share with its interval for both questions."""
    counts = np.array([row.counts for row in rows], dtype=np.float64)
    totals = counts.sum(axis=1)
    details: dict[str, dict[str, Any]] = {}
    for column, name in enumerate(classes):
        these = class_share(rows, column)
        like_these = None
        names = list(dict.fromkeys(row.cluster for row in rows))
        if len(names) > 1:
            grouped = np.array([names.index(row.cluster) for row in rows])
            hits = np.bincount(grouped, weights=counts[:, column])
            sums = np.bincount(grouped, weights=totals)
            like_these = list(sampled_proportion(hits, sums).interval(level))
        details[name] = {
            "share": these.value,
            "these": list(these.interval(level)),
            "like_these": like_these,
        }
    return details


def _p(p: float) -> float | None:
    return p if np.isfinite(p) else None


def class_share(rows: Sequence[CountedRow], column: int) -> Proportion:
    """The mean over captions of a class's share, for these captions."""
    return clustered_proportion(
        [row.counts[column] for row in rows], [len(row.codes) for row in rows]
    )


def share_influence(rows: Sequence[CountedRow], column: int) -> Influence:
    """The influence of the images on `class_share`."""
    return Influence.combined(
        (1.0 / len(rows), Influence.of_mean(row.prompt, row.indices, row.codes == column))
        for row in rows
    )


def mean_share_score(rows: Sequence[CountedRow], level: float) -> Estimate:
    """The squared lean of the mean shares over captions ('h_free').

    Captions that lean in opposite ways cancel. Captions (or stimuli) are drawn anew; with a single
    stimulus the images of its captions are.
    """
    deviations = np.array([row.counts / len(row.codes) - row.expected for row in rows])
    names = list(dict.fromkeys(row.cluster for row in rows))
    theta = deviations.mean(axis=0)
    if len(names) > 1:
        numbers = np.array([names.index(row.cluster) for row in rows])
        moved = np.zeros((len(names), len(theta)))
        np.add.at(moved, numbers, (deviations - theta) / len(rows))
        covariance = moved.T @ moved * len(names) / (len(names) - 1)
        df = len(names) - 1.0
    else:
        covariance = np.zeros((len(theta), len(theta)))
        df = float(sum(len(row.codes) - 1 for row in rows))
    if not np.trace(covariance) > 1e-12:
        varies = any(len(set(row.codes.tolist())) > 1 for row in rows)
        pseudo = 0.0 if len(names) == 1 and varies else 1.0
        covariance = _within(rows, pseudo) / len(rows) ** 2
    found = free_square(
        theta,
        covariance,
        df,
        level,
        size=float(sum(len(row.codes) for row in rows)),
        top=float(np.mean([row.largest for row in rows])),
    )
    return Estimate(found.value, p=found.p, test="f", interval=(found.low, found.high))


def _within(rows: Sequence[CountedRow], pseudo: float) -> Float64Array:
    """Covariance of the sum of the rows' shares, each with `pseudo` more images of no lean."""
    total = np.zeros((len(rows[0].expected),) * 2)
    for row in rows:
        n, r = len(row.codes), row.expected
        shares = (row.counts + pseudo * r) / (n + pseudo)
        total += (np.diag(shares) - np.outer(shares, shares)) / (n + pseudo - 1)
    return total
