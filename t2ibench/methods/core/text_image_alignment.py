"""Agreement of images with their own prompts, as cosines of an image-text encoder.

The cosine of CLIPScore (Hessel et al. 2021, "CLIPScore: A Reference-free Evaluation Metric for
Image Captioning"), without its factor 2.5 and without cutting at 0: a mean of it stays a mean.
Its level depends on the encoder and on the wording, so it is compared within one encoder only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.errors import MissingEvidence
from t2ibench.methods.core.diversity import (
    Jackknife,
    PromptDiversity,
    vendi_score,
)
from t2ibench.methods.core.evidence import Evidence, ImageEvidence, Needs
from t2ibench.methods.core.inference import Question
from t2ibench.methods.core.prompt_groups import is_guided
from t2ibench.methods.core.prompt_values import PromptValues
from t2ibench.stats.interaction import shared_variance
from t2ibench.stats.student import satterthwaite, t_interval, t_test, welch


@dataclass(frozen=True)
class PromptCosines:
    """The cosines of one prompt's images with the text of the prompt."""

    prompt: str
    group: str  # what it stands for in its task
    # what it shares with others, such as its stimulus: prompts of one unit vary together
    unit: str
    # which sample of the prompt each image is, shape (n,), n at least 1
    indices: IntArray
    cosines: Float64Array  # cosine of each image and the prompt, shape (n,)
    # what it shares across units, such as the word of an attribute: prompts of one word vary
    # together, too
    word: str = ""

    @cached_property
    def mean(self) -> float:
        """Mean cosine of the prompt's images."""
        return float(self.cosines.mean())


@dataclass(frozen=True, slots=True)
class MeanCosine:
    """A mean over prompts of their mean cosines, or a difference of two such means."""

    value: float  # the mean; every prompt counts alike
    low: float | None  # lower end of its interval; None where the variance is unknown
    high: float | None
    p: float | None  # p-value that it is 0; only a difference is tested
    # what the interval is about: 'prompt_population', prompts like these, or 'fixed_prompts',
    # these with other images, where all share one unit; None without one
    question: Question | None
    n_prompts: int
    n_images: int


class PromptMeasures:
    """The agreement of each prompt's images with their prompt, and their diversity, by one encoder.

    Whoever reads the images of a prompt shows them here, so that they need not be read again:
    reading a million embeddings takes longer than measuring them.
    """

    def __init__(self, needs: Needs, texts: Mapping[str, Float64Array]) -> None:
        """Prepare to measure the images of a task.

        Args:
            needs: The images of the task.
            texts: Prompt to its embedding; empty where one of them is missing.
        """
        self._counts = needs.images_by_prompt
        self._groups = needs.groups
        self._units = needs.units
        self._words = needs.named("word")
        self._guided_groups = needs.guided_groups
        self._texts = texts
        self._cosines: dict[str, PromptCosines | None] = {}
        self._diversities: dict[str, PromptDiversity | None] = {}

    @classmethod
    def of(cls, needs: Needs, evidence: Evidence) -> PromptMeasures:
        """Prepare to measure the images of a task, with the prompts' embeddings from `evidence`."""
        prompts = list(needs.images_by_prompt)
        with suppress(MissingEvidence):
            return cls(needs, dict(zip(prompts, evidence.texts(prompts), strict=True)))
        return cls(needs, {})

    def see(self, prompt: str, n: int, images: ImageEvidence) -> None:
        """Measure the first `n` images of a prompt, unless the task needs another number of them.

        Images that were seen before are not measured again.
        """
        if prompt not in self._cosines and self._counts.get(prompt) == n:
            self._cosines[prompt] = self._agreement(prompt, images)
            self._diversities[prompt] = self._diversity(prompt, images)

    def _agreement(self, prompt: str, images: ImageEvidence) -> PromptCosines | None:
        text = self._texts.get(prompt)
        if not len(images.indices) or text is None or not np.isfinite(text).all():
            return None
        return PromptCosines(
            prompt=prompt,
            group=self._groups[prompt],
            unit=self._units[prompt],
            indices=images.indices,
            cosines=images.embeddings @ text,
            word=self._words[prompt],
        )

    def _diversity(self, prompt: str, images: ImageEvidence) -> PromptDiversity | None:
        n_images = len(images.indices)
        if n_images < 2:
            return None
        group = self._groups[prompt]
        jackknife = Jackknife.of(images.embeddings)
        values = None
        vendi = None
        if n_images > 2:
            each = jackknife.pseudo_values
            values = PromptValues(prompt, group, images.indices, each)
            # `frontier` compares that of guided prompts alone, and it takes longest.
            if is_guided(group, self._guided_groups):
                of_all = np.full(n_images, vendi_score(images.embeddings))
                vendi = PromptValues(prompt, group, images.indices, of_all)
        return PromptDiversity(
            prompt,
            group,
            n_images,
            jackknife.value,
            jackknife.variance,
            values,
            vendi,
        )

    def results(
        self, evidence: Evidence
    ) -> tuple[list[PromptCosines], list[PromptDiversity]]:
        """Return the cosines and the diversity of every prompt, in the order of the task.

        Args:
            evidence: Has the images of prompts that nobody has shown yet.
        """
        for prompt, count in self._counts.items():
            if prompt not in self._cosines:
                self.see(prompt, count, evidence.images(prompt, count))
        cosines = [self._cosines[prompt] for prompt in self._counts]
        diversities = [self._diversities[prompt] for prompt in self._counts]
        return (
            [measured for measured in cosines if measured is not None],
            [measured for measured in diversities if measured is not None],
        )


