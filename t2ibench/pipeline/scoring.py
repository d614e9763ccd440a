"""Scores from stored evidence, computed without loading any model."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from t2ibench.errors import T2IBenchError, first_line
from t2ibench.identity import ImageKey, content_id
from t2ibench.machine import cores
from t2ibench.methods import combine, score
from t2ibench.methods.core.describe import listed
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.evidence import Needs
from t2ibench.pipeline.edit_attempts import EditAttempts
from t2ibench.pipeline.image_findings import ObservedImages, observe_images
from t2ibench.pipeline.missing_readers import Readers
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.planned_edits import PlannedEdits
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.score_cache import ScoreCache, TaskScored, inputs_of
from t2ibench.pipeline.source_images import FOLDER, SourceImages
from t2ibench.pipeline.stored_evidence import StoredEvidence
from t2ibench.pipeline.stores import Stores
from t2ibench.pipeline.task_evidence import (
    TaskEvidence,
    evidence_of,
    untrained_evidence,
)
from t2ibench.pipeline.untrained_control import with_untrained_control
from t2ibench.results.builder import ScoredTask, task_record
from t2ibench.results.paired import paired_task
from t2ibench.results.prompt_outcomes import is_revised
from t2ibench.results.repeated_prompts import (
    RepeatedPrompt,
    by_share,
    repeated_prompts,
    repeats_line,
    too_few,
)
from t2ibench.settings import Settings
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.images import Attempt, ImageStore
from t2ibench.tasks.loader import LoadedTask
from t2ibench.worker_pool import each_of, processes_ahead

# As many images as take a second core some seconds to score.
_MANY = 20_000


def scoring_processes(
    plan: Plan, workers: int | None = None
) -> AbstractContextManager[None]:
    """Return a context in which to open a run's records and score it.

    The processes that score a large plan start meanwhile, so that nobody waits for them; no more
    than it has tasks.
    """
    if _n_images(plan) < _MANY:
        return nullcontext()
    most = cores() if workers is None else workers
    return processes_ahead(__name__, min(most, len(plan.tasks)))


def score_plan(
    plan: Plan,
    images: ImageStore | None,
    stores: Stores,
    reporter: Reporter,
    workers: int | None = None,
    cache: ScoreCache | None = None,
    sources: SourceImages | None = None,
) -> dict[str, TaskScored]:
    """Return the scores of every task of a plan, keyed by task and computed in parallel.

    They do not depend on the number of workers.
    """
    stores = replace(stores, images=None if images is None else DistinctImages(images))
    if sources is not None:
        sources.images.open_perceptual_hashes()
    if images is not None:
        images.open_perceptual_hashes()  # in this thread, before others use them
    # The largest first, so that no core is idle at the end.
    largest_first = sorted(plan.tasks, key=lambda task: -_size(plan.needs[task.id]))
    by_task: dict[str, TaskScored] = {}
    with reporter.stage("Scoring", len(plan.tasks), "tasks") as ticker:

        def store(task: LoadedTask, scored: TaskScored) -> None:
            if cache is not None:
                cache.write(task.id, scored)
            by_task[task.id] = scored
            ticker.advance(1)

        source_contents = [] if sources is None else sources.images.contents()

        def part_of(task: LoadedTask) -> Callable[[], TaskScored]:
            """Return a call that scores a task, with the records of its own images alone."""
            needs = plan.needs[task.id]
            plan_of_task = replace(
                plan,
                tasks=(task,),
                needs={task.id: needs},
                requests=(),
                questions={},
                edits=PlannedEdits(),
            )
            stores_of_task = stores.only(
                _contents(needs, sources), source_contents if needs.edits else []
            )
            return partial(_cached_or_scored, plan_of_task, stores_of_task, cache, task)

        def scored_of_its_records(task: LoadedTask) -> TaskScored:
            return part_of(task)()

        is_large = _n_images(plan) >= _MANY
        whole_plan = replace(plan, requests=(), edits=PlannedEdits())
        score_here = partial(_cached_or_scored, whole_plan, stores, cache)
        each_of(
            largest_first,
            # The embeddings of a large run are not all held. Those of one task are, so that none
            # is read for one prompt after the other.
            scored_of_its_records if is_large else score_here,
            workers,
            store,
            part_of=part_of,
            at_once=is_large and (cache is None or not cache.reuses),
        )
    line = _repeats_of_run(by_task.values(), plan)
    if line:
        reporter.warn(line)
    return {task.id: by_task[task.id] for task in plan.tasks}


def _n_images(plan: Plan) -> int:
    """Return about how many images a plan is scored from; those of several tasks count in each."""
    return sum(_size(plan.needs[task.id]) for task in plan.tasks)


def _size(needs: Needs) -> int:
    """Return about how many images a task is scored from."""
    return sum(needs.images_by_prompt.values()) + sum(
        edit.images for edit in needs.edits
    )


def _contents(needs: Needs, sources: SourceImages | None) -> dict[int, None]:
    """Return the content ids of all images of a task, each once, in the order of its needs."""
    asked = (need.prompt for need in (*needs.questions, *needs.checks))
    contents = dict.fromkeys(map(content_id, (*needs.images_by_prompt, *asked)))
    if sources is None:
        return contents
    for edit in needs.edits:
        file = sources.file(edit.source)
        if file is not None:
            contents[content_id(edit.instruction, file.sha256)] = None
    return contents


def _repeats_of_run(scored: Iterable[TaskScored], plan: Plan) -> str | None:
    """Return a line on prompts with repeated images; None if there are none."""
    repeated = [prompt for task in scored for prompt in task.result.repeated_prompts]
    repeated.sort(key=lambda prompt: prompt.n_images)
    by_prompt = {prompt.prompt: prompt for prompt in repeated}
    return repeats_line(by_share(by_prompt.values()), plan.prompts)


def _cached_or_scored(
    plan: Plan, stores: Stores, cache: ScoreCache | None, task: LoadedTask
) -> TaskScored:
    """Return a task's scores: cached if its inputs are unchanged, else computed."""
    inputs = ""
    if cache is not None:
        inputs = inputs_of(plan, task, stores)
        cached = cache.read(task.id, inputs)
        if cached is not None:
            return cached
    scored = _scored(plan, task, stores)
    if not inputs or scored.incomplete or scored.result.reason is not None:
        # Scores whose inputs are unknown or incomplete are never taken for other scores.
        inputs = f"once {secrets.token_hex(16)}"
    return replace(scored, inputs=inputs)


