"""The text-to-image association test and its scores (Wang et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core import lean_controls
from t2ibench.methods.core.association import left_out_warnings
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import Control, HeadlineEstimate, contradiction
from t2ibench.methods.core.image_collector import ImageCollector
from t2ibench.methods.core.inference import Inference
from t2ibench.methods.core.lean_scores import positions, row_scores
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.obedience import (
    Seen,
    breakdown,
    obedience_control,
    obedience_scores,
    obedience_warnings,
)
from t2ibench.methods.core.stimulus_images import obeying, read_groups, text_leans
from t2ibench.methods.core.text_vectors import missing_vectors
from t2ibench.methods.core.wording_report import wording_report
from t2ibench.methods.t2iat.controls import repeated_tests
from t2ibench.methods.t2iat.design import ConceptImages, balanced, collect
from t2ibench.methods.t2iat.headline import (
    amplification,
    headline_of,
    mean_leans,
    signed_parts,
)
from t2ibench.methods.t2iat.published import (
    EFFECT_SIZES,
    Associations,
    associate,
    published_scores,
)
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.methods.t2iat.sides import SIDES, Sides
from t2ibench.methods.t2iat.variances import read_variances
from t2ibench.settings import Settings


def score(task: T2iatTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Return the result of a task: half the difference of X's and Y's mean leans, and scores.

    With N_j and D_j of stimulus j, whose ratio is its lean (`core.leans.Leans`):

    headline L = (mean of N over X - mean over Y) / (mean of D over X + mean over Y)

    So L is half the difference of the mean leans of X and Y, from -1 to 1. Its interval and its
    p-value are about other stimuli of the same concepts ('prompt_population'), or about other
    images of the same ('fixed_prompts'). `published_scores` holds the paper's S and d.

    Args:
        task: The task.
        evidence: Images and texts of the neutral and the guided prompts.
        settings: How it is measured.

    Returns:
        By concept 'lean_of_x' and 'lean_of_y'; 'lean_text', L of the prompts' texts, and
        'amplification', how much further L goes in that direction. By stimulus: 'lean',
        'lean_breakdown' (how unequal obedience would have to be for it to be none) and, as
        published, 'association'.
    """
    collector = ImageCollector(evidence)
    stimuli = _collect_stimuli(task, evidence, collector, settings)
    concepts: dict[str, Associations] = {}
    for side in SIDES:
        images = [each for each in stimuli.complete if each.stimulus.side == side]
        if not images:
            reason = _why_nothing_is_left(stimuli.collected)
            return MethodResult.undefined(reason, collector, stimuli.warnings)
        concepts[side] = associate(task, side, images, settings)
    leans = _measure_leans(task, stimuli.obedient, evidence, settings)
    is_judged = bool(stimuli.judged)
    seen = stimuli.judged or _read_attributes(task, stimuli.complete, evidence)
    controls = leans.controls | {"obedience": obedience_control(seen, judged=is_judged)}
    warnings = obedience_warnings(
        seen, judged=is_judged, has_question=task.prompts.question is not None
    )
    scores = leans.scores | published_scores(task, concepts, settings)
    scores |= obedience_scores(seen)
    rows, samples = _rows_and_samples(concepts, leans)
    conventions = {
        "effect_size": EFFECT_SIZES[task.effect_size],
        "unit": task.unit,
        "match": task.match,
        "pairing": task.pairing,
    }
    return MethodResult(
        headline=leans.headline,
        scores=scores,
        by=rows,
        n_images=collector.n_images,
        n_prompts=collector.n_prompts,
        excluded=collector.excluded,
        conventions=conventions,
        warnings=stimuli.warnings + warnings,
        details=leans.details,
        samples=samples,
        controls=controls,
        inconclusive=contradiction(controls),
    )


@dataclass(frozen=True, slots=True)
class _Stimuli:
    """The stimuli of a task that are scored, with their images.

    Attributes:
        collected: The images of all stimuli.
        complete: Those of stimuli that are scored.
        obedient: The same without guided images that do not show their attribute.
        judged: How many guided images show each attribute; empty where they are unchecked.
        warnings: Which stimuli are left out, and why.
    """

    collected: list[ConceptImages]
    complete: list[ConceptImages]
    obedient: list[ConceptImages]
    judged: Mapping[str, Seen]
    warnings: list[str]


def _collect_stimuli(
    task: T2iatTask,
    evidence: Evidence,
    collector: ImageCollector,
    settings: Settings,
) -> _Stimuli:
    collected = collect(task, collector, settings)
    complete = balanced(task, collected)
    incomplete = [images.name for images in collected if not images.complete]
    warnings = left_out_warnings(incomplete)
    partners = len(collected) - len(complete) - len(incomplete)
    if partners:
        warnings.append(
            f"{partners} stimuli of the other concept, which share their attribute words, are left "
            "out with them."
        )
    _, n_guided = task.image_counts(settings)
    answers = {"A": task.attributes.A.name, "B": task.attributes.B.name}
    shown, judged = obeying(
        complete, evidence, n_guided, task.prompts.question, answers
    )
    thin = [images.name for images in shown if not images.complete]
    warnings += left_out_warnings(
        thin, "has fewer than two images that show what was asked for"
    )
    obedient = balanced(task, shown)
    scored = {_key(images) for images in obedient}
    return _Stimuli(
        collected=collected,
        complete=[images for images in complete if _key(images) in scored],
        obedient=obedient,
        judged=judged,
        warnings=warnings,
    )


def _key(images: ConceptImages) -> tuple[str, int]:
    return images.stimulus.side, images.stimulus.number


