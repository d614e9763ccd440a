"""The four association scores of multimodal composite association scores.

Mandal, Leavy & Little 2023 (MCAS) and 2024 (delta, alpha); the composites are in `composites`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.association import (
    adherence,
    adherence_estimate,
    adherence_warnings,
    association,
    standardised,
    standardised_draws,
)
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence, ImageCollector, PromptImages
from t2ibench.methods.core.needs import Needs, PromptNeed
from t2ibench.methods.mcas.schema import McasAttribute, McasTarget, McasTask
from t2ibench.settings import Settings
from t2ibench.stats import (
    resample_weights,
    two_sample_bootstrap,
    two_sample_permutation,
)


def _attributes(task: McasTask) -> dict[str, McasAttribute]:
    return {"A": task.attributes.A, "B": task.attributes.B}


def needs(task: McasTask, settings: Settings) -> Needs:
    """Images of attribute and target prompts; target prompts and attribute words as texts.

    Args:
        task: The task.
        settings: How it is measured.

    Returns:
        Prompts and texts.
    """
    n_attribute = settings.guided_images(task.attribute_images_per_prompt)
    n_target = settings.images(task.images_per_prompt)
    targets = settings.limited(task.targets)
    attributes = _attributes(task).values()
    prompts = [
        PromptNeed(prompt, n_attribute) for attribute in attributes for prompt in attribute.prompts
    ]
    prompts += [PromptNeed(target.prompt, n_target) for target in targets]
    texts = [word for attribute in attributes for word in attribute.words]
    texts += [target.prompt for target in targets]
    return Needs(tuple(prompts), tuple(dict.fromkeys(texts)))


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute as images and as words.

    Attributes:
        images: Its images.
        words: Shape (k, d).
        image_weights: Bootstrap weights of the images, shape (draws, n).
        word_weights: Bootstrap weights of the words, shape (draws, k).
    """

    images: PromptImages
    words: Float64Array
    image_weights: Float64Array
    word_weights: Float64Array


@dataclass(frozen=True, slots=True)
class _ScoredTarget:
    """The scores of one target's images.

    Attributes:
        target: The target.
        images: Its images.
        terms: See `target_terms`.
        asc: Association of each image with the attribute images, shape (n,).
    """

    target: McasTarget
    images: PromptImages
    terms: dict[str, Estimate]
    asc: Float64Array


def target_terms(
    images: Float64Array, text: Float64Array, a: Attribute, b: Attribute, weights: Float64Array
) -> dict[str, Estimate]:
    """The four association scores of one target (eqs. 1 and 2), plain and standardised.

    Each is the mean over the rows w (the target's images, or its text) of
    asc(w) = mean over A of cos(w, a) - mean over B of cos(w, b),
    where A and B are the attributes' images or their words.

    Args:
        images: Target images, shape (n, d).
        text: The target's text, shape (1, d).
        a: First attribute.
        b: Second attribute.
        weights: Bootstrap weights of the target images, shape (draws, n).

    Returns:
        'ii', 'itp', 'it', 'tt' with bootstrap draws, and 'ii_d' … 'tt_d', each association
        divided by the standard deviation (ddof 1) of its cosines over A and B.
    """
    always = np.ones((len(weights), 1))
    cells = {
        "ii": (images, weights, "images"),
        "itp": (text, always, "images"),
        "it": (images, weights, "words"),
        "tt": (text, always, "words"),
    }
    terms: dict[str, Estimate] = {}
    for name, (rows, row_weights, kind) in cells.items():
        (cos_a, weights_a), (cos_b, weights_b) = (
            (rows @ side.images.embeddings.T, side.image_weights)
            if kind == "images"
            else (rows @ side.words.T, side.word_weights)
            for side in (a, b)
        )
        draws = weights_a @ cos_a.T - weights_b @ cos_b.T
        difference = cos_a.mean(axis=1) - cos_b.mean(axis=1)
        terms[name] = Estimate(float(difference.mean()), (draws * row_weights).sum(axis=1))
        d_draws = standardised_draws(cos_a, cos_b, weights_a, weights_b)
        terms[f"{name}_d"] = Estimate(
            float(standardised(cos_a, cos_b).mean()), (d_draws * row_weights).sum(axis=1)
        )
    return terms


