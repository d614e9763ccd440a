"""The leans of the grammatical forms of the same stimuli, and how far these differ.

"Ein Arzt", "eine Ärztin" and "eine ärztliche Fachkraft" name one occupation. The images of every
form are measured between the same two sets of guided images, so a contrast of two forms is one
between images without a group alone: what the groups' images add to a lean cancels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from t2ibench.methods.core.describe import GROUP, people
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.image_collector import ImageCollector
from t2ibench.methods.core.lean_scores import noise, row_scores
from t2ibench.methods.core.over_stimuli import over_stimuli
from t2ibench.methods.core.score_table import SCORE_TABLES, ScoreTable
from t2ibench.methods.core.stimulus_images import StimulusImages
from t2ibench.methods.occupations.design import (
    GroupPair,
    collect,
    group_pairs,
    other_forms,
)
from t2ibench.methods.occupations.leans import PairLeans, pair_leans
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings
from t2ibench.stats import holm

LEAN, CONTRAST = "form", "forms"  # what the names of the scores begin with
_FEWEST = 3  # stimuli: with two, an interval over stimuli says next to nothing
_TOO_FEW = f"fewer than {_FEWEST} stimuli have images of all forms"


@dataclass(frozen=True, slots=True)
class FormScores:
    """The scores of a task's grammatical forms.

    Attributes:
        scores: 'form:FORM' is the mean lean of a form, 'forms:FIRST-SECOND' how much further the
            first leans to the first group than the second; both about other stimuli like these.
        rows: Name of a stimulus to its lean in each form but the headline's, as 'lean:FORM'.
        details: 'forms_holm', the p-values of the contrasts after Holm, and 'forms_stimuli', how
            many stimuli they are over.
    """

    scores: dict[str, Estimate]
    rows: dict[str, dict[str, Estimate]]
    details: dict[str, Any]


def form_scores(
    task: OccupationsTask,
    obedient: Sequence[StimulusImages],
    collector: ImageCollector,
    evidence: Evidence,
    settings: Settings,
) -> FormScores:
    """Return the mean leans of the stimuli's forms and their contrasts; empty without forms.

    `obedient` are the images of the stimuli that are scored, without guided images that do not show
    their group.
    """
    if not task.concept.forms:
        return FormScores({}, {}, {})
    by_form = _images_by_form(task, obedient, collector, settings)
    count = len(by_form[task.concept.forms[0]])
    scores: dict[str, Estimate] = {}
    rows: dict[str, dict[str, Estimate]] = {}
    for pair in group_pairs(task):
        if count < _FEWEST:
            scores |= _undefined(task, pair)
            continue
        leans = {
            form: pair_leans(task, pair, images, evidence)
            for form, images in by_form.items()
        }
        scores |= _pair_scores(leans, pair, settings.level)
        # the lean of the headline's form is in the rows already
        for form in other_forms(task):
            for name, estimate in _form_rows(leans[form], settings.level):
                rows.setdefault(name, {})[f"lean:{form}{pair.suffix}"] = estimate
    details = adjusted(scores) | {"forms_stimuli": count}
    details[SCORE_TABLES] = [
        asdict(_table(task, pair, count)) for pair in group_pairs(task)
    ]
    return FormScores(scores, rows, details)


def contrast_names(forms: Sequence[str], pair: GroupPair) -> dict[str, tuple[str, str]]:
    """Return the two forms that each contrast compares, keyed by the name of its score."""
    return {
        f"{CONTRAST}:{first}-{second}{pair.suffix}": (first, second)
        for first, second in combinations(forms, 2)
    }


def adjusted(scores: Mapping[str, Estimate]) -> dict[str, Any]:
    """Return the p-values of all contrasts of forms after Holm's correction, for `details`."""
    names = [name for name in scores if name.startswith(f"{CONTRAST}:")]
    corrected = holm([scores[name].p for name in names])
    return {"forms_holm": dict(zip(names, corrected, strict=True))} if names else {}


