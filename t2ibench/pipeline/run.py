"""One run from its plan to its results: generate, embed, ask, score, write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import libraries_of
from t2ibench.models.protocols import ReportsWaits
from t2ibench.pipeline.executors import EXECUTORS
from t2ibench.pipeline.job import Job, Stage
from t2ibench.pipeline.observers import open_encoder, open_judge
from t2ibench.pipeline.prepare import Prepared
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.scoring import EncoderEvidence, JudgeEvidence, Stores, score_plan
from t2ibench.results.build import is_complete
from t2ibench.results.environment import versions
from t2ibench.results.run import ControlRecord, EncoderRecord, GeneratorRecord, HistoryEntry
from t2ibench.results.schema import Results
from t2ibench.results.write import write_results
from t2ibench.settings import Measurement
from t2ibench.store.evidence import text_key
from t2ibench.store.labels import LabelStore

_STAGES: dict[Stage, tuple[str, str]] = {
    "generate": ("Generating images", "images"),
    "embed": ("Embedding images", "images"),
    "ask": ("Asking judges", "answers"),
}


@dataclass(slots=True)
class Outcome:
    """What a run did.

    Attributes:
        results: All results so far; None if it only generated.
        folder: The run folder.
        attempts: Attempts at images by status.
        observed: Images and texts embedded and questions answered now.
        damaged: Image files that could not be read, one line each.
        problems: What a judge did not answer, one line each.
        complete: False if evidence is missing.
    """

    results: Results | None
    folder: Path
    attempts: Counter[str]
    observed: int
    damaged: list[str]
    problems: list[str]
    complete: bool


def generate_only(prepared: Prepared, reporter: Reporter) -> Outcome:
    """Generate what is missing, and stop there.

    Args:
        prepared: The run.
        reporter: Shows progress.

    Returns:
        What it did, without results.

    Raises:
        T2IBenchError: something cannot work; everything done before is kept.
    """
    started = _now()
    job = Job(
        prepared.plan,
        prepared.folder,
        prepared.images,
        prepared.generator,
        batch_size=prepared.settings.batch_size,
        from_object=prepared.objects.generator is not None,
    )
    _save_record(prepared)
    _run_stage(job, "generate", prepared, reporter)
    complete = not job.attempts["failed"]
    _log(prepared, started, job.attempts, complete)
    return Outcome(None, prepared.folder.path, job.attempts, 0, [], [], complete)


def execute(prepared: Prepared, reporter: Reporter) -> Outcome:
    """Generate, embed, ask and score what is missing, and write the results.

    Args:
        prepared: The run.
        reporter: Shows progress.

    Returns:
        What it did.

    Raises:
        T2IBenchError: something cannot work; everything done before is kept.
    """
    started, folder = _now(), prepared.folder
    encoders, judges = prepared.encoders(), prepared.judges()
    job = Job(
        prepared.plan,
        folder,
        prepared.images,
        prepared.generator,
        [open_encoder(encoder, folder.evidence) for encoder in encoders],
        [open_judge(judge, folder.evidence) for judge in judges],
        prepared.settings.batch_size,
        from_object=prepared.objects.generator is not None,
        controls={
            name: open_encoder(control, folder.evidence)
            for name, control in prepared.controls(encoders, reporter.warn).items()
        },
    )
    _check_names(job)
    for judge in judges:
        if isinstance(judge, ReportsWaits):
            judge.report_waits(reporter.say)
    _save_record(prepared, job)
    _run_stage(job, "generate", prepared, reporter)
    job.release()
    for encoder_run, texts in job.texts():
        missing = encoder_run.store.missing("texts", map(text_key, texts))
        if missing:
            name = f"Embedding texts ({encoder_run.encoder.name})"
            with reporter.stage(name, len(missing), "texts") as ticker:
                job.embed_texts(encoder_run, texts, ticker.advance)
    _run_stage(job, "embed", prepared, reporter)
    if job.encoders and not job.judges and not set(job.names()) - job.stopped.keys():
        raise T2IBenchError(next(iter(job.stopped.values())))
    _run_stage(job, "ask", prepared, reporter)
    _repair(job, prepared, reporter)
    results = _score(prepared, job, reporter)
    failed = job.stopped or any(report.failed for report in job.reports.values())
    task_results = [results.tasks[task.id] for task in prepared.plan.tasks]
    complete = not (job.damaged or failed or prepared.skipped) and is_complete(task_results)
    _log(prepared, started, job.attempts, complete)
    answered = sum(report.answered for report in job.reports.values())
    return Outcome(
        results,
        folder.path,
        job.attempts,
        job.embedded + answered,
        list(dict.fromkeys(map(str, job.damaged))),
        job.problems(),
        complete,
    )


def _check_names(job: Job) -> None:
    """Results are told apart by name, so no two encoders and no two judges may share one."""
    encoders = [*job.names(), *(run.encoder.name for run in job.controls.values())]
    for kind, names in (("encoder", encoders), ("judge", [r.judge.name for r in job.judges])):
        for name, count in Counter(names).items():
            if count > 1:
                raise T2IBenchError(
                    f"{count} {kind}s have the name '{name}'.", "Give each its own name."
                )


def _run_stage(job: Job, stage: Stage, prepared: Prepared, reporter: Reporter) -> None:
    """One stage, by the executor that was asked for; nothing where nothing is missing."""
    total = job.pending(stage)
    if not total:
        return
    title, unit = _STAGES[stage]
    if stage == "generate":
        for line in mixed_libraries(prepared):
            reporter.warn(line)
    with reporter.stage(title, total, unit) as ticker:
        EXECUTORS.get(prepared.settings.engine).run(job, stage, ticker.advance)


def _repair(job: Job, prepared: Prepared, reporter: Reporter) -> None:
    """Generate damaged images again, once, and observe them; where that fails, go on without."""
    damaged = job.take_damaged()
    if not damaged:
        return
    for line in dict.fromkeys(map(str, damaged)):
        reporter.warn(f"{line}. It is generated again.")
    again = frozenset((one.image.prompt, one.image.index) for one in damaged)
    requests = [r for r in prepared.plan.requests if (r.prompt, r.index) in again]
    try:
        with reporter.stage("Generating damaged images", len(requests), "images") as ticker:
            job.generate(requests, ticker.advance, again)
    except T2IBenchError as error:
        reporter.warn(f"They could not be generated again: {error}")
        job.damaged = damaged
        return
    finally:
        job.release()
    _run_stage(job, "embed", prepared, reporter)
    _run_stage(job, "ask", prepared, reporter)
    job.damaged = job.take_damaged()


def mixed_libraries(prepared: Prepared) -> list[str]:
    """Lines about images in the folder that were made with other versions of the libraries.

    Args:
        prepared: The run, which has images to generate.

    Returns:
        The lines; none if all versions are the same.
    """
    record = prepared.folder.record.generator
    if record is None or not record.libraries:
        return []
    now = versions(libraries_of(record.model))
    changed = [
        f"{name} {then} then, {now.get(name, 'none')} now"
        for name, then in record.libraries.items()
        if now.get(name) != then
    ]
    if not changed:
        return []
    return [
        f"The images in {prepared.folder.path} were generated with other versions "
        f"({'; '.join(changed)}); new ones may differ. Use another --output-dir to keep them apart."
    ]


def _score(prepared: Prepared, job: Job, reporter: Reporter) -> Results:
    stores = Stores(
        {
            run.encoder.name: EncoderEvidence(
                run.store, run.encoder.fingerprint, run.encoder.embeds_images
            )
            for run in job.encoders
        },
        {run.judge.name: JudgeEvidence(run.store, run.judge.fingerprint) for run in job.judges},
        {
            name: EncoderEvidence(run.store, run.encoder.fingerprint)
            for name, run in job.controls.items()
        },
        LabelStore(prepared.folder.evidence),
    )
    scored = score_plan(prepared.plan, prepared.images, stores, reporter)
    return write_results(
        prepared.folder,
        prepared.folder.record.repeatable(),
        scored.results,
        scored.samples,
        scored.paired,
    )


def _observers(job: Job) -> dict[str, object]:
    """What run.json says of a run's encoders and judges."""
    return {
        "encoders": {
            run.encoder.name: EncoderRecord(
                fingerprint=run.encoder.fingerprint, embeds_images=run.encoder.embeds_images
            )
            for run in job.encoders
        },
        "controls": {
            name: ControlRecord(name=run.encoder.name, fingerprint=run.encoder.fingerprint)
            for name, run in job.controls.items()
        },
        "judges": {run.judge.name: run.judge.fingerprint for run in job.judges},
    }


