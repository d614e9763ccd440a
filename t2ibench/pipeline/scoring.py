"""Scores from stored evidence. No model is loaded here."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from t2ibench.errors import T2IBenchError, first_line
from t2ibench.methods import combine, score
from t2ibench.methods.core.describe import listed
from t2ibench.methods.core.diversity import PromptDiversity, mean_diversity
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.evidence import UNKNOWN, Needs, QuestionNeed
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.methods.core.text_image_alignment import PromptCosines, measure_prompts
from t2ibench.pipeline.missing_readers import Readers
from t2ibench.pipeline.people import asked_questions, people_agreement
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.score_cache import ScoreCache, TaskScored, inputs_of
from t2ibench.pipeline.stored_evidence import StoredEvidence
from t2ibench.pipeline.untrained_control import Scores, with_untrained_control
from t2ibench.results.builder import task_record
from t2ibench.results.paired import paired_task
from t2ibench.results.rates import (
    Diversity,
    RepeatedPrompt,
    TextImageAlignment,
    by_share,
    is_revised,
    prompt_outcomes,
    repeated_prompts,
    repeats_line,
    revised_line,
    rounded,
    too_few,
)
from t2ibench.results.record import ControlRecord, EncoderRecord
from t2ibench.results.schema import TaskSettings
from t2ibench.results.text_image_alignment import agreement_records
from t2ibench.results.unread import PromptReading, unread_line, unread_prompts
from t2ibench.settings import Measurement, Settings
from t2ibench.store.answers import ANSWERS_BY, AnswerStore
from t2ibench.store.database import Database
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import ImageStore
from t2ibench.store.labels import LabelStore
from t2ibench.store.people import PeopleStore, Votes, people_among, person_of
from t2ibench.tasks.loader import LoadedTask
from t2ibench.worker_pool import each_of

_REASONS = 3  # of each status are kept in results.json


@dataclass(frozen=True, slots=True)
class Stores:
    """Everything a run has observed, by the name of the encoder or judge."""

    encoders: Mapping[str, EvidenceStore]
    judges: Mapping[str, AnswerStore]
    # by the encoder's name
    controls: Mapping[str, EvidenceStore] = field(default_factory=dict)
    labels: LabelStore | None = None  # None where nobody labelled
    # The labels as a judge, for tasks that no other judge classified an image of.
    people: Mapping[str, AnswerStore] = field(default_factory=dict)
    checks: Sequence[JudgeCheck] = ()
    # What the model read of a text that it did not read to its end.
    readings: Mapping[str, Sequence[PromptReading]] = field(default_factory=dict)
    images: DistinctImages | None = None  # None where only texts are scored

    @property
    def readers(self) -> dict[str, AnswerStore | PeopleStore]:
        """The judges; several files of answers are one (see `store.people`)."""
        people = people_among(self.judges)
        others = {
            name: store for name, store in self.judges.items() if name not in people
        }
        if not people:
            return dict(others)
        name = ANSWERS_BY + listed([person_of(judge) for judge in people])
        return {name: PeopleStore(name, people), **others}

    @property
    def votes(self) -> Votes | None:
        """What each of several people answered: in files of answers, else by labels."""
        for reader in self.readers.values():
            if isinstance(reader, PeopleStore):
                return reader
        return self.labels

    def check_of(self, judge: AnswerStore | PeopleStore) -> JudgeCheck | None:
        """The check of this very judge."""
        by = (judge.name, judge.fingerprint)
        return next(
            (one for one in self.checks if (one.judge, one.fingerprint) == by), None
        )


def open_stores(
    database: Database,
    encoders: Mapping[str, EncoderRecord],
    judges: Mapping[str, str],
    controls: Mapping[str, ControlRecord] | None = None,
) -> Stores:
    """What was observed, from its database."""
    answers = {name: AnswerStore(database, name, judges[name]) for name in judges}
    return Stores(
        {
            name: EvidenceStore(database, name, one.fingerprint, one.embeds_images)
            for name, one in encoders.items()
        },
        {name: one for name, one in answers.items() if not one.by_labels},
        {
            name: EvidenceStore(database, one.name, one.fingerprint)
            for name, one in (controls or {}).items()
        },
        LabelStore(database),
        {name: one for name, one in answers.items() if one.by_labels},
    )


def score_task(
    task: LoadedTask,
    evidence: Mapping[str, StoredEvidence],
    settings: Settings,
    *,
    judges: bool,
) -> Scores:
    """A task's scores over all encoders or judges and by each of them.

    The mean is over those that have seen the task: one that was stopped is named instead.
    `judges` says that the evidence is of judges, else it is of encoders.
    """
    try:
        results = {
            name: score(task.spec, images, settings)
            for name, images in evidence.items()
        }
        readers = Readers.of(results, evidence, judges=judges)
        single = {
            name: combine(task.spec, [result], settings)
            for name, result in readers.results.items()
        }
        present = readers.present
        combined = combine(task.spec, list(present.values()), settings)
        combined = replace(combined, inconclusive=_who_fails(combined, present))
        return readers.annotated(combined), single
    except T2IBenchError as error:
        return _undefined(str(error))
    except Exception as error:  # a defect of one method must not lose the other tasks
        return _undefined(_defect(task, error))


def _who_fails(
    combined: MethodResult, results: Mapping[str, MethodResult]
) -> str | None:
    """Why a test of several encoders or judges is inconclusive, naming each that fails."""
    reasons = {
        name: result.inconclusive
        for name, result in results.items()
        if result.inconclusive
    }
    if len(results) < 2 or combined.inconclusive not in reasons.values():
        return combined.inconclusive
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    named = [f"{listed(names)}: {reason}" for reason, names in by_reason.items()]
    passed = [name for name in results if name not in reasons]
    if passed:
        named.append(f"by {listed(passed)} it is not inconclusive")
    return "; ".join(named)


def _defect(task: LoadedTask, error: Exception) -> str:
    return (
        f"the method '{task.spec.method}' failed with {type(error).__name__}: {first_line(error)}; "
        "this is a defect of the method, not of the model"
    )


def _undefined(reason: str) -> Scores:
    return MethodResult.undefined(reason), {}


def score_plan(
    plan: Plan,
    images: ImageStore | None,
    stores: Stores,
    reporter: Reporter,
    workers: int | None = None,
    kept: ScoreCache | None = None,
) -> dict[str, TaskScored]:
    """Score every task of a plan, several at a time; no number depends on how many."""
    stores = replace(stores, images=None if images is None else DistinctImages(images))
    # The largest first: what is begun last should not keep the other cores waiting.
    largest = sorted(
        plan.tasks, key=lambda task: -sum(plan.needs[task.id].images_by_prompt.values())
    )
    scored: dict[str, TaskScored] = {}
    with reporter.stage("Scoring", len(plan.tasks), "tasks") as ticker:

        def store(task: LoadedTask, one: TaskScored) -> None:
            if kept is not None:
                kept.write(task.id, one)
            scored[task.id] = one
            ticker.advance(1)

        needed = replace(plan, requests=())  # it is sent to other processes
        each_of(largest, partial(_scored_or_kept, needed, stores, kept), workers, store)
    found = [
        prompt for one in scored.values() for prompt in one.result.repeated_prompts
    ]
    most = {one.prompt: one for one in sorted(found, key=lambda one: one.n_images)}
    if line := repeats_line(by_share(most.values()), plan.prompts):
        reporter.warn(line)
    return {task.id: scored[task.id] for task in plan.tasks}


def _scored_or_kept(
    plan: Plan, stores: Stores, kept: ScoreCache | None, task: LoadedTask
) -> TaskScored:
    inputs = "" if kept is None else inputs_of(plan, task, stores)
    if kept is not None and (found := kept.read(task.id, inputs)) is not None:
        return found
    scored = _scored(plan, task, stores)
    if not inputs or scored.lacking or scored.result.reason is not None:
        # What cannot be told by its inputs, or lacks some, is never taken for other scores.
        inputs = f"once {secrets.token_hex(16)}"
    return replace(scored, inputs=inputs)


def _scored(plan: Plan, task: LoadedTask, stores: Stores) -> TaskScored:
    needs, images = plan.needs[task.id], stores.images
    evidence, settings = _evidence(plan, task, stores)
    repeated = (
        [] if images is None else repeated_prompts(needs.images_by_prompt, images.first)
    )
    blind: dict[str, StoredEvidence] = {}
    if evidence:
        judged = bool(needs.questions)
        found = score_task(task, evidence, plan.settings, judges=judged)
        if not needs.questions:
            judge = _judge(needs, stores)
            blind = {
                name: StoredEvidence(images, stores.controls[name], judge)
                for name, result in found[1].items()
                if name in stores.controls and not result.reason
            }
            combined, by_encoder = with_untrained_control(
                task.spec, found, blind, plan.settings
            )
            why = too_few(repeated, needs.groups)
            if why:
                combined = _inconclusive(combined, why)
                by_encoder = {
                    name: _inconclusive(one, why) for name, one in by_encoder.items()
                }
            found = combined, by_encoder
    elif needs.questions:
        found = _undefined("no judge was asked")
    else:
        found = _undefined("no encoder of this run embeds images")
    lacking = any(one.lacking for one in (*evidence.values(), *blind.values()))
    write = partial(_written, plan, task, settings, stores, repeated, lacking)
    try:
        return write(found)
    except Exception as error:  # results that cannot be written down are a defect, too
        return write(_undefined(_defect(task, error)))


def _scored_settings(settings: TaskSettings, scores: Scores) -> TaskSettings:
    """The settings with those encoders and judges alone that a task was scored by."""
    combined, by_reader = scores
    if combined.reason:
        return settings
    absent = {name for name, result in by_reader.items() if result.reason}
    encoders = {
        name: mark for name, mark in settings.encoders.items() if name not in absent
    }
    judges = {
        name: mark for name, mark in settings.judges.items() if name not in absent
    }
    return settings.model_copy(update={"encoders": encoders, "judges": judges})


def _inconclusive(result: MethodResult, why: str) -> MethodResult:
    reasons = [result.inconclusive, why]
    return replace(
        result, inconclusive="; ".join(reason for reason in reasons if reason)
    )


def _written(
    plan: Plan,
    task: LoadedTask,
    settings: TaskSettings,
    stores: Stores,
    repeated: list[RepeatedPrompt],
    lacking: bool,
    found: Scores,
) -> TaskScored:
    """One task's scores as they are stored."""
    record = task_record(task, *found, _scored_settings(settings, found))
    paired = paired_task(*found)
    needs, level, images = plan.needs[task.id], plan.settings.level, stores.images
    if images is not None:
        counts, votes = needs.images_by_prompt, stores.votes
        every = {**stores.judges, **stores.people}
        judges = {name: every[name] for name in settings.judges if name in every}
        missing, because = _lost(counts, images)
        if not needs.questions:
            because |= _unknown_to_encoders(found)
        treated = prompt_outcomes(counts, needs.groups, images.first, level)
        unread = unread_prompts(counts, images.first, stores.readings)
        lines = [
            unread_line(unread, len(counts)),
            revised_line(treated),
            repeats_line(repeated, counts),
        ]
        update: dict[str, Any] = {
            "missing_prompts": missing,
            "excluded_because": because,
            "prompt_outcomes": treated,
            "repeated_prompts": repeated,
            "questions": asked_questions(needs, images, judges, stores.labels),
            "people": []
            if votes is None
            else people_agreement(needs, images, votes, level),
            "unread_prompts": unread,
            "warnings": [*record.warnings, *filter(None, lines)],
        }
        if needs.embeds:
            agreement = text_image_alignment(needs, images, stores.encoders, level)
            update["text_image_alignment"], cosines, update["diversity"] = agreement
            paired = replace(paired, agreement=cosines)
        record = record.model_copy(update=update)
    return TaskScored(record, _sample_rows(found[0].samples, images), paired, lacking)


