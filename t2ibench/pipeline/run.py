"""One run from its plan to its results: generate, embed, ask, score, write."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from t2ibench.errors import CostLimitError, T2IBenchError
from t2ibench.methods.core.describe import listed
from t2ibench.models.generators import libraries_of
from t2ibench.models.library_messages import JOURNAL
from t2ibench.models.protocols import Charges, ChecksAccess, ReportsWaits
from t2ibench.pipeline import stop_request
from t2ibench.pipeline.captions import carried, keep
from t2ibench.pipeline.downloads import check_downloads
from t2ibench.pipeline.engines import check_objects, executor_of, generating_executor
from t2ibench.pipeline.executors import Executor
from t2ibench.pipeline.generator_record import spent, tell_cost
from t2ibench.pipeline.job import Job, Stage
from t2ibench.pipeline.preparation import Prepared
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.rescoring import score_stored
from t2ibench.pipeline.rewriting import info_of, rewrite_prompts
from t2ibench.pipeline.score_cache import ScoreCache, TaskScored
from t2ibench.pipeline.worker import Observers
from t2ibench.results.builder import is_complete
from t2ibench.results.record import (
    ControlRecord,
    EncoderRecord,
    GeneratorRecord,
    HistoryEntry,
    joined_warnings,
)
from t2ibench.results.run import RunFolder, mending, versions
from t2ibench.results.schema import LibraryWarning, Results
from t2ibench.settings import Measurement, RunSettings
from t2ibench.store.answers import is_file_of_answers
from t2ibench.store.database import mend


@dataclass(slots=True)
class Outcome:
    """What a run did."""

    results: Results | None  # None if it only generated
    folder: Path
    attempts: Counter[str]  # by status
    observed: int  # images and texts embedded and questions answered now
    damaged: list[str]
    problems: list[str]
    complete: bool = False
    scored: Mapping[str, TaskScored] = field(
        default_factory=dict
    )  # now, whatever others wrote since
    # by status and reason
    lost: Counter[tuple[str, str]] = field(default_factory=Counter)
    # encoder or judge to the reason
    stopped: Mapping[str, str] = field(default_factory=dict)


_TITLES: dict[Stage, tuple[str, str]] = {
    "generate": ("Generating images", "images"),
    "texts": ("Embedding texts", "texts"),
    "embed": ("Embedding images", "images"),
    "ask": ("Asking judges", "answers"),
}


def run_stage(job: Job, stage: Stage, executor: Executor, reporter: Reporter) -> None:
    """One stage, by an executor; nothing where nothing is missing."""
    left = job.left(stage)
    if not left:
        return
    title, unit = _TITLES[stage]
    parts = executor.run(left, partial(job.piece, stage))
    with (
        reporter.stage(title, sum(left.values()), unit) as ticker,
        stop_request.between_batches(),
    ):
        try:
            for part in parts:
                with stop_request.held():
                    stored = job.store(part)
                ticker.advance(stored)
        except KeyboardInterrupt:
            stop_request.ask()
            for part in parts:
                job.store(part)


def execute(prepared: Prepared, reporter: Reporter) -> Outcome:
    """Generate, embed, ask and score what is missing, and write the results.

    With `generate_only` it stops after the images, with `no_score` after the answers.
    """
    settings, folder = prepared.settings, prepared.folder
    observing = not settings.generate_only
    check_objects(prepared)
    check_downloads(prepared, observing)
    with (
        mending(),
        JOURNAL.listening(lambda message: reporter.warn(message.line)),
        executor_of(prepared, reporter, observing) as executor,
        prepared.alone(reporter),
    ):
        started = _now()
        _check_names(executor.observers)
        if observing and not settings.no_score:
            _check_image_encoders(prepared, executor.observers, reporter)
        job = Job(prepared, executor.observers)
        # read, so that what is damaged is said
        _ = prepared.images and prepared.images.looks
        mend(folder.database, reporter)
        _save_record(prepared, executor.observers if observing else None)
        _check_access(job)
        if not prepared.only_stored:
            with (
                _generation(job, prepared, executor, reporter) as generating,
                _cost_limit_explained(prepared),
            ):
                run_stage(job, "generate", generating, reporter)
            job.check_generated()
        if observing:
            _observe(job, prepared, executor, reporter)
        executor.close()  # scoring needs the memory, and no model
        _keep_library_warnings(folder)
        outcome = Outcome(
            None,
            folder.path,
            job.attempts,
            job.embedded + sum(report.answered for report in job.reports.values()),
            [f"{one}; the same command again makes it anew" for one in job.damaged],
            job.problems(),
            lost=job.lost,
            stopped=dict(job.stopped),
        )
        if observing and not settings.no_score:
            _score(prepared, job, reporter, outcome)
        elif observing:
            stages: tuple[Stage, ...] = ("generate", "embed", "ask")
            left = sum(job.pending(stage) for stage in stages)
            outcome.complete = not (left or job.stopped or job.damaged)
        else:
            outcome.complete = settings.allow_missing or not job.unfinished()
            if not job.has_images():
                outcome.complete = False
                wanted = len(prepared.plan.requests)
                outcome.problems.append(
                    f"There is no image: none of {wanted} was made."
                )
        entry = HistoryEntry(command=prepared.call, started=started, finished=_now())
        entry.generated = dict(outcome.attempts)
        status = "complete" if outcome.complete else "incomplete"
        folder.update(status=status, history=[*folder.record.history, entry])
        return outcome


@contextmanager
def _generation(
    job: Job, prepared: Prepared, executor: Executor, reporter: Reporter
) -> Iterator[Executor]:
    """Have prompts rewritten, choose who generates, and say at the end what it has cost."""
    rewrite_prompts(prepared, reporter)
    generator, before = prepared.generator, spent(prepared.folder)
    if isinstance(generator, ReportsWaits):
        generator.report_waits(reporter.say)
    line = mixed_libraries(prepared)
    if line and job.pending("generate"):
        reporter.warn(line)
    try:
        yield generating_executor(executor, prepared, reporter)
    finally:
        if isinstance(generator, Charges):
            job.settle()
            tell_cost(prepared.folder, before, "Images made", reporter.say)


@contextmanager
def _cost_limit_explained(prepared: Prepared) -> Iterator[None]:
    """Where --max-cost ends a run, say how much is there and how it is scored as it is."""
    try:
        yield
    except CostLimitError as error:
        raise T2IBenchError(
            error.message, f"{error.hint} {_ways_on(prepared)}"
        ) from error


def _ways_on(prepared: Prepared) -> str:
    """How many images are there, and the command that scores them."""
    images, plan, path = prepared.images, prepared.plan, prepared.folder.path
    assert images is not None
    done = [one for one in plan.requests if images.is_done(one.prompt, one.index)]
    without = len(plan.prompts) - len({request.prompt for request in done})
    command = f"t2ibench score {shlex.quote(str(path))}"
    some = f"{len(done)} of {len(plan.requests)} images are there"
    if not without:
        return f"{some}, at least one of every prompt; this embeds and scores them: {command}"
    prompts = f"{without} of {len(plan.prompts)} prompts have none"
    without_them = "this embeds and scores the others, and results say so"
    return f"{some}; {prompts}; {without_them}: {command} --allow-missing"


def _observe(
    job: Job, prepared: Prepared, executor: Executor, reporter: Reporter
) -> None:
    """Everything between generating and scoring."""
    job.check_looked_up(reporter.warn)
    run_stage(job, "texts", executor, reporter)
    run_stage(job, "embed", executor, reporter)
    working = {store.name for store in job.encoders} - job.stopped.keys()
    if job.encoders and not job.judges and not working:
        raise T2IBenchError(next(iter(job.stopped.values())))
    run_stage(job, "ask", executor, reporter)


def _check_access(job: Job) -> None:
    """Stop before images are made that a judge could not be asked about."""
    for judge in job.observers.judges:
        if isinstance(judge, ChecksAccess):
            try:
                judge.check_access()
            except T2IBenchError as error:
                if job.pending("generate") or job.pending("ask"):
                    raise T2IBenchError(
                        f"{judge.name}: {error.message}", error.hint
                    ) from None


def _check_image_encoders(
    prepared: Prepared, observers: Observers, reporter: Reporter
) -> None:
    """Say before the first image that no encoder embeds it; refuse where that is every task."""
    plan = prepared.plan
    on_images = [
        task.id
        for task in plan.tasks
        if plan.needs[task.id].prompts and not plan.needs[task.id].questions
    ]
    if not on_images or any(encoder.embeds_images for encoder in observers.encoders):
        return
    named = listed([encoder.name for encoder in observers.encoders])
    line = f"{named or 'No encoder'} embeds no images, so {listed(on_images)} cannot be scored."
    hint = "Add an encoder of images, such as --encoder clip, or choose tasks on texts."
    if len(on_images) == len(plan.tasks):
        raise T2IBenchError(line, hint)
    reporter.warn(f"{line} {hint}")


def _check_names(observers: Observers) -> None:
    """Results are told apart by name, so no two encoders and no two judges may share one."""
    encoders = [*observers.encoders, *observers.controls.values()]
    for kind, models in (("encoder", encoders), ("judge", observers.judges)):
        for name, count in Counter(one.name for one in models).items():
            if count > 1:
                raise T2IBenchError(
                    f"{count} {kind}s have the name '{name}'.",
                    "Give each its own name.",
                )


def mixed_libraries(prepared: Prepared) -> str | None:
    """A line about images in the folder that were made with other versions of the libraries."""
    record = prepared.folder.record.generator
    if record is None or not record.libraries:
        return None
    now = versions(libraries_of(record.model))
    changed = [
        f"{name} {then} then, {now.get(name, 'none')} now"
        for name, then in record.libraries.items()
        if now.get(name) != then
    ]
    line = (
        f"The images in {prepared.folder.path} were generated with other versions "
        f"({'; '.join(changed)}); new ones may differ. Use another --output-dir to keep them apart."
    )
    return line if changed else None


def _score(prepared: Prepared, job: Job, reporter: Reporter, outcome: Outcome) -> None:
    """Score what is stored, and write it."""
    folder, plan = prepared.folder, prepared.plan
    judges = folder.record.judges
    for check in prepared.judge_checks:
        if judges.get(check.judge) != check.fingerprint:
            known = check.judge in judges
            why = (
                "with other settings or in another version"
                if known
                else "which did not answer"
            )
            reporter.warn(
                f"--judge-check is of {check.judge}, {why}: it corrects nothing."
            )
    cache = ScoreCache(folder.database)
    outcome.results, outcome.scored, lost = score_stored(
        folder, plan, prepared.images, reporter, cache, prepared.together
    )
    # What files of answers leave out, `is_complete` tells, question by question.
    asked = [
        report for name, report in job.reports.items() if not is_file_of_answers(name)
    ]
    failed = job.stopped or any(report.failed for report in asked)
    task_results = [outcome.results.tasks[task.id] for task in plan.tasks]
    complete = is_complete(task_results, prepared.settings.allow_missing)
    outcome.complete = complete and not (
        job.damaged or lost or failed or prepared.skipped
    )


def _save_record(prepared: Prepared, observing: Observers | None = None) -> None:
    """Store the record before the work starts, so that a killed run can be scored and resumed.

    A call that only generates leaves what the record says of encoders and judges.
    """
    folder = prepared.folder
    keep(prepared.plan.tasks, folder.path)
    if prepared.images is not None:  # prompts that were damaged are known again
        prepared.images.name(prepared.plan.prompts)
    observers: dict[str, object] = {}
    if observing is not None:
        observers["encoders"] = {
            one.name: EncoderRecord(
                fingerprint=one.fingerprint,
                embeds_images=one.embeds_images,
                network=dict(getattr(one, "network", {})),
            )
            for one in observing.encoders
        }
        observers["controls"] = {
            name: ControlRecord(name=one.name, fingerprint=one.fingerprint)
            for name, one in observing.controls.items()
        }
        observers["judges"] = {
            judge.name: judge.fingerprint for judge in observing.judges
        }
    record, settings, from_objects = (
        folder.record,
        prepared.settings,
        bool(prepared.objects),
    )
    if prepared.only_stored:
        from_objects = record.from_objects
    if observing is None and (record.encoders or record.judges):
        names = (
            "encoder",
            "judge",
            "judge_args",
            "judge_check",
            "control_encoder",
            "columns",
        )
        kept = {name: getattr(record.settings, name) for name in names}
        settings = settings.model_copy(update=kept)
        from_objects = from_objects or record.from_objects
    captions = carried(record.settings.captions, settings.captions)
    settings = settings.model_copy(update={"captions": captions})
    pools = {
        task.id: pool for task in prepared.plan.tasks if (pool := task.spec.drawn_from)
    }
    # Folders of further tasks, absolute; those of earlier calls that still exist are kept.
    include = [str(Path(path).resolve()) for path in settings.include_path]
    include += [path for path in record.include_path if Path(path).is_dir()]
    merged = record.merged
    # this call makes what the parts lacked
    if merged is not None and not prepared.only_stored:
        merged = merged.model_copy(update={"missing": []})
    folder.update(
        status="running",
        from_objects=from_objects,
        merged=merged,
        generator=_generator_record(prepared, settings, record.generator),
        settings=settings,
        measurement=Measurement.of(prepared.plan.settings),
        tasks=[task.id for task in prepared.plan.tasks],
        pools=record.pools | pools,
        judge_checks=[*(prepared.judge_checks if observing else record.judge_checks)],
        include_path=list(dict.fromkeys(include)),
        **observers,
    )


def _keep_library_warnings(folder: RunFolder) -> None:
    """Add what libraries warned of to the record, each warning once."""
    new = [
        LibraryWarning(library=message.library, about=message.about, text=message.text)
        for message in JOURNAL.messages()
    ]
    stored = folder.record.library_warnings
    if any(warning not in stored for warning in new):
        folder.update(library_warnings=joined_warnings(stored, new))


def _generator_record(
    prepared: Prepared, settings: RunSettings, known: GeneratorRecord | None
) -> GeneratorRecord | None:
    generator = prepared.generator
    if generator is None:
        return None
    if prepared.only_stored:
        return known
    if known is not None and known.fingerprint != generator.fingerprint:
        raise T2IBenchError(
            f"Another process has just begun a run of another generator in {prepared.folder.path}.",
            "Run the same command again; it will choose another folder.",
        )
    asked: dict[str, Any] = {
        "name": generator.name,
        "model": settings.model or generator.name,
        "model_args": settings.model_args,
        "revision": generator.revision,
        "fingerprint": generator.fingerprint,
        "settings": dict(generator.settings),
        "rewriter": info_of(generator),
    }
    return GeneratorRecord(**asked) if known is None else known.model_copy(update=asked)


def _now() -> datetime:
    return datetime.now(timezone.utc).replace(microsecond=0)