def _scored(plan: Plan, task: LoadedTask, stores: Stores) -> TaskScored:
    """Compute the scores of one task."""
    needs = plan.needs[task.id]
    evidence = evidence_of(plan, task, stores)
    untrained: dict[str, StoredEvidence] = {}
    repeated: list[RepeatedPrompt] = []
    if stores.images is not None:
        repeated = repeated_prompts(needs.images_by_prompt, stores.images.first)
    if evidence.by_reader:
        judged = needs.is_judged
        scored = score_task(task, evidence.by_reader, plan.settings, judges=judged)
        if not judged:
            with_score = [
                name for name, result in scored.by_encoder.items() if not result.reason
            ]
            untrained = untrained_evidence(needs, stores, with_score)
            scored = with_untrained_control(task.spec, scored, untrained, plan.settings)
            scored = _without_too_few(scored, repeated, needs)
    elif needs.is_judged:
        scored = ScoredTask.undefined("no judge was asked")
    else:
        scored = ScoredTask.undefined("no encoder of this run embeds images")
    sources = (*evidence.by_reader.values(), *untrained.values())
    incomplete = any(source.incomplete for source in sources)
    write = partial(_task_scored, plan, task, stores, evidence, repeated, incomplete)
    try:
        return write(scored)
    except Exception as error:  # results that cannot be serialised are a bug, too
        return write(ScoredTask.undefined(_defect(task, error)))


def score_task(
    task: LoadedTask,
    evidence: Mapping[str, StoredEvidence],
    settings: Settings,
    *,
    judges: bool,
) -> ScoredTask:
    """Return a task's mean score over encoders or judges, and the score from each of them.

    The mean is over those that have seen the task: one that was stopped is named instead.

    Args:
        task: The task.
        evidence: Name to the evidence of each encoder or judge.
        settings: How to measure.
        judges: Whether these are judges; else they are encoders.

    Returns:
        The combined score, and that of each.
    """
    try:
        results = {
            name: score(task.spec, source, settings)
            for name, source in evidence.items()
        }
        readers = Readers.of(results, evidence, judges=judges)
        by_encoder = {
            name: combine(task.spec, [result], settings)
            for name, result in readers.results.items()
        }
        present = readers.present
        combined = combine(task.spec, list(present.values()), settings)
        inconclusive = _which_are_inconclusive(combined, present)
        combined = replace(combined, inconclusive=inconclusive)
        return ScoredTask(readers.annotated(combined), by_encoder)
    except T2IBenchError as error:
        return ScoredTask.undefined(str(error))
    except Exception as error:  # a bug in one method must not lose the other tasks
        return ScoredTask.undefined(_defect(task, error))


def _which_are_inconclusive(
    combined: MethodResult, results: Mapping[str, MethodResult]
) -> str | None:
    """Return why a test is inconclusive, and for which encoders or judges; None if it is not."""
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
    conclusive = [name for name in results if name not in reasons]
    if conclusive:
        named.append(f"by {listed(conclusive)} it is not inconclusive")
    return "; ".join(named)