def _why_nothing_is_left(collected: Sequence[ConceptImages]) -> str:
    for side in SIDES:
        stimuli = [images for images in collected if images.stimulus.side == side]
        if not any(images.complete for images in stimuli):
            concept = stimuli[0].stimulus.concept
            return f"no stimulus of {side} ({concept}) has all of its images"
    return "no two stimuli of the same attribute words have all of their images"


def _read_attributes(
    task: T2iatTask, images: Sequence[ConceptImages], evidence: Evidence
) -> dict[str, Seen]:
    """Return how many images of each attribute are nearer to its own text than the other's."""
    of_a, of_b = read_groups(images, "A", "B", evidence)
    return {task.attributes.A.name: of_a, task.attributes.B.name: of_b}


@dataclass(frozen=True, slots=True)
class _TaskLeans:
    """The leans of all stimuli, with the scores and controls that follow from them.

    Attributes:
        headline: The headline.
        scores: The scores of the task.
        controls: Name to control of the leans.
        rows: The lean of each stimulus.
        places: Where each image without an attribute lies, for each stimulus.
        details: How much the wordings matter.
    """

    headline: HeadlineEstimate
    scores: dict[str, Estimate]
    controls: dict[str, Control]
    rows: list[Estimate]
    places: list[Float64Array]
    details: dict[str, Any] = field(default_factory=dict)


# Images that are all alike have no direction.
@np.errstate(divide="ignore", invalid="ignore")
def _measure_leans(
    task: T2iatTask,
    images: Sequence[ConceptImages],
    evidence: Evidence,
    settings: Settings,
) -> _TaskLeans:
    leans = Leans.of(
        [stimulus.name for stimulus in images],
        [stimulus.wording_images("A", "B") for stimulus in images],
    )
    sides = Sides.of(images)
    first = task.attributes.A.name
    second = task.attributes.B.name
    gates = {
        "separation": lean_controls.separation(leans, first, second, sides.positions),
        "spread": lean_controls.lean_spread(leans, first, second),
    }
    unclear = contradiction(gates)
    headline = headline_of(leans, sides, settings.level)
    repeated = repeated_tests(leans, sides, headline) if unclear is None else {}
    in_text, without_text = _lean_of_texts(images, sides, evidence)
    text_only = lean_controls.text_control(in_text, "lean", without_text)
    measured = _TaskLeans(
        headline=headline,
        scores=mean_leans(leans, sides, settings.level)
        | amplification(headline, in_text, without_text),
        controls=gates | repeated | {"text_only": text_only},
        rows=row_scores(leans, settings.level),
        places=positions(leans),
    )
    if unclear is not None:
        return _undecided(measured, unclear)
    measured = _read_twice(measured, leans, sides)
    wording = wording_report(
        leans,
        task.prompts.wordings,
        sides.groups,
        signed_parts(leans, sides),
        lambda in_wording: headline_of(in_wording, sides, settings.level),
    )
    details = {} if wording is None else {"wording": [asdict(wording)]}
    return replace(measured, details=details)


def _read_twice(measured: _TaskLeans, leans: Leans, sides: Sides) -> _TaskLeans:
    """Return the leans with the control from variances, which may make the rows undefined."""
    reading = read_variances(leans, sides, measured.headline)
    if reading is None:
        return measured
    controls = {**measured.controls, "variances": reading.control}
    if reading.moved is None:
        return replace(measured, controls=controls)
    undefined = Estimate.undefined(reading.moved)
    own_leans = dict.fromkeys(("lean_of_x", "lean_of_y"), undefined)
    return replace(
        measured,
        controls=controls,
        scores={**measured.scores, **own_leans},
        rows=[undefined] * len(measured.rows),
    )


def _lean_of_texts(
    images: Sequence[ConceptImages], sides: Sides, evidence: Evidence
) -> tuple[float | None, str | None]:
    """Return the headline from the prompts' texts, or None, and a note on missing texts or None."""
    top, bottom = text_leans(images, "A", "B", evidence)
    without_text = missing_vectors(int(np.isnan(bottom).sum()), len(images))
    if without_text is not None or not (sides.means @ bottom > 0).all():
        return None, without_text
    return float(sides.lean(top, bottom)), None


def _undecided(leans: _TaskLeans, reason: str) -> _TaskLeans:
    """Return the leans with their tests but without their values, for the given reason."""
    headline = replace(
        leans.headline,
        value=None,
        inference=replace(
            leans.headline.inference,
            by_question={
                question: Inference(p=inference.p, df=inference.df, reason=reason)
                for question, inference in leans.headline.inference.items()
            },
            fair=None,
        ),
        parts=(),
        reason=reason,
    )
    return replace(
        leans,
        headline=headline,
        scores={name: Estimate.undefined(reason) for name in leans.scores},
        rows=[row.undecided(reason) for row in leans.rows],
    )


def _rows_and_samples(
    concepts: Mapping[str, Associations], leans: _TaskLeans
) -> tuple[list[Item], list[dict[str, Any]]]:
    """Return a row for each stimulus, and a sample for each image without an attribute."""
    rows = []
    samples = []
    number = 0
    for associations in concepts.values():
        for images, values in zip(
            associations.images, associations.by_stimulus, strict=True
        ):
            lean = leans.rows[number]
            scores = {
                "lean": lean,
                "lean_breakdown": breakdown(lean),
                "association": Estimate(float(values.mean()), as_published=True),
            }
            concept = images.stimulus.concept
            word = images.stimulus.word
            rows.append(Item(word, scores, concept, len(values)))
            samples += images.all_neutral.samples(
                {"concept": concept, "stimulus": word},
                {"association": values, "lean": leans.places[number]},
            )
            number += 1
    return rows, samples
