"""Scores from stored evidence. No model is loaded here."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypedDict

from t2ibench.errors import T2IBenchError, first_line
from t2ibench.methods import combine, score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.evidence import Needs, QuestionNeed
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.pipeline.missing import lost
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.score_cache import ScoreCache, inputs_of
from t2ibench.pipeline.stored_evidence import Images, StoredEvidence
from t2ibench.pipeline.text_image_alignment import diversity, text_image_alignment
from t2ibench.pipeline.untrained_control import with_untrained_control
from t2ibench.results.builder import task_record
from t2ibench.results.paired import PairedTask, paired_task
from t2ibench.results.rates import is_revised, prompt_outcomes, revised_line
from t2ibench.results.record import ControlRecord, EncoderRecord
from t2ibench.results.repeats import RepeatedPrompt, repeated_prompts, repeats_line, too_few
from t2ibench.results.schema import TaskResult, TaskSettings
from t2ibench.settings import Measurement, Settings
from t2ibench.store.answers import LABELS_BY, AnswerStore
from t2ibench.store.checksums import Damage
from t2ibench.store.database import Database
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import ImageStore
from t2ibench.store.labels import LabelStore
from t2ibench.tasks.loader import LoadedTask
from t2ibench.worker_pool import each_of


@dataclass(frozen=True, slots=True)
class EncoderEvidence:
    """What one encoder has embedded.

    Attributes:
        store: Its embeddings.
        fingerprint: Its fingerprint.
        embeds_images: False for word vectors.
    """

    store: EvidenceStore
    fingerprint: str
    embeds_images: bool = True


@dataclass(frozen=True, slots=True)
class JudgeEvidence:
    """What one judge has answered.

    Attributes:
        store: Its answers.
        fingerprint: Its fingerprint.
    """

    store: AnswerStore
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Stores:
    """Everything a run has observed, by the name of the encoder or judge.

    Attributes:
        encoders: Name to embeddings.
        judges: Name to answers.
        controls: What an encoder of random weights has embedded, by the name of the encoder that
            it is held against.
        labels: People's answers; None where nobody labelled.
        people: The same as a judge, for tasks that no other judge classified an image of.
        checks: What checks by people said of judges.
    """

    encoders: Mapping[str, EncoderEvidence]
    judges: Mapping[str, JudgeEvidence]
    controls: Mapping[str, EncoderEvidence] = field(default_factory=dict)
    labels: LabelStore | None = None
    people: Mapping[str, JudgeEvidence] = field(default_factory=dict)
    checks: Sequence[JudgeCheck] = ()

    def check_of(self, name: str, judge: JudgeEvidence) -> JudgeCheck | None:
        """The check of this very judge."""
        by = (name, judge.fingerprint)
        return next((one for one in self.checks if (one.judge, one.fingerprint) == by), None)

    def damages(self) -> list[Damage]:
        """What is damaged of each store."""
        embeddings = [
            one.store.damage for one in (*self.encoders.values(), *self.controls.values())
        ]
        answers = [one.store.damage for one in self.judges.values()]
        return [*embeddings, *answers, *([self.labels.damage] if self.labels else [])]


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of a plan.

    Attributes:
        results: Task id to result.
        inputs: Task id to what its scores were computed from, where they were stored.
        paired: Task id to how each image moves its scores.
        lacking: Tasks of which some evidence is missing.
    """

    results: dict[str, TaskResult] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    paired: dict[str, PairedTask] = field(default_factory=dict)
    lacking: set[str] = field(default_factory=set)


def open_stores(
    database: Database,
    encoders: Mapping[str, EncoderRecord],
    judges: Mapping[str, str],
    controls: Mapping[str, ControlRecord] | None = None,
) -> Stores:
    """What was observed, from its database."""
    answers = {
        name: JudgeEvidence(AnswerStore(database, name, fingerprint), fingerprint)
        for name, fingerprint in judges.items()
    }
    return Stores(
        {
            name: EncoderEvidence(
                EvidenceStore(database, name, encoder.fingerprint),
                encoder.fingerprint,
                encoder.embeds_images,
            )
            for name, encoder in encoders.items()
        },
        {name: one for name, one in answers.items() if not name.startswith(LABELS_BY)},
        {
            name: EncoderEvidence(
                EvidenceStore(database, control.name, control.fingerprint), control.fingerprint
            )
            for name, control in (controls or {}).items()
        },
        LabelStore(database),
        {name: one for name, one in answers.items() if name.startswith(LABELS_BY)},
    )


def score_task(
    task: LoadedTask, evidence: Mapping[str, StoredEvidence], settings: Settings
) -> tuple[MethodResult, dict[str, MethodResult]]:
    """A task's scores over all encoders and by each of them."""
    try:
        results = {name: score(task.spec, images, settings) for name, images in evidence.items()}
        single = {name: combine(task.spec, [result], settings) for name, result in results.items()}
        return combine(task.spec, list(results.values()), settings), single
    except T2IBenchError as error:
        return _undefined(str(error))
    except Exception as error:  # a defect of one method must not lose the other tasks
        return _undefined(_defect(task, error))


