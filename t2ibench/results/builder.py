"""Conversion of what a method estimates into the records of results.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypedDict, TypeVar

import numpy as np

from t2ibench.errors import first_line
from t2ibench.methods import method_of
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.headline import Control, HeadlineEstimate
from t2ibench.methods.core.inference import Inference
from t2ibench.methods.core.pools import CaptionPool
from t2ibench.methods.core.ranges import inference_within_scale, score_within_range
from t2ibench.results.alignment_records import TextImageAlignment, adjust_agreements
from t2ibench.results.display import text_only
from t2ibench.results.diversity import Diversity
from t2ibench.results.json_record import rounded
from t2ibench.results.people import AskedQuestion, PeopleAgreement
from t2ibench.results.prompt_outcomes import PromptOutcomes
from t2ibench.results.repeated_prompts import RepeatedPrompt
from t2ibench.results.schema import (
    EncoderScores,
    Headline,
    PublishedScores,
    Row,
    Score,
    TaskResult,
    TaskSettings,
)
from t2ibench.results.unread import UnreadPrompt
from t2ibench.stats import holm
from t2ibench.stats.bootstrap import percentile_interval
from t2ibench.stats.permutation import benjamini_hochberg
from t2ibench.tasks.loader import LoadedTask

PartT = TypeVar("PartT", TaskResult, EncoderScores)
RecordT = TypeVar("RecordT", Inference, Control)


@dataclass(frozen=True, slots=True)
class ScoredTask:
    """What a method estimates for one task, over all encoders or judges and for each.

    Attributes:
        combined: Its result over all encoders or judges.
        by_encoder: Its result by each encoder or judge.
    """

    combined: MethodResult
    by_encoder: Mapping[str, MethodResult] = field(default_factory=dict)

    @classmethod
    def undefined(cls, reason: str) -> ScoredTask:
        """Return the estimates of a task that has no score, with the reason."""
        return cls(MethodResult.undefined(reason))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return rounded(float(value))
    return int(value) if isinstance(value, np.integer) else value


def rounded_record(record: RecordT) -> RecordT:
    """Return a copy of a record with its numbers rounded to nine significant digits."""
    numbers: dict[str, Any] = {}
    for attribute in fields(record):
        value = getattr(record, attribute.name)
        if value is not None and not isinstance(value, str):
            numbers[attribute.name] = rounded(value)
    return replace(record, **numbers)


@dataclass(frozen=True, slots=True)
class AdjustedP:
    """A p-value corrected in two ways for the number of tests in its family.

    Attributes:
        holm: After Holm.
        bh: After Benjamini and Hochberg.
    """

    holm: float | None = None
    bh: float | None = None


_NOT_ADJUSTED = AdjustedP()


def _adjusted(p_values: Sequence[float | None]) -> list[AdjustedP]:
    """Return the p-values of one family of tests, corrected for the number of tests."""
    by_holm, by_bh = holm(p_values), benjamini_hochberg(p_values)
    return [
        AdjustedP(rounded(p_holm), rounded(p_bh))
        for p_holm, p_bh in zip(by_holm, by_bh, strict=True)
    ]


def score_record(
    estimate: Estimate, level: float, adjusted: AdjustedP = _NOT_ADJUSTED
) -> Score:
    """Return the record of a score for results.json, with its interval."""
    low, high = _interval(estimate, level)
    tested = estimate.p is not None
    n_draws = None
    if tested and estimate.null is not None:
        n_draws = len(estimate.null)
    return Score(
        value=rounded(estimate.value),
        ci_low=rounded(low),
        ci_high=rounded(high),
        p=rounded(estimate.p),
        p_holm=adjusted.holm,
        p_bh=adjusted.bh,
        test=estimate.test if tested else None,
        n_draws=n_draws,
        as_published=estimate.as_published,
        reason=estimate.reason if estimate.value is None else None,
    )


def _interval(
    estimate: Estimate, level: float
) -> tuple[float, float] | tuple[None, None]:
    """Return the interval of an estimate, its own or from bootstrap draws; else two Nones."""
    if estimate.interval is not None:
        return estimate.interval
    if estimate.value is not None and estimate.boot is not None:
        return percentile_interval(estimate.boot, level)
    return None, None


def headline_record(
    headline: HeadlineEstimate, direction: str | None = None
) -> Headline:
    """Return the record of a headline for results.json, with its intervals and `direction`."""
    chosen = inference_within_scale(headline.chosen, headline)
    fair_low, fair_high = headline.fair or (None, None)
    inference = {
        question: rounded_record(inference_within_scale(answer, headline))
        for question, answer in headline.inference.items()
    }
    tested = chosen.p is not None
    return Headline(
        value=rounded(headline.value),
        ci_low=rounded(chosen.ci_low),
        ci_high=rounded(chosen.ci_high),
        p=rounded(chosen.p),
        test=headline.inference.test if tested else None,
        direction=direction,
        scale=headline.scale,
        square=rounded(headline.square),
        fair_low=rounded(fair_low),
        fair_high=rounded(fair_high),
        question=headline.question,
        fixed_prompts=inference.get("fixed_prompts"),
        prompt_population=inference.get("prompt_population"),
        reason=headline.reason if headline.value is None else None,
    )


def _scores(estimates: Mapping[str, Estimate], level: float) -> dict[str, Score]:
    return {
        name: score_record(score_within_range(name, estimate), level)
        for name, estimate in estimates.items()
    }


def _rows(items: Sequence[Item], level: float) -> list[Row]:
    """Return the records of a task's rows for results.json, with p-values corrected over rows."""
    adjusted = _adjusted_over_rows(items)
    rows = []
    for number, item in enumerate(items):
        scores = {
            name: score_record(
                score_within_range(name, estimate), level, adjusted[number, name]
            )
            for name, estimate in item.scores.items()
        }
        row = Row(
            name=item.name, group=item.group, n_images=item.n_images, scores=scores
        )
        rows.append(row)
    return rows


