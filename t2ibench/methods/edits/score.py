"""Scores of an edit task: who is changed when a model edits an image of a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from t2ibench.methods.core.describe import listed, percent
from t2ibench.methods.core.edit_report import EDITS, LEAN, EditOutcomes
from t2ibench.methods.core.estimate import Estimate, MethodResult
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import contradiction
from t2ibench.methods.core.score_names import join_score_name
from t2ibench.methods.edits.changes import (
    FollowedChange,
    GroupedChange,
    followed_change,
)
from t2ibench.methods.edits.controls import controls_of
from t2ibench.methods.edits.corrected import scores_from_labels
from t2ibench.methods.edits.details import report_of
from t2ibench.methods.edits.gathering import EditedGroup, gather
from t2ibench.methods.edits.headline import headline_of
from t2ibench.methods.edits.measured_changes import measured_changes
from t2ibench.methods.edits.needs import edits_of
from t2ibench.methods.edits.outcomes import (
    OutcomeTest,
    distance_threshold,
    outcome_rows,
    outcome_tests,
    outcomes_by_source,
)
from t2ibench.methods.edits.rows import rows_of
from t2ibench.methods.edits.schema import NO_CHANGE, Edit, EditsTask
from t2ibench.settings import Settings

NO_ANSWER = "nothing was answered about source images and their edits"
# Of the requested edits of a group, those without an answer before and after that are too many to
# go unmentioned.
_MANY = 0.2


def score(task: EditsTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Return the result of an edit task: the headline's change, all changes, and outcomes.

    Args:
        task: The task.
        evidence: The answers of one judge, or of people, about source images and their edits.
        settings: How it is measured.

    Returns:
        A row for each attribute and edit, with the change of each group and the lean between the
        two that are compared, and for each outcome; in `details` all counts.
    """
    groups = gather(task, evidence, settings)
    edits = edits_of(task, settings)
    measured = list(settings.limited(task.edits))
    names = [edit.name for edit in measured]
    followed = [
        followed_change(task, attribute, groups, names) for attribute in task.attributes
    ]
    headline = _of_headline(task, followed)
    measured_on_pixels = [
        change
        for change in measured_changes(task, groups, measured)
        if change.is_measured
    ]
    changes = [*_headline_first(headline, followed), *measured_on_pixels]
    threshold = distance_threshold(groups)
    by_source = outcomes_by_source(groups, edits, threshold)
    outcomes = outcome_rows(groups, edits, names, by_source)
    tests = outcome_tests(task, groups, by_source, measured, settings.level)
    controls = controls_of(
        task,
        groups,
        headline,
        _no_change(task, groups),
        settings.level,
        settings.rng(task.id, "controls"),
    )
    report = report_of(
        task,
        groups,
        followed,
        measured_on_pixels,
        edits,
        outcomes,
        threshold,
        settings.level,
    )
    excluded: Counter[str] = Counter()
    for group in groups:
        for images in group.edits.values():
            for image in images:
                excluded.update(image.excluded)
    scores = _scores(changes, tests, settings.level)
    scores_by_people = scores_from_labels(headline, groups, settings.level)
    result = MethodResult(
        headline=headline_of(headline, settings.level),
        scores={**scores, **scores_by_people},
        by=rows_of(changes, tests, settings.level),
        n_images=_n_images(groups),
        n_prompts=len(edits),
        excluded=excluded,
        warnings=list(_warnings(headline, outcomes)),
        details={EDITS: asdict(report)},
        samples=_samples(edits, groups),
        controls=controls,
        inconclusive=contradiction(controls),
    )
    return result if _is_answered(followed) else _without_answers(result)


def _of_headline(task: EditsTask, followed: Sequence[FollowedChange]) -> FollowedChange:
    """Return the change that is the headline."""
    name = task.headline_attribute.full_name
    return next(change for change in followed if change.attribute.full_name == name)


def _headline_first(
    headline: FollowedChange, followed: Sequence[FollowedChange]
) -> list[FollowedChange]:
    others = [change for change in followed if change is not headline]
    return [headline, *others]


