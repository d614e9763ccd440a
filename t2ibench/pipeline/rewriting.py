"""Rewriting of prompts, once before generation, by one process of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from t2ibench.errors import T2IBenchError, failing, shown
from t2ibench.models.generators import can_regenerate
from t2ibench.models.language import (
    ChecksPrompts,
    Per,
    Rewriter,
    RewriteRequest,
    RewritesInParts,
    Rewriting,
)
from t2ibench.models.protocols import (
    Generator,
    ImageRequest,
    Releasable,
    ReportsSettings,
    ReportsWaits,
)
from t2ibench.models.rewriter_info import RewriterInfo
from t2ibench.models.rewriters import create_rewriter
from t2ibench.models.rewritten_generator import Rewritten
from t2ibench.models.servers import StopHeard, heed
from t2ibench.pipeline.people_tables import rewriter_arguments
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.run_context import Models, RunContext
from t2ibench.pipeline.stop_request import asked, between_batches
from t2ibench.settings import RunSettings
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore, image_seed
from t2ibench.store.rewrites import RewriteStore, StoredRewriting

# This many failures at the start, without a success, are the set-up's fault, not the prompts'.
ABORT_AFTER_FAILURES = 8
# prompts that a rewriter without parts is given at once: a kill loses at most these
_AT_ONCE = 64


def create_rewriting(
    settings: RunSettings, given: Rewriter | None, generator: Generator | None
) -> Rewriter | None:
    """Return the rewriter of a run, not loaded yet; None if the run has none."""
    if given is None and settings.rewriter is None:
        if settings.rewriter_args:
            raise T2IBenchError(
                "--rewriter-args needs a --rewriter to go to.",
                "`t2ibench ls rewriters` lists them.",
            )
        return None
    if generator is None:
        raise T2IBenchError(
            "--rewriter needs a --model to rewrite prompts for.",
            "Give one, or leave --rewriter out.",
        )
    if settings.model is not None and not can_regenerate(settings.model):
        raise T2IBenchError(
            f"--rewriter: the images of {generator.name} exist already, whatever is rewritten.",
            "Leave --rewriter out; a prompts.jsonl may name the prompts that they were made from.",
        )
    return create_rewriter(
        given if given is not None else str(settings.rewriter),
        rewriter_arguments(settings),
        device=settings.device,
        dtype=settings.dtype,
    )


def info_of(generator: object) -> RewriterInfo | None:
    """Return the description of the rewriter in front of a generator; None if it has none."""
    return generator.info if isinstance(generator, Rewritten) else None


def open_rewritings(generator: object, database: Database) -> None:
    """Give a generator that is behind a rewriter access to the stored rewritings."""
    if isinstance(generator, Rewritten):
        generator.rewritings = RewriteStore(database, generator.info.fingerprint)


def check_rewriter(rewriter: Rewriter | None, plan: Plan) -> None:
    """Raise an error if a rewriter cannot rewrite the plan's prompts, before generation."""
    if isinstance(rewriter, ChecksPrompts):
        rewriter.check(requests_of(plan.requests, rewriter.per, plan.settings.seed))


def to_rewrite(
    plan: Plan, images: ImageStore | None, generator: Generator | None
) -> list[RewriteRequest]:
    """Return requests for rewritings that missing images need and that are not stored yet."""
    if not isinstance(generator, Rewritten) or images is None:
        return []
    store = generator.rewritings
    assert isinstance(store, RewriteStore)
    pending = [request for request in plan.requests if not images.is_done(request.key)]
    needed = requests_of(pending, generator.info.per, plan.settings.seed)
    return [
        request
        for request in needed
        if not store.is_done(request.prompt, request.index)
    ]


def requests_of(
    requests: Sequence[ImageRequest], per: Per, seed: int
) -> list[RewriteRequest]:
    """Return the rewriting requests for images: one for each image, or one for each prompt."""
    if per == "image":
        return [
            RewriteRequest(request.prompt, request.index, request.seed)
            for request in requests
        ]
    prompts = dict.fromkeys(request.prompt for request in requests)
    return [
        RewriteRequest(prompt, None, image_seed(seed, prompt, 0)) for prompt in prompts
    ]