def _adjusted_over_rows(items: Sequence[Item]) -> dict[tuple[int, str], AdjustedP]:
    """Return the corrected p-value of each score of each row.

    Keys are the number of the row and the name of the score.
    """
    families: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for number, item in enumerate(items):
        for name in item.scores:
            family = families.setdefault((item.tested_with, name), [])
            family.append((number, name))
    adjusted: dict[tuple[int, str], AdjustedP] = {}
    for family in families.values():
        p_values = [rounded(items[number].scores[name].p) for number, name in family]
        adjusted.update(zip(family, _adjusted(p_values), strict=True))
    return adjusted


def _adjust(scores: Sequence[Score]) -> None:
    adjusted = _adjusted([score.p for score in scores])
    for score, p_value in zip(scores, adjusted, strict=True):
        score.p_holm = p_value.holm
        score.p_bh = p_value.bh


def _adjust_by_name(score_sets: Sequence[Mapping[str, Score]]) -> None:
    families: dict[str, list[Score]] = {}
    for scores in score_sets:
        for name, score in scores.items():
            families.setdefault(name, []).append(score)
    for family in families.values():
        _adjust(family)


def adjusted_run(tasks: Mapping[str, TaskResult]) -> dict[str, TaskResult]:
    """Return copies of tasks with p-values corrected over all tasks of the run.

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
    """Return a copy of a task's result whose p-values can be set without changing the original."""

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
    """Return whether all tasks have scores and, unless `allow_missing`, all of their evidence.

    A question that a file of answers answers for no image was not asked of it: nothing is missing.
    """
    return not any(
        task.reason or (not allow_missing and _lacks(task)) for task in tasks
    )


def _lacks(task: TaskResult) -> bool:
    n_missing = task.excluded.get("failed", 0) + task.excluded.get("missing", 0)
    return bool(n_missing) or any(question.incomplete for question in task.questions)


class ImageFindings(TypedDict, total=False):
    """What was found about a task's images besides its scores, as fields of `TaskResult`."""

    missing_prompts: list[str]
    excluded_because: dict[str, dict[str, int]]
    prompt_outcomes: list[PromptOutcomes]
    repeated_prompts: list[RepeatedPrompt]
    questions: list[AskedQuestion]
    people: list[PeopleAgreement]
    unread_prompts: list[UnreadPrompt]
    text_image_alignment: dict[str, list[TextImageAlignment]]
    diversity: dict[str, list[Diversity]]


