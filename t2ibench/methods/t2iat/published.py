"""The scores of the paper (Wang et al. 2023, equations 1 to 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.association import association, association_draws
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.t2iat.design import ConceptImages
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.settings import Settings
from t2ibench.stats import (
    sign_flip_permutation,
    two_sample_bootstrap,
    two_sample_permutation,
)

_MEASURES = ("mean_difference", "cohens_d", "union_d", "mean_x", "mean_y")
# What `effect_size` of a task is called in `conventions`.
EFFECT_SIZES = {
    "cohen": "Cohen's d over images, pooled within-group SD",
    "weat": "SD over X and Y together, ddof 1, over images",
    "t2iat_code": "SD over X and Y together, ddof 0, one association per prompt",
}


@dataclass(frozen=True, slots=True)
class Associations:
    """The associations of one concept's images that have no attribute.

    Attributes:
        images: The stimuli behind them.
        by_stimulus: Each stimulus's associations, shape (its images,).
        draws: Where stimuli share attribute images, the associations under resampling of those,
            shape (draws, n).
    """

    images: list[ConceptImages]
    by_stimulus: list[Float64Array]
    draws: Float64Array | None

    @property
    def values(self) -> Float64Array:
        """Associations of all images, shape (n,)."""
        return np.concatenate(self.by_stimulus)

    @property
    def labels(self) -> IntArray:
        """Number of the stimulus that each image belongs to, shape (n,)."""
        sizes = [len(associations) for associations in self.by_stimulus]
        return np.repeat(np.arange(len(sizes)), sizes)

    @property
    def prompt_means(self) -> Float64Array:
        """Mean association of each stimulus's images, shape (stimuli,)."""
        return np.array([associations.mean() for associations in self.by_stimulus])


@dataclass(frozen=True, slots=True)
class _Sample:
    """One of the two samples of associations that are compared.

    Attributes:
        values: The values, shape (n,).
        labels: Which cluster each is of, shape (n,); None where each moves by itself.
        draws: What the bootstrap resamples: the values, or draws of them.
    """

    values: Float64Array
    labels: IntArray | None
    draws: Float64Array


def associate(
    task: T2iatTask, side: str, images: Sequence[ConceptImages], settings: Settings
) -> Associations:
    """Return the association of each image without an attribute, for one concept's stimuli."""
    if task.match != "concept":
        by_stimulus = [
            association(
                stimulus.all_neutral.embeddings,
                stimulus.of_group("A").embeddings,
                stimulus.of_group("B").embeddings,
            )
            for stimulus in images
        ]
        return Associations(list(images), by_stimulus, None)
    all_a = PromptImages.merged([stimulus.of_group("A") for stimulus in images])
    all_b = PromptImages.merged([stimulus.of_group("B") for stimulus in images])
    neutral = [stimulus.all_neutral.embeddings for stimulus in images]
    embeddings_a = all_a.embeddings
    embeddings_b = all_b.embeddings
    by_stimulus = [
        association(embeddings, embeddings_a, embeddings_b) for embeddings in neutral
    ]
    # Shared by all neutral images, so resampling stimuli alone would miss their variation.
    draws = association_draws(
        np.concatenate(neutral),
        all_a,
        all_b,
        settings.n_bootstrap,
        settings.rng(task.id, f"attribute images of {side}"),
    )
    return Associations(list(images), by_stimulus, draws)


def published_scores(
    task: T2iatTask, concepts: Mapping[str, Associations], settings: Settings
) -> dict[str, Estimate]:
    """Return the paper's differential association, effect size and concepts' own associations.

    S = mean over X of Asc - mean over Y of Asc                        (eq. 1)
    d = S / pooled within-group SD of Asc          (eq. 4; other SDs by `effect_size`)

    The null moves whole stimuli (`unit: prompt`) or single images between X and Y.
    """
    images = _compared(
        task, settings, "", *_image_samples(task, concepts), statistics=_MEASURES
    )
    scores = {
        "differential_association": images["mean_difference"],
        "effect_size": _effect_size(task, concepts, images, settings),
    }
    for side, associations in concepts.items():
        mean = images[f"mean_{side.lower()}"]
        scores[f"association_of_{side.lower()}"] = _own_association(
            task, side, associations, mean.boot, settings
        )
    return {
        name: replace(estimate, as_published=True) for name, estimate in scores.items()
    }


def _image_samples(
    task: T2iatTask, concepts: Mapping[str, Associations]
) -> tuple[_Sample, _Sample]:
    """Return the associations of X's images and of Y's as the two compared samples."""
    x = concepts["X"]
    y = concepts["Y"]
    by_prompt = task.unit == "prompt"
    draws_x = x.values
    draws_y = y.values
    if x.draws is not None and y.draws is not None:
        draws_x = x.draws
        draws_y = y.draws
    return (
        _Sample(x.values, x.labels if by_prompt else None, draws_x),
        _Sample(y.values, y.labels if by_prompt else None, draws_y),
    )


def _effect_size(
    task: T2iatTask,
    concepts: Mapping[str, Associations],
    images: Mapping[str, Estimate],
    settings: Settings,
) -> Estimate:
    """Return the effect size d, computed by the convention that the task chooses."""
    if task.effect_size == "cohen":
        return images["cohens_d"]
    if task.effect_size == "weat":
        return images["union_d"]
    # Averaging first makes an effect size larger than one over images.
    of_x = concepts["X"].prompt_means
    of_y = concepts["Y"].prompt_means
    samples = (_Sample(of_x, None, of_x), _Sample(of_y, None, of_y))
    name = "union_d_ddof0"
    return _compared(task, settings, " of prompts", *samples, statistics=(name,))[name]


def _own_association(
    task: T2iatTask,
    side: str,
    associations: Associations,
    boot: Float64Array | None,
    settings: Settings,
) -> Estimate:
    """Return one concept's own mean association, with a test of whether it is 0."""
    flips = sign_flip_permutation(
        associations.values,
        associations.labels if task.unit == "prompt" else None,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, f"sign flips {side}"),
    )
    return Estimate.from_permutation(flips, boot)


def _compared(
    task: T2iatTask,
    settings: Settings,
    purpose: str,
    x: _Sample,
    y: _Sample,
    *,
    statistics: Sequence[str],
) -> dict[str, Estimate]:
    """Return statistics that compare two samples, each with its draws and permutation test."""
    boot = two_sample_bootstrap(
        x.draws,
        y.draws,
        x.labels,
        y.labels,
        statistics=statistics,
        n_draws=settings.n_bootstrap,
        rng=settings.rng(task.id, f"bootstrap{purpose}"),
    )
    clusters = None
    if x.labels is not None and y.labels is not None:
        clusters = np.append(x.labels, y.labels + x.labels.max() + 1)
    values = np.append(x.values, y.values)
    tests = two_sample_permutation(
        values,
        np.arange(len(values)) < len(x.values),
        clusters,
        statistics=statistics,
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, f"permutation{purpose}"),
    )
    return {
        name: Estimate.from_permutation(tests[name], boot[name], task.alternative)
        for name in statistics
    }
