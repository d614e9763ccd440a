"""Associations of images with two attribute sets, and the distance between two groups of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.diversity import diversity_of
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.obedience import Seen
from t2ibench.methods.core.over_stimuli import over_stimuli
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.core.shuffled_distances import shuffled_distances
from t2ibench.methods.core.text_vectors import with_vector
from t2ibench.stats import p_value, resample_weights
from t2ibench.stats.moments import safe_ratio

_BLOCK = 1000  # bootstrap draws at a time, which bounds the memory of the weights


def cycle_words(
    words: Sequence[str], stimulus_number: int, count: int | None
) -> list[str]:
    """Return the attribute words of one stimulus: the next `count` of a cycle; all if None.

    Over stimuli, each word is used about equally often, and the choice is the same on
    every machine.

    Examples:
        >>> [cycle_words(["joy", "love", "peace"], number, 2) for number in range(3)]
        [['joy', 'love'], ['peace', 'joy'], ['love', 'peace']]
    """
    if count is None:
        return list(words)
    start = stimulus_number * count
    return [words[(start + step) % len(words)] for step in range(count)]


def association(
    targets: Float64Array, a: Float64Array, b: Float64Array
) -> Float64Array:
    """Return each target's mean cosine to the rows of `a` less that to the rows of `b`.

    Rows have unit length: asc(w) = mean over a in A of cos(w, a) - mean over b in B of
    cos(w, b), from -2 to 2; positive is nearer to A (Wang et al. 2023, eq. 2; Caliskan
    et al. 2017).

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
    """Return bootstrap draws of each target's association, resampling both sets of images.

    Prompts are resampled, then images within them; shape (n_draws, targets).
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
    """Return each row's mean cosine to A less that to B, divided by the SD of all its cosines.

    The effect size of the SC-WEAT (the WEFAT of Caliskan et al. 2017): d(w) = (mean
    over A of cos(w, a) - mean over B of cos(w, b)) / SD over A and B of cos(w, x), with
    ddof 1; nan where the cosines do not vary.

    Examples:
        The difference of means is 1 - 0; the SD of 1, 1, 0 and 0 with ddof 1 is the root of 1/3:

        >>> standardised(np.array([[1.0, 1.0]]), np.array([[0.0, 0.0]])).round(3).tolist()
        [1.732]
    """
    both = np.concatenate([cosines_a, cosines_b], axis=1)
    if both.shape[1] < 2:
        return np.full(len(both), np.nan)
    return safe_ratio(
        cosines_a.mean(axis=1) - cosines_b.mean(axis=1), both.std(axis=1, ddof=1)
    )


def standardised_draws(
    cosines_a: Float64Array,
    cosines_b: Float64Array,
    weights_a: Float64Array,
    weights_b: Float64Array,
) -> Float64Array:
    """Return standardised associations for each draw of the images' weights, one row a draw.

    The weights are those of the images of A and of B in each draw.
    """
    count_a = cosines_a.shape[1]
    count = count_a + cosines_b.shape[1]
    share = count_a / count
    mean_a = weights_a @ cosines_a.T
    mean_b = weights_b @ cosines_b.T
    mean = share * mean_a + (1 - share) * mean_b
    square_a = weights_a @ cosines_a.T**2
    square_b = weights_b @ cosines_b.T**2
    square = share * square_a + (1 - share) * square_b
    variance = np.maximum(square - mean**2, 0.0) * count / max(count - 1, 1)
    return safe_ratio(mean_a - mean_b, np.sqrt(variance))


def adherence(
    a_images: Float64Array,
    b_images: Float64Array,
    a_texts: Float64Array,
    b_texts: Float64Array,
) -> tuple[Seen, Seen]:
    """Return how many images of A, and of B, are nearer to their own texts than to the other's.

    Texts without a vector count for nothing; where an attribute has no other, its images and the
    other's are unknown.
    """
    a_vectors = with_vector(a_texts)
    b_vectors = with_vector(b_texts)
    if not len(a_vectors) or not len(b_vectors):
        return Seen(unknown=len(a_images)), Seen(unknown=len(b_images))
    a_shown = association(a_images, a_vectors, b_vectors) > 0
    b_shown = association(b_images, a_vectors, b_vectors) < 0
    a_seen = Seen(int(a_shown.sum()), len(a_shown))
    b_seen = Seen(int(b_shown.sum()), len(b_shown))
    return a_seen, b_seen


def left_out_warnings(stimuli: Sequence[str], lacks: str = "has no image") -> list[str]:
    """Return a list of one warning that names the stimuli left out; empty if there are none."""
    if not stimuli:
        return []
    return [f"Left out, because a prompt of theirs {lacks}: {', '.join(stimuli)}."]


_FEWEST = 2  # images of each set: one has no distance within
_MOST_DRAWS = 9999


@dataclass(frozen=True, slots=True)
class SetDistance:
    """The distance between two sets of images of one stimulus, as a mean over its wordings.

    With the mean squared distances H_ab between an image of one set and one of the other, and H_a
    and H_b between two of one set:

    beyond = H_ab - (H_a + H_b) / 2, and value = beyond / H_ab

    'beyond' is the squared distance of the two sets' expectations, without bias at any number of
    images: 0 where both sets are drawn alike, as two halves of one set are. 'value' is its share
    of the squared distance of an image of either set: 1 where the images of each are all the same.
    It is the fixation index F_ST with a distance for the differences of genes.

    Source: Hudson, Slatkin and Maddison 1992, equation 3.
    """

    beyond: float  # mean over wordings of `beyond`
    between: float  # mean over wordings of H_ab

    @property
    def value(self) -> float:
        """Distance of the two sets, as a share of the distance of an image from the other set.

        At most 1; by chance it may be negative.
        """
        return self.beyond / self.between if self.between > 0 else float("nan")

    @classmethod
    def of(
        cls, pairs: Sequence[tuple[Float64Array, Float64Array]]
    ) -> SetDistance | None:
        """Return the mean distance over pairs of sets of images; None if a set has a single image.

        Examples:
            >>> a, b = np.array([[1.0, 0.0]] * 3), np.array([[0.0, 1.0]] * 3)
            >>> SetDistance.of([(a, b)]).value, SetDistance.of([(np.eye(2), np.eye(2))]).value
            (1.0, -1.0)
        """
        if any(min(len(a), len(b)) < _FEWEST for a, b in pairs):
            return None
        distances = []
        for a, b in pairs:
            between = 1.0 - float(a.mean(axis=0) @ b.mean(axis=0))
            within_a, _ = diversity_of(a)
            within_b, _ = diversity_of(b)
            within = within_a + within_b
            distances.append((between - within / 2, between))
        beyond, distance = np.mean(distances, axis=0)
        return cls(float(beyond), float(distance))


def row_distance(
    pairs: Sequence[tuple[Float64Array, Float64Array]],
    n_draws: int,
    rng: np.random.Generator,
) -> Estimate:
    """Return the distance between two sets of a stimulus's images, tested by permutation.

    The labels are shuffled within each wording.
    """
    distance = SetDistance.of(pairs)
    if distance is None:
        return Estimate.undefined("a set has a single image")
    draws = min(n_draws, _MOST_DRAWS)
    null = np.mean([shuffled_distances(a, b, draws, rng) for a, b in pairs], axis=0)
    # The distances within and between sets trade off, so the sum that is left decides.
    p = p_value(null, distance.beyond, "greater", exact=False)
    return Estimate(distance.value, p=p, test="monte_carlo", alternative="greater")


def mean_distance(
    stimuli: Sequence[Sequence[tuple[Float64Array, Float64Array]]], level: float
) -> Estimate:
    """Return the distance of two sets of images averaged over stimuli, as a ratio of means."""
    distances = [SetDistance.of(pairs) for pairs in stimuli]
    measured = [distance for distance in distances if distance is not None]
    if not measured:
        return Estimate.undefined("a set has a single image")
    at = np.arange(len(measured))
    beyond = np.array([distance.beyond for distance in measured])
    between = np.array([distance.between for distance in measured])
    return over_stimuli(beyond, between, [("stimuli", at, at)], level).estimate()


def halves(images: PromptImages) -> tuple[Float64Array, Float64Array]:
    """Return the embeddings of the images with even numbers, and of those with odd ones."""
    even = images.indices % 2 == 0
    return images.embeddings[even], images.embeddings[~even]
