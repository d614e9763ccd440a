"""Scores that need not be computed again: nothing that decides them has changed.

A score is a pure function of the task, the settings, the evidence and the code. With a run, each
task's scores are stored with a digest over all of these; they are taken from there only where the
digest of what is at hand now is the same.
"""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pydantic
import scipy

import t2ibench
from t2ibench.errors import T2IBenchError
from t2ibench.methods import METHODS
from t2ibench.methods.core.concepts import synonyms
from t2ibench.results.paired import PairedTask, dump_paired, load_paired
from t2ibench.results.samples import dump_samples
from t2ibench.results.schema import TaskResult
from t2ibench.store.database import Database
from t2ibench.store.evidence import text_key
from t2ibench.store.scores import ScoreStore, StoredScore
from t2ibench.version import __version__

if TYPE_CHECKING:
    from t2ibench.pipeline.plan import Plan
    from t2ibench.pipeline.stores import Stores
    from t2ibench.tasks.loader import LoadedTask


@cache
def _code() -> str | None:
    """What computes: the source of this package, and the versions of what it computes with."""
    digest = hashlib.sha256()
    root = Path(t2ibench.__file__).parent
    try:
        for path in sorted({*root.rglob("*.py"), *root.glob("methods/**/*.txt")}):
            digest.update(f"{path.relative_to(root)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    except OSError:
        return None
    versions = (
        __version__,
        platform.python_version(),
        platform.machine(),
        np.__version__,
        scipy.__version__,
        pydantic.__version__,
    )
    return f"{digest.hexdigest()} {versions}"


def inputs_of(plan: Plan, task: LoadedTask, stores: Stores) -> str:
    """A digest over all that decides what is stored of a task; '' where that cannot be told."""
    code = _code()
    # Of what another package computes, the source is not read.
    own = type(task.spec).__module__.startswith("t2ibench.methods.")
    if code is None or not own or METHODS.origin(task.spec.method) != "t2ibench":
        return ""
    digest = hashlib.sha256()

    def add(*values: object) -> None:
        digest.update(
            json.dumps(values, default=str, ensure_ascii=True).encode() + b"\n"
        )

    needs, images = plan.needs[task.id], stores.images
    add(
        code,
        task.hash,
        task.spec.model_dump(mode="json"),
        plan.settings.model_dump(mode="json"),
    )
    encoders = [*stores.encoders.values(), *stores.controls.values()]
    for encoder in encoders:
        add(encoder.name, encoder.fingerprint, encoder.embeds_images)
        for text in dict.fromkeys([*needs.texts, *needs.images_by_prompt]):
            add(text, encoder.checksum("texts", text_key(text)))
    for judge in (*stores.judges.values(), *stores.people.values()):
        check = stores.check_of(judge)
        add(
            "judge",
            judge.name,
            judge.fingerprint,
            check and check.model_dump(mode="json"),
        )
    if any(not question.classes for question in needs.questions):
        add(synonyms().name)  # free text is read with the dictionary that is installed
    hashes: dict[str, list[str]] = {}
    for prompt, count in needs.images_by_prompt.items():
        known = images.first(prompt, count) if images else [None] * count
        hashes[prompt] = [(attempt and attempt.sha256) or "" for attempt in known]
        add(prompt, [a and (a.status, a.sha256, a.file, a.reason) for a in known])
        texts = {
            a.revised_prompt or a.prompt for a in known if a
        } & stores.readings.keys()
        for text in sorted(texts):
            add(
                text,
                [reading.model_dump(mode="json") for reading in stores.readings[text]],
            )
        for encoder in encoders:
            add([encoder.checksum("images", image) for image in hashes[prompt]])
    for question in (*needs.questions, *needs.checks):
        add(question.prompt, question.question, question.classes, question.images)
        for image in hashes.get(question.prompt, []):
            about = image, question.question, question.classes
            found = [judge.get(*about) for judge in stores.judges.values()]
            people = (
                stores.labels.majority(*about) if stores.labels is not None else None
            )
            add([*(one.answer if one else None for one in found), people])
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class TaskScored:
    """The scores of one task."""

    result: TaskResult
    samples: list[dict[str, Any]] | None  # None where they are stored already
    paired: PairedTask  # how each image moves its scores
    incomplete: bool  # some evidence is missing
    inputs: str = ""  # what it was computed from


class ScoreCache:
    """The scores of a run's tasks, with what they were computed from."""

    def __init__(self, database: Database, *, reuse: bool = True) -> None:
        self._scores = ScoreStore(database)
        self._reuse = reuse

    def read(self, task: str, inputs: str) -> TaskScored | None:
        """The scores of a task, if they are those of these inputs."""
        try:
            found = self._scores.find(task, inputs) if self._reuse and inputs else None
            if found is None:
                return None
            result = TaskResult.model_validate(json.loads(found.result))
            paired = load_paired(found.influences)[task]
            return TaskScored(result, None, paired, incomplete=False, inputs=inputs)
        except (ValueError, LookupError, TypeError, RecursionError, T2IBenchError):
            return None

    def write(self, task: str, one: TaskScored) -> None:
        """Store the scores of a task, where they are new."""
        if one.samples is not None:
            text = json.dumps(one.result.model_dump(mode="json"), ensure_ascii=False)
            influences = dump_paired({task: one.paired})
            score = StoredScore(text, dump_samples(one.samples), influences)
            self._scores.add(task, one.inputs, score)