def _unknown_to_encoders(scores: Scores) -> dict[str, dict[str, int]]:
    """How many images each encoder has no embedding for, under 'unknown'."""
    _, by_encoder = scores
    counts = {
        f"{name} cannot embed it": result.excluded[UNKNOWN]
        for name, result in by_encoder.items()
        if result.excluded[UNKNOWN]
    }
    return {UNKNOWN: counts} if counts else {}


def _lost(
    counts: Mapping[str, int], images: DistinctImages
) -> tuple[list[str], dict[str, dict[str, int]]]:
    """The prompts of a task without any image, and why images of it were excluded, by status.

    A prompt whose images the model refused, or a filter took, is not missing: that is what the
    model does with it.
    """
    missing: list[str] = []
    reasons: dict[str, Counter[str]] = {}
    for prompt, count in counts.items():
        attempts = images.first(prompt, count)
        if all(attempt is None or attempt.status == "failed" for attempt in attempts):
            missing.append(prompt)
        for attempt in attempts:
            if attempt is not None and attempt.status != "ok":
                of = reasons.setdefault(attempt.status, Counter())
                # it may come from a server
                line = " ".join((attempt.reason or "unknown").split())
                of[line if len(line) <= 200 else f"{line[:199]}…"] += 1
    because = {
        status: dict(
            sorted(of.items(), key=lambda item: (-item[1], item[0]))[:_REASONS]
        )
        for status, of in sorted(reasons.items())
    }
    return sorted(missing), because


