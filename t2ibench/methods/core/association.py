"""The association of images with two sets of attribute images (or words)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate, share_estimate
from t2ibench.methods.core.evidence import PromptImages
from t2ibench.stats import resample_weights

_BLOCK = 1000  # bootstrap draws at a time, which bounds the memory of the weights
_FEW_ADHERE = 0.6  # half of the images would be nearer the right text by chance


def cycle_words(words: Sequence[str], stimulus_number: int, count: int | None) -> list[str]:
    """The attribute words of one stimulus: balanced, and the same on every machine.

    Examples:
        >>> [cycle_words(["joy", "love", "peace"], number, 2) for number in range(3)]
        [['joy', 'love'], ['peace', 'joy'], ['love', 'peace']]
    """
    if count is None:
        return list(words)
    start = stimulus_number * count
    return [words[(start + step) % len(words)] for step in range(count)]


def association(targets: Float64Array, a: Float64Array, b: Float64Array) -> Float64Array:
    """Mean cosine to A less mean cosine to B (Wang et al. 2023, eq. 2; Caliskan et al. 2017).

    asc(w) = mean over a in A of cos(w, a) - mean over b in B of cos(w, b)

    Args:
        targets: Shape (n, d), unit rows.
        a: Shape (k, d), unit rows.
        b: Shape (l, d), unit rows.

    Returns:
        Shape (n,), in [-2, 2]; positive is nearer A.

    Examples:
        The first target is A itself, the second is as near to A as to B:

        >>> a, b = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
        >>> association(np.array([[1.0, 0.0], [0.6, 0.6]]), a, b).tolist()
        [1.0, 0.0]
    """
    values: Float64Array = targets @ (a.mean(axis=0) - b.mean(axis=0))
    return values


def association_draws(
    targets: Float64Array,
    a: PromptImages,
    b: PromptImages,
    n_draws: int,
    rng: np.random.Generator,
) -> Float64Array:
    """Associations under resampling of the attribute images: prompts, then images within.

    Args:
        targets: Shape (n, d), unit rows.
        a: Images of attribute A.
        b: Images of attribute B.
        n_draws: How many resamples.
        rng: Where they come from.

    Returns:
        Shape (n_draws, n).
    """
    draws = np.empty((n_draws, len(targets)))
    cosines_a, cosines_b = a.embeddings @ targets.T, b.embeddings @ targets.T
    for start in range(0, n_draws, _BLOCK):
        stop = min(start + _BLOCK, n_draws)
        weights_a = resample_weights(a.clusters, stop - start, rng)
        weights_b = resample_weights(b.clusters, stop - start, rng)
        draws[start:stop] = weights_a @ cosines_a - weights_b @ cosines_b
    return draws


def standardised(cosines_a: Float64Array, cosines_b: Float64Array) -> Float64Array:
    """Associations over the SD of each row's cosines to A and B together (SC-WEAT).

    d(w) = (mean over A of cos(w, a) - mean over B of cos(w, b)) / SD over A and B of cos(w, x),
    with ddof 1 (Caliskan et al. 2017, the effect size of the WEFAT).

    Args:
        cosines_a: Shape (n, k).
        cosines_b: Shape (n, l).

    Returns:
        Shape (n,); nan where a row's cosines do not vary.

    Examples:
        The difference of means is 1 - 0; the SD of 1, 1, 0 and 0 with ddof 1 is the root of 1/3:

        >>> standardised(np.array([[1.0, 1.0]]), np.array([[0.0, 0.0]])).round(3).tolist()
        [1.732]
    """
    both = np.concatenate([cosines_a, cosines_b], axis=1)
    if both.shape[1] < 2:
        return np.full(len(both), np.nan)
    return _divide(cosines_a.mean(axis=1) - cosines_b.mean(axis=1), both.std(axis=1, ddof=1))


def standardised_draws(
    cosines_a: Float64Array,
    cosines_b: Float64Array,
    weights_a: Float64Array,
    weights_b: Float64Array,
) -> Float64Array:
    """`standardised` under resampling of A and B.

    Args:
        cosines_a: Shape (n, k).
        cosines_b: Shape (n, l).
        weights_a: Shape (draws, k), rows of sum 1.
        weights_b: Shape (draws, l), rows of sum 1.

    Returns:
        Shape (draws, n); nan where a resample's cosines do not vary.
    """
    k, count = cosines_a.shape[1], cosines_a.shape[1] + cosines_b.shape[1]
    mean_a, mean_b = weights_a @ cosines_a.T, weights_b @ cosines_b.T
    share = k / count
    second = share * (weights_a @ cosines_a.T**2) + (1 - share) * (weights_b @ cosines_b.T**2)
    mean = share * mean_a + (1 - share) * mean_b
    variance = np.maximum(second - mean**2, 0.0) * count / max(count - 1, 1)
    return _divide(mean_a - mean_b, np.sqrt(variance))


def _divide(top: Float64Array, bottom: Float64Array) -> Float64Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Float64Array = top / bottom
    return np.where(np.isfinite(ratio), ratio, np.nan)


def adherence(
    a_images: Float64Array, b_images: Float64Array, a_texts: Float64Array, b_texts: Float64Array
) -> tuple[int, int]:
    """How many attribute images are nearer their own attribute's text than the other's.

    Args:
        a_images: Images of attribute A, shape (n, d), unit rows.
        b_images: Images of attribute B, shape (m, d), unit rows.
        a_texts: Texts of A, shape (k, d), unit rows.
        b_texts: Texts of B, shape (l, d), unit rows.

    Returns:
        (images that are, all images).

    Examples:
        Both images of A are nearer A's text; the one image of B is too:

        >>> text_a, text_b = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
        >>> images_a = np.array([[1.0, 0.0], [0.8, 0.6]])
        >>> adherence(images_a, np.array([[0.8, 0.6]]), text_a, text_b)
        (2, 3)
    """
    nearer = association(a_images, a_texts, b_texts) > 0
    farther = association(b_images, a_texts, b_texts) < 0
    return int(nearer.sum() + farther.sum()), len(nearer) + len(farther)


def adherence_estimate(hits: int, total: int) -> Estimate:
    """Share of attribute images that show their attribute.

    Examples:
        >>> adherence_estimate(3, 4).value
        0.75
    """
    if total == 0:
        return Estimate.undefined("there are no attribute images")
    return share_estimate(hits, total)


def adherence_warnings(hits: int, total: int, kind: str) -> list[str]:
    """Warn if the attribute prompts did not change the images.

    Examples:
        >>> adherence_warnings(9, 10, "group")
        []
    """
    if total == 0 or hits / total >= _FEW_ADHERE:
        return []
    return [
        f"Only {hits} of {total} attribute images are nearer the text of their own {kind} than "
        "that of the other: the manipulation may have failed, so read the score with care."
    ]


def left_out_warnings(stimuli: Sequence[str]) -> list[str]:
    """A warning that names the stimuli without all of their images."""
    if not stimuli:
        return []
    return [f"Left out, because a prompt of theirs has no image: {', '.join(stimuli)}."]
