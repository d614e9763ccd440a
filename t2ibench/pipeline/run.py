"""One run from plan to results: generate, embed, ask, score and write."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial

from t2ibench.errors import CostLimitError, T2IBenchError
from t2ibench.methods.core.describe import listed
from t2ibench.models.generators import libraries_of
from t2ibench.models.library_messages import Journal
from t2ibench.models.protocols import Charges, ChecksAccess, ReportsWaits
from t2ibench.pipeline import stop_request
from t2ibench.pipeline.call_record import record_call
from t2ibench.pipeline.downloads import check_downloads
from t2ibench.pipeline.engines import check_adapters, executor_of, generating_executor
from t2ibench.pipeline.executors import Executor
from t2ibench.pipeline.generator_record import spent, tell_cost
from t2ibench.pipeline.job import Job
from t2ibench.pipeline.job_problems import (
    check_looked_up,
    problems_of,
    record_unasked_answers,
)
from t2ibench.pipeline.missing_work import Stage
from t2ibench.pipeline.outcome import Outcome
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.rescoring import score_stored
from t2ibench.pipeline.reused_evidence import reuse_evidence
from t2ibench.pipeline.rewriting import rewrite_prompts
from t2ibench.pipeline.run_context import Models, RunContext
from t2ibench.pipeline.score_cache import ScoreCache
from t2ibench.pipeline.secret_search import secrets_written_now
from t2ibench.pipeline.shared_observations import take_over_observations
from t2ibench.pipeline.source_generation import generate_sources
from t2ibench.pipeline.worker import Observers
from t2ibench.results.builder import is_complete
from t2ibench.results.record import HistoryEntry, joined_warnings
from t2ibench.results.run import RunFolder, mending, versions
from t2ibench.results.schema import LibraryWarning
from t2ibench.store.answers import is_file_of_answers
from t2ibench.store.repair import mend

_TITLES: dict[Stage, tuple[str, str]] = {
    "generate": ("Generating images", "images"),
    "texts": ("Embedding texts", "texts"),
    "embed": ("Embedding images", "images"),
    "ask": ("Asking judges", "answers"),
}
_OF_SOURCES: dict[Stage, str] = {
    "generate": "Generating source images",
    "embed": "Embedding source images",
    "ask": "Asking about source images",
}


def execute(context: RunContext, models: Models, reporter: Reporter) -> Outcome:
    """Do the missing work of a run (generate, embed, ask, score), and write the results.

    With `generate_only` it stops after the images, with `no_score` after the answers.
    """
    settings = context.settings
    folder = context.folder
    observing = not settings.generate_only
    of_sources = generate_sources(context, models, reporter, execute)
    check_adapters(settings, models.adapters)
    check_downloads(context, models, observing)
    with (
        mending(),
        models.library_messages.listening(lambda message: reporter.warn(message.line)),
        executor_of(context, models, reporter, observing) as executor,
        context.exclusive(reporter),
    ):
        started = _now()
        _check_names(executor.observers)
        if observing and not settings.no_score:
            _check_image_encoders(context, executor.observers, reporter)
        job = Job(context, models, executor.observers)
        if context.images is not None:
            # Read now, so that `mend` reports and removes those that are damaged.
            context.images.open_perceptual_hashes()
        mend(folder.database, reporter)
        record_call(context, models, executor.observers if observing else None)
        _check_access(job)
        if not context.stored_images_only:
            with (
                _generation(job, executor, reporter) as generating,
                _cost_limit_explained(context),
            ):
                run_stage(job, "generate", generating, reporter)
            job.check_generated()
        if observing:
            _observe(job, executor, reporter)
        executor.close()  # scoring needs the memory, and no model
        _record_library_warnings(folder, models.library_messages)
        outcome = _outcome_before_scores(job)
        if of_sources is not None:
            outcome.add_sources(of_sources)
        if observing and not settings.no_score:
            _score(job, reporter, outcome)
        elif observing:
            outcome.complete = _is_observed(job)
        else:
            _check_only_generated(job, outcome)
        entry = HistoryEntry(command=context.call, started=started, finished=_now())
        entry.generated = dict(outcome.attempts)
        if of_sources is not None and not of_sources.complete:
            outcome.complete = False
        status = "complete" if outcome.complete else "incomplete"
        folder.update(status=status, history=[*folder.record.history, entry])
        for line in secrets_written_now(folder.database):
            reporter.warn(line)
        return outcome


def run_stage(job: Job, stage: Stage, executor: Executor, reporter: Reporter) -> None:
    """Execute one stage of a run, and store its results."""
    left = job.missing.left(stage)
    if not left:
        return
    title, unit = _TITLES[stage]
    if job.context.makes_sources:
        title = _OF_SOURCES.get(stage, title)
    results = executor.run(left, partial(job.item, stage))
    with (
        reporter.stage(title, sum(left.values()), unit) as ticker,
        stop_request.between_batches(),
    ):
        try:
            for result in results:
                with stop_request.held():
                    stored = job.store(result)
                ticker.advance(stored)
        except KeyboardInterrupt:
            stop_request.ask()
            for result in results:
                job.store(result)


@contextmanager
def _generation(job: Job, executor: Executor, reporter: Reporter) -> Iterator[Executor]:
    """Rewrite prompts, provide the executor for generation, and report the cost at the end."""
    context, models = job.context, job.models
    generator = models.generator
    rewrite_prompts(context, models, reporter)
    spent_before = spent(context.folder)
    if isinstance(generator, ReportsWaits):
        generator.report_waits(reporter.say)
    line = mixed_libraries(context)
    if line and job.missing.pending("generate"):
        reporter.warn(line)
    try:
        yield generating_executor(executor, context, models, reporter)
    finally:
        if isinstance(generator, Charges):
            job.settle()
            tell_cost(context.folder, spent_before, "Images made", reporter.say)


@contextmanager
def _cost_limit_explained(context: RunContext) -> Iterator[None]:
    """Add to a --max-cost error in this context how many images exist, and how to score them."""
    try:
        yield
    except CostLimitError as error:
        if context.makes_sources:
            raise
        raise T2IBenchError(
            error.message, f"{error.hint} {_how_to_score(context)}"
        ) from error


def _how_to_score(context: RunContext) -> str:
    """Return a sentence with the number of existing images and the command that scores them."""
    images, plan = context.images, context.plan
    assert images is not None
    done = [request for request in plan.requests if images.is_done(request.key)]
    of_prompts = [request for request in done if request.source is None]
    command = f"t2ibench score {shlex.quote(str(context.folder.path))}"
    counts = []
    if plan.prompts or not plan.has_edits:
        count = f"{len(of_prompts)} of {sum(plan.prompts.values())} images are there"
        counts.append(count)
    if plan.has_edits:
        n_edits = len(done) - len(of_prompts)
        counts.append(f"{n_edits} of {plan.n_expected_edits} edits are there")
    n_without = len(plan.prompts) - len({request.prompt for request in of_prompts})
    if n_without:
        prompts = f"{n_without} of {len(plan.prompts)} prompts have none"
        effect = "this embeds and scores the others, and results say so"
        return f"{'; '.join([*counts, prompts, effect])}: {command} --allow-missing"
    if plan.prompts:
        counts[0] += ", at least one of every prompt"
    return f"{'; '.join(counts)}; this embeds and scores them: {command}"


def _observe(job: Job, executor: Executor, reporter: Reporter) -> None:
    """Embed texts and images, and ask the judges."""
    # A file of answers may be about edits alone.
    if not job.context.makes_sources:
        check_looked_up(job, reporter.warn)
        record_unasked_answers(job)
    take_over_observations(
        job.context.plan, job.images, job.stores, job.context.sources, job.observers
    )
    _reuse_earlier(job)
    run_stage(job, "texts", executor, reporter)
    run_stage(job, "embed", executor, reporter)
    encoders = {store.name for store in job.stores.encoders}
    if encoders and not job.stores.judges and encoders <= job.stopped.keys():
        raise T2IBenchError(next(iter(job.stopped.values())))
    run_stage(job, "ask", executor, reporter)


def _reuse_earlier(job: Job) -> None:
    """Take over what an earlier run of the same images knows of them, if the call names one."""
    earlier = job.context.earlier
    if earlier is None or job.images is None:
        return
    attempts = job.images.attempts()
    images = {attempt.sha256 for attempt in attempts if attempt.sha256 is not None}
    reuse_evidence(earlier, job.stores, images)


def _outcome_before_scores(job: Job) -> Outcome:
    """Return the outcome of generation and observation."""
    answered = sum(report.answered for report in job.reports.values())
    return Outcome(
        results=None,
        folder=job.context.folder.path,
        attempts=job.attempts,
        observed=job.embedded + answered,
        damaged=[
            f"{file}; the same command again regenerates it" for file in job.damaged
        ],
        problems=problems_of(job),
        not_generated=job.not_generated,
        stopped=dict(job.stopped),
    )


def _is_observed(job: Job) -> bool:
    """Return whether a run has nothing left to generate, embed or ask, and nothing failed."""
    stages: tuple[Stage, ...] = ("generate", "embed", "ask")
    left = sum(job.missing.pending(stage) for stage in stages)
    lacks_images = job.lacks_images() and not job.context.settings.allow_missing
    return not (left or lacks_images or job.stopped or job.damaged)


def _check_only_generated(job: Job, outcome: Outcome) -> None:
    """Record whether a generation-only run has its images; none at all is a problem."""
    context = job.context
    outcome.complete = context.settings.allow_missing or not job.is_unfinished()
    if not job.has_images():
        outcome.complete = False
        wanted = len(context.plan.requests)
        outcome.problems.append(f"There is no image: none of {wanted} was made.")


def _check_access(job: Job) -> None:
    """Raise an error, before images are generated, if a judge that is needed has no access."""
    for judge in job.observers.judges:
        if not isinstance(judge, ChecksAccess):
            continue
        try:
            judge.check_access()
        except T2IBenchError as error:
            if job.missing.pending("generate") or job.missing.pending("ask"):
                raise T2IBenchError(
                    f"{judge.name}: {error.message}", error.hint
                ) from None


def _check_image_encoders(
    context: RunContext, observers: Observers, reporter: Reporter
) -> None:
    """Warn before generation if no encoder embeds images; raise an error if all tasks need it."""
    plan = context.plan
    on_images = [
        task.id
        for task in plan.tasks
        if plan.needs[task.id].shows_images and not plan.needs[task.id].is_judged
    ]
    if not on_images or any(encoder.embeds_images for encoder in observers.encoders):
        return
    names = listed([encoder.name for encoder in observers.encoders])
    line = f"{names or 'No encoder'} embeds no images, so {listed(on_images)} cannot be scored."
    hint = "Add an encoder of images, such as --encoder clip, or choose tasks on texts."
    if len(on_images) == len(plan.tasks):
        raise T2IBenchError(line, hint)
    reporter.warn(f"{line} {hint}")


def _check_names(observers: Observers) -> None:
    """Raise an error unless encoders and judges have unique names, which identify results."""
    encoders = [*observers.encoders, *observers.controls.values()]
    for kind, models in (("encoder", encoders), ("judge", observers.judges)):
        for name, count in Counter(model.name for model in models).items():
            if count > 1:
                raise T2IBenchError(
                    f"{count} {kind}s have the name '{name}'.",
                    "Give each its own name.",
                )


def mixed_libraries(context: RunContext) -> str | None:
    """Return a warning if stored images were made with other library versions; else None."""
    record = context.record.generator
    if record is None or not record.libraries:
        return None
    installed = versions(libraries_of(record.model))
    changed = [
        f"{name} {version} then, {installed.get(name, 'none')} now"
        for name, version in record.libraries.items()
        if installed.get(name) != version
    ]
    if not changed:
        return None
    return (
        f"The images in {context.folder.path} were generated with other versions "
        f"({'; '.join(changed)}); new ones may differ. Use another --output-dir to keep them apart."
    )


def _score(job: Job, reporter: Reporter, outcome: Outcome) -> None:
    """Score the stored evidence, and write the results."""
    context = job.context
    folder, plan = context.folder, context.plan
    _check_judge_checks(context, reporter)
    outcome.results, outcome.scored, is_damaged = score_stored(
        folder,
        plan,
        context.images,
        reporter,
        ScoreCache(folder.database),
        context.tasks_of_this_command,
    )
    # What files of answers leave out, `is_complete` tells, question by question.
    unanswered = any(
        report.failed
        for name, report in job.reports.items()
        if not is_file_of_answers(name)
    )
    task_results = [outcome.results.tasks[task.id] for task in plan.tasks]
    outcome.complete = is_complete(task_results, context.settings.allow_missing)
    if (
        job.stopped
        or unanswered
        or job.damaged
        or is_damaged
        or context.feasibility.skipped
    ):
        outcome.complete = False


def _check_judge_checks(context: RunContext, reporter: Reporter) -> None:
    """Warn of judge checks that are about judges that this run does not use."""
    judges = context.record.judges
    for check in context.judge_checks:
        if judges.get(check.judge) == check.fingerprint:
            continue
        why = "which did not answer"
        if check.judge in judges:
            why = "with other settings or in another version"
        reporter.warn(f"--judge-check is of {check.judge}, {why}: it corrects nothing.")


def _record_library_warnings(folder: RunFolder, messages: Journal) -> None:
    """Add library warnings to the record, without duplicates."""
    new = [
        LibraryWarning(library=message.library, about=message.about, text=message.text)
        for message in messages.messages()
    ]
    stored = folder.record.library_warnings
    if any(warning not in stored for warning in new):
        folder.update(library_warnings=joined_warnings(stored, new))


def _now() -> datetime:
    return datetime.now(timezone.utc).replace(microsecond=0)