def rewrite_prompts(context: RunContext, models: Models, reporter: Reporter) -> None:
    """Rewrite the prompts of missing images, except those already rewritten."""
    generator = models.generator
    rewriter = models.rewriter
    if not isinstance(generator, Rewritten) or rewriter is None:
        return
    pending = to_rewrite(context.plan, context.images, generator)
    if not pending:
        return
    store = generator.rewritings
    assert isinstance(store, RewriteStore)
    try:
        _rewrite(pending, rewriter, store, reporter)
    finally:
        if isinstance(rewriter, ReportsSettings) and rewriter.effective_settings():
            context.folder.update(rewriter_settings=dict(rewriter.effective_settings()))
        if isinstance(rewriter, Releasable):
            rewriter.release()
    _report_missing(generator, store, reporter)


def _rewrite(
    todo: Sequence[RewriteRequest],
    rewriter: Rewriter,
    store: RewriteStore,
    reporter: Reporter,
) -> None:
    if isinstance(rewriter, ReportsWaits):
        rewriter.report_waits(reporter.say)
    succeeded, failed = False, 0
    heed(asked)
    with (
        reporter.stage("Rewriting prompts", len(todo), "prompts") as ticker,
        between_batches(),
        suppress(StopHeard),
    ):
        for part in parts_of(todo, rewriter):
            rows = [row_of(todo[number], rewriting) for number, rewriting in part]
            store.add(rows)
            ticker.advance(len(rows))
            succeeded |= any(row.status != "failed" for row in rows)
            failed += sum(row.status == "failed" for row in rows)
            if failed >= ABORT_AFTER_FAILURES and not succeeded:
                raise T2IBenchError(
                    f"The first {failed} prompts could all not be rewritten; the last error: "
                    f"{(rows[-1].reason or 'unknown').rstrip('.')}.",
                    "Fix the cause and re-run the same command.",
                )
            if asked():
                break


def parts_of(
    todo: Sequence[RewriteRequest], rewriter: Rewriter
) -> Iterator[list[tuple[int, Rewriting]]]:
    """Yield rewritings with the indexes of their requests, in parts as they are ready."""
    waiting = set(range(len(todo)))
    with failing(f"The rewriter '{rewriter.name}' failed with"):
        if isinstance(rewriter, RewritesInParts):
            for part in rewriter.rewrite_in_parts(todo):
                new = [
                    (number, rewriting)
                    for number, rewriting in part
                    if number in waiting
                ]
                waiting -= {number for number, _ in new}
                yield new
        else:
            for start in range(0, len(todo), _AT_ONCE):
                batch = todo[start : start + _AT_ONCE]
                given = rewriter.rewrite(batch)
                if len(given) != len(batch):
                    raise ValueError(f"{len(given)} rewritings of {len(batch)} prompts")
                waiting -= set(range(start, start + len(batch)))
                yield list(enumerate(given, start))
    if waiting:
        yield [
            (number, Rewriting("failed", reason="none was given")) for number in waiting
        ]


def row_of(request: RewriteRequest, rewriting: object) -> StoredRewriting:
    """Return a rewriting in the form in which it is stored."""
    row = StoredRewriting(request.prompt, request.index, "failed")
    if not isinstance(rewriting, Rewriting):
        return replace(
            row,
            reason=f"the rewriter gave a {type(rewriting).__name__}, not a Rewriting",
        )
    if rewriting.status == "ok":
        if not isinstance(rewriting.text, str) or not rewriting.text.strip():
            return replace(row, reason="the rewriter gave no text")
        return replace(row, status="ok", rewritten=rewriting.text)
    if rewriting.status not in {"refused", "failed"}:
        return replace(row, reason=f"the rewriter gave the status '{rewriting.status}'")
    return replace(
        row, status=rewriting.status, reason=rewriting.reason or "no reason was given"
    )


def _report_missing(
    generator: Rewritten, store: RewriteStore, reporter: Reporter
) -> None:
    """Warn of prompts that were not rewritten, and of the consequences for their images."""
    for status, verb in (
        ("refused", "refused to rewrite"),
        ("failed", "could not rewrite"),
    ):
        rows = [rewriting for rewriting in store if rewriting.status == status]
        if rows:
            reporter.warn(
                f"{generator.info.name} {verb} {len(rows)} prompts, such as "
                f"'{shown(rows[0].prompt)}' ({shown(rows[0].reason or '', 200)}); their images are "
                f"{status}."
            )
