"""People's labels as the answers of a judge, where no other judge gave any."""

from __future__ import annotations

from dataclasses import asdict

from t2ibench.methods.core.describe import listed
from t2ibench.models.fingerprint import fingerprint
from t2ibench.pipeline.scoring import JudgeEvidence, Scored
from t2ibench.results.run import RunFolder
from t2ibench.store.answers import LABELS_BY, AnswerStore, StoredAnswer
from t2ibench.store.database import Database
from t2ibench.store.labels import LabelStore


def label_judge(database: Database, labels: LabelStore) -> dict[str, JudgeEvidence]:
    """Store what most people answered about each image as a judge's answers."""
    every = labels.all()
    if not every:
        return {}
    name = LABELS_BY + listed(sorted({label.labeller for label in every}))
    content = fingerprint({"labels": [asdict(label) for label in every]})
    store = AnswerStore(database, name, content)
    asked = dict.fromkeys((label.image, label.question, label.classes) for label in every)
    store.add(StoredAnswer(*about, labels.majority(*about) or "") for about in asked)
    return {name: JudgeEvidence(store, content)}


def record_label_judge(folder: RunFolder, scored: Scored) -> None:
    """Note in the record whether people were the judge of a task."""
    used = {
        name: content
        for result in scored.results.values()
        for name, content in result.settings.judges.items()
        if name.startswith(LABELS_BY)
    }
    others = {
        name: content
        for name, content in folder.record.judges.items()
        if not name.startswith(LABELS_BY)
    }
    if folder.record.judges != {**others, **used}:
        folder.update(judges={**others, **used})
