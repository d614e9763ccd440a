"""From a method's estimates to the records of results.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from t2ibench.errors import first_line
from t2ibench.methods import method_of
from t2ibench.methods.core import headline as core
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.headline import Control
from t2ibench.results.display import text_only
from t2ibench.results.rates import adjust_agreements, rounded
from t2ibench.results.schema import (
    EncoderScores,
    Headline,
    Row,
    Score,
    TaskResult,
    TaskSettings,
)
from t2ibench.stats import holm
from t2ibench.stats.bootstrap import percentile_interval
from t2ibench.stats.permutation import benjamini_hochberg
from t2ibench.tasks.loader import LoadedTask

PartT = TypeVar("PartT", TaskResult, EncoderScores)
RecordT = TypeVar("RecordT", core.Inference, Control)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return rounded(float(value))
    return int(value) if isinstance(value, np.integer) else value


def rounded_record(record: RecordT) -> RecordT:
    """A record with its numbers rounded."""
    found = {field.name: getattr(record, field.name) for field in fields(record)}
    numbers: dict[str, Any] = {
        name: rounded(x)
        for name, x in found.items()
        if x is not None and not isinstance(x, str)
    }
    return replace(record, **numbers)


def score_record(estimate: Estimate, level: float) -> Score:
    """One score with its interval."""
    low, high = estimate.interval or (None, None)
    if (
        estimate.value is not None
        and estimate.interval is None
        and estimate.boot is not None
    ):
        low, high = percentile_interval(estimate.boot, level)
    tested = estimate.p is not None
    return Score(
        value=rounded(estimate.value),
        ci_low=rounded(low),
        ci_high=rounded(high),
        p=rounded(estimate.p),
        test=estimate.test if tested else None,
        n_draws=len(estimate.null) if estimate.null is not None and tested else None,
        as_published=estimate.as_published,
        reason=estimate.reason if estimate.value is None else None,
    )


def headline_record(headline: core.Headline) -> Headline:
    """The headline with its intervals."""
    chosen, fair = headline.chosen, headline.fair or (None, None)
    inference = {
        asked: rounded_record(found) for asked, found in headline.inference.items()
    }
    return Headline(
        value=rounded(headline.value),
        ci_low=rounded(chosen.ci_low),
        ci_high=rounded(chosen.ci_high),
        p=rounded(chosen.p),
        test=headline.test if chosen.p is not None else None,
        scale=headline.scale,
        square=rounded(headline.square),
        fair_low=rounded(fair[0]),
        fair_high=rounded(fair[1]),
        question=headline.question,
        fixed_prompts=inference.get("fixed_prompts"),
        prompt_population=inference.get("prompt_population"),
        reason=headline.reason if headline.value is None else None,
    )


def _scores(found: Mapping[str, Estimate], level: float) -> dict[str, Score]:
    return {name: score_record(one, level) for name, one in found.items()}


def _rows(items: Sequence[Item], level: float) -> list[Row]:
    families: dict[str | None, list[dict[str, Score]]] = {}
    rows = []
    for item in items:
        scores = _scores(item.scores, level)
        families.setdefault(item.tested_with, []).append(scores)
        row = Row(
            name=item.name, group=item.group, n_images=item.n_images, scores=scores
        )
        rows.append(row)
    for family in families.values():
        _adjust_by_name(family)
    return rows


def _adjust(scores: Sequence[Score]) -> None:
    p_values = [score.p for score in scores]
    adjusted = zip(holm(p_values), benjamini_hochberg(p_values), strict=True)
    for score, (by_holm, by_bh) in zip(scores, adjusted, strict=True):
        score.p_holm, score.p_bh = rounded(by_holm), rounded(by_bh)


def _adjust_by_name(score_sets: Sequence[Mapping[str, Score]]) -> None:
    families: dict[str, list[Score]] = {}
    for scores in score_sets:
        for name, score in scores.items():
            families.setdefault(name, []).append(score)
    for family in families.values():
        _adjust(family)


def adjusted_run(tasks: Mapping[str, TaskResult]) -> dict[str, TaskResult]:
    """Copies of tasks with p-values adjusted over the run.

    Tests of words and positive controls are families of their own, and so is each encoder.
    """
    done = {name: _copied(task) for name, task in tasks.items()}
    families: dict[tuple[bool, bool, str | None], list[TaskResult | EncoderScores]] = {}
    for task in done.values():
        parts: list[tuple[str | None, TaskResult | EncoderScores]] = [(None, task)]
        parts += task.by_encoder.items()
        for reader, part in parts:
            family = (text_only(task), task.positive_control, reader)
            families.setdefault(family, []).append(part)
    for adjusted in families.values():
        _adjust([part.headline for part in adjusted])
        _adjust_by_name([part.scores for part in adjusted])
    adjust_agreements([task.text_image_alignment for task in done.values()])
    return done


def _copied(task: TaskResult) -> TaskResult:
    """A copy whose p-values are its own; a copy of everything takes seconds."""

    def copy(part: PartT) -> PartT:
        scores = {name: score.model_copy() for name, score in part.scores.items()}
        return part.model_copy(
            update={"headline": part.headline.model_copy(), "scores": scores}
        )

    readers = {name: copy(part) for name, part in task.by_encoder.items()}
    alignments = deepcopy(task.text_image_alignment)
    update = {"by_encoder": readers, "text_image_alignment": alignments}
    return copy(task).model_copy(update=update)


def is_complete(tasks: Iterable[TaskResult], allow_missing: bool = False) -> bool:
    """Whether every task has a score and no evidence is missing.

    A question that a file of answers answers for no image was not asked of it: nothing is missing.
    """
    return not any(
        task.reason or (not allow_missing and _lacks(task)) for task in tasks
    )


def _lacks(task: TaskResult) -> bool:
    lost = task.excluded.get("failed", 0) + task.excluded.get("missing", 0)
    return bool(lost) or any(question.incomplete for question in task.questions)


def task_record(
    task: LoadedTask,
    combined: MethodResult,
    per_encoder: Mapping[str, MethodResult],
    settings: TaskSettings,
) -> TaskResult:
    """The entry of one task in results.json."""
    level = settings.level
    warnings = list(combined.warnings)
    try:
        direction: str | None = method_of(task.spec).describe(task.spec, combined)
    except Exception as error:  # the numbers stand without their sentence
        direction = None
        warnings.append(
            f"describe() of the method failed with {type(error).__name__}: {first_line(error)}"
        )
    by_encoder = {
        name: EncoderScores(
            headline=headline_record(result.headline),
            scores=_scores(result.scores, level),
            by=_rows(result.by, level),
            reason=result.reason,
            controls={
                key: rounded_record(control) for key, control in result.controls.items()
            },
            inconclusive=result.inconclusive,
        )
        for name, result in per_encoder.items()
    }
    signs = {
        np.sign(result.headline.value)
        for result in per_encoder.values()
        if result.headline.scale == "lean" and result.headline.value is not None
    }
    excluded = {"refused": 0, "filtered": 0, "failed": 0, "unknown": 0}
    excluded |= {
        key: count for key, count in sorted(combined.excluded.items()) if count
    }
    return TaskResult(
        version=task.spec.version,
        method=task.spec.method,
        task_hash=task.hash,
        family=task.spec.method,
        title=task.spec.title,
        headline=headline_record(combined.headline).model_copy(
            update={"direction": direction}
        ),
        scores=_scores(combined.scores, level),
        by=_rows(combined.by, level),
        by_encoder=by_encoder if len(per_encoder) > 1 else {},
        encoder_agreement=len(signs) == 1 if len(per_encoder) > 1 and signs else None,
        n_images=combined.n_images,
        n_prompts=combined.n_prompts,
        excluded=excluded,
        settings=settings,
        conventions=_plain(combined.conventions),
        warnings=warnings,
        notes=list(task.spec.notes),
        positive_control=task.spec.control == "positive",
        published=[value.model_dump(mode="json") for value in task.spec.published],
        details=_plain(combined.details),
        controls={
            key: rounded_record(control) for key, control in combined.controls.items()
        },
        inconclusive=combined.inconclusive,
        reason=combined.reason,
        pool=task.spec.drawn_from,
    )
