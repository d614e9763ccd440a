"""What the paper holds CAS and MAD against: other measures of the same image sets.

All are the paper's kind of score, without intervals: a fair model does not read 0, and what it
reads depends on how many images there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from t2ibench.arrays import Float64Array
from t2ibench.errors import MissingEvidence
from t2ibench.methods.core.concepts import concept_counts
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.tibet.image_sets import ImageSet, PromptSets
from t2ibench.methods.tibet.questions import all_questions
from t2ibench.methods.tibet.schema import TibetTask
from t2ibench.stats import mad
from t2ibench.stats.moments import safe_ratio


def even_distance(values: npt.ArrayLike) -> Float64Array:
    """Wasserstein distance of shares to even ones, as MAD is normalised (appendix 9.4).

    √(W / W_K), W = Σ_{j<K} |F_j − j/K| with F_j the sum of the first j shares, W_K = (K − 1) / 2
    that of (1, 0, …, 0). Places are as far apart as they stand in the list. (With all pairs equally
    far apart, or with the shares as values on a line, the distance would be MAD itself; for K = 2
    it is.)

    Args:
        values: Scores of k counterfactuals, at least 0, in the order of the task, shape (..., k).

    Returns:
        From 0 to 1, shape (...); nan where k < 2 or all are 0.

    Example:
        >>> round(float(even_distance([3, 1])) ** 2, 6)  # MAD of them before its root
        0.5
    """
    rows = np.asarray(values, dtype=np.float64)
    k = rows.shape[-1]
    if k < 2:
        return np.full(rows.shape[:-1], np.nan)
    shares = safe_ratio(rows, rows.sum(axis=-1, keepdims=True))
    gaps = np.cumsum(shares - 1.0 / k, axis=-1)[..., :-1]
    distance: Float64Array = np.sqrt(np.abs(gaps).sum(axis=-1) / ((k - 1) / 2))
    return distance


def even_deviation(values: npt.ArrayLike) -> Float64Array:
    """Standard deviation of shares over that of (1, 0, …, 0) (appendix 9.4).

    Args:
        values: Scores of k counterfactuals, at least 0, shape (..., k).

    Returns:
        From 0 to 1, shape (...); nan where k < 2 or all are 0.

    Example:
        >>> float(even_deviation([3, 1]))
        0.5
    """
    rows = np.asarray(values, dtype=np.float64)
    k = rows.shape[-1]
    if k < 2:
        return np.full(rows.shape[:-1], np.nan)
    shares = safe_ratio(rows, rows.sum(axis=-1, keepdims=True))
    deviation: Float64Array = np.sqrt(((shares - 1.0 / k) ** 2).sum(axis=-1) / (1.0 - 1.0 / k))
    return deviation


def matched_association(
    first: npt.ArrayLike, second: npt.ArrayLike, similarity: npt.ArrayLike
) -> float:
    """The overlap of two histograms whose concepts are matched pairwise by similarity.

    Each concept of the one goes with one of the other, so that the cosines' sum is greatest;
    a pair counts its cosine times the smaller of its two frequencies:

        Σ cos(c, c') min(w_c, v_c') / (Σ w + Σ v − Σ min(w_c, v_c'))

    With concepts that are like themselves alone it is CAS. (The paper names the baseline and
    gives no formula.)

    Args:
        first: Frequencies w of v concepts, at least 0, shape (v,).
        second: Frequencies of the same concepts, shape (v,).
        similarity: Cosines of the concepts, shape (v, v); those below 0 count as 0.

    Returns:
        From 0 to 1; nan where both are empty.

    Example:
        A cook and a chef are alike, by .8, and CAS is 0.

        >>> matched_association([1, 0], [0, 1], [[1, 0.8], [0.8, 1]])
        0.8
    """
    w, v = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    rows, columns = np.flatnonzero(w > 0), np.flatnonzero(v > 0)
    if not len(rows) and not len(columns):
        return float("nan")
    cosines = np.clip(np.asarray(similarity, dtype=np.float64)[np.ix_(rows, columns)], 0.0, 1.0)
    one, other = linear_sum_assignment(cosines, maximize=True)
    least = np.minimum(w[rows[one]], v[columns[other]])
    return float((cosines[one, other] * least).sum() / (w.sum() + v.sum() - least.sum()))


def vocabulary(task: TibetTask) -> tuple[str, ...]:
    """The words whose embeddings concepts are matched by."""
    if task.concept_words is None:
        return ()
    texts = [
        text
        for target in task.prompts
        for text in (
            target.prompt,
            *all_questions(task, target),
            *(cf.name for axis in target.axes for cf in axis.counterfactuals),
            *(cf.prompt for axis in target.axes for cf in axis.counterfactuals),
        )
    ]
    return tuple(sorted({*task.concept_words, *concept_counts(texts)}))


@dataclass(frozen=True, slots=True)
class Vectors:
    """Embeddings of words.

    Attributes:
        rows: Word to its embedding, shape (d,), of unit length.
    """

    rows: dict[str, Float64Array]

    def similarity(self, names: Sequence[str]) -> Float64Array:
        """Cosines of concepts; one without an embedding is like itself alone.

        Args:
            names: The concepts, v of them.

        Returns:
            Shape (v, v).
        """
        same = np.eye(len(names))
        known = [place for place, name in enumerate(names) if name in self.rows]
        if known:
            matrix = np.stack([self.rows[names[place]] for place in known])
            same[np.ix_(known, known)] = matrix @ matrix.T
        np.fill_diagonal(same, 1.0)
        return same


def word_vectors(task: TibetTask, evidence: Evidence) -> Vectors | None:
    """Embeddings of the words that concepts are matched by."""
    words = vocabulary(task)
    if not words:
        return None
    try:
        rows = evidence.texts(words).astype(np.float64)
    except MissingEvidence:
        return None
    return Vectors({w: row for w, row in zip(words, rows, strict=True) if np.isfinite(row).all()})


def baseline_scores(
    start: ImageSet,
    changed: Sequence[ImageSet],
    names: Sequence[str],
    shares: Sequence[float],
    floor: float,
    similarity: Float64Array | None,
) -> dict[str, Estimate]:
    """The other measures of one prompt along one axis.

    Args:
        start: The prompt's images, at least one.
        changed: Those of its counterfactuals, two or more, at least one image each.
        names: Of the counterfactuals.
        shares: The paper's shares of the counterfactuals (`cas_share`), shape (k,).
        floor: Concepts that are rarer count as absent.
        similarity: Cosines of the concepts, shape (v, v); None leaves the matching out.

    Returns:
        'mad_clip': MAD with CAS_CLIP for CAS. 'wasserstein' and 'deviation': the alternatives to
        MAD. 'bipartite:<counterfactual>' and 'mad_bipartite': concepts matched pairwise.
    """
    scores = {
        "wasserstein": _column(float(even_distance(shares))),
        "deviation": _column(float(even_deviation(shares))),
    }
    similar = [start.similarity(one) for one in changed]
    known = [value for value in similar if value is not None]
    if len(known) == len(changed):
        scores["mad_clip"] = _column(float(mad(np.clip(known, 0.0, None))))
    if similarity is not None:
        scores |= _matched(start, changed, names, floor, similarity)
    return scores


def _matched(
    start: ImageSet,
    changed: Sequence[ImageSet],
    names: Sequence[str],
    floor: float,
    similarity: Float64Array,
) -> dict[str, Estimate]:
    first, *others = (one.histogram(floor) for one in (start, *changed))
    scores = {
        f"bipartite:{name}": _column(matched_association(first, other, similarity))
        for name, other in zip(names, others, strict=True)
    }
    even = [
        matched_association(_even(first), _even(other), similarity) for other in others
    ]  # as for MAD of CAS
    return scores | {"mad_bipartite": _column(float(mad(np.nan_to_num(even))))}


def _even(histogram: Float64Array) -> Float64Array:
    """A histogram of sum 1."""
    total = float(histogram.sum())
    return histogram / total if total else histogram


def _column(value: float) -> Estimate:
    return Estimate(value, as_published=True)


def coverage(sets: PromptSets, vectors: Vectors) -> float:
    """The share of a prompt's concepts, by frequency, that have an embedding."""
    totals = sum(one.histogram(0.0) for one in sets.sets.values() if len(one))
    known = np.array([name in vectors.rows for name in sets.names], dtype=bool)
    mass = float(np.sum(totals))
    return float(np.sum(np.asarray(totals)[known])) / mass if mass else 1.0
