"""The scores of the paper, CAS and MAD, as it defines them; their uncertainty is not calibrated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.tibet.associations import associations, null_deviation
from t2ibench.methods.tibet.image_sets import ImageSet
from t2ibench.stats import mad

_DRAWS = 2000  # of the null of one axis; its histograms are recomputed in each


def published_scores(
    start: ImageSet,
    changed: Sequence[ImageSet],
    names: Sequence[str],
    floor: float,
    n_draws: int,
    rng: np.random.Generator,
) -> dict[str, Estimate]:
    """CAS, its shares, CAS_CLIP and MAD of one prompt along one axis.

    With w(c) the mean frequency of concept c in the answers about an image, w of the prompt and
    w_i of its i-th counterfactual, i = 1 to K (Chinchure et al. 2024, algorithm 1 and equation 7):

        cas_i       = sum over c of min(w, w_i) / sum over c of max(w, w_i)
        cas_share_i = the same from histograms of sum 1, over its sum over i
        mad         = sqrt(mean over i of |cas_share_i - 1 / K| / MAD_K), MAD_K the mean deviation
                      of the shares (1, 0, ..., 0); 0 is alike, 1 is one counterfactual only
        cas_clip_i  = mean cosine of every image of the prompt with every image of the i-th
    """
    others = np.stack([image_set.histogram(floor) for image_set in changed])
    raw, shares = associations(start.histogram(floor), others)
    scores: dict[str, Estimate] = {}
    for index, name in enumerate(names):
        scores[f"cas:{name}"] = _column(float(raw[index]))
        scores[f"cas_share:{name}"] = _column(float(shares[index]))
        similar = start.similarity(changed[index])
        if similar is not None:
            scores[f"cas_clip:{name}"] = _column(similar)
    return scores | _deviation(start, changed, shares, floor, min(_DRAWS, n_draws), rng)


def _column(value: float) -> Estimate:
    return Estimate(value, as_published=True)


def _deviation(
    start: ImageSet,
    changed: Sequence[ImageSet],
    shares: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    floor: float,
    n_draws: int,
    rng: np.random.Generator,
) -> dict[str, Estimate]:
    """MAD beside its null, the prompt's images drawn from its counterfactuals' in equal parts."""
    if len(changed) < 2:
        return {"mad": Estimate.undefined("an axis with one counterfactual has no deviation")}
    value = float(mad(shares))
    if not np.isfinite(value):
        return {"mad": Estimate.undefined("the prompt shares no concept with any counterfactual")}
    before = float(mad(shares, root=False))
    # Compared before the root, which makes 1e-8 of a rounding error of 1e-16.
    found = Estimate.from_null(before, None, null_deviation(start, changed, floor, n_draws, rng))
    return {
        "mad": replace(found, value=value, as_published=True),
        "mad_before_root": _column(before),
    }


def mean_column(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of a published score over rows."""
    return _column(float(np.mean([estimate.value for estimate in estimates])))
