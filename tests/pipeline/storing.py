"""Generating, embedding and asking in this process, each part stored as it comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from t2ibench.models.protocols import Encoder, Generator, ImageRequest, Judge
from t2ibench.pipeline.embedding import embedded_images, missing_embeddings
from t2ibench.pipeline.generation import generated
from t2ibench.pipeline.job import store_images
from t2ibench.pipeline.judging import answered, unanswered
from t2ibench.pipeline.work_items import AskReport, EmbeddingBatch, ImageQuestions
from t2ibench.store.answers import AnswerStore
from t2ibench.store.database import Database
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import Attempt, ImageStore, StoredImage


class Opened(NamedTuple):
    model: Any
    store: Any


def open_encoder(encoder: Encoder, database: Database) -> Opened:
    return Opened(encoder, EvidenceStore(database, encoder.name, encoder.fingerprint))


def open_judge(judge: Judge, database: Database) -> Opened:
    return Opened(judge, AnswerStore(database, judge.name, judge.fingerprint))


def generate_images(
    requests: Iterable[ImageRequest],
    generator: Generator,
    store: ImageStore,
    on_batch: Callable[[list[Attempt]], object] = lambda _: None,
) -> list[Attempt]:
    todo = [request for request in requests if not store.is_done(request.key)]
    attempts: list[Attempt] = []
    with closing(generated(todo, generator)) as parts:
        for files in parts:
            stored = store_images(files, store)
            attempts += stored
            on_batch(stored)
    return attempts


def embed(images: Iterable[StoredImage], runs: Sequence[Opened]) -> EmbeddingBatch:
    report = EmbeddingBatch("images", 0)
    stores = {run.store.name: run.store for run in runs}
    encoders = {run.store.name: run.model for run in runs}
    for part in embedded_images(
        missing_embeddings(images, list(stores.values())), encoders, {}
    ):
        for name, (keys, rows) in part.rows.items():
            stores[name].add(part.kind, keys, rows)
        report.tried += part.tried
        report.damaged += part.damaged
        report.failures |= part.failures
        for name, reasons in part.unread.items():
            report.unread.setdefault(name, Counter()).update(reasons)
    return report


def ask(questions: Iterable[ImageQuestions], run: Opened) -> AskReport:
    report = AskReport()
    with closing(answered(unanswered(questions, run.store), run.model)) as parts:
        for part in parts:
            run.store.add(part.answers)
            report.add(part)
    return report
