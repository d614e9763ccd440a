"""Means of clustered values and their differences; clusters stand for others like them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.stats.student import t_interval, t_test, welch


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean, or a difference of two.

    Attributes:
        value: The estimate; nan without values.
        low: Lower end of its interval; nan where nothing is known of its variance.
        high: Upper end.
        p: Two-sided, of 0; nan where it is unknown.
        variance: Of the estimate.
        df: Degrees of freedom of the variance.
        clusters: What varies: clusters, values where there is one cluster, or pairs of clusters.
        paired: Whether each cluster was compared with itself.
    """

    value: float
    low: float
    high: float
    p: float
    variance: float
    df: float
    clusters: int
    paired: bool = False


Grouped = Mapping[Hashable, Sequence[float]]


def cluster_mean(values: Grouped, level: float = 0.95) -> Mean:
    """The mean of the clusters' means, each cluster counting once.

    Args:
        values: Cluster to its values; clusters without any are left out.
        level: Of the interval.

    Returns:
        The mean. Of one cluster: the mean of its values, which then vary alone.

    Example:
        >>> found = cluster_mean({"a": [1.0, 3.0], "b": [4.0]})
        >>> found.value, found.variance, found.clusters
        (3.0, 1.0, 2)
    """
    return _mean(_units(values), level)


def mean_difference(one: Grouped, other: Grouped, level: float = 0.95) -> Mean:
    """The difference of two means over clusters.

    Where both sides have the same clusters, two or more (the same words with and without something
    added), each cluster is compared with itself; otherwise `student.welch`.

    Args:
        one: Cluster to its values.
        other: The same of the other side.
        level: Of the interval.

    Returns:
        The mean of the first less that of the second.

    Source: Student 1908; Welch 1947, "The generalization of Student's problem".

    Example:
        >>> found = mean_difference({1: [3.0], 2: [9.0]}, {1: [1.0], 2: [5.0]})
        >>> found.value, found.variance, found.paired
        (3.0, 1.0, True)
    """
    shared = [name for name, values in one.items() if len(values) and len(other.get(name, ()))]
    both = {name for side in (one, other) for name, values in side.items() if len(values)}
    if len(shared) > 1 and len(shared) == len(both):
        apart = [float(np.mean(one[name]) - np.mean(other[name])) for name in shared]
        found = _mean(apart, level)
        return _with_test(found.value, found.variance, found.df, len(apart), level, paired=True)
    first, second = _mean(_units(one), level), _mean(_units(other), level)
    variance, df = welch([first.variance, second.variance], [first.clusters, second.clusters])
    value = first.value - second.value
    return _with_test(value, variance, df, first.clusters + second.clusters, level)


def _units(values: Grouped) -> list[float]:
    filled = [list(found) for found in values.values() if len(found)]
    if len(filled) == 1:
        return filled[0]
    return [float(np.mean(found)) for found in filled]


def _mean(units: Sequence[float], level: float) -> Mean:
    count = len(units)
    value = float(np.mean(units)) if count else float("nan")
    variance = float(np.var(units, ddof=1)) / count if count > 1 else float("nan")
    return _with_test(value, variance, count - 1.0, count, level)


def _with_test(
    value: float, variance: float, df: float, clusters: int, level: float, *, paired: bool = False
) -> Mean:
    if not variance >= 0:
        nan = float("nan")
        return Mean(value, nan, nan, nan, variance, df, clusters, paired)
    low, high = t_interval(value, variance, df, level)
    return Mean(value, low, high, t_test(value, variance, df), variance, df, clusters, paired)
