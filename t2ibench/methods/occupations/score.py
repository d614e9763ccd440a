"""Scores of an occupations task: how far the images of each stimulus lean to groups.

Any number of groups: every pair is compared. After Wang et al. 2023, sections 5.3 and 5.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from t2ibench.methods.core.association import left_out_warnings
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import Control, HeadlineEstimate, contradiction
from t2ibench.methods.core.image_collector import ImageCollector
from t2ibench.methods.core.lean_scores import positions
from t2ibench.methods.core.leans import LONE
from t2ibench.methods.core.obedience import (
    Seen,
    obedience_control,
    obedience_scores,
    obedience_warnings,
)
from t2ibench.methods.core.score_table import SCORE_TABLES
from t2ibench.methods.core.stimulus_images import StimulusImages, obeying, read_groups
from t2ibench.methods.occupations.controls import VARIANCES, controls_of
from t2ibench.methods.occupations.crossings import crossing_scores
from t2ibench.methods.occupations.design import collect, group_pairs
from t2ibench.methods.occupations.facts import fact_scores
from t2ibench.methods.occupations.forms import form_scores
from t2ibench.methods.occupations.group_distance import group_distances
from t2ibench.methods.occupations.headline import headline_of
from t2ibench.methods.occupations.leans import (
    PairLeans,
    pair_leans,
    pair_rows,
    pair_scores,
)
from t2ibench.methods.occupations.lengths import length_scores
from t2ibench.methods.occupations.published import (
    Associations,
    associate,
    correlations,
)
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.methods.occupations.sets import compare_sets
from t2ibench.methods.occupations.unequal_obedience import unequal_obedience
from t2ibench.methods.occupations.weights import weight_rows, weight_scores
from t2ibench.methods.occupations.wordings import wording_details
from t2ibench.settings import Settings

_ONE_WORDING = (
    "One wording: what it does to the images cannot be told from a lean. Give `prompts` some "
    "`paraphrases`."
)


# Images that are all alike have no direction.
@np.errstate(divide="ignore", invalid="ignore")
def score(
    task: OccupationsTask, evidence: Evidence, settings: Settings
) -> MethodResult:
    """Return the result of a task: each stimulus's lean to the groups, and their mean square.

    headline = mean over stimuli j (and pairs of groups) of lean_j², without bias by its noise

    `core.leans.Leans` measures leans, `published.associate` holds the paper's scores.

    Args:
        task: The task.
        evidence: Images and texts of the neutral and the guided prompts.
        settings: How it is measured.

    Returns:
        By stimulus: 'lean' (positive: towards the first group), 'lean_text' of its prompts' texts,
        'amplification' (how much further the images lean than the texts, in their direction),
        'weight' (its share of the headline's weight) and, with a reference,
        'share_minus_reference:GROUP'; the paper's scores. For the task: their means, how unequally
        stimuli count (`weight_scores`), the slope of the leans on the reference's, and
        'obedience:GROUP'; with sets of
        stimuli, how their mean leans differ (`compare_sets`); with forms of stimuli, how far each
        form leans and how far apart they lie (`form_scores`); with wordings of several lengths,
        how leans change with these (`length_scores`); with facts, how many images show what is
        so (`fact_scores`).
    """
    collector = ImageCollector(evidence)
    stimuli = _collect_stimuli(task, evidence, collector, settings)
    if not stimuli.complete:
        reason = "no stimulus has all of its images"
        return MethodResult.undefined(reason, collector, stimuli.warnings)
    leans = _measure_leans(task, stimuli, evidence, settings)
    obedience = _obedience(task, stimuli, evidence)
    controls = leans.controls | obedience.controls
    if not stimuli.judged:
        controls |= unequal_obedience(
            leans.pairs,
            leans.headline,
            settings.level,
            has_question=task.prompts.question is not None,
        )
    crossing = crossing_scores(task, collector, settings)
    set_scores, set_details = compare_sets(task, leans.pairs, settings.level)
    forms = form_scores(task, stimuli.obedient, collector, evidence, settings)
    lengths = length_scores(task, leans.pairs, settings.level)
    facts = fact_scores(task, evidence, settings)
    distances = group_distances(
        task, [pair.pair for pair in leans.pairs], stimuli.complete, settings
    )
    associations = [associate(task, images, evidence) for images in stimuli.complete]
    names = [images.name for images in stimuli.complete]
    by_name = {
        name: values for name, (values, _) in zip(names, associations, strict=True)
    }
    columns = [
        *leans.rows,
        distances.rows,
        [forms.rows.get(name, {}) for name in names],
    ]
    columns.append([published for _, published in associations])
    rows = _rows(task.concept.name, stimuli.complete, columns)
    scores = obedience.scores | leans.scores | crossing.scores | set_scores
    scores |= forms.scores | lengths.scores | facts.scores | distances.scores
    scores |= correlations(task, by_name, settings)
    details = wording_details(task, leans.pairs, settings.level)
    details |= crossing.details | set_details | forms.details | lengths.details
    tables = [*details.get(SCORE_TABLES, []), *lengths.tables, *facts.tables]
    if tables:
        details[SCORE_TABLES] = tables
    return MethodResult(
        headline=leans.headline,
        scores=scores,
        by=rows + crossing.rows,
        n_images=collector.n_images,
        n_prompts=collector.n_prompts,
        excluded=collector.excluded,
        warnings=stimuli.warnings + obedience.warnings,
        details=details,
        samples=_samples(stimuli.complete, leans.pairs, by_name),
        controls=controls,
        inconclusive=contradiction(controls),
    )


@dataclass(frozen=True, slots=True)
class _Stimuli:
    """The images of the stimuli that are scored, with and without those that disobey.

    Attributes:
        complete: The images of each stimulus that has all of them.
        obedient: The same stimuli without guided images that do not show their group.
        judged: How many guided images show each group; empty where they are unchecked.
        warnings: Which stimuli are left out, and why.
    """

    complete: list[StimulusImages]
    obedient: list[StimulusImages]
    judged: Mapping[str, Seen]
    warnings: list[str]


def _collect_stimuli(
    task: OccupationsTask,
    evidence: Evidence,
    collector: ImageCollector,
    settings: Settings,
) -> _Stimuli:
    collected = collect(task, collector, settings)
    complete = [images for images in collected if images.complete]
    incomplete = [images.name for images in collected if not images.complete]
    warnings = left_out_warnings(incomplete)
    if len(task.prompts.wordings) == 1:
        warnings.append(_ONE_WORDING)
    groups = [group.name for group in task.groups]
    _, n_guided = task.image_counts(settings)
    answers = dict(zip(groups, groups, strict=True))
    obedient, judged = obeying(
        complete, evidence, n_guided, task.prompts.question, answers
    )
    thin = [images.name for images in obedient if not images.complete]
    warnings += left_out_warnings(
        thin, "has fewer than two images that show what was asked for"
    )
    return _Stimuli(
        complete=[images for images in complete if images.name not in thin],
        obedient=[images for images in obedient if images.complete],
        judged=judged,
        warnings=warnings,
    )


@dataclass(frozen=True, slots=True)
class _TaskLeans:
    """The leans of all pairs of groups, with the headline, controls and scores from them.

    Attributes:
        pairs: The leans with each pair of groups; none where a single stimulus is left.
        headline: The headline.
        controls: Name to control of the leans.
        scores: The scores of the task.
        rows: The scores of each stimulus, for each pair, and its weight.
    """

    pairs: list[PairLeans]
    headline: HeadlineEstimate
    controls: dict[str, Control] = field(default_factory=dict)
    scores: dict[str, Estimate] = field(default_factory=dict)
    rows: list[list[dict[str, Estimate]]] = field(default_factory=list)


def _measure_leans(
    task: OccupationsTask, stimuli: _Stimuli, evidence: Evidence, settings: Settings
) -> _TaskLeans:
    if len(stimuli.obedient) < 2:
        return _TaskLeans([], HeadlineEstimate.undefined(LONE, "mean_square"))
    pairs = [
        pair_leans(task, pair, stimuli.obedient, evidence) for pair in group_pairs(task)
    ]
    headline = headline_of(pairs, settings.level)
    controls = controls_of(pairs, headline, settings.level)
    moved = controls[VARIANCES].contradicts if VARIANCES in controls else None
    scores: dict[str, Estimate] = {}
    for pair in pairs:
        scores |= pair_scores(pair, settings.level, moved)
    scores |= weight_scores(pairs, settings.level)
    rows = [pair_rows(pair, settings.level, moved) for pair in pairs]
    return _TaskLeans(
        pairs=pairs,
        headline=headline,
        controls=controls,
        scores=scores,
        rows=[*rows, weight_rows(pairs)],
    )


@dataclass(frozen=True, slots=True)
class _Obedience:
    """The controls, scores and warnings on whether guided images show their group.

    Attributes:
        controls: A control for each pair of groups.
        scores: The share of each group's images that show it.
        warnings: Groups that are obeyed unequally, where they are unchecked.
    """

    controls: dict[str, Control] = field(default_factory=dict)
    scores: dict[str, Estimate] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def _obedience(
    task: OccupationsTask, stimuli: _Stimuli, evidence: Evidence
) -> _Obedience:
    obedience = _Obedience()
    is_judged = bool(stimuli.judged)
    for pair in group_pairs(task):
        if is_judged:
            seen = {name: stimuli.judged[name] for name in pair.names}
        else:
            read = read_groups(stimuli.complete, *pair.names, evidence)
            seen = dict(zip(pair.names, read, strict=True))
        control = obedience_control(seen, judged=is_judged)
        obedience.controls[f"obedience{pair.suffix}"] = control
        obedience.scores.update(obedience_scores(seen, pair.suffix))
        warnings = obedience_warnings(
            seen, judged=is_judged, has_question=task.prompts.question is not None
        )
        obedience.warnings.extend(warnings)
    return obedience


def _rows(
    concept: str,
    stimuli: Sequence[StimulusImages],
    columns: Sequence[Sequence[Mapping[str, Estimate]]],
) -> list[Item]:
    """Return a row in the result for each stimulus, with all of its scores."""
    rows = []
    for number, images in enumerate(stimuli):
        scores: dict[str, Estimate] = {}
        for column in columns:
            scores |= column[number]
        rows.append(Item(images.name, scores, concept, len(images.all_neutral)))
    return rows


def _samples(
    stimuli: Sequence[StimulusImages],
    pairs: Sequence[PairLeans],
    associations: Mapping[str, Associations],
) -> list[dict[str, Any]]:
    """Return a row for each image without a group: its lean and association for each pair.

    Where the task has several wordings, a row has the number of its prompt's, from 1.
    """
    places = {f"lean{pair.pair.suffix}": positions(pair.leans) for pair in pairs}
    samples = []
    for number, images in enumerate(stimuli):
        numbers = {name: of_stimuli[number] for name, of_stimuli in places.items()}
        for suffix, values in associations[images.name].items():
            numbers[f"association{suffix}"] = values
        rows = images.all_neutral.samples({"stimulus": images.name}, numbers)
        if len(images.neutral) > 1:
            rows = _with_wordings(rows, images)
        samples += rows
    return samples


def _with_wordings(
    rows: Sequence[dict[str, Any]], images: StimulusImages
) -> list[dict[str, Any]]:
    """Return the rows of a stimulus's images with the number of each one's wording."""
    n_images = [len(in_wording) for in_wording in images.neutral]
    wordings = np.repeat(np.arange(1, len(n_images) + 1), n_images)
    return [
        {**row, "wording": int(wording)}
        for row, wording in zip(rows, wordings, strict=True)
    ]
