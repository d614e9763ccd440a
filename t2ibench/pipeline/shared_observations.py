"""Observations of source images that hold for edits, too: a model gave the same file back.

An image is observed by its file. What was embedded and answered about a source image is taken over
for an edit with the same bytes, so that nothing is asked twice and both have the same answers.
"""

from __future__ import annotations

import numpy as np

from t2ibench.pipeline.missing_work import ObservationStores
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.run_context import SourceRun
from t2ibench.pipeline.worker import Observers
from t2ibench.store.answers import AnswerStore
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import Attempt, ImageStore


def take_over_observations(
    plan: Plan,
    images: ImageStore | None,
    stores: ObservationStores,
    sources: SourceRun | None,
    observers: Observers,
) -> None:
    """Store for unchanged edits what encoders and judges observed of their source images.

    Args:
        plan: The plan of the run with the edits.
        images: Its images.
        stores: Its embeddings and answers.
        sources: The run with the source images; None without edits.
        observers: The encoders and judges of both.
    """
    if images is None or sources is None:
        return
    attempts = [images.get(request.key) for request in plan.edits.requests]
    unchanged = [
        attempt
        for attempt in attempts
        if attempt is not None and attempt.sha256 and attempt.sha256 == attempt.source
    ]
    if not unchanged:
        return
    database = sources.context.folder.database
    of_sources = ObservationStores.opened(database, observers)
    for store, source in zip(stores.encoders, of_sources.encoders, strict=True):
        _take_over_embeddings(plan, unchanged, store, source)
    for name, control in stores.controls.items():
        _take_over_embeddings(plan, unchanged, control, of_sources.controls[name])
    for judge, source_judge in zip(stores.judges, of_sources.judges, strict=True):
        _take_over_answers(plan, unchanged, judge, source_judge)


def _take_over_embeddings(
    plan: Plan,
    unchanged: list[Attempt],
    store: EvidenceStore,
    sources: EvidenceStore,
) -> None:
    hashes = [
        attempt.sha256
        for attempt in unchanged
        if attempt.sha256 and plan.is_embedded(attempt.key)
    ]
    keys = [
        key for key in store.missing("images", hashes) if sources.has("images", key)
    ]
    if keys:
        rows = np.stack([sources.get("images", key) for key in keys])
        store.add("images", keys, rows)


def _take_over_answers(
    plan: Plan, unchanged: list[Attempt], judge: AnswerStore, sources: AnswerStore
) -> None:
    answers = [
        sources.get(str(attempt.sha256), *question)
        for attempt in unchanged
        for question in plan.questions_about(attempt.key)
    ]
    judge.add(answer for answer in answers if answer is not None)
