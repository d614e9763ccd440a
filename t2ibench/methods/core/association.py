"""The association of images with two sets of attribute images (or words)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t2ibench.methods.core.estimate import Estimate, share_estimate
from t2ibench.methods.core.evidence import FloatArray, Pool
from t2ibench.methods.core.prompts import fill
from t2ibench.stats import resample_weights


def cycle_words(words: Sequence[str], stimulus_number: int, count: int | None) -> list[str]:
    """The attribute words of one stimulus: balanced, and the same on every machine.

    Args:
        words: All words of the attribute.
        stimulus_number: Place of the stimulus in its list.
        count: Words for each stimulus; None for all of them (pairing 'cross').
    """
    if count is None:
        return list(words)
    start = stimulus_number * count
    return [words[(start + step) % len(words)] for step in range(count)]


def guided_prompts(template: str, stimulus: str, words: Sequence[str]) -> list[str]:
    """The prompts of one stimulus with each of the attribute words."""
    return [fill(template, stimulus=stimulus, attribute=word) for word in words]


def association(targets: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Mean cosine to A less mean cosine to B (Wang et al. 2023, eq. 2; Caliskan et al. 2017).

    Args:
        targets: Shape (n, d), unit rows.
        a: Shape (k, d), unit rows.
        b: Shape (l, d), unit rows.

    Returns:
        Shape (n,).
    """
    result: FloatArray = targets @ (a.mean(axis=0) - b.mean(axis=0))
    return result


def association_draws(
    targets: FloatArray, a: Pool, b: Pool, n_draws: int, rng: np.random.Generator
) -> FloatArray:
    """Associations under resampling of the attribute images: prompts, then images within.

    Returns:
        Shape (n_draws, n).
    """
    draws = np.empty((n_draws, len(targets)))
    cosines_a, cosines_b = a.embeddings @ targets.T, b.embeddings @ targets.T
    for start in range(0, n_draws, 1000):  # blocks bound the memory of the weights
        stop = min(start + 1000, n_draws)
        weights_a = resample_weights(a.clusters, stop - start, rng)
        weights_b = resample_weights(b.clusters, stop - start, rng)
        draws[start:stop] = weights_a @ cosines_a - weights_b @ cosines_b
    return draws


def standardised(cosines_a: FloatArray, cosines_b: FloatArray) -> FloatArray:
    """Associations over the SD (ddof 1) of each row's cosines to A and B together (SC-WEAT).

    Args:
        cosines_a: Shape (n, k).
        cosines_b: Shape (n, l).

    Returns:
        Shape (n,); nan where a row's cosines do not vary.
    """
    both = np.concatenate([cosines_a, cosines_b], axis=1)
    if both.shape[1] < 2:
        return np.full(len(both), np.nan)
    return _divide(cosines_a.mean(axis=1) - cosines_b.mean(axis=1), both.std(axis=1, ddof=1))


def standardised_draws(
    cosines_a: FloatArray, cosines_b: FloatArray, weights_a: FloatArray, weights_b: FloatArray
) -> FloatArray:
    """`standardised` under resampling of A and B; weights have shape (draws, k) and (draws, l).

    Returns:
        Shape (draws, n).
    """
    k, count = cosines_a.shape[1], cosines_a.shape[1] + cosines_b.shape[1]
    mean_a, mean_b = weights_a @ cosines_a.T, weights_b @ cosines_b.T
    share = k / count
    second = share * (weights_a @ cosines_a.T**2) + (1 - share) * (weights_b @ cosines_b.T**2)
    mean = share * mean_a + (1 - share) * mean_b
    variance = np.maximum(second - mean**2, 0.0) * count / max(count - 1, 1)
    return _divide(mean_a - mean_b, np.sqrt(variance))


def _divide(top: FloatArray, bottom: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: FloatArray = top / bottom
    return np.where(np.isfinite(ratio), ratio, np.nan)


def adherence(
    a_images: FloatArray, b_images: FloatArray, a_texts: FloatArray, b_texts: FloatArray
) -> tuple[int, int]:
    """How many attribute images are nearer their own attribute's text than the other's.

    Returns:
        (images that are, all images).
    """
    nearer = association(a_images, a_texts, b_texts) > 0
    farther = association(b_images, a_texts, b_texts) < 0
    return int(nearer.sum() + farther.sum()), len(nearer) + len(farther)


def adherence_estimate(hits: int, total: int) -> Estimate:
    """Share of attribute images that show their attribute."""
    if total == 0:
        return Estimate(None, reason="there are no attribute images")
    return share_estimate(hits, total)


def adherence_warning(hits: int, total: int, what: str) -> str | None:
    """A warning where the attribute prompts did not change the images."""
    if total == 0 or hits / total >= 0.6:
        return None
    return (
        f"Only {hits} of {total} attribute images are nearer the text of their own {what} than "
        "that of the other: the manipulation may have failed, so read the score with care."
    )
