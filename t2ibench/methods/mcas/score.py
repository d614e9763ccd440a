"""Leans and association scores of MCAS targets.

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
    left_out_warnings,
    standardised,
)
from t2ibench.methods.core.controls import Control, contradiction
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence, ImageCollector, PromptImages
from t2ibench.methods.core.headline import Headline, Inference
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.needs import Needs, PromptNeed
from t2ibench.methods.mcas import controls
from t2ibench.methods.mcas.axis import Axis, Poles
from t2ibench.methods.mcas.headline import (
    ONE_SIDE,
    QUESTION,
    Contrast,
    Design,
    lean_headline,
    tested,
    these_targets,
)
from t2ibench.methods.mcas.ratio import ratio_set
from t2ibench.methods.mcas.schema import McasAttribute, McasTask
from t2ibench.methods.mcas.targets import (
    Target,
    chosen_targets,
    image_influences,
    image_poles,
    text_axis,
)
from t2ibench.settings import Settings
from t2ibench.stats.student import t_test


def _attributes(task: McasTask) -> dict[str, McasAttribute]:
    return {"A": task.attributes.A, "B": task.attributes.B}


def needs(task: McasTask, settings: Settings) -> Needs:
    """Images of attribute and target prompts; target prompts and attribute words as texts."""
    n_attribute = settings.guided_images(task.attribute_images_per_prompt)
    n_target = settings.images(task.images_per_prompt)
    chosen = chosen_targets(task, settings)
    targets = [text for target in chosen for text in target.texts]
    attributes = _attributes(task).values()
    prompts = [
        PromptNeed(prompt, n_attribute, attribute.name)
        for attribute in attributes
        for prompt in attribute.prompts
    ]
    sides = {side: f"targets seen as {one.name}" for side, one in _attributes(task).items()}
    prompts += [
        PromptNeed(prompt, n_target, sides.get(target.stereotype or "", "targets"), target.name)
        for target in chosen
        for prompt in target.prompts
    ]
    texts = [word for attribute in attributes for word in attribute.words]
    return Needs(tuple(prompts), tuple(dict.fromkeys([*texts, *targets])))


@dataclass(frozen=True, slots=True)
class Attributes:
    """The two attributes as images and as words.

    Attributes:
        images: Images of A and of B.
        words: Words of A and of B, each of shape (k, d).
        poles: The attributes by their images.
        seen: The axis of their images.
        said: The axis of their words.
    """

    images: tuple[PromptImages, PromptImages]
    words: tuple[Float64Array, Float64Array]
    poles: Poles
    seen: Axis
    said: Axis


def target_terms(target: Target, attributes: Attributes, level: float) -> dict[str, Estimate]:
    """The four association scores of one target (eqs. 1 and 2), plain and standardised.

    Each is the mean over the rows w (the target's images, or its text) of
    asc(w) = mean over A of cos(w, a) - mean over B of cos(w, b),
    where A and B are the attributes' images or their words. Each prompt counts alike.
    """
    seen, said = attributes.seen, attributes.said
    images = tuple(side.embeddings for side in attributes.images)
    cells = {
        "ii": (target.point, target.images.embeddings, seen, images, target.image_influence),
        "itp": (target.text, target.texts, seen, images, target.text_influence),
        "it": (
            target.point, target.images.embeddings, said, attributes.words, target.image_influence
        ),
        "tt": (target.text, target.texts, said, attributes.words, target.text_influence),
    }  # fmt: skip
    terms: dict[str, Estimate] = {}
    for name, (point, rows, axis, (a, b), influence_of) in cells.items():
        influence = Influence.combined(
            [
                (1.0, axis.influence(axis.directions @ point)),
                (1.0, influence_of(axis.direction)),
            ]
        )
        value = float(point @ axis.direction)
        terms[name] = Estimate.from_influence(value, influence, level)
        ratios = standardised(rows @ a.T, rows @ b.T)
        terms[f"{name}_d"] = Estimate(float(ratios.mean()), as_published=True)
    return terms


def score(task: McasTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Leans and association scores of each target; `combine` makes the composites of them.

    With d_p = mean of A_p - mean of B_p of a pair p of attribute prompts, d their mean and
    U = mean over p ≠ q of d_p·d_q, a target's lean is (2 x·d - middle) / U (`axis.Axis`), and

    headline L = (mean point of targets of A - of B)·d / U,

    half the difference of their mean leans, within categories. II, ITP, IT and TT of each target
    as in `target_terms` (Mandal et al. 2024, section 3, eqs. 1 and 2). `composites.composite`
    holds MCAS, delta and alpha, with a worked example.

    Args:
        task: The task.
        evidence: Images of attributes and targets, texts of target prompts and attribute words.
        settings: How it is measured.

    Returns:
        By target: 'lean' and the four terms, plain and standardised. For the task: 'adherence'.

    Raises:
        MissingEvidence: an image or a text was never observed.
    """
    collector = ImageCollector(evidence)
    attributes = _collect_attributes(task, evidence, settings, collector)
    targets, warnings = _collect_targets(task, evidence, settings, collector)
    if attributes is None or not targets:
        which = "target" if attributes else "attribute"
        return MethodResult.undefined(f"there are no {which} images", collector, warnings)
    shown = controls.separation(task, attributes.poles, attributes.seen, settings.level)
    design = Design.of([target.spec for target in targets])
    leans = _leans(targets, attributes.seen, settings.level, shown.contradicts)
    found = _headline(task, targets, attributes.seen, leans, shown.contradicts, settings.level)
    (a, b), (words_a, words_b) = attributes.images, attributes.words
    names = {side: attribute.name for side, attribute in _attributes(task).items()}
    poles = attributes.poles
    pairs = "pairs of attribute prompts" if poles.paired else poles.name
    hits, total = adherence(a.embeddings, b.embeddings, words_a, words_b)
    controlled = {
        "separation": shown,
        "adherence": controls.adhering(hits, total),
        **_more_controls(task, design, targets, attributes, settings),
    }
    return MethodResult(
        found,
        {"adherence": adherence_estimate(hits, total)},
        [
            Item(
                target.spec.name,
                {"lean": lean, **target_terms(target, attributes, settings.level)},
                names.get(target.spec.stereotype or ""),
                len(target.images),
            )
            for target, lean in zip(targets, leans, strict=True)
        ],
        collector.n_images,
        collector.n_prompts,
        collector.excluded,
        conventions={
            "sign": f"positive is nearer '{task.attributes.A.name}'",
            "these": f"these targets, with other images and other {pairs}",
            "like_these": "other targets of these categories and stereotypes, too",
            "encoders": "association scores are averaged before composites are computed",
            "unit": f"{pairs}; attribute words; images of a target",
            "similarity": "cosine",
        },
        warnings=[
            *warnings,
            *_left_out_prompts(attributes),
            *adherence_warnings(hits, total, "attribute"),
        ],
        samples=_samples(targets, attributes.seen),
        controls=controlled,
        inconclusive=contradiction(controlled),
    )


def _headline(
    task: McasTask,
    targets: Sequence[Target],
    axis: Axis,
    leans: Sequence[Estimate],
    reason: str | None,
    level: float,
) -> Headline:
    specs = [target.spec for target in targets]
    design = Design.of(specs)
    if not design.compares:
        return Headline.undefined(ONE_SIDE)
    if reason is not None:
        # The test holds for any axis; without the axis' length there is nothing to divide by.
        value, found = tested(design, np.stack([target.point for target in targets]), axis)
        p = t_test(value, found.variance, found.df)
        inference = {QUESTION: Inference(p=p if np.isfinite(p) else None)}
        return replace(Headline.undefined(reason), question=QUESTION, inference=inference)
    values = np.array([lean.value for lean in leans], dtype=np.float64)
    influences = [lean.influence or Influence.none() for lean in leans]
    these = these_targets(Contrast.of(design, targets, axis), level)
    return lean_headline(task, specs, values, influences, level, these)


def _leans(
    targets: Sequence[Target], axis: Axis, level: float, reason: str | None
) -> list[Estimate]:
    # A few images that are all alike show no variance, yet are compatible with some: at least that
    # with half an image more at each pole (what Jeffreys' prior adds to a share).
    if reason is not None:
        return [Estimate.undefined(reason)] * len(targets)
    leans = []
    images = image_influences(targets, 2.0 * axis.direction)
    for target, influence in zip(targets, images, strict=True):
        value, of_axis = axis.lean(target.point)
        n = len(target.images)
        spread = influence.variance / axis.length**2
        if len(influence.strata) == 1 and n == len(influence.value) > 1:
            bounded = float(np.clip(value, -1.0, 1.0))
            spread = ((n - 1) * spread + (1.0 + bounded**2) / n) / n
        floored = influence.with_floor(spread * axis.length**2)
        top = float(2.0 * axis.direction @ target.point - axis.middle)
        tops = axis.influence(2.0 * axis.directions @ target.point - axis.middles)
        of_top = Influence.combined([(1.0, tops), (1.0, floored)])
        found = ratio_set(top, axis.length, of_top, axis.length_influence, level)
        whole = Influence.combined([(1.0, of_axis), (1.0 / axis.length, floored)])
        if not np.isfinite(found.p):
            leans.append(Estimate(value))
            continue
        interval = (found.low, found.high)
        leans.append(Estimate(value, p=found.p, test="t", interval=interval, influence=whole))
    return leans


def _more_controls(
    task: McasTask,
    design: Design,
    targets: Sequence[Target],
    attributes: Attributes,
    settings: Settings,
) -> dict[str, Control]:
    if not design.compares:
        return {}
    rng = settings.rng(task.id, "shuffled attribute labels")
    return {
        "shuffled": controls.shuffled(design, targets, attributes.images, rng),
        "halves": controls.halves(design, targets, attributes.images, attributes.seen),
        "text_only": controls.text_only(design, targets, attributes.words),
    }


def _samples(targets: Sequence[Target], axis: Axis) -> list[dict[str, Any]]:
    """One row for each target image."""
    rows = []
    for target in targets:
        images = target.images
        found = axis.projected(images.embeddings)
        rows += [
            {
                "prompt": images.prompts[cluster],
                "index": int(index),
                "target": target.spec.name,
                "asc": float(asc),
            }
            for cluster, index, asc in zip(images.clusters, images.indices, found, strict=True)
        ]
    return rows


def _collect_attributes(
    task: McasTask, evidence: Evidence, settings: Settings, collector: ImageCollector
) -> Attributes | None:
    """Both attributes; None where one has no image."""
    n = settings.guided_images(task.attribute_images_per_prompt)
    sides: Mapping[str, McasAttribute] = _attributes(task)
    a, b = (collector.collect(side.prompts, n) for side in sides.values())
    if not len(a) or not len(b):
        return None
    poles = image_poles(a, b, task.unit == "image")
    if not len(poles.a) or not len(poles.b):
        return None
    words_a, words_b = (
        evidence.texts(list(side.words)).astype(np.float64) for side in sides.values()
    )
    axis = Axis.between(poles)
    return Attributes((a, b), (words_a, words_b), poles, axis, text_axis(words_a, words_b))


def _left_out_prompts(attributes: Attributes) -> list[str]:
    """A warning where attribute prompts have no image."""
    missing = [
        prompt
        for side in attributes.images
        for number, prompt in enumerate(side.prompts)
        if not (side.clusters == number).any()
    ]
    if not missing:
        return []
    partners = ", with their partners" if attributes.poles.paired else ""
    return [f"Attribute prompts without images are left out{partners}: {', '.join(missing)}."]


def _collect_targets(
    task: McasTask, evidence: Evidence, settings: Settings, collector: ImageCollector
) -> tuple[list[Target], list[str]]:
    """The targets that have images, and warnings about the others."""
    targets: list[Target] = []
    lacking: list[str] = []
    for spec in chosen_targets(task, settings):
        images = collector.collect(spec.prompts, settings.images(task.images_per_prompt))
        if not images.whole:  # without one of its wordings it would be another target
            lacking.append(spec.name)
            continue
        texts = evidence.texts(list(spec.texts)).astype(np.float64)
        targets.append(Target(spec, images, texts, task.unit == "image"))
    return targets, left_out_warnings(lacking)
