"""Generating, embedding and asking in this process, each stored as it comes.

Each is idempotent in the store: what is stored is not made again. The explorer and the caption
command work through these functions; a run hands the same parts to several workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import Encoder, Generator, ImageRequest, Judge
from t2ibench.pipeline.embedding import embedded_images
from t2ibench.pipeline.generation import ImageFile, generated
from t2ibench.pipeline.judging import answered, unanswered
from t2ibench.pipeline.pieces import AskReport, Embedded, ImageQuestions, ImageToEmbed
from t2ibench.store.answers import AnswerStore
from t2ibench.store.database import Database
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.images import Attempt, ImageStore, StoredImage


@dataclass(frozen=True, slots=True)
class EncoderRun:
    """An encoder and where its embeddings go."""

    encoder: Encoder
    store: EvidenceStore


@dataclass(frozen=True, slots=True)
class JudgeRun:
    """A judge and where its answers go."""

    judge: Judge
    store: AnswerStore


def open_encoder(encoder: Encoder, database: Database) -> EncoderRun:
    """An encoder with its embeddings of a run."""
    return EncoderRun(encoder, EvidenceStore(database, encoder.name, encoder.fingerprint))


def open_judge(judge: Judge, database: Database) -> JudgeRun:
    """A judge with its answers of a run."""
    return JudgeRun(judge, AnswerStore(database, judge.name, judge.fingerprint))


def _ignore(_: Any) -> None:
    pass


def generate_images(
    requests: Iterable[ImageRequest],
    generator: Generator,
    store: ImageStore,
    *,
    batch_size: int | None = None,
    on_batch: Callable[[Sequence[Attempt]], None] = _ignore,
) -> list[Attempt]:
    """Generate what is missing; what was generated before an error is kept."""
    todo = [request for request in requests if not store.is_done(request.prompt, request.index)]
    attempts: list[Attempt] = []
    with closing(generated(todo, generator, batch_size=batch_size)) as parts:
        for files in parts:
            stored = store_images(files, store)
            attempts += stored
            on_batch(stored)
    return attempts


def store_images(files: Sequence[ImageFile], store: ImageStore) -> list[Attempt]:
    """Write the files of images, then their rows: a row without its file never exists."""
    attempts: list[Attempt] = []
    looks: dict[str, Float32Array] = {}
    failure: T2IBenchError | None = None
    for one in files:
        at = one.request.prompt, one.request.index, one.request.seed
        if one.data is None:
            attempt = store.add_missing(*at, one.status, one.reason)
        else:
            try:
                attempt = store.add_image(*at, one.data, one.suffix)
            except T2IBenchError as error:  # of the disk; the others of the batch are recorded
                failure = failure or error
                continue
            if one.look is not None:
                looks[attempt.sha256 or ""] = one.look
        attempts.append(replace(attempt, revised_prompt=one.revised_prompt))
    store.record(attempts, looks)
    if failure is not None:
        raise failure
    return attempts


def missing_embeddings(
    images: Iterable[StoredImage], runs: Sequence[EncoderRun]
) -> list[ImageToEmbed]:
    """The images that an encoder has not embedded yet, each file once, with who has not."""
    seen: set[str] = set()
    missing: list[ImageToEmbed] = []
    for image in images:
        if image.sha256 not in seen:
            names = [run.encoder.name for run in runs if not run.store.has("images", image.sha256)]
            if names:
                missing.append((image, names))
        seen.add(image.sha256)
    return missing


def embed(
    images: Iterable[StoredImage],
    runs: Sequence[EncoderRun],
    on_part: Callable[[int], None] = _ignore,
) -> Embedded:
    """Embed the images that have no embedding yet."""
    report = Embedded("images", 0)
    stores = {run.encoder.name: run.store for run in runs}
    encoders = {run.encoder.name: run.encoder for run in runs}
    widths = {name: store.width for name, store in stores.items()}
    for part in embedded_images(missing_embeddings(images, runs), encoders, widths):
        store_rows(part, stores)
        report.tried += part.tried
        report.damaged += part.damaged
        report.failures |= part.failures
        on_part(part.tried)
    return report


def store_rows(part: Embedded, stores: dict[str, EvidenceStore]) -> None:
    """Store the embeddings of images or texts."""
    for name, (keys, rows) in part.rows.items():
        stores[name].add(part.kind, keys, rows)


def missing_texts(texts: Iterable[str], store: EvidenceStore) -> list[str]:
    """The texts that have no embedding yet, each once."""
    by_key = {text_key(text): text for text in texts}
    return [by_key[key] for key in store.missing("texts", by_key)]


def ask(questions: Iterable[ImageQuestions], run: JudgeRun) -> AskReport:
    """Ask a judge what it has not answered yet, and store each part as it comes."""
    report = AskReport()
    with closing(answered(unanswered(questions, run.store), run.judge)) as parts:
        for part in parts:
            store_answers(part, run, report)
    return report


def store_answers(part: AskReport, run: JudgeRun, report: AskReport) -> None:
    """Store a part of a judge's answers, and count them."""
    run.store.add(part.answers)
    part.answered = len(part.answers)
    report.add(part)
