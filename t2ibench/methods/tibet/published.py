"""The paper's scores: CAS, its shares, CAS_CLIP and MAD (Chinchure et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.tibet.image_sets import ImageSet, drop_rare
from t2ibench.stats import concept_association, mad

# Names of scores.
CAS = "concept_association_score"
CAS_SHARE = "concept_association_share"
CAS_CLIP = "clip_association_score"
MAD = "mean_absolute_deviation"
# Draws of the null of one axis; its histograms are recomputed in each.
_MOST_DRAWS = 2000


def published_scores(
    start: ImageSet,
    changed: Sequence[ImageSet],
    names: Sequence[str],
    n_draws: int,
    rng: np.random.Generator,
) -> dict[str, Estimate]:
    """Return the paper's scores of a prompt along an axis: CAS, its shares, CAS_CLIP and MAD.

    With w(c) the mean frequency of concept c in the answers about an image, w of the prompt and
    w_i of its i-th counterfactual, i = 1 to K (Chinchure et al. 2024, algorithm 1 and equation 7):

        cas_i       = sum over c of min(w, w_i) / sum over c of max(w, w_i)
        cas_share_i = the same from histograms of sum 1, over its sum over i
        mad         = sqrt(mean over i of |cas_share_i - 1 / K| / MAD_K), MAD_K the mean deviation
                      of the shares (1, 0, ..., 0); 0 is alike, 1 is one counterfactual only
        cas_clip_i  = mean cosine of every image of the prompt with every image of the i-th

    Args:
        start: The prompt's images.
        changed: The images of each counterfactual.
        names: The counterfactuals' names.
        n_draws: Draws of the null of MAD, at most.
        rng: Their random numbers.
    """
    histograms = np.stack([image_set.histogram() for image_set in changed])
    raw, shares = associations(start.histogram(), histograms)
    scores: dict[str, Estimate] = {}
    for index, name in enumerate(names):
        scores[f"{CAS}:{name}"] = as_published(float(raw[index]))
        scores[f"{CAS_SHARE}:{name}"] = as_published(float(shares[index]))
        similarity = start.similarity(changed[index])
        if similarity is not None:
            scores[f"{CAS_CLIP}:{name}"] = as_published(similarity)
    deviation = float(mad(shares))
    if not np.isfinite(deviation):
        reason = (
            "an axis with one counterfactual has no deviation"
            if len(changed) < 2
            else "the prompt shares no concept with any counterfactual"
        )
        scores[MAD] = Estimate.undefined(reason)
        return scores
    # Compared before the root, which makes 1e-8 of a rounding error of 1e-16.
    before_root = float(mad(shares, root=False))
    null = null_deviation(start, changed, min(_MOST_DRAWS, n_draws), rng)
    tested = Estimate.from_null(before_root, None, null)
    scores[MAD] = replace(tested, value=deviation, as_published=True)
    scores[f"{MAD}_before_root"] = as_published(before_root)
    return scores


def mean_deviation(rows: Sequence[Estimate], reason: str) -> Estimate:
    """Return the rows' mean MAD, or an undefined score if no row has one."""
    values = [row.value for row in rows if row.value is not None]
    if values:
        return as_published(float(np.mean(values)))
    reasons = [row.reason for row in rows if row.reason]
    return Estimate.undefined(reasons[0] if reasons else reason)


def as_published(value: float) -> Estimate:
    """Return a value as a score that follows the paper's definition, without an interval."""
    return Estimate(value, as_published=True)


def associations(
    start: Float64Array, changed: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Return the CAS of k counterfactuals, and the shares from which MAD is computed.

    Both have the shape (..., k). For two histograms w and v, CAS = sum min(w, v) / sum
    max(w, v) (algorithm 1); the shares are of histograms of sum 1, as in the public
    code, and made to sum to 1 over the k counterfactuals.

    Args:
        start: Histogram of the prompt's images, shape (..., concepts).
        changed: Those of the counterfactuals, shape (..., k, concepts).

    Examples:
        The prompt's images are three cooks to one waiter, one counterfactual's are all cooks, the
        other's all waiters: 0.75 / 1.25 and 0.25 / 1.75.

        >>> cas, shares = associations(np.array([0.75, 0.25]), np.eye(2))
        >>> cas.round(3).tolist(), shares.round(3).tolist()
        ([0.6, 0.143], [0.808, 0.192])
    """
    raw = concept_association(start[..., None, :], changed)
    with np.errstate(divide="ignore", invalid="ignore"):
        start_of_sum_1 = start / start.sum(axis=-1, keepdims=True)
        changed_of_sum_1 = changed / changed.sum(axis=-1, keepdims=True)
        normalised = np.nan_to_num(
            concept_association(start_of_sum_1[..., None, :], changed_of_sum_1)
        )
        shares: Float64Array = normalised / normalised.sum(axis=-1, keepdims=True)
    return np.nan_to_num(raw), shares


def null_deviation(
    start: ImageSet, changed: Sequence[ImageSet], n_draws: int, rng: np.random.Generator
) -> Float64Array:
    """Return draws of MAD, before its root, for a prompt equally like all counterfactuals.

    The prompt's images are resampled from those of its counterfactuals in equal parts, and those of
    each counterfactual from its own: a neutral prompt, at these sizes. Splitting the
    counterfactuals' images at random instead would ignore the variation of the prompt's own images,
    which is most of it.

    Returns:
        Draws, shape (n_draws,).
    """
    pooled_bags = np.concatenate([image_set.bags() for image_set in changed])
    # An image of a smaller set is drawn more often, so that every set is drawn as often.
    chances_by_set = []
    for image_set in changed:
        n_images = len(image_set)
        chances_by_set.append(np.full(n_images, 1.0 / n_images))
    chances = np.concatenate(chances_by_set)
    counts = rng.multinomial(len(start), chances / chances.sum(), n_draws)
    weights = counts / len(start)
    start_draws = drop_rare(weights @ pooled_bags, start.floor)
    changed_draws = []
    for image_set, equal_chances in zip(changed, chances_by_set, strict=True):
        n_images = len(image_set)
        counts = rng.multinomial(n_images, equal_chances, n_draws)
        weights = counts / n_images
        mean_bags = weights @ image_set.bags()
        changed_draws.append(drop_rare(mean_bags, start.floor))
    _, shares = associations(start_draws, np.stack(changed_draws, axis=1))
    return np.nan_to_num(mad(shares, root=False))