def _save_record(prepared: Prepared, observing: Job | None = None) -> None:
    """Write run.json before the work starts, so that a killed run can be scored and resumed.

    A call that only generates leaves what the record says of encoders and judges.
    """
    folder, generator, settings = prepared.folder, prepared.generator, prepared.settings
    record = None
    from_objects = bool(prepared.objects)
    observers = _observers(observing) if observing else {}
    if observing is None and (folder.record.encoders or folder.record.judges):
        before = folder.record.settings
        kept = {
            name: getattr(before, name)
            for name in ("encoder", "judge", "judge_args", "control_encoder")
        }
        settings = settings.model_copy(update=kept)
        from_objects = from_objects or folder.record.from_objects
    if generator is not None:
        known = folder.record.generator
        same = known if known and known.fingerprint == generator.fingerprint else None
        record = GeneratorRecord(
            name=generator.name,
            model=settings.model or generator.name,
            model_args=settings.model_args,
            revision=generator.revision,
            fingerprint=generator.fingerprint,
            settings=dict(generator.settings),
            effective_settings=same.effective_settings if same else {},
            libraries=same.libraries if same else {},
        )
    folder.update(
        status="running",
        from_objects=from_objects,
        generator=record,
        settings=settings,
        measurement=Measurement.of(prepared.plan.settings),
        tasks=[task.id for task in prepared.plan.tasks],
        include_path=_include_path(folder.record.include_path, settings.include_path),
        **observers,
    )


def _include_path(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """Folders of further tasks, absolute; those of earlier calls that still exist are kept."""
    paths = [str(Path(path).resolve()) for path in now]
    return list(dict.fromkeys([*paths, *(path for path in before if Path(path).is_dir())]))


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _log(prepared: Prepared, started: str, attempts: Counter[str], complete: bool) -> None:
    folder = prepared.folder
    entry = HistoryEntry(
        command=prepared.call, started=started, finished=_now(), generated=dict(attempts)
    )
    folder.update(
        status="complete" if complete else "incomplete", history=[*folder.record.history, entry]
    )