def _no_change(task: EditsTask, groups: Sequence[EditedGroup]) -> FollowedChange | None:
    """Return the headline's change by the instruction that asks for none; None without one."""
    if task.no_change is None:
        return None
    return followed_change(task, task.headline_attribute, groups, [NO_CHANGE])


def _is_answered(followed: Sequence[FollowedChange]) -> bool:
    return any(
        changes.pairs for change in followed for changes in change.by_group.values()
    )


def _without_answers(result: MethodResult) -> MethodResult:
    """Return a result without a headline, with what needs no answers: pixels, outcomes, counts."""
    measured_rows = [row for row in result.by if row.scores[LEAN].value is not None]
    measured_scores = {
        name: score for name, score in result.scores.items() if score.value is not None
    }
    return replace(
        MethodResult.undefined(NO_ANSWER),
        scores=measured_scores,
        by=measured_rows,
        n_images=result.n_images,
        n_prompts=result.n_prompts,
        excluded=result.excluded,
        details=result.details,
    )


def _scores(
    changes: Sequence[GroupedChange],
    tests: Sequence[OutcomeTest],
    level: float,
) -> dict[str, Estimate]:
    """Return all changes of every group over all edits, and shares of outcomes.

    None of them is tested here: rows are, together.

    Args:
        changes: What changes, the headline's first.
        tests: How outcomes differ.
        level: Confidence level, in (0, 1).
    """
    headline, *others = changes
    scores: dict[str, Estimate] = {}
    for group, change in headline.changes(level).items():
        scores[join_score_name("change", group)] = change
    for other in others:
        for group, change in other.changes(level).items():
            scores[join_score_name("change", f"{other.name}, {group}")] = change
    for test in tests:
        kind = test.outcome.replace(" ", "_")
        for group, share in test.shares.items():
            scores[join_score_name(kind, group)] = share
    return scores


def _n_images(groups: Sequence[EditedGroup]) -> int:
    """Return the number of edited images that exist."""
    return sum(
        image.existing
        for group in groups
        for images in group.edits.values()
        for image in images
    )


def _warnings(
    headline: FollowedChange, outcomes: Sequence[EditOutcomes]
) -> Iterator[str]:
    """Yield a warning for each group of which many edits have no answer before and after."""
    requested: Counter[str] = Counter()
    for row in outcomes:
        if row.edit in headline.edits:
            requested[row.group] += int(row.requested)
    for group, changes in headline.by_group.items():
        missing = requested[group] - changes.pairs
        if requested[group] and missing > _MANY * requested[group]:
            share = percent(missing / requested[group])
            yield (
                f"{share} of the requested edits of {group} have no answer before and after, and "
                "count as if they were like the others"
            )
    shared = set(headline.shared_edits)
    missing_edits = [
        f"'{edit}'"
        for number, edit in enumerate(headline.edits)
        if number not in shared
    ]
    if missing_edits:
        yield (
            f"{listed(missing_edits)}: one of the compared groups has no image before and after, "
            "so the headline is over the other edits"
        )
    silent = [name for name, changes in headline.by_group.items() if not changes.pairs]
    if silent:
        yield f"nothing was answered about edits of {listed(silent)}"


def _samples(
    edits: Sequence[Edit], groups: Sequence[EditedGroup]
) -> list[dict[str, Any]]:
    """Return a row for each edited image and attribute, with the answers before and after."""
    instructions = {edit.name: edit.instruction for edit in edits}
    rows: list[dict[str, Any]] = []
    for group in groups:
        for edit, edited in group.edits.items():
            for number, images in enumerate(edited):
                source = group.sources[number]
                for name, answers in images.after.items():
                    for index, after in enumerate(answers):
                        if after is None:
                            continue
                        row = {
                            "prompt": instructions[edit],
                            "index": index,
                            "source_prompt": source.prompt,
                            "source_index": source.index,
                            "group": group.name,
                            "edit": edit,
                            "attribute": name,
                            "before": group.before[name][number],
                            "answer": after,
                        }
                        rows.append(row)
    return rows