def _evidence(
    plan: Plan, task: LoadedTask, stores: Stores
) -> tuple[dict[str, StoredEvidence], TaskSettings]:
    """What a task is scored from, by encoder or by judge."""
    needs, images = plan.needs[task.id], stores.images
    encoders = {name: one for name, one in stores.encoders.items() if one.embeds_images}
    judges: Mapping[str, AnswerStore | PeopleStore]
    votes = stores.votes
    if not needs.questions:
        encoders = encoders if needs.prompts else dict(stores.encoders)
        judge = _judge(needs, stores)
        judges = {} if judge is None else {judge.name: judge}
        found = {
            name: StoredEvidence(images, one, judge) for name, one in encoders.items()
        }
    else:
        # Judges are compared; beside them the first encoder measures what needs embeddings.
        encoders = dict(list(encoders.items())[:1]) if needs.embeds else {}
        store = next(iter(encoders.values()), None)
        judges, labels = stores.readers, stores.labels
        if stores.people and not _classified(needs.questions, images, judges.values()):
            judges, labels, votes = stores.people, None, stores.labels
        found = {
            name: StoredEvidence(
                images, store, judge, labels, stores.check_of(judge), votes
            )
            for name, judge in judges.items()
        }
    return found, TaskSettings(
        **Measurement.of(plan.settings).model_dump(),
        encoders={name: one.fingerprint for name, one in encoders.items()},
        judges=_fingerprints(judges.values(), stores),
    )