def measure_prompts(
    needs: Needs, evidence: Evidence
) -> tuple[list[PromptCosines], list[PromptDiversity]]:
    """Return the cosines of each prompt with its images, and the diversity of its images.

    Without the embeddings of all prompts there are no cosines; one image of a prompt differs from
    none.
    """
    return PromptMeasures.of(needs, evidence).results(evidence)


def mean_cosine(prompts: Sequence[PromptCosines], level: float) -> MeanCosine:
    """Return the mean over prompts of their images' cosines with the prompt, with interval.

    x̄ = mean over prompts p of x_p, V = C / (C − 1) Σ_c (Σ_{p in c} (x_p − x̄) / P)² over the C
    units, t with C − 1 degrees of freedom (a cluster-robust variance; Liang and Zeger 1986). Words
    that units share add what `shared_variance` says.
    """
    return replace(_mean(prompts, level), p=None)


def difference_from_others(
    group: Sequence[PromptCosines], others: Sequence[PromptCosines], level: float
) -> MeanCosine | None:
    """Return how much closer one group's images are to their prompts than the others'.

    None if a side has fewer than two stimuli (or other units).

    Variances are those of `mean_cosine`, with the covariance of units and words that both sides
    have; the degrees of freedom are those of `welch`, and at most the number of units less 1.
    """
    both = [*group, *others]
    units: dict[str, int] = {}
    distinct_units = {_unit(prompt) for prompt in both}
    total = np.zeros(len(distinct_units))
    variances = []
    counts = []
    for side, sign in ((group, 1.0), (others, -1.0)):
        means = np.array([prompt.mean for prompt in side])
        numbers = _unit_numbers(side, units)
        count = len(np.unique(numbers))
        if count < 2:
            return None
        scale = math.sqrt(count / (count - 1)) / len(side)
        residuals = means - means.mean()
        part = np.bincount(numbers, weights=scale * residuals)
        total[: len(part)] += sign * part
        variance_of_side = float((part**2).sum())
        variances.append(variance_of_side)
        counts.append(count)
    variance = float((total**2).sum())
    _, df_of_welch = welch(variances, counts)
    df = min(df_of_welch, len(units) - 1.0)
    mean = np.mean([prompt.mean for prompt in group])
    mean_of_others = np.mean([prompt.mean for prompt in others])
    value = float(mean - mean_of_others)
    weights_of_group = [1.0 / len(group)] * len(group)
    weights_of_others = [-1.0 / len(others)] * len(others)
    weights = weights_of_group + weights_of_others
    variance, df = _with_words(both, weights, variance, df)
    return _tested(value, variance, df, level, "prompt_population", both)