def _images_by_form(
    task: OccupationsTask,
    obedient: Sequence[StimulusImages],
    collector: ImageCollector,
    settings: Settings,
) -> dict[str, list[StimulusImages]]:
    """Return each form's images, for the stimuli that have images in every form.

    All forms of a stimulus have the same guided images.
    """
    by_form: dict[str, dict[str, StimulusImages]] = {}
    for form in task.concept.forms:
        collected = {
            images.name: images for images in collect(task, collector, settings, form)
        }
        by_form[form] = {
            images.name: replace(images, neutral=collected[images.name].neutral)
            for images in obedient
        }
    complete = [
        images.name
        for images in obedient
        if all(of_form[images.name].complete for of_form in by_form.values())
    ]
    return {
        form: [of_form[name] for name in complete] for form, of_form in by_form.items()
    }


def _pair_scores(
    leans: Mapping[str, PairLeans], pair: GroupPair, level: float
) -> dict[str, Estimate]:
    """Return the mean lean of each form and every contrast of forms, for one pair of groups."""
    scores = {}
    for form, form_leans in leans.items():
        scores[f"{LEAN}:{form}{pair.suffix}"] = _over_stimuli(
            form_leans, form_leans.leans.top, level
        )
    for name, (first, second) in contrast_names(list(leans), pair).items():
        # N of both forms holds the same images of the groups, so they are no part of this.
        difference = leans[first].leans.top - leans[second].leans.top
        estimate = _over_stimuli(leans[first], difference, level)
        unclear = leans[second].unclear
        scores[name] = estimate if unclear is None else estimate.undecided(unclear)
    return scores


def _over_stimuli(form_leans: PairLeans, top: Any, level: float) -> Estimate:
    """Return the mean lean of a form, with Student's t for other stimuli.

    It is Σ N / Σ D, with N the numerators `top` and D the distances of the groups.
    """
    numbers = np.arange(len(top))
    ratio = over_stimuli(
        top, form_leans.leans.bottom, [("stimuli", numbers, numbers)], level
    )
    estimate = ratio.estimate(noise(form_leans.leans))
    return (
        estimate
        if form_leans.unclear is None
        else estimate.undecided(form_leans.unclear)
    )


def _form_rows(form_leans: PairLeans, level: float) -> list[tuple[str, Estimate]]:
    """Return each stimulus's name and its lean in one form."""
    estimates = row_scores(form_leans.leans, level)
    if form_leans.unclear is not None:
        estimates = [estimate.undecided(form_leans.unclear) for estimate in estimates]
    return list(zip(form_leans.leans.names, estimates, strict=True))


def _table(task: OccupationsTask, pair: GroupPair, count: int) -> ScoreTable:
    """Return the table of the forms' scores as pages show it."""
    forms = task.concept.forms
    first, second = (people(group.name, GROUP) for group in (pair.first, pair.second))
    rows = {f"{form} form": f"{LEAN}:{form}{pair.suffix}" for form in forms}
    for name, (form, other_form) in contrast_names(forms, pair).items():
        rows[f"{form} − {other_form}"] = name
    return ScoreTable(
        f"Forms of the {task.concept.name}: {first} or {second}",
        f"Mean lean of the images of each form: above 0 towards {first}, below 0 towards {second}. "
        f"Then how much further the first of two forms leans to {first} than the second, over the "
        f"same {count} {task.concept.name}. Intervals and p-values are about others like these; "
        "Holm's correction is over all contrasts.",
        rows,
        "forms_holm",
    )


def _undefined(task: OccupationsTask, pair: GroupPair) -> dict[str, Estimate]:
    names = [f"{LEAN}:{form}{pair.suffix}" for form in task.concept.forms]
    names += contrast_names(task.concept.forms, pair)
    return dict.fromkeys(names, Estimate.undefined(_TOO_FEW))
