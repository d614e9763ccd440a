"""The scores of the T2IAT paper (Wang et al. 2023), beside which ours stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.association import association, association_draws
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.evidence import PromptImages
from t2ibench.methods.t2iat.images import StimulusImages
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.settings import Settings
from t2ibench.stats import (
    one_sample_bootstraps,
    sign_flip_permutation,
    two_sample_bootstrap,
    two_sample_permutation,
)

_TWO_SAMPLE = ("mean_difference", "cohens_d", "union_d", "cliffs_delta")


@dataclass(frozen=True, slots=True)
class Associations:
    """The associations of one concept's neutral images.

    Attributes:
        images: The stimuli behind them.
        by_stimulus: Each stimulus's associations, shape (its images,).
        cosines: Mean cosine of each image to attribute 'A' and 'B', shape (n,).
        draws: Where stimuli share attribute images, the associations under resampling of those,
            shape (draws, n).
    """

    images: list[StimulusImages]
    by_stimulus: list[Float64Array]
    cosines: dict[str, Float64Array]
    draws: Float64Array | None

    @property
    def values(self) -> Float64Array:
        """Shape (n,)."""
        return np.concatenate(self.by_stimulus)

    @property
    def labels(self) -> IntArray:
        """Each image's stimulus, shape (n,)."""
        return np.repeat(np.arange(len(self.by_stimulus)), [len(asc) for asc in self.by_stimulus])

    @property
    def prompt_means(self) -> Float64Array:
        """Shape (stimuli,)."""
        return np.array([asc.mean() for asc in self.by_stimulus])


def associate(
    task: T2iatTask, side: str, images: Sequence[StimulusImages], settings: Settings
) -> Associations:
    """Every neutral image's association with the attribute images it is matched to."""
    all_a = PromptImages.merged([stimulus.a for stimulus in images])
    all_b = PromptImages.merged([stimulus.b for stimulus in images])
    shared = task.match == "concept"
    by_stimulus, cosines_a, cosines_b = [], [], []
    for stimulus in images:
        neutral = stimulus.neutral.embeddings
        a = all_a.embeddings if shared else stimulus.a.embeddings
        b = all_b.embeddings if shared else stimulus.b.embeddings
        by_stimulus.append(association(neutral, a, b))
        cosines_a.append(neutral @ a.mean(axis=0))
        cosines_b.append(neutral @ b.mean(axis=0))
    draws = None
    if shared:
        # Shared by all neutral images, so resampling stimuli alone would miss their variation.
        neutral = np.concatenate([stimulus.neutral.embeddings for stimulus in images])
        rng = settings.rng(task.id, f"attribute images of {side}")
        draws = association_draws(neutral, all_a, all_b, settings.n_bootstrap, rng)
    cosines = {"A": np.concatenate(cosines_a), "B": np.concatenate(cosines_b)}
    return Associations(list(images), by_stimulus, cosines, draws)


def published_scores(
    task: T2iatTask, concepts: Mapping[str, Associations], settings: Settings
) -> dict[str, Estimate]:
    """The paper's scores.

    S = mean over X of Asc - mean over Y of Asc                        (eq. 1)
    d = S / pooled within-group SD of Asc          (eq. 4; other SDs by `effect_size`)

    The null moves whole stimuli (`unit: prompt`) or single images between X and Y.
    """
    boot = _bootstrap(task, concepts, settings)
    scores = _differential(task, concepts, boot, settings)
    for side, associations in concepts.items():
        scores |= _own_scores(task, side, associations, boot, settings)
    return {name: replace(estimate, as_published=True) for name, estimate in scores.items()}


def _bootstrap(
    task: T2iatTask, concepts: Mapping[str, Associations], settings: Settings
) -> dict[str, Float64Array]:
    """Draws of the two-sample statistics and of both means, shape (draws,) each."""
    x, y = concepts["X"], concepts["Y"]
    by_prompt = task.unit == "prompt"
    return two_sample_bootstrap(
        x.values if x.draws is None else x.draws,
        y.values if y.draws is None else y.draws,
        x.labels if by_prompt else None,
        y.labels if by_prompt else None,
        statistics=(*_TWO_SAMPLE, "mean_x", "mean_y"),
        n_draws=settings.n_bootstrap,
        rng=settings.rng(task.id, "bootstrap"),
    )


def _differential(
    task: T2iatTask,
    concepts: Mapping[str, Associations],
    boot: Mapping[str, Float64Array],
    settings: Settings,
) -> dict[str, Estimate]:
    """The scores that compare X with Y."""
    x, y = concepts["X"], concepts["Y"]
    by_prompt = task.unit == "prompt"
    values = np.concatenate([x.values, y.values])
    tests = two_sample_permutation(
        values,
        np.arange(len(values)) < len(x.values),
        np.concatenate([x.labels, y.labels + len(x.images)]) if by_prompt else None,
        statistics=_TWO_SAMPLE,
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "permutation"),
    )
    by_name = {
        name: Estimate.from_permutation(tests[name], boot[name], task.alternative)
        for name in _TWO_SAMPLE
    }
    over_images = by_name["union_d" if task.effect_size == "weat" else "cohens_d"]
    return {
        "S": by_name["mean_difference"],
        "d": _over_prompts(task, concepts, settings, "union_d_ddof0")
        if task.effect_size == "t2iat_code"
        else over_images,
        "d_prompt": _over_prompts(task, concepts, settings, "cohens_d"),
        "cliffs_delta": by_name["cliffs_delta"],
    }


def _over_prompts(
    task: T2iatTask, concepts: Mapping[str, Associations], settings: Settings, statistic: str
) -> Estimate:
    """An effect size over prompt means; averaging first makes it larger than one over images."""
    x, y = concepts["X"].prompt_means, concepts["Y"].prompt_means
    boot = two_sample_bootstrap(
        x,
        y,
        statistics=(statistic,),
        n_draws=settings.n_bootstrap,
        rng=settings.rng(task.id, "bootstrap of prompts"),
    )
    test = two_sample_permutation(
        np.concatenate([x, y]),
        np.arange(len(x) + len(y)) < len(x),
        statistics=(statistic,),
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "permutation of prompts"),
    )
    return Estimate.from_permutation(test[statistic], boot[statistic], task.alternative)


def _own_scores(
    task: T2iatTask,
    side: str,
    associations: Associations,
    boot: Mapping[str, Float64Array],
    settings: Settings,
) -> dict[str, Estimate]:
    """One concept's own association and its cell means, which the difference hides."""
    labels = associations.labels if task.unit == "prompt" else None
    flips = sign_flip_permutation(
        associations.values,
        labels,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, f"sign flips {side}"),
    )
    scores = {f"asc_{side}": Estimate.from_permutation(flips, boot[f"mean_{side.lower()}"])}
    cells = one_sample_bootstraps(
        list(associations.cosines.values()),
        labels,
        n_draws=settings.n_bootstrap,
        rng=settings.rng(task.id, f"bootstrap of cell {side}"),
    )
    for (attribute, cosines), cell in zip(associations.cosines.items(), cells, strict=True):
        scores[f"cell_{side}{attribute}"] = Estimate(float(cosines.mean()), cell["mean"])
    return scores
