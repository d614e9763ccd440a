"""From a method's estimates to the records of results.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from t2ibench.errors import first_line
from t2ibench.methods import method_of
from t2ibench.methods.core import headline as core
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.headline import Control
from t2ibench.results.display import text_only
from t2ibench.results.rates import adjusted_agreements, rounded
from t2ibench.results.schema import EncoderScores, Headline, Row, Score, TaskResult, TaskSettings
from t2ibench.stats import holm
from t2ibench.stats.bootstrap import percentile_interval
from t2ibench.stats.permutation import benjamini_hochberg
from t2ibench.tasks.loader import LoadedTask

ScoreT = TypeVar("ScoreT", bound=Score)
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
        name: rounded(x) for name, x in found.items() if x is not None and not isinstance(x, str)
    }
    return replace(record, **numbers)


def score_record(estimate: Estimate, level: float) -> Score:
    """One score with its interval."""
    low, high = estimate.interval or (None, None)
    if estimate.value is not None and estimate.interval is None and estimate.boot is not None:
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
    inference = {asked: rounded_record(found) for asked, found in headline.inference.items()}
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
    scores: dict[int, dict[str, Score]] = {}
    for family in dict.fromkeys(item.tested_with for item in items):
        numbers = [k for k, item in enumerate(items) if item.tested_with == family]
        found = [_scores(items[k].scores, level) for k in numbers]
        scores |= zip(numbers, adjusted(found), strict=True)
    return [
        Row(name=item.name, group=item.group, n_images=item.n_images, scores=scores[k])
        for k, item in enumerate(items)
    ]


def adjusted(score_sets: Sequence[Mapping[str, Score]]) -> list[dict[str, Score]]:
    """Scores with p_holm and p_bh, for each score name over all of the sets."""
    new: list[dict[str, Score]] = [dict(scores) for scores in score_sets]
    for name in dict.fromkeys(name for scores in score_sets for name in scores):
        having = [index for index, scores in enumerate(score_sets) if name in scores]
        family = _adjusted_scores([score_sets[index][name] for index in having])
        for index, score in zip(having, family, strict=True):
            new[index][name] = score
    return new


def _adjusted_scores(scores: Sequence[ScoreT]) -> list[ScoreT]:
    p_values = [score.p for score in scores]
    pairs = zip(holm(p_values), benjamini_hochberg(p_values), strict=True)
    return [
        score.model_copy(update={"p_holm": rounded(by_holm), "p_bh": rounded(by_bh)})
        for score, (by_holm, by_bh) in zip(scores, pairs, strict=True)
    ]


def adjusted_run(tasks: Mapping[str, TaskResult]) -> dict[str, TaskResult]:
    """Tasks with p-values adjusted over the run, tests of words and positive controls apart."""
    families: dict[tuple[bool, bool], dict[str, TaskResult]] = {}
    for name, task in tasks.items():
        families.setdefault((text_only(task), task.positive_control), {})[name] = task
    done: dict[str, TaskResult] = {}
    for family in families.values():
        done |= _adjusted_family(family)
    agreements = adjusted_agreements({name: done[name].text_image_alignment for name in tasks})
    return {
        name: done[name].model_copy(update={"text_image_alignment": agreements[name]})
        for name in tasks
    }


def _adjusted_parts(parts: Mapping[str, PartT]) -> dict[str, PartT]:
    headlines = _adjusted_scores([part.headline for part in parts.values()])
    scores = adjusted([part.scores for part in parts.values()])
    return {
        name: part.model_copy(update={"headline": headline, "scores": corrected})
        for (name, part), headline, corrected in zip(parts.items(), headlines, scores, strict=True)
    }


def _adjusted_family(tasks: Mapping[str, TaskResult]) -> dict[str, TaskResult]:
    parts: dict[str, dict[str, EncoderScores]] = {}
    for name, task in tasks.items():
        for encoder, part in task.by_encoder.items():
            parts.setdefault(encoder, {})[name] = part
    by_encoder = {encoder: _adjusted_parts(part) for encoder, part in parts.items()}
    done = _adjusted_parts(tasks)
    for name, task in done.items():  # the order of the encoders is that of the task
        own = {key: by_encoder[key][name] for key in task.by_encoder}
        done[name] = task.model_copy(update={"by_encoder": own})
    return done


def is_complete(tasks: Iterable[TaskResult], allow_missing: bool = False) -> bool:
    """Whether every task has a score and no evidence is missing."""
    return not any(
        task.reason
        or (not allow_missing and (task.excluded.get("failed") or task.excluded.get("missing")))
        for task in tasks
    )


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
            controls={key: rounded_record(control) for key, control in result.controls.items()},
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
    excluded |= {key: count for key, count in sorted(combined.excluded.items()) if count}
    return TaskResult(
        version=task.spec.version,
        method=task.spec.method,
        task_hash=task.hash,
        family=task.spec.method,
        title=task.spec.title,
        headline=headline_record(combined.headline).model_copy(update={"direction": direction}),
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
        controls={key: rounded_record(control) for key, control in combined.controls.items()},
        inconclusive=combined.inconclusive,
        reason=combined.reason,
        pool=task.spec.drawn_from,
    )