def _fingerprints(
    judges: Iterable[AnswerStore | PeopleStore], stores: Stores
) -> dict[str, str]:
    """Judge to fingerprint; of several people as one judge, each of them."""
    fingerprints: dict[str, str] = {}
    for judge in judges:
        several = people_among(stores.judges) if isinstance(judge, PeopleStore) else {}
        if several:
            fingerprints |= {name: store.fingerprint for name, store in several.items()}
        else:
            fingerprints[judge.name] = judge.fingerprint
    names = (*stores.judges, *stores.people)
    return {name: fingerprints[name] for name in names if name in fingerprints}


def _judge(needs: Needs, stores: Stores) -> AnswerStore | PeopleStore | None:
    """Who looked at the images that an encoder measures: the first judge, or people without one."""
    for judge in (*stores.readers.values(), *stores.people.values()):
        if needs.checks and _classified(needs.checks, stores.images, [judge]):
            return judge
    return None


def _classified(
    questions: Sequence[QuestionNeed],
    images: DistinctImages | None,
    judges: Iterable[AnswerStore | PeopleStore],
) -> bool:
    """Whether a judge answered a question with more than 'unknown'."""
    for asked in questions:
        for attempt in images.first(asked.prompt, asked.images) if images else ():
            for judge in judges if attempt else ():
                sha256 = (attempt and attempt.sha256) or ""
                found = judge.get(sha256, asked.question, asked.classes)
                if found and (not asked.classes or found.answer in asked.classes):
                    return True
    return False


def _sample_rows(
    rows: Sequence[dict[str, Any]], images: DistinctImages | None
) -> list[dict[str, Any]]:
    """Sample rows with the file of each image, and its prompt where another one was used."""
    filled = []
    for row in rows:
        attempt = images.get(row["prompt"], row["index"]) if images else None
        file = f"images/{attempt.file}" if attempt and attempt.file else None
        new = {**row, "file": file, "sha256": attempt.sha256 if attempt else None}
        if attempt is not None and is_revised(attempt):
            new["revised_prompt"] = attempt.revised_prompt
        filled.append(new)
    return filled


Found = tuple[
    dict[str, list[TextImageAlignment]],
    dict[str, tuple[PromptCosines, ...]],
    dict[str, list[Diversity]],
]


def text_image_alignment(
    needs: Needs,
    images: DistinctImages,
    encoders: Mapping[str, EvidenceStore],
    level: float,
) -> Found:
    """How well a task's images agree with their own prompts, and how much they differ.

    By each encoder: records and cosines of the first, records of the second over the task and by
    group.
    """
    records: dict[str, list[TextImageAlignment]] = {}
    cosines: dict[str, tuple[PromptCosines, ...]] = {}
    differing: dict[str, list[Diversity]] = {}
    for name, encoder in encoders.items():
        if not encoder.embeds_images:
            continue
        evidence = StoredEvidence(images, encoder)
        found, prompts = measure_prompts(needs, evidence)
        if found:
            records[name], cosines[name] = agreement_records(found, level), tuple(found)
        if prompts:
            groups = dict.fromkeys(one.group for one in prompts)
            differing[name] = [_record(None, prompts, level)]
            for group in groups if len(groups) > 1 else ():
                own = [one for one in prompts if one.group == group]
                differing[name].append(_record(group, own, level))
    return records, cosines, differing


def _record(
    group: str | None, prompts: Sequence[PromptDiversity], level: float
) -> Diversity:
    value, interval = mean_diversity(prompts, level)
    low, high = interval or (None, None)
    least = min(prompts, key=lambda one: (one.value, one.prompt))
    return Diversity(
        group=group,
        value=rounded(value),
        ci_low=rounded(low),
        ci_high=rounded(high),
        n_prompts=len(prompts),
        n_images=sum(one.n_images for one in prompts),
        lowest_prompt=least.prompt,
        lowest=rounded(least.value),
    )