def _without_too_few(
    scored: ScoredTask, repeated: Sequence[RepeatedPrompt], needs: Needs
) -> ScoredTask:
    """Return the scores, marked inconclusive if too many prompts have too few distinct images."""
    why = too_few(repeated, needs.groups)
    if not why:
        return scored
    by_encoder = {
        name: _inconclusive(result, why) for name, result in scored.by_encoder.items()
    }
    return ScoredTask(_inconclusive(scored.combined, why), by_encoder)


def _without_score(scored: ScoredTask) -> set[str]:
    """Return the encoders and judges that give a task no score; empty if none gives one."""
    if scored.combined.reason:
        return set()
    return {name for name, result in scored.by_encoder.items() if result.reason}


def _inconclusive(result: MethodResult, why: str) -> MethodResult:
    reasons = [result.inconclusive, why]
    return replace(
        result, inconclusive="; ".join(reason for reason in reasons if reason)
    )


def _defect(task: LoadedTask, error: Exception) -> str:
    return (
        f"the method '{task.spec.method}' failed with {type(error).__name__}: {first_line(error)}; "
        "this is a defect of the method, not of the model"
    )


def _edit_attempts(needs: Needs, stores: Stores) -> EditAttempts | None:
    """Return the records of a task's edits; None for a task without edits."""
    if not needs.edits or stores.sources is None or stores.images is None:
        return None
    return EditAttempts.of(needs, stores.images, stores.sources.images)


def _with_edits_described(
    scored: ScoredTask, edits: EditAttempts, made_by: Mapping[str, Any]
) -> ScoredTask:
    """Return the scores of a task with edits, with what made the source images.

    Its details also have what became of the edits of each group, as numbers of images.
    """
    combined = scored.combined
    conventions = {**combined.conventions, "sources": dict(made_by)}
    details = {**combined.details, "edit_outcomes": edits.by_group()}
    combined = replace(combined, conventions=conventions, details=details)
    return replace(scored, combined=combined)


def _task_scored(
    plan: Plan,
    task: LoadedTask,
    stores: Stores,
    evidence: TaskEvidence,
    repeated: list[RepeatedPrompt],
    incomplete: bool,
    scored: ScoredTask,
) -> TaskScored:
    """Return one task's scores, results and samples in the form in which run.db stores them."""
    images = stores.images
    edits = _edit_attempts(plan.needs[task.id], stores)
    if edits is not None and stores.sources is not None:
        scored = _with_edits_described(scored, edits, stores.sources.made_by)
    observed = ObservedImages({})
    if images is not None:
        observed = observe_images(
            needs=plan.needs[task.id],
            images=images,
            stores=stores,
            edits=edits,
            judges=evidence.judges,
            measures=evidence.measures,
            scored=scored,
            repeated=repeated,
            level=plan.settings.level,
        )
    settings = evidence.settings(plan.settings, without=_without_score(scored))
    return TaskScored(
        result=task_record(
            task, scored, settings, observed.findings, observed.warnings
        ),
        samples=_sample_rows(scored.combined.samples, images, stores.sources),
        paired=paired_task(
            scored.combined,
            scored.by_encoder,
            observed.cosines,
            diversity=observed.diversity,
            vendi=observed.vendi,
            contradictions=observed.contradictions,
        ),
        incomplete=incomplete,
    )


def _sample_rows(
    rows: Sequence[dict[str, Any]],
    images: DistinctImages | None,
    sources: Stores | None,
) -> list[dict[str, Any]]:
    """Return sample rows with each image's file, and its rewritten prompt if there is one.

    The row of an edit names its source image by `source_prompt` and `source_index`, and gets that
    one's file, too.
    """
    completed = []
    of_sources = None if sources is None else sources.images
    for row in rows:
        source = _source_of(row, of_sources)
        source_sha256 = None if source is None else source.sha256
        image = ImageKey.of(row["prompt"], row["index"], source_sha256)
        attempt = images.get(image) if images else None
        file = f"images/{attempt.file}" if attempt and attempt.file else None
        sha256 = attempt.sha256 if attempt else None
        new = {**row, "file": file, "sha256": sha256}
        if source is not None:
            new["source_file"] = f"{FOLDER}/images/{source.file}"
            new["source_sha256"] = source_sha256
        if attempt is not None and is_revised(attempt):
            new["revised_prompt"] = attempt.revised_prompt
        completed.append(new)
    return completed


def _source_of(row: dict[str, Any], sources: DistinctImages | None) -> Attempt | None:
    """Return the record of the source image that a sample row names; None if it names none."""
    if sources is None or "source_prompt" not in row:
        return None
    return sources.nth(row["source_prompt"], row["source_index"])