def _defect(task: LoadedTask, error: Exception) -> str:
    return (
        f"the method '{task.spec.method}' failed with {type(error).__name__}: {first_line(error)}; "
        "this is a defect of the method, not of the model"
    )


def _undefined(reason: str) -> tuple[MethodResult, dict[str, MethodResult]]:
    return MethodResult.undefined(reason), {}


@dataclass(frozen=True, slots=True)
class TaskScored:
    """The scores of one task.

    Attributes:
        result: What results.json says of it.
        samples: Its sample rows; None where they are stored already.
        paired: How each image moves its scores.
        lacking: Whether some of its evidence is missing.
        inputs: What it was computed from; None where that cannot be told.
    """

    result: TaskResult
    samples: list[dict[str, Any]] | None
    paired: PairedTask
    lacking: bool
    inputs: str | None = None


def score_plan(
    plan: Plan,
    images: ImageStore | None,
    stores: Stores,
    reporter: Reporter,
    workers: int | None = None,
    kept: ScoreCache | None = None,
) -> Scored:
    """Score every task of a plan, several at a time; no number depends on how many."""
    known = None if images is None else DistinctImages(images)
    # The largest first: what is begun last should not keep the other cores waiting.
    largest = sorted(
        plan.tasks, key=lambda task: -sum(plan.needs[task.id].images_by_prompt.values())
    )
    scored = Scored()
    with reporter.stage("Scoring", len(plan.tasks), "tasks") as ticker:

        def store(task: LoadedTask, one: TaskScored) -> None:
            if kept is not None:
                # What cannot be told by its inputs, or lacks some, is never taken for other scores.
                inputs = scored.inputs[task.id] = one.inputs or f"once {secrets.token_hex(16)}"
                if one.samples is not None:
                    kept.write(task.id, inputs, one.result, one.samples, one.paired)
            ticker.advance(1)

        found = each_of(
            largest, partial(_scored_or_kept, plan, known, stores, kept), workers, store
        )
    by_task = {task.id: one for task, one in zip(largest, found, strict=True)}
    for task in plan.tasks:
        one = by_task[task.id]
        scored.results[task.id], scored.paired[task.id] = one.result, one.paired
        if one.lacking:
            scored.lacking.add(task.id)
    line = repeats_line(repeated_prompts(plan.prompts, known.get), plan.prompts) if known else None
    if line:
        reporter.warn(line)
    return scored


def _scored_or_kept(
    plan: Plan, images: Images | None, stores: Stores, kept: ScoreCache | None, task: LoadedTask
) -> TaskScored:
    inputs = None if kept is None else inputs_of(plan, task, images, stores)
    found = None if kept is None or inputs is None else kept.read(task.id, inputs)
    if found is not None:
        return TaskScored(found[0], None, found[1], lacking=False, inputs=inputs)
    scored = _scored(plan, task, images, stores)
    whole = not scored.lacking and scored.result.reason is None
    return replace(scored, inputs=inputs if whole else None)


def _scored(plan: Plan, task: LoadedTask, images: Images | None, stores: Stores) -> TaskScored:
    needs = plan.needs[task.id]
    evidence, settings = _evidence(plan, task, images, stores)
    repeated = [] if images is None else repeated_prompts(needs.images_by_prompt, images.get)
    blind: dict[str, StoredEvidence] = {}
    if evidence:
        combined, by_encoder = score_task(task, evidence, plan.settings)
        if not needs.questions:
            judged = _judged(needs, images, stores)[1]
            blind = {
                name: StoredEvidence(images, stores.controls[name].store, **judged)
                for name in evidence
                if name in stores.controls
            }
            combined, by_encoder = with_untrained_control(
                task.spec, (combined, by_encoder), blind, plan.settings
            )
            why = too_few(repeated, needs.groups)
            if why:
                combined = _inconclusive(combined, why)
                by_encoder = {name: _inconclusive(one, why) for name, one in by_encoder.items()}
    elif needs.questions:
        combined, by_encoder = _undefined("no judge was asked")
    else:
        combined, by_encoder = _undefined("no encoder of this run embeds images")
    lacking = any(one.lacking for one in (*evidence.values(), *blind.values()))
    try:
        written = _written(plan, task, combined, by_encoder, settings, images, repeated, lacking)
    except Exception as error:  # results that cannot be written down are a defect, too
        undefined = _undefined(_defect(task, error))
        written = _written(plan, task, *undefined, settings, images, repeated, lacking)
    return _with_agreement(plan, task, written, images, stores)