def score(task: McasTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """The association scores of each target; `combine` makes the composites of them.

    II, ITP, IT and TT of each target as in `target_terms` (Mandal et al. 2024, section 3,
    eqs. 1 and 2), and with Asc(x) of a target's image x with the attribute images:

    headline = |P(Asc(x) > Asc(y)) - P(Asc(x) < Asc(y))|, Cliff's delta, x over images of targets
    stereotyped as A, y over those stereotyped as B

    Its null moves whole targets (`unit: prompt`) or single images between the two stereotypes.
    `composites.composite` holds MCAS, delta and alpha, with a worked example.

    Args:
        task: The task.
        evidence: Images of attributes and targets, texts of target prompts and attribute words.
        settings: How it is measured.

    Returns:
        By target: the four terms, plain and standardised. For the task: 'cliffs_delta' of the
        image associations of targets stereotyped as A and as B, and 'adherence'.

    Raises:
        MissingEvidence: an image or a text was never observed.
    """
    collector = ImageCollector(evidence)
    attributes = _collect_attributes(task, evidence, settings, collector)
    targets: list[_ScoredTarget] = []
    warnings: list[str] = []
    for target in settings.limited(task.targets):
        images = collector.collect([target.prompt], settings.images(task.images_per_prompt))
        if len(images) and attributes:
            targets.append(_score_target(task, target, images, attributes, evidence, settings))
        else:
            warnings.append(f"Left out, because it has no image: {target.name}.")
    if attributes is None or not targets:
        which = "target" if attributes else "attribute"
        return MethodResult.undefined(f"there are no {which} images", collector, warnings)
    headline = _headline(task, targets, settings)
    a, b = attributes["A"], attributes["B"]
    hits, total = adherence(a.images.embeddings, b.images.embeddings, a.words, b.words)
    return MethodResult(
        headline,
        {
            "cliffs_delta": replace(headline, signed=False),
            "adherence": adherence_estimate(hits, total),
        },
        [
            Item(scored.target.name, scored.terms, _side_name(task, scored), len(scored.images))
            for scored in targets
        ],
        collector.n_images,
        collector.n_prompts,
        collector.excluded,
        conventions=_conventions(task),
        warnings=warnings + adherence_warnings(hits, total, "attribute"),
        samples=_samples(targets),
    )


def _conventions(task: McasTask) -> dict[str, Any]:
    """Choices that decide the numbers."""
    return {
        "sign": f"positive is nearer '{task.attributes.A.name}'",
        "encoders": "association scores are averaged before composites are computed",
        "unit": "prompt of attribute images, then image; word; target image",
        "similarity": "cosine",
    }


def _side_name(task: McasTask, scored: _ScoredTarget) -> str | None:
    side = scored.target.stereotype
    return _attributes(task)[side].name if side else None


def _samples(targets: Sequence[_ScoredTarget]) -> list[dict[str, Any]]:
    """One row for each target image."""
    return [
        {
            "prompt": scored.target.prompt,
            "index": int(index),
            "target": scored.target.name,
            "asc": float(asc),
        }
        for scored in targets
        for index, asc in zip(scored.images.indices, scored.asc, strict=True)
    ]


def _collect_attributes(
    task: McasTask, evidence: Evidence, settings: Settings, collector: ImageCollector
) -> dict[str, Attribute] | None:
    """Both attributes; None where one has no image."""
    n = settings.guided_images(task.attribute_images_per_prompt)
    rng = settings.rng(task.id, "attributes")
    attributes = {}
    for side, attribute in _attributes(task).items():
        images = collector.collect(attribute.prompts, n)
        if not len(images):
            return None
        words = evidence.texts(list(attribute.words)).astype(np.float64)
        attributes[side] = Attribute(
            images,
            words,
            resample_weights(images.clusters, settings.n_bootstrap, rng),
            resample_weights(np.arange(len(words)), settings.n_bootstrap, rng),
        )
    return attributes


def _score_target(
    task: McasTask,
    target: McasTarget,
    images: PromptImages,
    attributes: Mapping[str, Attribute],
    evidence: Evidence,
    settings: Settings,
) -> _ScoredTarget:
    rng = settings.rng(task.id, f"bootstrap of {target.name}")
    weights = resample_weights(np.arange(len(images)), settings.n_bootstrap, rng)
    text = evidence.texts([target.prompt]).astype(np.float64)
    a, b = attributes["A"], attributes["B"]
    terms = target_terms(images.embeddings, text, a, b, weights)
    asc = association(images.embeddings, a.images.embeddings, b.images.embeddings)
    return _ScoredTarget(target, images, terms, asc)


def _headline(task: McasTask, targets: Sequence[_ScoredTarget], settings: Settings) -> Estimate:
    """Cliff's delta between the image associations of stereotypically A and B targets."""
    sides = {
        side: [scored for scored in targets if scored.target.stereotype == side] for side in "AB"
    }
    if not sides["A"] or not sides["B"]:
        return Estimate.undefined(
            "all targets of this run have the same stereotype, so two groups cannot be compared "
            "(--limit keeps the first ones)"
        )
    values, labels = {}, {}
    for side, chosen in sides.items():
        values[side] = np.concatenate([scored.asc for scored in chosen])
        labels[side] = np.repeat(np.arange(len(chosen)), [len(scored.asc) for scored in chosen])
    by_prompt = task.unit == "prompt"
    boot = two_sample_bootstrap(
        values["A"],
        values["B"],
        labels["A"] if by_prompt else None,
        labels["B"] if by_prompt else None,
        statistics=("cliffs_delta",),
        n_draws=settings.n_bootstrap,
        rng=settings.rng(task.id, "bootstrap"),
    )
    pooled = np.concatenate([values["A"], values["B"]])
    test = two_sample_permutation(
        pooled,
        np.arange(len(pooled)) < len(values["A"]),
        np.concatenate([labels["A"], labels["B"] + len(sides["A"])]) if by_prompt else None,
        statistics=("cliffs_delta",),
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "permutation"),
    )
    return Estimate.from_permutation(
        test["cliffs_delta"], boot["cliffs_delta"], task.alternative, signed=True
    )
