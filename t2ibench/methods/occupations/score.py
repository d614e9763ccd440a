"""How far the images of each stimulus, such as an occupation, lean to one of two groups.

Any number of groups: every pair is compared. After Wang et al. 2023, sections 5.3 and 5.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from t2ibench.methods.core.association import (
    adherence,
    adherence_estimate,
    adherence_warnings,
    left_out_warnings,
)
from t2ibench.methods.core.controls import Control, contradiction
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence, ImageCollector
from t2ibench.methods.core.headline import Headline
from t2ibench.methods.core.lean_controls import adherence_control
from t2ibench.methods.core.lean_scores import positions
from t2ibench.methods.occupations.crossing import crossing_scores
from t2ibench.methods.occupations.design import group_pairs, group_prompts
from t2ibench.methods.occupations.further import (
    likeness_rows,
    likeness_scores,
    wording_details,
)
from t2ibench.methods.occupations.headline import controls_of, headline_of
from t2ibench.methods.occupations.images import StimulusImages, collect
from t2ibench.methods.occupations.leans import PairLeans, pair_leans, pair_rows, pair_scores
from t2ibench.methods.occupations.published import (
    Associated,
    associate,
    published_scores,
    reference_details,
)
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.methods.occupations.sets import compare_sets
from t2ibench.settings import Settings

_ONE_WORDING = (
    "One wording: what it does to the images cannot be told from a lean. Give `prompts` some "
    "`paraphrases`."
)


@np.errstate(divide="ignore", invalid="ignore")  # images that are all alike have no direction
def score(task: OccupationsTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Each stimulus's lean to the groups, and the task's mean squared lean.

    For a stimulus j, with the means y, a and b of its neutral images and of those of the first and
    the second group along a direction that the images of the other stimuli give:

    lean_j = (2 y - a - b) / (a - b)
    headline = mean over stimuli (and pairs of groups) of lean_j², without bias by its noise

    `core.leans` measures leans, `published` holds the paper's scores.

    Args:
        task: The task.
        evidence: Images and texts of the neutral and the guided prompts.
        settings: How it is measured.

    Returns:
        By stimulus: 'lean' (positive: towards the first group), 'lean_text' of its prompts' texts,
        'amplification' (how much further the images lean than the texts, in their direction) and,
        with a reference, 'beyond_reference'; the paper's scores. For the task: their means, the
        slope of the leans on the reference's, and 'adherence'; with sets of stimuli, how their mean
        leans differ (`sets.compare_sets`).

    Raises:
        MissingEvidence: an image or a text was never observed.
    """
    collector = ImageCollector(evidence)
    collected = collect(task, collector, settings)
    complete = [images for images in collected if images.complete]
    warnings = left_out_warnings([images.name for images in collected if not images.complete])
    if len(task.prompts.wordings) == 1:
        warnings.append(_ONE_WORDING)
    if not complete:
        return MethodResult.undefined("no stimulus has all of its images", collector, warnings)
    stimuli = [associate(task, images, evidence) for images in complete]
    measured = [pair_leans(task, pair, complete, evidence) for pair in group_pairs(task)]
    pairs = [found for found in measured if not isinstance(found, str)]
    lacking = next((found for found in measured if isinstance(found, str)), None)
    headline, controls = _tested(task, pairs, lacking, settings)
    hits, total = _adherence(task, complete, evidence)
    controls["adherence"] = adherence_control(hits, total)
    scores: dict[str, Estimate] = {}
    for found in pairs:
        scores |= pair_scores(found, settings.level)
    crossed = crossing_scores(task, collector, settings)
    compared = compare_sets(task, pairs, settings.level)
    scores |= crossed.scores | compared.scores | likeness_scores(task, pairs, settings)
    return MethodResult(
        headline,
        {
            **scores,
            **published_scores(task, stimuli, settings),
            "adherence": adherence_estimate(hits, total),
        },
        _rows(task, stimuli, pairs, settings) + crossed.items,
        collector.n_images,
        collector.n_prompts,
        collector.excluded,
        conventions=_conventions(task),
        warnings=warnings + adherence_warnings(hits, total, "group"),
        details=reference_details(task, [images.name for images in complete])
        | wording_details(task, pairs, settings)
        | crossed.details
        | compared.details,
        samples=_samples(stimuli, pairs),
        controls=controls,
        inconclusive=contradiction(controls),
    )


def _tested(
    task: OccupationsTask, pairs: Sequence[PairLeans], lacking: str | None, settings: Settings
) -> tuple[Headline, dict[str, Control]]:
    """The headline and its controls."""
    if lacking is not None:
        return Headline.undefined(lacking, "mean_square"), {}
    headline = headline_of(pairs, settings.level)
    return headline, controls_of(task, pairs, headline, settings)


def _conventions(task: OccupationsTask) -> dict[str, Any]:
    """Choices that decide the numbers."""
    return {
        "sign": f"positive is nearer '{task.groups[0].name}'",
        "headline": "mean over stimuli of squared leans, directions held out by stimulus",
        "unit": "image within its prompt; with several wordings, the wording of a stimulus",
        "similarity": "cosine",
    }


def _rows(
    task: OccupationsTask,
    stimuli: Sequence[Associated],
    pairs: Sequence[PairLeans],
    settings: Settings,
) -> list[Item]:
    columns = [pair_rows(found, settings.level) for found in pairs]
    further = likeness_rows(task, pairs, settings)
    columns += [further] if further else []
    rows = []
    for number, one in enumerate(stimuli):
        scores: dict[str, Estimate] = {}
        for column in columns:
            scores |= column[number]
        count = len(one.images.all_neutral)
        rows.append(Item(one.images.name, scores | one.scores, task.concept.name, count))
    return rows


def _adherence(
    task: OccupationsTask, stimuli: Sequence[StimulusImages], evidence: Evidence
) -> tuple[int, int]:
    """Group images that show their group, and all of them, over all pairs and wordings."""
    hits, total = 0, 0
    for images in stimuli:
        for pair in group_pairs(task):
            for number, wording in enumerate(task.prompts.wordings):
                adherent, count = adherence(
                    images.guided[pair.first.name][number].embeddings,
                    images.guided[pair.second.name][number].embeddings,
                    evidence.texts(group_prompts(task, images.name, pair.first, wording)),
                    evidence.texts(group_prompts(task, images.name, pair.second, wording)),
                )
                hits, total = hits + adherent, total + count
    return hits, total


def _samples(stimuli: Sequence[Associated], pairs: Sequence[PairLeans]) -> list[dict[str, Any]]:
    """One row for each neutral image: its associations, and where it lies between the groups."""
    places = [(found.pair.suffix, positions(found.leans)) for found in pairs]
    rows = []
    for number, one in enumerate(stimuli):
        neutral = one.images.all_neutral
        flat = [(suffix, [x for part in place[number] for x in part]) for suffix, place in places]
        for at, index in enumerate(neutral.indices):
            row: dict[str, Any] = {
                "prompt": neutral.prompts[neutral.clusters[at]],
                "index": int(index),
                "stimulus": one.images.name,
            }
            row |= {f"lean{suffix}": float(leans[at]) for suffix, leans in flat}
            row |= {f"asc{suffix}": float(asc[at]) for suffix, asc in one.asc.items()}
            rows.append(row)
    return rows
