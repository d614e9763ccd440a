"""Prompts are rewritten once, before anything is generated, by one process of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from t2ibench.errors import T2IBenchError, failing, shown
from t2ibench.methods.core.describe import listed
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
    Charges,
    Generator,
    ImageRequest,
    KnowsWords,
    Releasable,
    ReportsWaits,
)
from t2ibench.models.rewriters import create_rewriter
from t2ibench.models.rewritten_generator import RewriterInfo, Rewritten, describe, rewritten
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.stop_request import between_batches, check
from t2ibench.results.run import RunFolder
from t2ibench.settings import RunSettings
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore, image_seed
from t2ibench.store.locks import locked
from t2ibench.store.rewrites import RewriteStore, StoredRewriting

if TYPE_CHECKING:
    from t2ibench.pipeline.preparation import Prepared

# This many failures at the start, without a success, are the set-up's fault, not the prompts'.
ABORT_AFTER_FAILURES = 8
_AT_ONCE = 64  # prompts that a rewriter without parts is given: what a kill can cost
_WORDS = 12  # in a warning


def create_rewriting(
    settings: RunSettings, given: Rewriter | None, generator: Generator | None
) -> Rewriter | None:
    """The rewriter of a run; it loads nothing yet."""
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
        settings.rewriter_args,
        device=settings.device,
        dtype=settings.dtype,
    )


def info_of(generator: object) -> RewriterInfo | None:
    """What stands before a generator."""
    return generator.info if isinstance(generator, Rewritten) else None


def open_rewritings(generator: object, database: Database) -> None:
    """Let a generator behind a rewriter find the rewritings of a run."""
    if isinstance(generator, Rewritten):
        generator.rewritings = RewriteStore(database, generator.info.fingerprint)


def check_rewriter(prepared: Prepared) -> None:
    """Have a rewriter say what it cannot rewrite, before anything is generated."""
    rewriter = prepared.rewriter
    if isinstance(rewriter, ChecksPrompts):
        plan = prepared.plan
        rewriter.check(requests_of(plan.requests, rewriter.per, plan.settings.seed))


def to_rewrite(prepared: Prepared) -> list[RewriteRequest]:
    """What the missing images of a run need rewritten and is not."""
    generator, images = prepared.generator, prepared.images
    if not isinstance(generator, Rewritten) or images is None:
        return []
    store = generator.rewritings
    assert isinstance(store, RewriteStore)
    plan = prepared.plan
    pending = [one for one in plan.requests if not images.is_done(one.prompt, one.index)]
    asked = requests_of(pending, generator.info.per, plan.settings.seed)
    return [one for one in asked if not store.is_done(one.prompt, one.index)]


def requests_of(requests: Sequence[ImageRequest], per: Per, seed: int) -> list[RewriteRequest]:
    """What images need rewritten."""
    if per == "image":
        return [RewriteRequest(one.prompt, one.index, one.seed) for one in requests]
    prompts = dict.fromkeys(one.prompt for one in requests)
    return [RewriteRequest(prompt, None, image_seed(seed, prompt, 0)) for prompt in prompts]


def rewrite_prompts(prepared: Prepared, reporter: Reporter) -> None:
    """Rewrite what the missing images of a run need; what is stored is not asked for again."""
    generator, rewriter = prepared.generator, prepared.rewriter
    if not isinstance(generator, Rewritten) or rewriter is None or not to_rewrite(prepared):
        return
    store = generator.rewritings
    assert isinstance(store, RewriteStore) and prepared.images is not None
    with locked(prepared.folder.path, "rewrites", reporter):
        store.refresh()
        if store.damage:
            reporter.warn(store.damage.mended())
            store.mend()
        _recover(prepared.plan.prompts, generator, store, prepared.images)
        if todo := to_rewrite(prepared):
            try:
                _rewrite(todo, rewriter, store, reporter)
            finally:
                if isinstance(rewriter, Releasable):
                    rewriter.release()
    _tell(generator, store, reporter)


def _recover(
    counts: dict[str, int], generator: Rewritten, store: RewriteStore, images: ImageStore
) -> None:
    """Take rewritings that were lost from the rows of images that were made from them."""
    if isinstance(generator, Charges):  # a server may have rewritten what it was given
        return
    found = []
    for prompt, count in counts.items():
        for index in range(count):
            place = index if generator.info.per == "image" else None
            attempt = images.get(prompt, index)
            if attempt is None or attempt.revised_prompt is None or store.is_done(prompt, place):
                continue
            found.append(StoredRewriting(prompt, place, "ok", attempt.revised_prompt))
            if place is None:
                break
    if found:
        store.add(found)


def _rewrite(
    todo: Sequence[RewriteRequest],
    rewriter: Rewriter,
    store: RewriteStore,
    reporter: Reporter,
) -> None:
    if isinstance(rewriter, ReportsWaits):
        rewriter.report_waits(reporter.say)
    succeeded, failed = False, 0
    with reporter.stage("Rewriting prompts", len(todo), "prompts") as ticker, between_batches():
        for part in parts_of(todo, rewriter):
            rows = [row_of(todo[number], found) for number, found in part]
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
            check()


def parts_of(
    todo: Sequence[RewriteRequest], rewriter: Rewriter
) -> Iterator[list[tuple[int, Rewriting]]]:
    """Have prompts rewritten."""
    waiting = set(range(len(todo)))
    with failing(f"The rewriter '{rewriter.name}' failed with"):
        if isinstance(rewriter, RewritesInParts):
            for part in rewriter.rewrite_in_parts(todo):
                new = [(number, found) for number, found in part if number in waiting]
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
        yield [(number, Rewriting("failed", reason="none was given")) for number in waiting]


def row_of(request: RewriteRequest, found: object) -> StoredRewriting:
    """A rewriting as it is stored."""
    row = StoredRewriting(request.prompt, request.index, "failed")
    if not isinstance(found, Rewriting):
        return replace(row, reason=f"the rewriter gave a {type(found).__name__}, not a Rewriting")
    if found.status == "ok":
        if not isinstance(found.text, str) or not found.text.strip():
            return replace(row, reason="the rewriter gave no text")
        return replace(row, status="ok", rewritten=found.text)
    if found.status not in {"refused", "failed"}:
        return replace(row, reason=f"the rewriter gave the status '{found.status}'")
    return replace(row, status=found.status, reason=found.reason or "no reason was given")


def _tell(generator: Rewritten, store: RewriteStore, reporter: Reporter) -> None:
    """What a user must know of the rewritings of a run."""
    for status, verb in (("refused", "refused to rewrite"), ("failed", "could not rewrite")):
        rows = [one for one in store if one.status == status]
        if rows:
            reporter.warn(
                f"{generator.info.name} {verb} {len(rows)} prompts, such as "
                f"'{shown(rows[0].prompt)}' ({shown(rows[0].reason or '', 200)}); their images are "
                f"{status}."
            )
    if isinstance(generator.inner, KnowsWords):
        before = set(generator.inner.unknown_words(one.prompt for one in store))
        after = generator.inner.unknown_words(one.rewritten for one in store if one.rewritten)
        words = [word for word in after if word not in before]
        if words:
            named = listed([f"'{shown(word)}'" for word in words], _WORDS)
            reporter.warn(
                f"{generator.inner.name} cannot draw what these words of rewritten prompts mean: "
                f"{named}."
            )


def rewriting_again(generator: Generator, run: RunFolder, device: str | None) -> Generator:
    """The model of a stored run, for further prompts: they are rewritten as they come."""
    recorded = run.record.generator
    if recorded is None or recorded.rewriter is None:
        return generator
    settings = run.record.settings
    rewriter = create_rewriter(
        settings.rewriter or recorded.rewriter.name,
        settings.rewriter_args,
        device=device,
        dtype=settings.dtype,
        recorded=True,
    )
    model = rewritten(generator, describe(rewriter, generator))
    assert isinstance(model, Rewritten)
    model.rewritings = Asking(run.database, rewriter, run.record.measurement.seed)
    return model


class Asking:
    """Rewritings of a run, and of further prompts as they come (see models.rewritten_generator).

    Args:
        database: The run's.
        rewriter: Who is asked for what is not there.
        seed: The run's seed.
    """

    def __init__(self, database: Database, rewriter: Rewriter, seed: int) -> None:
        self._rewriter, self._seed = rewriter, seed
        self._store = RewriteStore(database, rewriter.fingerprint)

    def find(self, prompt: str, index: int) -> StoredRewriting | None:
        """The rewriting that an image is made from; asked for and stored where there is none."""
        image = ImageRequest(prompt, index, image_seed(self._seed, prompt, index))
        (request,) = requests_of([image], self._rewriter.per, self._seed)
        if not self._store.is_done(prompt, request.index):
            # Nobody else asks for it meanwhile.
            with locked(self._store.database.folder, "rewrites"):
                self._store.refresh()
                if not self._store.is_done(prompt, request.index):
                    for part in parts_of([request], self._rewriter):
                        self._store.add(row_of(request, one) for _, one in part)
        return self._store.find(prompt, index)
