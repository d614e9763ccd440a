"""The stages of a run: generate, embed texts and images, ask; and mend what is damaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import ImageRequest
from t2ibench.pipeline.executors import DoesAll, Executor
from t2ibench.pipeline.job import Job, Stage
from t2ibench.pipeline.observers import EncoderRun
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.sharing import Advance, Piece, claim_name
from t2ibench.pipeline.stopping import between_batches, check
from t2ibench.pipeline.work import embed_texts
from t2ibench.store.evidence import text_key
from t2ibench.store.images import ImageStore, StoredImage
from t2ibench.store.pixels import UnreadableImageError

STAGES: dict[Stage, tuple[str, str]] = {
    "generate": ("Generating images", "images"),
    "embed": ("Embedding images", "images"),
    "ask": ("Asking judges", "answers"),
}


def run_stage(
    job: Job,
    stage: Stage,
    executor: Executor,
    reporter: Reporter,
    starting: Callable[[], None] = lambda: None,
) -> None:
    """One stage, by an executor; nothing where nothing is missing."""
    total = job.pending(stage)
    if not total:
        return
    starting()
    title, unit = STAGES[stage]
    with _stage(reporter, title, total, unit) as advance:
        executor.run(job, stage, advance)
        job.sharing.finish(advance, unit)


@contextmanager
def _stage(reporter: Reporter, title: str, total: int, unit: str) -> Iterator[Advance]:
    """A stage that stops between two batches when it is asked to."""
    with reporter.stage(title, total, unit) as ticker, between_batches():

        def advance(count: int) -> None:
            ticker.advance(count)
            check()

        yield advance


def embed_all_texts(job: Job, executor: Executor, reporter: Reporter) -> None:
    """Have each encoder and each control embed the texts that it has not seen."""
    job.refresh("embed")
    for number, (run, texts) in enumerate(job.texts()):
        piece = text_piece(job, run, texts)
        if not piece.known:
            continue
        name = f"Embedding texts ({run.encoder.name})"
        with _stage(reporter, name, piece.known, "texts") as advance:
            if isinstance(executor, DoesAll):
                executor.texts(job, number, piece.known, advance)
            else:
                job.sharing.do(piece, advance)
                job.sharing.finish(advance, "texts")


def text_piece(job: Job, run: EncoderRun, texts: Sequence[str]) -> Piece:
    """The texts of one encoder, as a piece of the work."""
    keys = [text_key(text) for text in texts]

    def left() -> int:
        job.refresh("embed")
        return len(run.store.missing("texts", keys))

    def work(advance: Callable[[int], None]) -> None:
        try:
            job.embedded += embed_texts(texts, run, advance)
        except T2IBenchError as error:
            job.stopped[run.encoder.name] = str(error)

    name = claim_name("texts", 0, run.encoder.fingerprint, keys)
    return Piece(name, "texts", left, work, len(run.store.missing("texts", keys)))


def repair(job: Job, executor: Executor, reporter: Reporter, from_folder: bool = False) -> None:
    """Generate damaged images again, once, and observe them; where that fails, go on without."""
    damaged = job.take_damaged()
    if not damaged:
        return
    how = "read from the folder" if from_folder else "generated"
    for line in dict.fromkeys(map(str, damaged)):
        reporter.warn(f"{line}. It is {how} again.")
    try:
        _generate_again(job, [one.image for one in damaged], executor, reporter)
    except T2IBenchError as error:
        reporter.warn(f"They could not be generated again: {error}")
        job.damaged = damaged
        return
    finally:
        job.release()
    run_stage(job, "embed", executor, reporter)
    run_stage(job, "ask", executor, reporter)
    job.damaged = job.take_damaged()


def _generate_again(
    job: Job, damaged: Sequence[StoredImage], executor: Executor, reporter: Reporter
) -> None:
    """Generate damaged images again, but for those that another process has mended."""
    piece = again_piece(job, damaged)
    with _stage(reporter, "Generating damaged images", piece.known, "images") as advance:
        if isinstance(executor, DoesAll):
            executor.again(job, damaged, piece.known, advance)
        else:
            job.sharing.do(piece, advance)
            job.sharing.finish(advance, "images")


def again_piece(job: Job, damaged: Sequence[StoredImage]) -> Piece:
    """Images whose files cannot be read, as a piece of the work."""
    names = {(image.prompt, image.index) for image in damaged}
    requests = [one for one in job.plan.requests if (one.prompt, one.index) in names]

    def broken() -> list[ImageRequest]:
        job.refresh("generate")
        return [one for one in requests if not _is_readable(job.images, one)]

    def work(advance: Callable[[int], None]) -> None:
        again = broken()
        job.generate(again, advance, frozenset((one.prompt, one.index) for one in again))

    name = claim_name("again", 0, sorted(names))
    return Piece(name, "again", lambda: len(broken()), work, len(requests))


def _is_readable(images: ImageStore | None, request: ImageRequest) -> bool:
    if images is None:
        return False
    attempt = images.get(request.prompt, request.index)
    if attempt is None or attempt.sha256 is None:
        return False
    try:
        images.image(attempt).read()
    except UnreadableImageError:
        return False
    return True