def paired_difference(
    first: Sequence[PromptCosines], second: Sequence[PromptCosines], level: float
) -> MeanCosine | None:
    """Return how much better one run's images agree with their prompts than another run's.

    Images are paired by prompt and index, so a run and itself differ by exactly 0.
    """
    theirs = {cosines.prompt: cosines for cosines in second}
    changes = []
    for mine in first:
        other = theirs.get(mine.prompt)
        if other is None:
            continue
        indices, a, b = np.intersect1d(mine.indices, other.indices, return_indices=True)
        if len(indices):
            change = mine.cosines[a] - other.cosines[b]
            changes.append(replace(mine, indices=indices, cosines=change))
    return _mean(changes, level) if changes else None


def _unit(prompt: PromptCosines) -> str:
    return prompt.unit or prompt.prompt


def _unit_numbers(prompts: Sequence[PromptCosines], units: dict[str, int]) -> IntArray:
    """Return the number of each prompt's stimulus, or other unit; add new ones to `units`."""
    numbers = [units.setdefault(_unit(prompt), len(units)) for prompt in prompts]
    return np.array(numbers, np.int64)


def _mean(prompts: Sequence[PromptCosines], level: float) -> MeanCosine:
    means = np.array([prompt.mean for prompt in prompts])
    value = float(means.mean())
    count = len(means)
    units: dict[str, int] = {}
    numbers = _unit_numbers(prompts, units)
    n_units = len(units)
    if n_units == 1:
        variance, df = _of_images(prompts)
        return _tested(value, variance, df, level, "fixed_prompts", prompts)
    sums = np.bincount(numbers, weights=(means - value) / count)
    sum_of_squares = float((sums**2).sum())
    variance_of_units = sum_of_squares * n_units / (n_units - 1)
    equal_weights = [1.0 / count] * count
    variance, df = _with_words(prompts, equal_weights, variance_of_units, n_units - 1.0)
    return _tested(value, variance, df, level, "prompt_population", prompts)


def _with_words(
    prompts: Sequence[PromptCosines],
    weights: Sequence[float],
    variance: float,
    df: float,
) -> tuple[float, float]:
    """Return a variance, and its df, enlarged by what prompts with the same word share."""
    extra, freedom = shared_variance(
        [prompt.mean for prompt in prompts],
        weights,
        [prompt.group for prompt in prompts],
        [_unit(prompt) for prompt in prompts],
        [prompt.word for prompt in prompts],
    )
    return satterthwaite([variance, extra], [df, freedom]) if extra else (variance, df)


def _of_images(prompts: Sequence[PromptCosines]) -> tuple[float, float]:
    """Return the variance, and its df, of a mean over prompts as if only images varied."""
    if any(len(prompt.cosines) < 2 for prompt in prompts):
        return float("nan"), float("nan")
    sizes = np.array([len(prompt.cosines) for prompt in prompts])
    spread = np.array([prompt.cosines.var(ddof=1) for prompt in prompts])
    variances_of_means = spread / sizes
    parts = variances_of_means / len(prompts) ** 2
    return satterthwaite(parts, sizes - 1)


def _tested(
    value: float,
    variance: float,
    df: float,
    level: float,
    question: Question,
    prompts: Sequence[PromptCosines],
) -> MeanCosine:
    counts = len(prompts), sum(len(prompt.cosines) for prompt in prompts)
    if not math.isfinite(variance) or (variance == 0 and value != 0):
        return MeanCosine(value, None, None, None, None, *counts)
    low, high = t_interval(value, variance, df, level)
    return MeanCosine(value, low, high, t_test(value, variance, df), question, *counts)