class _TaskFields(TypedDict):
    """The fields of `TaskResult` that come from the task file."""

    version: int
    method: str
    task_hash: str
    family: str
    title: str
    notes: list[str]
    positive_control: bool
    published: list[PublishedScores]
    pool: CaptionPool | None


class _MethodFields(TypedDict):
    """The fields that `TaskResult` and `EncoderScores` share, which come from the method."""

    headline: Headline
    scores: dict[str, Score]
    by: list[Row]
    controls: dict[str, Control]
    inconclusive: str | None
    reason: str | None


def task_record(
    task: LoadedTask,
    scored: ScoredTask,
    settings: TaskSettings,
    images: ImageFindings | None = None,
    warnings: Sequence[str] = (),
) -> TaskResult:
    """Return the complete record of one task for results.json.

    Args:
        task: The task.
        scored: What its method finds.
        settings: How it was measured.
        images: What its images say besides; None where only texts are scored.
        warnings: What a reader must know besides the method's own warnings.

    Returns:
        The record; its p-values are adjusted later, over the run.
    """
    combined, by_encoder = scored.combined, scored.by_encoder
    level = settings.level
    several = len(by_encoder) > 1
    direction, defects = _direction(task, combined)
    encoder_scores = {
        name: EncoderScores(**_method_fields(result, level))
        for name, result in by_encoder.items()
    }
    task_fields = _task_fields(task)
    method_fields = _method_fields(combined, level, direction)
    image_fields = images or {}
    agreement = _encoders_agree(by_encoder) if several else None
    all_warnings = [*combined.warnings, *defects, *warnings]
    return TaskResult(
        **task_fields,
        **method_fields,
        **image_fields,
        by_encoder=encoder_scores if several else {},
        encoder_agreement=agreement,
        n_images=combined.n_images,
        n_prompts=combined.n_prompts,
        excluded=_excluded(combined),
        settings=settings,
        conventions=_plain(combined.conventions),
        warnings=all_warnings,
        details=_plain(combined.details),
    )


def _task_fields(task: LoadedTask) -> _TaskFields:
    spec = task.spec
    return {
        "version": spec.version,
        "method": spec.method,
        "task_hash": task.hash,
        "family": spec.method,
        "title": spec.title,
        "notes": list(spec.notes),
        "positive_control": spec.control == "positive",
        "published": [
            PublishedScores(
                model=value.model, scores=dict(value.scores), source=value.source
            )
            for value in spec.published
        ],
        "pool": spec.drawn_from,
    }


def _method_fields(
    result: MethodResult, level: float, direction: str | None = None
) -> _MethodFields:
    controls = {
        name: rounded_record(control) for name, control in result.controls.items()
    }
    return {
        "headline": headline_record(result.headline, direction),
        "scores": _scores(result.scores, level),
        "by": _rows(result.by, level),
        "controls": controls,
        "inconclusive": result.inconclusive,
        "reason": result.reason,
    }


def _direction(task: LoadedTask, result: MethodResult) -> tuple[str | None, list[str]]:
    """Return the method's sentence on a result, and a list with a warning if that fails."""
    try:
        return method_of(task.spec).describe(task.spec, result), []
    except Exception as error:  # the numbers stand without their sentence
        kind = type(error).__name__
        warning = f"describe() of the method failed with {kind}: {first_line(error)}"
        return None, [warning]


def _encoders_agree(by_encoder: Mapping[str, MethodResult]) -> bool | None:
    """Return whether all encoders give the lean the same sign; None if none measures a lean."""
    headlines = [result.headline for result in by_encoder.values()]
    signs = {
        np.sign(headline.value)
        for headline in headlines
        if headline.scale == "lean" and headline.value is not None
    }
    return len(signs) == 1 if signs else None


def _excluded(result: MethodResult) -> dict[str, int]:
    """Return how many images are excluded for each reason; usual reasons are listed even if 0."""
    excluded = {"refused": 0, "filtered": 0, "failed": 0, "unknown": 0}
    for status, count in sorted(result.excluded.items()):
        if count:
            excluded[status] = count
    return excluded