def _inconclusive(result: MethodResult, why: str) -> MethodResult:
    reasons = [result.inconclusive, why]
    return replace(result, inconclusive="; ".join(reason for reason in reasons if reason))


def _with_agreement(
    plan: Plan, task: LoadedTask, scored: TaskScored, images: Images | None, stores: Stores
) -> TaskScored:
    """The same, with how well the images agree with their prompts and how much they differ."""
    needs, level = plan.needs[task.id], plan.settings.level
    records, cosines = text_image_alignment(needs, images, stores.encoders, level)
    differing = diversity(needs, images, stores.encoders, level)
    update = {"text_image_alignment": records, "diversity": differing}
    return replace(
        scored,
        result=scored.result.model_copy(update=update),
        paired=replace(scored.paired, agreement=cosines),
    )


def _written(
    plan: Plan,
    task: LoadedTask,
    combined: MethodResult,
    by_encoder: Mapping[str, MethodResult],
    settings: TaskSettings,
    images: Images | None,
    repeated: list[RepeatedPrompt],
    lacking: bool,
) -> TaskScored:
    """One task's scores as they are stored."""
    record = task_record(task, combined, by_encoder, settings)
    if images is not None:
        missing, because = lost(plan, task.id, images)
        needs = plan.needs[task.id]
        treated = prompt_outcomes(
            needs.images_by_prompt, needs.groups, images.get, plan.settings.level
        )
        lines = [revised_line(treated), repeats_line(repeated, needs.images_by_prompt)]
        record = record.model_copy(
            update={
                "missing_prompts": missing,
                "excluded_because": because,
                "prompt_outcomes": treated,
                "repeated_prompts": repeated,
                "warnings": [*record.warnings, *filter(None, lines)],
            }
        )
    rows = _sample_rows(combined.samples, images)
    return TaskScored(record, rows, paired_task(combined, by_encoder), lacking)


def _evidence(
    plan: Plan, task: LoadedTask, images: Images | None, stores: Stores
) -> tuple[dict[str, StoredEvidence], TaskSettings]:
    """What a task is scored from, by encoder or by judge."""
    needs = plan.needs[task.id]
    image_encoders = {
        name: encoder for name, encoder in stores.encoders.items() if encoder.embeds_images
    }
    if not needs.questions:
        usable = image_encoders if needs.prompts else dict(stores.encoders)
        asked, judged = _judged(needs, images, stores)
        by_encoder = {
            name: StoredEvidence(images, encoder.store, **judged)
            for name, encoder in usable.items()
        }
        return by_encoder, _task_settings(plan.settings, usable, asked)
    # Judges are compared; beside them the first encoder measures what needs embeddings.
    beside = dict(list(image_encoders.items())[:1]) if needs.embeds else {}
    store = next((encoder.store for encoder in beside.values()), None)
    judges, labels = stores.judges, stores.labels
    if stores.people and not _classified(needs.questions, images, judges):
        judges, labels = stores.people, None
    by_judge = {
        name: StoredEvidence(
            images,
            store,
            judge.store,
            labels,
            sampled=name.startswith(LABELS_BY),
            judge=name,
            check=stores.check_of(name, judge),
        )
        for name, judge in judges.items()
    }
    return by_judge, _task_settings(plan.settings, beside, judges)


class _Answers(TypedDict, total=False):
    judged: AnswerStore
    sampled: bool


def _judged(
    needs: Needs, images: Images | None, stores: Stores
) -> tuple[dict[str, JudgeEvidence], _Answers]:
    """Who looked at the images that an encoder measures: the first judge, or people without one."""
    for judges, sampled in ((stores.judges, False), (stores.people, True)):
        for name, judge in judges.items():
            if needs.checks and _classified(needs.checks, images, {name: judge}):
                return {name: judge}, {"judged": judge.store, "sampled": sampled}
    return {}, {}


def _classified(
    questions: Sequence[QuestionNeed],
    images: Images | None,
    judges: Mapping[str, JudgeEvidence],
) -> bool:
    """Whether a judge answered a question with more than 'unknown'."""
    for asked in questions:
        for index in range(asked.images):
            attempt = images.get(asked.prompt, index) if images else None
            for judge in judges.values() if attempt else ():
                sha256 = (attempt and attempt.sha256) or ""
                found = judge.store.get(sha256, asked.question, asked.classes)
                if found and (not asked.classes or found.answer in asked.classes):
                    return True
    return False


def _task_settings(
    settings: Settings,
    encoders: Mapping[str, EncoderEvidence],
    judges: Mapping[str, JudgeEvidence],
) -> TaskSettings:
    return TaskSettings(
        **Measurement.of(settings).model_dump(),
        encoders={name: encoder.fingerprint for name, encoder in encoders.items()},
        judges={name: judge.fingerprint for name, judge in judges.items()},
    )


def _sample_rows(rows: Sequence[dict[str, Any]], images: Images | None) -> list[dict[str, Any]]:
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
