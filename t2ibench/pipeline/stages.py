"""The stages of a run: generate, embed texts and images, ask; and mend what is damaged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import ImageRequest
from t2ibench.pipeline.executors import EXECUTORS
from t2ibench.pipeline.job import Job, Stage
from t2ibench.pipeline.observers import EncoderRun
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.sharing import Piece, claim_name
from t2ibench.pipeline.work import embed_texts
from t2ibench.store.evidence import text_key
from t2ibench.store.images import ImageStore, StoredImage
from t2ibench.store.pixels import UnreadableImageError

_STAGES: dict[Stage, tuple[str, str]] = {
    "generate": ("Generating images", "images"),
    "embed": ("Embedding images", "images"),
    "ask": ("Asking judges", "answers"),
}


def run_stage(
    job: Job,
    stage: Stage,
    engine: str,
    reporter: Reporter,
    starting: Callable[[], None] = lambda: None,
) -> None:
    """One stage, by an executor; nothing where nothing is missing.

    Args:
        job: The run.
        stage: Which kind of work.
        engine: The executor's name.
        reporter: Shows progress.
        starting: Called if anything is missing, before it is done.

    Raises:
        T2IBenchError: it cannot go on; what was done is kept.
    """
    total = job.pending(stage)
    if not total:
        return
    starting()
    title, unit = _STAGES[stage]
    with reporter.stage(title, total, unit) as ticker:
        EXECUTORS.get(engine).run(job, stage, ticker.advance)
        job.sharing.finish(ticker.advance, unit)


def embed_all_texts(job: Job, reporter: Reporter) -> None:
    """Have each encoder and each control embed the texts that it has not seen.

    Args:
        job: The run.
        reporter: Shows progress.
    """
    job.refresh("embed")
    for run, texts in job.texts():
        piece = _text_piece(job, run, texts)
        if piece.known:
            name = f"Embedding texts ({run.encoder.name})"
            with reporter.stage(name, piece.known, "texts") as ticker:
                job.sharing.do(piece, ticker.advance)
                job.sharing.finish(ticker.advance, "texts")


def _text_piece(job: Job, run: EncoderRun, texts: Sequence[str]) -> Piece:
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


def repair(job: Job, engine: str, reporter: Reporter, from_folder: bool = False) -> None:
    """Generate damaged images again, once, and observe them; where that fails, go on without.

    Args:
        job: The run; `damaged` says afterwards what could not be mended.
        engine: The executor's name.
        reporter: Shows progress.
        from_folder: Whether images are read from a folder.
    """
    damaged = job.take_damaged()
    if not damaged:
        return
    how = "read from the folder" if from_folder else "generated"
    for line in dict.fromkeys(map(str, damaged)):
        reporter.warn(f"{line}. It is {how} again.")
    try:
        _generate_again(job, [one.image for one in damaged], reporter)
    except T2IBenchError as error:
        reporter.warn(f"They could not be generated again: {error}")
        job.damaged = damaged
        return
    finally:
        job.release()
    run_stage(job, "embed", engine, reporter)
    run_stage(job, "ask", engine, reporter)
    job.damaged = job.take_damaged()


def _generate_again(job: Job, damaged: Sequence[StoredImage], reporter: Reporter) -> None:
    """Generate damaged images again, but for those that another process has mended."""
    names = {(image.prompt, image.index) for image in damaged}
    requests = [one for one in job.plan.requests if (one.prompt, one.index) in names]

    def broken() -> list[ImageRequest]:
        job.refresh("generate")
        return [one for one in requests if not _is_readable(job.images, one)]

    def work(advance: Callable[[int], None]) -> None:
        again = broken()
        job.generate(again, advance, frozenset((one.prompt, one.index) for one in again))

    name = claim_name("again", 0, sorted(names))
    piece = Piece(name, "again", lambda: len(broken()), work, len(requests))
    with reporter.stage("Generating damaged images", len(requests), "images") as ticker:
        job.sharing.do(piece, ticker.advance)
        job.sharing.finish(ticker.advance, "images")


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
