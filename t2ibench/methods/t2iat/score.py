"""Text-to-image association test (Wang et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from t2ibench.methods.core.association import (
    adherence,
    adherence_estimate,
    adherence_warnings,
    left_out_warnings,
)
from t2ibench.methods.core.controls import contradiction
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence, ImageCollector
from t2ibench.methods.core.headline import Headline
from t2ibench.methods.core.lean_controls import adherence_control
from t2ibench.methods.core.lean_scores import positions
from t2ibench.methods.t2iat.images import StimulusImages, balanced, collect
from t2ibench.methods.t2iat.leans import Tested, tested
from t2ibench.methods.t2iat.published import Associations, associate, published_scores
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.settings import Settings

_CONVENTION = {
    "cohen": "Cohen's d over images, pooled within-group SD",
    "weat": "SD over X and Y together, ddof 1, over images",
    "t2iat_code": "SD over X and Y together, ddof 0, one association per prompt",
}


def score(task: T2iatTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """The lean of X less that of Y, and the paper's scores.

    For a stimulus j, with the means y, a and b of its neutral images and of those with A and with
    B along a direction from B to A that the images of the other stimuli give:

    lean_j = (2 y - a - b) / (a - b)
    headline L = (mean of 2 y - a - b over X - mean over Y) / (mean of a - b over X + over Y)

    So L is half the difference of the mean leans of X and Y, from -1 to 1. Its interval and its
    p-value are about other stimuli of the same concepts ('like_these'), or about other images of
    the same ('these'). `core.leans` measures leans; `published_scores` holds the paper's S and d.

    Args:
        task: The task.
        evidence: Images and texts of the neutral and the guided prompts.
        settings: How it is measured.

    Returns:
        The headline; each concept's own lean 'lean_X' and 'lean_Y'; 'lean_text', L of the prompts'
        texts, and 'amplification', how much further L goes in that direction; the paper's scores;
        and 'adherence'. By stimulus: 'lean' and, as published, 'asc'.

    Raises:
        MissingEvidence: an image or a text was never observed.
    """
    collector = ImageCollector(evidence)
    collected = collect(task, collector, settings)
    complete = balanced(task, collected)
    lacking = [one for one in collected if not one.complete]
    warnings = left_out_warnings([one.stimulus.word for one in lacking])
    partners = len(collected) - len(complete) - len(lacking)
    if partners:
        warnings.append(
            f"{partners} stimuli of the other concept, which share their attribute words, are left "
            "out with them."
        )
    concepts: dict[str, Associations] = {}
    for side in ("X", "Y"):
        images = [images for images in complete if images.stimulus.side == side]
        if not images:
            return MethodResult.undefined(_nothing_left(collected), collector, warnings)
        concepts[side] = associate(task, side, images, settings)
    found = tested(task, complete, evidence, settings)
    hits, total = _adherence(complete, evidence)
    measured = None if isinstance(found, str) else found
    controls = {} if measured is None else dict(measured.controls)
    wording = None if measured is None else measured.wording
    controls["adherence"] = adherence_control(hits, total)
    return MethodResult(
        Headline.undefined(found) if isinstance(found, str) else found.headline,
        {
            **({} if measured is None else measured.scores),
            **published_scores(task, concepts, settings),
            "adherence": adherence_estimate(hits, total),
        },
        _by_stimulus(concepts, measured),
        collector.n_images,
        collector.n_prompts,
        collector.excluded,
        conventions={
            "headline": "(mean lean of X - mean lean of Y) / 2, directions held out by stimulus",
            "effect_size": _CONVENTION[task.effect_size],
            "unit": task.unit,
            "match": task.match,
            "pairing": task.pairing,
            "similarity": "cosine",
        },
        warnings=warnings + adherence_warnings(hits, total, "attribute"),
        details={} if wording is None else {"wording": [wording.as_detail()]},
        samples=_samples(concepts, measured),
        controls=controls,
        inconclusive=contradiction(controls),
    )


def _nothing_left(collected: Sequence[StimulusImages]) -> str:
    for side in ("X", "Y"):
        mine = [one for one in collected if one.stimulus.side == side]
        if not any(one.complete for one in mine):
            return f"no stimulus of {side} ({mine[0].stimulus.concept}) has all of its images"
    return "no two stimuli of the same attribute words have all of their images"


def _adherence(images: Sequence[StimulusImages], evidence: Evidence) -> tuple[int, int]:
    """Attribute images that show their attribute, and all of them."""
    hits, total = 0, 0
    for one in images:
        for prompts, marked in zip(one.stimulus.wordings, one.wordings, strict=True):
            a_texts, b_texts = (evidence.texts(prompts.guided[name]) for name in "AB")
            adherent, count = adherence(marked.a.embeddings, marked.b.embeddings, a_texts, b_texts)
            hits, total = hits + adherent, total + count
    return hits, total


def _by_stimulus(concepts: Mapping[str, Associations], measured: Tested | None) -> list[Item]:
    """One row for each stimulus: those of X, then those of Y."""
    rows: list[Item] = []
    for associations in concepts.values():
        for images, asc in zip(associations.images, associations.by_stimulus, strict=True):
            scores = {} if measured is None else {"lean": measured.rows[len(rows)]}
            scores["asc"] = Estimate(float(asc.mean()), as_published=True)
            stimulus = images.stimulus
            rows.append(Item(stimulus.word, scores, stimulus.concept, len(asc)))
    return rows


def _samples(concepts: Mapping[str, Associations], measured: Tested | None) -> list[dict[str, Any]]:
    """One row for each neutral image: its association, and where it lies between A and B."""
    places = None if measured is None else positions(measured.leans)
    rows: list[dict[str, Any]] = []
    number = 0
    for associations in concepts.values():
        for images, asc in zip(associations.images, associations.by_stimulus, strict=True):
            neutral = images.neutral
            leans = None if places is None else [x for part in places[number] for x in part]
            number += 1
            for at, (index, value) in enumerate(zip(neutral.indices, asc, strict=True)):
                row: dict[str, Any] = {
                    "prompt": neutral.prompts[neutral.clusters[at]],
                    "index": int(index),
                    "concept": images.stimulus.concept,
                    "stimulus": images.stimulus.word,
                    "asc": float(value),
                }
                rows.append(row if leans is None else {**row, "lean": float(leans[at])})
    return rows
