"""Statistics and effect sizes of two observed samples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from t2ibench.arrays import Float64Array
from t2ibench.stats.clusters import label_indices
from t2ibench.stats.moments import NOT_COMPUTED, Moments, Need, Pair, Values, rank_dominance, select


def two_sample_statistic(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    statistic: str,
    clusters_x: npt.ArrayLike | None = None,
    clusters_y: npt.ArrayLike | None = None,
) -> float:
    """Any statistic of the table `t2ibench.stats.moments.STATISTICS` for two observed samples.

    The bootstrap and the permutation test evaluate the same formulas on resamples and partitions.

    Args:
        x: Shape (n,), n ≥ 1.
        y: Shape (m,), m ≥ 1.
        statistic: mean_difference, mean_x, mean_y, prompt_mean_difference (of cluster means),
            cohens_d, union_d, union_d_ddof0 (as union_d, with ddof 0) or cliffs_delta.
        clusters_x: Shape (n,), labels; None makes each value its own cluster. Only
            prompt_mean_difference reads them.
        clusters_y: Shape (m,), the same for Y.

    Returns:
        The statistic; nan where it has no value, such as a ratio to an SD of 0.

    Raises:
        ValueError: the statistic is unknown.

    Source: see `cohens_d`, `union_effect_size` and `cliffs_delta`; union_d_ddof0 is the formula of
        T2IAT's public code.

    Example:
        X has clusters (0, 2) and (7), with means 1 and 7; the mean of Y is 2.

        >>> two_sample_statistic([0, 2, 7], [2], "prompt_mean_difference", ["a", "a", "b"])
        2.0
        >>> two_sample_statistic([0, 2, 7], [2], "mean_difference")
        1.0
    """
    (entry,) = select([statistic]).values()
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    moments_x = _moments(a, clusters_x, entry.needs)
    moments_y = _moments(b, clusters_y, entry.needs)
    dominance: Values = NOT_COMPUTED
    union_squares: Values | None = None
    if Need.ORDER in entry.needs:
        ranks = scipy.stats.rankdata(np.concatenate([a, b]))
        dominance = rank_dominance(ranks[: len(a)].sum(), len(a), len(b))
    if Need.SQUARES in entry.needs:
        union_squares = _squares(np.concatenate([a, b]))
    return float(entry.of(Pair(moments_x, moments_y, dominance, union_squares)))


def _squares(values: Float64Array) -> float:
    return float(((values - values.mean()) ** 2).sum())


def _moments(values: Float64Array, clusters: npt.ArrayLike | None, needs: Need) -> Moments:
    mean = float(values.mean())
    squares: Values = NOT_COMPUTED
    cluster_mean: Values = NOT_COMPUTED
    if Need.SQUARES in needs:
        squares = _squares(values)
    if Need.CLUSTER_MEANS in needs:
        indices = label_indices(len(values), clusters)
        cluster_mean = float((np.bincount(indices, values) / np.bincount(indices)).mean())
    return Moments(len(values), mean, squares, cluster_mean)


def cohens_d(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Cohen's d: difference of means over the pooled within-sample SD.

    d = (x̄ − ȳ) / s, with s² = (Σ(x − x̄)² + Σ(y − ȳ)²) / (n + m − 2)

    Args:
        x: Shape (n,), n ≥ 1.
        y: Shape (m,), m ≥ 1.

    Returns:
        d, in pooled SDs; positive where X has the larger mean; nan where s is 0 or n + m < 3.

    Source: Cohen 1988, section 2.2; T2IAT (Wang et al. 2023), eq. 4.

    Example:
        Means 3 and 1; squares 2 + 2 over 4 − 2 degrees of freedom give s² = 2.

        >>> round(cohens_d([2, 4], [0, 2]), 4)  # 2 / √2
        1.4142
    """
    return two_sample_statistic(x, y, "cohens_d")


def union_effect_size(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """WEAT effect size: difference of means over the SD of both samples together, ddof 1.

    d = (x̄ − ȳ) / s, with s² = Σ(z − z̄)² / (n + m − 1) over all values z of X and Y

    Args:
        x: Shape (n,), n ≥ 1.
        y: Shape (m,), m ≥ 1.

    Returns:
        d, between −2 and 2 for n = m; nan where no value differs from another.

    Source: Caliskan, Bryson & Narayanan 2017, Science 356:183, effect size of the WEAT.

    Example:
        Means 3 and 1; all four values have mean 2 and squares 0 + 4 + 4 + 0 over 3.

        >>> round(union_effect_size([2, 4], [0, 2]), 4)  # 2 / √(8 / 3)
        1.2247
    """
    return two_sample_statistic(x, y, "union_d")


def cliffs_delta(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Cliff's delta: how much more often X exceeds Y than the reverse.

    δ = (#{x > y} − #{x < y}) / (n m) over all pairs. (δ + 1) / 2 is the area under the ROC curve.

    Args:
        x: Shape (n,), n ≥ 1.
        y: Shape (m,), m ≥ 1.

    Returns:
        δ, from −1 (all of X below all of Y) to 1.

    Source: Cliff 1993, Psychological Bulletin 114:494.

    Example:
        Pairs: 2 > 1, 2 < 3, 4 > 1, 4 > 3: three wins and one loss of four.

        >>> cliffs_delta([2, 4], [1, 3])
        0.5
    """
    return two_sample_statistic(x, y, "cliffs_delta")
