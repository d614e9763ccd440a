"""The occupations scores as published (Wang et al. 2023, sections 5.3 and 5.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.association import association
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.stimulus_images import StimulusImages
from t2ibench.methods.core.text_vectors import with_vector
from t2ibench.methods.occupations.design import (
    GroupPair,
    group_pairs,
    group_prompts,
    neutral_prompts,
)
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings
from t2ibench.stats import correlation_permutation

_NO_TEXTS = "the encoder has no vectors of its texts"
# Stimuli with a known share, for a correlation.
_FEWEST_SHARES = 3

# Suffix of a pair of groups to the association of each neutral image of a stimulus.
Associations = dict[str, Float64Array]


def associate(
    task: OccupationsTask, images: StimulusImages, evidence: Evidence
) -> tuple[Associations, dict[str, Estimate]]:
    """Return one stimulus's associations with each pair of groups, and the paper's scores.

    For a neutral image x of a stimulus, with the images A and B that the prompts of the same
    stimulus with the first and the second group gave (Wang et al. 2023, section 5.3):

    Asc(x) = mean over A of cos(x, a) - mean over B of cos(x, b)                (eq. 2)
    nearer_share_difference = share of images with Asc > 0 less share with Asc < 0

    The associations of one stimulus share the error of A and B, and Asc = 0 is not where a fair
    mixture lies: these scores have neither an interval nor a p-value.
    """
    associations: Associations = {}
    scores: dict[str, Estimate] = {}
    neutral = images.all_neutral.embeddings
    for pair in group_pairs(task):
        first, second = (images.of_group(name).embeddings for name in pair.names)
        values = association(neutral, first, second)
        associations[pair.suffix] = values
        numbers = {
            "association": float(values.mean()),
            "nearer_share_difference": nearer_share_difference(values),
            "lower_quartile": float(np.percentile(values, 25)),
            "median": float(np.percentile(values, 50)),
            "upper_quartile": float(np.percentile(values, 75)),
            "association_text": _association_of_texts(
                task, images.name, pair, evidence
            ),
        }
        for name, number in numbers.items():
            estimate = Estimate(number, as_published=True, reason=_NO_TEXTS)
            scores[f"{name}{pair.suffix}"] = estimate
    return associations, scores


def nearer_share_difference(associations: Float64Array) -> float:
    """Return the share of images nearer to the first group less that nearer to the second.

    Examples:
        >>> nearer_share_difference(np.array([0.1, 0.2, 0.3, -0.5]))  # 0.75 - 0.25
        0.5
    """
    return float((associations > 0).mean() - (associations < 0).mean())


def _association_of_texts(
    task: OccupationsTask, stimulus: str, pair: GroupPair, evidence: Evidence
) -> float:
    """Return the mean association of a stimulus's neutral texts; nan if vectors are missing."""
    kinds = [
        neutral_prompts(task, stimulus),
        group_prompts(task, stimulus, pair.first),
        group_prompts(task, stimulus, pair.second),
    ]
    neutral, first, second = (with_vector(evidence.texts(texts)) for texts in kinds)
    if not (len(neutral) and len(first) and len(second)):
        return float("nan")
    return float(association(neutral, first, second).mean())


def correlations(
    task: OccupationsTask, stimuli: Mapping[str, Associations], settings: Settings
) -> dict[str, Estimate]:
    """Return the correlations of stimuli's mean associations with known shares, as published."""
    reference = task.reference
    if reference is None:
        return {}
    return {
        f"reference_spearman{pair.suffix}": _correlation(
            task, pair, stimuli, reference.shares, settings
        )
        for pair in group_pairs(task)
        if reference.group in pair.names
    }


def _correlation(
    task: OccupationsTask,
    pair: GroupPair,
    stimuli: Mapping[str, Associations],
    shares: Mapping[str, float],
    settings: Settings,
) -> Estimate:
    """Return Spearman's correlation of mean associations with known shares, over stimuli."""
    names = [name for name in stimuli if name in shares]
    if len(names) < _FEWEST_SHARES:
        return Estimate.undefined("fewer than three stimuli have a reference share")
    is_of_first = task.reference is not None and (
        task.reference.group == pair.first.name
    )
    sign = 1.0 if is_of_first else -1.0
    means = [sign * float(stimuli[name][pair.suffix].mean()) for name in names]
    permuted = correlation_permutation(
        np.array(means),
        np.array([shares[name] for name in names]),
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, f"correlation{pair.suffix}"),
    )
    return replace(Estimate.from_permutation(permuted, None), as_published=True)
