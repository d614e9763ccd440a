"""Scores of an MCAS task: leans and association scores of its targets.

The composite scores of the papers are made of them in `composites`.

Source: Mandal, Leavy and Little 2023 and 2024.
"""

from __future__ import annotations

from t2ibench.methods.core import lean_controls
from t2ibench.methods.core.association import adherence, left_out_warnings
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import Control, contradiction
from t2ibench.methods.core.image_collector import ImageCollector
from t2ibench.methods.core.obedience import (
    Seen,
    breakdown,
    obedience_control,
    obedience_scores,
    obedience_warnings,
)
from t2ibench.methods.mcas.controls import (
    halves_control,
    separation_control,
    shuffled_control,
    text_only_control,
)
from t2ibench.methods.mcas.design import Design
from t2ibench.methods.mcas.equal_spread import EqualSpread
from t2ibench.methods.mcas.headline import headline_of
from t2ibench.methods.mcas.leans import target_leans
from t2ibench.methods.mcas.material import (
    Attributes,
    Target,
    attributes_that_obey,
    collect_attributes,
    collect_targets,
)
from t2ibench.methods.mcas.published import association_scores
from t2ibench.methods.mcas.schema import McasTask
from t2ibench.settings import Settings


def score(task: McasTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Return the result of a task with one encoder: its targets' leans and association scores.

    With d_p = mean of A_p - mean of B_p of a pair p of attribute prompts, d their mean
    and U = mean over p ≠ q of d_p·d_q, a target's lean is (2 x·d - middle) / U
    (`axis.AttributeAxis`), and

    headline L = (mean point of targets of A - of B)·d / U,

    half the difference of their mean leans, within categories. II, ITP, IT and TT of
    each target are those of `published.association_scores`. `composites.combine` adds
    MCAS, delta and alpha; `composites.composite` has a worked example.

    Args:
        task: The task.
        evidence: Images of attributes and targets, texts of targets and attribute words.
        settings: How to measure.

    Returns:
        By target: 'lean', 'lean_breakdown' and the four association scores; for the task
        'obedience:ATTRIBUTE'. Where a judge saw the attribute images, leans are without those that
        do not show their attribute; the papers' scores are of all images.
    """
    collector = ImageCollector(evidence)
    attributes = collect_attributes(task, evidence, settings, collector)
    targets, left_out = collect_targets(task, evidence, settings, collector)
    warnings = left_out_warnings(left_out)
    if attributes is None or not targets:
        missing = "target" if attributes else "attribute"
        reason = f"there are no {missing} images"
        return MethodResult.undefined(reason, collector, warnings)
    obeying, judged = attributes_that_obey(task, attributes, evidence, settings)
    if not all(len(images) for images in obeying.images):
        reason = "no attribute image of one side shows what was asked for"
        return MethodResult.undefined(reason, collector, warnings)
    equal = EqualSpread.of(obeying, targets)
    design = Design.of([target.spec for target in equal.targets])
    is_judged = bool(judged)
    obedience = judged or _read_by_encoder(task, attributes)

    # Where one of these contradicts, there are no leans.
    controls = _lean_controls(task, equal, settings.level)
    unclear = contradiction(controls)
    leans = target_leans(equal, settings.level, unclear)
    headline = headline_of(task, design, equal, leans, unclear, settings.level)
    controls["obedience"] = obedience_control(obedience, judged=is_judged)
    if design.compares:
        rng = settings.rng(task.id, "shuffled attribute labels")
        controls["shuffled"] = shuffled_control(design, equal, rng)
        controls["halves"] = halves_control(design, equal)
        controls["text_only"] = text_only_control(
            design, equal.targets, attributes.words
        )

    items = []
    samples = []
    for target, lean in zip(targets, leans, strict=True):
        items.append(_item(task, target, lean, attributes, settings.level))
        association = target.images.along(attributes.image_axis.direction)
        samples += target.images.samples(
            {"target": target.spec.name}, {"association": association}
        )
    warnings += _prompt_warnings(attributes, equal)
    warnings += obedience_warnings(
        obedience, judged=is_judged, has_question=task.question is not None
    )
    return MethodResult(
        headline=headline,
        scores=obedience_scores(obedience),
        by=items,
        n_images=collector.n_images,
        n_prompts=collector.n_prompts,
        excluded=collector.excluded,
        warnings=warnings,
        samples=samples,
        controls=controls,
        inconclusive=contradiction(controls),
    )


def _read_by_encoder(task: McasTask, attributes: Attributes) -> dict[str, Seen]:
    """Return how many images of each attribute are nearer to its own words than the other's."""
    images_a, images_b = attributes.images
    shares = adherence(images_a.embeddings, images_b.embeddings, *attributes.words)
    return dict(zip(task.attribute_names, shares, strict=True))


def _lean_controls(
    task: McasTask, equal: EqualSpread, level: float
) -> dict[str, Control]:
    """Return the controls that decide whether leans are defined: separation and spread."""
    name_a = task.attributes.A.name
    name_b = task.attributes.B.name
    return {
        "separation": separation_control(task, equal.poles, equal.axis, level),
        "spread": lean_controls.spread(equal.kinds, name_a, name_b),
    }


def _item(
    task: McasTask,
    target: Target,
    lean: Estimate,
    attributes: Attributes,
    level: float,
) -> Item:
    """Return the row of one target, with its lean and association scores."""
    scores = {"lean": lean, "lean_breakdown": breakdown(lean)}
    scores |= association_scores(target, attributes, level)
    groups = {"A": task.attributes.A.name, "B": task.attributes.B.name}
    group = groups.get(target.spec.stereotype or "")
    return Item(target.spec.name, scores, group, len(target.images))


def _prompt_warnings(attributes: Attributes, equal: EqualSpread) -> list[str]:
    """Return a list of one warning that names attribute prompts without images, or none."""
    prompts = attributes.prompts_without_images
    if not prompts:
        return []
    partners = ", with their partners" if equal.poles.paired else ""
    return [
        f"Attribute prompts without images are left out{partners}: {', '.join(prompts)}."
    ]
